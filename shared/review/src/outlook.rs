//! Positions with the values of their moves, for machines. Chances are in percent, differences in percentage points.

use serde_json::{Value, json};
use ziggurat_advice::{Advice, Advisor, Outlook};
use ziggurat_game::{Move, Ruleset};
use ziggurat_records::{Player, move_name};

/// The moves for a roll.
pub fn advice_json(advice: &Advice, ruleset: &Ruleset) -> Value {
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

/// All rolls of a position, or one only, each with its luck.
pub fn outlook_json(outlook: &Outlook, only: Option<u8>, advisor: &Advisor) -> Value {
    let ruleset = advisor.ruleset();
    let shown = outlook.rolls.iter().filter(|it| only.is_none_or(|roll| roll == it.roll.value));
    let rolls = shown.map(|advice| {
        let mut json = advice_json(advice, ruleset);
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

/// A move by the names of its squares, the player to move at column A: `A4A2`.
pub fn by_squares(ruleset: &Ruleset, mv: Move) -> String {
    move_name(ruleset, Player::Light, mv)
}
