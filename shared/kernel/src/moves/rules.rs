//! The moves of a ruleset, sorted by the squares they touch.
//!
//! A move whose source and destination are shared squares (or that scores from one) is legal for
//! all private configurations alike: it is one whole-block maximum against another block. A move
//! that touches a private square maps rows of the block to rows of the same or of another block;
//! which rows is the same for every block, so it is written down once, as a [`RowMap`].

use ziggurat_encoding::{Encoding, PrivateConfigurations, geometry::Place};
use ziggurat_game::{PathPosition, Roll};

/// Rows p of a block with the rows p' of the block a move leads to, ascending by p.
#[derive(Clone, Debug, Default)]
pub struct RowMap {
    /// (p, p')
    pub pairs: Vec<(u32, u32)>,
    /// How many of the pairs have a p with at most k pieces.
    counts: Vec<usize>,
}

impl RowMap {
    /// The pairs of a block whose rows have at most `k` pieces.
    #[inline(always)]
    pub fn up_to(&self, k: u8) -> &[(u32, u32)] {
        &self.pairs[..self.counts[k as usize]]
    }

    fn new(
        private: &PrivateConfigurations,
        pieces: u8,
        after: impl Fn(u64) -> Option<u64>,
    ) -> Self {
        let rows = 0..private.count(pieces) as usize;
        let pairs: Vec<(u32, u32)> = rows
            .filter_map(|p| Some((p as u32, private.rank(after(private.mask(p))?)? as u32)))
            .collect();
        let counts = (0..=pieces)
            .map(|k| pairs.partition_point(|&(p, _)| u64::from(p) < private.count(k)))
            .collect();
        Self { pairs, counts }
    }
}

/// The effect of a move on the private configuration of the player who moves.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Nothing: row p leads to row p.
    Same,
    /// Nothing, and needs a piece in hand: by k, how many rows have one.
    SameWithHand {
        /// C(k - 1), and 0 for k = 0.
        counts: Vec<usize>,
    },
    /// Row p leads to row p'.
    Mapped(RowMap),
}

/// A piece on a shared square, as a digit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedDigit {
    /// The square's place in the order.
    pub square: usize,
    /// The digit.
    pub digit: u8,
    /// For an inner square, the weight of its digit in the inner value, and where its digit
    /// is found among those of the inner squares; `None` for an outer square.
    pub inner: Option<InnerSquare>,
}

/// An inner square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InnerSquare {
    /// The weight of its digit in the inner value.
    pub weight: u16,
    /// Its place among the inner squares.
    pub place: usize,
}

/// Where a move ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// On a private square (the row says which).
    Private,
    /// On a shared square.
    Shared(SharedDigit),
    /// Off the board.
    Scored,
}

/// A move that leads from a block to another one, or to another tier.
#[derive(Clone, Debug)]
pub struct BlockMove {
    /// The path position it starts from, 0 for the hand.
    pub from: PathPosition,
    /// The path position it reaches.
    pub to: PathPosition,
    /// The shared square it leaves, with the digit it takes away.
    pub leaves: Option<SharedDigit>,
    /// Where it ends.
    pub end: End,
    /// Which rows lead where.
    pub rows: Rows,
    /// Whether it ends on a square that grants another roll.
    pub rosette: bool,
    /// Whether it starts and ends on the same square, on two laps.
    pub same_square: bool,
}

impl BlockMove {
    /// Whether the block it leads to is in the same slab.
    pub fn stays_in_slab(&self) -> bool {
        let inner = |shared: &SharedDigit| shared.inner.is_some();
        self.leaves.as_ref().is_none_or(inner)
            && match &self.end {
                End::Private => true,
                End::Shared(shared) => inner(shared),
                End::Scored => false,
            }
    }
}

impl BlockMove {
    /// Whether it neither starts nor ends on an inner or a private square.
    pub fn touches_outer_only(&self) -> bool {
        let is_outer = |shared: &SharedDigit| shared.inner.is_none();
        self.leaves.as_ref().is_some_and(is_outer)
            && match &self.end {
                End::Private => false,
                End::Shared(shared) => is_outer(shared),
                End::Scored => true,
            }
    }
}

/// The moves of a roll.
#[derive(Clone, Debug)]
pub struct RollMoves {
    /// How far the piece moves.
    pub value: u8,
    /// The probability of the roll.
    pub chance: f64,
    /// The moves that leave the block, by the path position they start from.
    pub moves: Vec<Option<BlockMove>>,
    /// Where moves start that leave the slab.
    pub leaves_slab: u64,
    /// Where moves start that end on the square they left, on another lap.
    pub from_same_square: u64,
}

