//! Lists of squares of a ruleset, as settings and messages have them.

use ziggurat_game::{PathPosition, Ruleset};

/// Whether the safety of a square makes a difference: both players come there, and it is safe.
pub(crate) fn is_safe(ruleset: &Ruleset, at: PathPosition) -> bool {
    ruleset.is_safe(at) && ruleset.opponent_on_square_of(at) != 0
}

/// The squares of the path positions that are wanted, each once, in the order of the path.
pub(crate) fn squares_where(ruleset: &Ruleset, wanted: impl Fn(PathPosition) -> bool) -> String {
    let path = ruleset.path();
    let positions = path.positions().filter(|&(at, _)| path.lap(at) == 1 && wanted(at));
    let squares: Vec<String> = positions.map(|(_, square)| square.to_string()).collect();
    if squares.is_empty() { "none".to_owned() } else { squares.join(" ") }
}
