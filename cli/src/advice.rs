//! What a table says about a position and a roll: every legal move with the chance it leads to,
//! best first.

use serde_json::{Value, json};
use ziggurat_game::{Move, Outcome, Position, Roll, Ruleset};
use ziggurat_table::{AnyTable, TableError};

use crate::{
    output::{columns, note, percent, typed},
    program_name,
};

/// A legal move and the chance that the player who makes it wins.
#[derive(Clone, Copy, Debug)]
pub struct ValuedMove {
    /// The move.
    pub mv: Move,
    /// What it leads to.
    pub outcome: Outcome,
    /// The chance of winning after it.
    pub chance: f64,
}

/// The legal moves for a roll.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The roll.
    pub roll: Roll,
    /// The legal moves, best first; none if the turn passes.
    pub moves: Vec<ValuedMove>,
    /// The chance of winning with the best move, or after passing.
    pub chance: f64,
    /// How far chances may be from the true ones: see [`bound_of`].
    bound: f64,
}

/// How far the chances in a table may be from the true ones, so that no more of their digits are shown: as far as it is proven, or
/// else as its type of values and its residual say, which may be too little (see [`tell_if_unproven`]).
pub fn bound_of(table: &AnyTable) -> f64 {
    table.certificate().unwrap_or_else(|| {
        let tiers = table.encoding().tiers();
        let residuals = tiers.into_iter().filter_map(|tier| table.statistics(tier).residual);
        residuals.fold(table.quantum() / 2.0, f64::max)
    })
}

/// Says of a table that proves nothing that its chances are only as good as that.
pub fn tell_if_unproven(table: &AnyTable) {
    if table.certificate().is_none() {
        note!(
            "Nothing is proven of these values; try: {} table verify --certificate {}",
            program_name(),
            typed(table.path())
        );
    }
}

/// Values the moves of an undecided position.
///
/// # Errors
/// If the table cannot be read.
pub fn advise(table: &AnyTable, position: &Position, roll: Roll) -> Result<Advice, TableError> {
    let ruleset = table.ruleset();
    let mut moves = Vec::new();
    for mv in ruleset.moves(position, roll.value) {
        let outcome = ruleset.apply(position, mv);
        let chance = if outcome.won {
            1.0
        } else if outcome.rolls_again {
            table.value(&outcome.position)?
        } else {
            1.0 - table.value(&outcome.next())?
        };
        moves.push(ValuedMove { mv, outcome, chance });
    }
    // Stable: equally good moves stay in the order of the board.
    moves.sort_by(|a, b| b.chance.total_cmp(&a.chance));
    let chance = match moves.first() {
        Some(best) => best.chance,
        None => 1.0 - table.value(&position.swap())?,
    };
    Ok(Advice { roll, moves, chance, bound: bound_of(table) })
}

impl Advice {
    /// Lines for a person: the roll, then a move per line.
    pub fn text(&self, ruleset: &Ruleset) -> String {
        let roll = self.roll.value;
        if self.moves.is_empty() {
            let passed = percent(self.chance, self.bound);
            return format!("Roll {roll}: no legal move, the turn passes; {passed}\n");
        }
        let rows: Vec<Vec<String>> = self
            .moves
            .iter()
            .map(|valued| {
                let effect = effect(&valued.outcome);
                let words = format!("  {}{effect}", name(ruleset, valued.mv));
                vec![words, percent(valued.chance, self.bound)]
            })
            .collect();
        format!("Roll {roll}\n{}", columns(&rows))
    }

    /// The same for machines.
    pub fn json(&self, ruleset: &Ruleset) -> Value {
        let moves = self.moves.iter().map(|valued| {
            json!({
                "from": valued.mv.from,
                "to": valued.mv.to,
                "percent": valued.chance * 100.0,
                "captures": valued.outcome.captured,
                "rolls_again": valued.outcome.rolls_again,
                "wins": valued.outcome.won,
                "next": ruleset.format_position(&valued.outcome.next()),
            })
        });
        json!({
            "roll": self.roll.value,
            "probability": self.roll.chance(),
            "percent": self.chance * 100.0,
            "moves": moves.collect::<Vec<_>>(),
        })
    }
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
