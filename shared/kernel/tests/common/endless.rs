//! Whether play can go on for ever.
//!
//! The equations of a ruleset have one solution if play ends with certainty, however the players
//! play. It does not if there is a set of undecided positions such that, for every roll, some
//! move (or the pass, without a move) leads from each of them to one of them: players who
//! choose these moves never finish. The largest such set remains when positions with a
//! roll that leads out of it anyway are taken away, one after the other.

use std::collections::HashSet;

use ziggurat_game::{Position, Ruleset};

/// The largest set of undecided positions that two players can keep each other in for ever,
/// at any roll. Empty if play ends with certainty.
pub fn endless(ruleset: &Ruleset) -> HashSet<Position> {
    let mut set: HashSet<Position> = ziggurat_reference::enumerate(ruleset).collect();
    loop {
        let leaving: Vec<Position> =
            set.iter().filter(|position| !may_stay(ruleset, position, &set)).copied().collect();
        if leaving.is_empty() {
            return set;
        }
        leaving.iter().for_each(|position| {
            set.remove(position);
        });
    }
}

/// Whether some move for every roll leads from a position to one of the set.
fn may_stay(ruleset: &Ruleset, position: &Position, set: &HashSet<Position>) -> bool {
    ruleset.dice().rolls().iter().all(|roll| {
        let mut moves = ruleset.moves(position, roll.value).peekable();
        match moves.peek() {
            None => set.contains(&position.swap()),
            Some(_) => moves.any(|mv| set.contains(&ruleset.apply(position, mv).next())),
        }
    })
}
