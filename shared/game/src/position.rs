//! Where the pieces are, seen from the player to move.
//!
//! A player has at most one piece on a path position, so the pieces of a player on the board
//! are a bit mask over their own path positions; what is neither on the board nor scored is in
//! hand.

use crate::path::PathPosition;

/// The pieces of one player.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Side {
    /// Bit `i` is set if a piece stands on path position `i` of this player's path; bit 0 is
    /// never set.
    pub board: u64,
    /// The number of pieces scored.
    pub scored: u8,
}

impl Side {
    /// A side with pieces on the given path positions and `scored` pieces scored.
    pub fn new(board: impl IntoIterator<Item = PathPosition>, scored: u8) -> Self {
        Self { board: board.into_iter().fold(0, |mask, at| mask | 1 << at), scored }
    }

    /// Whether a piece stands on a path position.
    pub fn has(&self, at: PathPosition) -> bool {
        self.board >> at & 1 == 1
    }

    /// The number of pieces on the board.
    pub fn on_board(&self) -> u8 {
        self.board.count_ones() as u8
    }

    /// The number of pieces in hand, of `pieces` in all.
    pub fn in_hand(&self, pieces: u8) -> u8 {
        pieces - self.scored - self.on_board()
    }

    /// The path positions with a piece, ascending.
    pub fn positions(&self) -> impl Iterator<Item = PathPosition> + use<> {
        path_positions(self.board)
    }
}

/// The path positions of a mask, ascending.
pub(crate) fn path_positions(mask: u64) -> impl Iterator<Item = PathPosition> + use<> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let at = rest.trailing_zeros();
        (rest != 0).then(|| {
            rest &= rest - 1;
            at as PathPosition
        })
    })
}

/// The pieces of both players, seen from the player to move, who waits for a roll.
///
/// The opponent's pieces are on path positions of the opponent's own path, the mirror of the
/// mover's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// The pieces of the player to move.
    pub own: Side,
    /// The pieces of the other player.
    pub opponent: Side,
}

impl Position {
    /// The first position of a game: all pieces in hand.
    pub fn start() -> Self {
        Self::default()
    }

    /// The same pieces with the other player to move.
    pub fn swap(&self) -> Self {
        Self { own: self.opponent, opponent: self.own }
    }
}
