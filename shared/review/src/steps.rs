//! The board and its pieces at every step of a game, for what draws them.

use serde_json::{Value, json};
use ziggurat_game::{Position, Ruleset, Square};
use ziggurat_records::Player;

use crate::Review;

/// The squares of the board, and the rosettes among them.
pub fn board_json(ruleset: &Ruleset) -> Value {
    let list = |squares: &mut dyn Iterator<Item = Square>| {
        squares.map(|square| square.name()).collect::<Vec<_>>()
    };
    json!({
        "squares": list(&mut ruleset.board().squares().iter().copied()),
        "rosettes": list(&mut ruleset.parts().rosettes.iter().copied()),
        "rows": ruleset.board().rows(),
    })
}

/// The pieces before every action and after the last one.
pub fn steps_json(review: &Review) -> Vec<Value> {
    let of = |position: &Position, player: Player| state(review, position, player);
    let before = review.actions.iter().map(|action| of(&action.position, action.by));
    let after = review.actions.last().map(|last| {
        let moved = last.mv.and_then(|mv| last.advice.of(mv));
        moved.map_or_else(
            || of(&last.position, last.by),
            |valued| of(&valued.outcome.position, last.by),
        )
    });
    before.chain(after).collect()
}

/// The pieces of both players, in a position seen by one of them.
fn state(review: &Review, position: &Position, seen_by: Player) -> Value {
    let ruleset = &review.game.ruleset;
    let mut state = json!({});
    for (player, side) in [(seen_by, &position.own), (seen_by.other(), &position.opponent)] {
        let squares = side.positions().map(|at| player.square(ruleset.path().square(at)).name());
        state[player.to_string()] = json!({
            "squares": squares.collect::<Vec<_>>(),
            "hand": side.in_hand(ruleset.pieces()),
            "scored": side.scored,
        });
    }
    state
}