impl RollMoves {
    /// The move from a path position of one of the masks.
    #[inline(always)]
    pub fn moved_from(&self, from: PathPosition) -> &BlockMove {
        self.moves[from as usize].as_ref().expect("the masks name moves there are")
    }

    fn new(encoding: &Encoding, roll: &Roll) -> Self {
        let moves = block_moves(encoding, roll.value);
        let starts = |wanted: &dyn Fn(&BlockMove) -> bool| {
            moves.iter().filter(|mv| wanted(mv)).fold(0, |mask, mv| mask | 1 << mv.from)
        };
        let mut this = Self {
            value: roll.value,
            chance: roll.chance(),
            moves: vec![None; encoding.ruleset().path().len() as usize + 1],
            leaves_slab: starts(&|mv| !mv.stays_in_slab()),
            from_same_square: starts(&|mv| mv.same_square),
        };
        for mv in moves {
            let from = mv.from as usize;
            this.moves[from] = Some(mv);
        }
        this
    }
}

/// The moves of a ruleset, sorted by the squares they touch.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The probability of a roll of 0.
    pub zero: f64,
    /// The rolls above 0.
    pub rolls: Vec<RollMoves>,
    /// Whether a capture grants another roll.
    pub captures_grant_rolls: bool,
}

impl Rules {
    /// Sorts the moves of an encoding's ruleset.
    pub fn new(encoding: &Encoding) -> Self {
        let ruleset = encoding.ruleset();
        let rolls = ruleset.dice().rolls();
        let moving = || rolls.iter().filter(|roll| roll.value > 0);
        Self {
            zero: rolls.iter().filter(|roll| roll.value == 0).map(|roll| roll.chance()).sum(),
            rolls: moving().map(|roll| RollMoves::new(encoding, roll)).collect(),
            captures_grant_rolls: ruleset.captures_grant_rolls(),
        }
    }
}

/// The path positions a roll leads from and to.
pub fn path_moves(
    encoding: &Encoding,
    roll: u8,
) -> impl Iterator<Item = (PathPosition, PathPosition)> {
    let last = encoding.ruleset().path().len() + 1;
    (0..last).map(move |from| (from, from + roll)).filter(move |&(_, to)| to <= last)
}

fn block_moves(encoding: &Encoding, roll: u8) -> Vec<BlockMove> {
    let (ruleset, private) = (encoding.ruleset(), encoding.private());
    let len = ruleset.path().len();
    let place = |at: PathPosition| encoding.geometry().own_place[at as usize];
    let first_inner = encoding.shared().outer_squares();
    let shared_digit = |square: usize, digit: u8| {
        let inner = square
            .checked_sub(first_inner)
            .map(|place| InnerSquare { weight: encoding.shared().weight(square), place });
        SharedDigit { square, digit, inner }
    };
    let mut moves = Vec::new();
    for (from, to) in path_moves(encoding, roll) {
        let leaves = match place(from) {
            Place::Shared { square, digit } if from > 0 => Some(shared_digit(square, digit)),
            _ => None,
        };
        let end = match to {
            to if to > len => End::Scored,
            to => match place(to) {
                Place::Private => End::Private,
                Place::Shared { square, digit } => End::Shared(shared_digit(square, digit)),
            },
        };
        if end == End::Private && leaves.is_none() {
            continue; // stays within the block
        }
        let removes = |mask: u64| match from {
            0 => Some(mask),
            _ if leaves.is_some() => Some(mask),
            _ => (mask >> from & 1 == 1).then(|| mask & !(1 << from)),
        };
        let adds = |mask: u64| match end {
            End::Private => (mask & ruleset.own_on_square_of(to) == 0).then(|| mask | 1 << to),
            _ => Some(mask),
        };
        let rows = match (from, leaves, end) {
            (0, ..) => Rows::SameWithHand {
                counts: (0..=ruleset.pieces())
                    .map(|k| k.checked_sub(1).map_or(0, |fewer| private.count(fewer) as usize))
                    .collect(),
            },
            (_, Some(_), End::Shared(_) | End::Scored) => Rows::Same,
            _ => Rows::Mapped(RowMap::new(private, ruleset.pieces(), |p| adds(removes(p)?))),
        };
        let rosette = to <= len && ruleset.is_roll_granted_on(to);
        let same_square = from > 0 && to <= len && ruleset.own_on_square_of(to) >> from & 1 == 1;
        moves.push(BlockMove { from, to, leaves, end, rows, rosette, same_square });
    }
    moves
}
