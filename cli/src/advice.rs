//! How advice looks: the moves of a position for a roll, as text.

use ziggurat_advice::{Advice, Advisor};
use ziggurat_game::{Move, Outcome, Ruleset};
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

/// The best moves for a roll on one line: `enter on 4`, `4 to 6 = 8 to 10` if they are tied, or `pass`.
pub fn best_moves(advice: &Advice, name: impl Fn(Move) -> String) -> String {
    let names: Vec<String> = advice.best_moves().iter().map(|it| name(it.mv)).collect();
    if names.is_empty() { "pass".to_owned() } else { names.join(" = ") }
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
