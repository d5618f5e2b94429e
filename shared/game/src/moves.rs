//! Legal moves and what they lead to.

use crate::{Position, Ruleset, Side, path::PathPosition, position::path_positions};

/// One piece moving along its path; `from` is 0 for a piece that enters from hand, `to` is
/// `len + 1` for one that scores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// The path position the piece leaves.
    pub from: PathPosition,
    /// The path position it reaches.
    pub to: PathPosition,
}

/// What a move leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The position after the move, still seen from the player who moved.
    pub position: Position,
    /// The path position, on the opponent's path, of the piece that was captured.
    pub captured: Option<PathPosition>,
    /// Whether the player who moved rolls again. Never after a win.
    pub rolls_again: bool,
    /// Whether the move scored the last piece.
    pub won: bool,
}

impl Outcome {
    /// The position as the player who rolls next sees it.
    pub fn next(&self) -> Position {
        if self.rolls_again { self.position } else { self.position.swap() }
    }
}

impl Ruleset {
    /// The legal moves of the player to move for a roll, ascending by `from`. None if the roll
    /// is 0 or every move is blocked: the turn then passes.
    pub fn moves(&self, position: &Position, roll: u8) -> impl Iterator<Item = Move> + use<'_> {
        let Position { own, opponent } = *position;
        // Path position 0 is the hand.
        let in_hand = u64::from(own.in_hand(self.pieces()) > 0);
        let pieces = if roll > 0 { own.board | in_hand } else { 0 };
        let does_not_overshoot = move |from: &PathPosition| from + roll <= self.path().len() + 1;
        path_positions(pieces)
            .take_while(does_not_overshoot)
            .map(move |from| Move { from, to: from + roll })
            .filter(move |&mv| self.may_end(&own, &opponent, mv))
    }

    /// Whether a piece may end its move on `mv.to`, a path position or scored.
    fn may_end(&self, own: &Side, opponent: &Side, mv: Move) -> bool {
        if mv.to == self.path().len() + 1 {
            return true;
        }
        let others = own.board & !(1 << mv.from);
        if others & self.own_on_square_of(mv.to) != 0 {
            return false;
        }
        let met = opponent.board & self.opponent_on_square_of(mv.to);
        met == 0 || met & !self.capturable_from(mv.to) == 0
    }

    /// The outcome of a legal move.
    pub fn apply(&self, position: &Position, mv: Move) -> Outcome {
        let mut after = *position;
        if mv.from > 0 {
            after.own.board &= !(1 << mv.from);
        }
        if mv.to == self.path().len() + 1 {
            after.own.scored += 1;
            let won = after.own.scored == self.pieces();
            return Outcome { position: after, captured: None, rolls_again: false, won };
        }
        after.own.board |= 1 << mv.to;
        let met = after.opponent.board & self.opponent_on_square_of(mv.to);
        after.opponent.board &= !met;
        let captured = (met != 0).then(|| met.trailing_zeros() as PathPosition);
        let rolls_again =
            self.is_roll_granted_on(mv.to) || captured.is_some() && self.captures_grant_rolls();
        Outcome { position: after, captured, rolls_again, won: false }
    }
}
