//! What is asked of a table, and the answers as JSON. Chances are in percent, differences in percentage points, and every
//! answer has the bound of its values.

use std::error::Error;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use ziggurat_game::{Position, Ruleset};
use ziggurat_records::{Game, RecordError, Rules};
use ziggurat_review::{
    ReviewError, board_json, by_squares, outlook_json, review, steps_json, to_json,
};
use ziggurat_table::TableError;

use super::{place::character, tables::Served};
use crate::server::ApiError;

/// The most positions of a request for their values.
pub const MOST_POSITIONS: usize = 10_000;

/// The most positions of a request for their moves, some 4 kB of JSON each.
pub const MOST_WITH_MOVES: usize = 1_000;

/// Many positions that are asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    positions: Vec<String>,
    #[serde(default)]
    moves: bool,
    roll: Option<u8>,
}

impl Batch {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// If it is not JSON of that form, or asks for too much.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let example = r#"send JSON such as {"positions": ["start", "4,8+1/3,12"]}"#;
        let batch: Self = serde_json::from_slice(body).map_err(|error| {
            let problem = format!("the body is not as it should be: {error}");
            let place = ApiError::bad_request(problem).help(example);
            place.with("line", error.line()).with("column", error.column())
        })?;
        let most = if batch.moves { MOST_WITH_MOVES } else { MOST_POSITIONS };
        if batch.positions.len() > most {
            let count = batch.positions.len();
            let what = if batch.moves { "positions with their moves" } else { "positions" };
            let problem = format!("{count} {what} are too many");
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
                .help(format!("ask for at most {most} at a time")));
        }
        if batch.roll.is_some() && !batch.moves {
            return Err(ApiError::bad_request("a roll is about moves, which are not asked for")
                .help("leave `roll` out, or add \"moves\": true"));
        }
        Ok(batch)
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.positions.len()
    }
}

/// A position of a ruleset.
///
/// # Errors
/// If the text is none; the error says at which character.
pub fn position(ruleset: &Ruleset, text: &str) -> Result<Position, ApiError> {
    ruleset.parse_position(text).map_err(|error| {
        ApiError::bad_request(error.to_string()).with("character", character(ruleset, &error))
    })
}

/// The position, unless moves are asked for and nobody can move any more.
fn undecided(
    ruleset: &Ruleset,
    position: Position,
    text: &str,
    moves: bool,
) -> Result<Position, ApiError> {
    let sides = [position.own, position.opponent];
    if moves && sides.iter().any(|side| side.scored == ruleset.pieces()) {
        let problem = format!("`{}` is decided, nobody can move any more", text.escape_debug());
        return Err(ApiError::bad_request(problem).with("character", 1));
    }
    Ok(position)
}

/// A roll of a ruleset's dice.
///
/// # Errors
/// If the dice never show it.
pub fn roll(ruleset: &Ruleset, text: &str) -> Result<u8, ApiError> {
    let rolls = ruleset.dice().rolls();
    let found = text.parse().ok().filter(|it| rolls.iter().any(|roll| roll.value == *it));
    found.ok_or_else(|| {
        let values: Vec<String> = rolls.iter().map(|roll| roll.value.to_string()).collect();
        let problem =
            format!("the dice of {} never show `{}`", ruleset.name(), text.escape_debug());
        ApiError::bad_request(problem)
            .with("parameter", "roll")
            .help(format!("rolls are {}", values.join(", ")))
    })
}

/// A position with all rolls, or one, and the legal moves for each, best first.
///
/// # Errors
/// If the position is decided, or the table cannot be read.
pub fn outlook(table: &Served, at: &Position, only: Option<u8>) -> Result<Value, ApiError> {
    let outlook = table.advisor.outlook(at).map_err(failed)?;
    Ok(with_bound(outlook_json(&outlook, only, &table.advisor), table))
}

/// The values of many positions, or their moves.
///
/// # Errors
/// If one is none, or decided where moves are asked for; the error says which. If the table cannot be read.
pub fn batch(table: &Served, batch: &Batch) -> Result<Value, ApiError> {
    let ruleset = table.advisor.ruleset();
    if let Some(only) = batch.roll {
        roll(ruleset, &only.to_string())?;
    }
    let mut positions = Vec::with_capacity(batch.len());
    for (item, text) in batch.positions.iter().enumerate() {
        let found =
            position(ruleset, text).and_then(|it| undecided(ruleset, it, text, batch.moves));
        positions.push(found.map_err(|error| error.with("item", item))?);
    }
    let answers: Vec<Value> = if batch.moves {
        let outlooks = table.advisor.outlooks(&positions).map_err(failed)?;
        outlooks.iter().map(|it| outlook_json(it, batch.roll, &table.advisor)).collect()
    } else {
        let chances = table.advisor.values(&positions).map_err(failed)?;
        let answer = |(at, chance): (&Position, f64)| json!({"position": ruleset.format_position(at), "percent": chance * 100.0});
        positions.iter().zip(chances).map(answer).collect()
    };
    Ok(with_bound(json!({"answers": answers}), table))
}

