//! How advice looks: the moves of a position for a roll, as text and as JSON.

use serde_json::{Value, json};
use ziggurat_advice::{Advice, Advisor, Outlook};
use ziggurat_game::{Move, Outcome, Ruleset};
use ziggurat_records::{Player, move_name};
use ziggurat_table::AnyTable;

use crate::{
    output::{columns, note, typed},
    program_name,
};

/// Says of a table that proves nothing that its chances are not proven.
pub fn tell_if_unproven(table: &AnyTable) {
    if table.certificate().is_none() {
        note!(
            "Nothing is proven of these values; try: {} table verify --certificate {}",
            program_name(),
            typed(table.path())
        );
    }
}

/// Lines for a person: the roll, then a move per line. Moves that are as good as the best one as far as can be told are marked.
pub fn text(advice: &Advice, advisor: &Advisor) -> String {
    text_with(advice, advisor, |mv| name(advisor.ruleset(), mv))
}

/// The same with moves called otherwise.
pub fn text_with(advice: &Advice, advisor: &Advisor, name: impl Fn(Move) -> String) -> String {
    let roll = advice.roll.value;
    let bound = advisor.bound();
    if advice.moves.is_empty() {
        let passed = bound.percent(advice.chance);
        return format!("Roll {roll}: no legal move, the turn passes; {passed}\n");
    }
    let rows: Vec<Vec<String>> = advice
        .moves
        .iter()
        .map(|valued| {
            let tie = if valued.tied { format!(", {}", tie(valued.place)) } else { String::new() };
            let effect = effect(&valued.outcome);
            let words = format!("  {}{effect}{tie}", name(valued.mv));
            vec![words, bound.percent(valued.chance)]
        })
        .collect();
    format!("Roll {roll}\n{}", columns(&rows))
}

/// What a move is called that has a place together with others.
fn tie(place: usize) -> String {
    if place == 1 { "tied for best".to_owned() } else { format!("tied for {place}") }
}

/// The same for machines.
pub fn json(advice: &Advice, ruleset: &Ruleset) -> Value {
    let moves = advice.moves.iter().map(|valued| {
        json!({
            "from": valued.mv.from,
            "to": valued.mv.to,
            "squares": by_squares(ruleset, valued.mv),
            "percent": valued.chance * 100.0,
            "place": valued.place,
            "tied": valued.tied,
            "captures": valued.outcome.captured,
            "rolls_again": valued.outcome.rolls_again,
            "wins": valued.outcome.won,
            "next": ruleset.format_position(&valued.outcome.next()),
        })
    });
    json!({
        "roll": advice.roll.value,
        "probability": advice.roll.chance(),
        "percent": advice.chance * 100.0,
        "moves": moves.collect::<Vec<_>>(),
    })
}

/// All rolls of a position for machines, each with its luck.
pub fn outlook_json(outlook: &Outlook, only: Option<u8>, advisor: &Advisor) -> Value {
    let ruleset = advisor.ruleset();
    let shown = outlook.rolls.iter().filter(|it| only.is_none_or(|roll| roll == it.roll.value));
    let rolls = shown.map(|advice| {
        let mut json = json(advice, ruleset);
        json["luck_points"] = (outlook.luck(advice) * 100.0).into();
        json
    });
    json!({
        "ruleset": ruleset.name(),
        "pieces": ruleset.pieces(),
        "position": ruleset.format_position(&outlook.position),
        "percent": outlook.chance * 100.0,
        "certificate": advisor.table().certificate(),
        "rolls": rolls.collect::<Vec<_>>(),
    })
}

/// The best moves for a roll on one line: `enter on 4`, `4 to 6 = 8 to 10` if they are tied, or `pass`.
pub fn best_moves(advice: &Advice, name: impl Fn(Move) -> String) -> String {
    let names: Vec<String> = advice.best_moves().iter().map(|it| name(it.mv)).collect();
    if names.is_empty() { "pass".to_owned() } else { names.join(" = ") }
}

/// A move by the names of its squares, the player to move at column A: `A4A2`.
pub fn by_squares(ruleset: &Ruleset, mv: Move) -> String {
    move_name(ruleset, Player::Light, mv)
}

/// A move in words.
pub fn name(ruleset: &Ruleset, mv: Move) -> String {
    match mv {
        Move { from: 0, to } => format!("enter on {to}"),
        Move { from, to } if to > ruleset.path().len() => format!("score from {from}"),
        Move { from, to } => format!("{from} to {to}"),
    }
}

/// What else a move does.
fn effect(outcome: &Outcome) -> String {
    let mut effects = Vec::new();
    if let Some(at) = outcome.captured {
        effects.push(format!("captures the piece on {at}"));
    }
    if outcome.rolls_again {
        effects.push("rolls again".to_owned());
    }
    if outcome.won {
        effects.push("wins".to_owned());
    }
    if effects.is_empty() { String::new() } else { format!(", {}", effects.join(", ")) }
}
