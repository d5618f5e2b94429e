//! Values of the keys of a ruleset file.

use std::collections::BTreeSet;

use toml::de::DeValue;

use super::{Located, Problem, Read, Value, in_text_order};
use crate::{
    Board, Captures, Dice, DiceError, Path, Roll, Ruleset, RulesetError, Square, UnknownName,
    dice::{parse_probability, parse_roll},
};

fn wrong_type<T>(key: &'static str, value: &Value<'_>) -> Read<T> {
    let found = match value.get_ref() {
        DeValue::String(text) => format!("the text \"{}\"", text.escape_debug()),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "this list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    Err(Located { span: value.span(), problem: Problem::WrongType { key, found } })
}

fn unknown_name(value: &Value<'_>, unknown: UnknownName) -> Located {
    Located { span: value.span(), problem: Problem::UnknownName(unknown) }
}

pub(super) fn read_text(key: &'static str, value: &Value<'_>) -> Read<String> {
    value.get_ref().as_str().map_or_else(|| wrong_type(key, value), |text| Ok(text.to_owned()))
}

pub(super) fn read_bool(key: &'static str, value: &Value<'_>) -> Read<bool> {
    value.get_ref().as_bool().map_or_else(|| wrong_type(key, value), Ok)
}

/// A whole number, as far as 64 bits go.
fn read_integer(value: &Value<'_>) -> Option<i64> {
    let number = value.get_ref().as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

pub(super) fn read_pieces(value: &Value<'_>) -> Read<u8> {
    let Some(pieces) = read_integer(value) else { return wrong_type("pieces", value) };
    let problem = Problem::Ruleset(RulesetError::Pieces { pieces });
    u8::try_from(pieces).map_err(|_| Located { span: value.span(), problem })
}

pub(super) fn read_extends(value: &Value<'_>) -> Read<Ruleset> {
    Ruleset::find(&read_text("extends", value)?).map_err(|unknown| unknown_name(value, unknown))
}

pub(super) fn read_captures(value: &Value<'_>) -> Read<Captures> {
    read_text("captures", value)?.parse().map_err(|unknown| unknown_name(value, unknown))
}

/// The squares of a list of `[column, row]`, in its order.
pub(super) fn read_squares(key: &'static str, value: &Value<'_>) -> Read<Vec<Square>> {
    let Some(list) = value.get_ref().as_array() else { return wrong_type(key, value) };
    let squares = list.iter().map(|pair| {
        let numbers = pair.get_ref().as_array().into_iter().flat_map(|pair| pair.iter());
        let numbers: Option<Vec<u8>> =
            numbers.map(|number| read_integer(number)?.try_into().ok()).collect();
        match numbers.as_deref() {
            Some(&[x, y]) => Ok(Square::new(x, y)),
            _ => Err(Located { span: pair.span(), problem: Problem::NotASquare }),
        }
    });
    squares.collect()
}

pub(super) fn read_path(value: &Value<'_>) -> Read<Path> {
    match value.get_ref() {
        DeValue::String(name) => Path::named(name)
            .ok_or_else(|| unknown_name(value, UnknownName::new("track", name, Path::names()))),
        _ => Ok(Path::new(read_squares("path", value)?)),
    }
}

/// A board, and the rosettes drawn on it if it is drawn.
pub(super) fn read_board(value: &Value<'_>) -> Read<(Board, Option<BTreeSet<Square>>)> {
    if let Some(name) = value.get_ref().as_str() {
        if name.contains('\n') {
            return wrong_type("board", value); // drawn as one text, not row by row
        }
        let board = Board::named(name)
            .ok_or_else(|| unknown_name(value, UnknownName::new("board", name, Board::NAMES)))?;
        return Ok((board, None));
    }
    let Some(rows) = value.get_ref().as_array() else { return wrong_type("board", value) };
    let (mut squares, mut rosettes) = (BTreeSet::new(), BTreeSet::new());
    for (row, y) in rows.iter().zip(1..) {
        let Some(text) = row.get_ref().as_str() else { return wrong_type("board", row) };
        if y > Board::MAX_ROWS {
            let problem = RulesetError::BoardSquare { square: Square::new(1, y) };
            return Err(Located { span: row.span(), problem: Problem::Ruleset(problem) });
        }
        if text.chars().count() != 3 || text.chars().any(|c| !"*o.".contains(c)) {
            let problem = Problem::BoardRow { row: text.to_owned() };
            return Err(Located { span: row.span(), problem });
        }
        for (drawn, x) in text.chars().zip(1..).filter(|(drawn, _)| *drawn != '.') {
            squares.insert(Square::new(x, y));
            if drawn == '*' {
                rosettes.insert(Square::new(x, y));
            }
        }
    }
    Ok((Board::explicit(squares), Some(rosettes)))
}

pub(super) fn read_dice(value: &Value<'_>) -> Read<Dice> {
    let dice_error = |span, error| Located { span, problem: Problem::Dice(error) };
    let table = match value.get_ref() {
        DeValue::String(name) => {
            return Dice::named(name)
                .ok_or_else(|| unknown_name(value, UnknownName::new("dice", name, Dice::names())));
        }
        DeValue::Table(table) => table,
        _ => return wrong_type("dice", value),
    };
    let rolls = in_text_order(table).into_iter().map(|(roll, chance)| {
        let text = match chance.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) => number.as_str(),
            // The digits as they were written, not the nearest binary fraction.
            DeValue::Float(number) => number.as_str(),
            // `1.5 = 1` is the key 5 of the table 1.
            DeValue::Table(decimals) => {
                let decimals = decimals.keys().next().map_or("", |key| key.get_ref().as_ref());
                let text = format!("{}.{decimals}", roll.as_ref());
                return Err(dice_error(roll.span(), DiceError::Roll { text }));
            }
            _ => return wrong_type("dice", chance),
        };
        Ok(Roll {
            value: parse_roll(roll.as_ref()).map_err(|e| dice_error(roll.span(), e))?,
            probability: parse_probability(text).map_err(|e| dice_error(chance.span(), e))?,
        })
    });
    Dice::explicit(rolls.collect::<Read<_>>()?).map_err(|error| dice_error(value.span(), error))
}