/// The main line from a position, of at most so many rolls.
///
/// # Errors
/// If the position is decided, or the table cannot be read.
pub fn main_line(table: &Served, from: &Position, most: usize) -> Result<Value, ApiError> {
    let ruleset = table.advisor.ruleset();
    let line = table.advisor.main_line(from, most).map_err(failed)?;
    let steps = line.steps.iter().map(|step| {
        let answer = step.answer.map(|it| {
            json!({"from": it.mv.from, "to": it.mv.to, "squares": by_squares(ruleset, it.mv), "percent": it.chance * 100.0})
        });
        json!({
            "first": step.by_first,
            "position": ruleset.format_position(&step.position),
            "percent": step.chance * 100.0,
            "roll": step.roll.value,
            "luck_points": step.luck * 100.0,
            "move": answer,
        })
    });
    let steps: Vec<Value> = steps.collect();
    let position = ruleset.format_position(from);
    Ok(with_bound(json!({"position": position, "won": line.won, "steps": steps}), table))
}

/// A game, and the table of its rules: that of a name, or the only one that fits.
///
/// # Errors
/// If the text is no record of a game, or no table has its rules.
pub fn game<'t>(
    tables: &'t [Served],
    named: Option<&'t Served>,
    body: &[u8],
) -> Result<(&'t Served, Game), ApiError> {
    let only = match tables {
        [only] => Some(only),
        _ => named,
    };
    if let Some(table) = named.or(only) {
        let known = Rules::Known(table.advisor.ruleset());
        return Ok((table, ziggurat_records::read(body, known).map_err(not_a_record)?));
    }
    let game = ziggurat_records::read(body, Rules::Infer).map_err(not_a_record)?;
    let fits = |table: &&Served| table.advisor.ruleset().parts() == game.ruleset.parts();
    match tables.iter().find(fits) {
        Some(table) => Ok((table, game)),
        None => {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            let rules = format!("{} with {} pieces", game.ruleset.name(), game.ruleset.pieces());
            Err(ApiError::bad_request(format!("no table here is of {rules}"))
                .with("parameter", "table")
                .help(format!("say by which table the game is to be judged: {}", names.join(", "))))
        }
    }
}

/// The account of a game, with the board at every step.
///
/// # Errors
/// If the table cannot be read, or is of other rules.
pub fn account(table: &Served, game: Game) -> Result<Value, ApiError> {
    let review = review(game, &table.advisor).map_err(|error| match error {
        ReviewError::Table(error) => failed(error),
        other => ApiError::bad_request(other.to_string()),
    })?;
    let mut account = to_json(&review);
    account["table"] = table.name.as_str().into();
    account["bound"] = table.bound();
    account["board"] = board_json(&review.game.ruleset);
    account["states"] = steps_json(&review).into();
    Ok(account)
}

/// Adds of which table an answer is, and how far its values may be from the true ones.
fn with_bound(mut answer: Value, table: &Served) -> Value {
    let ruleset = table.advisor.ruleset();
    answer["table"] = table.name.as_str().into();
    answer["ruleset"] = ruleset.name().into();
    answer["pieces"] = ruleset.pieces().into();
    answer["certificate"] = table.advisor.table().certificate().into();
    answer["bound"] = table.bound();
    answer
}

fn not_a_record(error: RecordError) -> ApiError {
    let place = error.place;
    ApiError::bad_request(error.to_string())
        .with("line", place.line)
        .with("column", place.column)
        .with("actions", error.actions)
}

/// What a table says that cannot answer.
fn failed(error: TableError) -> ApiError {
    if let TableError::NotAPosition { .. } = error {
        return ApiError::bad_request(error.to_string()).with("character", 1);
    }
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    tracing::error!("a table cannot be read: {error}{cause}");
    // What is wrong with a file of the server concerns who runs it.
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the table cannot be read")
        .help("the log of the server says why")
}
