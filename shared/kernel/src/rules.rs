//! The moves of a ruleset, sorted by what they touch.
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

/// What a move does to the private configuration of the player who moves.
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

/// Where a move ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// On a private square (the row says which).
    Private,
    /// On a shared square, as this digit.
    Shared { square: usize, digit: u8 },
    /// Off the board.
    Scored,
}

/// A move that leads from a block to another one, or to another tier.
#[derive(Clone, Debug)]
pub struct OuterMove {
    /// The path position it starts from, 0 for the hand.
    pub from: PathPosition,
    /// The path position it reaches.
    pub to: PathPosition,
    /// The shared square it leaves, and the digit it takes away.
    pub leaves: Option<(usize, u8)>,
    /// Where it ends.
    pub end: End,
    /// Which rows lead where.
    pub rows: Rows,
    /// Whether it ends on a rosette that grants another roll.
    pub rosette: bool,
    /// Whether it starts and ends on the same square, on two laps.
    pub same_square: bool,
}

/// What a roll can do.
#[derive(Clone, Debug)]
pub struct RollMoves {
    /// How far the piece moves.
    pub value: u8,
    /// The probability of the roll.
    pub chance: f64,
    /// The moves that leave the block, by the path position they start from.
    pub outer: Vec<Option<OuterMove>>,
    /// Where moves start that leave all rows as they are and need no piece in hand.
    pub from_whole: u64,
    /// Where the other moves that leave the block start.
    pub from_partial: u64,
    /// Where moves start that end on the square they left, on another lap.
    pub from_same_square: u64,
}

impl RollMoves {
    fn new(encoding: &Encoding, roll: &Roll) -> Self {
        let moves = outer_moves(encoding, roll.value);
        let starts = |wanted: &dyn Fn(&OuterMove) -> bool| {
            moves.iter().filter(|mv| wanted(mv)).fold(0, |mask, mv| mask | 1 << mv.from)
        };
        let whole = |mv: &OuterMove| matches!(mv.rows, Rows::Same);
        let mut this = Self {
            value: roll.value,
            chance: roll.chance(),
            outer: vec![None; encoding.ruleset().path().len() as usize + 1],
            from_whole: starts(&whole),
            from_partial: starts(&|mv| !whole(mv)),
            from_same_square: starts(&|mv| mv.same_square),
        };
        for mv in moves {
            let from = mv.from as usize;
            this.outer[from] = Some(mv);
        }
        this
    }
}

/// A move within a block: a row that the best move is sought among too. Which ones depends on
/// the row and on how many pieces a row may have, nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InnerMove(u32);

impl InnerMove {
    fn new(row: usize, rolls_again: bool) -> Self {
        Self((row as u32) << 1 | u32::from(rolls_again))
    }

    /// The row it leads to, higher than the one it starts from.
    #[inline(always)]
    pub fn row(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether the player rolls again: the row is then one of those being computed.
    #[inline(always)]
    pub fn rolls_again(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The moves within a block, for blocks whose rows have at most k pieces.
#[derive(Clone, Debug)]
pub struct InnerMoves {
    rolls: usize,
    rows: usize,
    moves: Vec<InnerMove>,
    /// Where the moves of (row, roll) end in `moves`.
    ends: Vec<u32>,
}

impl InnerMoves {
    /// Whether these are the moves of a block of so many rows and rolls: every move then leads to
    /// one of its rows.
    #[inline(always)]
    pub fn fits(&self, rows: usize, rolls: usize) -> bool {
        self.rolls == rolls && self.rows == rows
    }

    /// The moves of a row for the roll in place `roll` of [`Rules::rolls`].
    #[inline(always)]
    pub fn of(&self, row: usize, roll: usize) -> &[InnerMove] {
        let at = row * self.rolls + roll;
        &self.moves[self.ends[at] as usize..self.ends[at + 1] as usize]
    }
}

/// The moves of a ruleset, sorted by what they touch.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The probability of a roll of 0.
    pub zero: f64,
    /// The rolls above 0.
    pub rolls: Vec<RollMoves>,
    /// The moves within a block by k, the most pieces its rows have.
    pub inner: Vec<InnerMoves>,
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
            inner: (0..=ruleset.pieces())
                .map(|k| {
                    inner_moves(encoding, &moving().map(|roll| roll.value).collect::<Vec<_>>(), k)
                })
                .collect(),
            captures_grant_rolls: ruleset.captures_grant_rolls(),
        }
    }
}

/// The path positions a roll leads from and to.
fn path_moves(encoding: &Encoding, roll: u8) -> impl Iterator<Item = (PathPosition, PathPosition)> {
    let last = encoding.ruleset().path().len() + 1;
    (0..last).map(move |from| (from, from + roll)).filter(move |&(_, to)| to <= last)
}

fn outer_moves(encoding: &Encoding, roll: u8) -> Vec<OuterMove> {
    let (ruleset, private) = (encoding.ruleset(), encoding.private());
    let len = ruleset.path().len();
    let place = |at: PathPosition| encoding.geometry().own_place[at as usize];
    let mut moves = Vec::new();
    for (from, to) in path_moves(encoding, roll) {
        let leaves = match place(from) {
            Place::Shared { square, digit } if from > 0 => Some((square, digit)),
            _ => None,
        };
        let end = match to {
            to if to > len => End::Scored,
            to => match place(to) {
                Place::Private => End::Private,
                Place::Shared { square, digit } => End::Shared { square, digit },
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
            (_, Some(_), End::Shared { .. } | End::Scored) => Rows::Same,
            _ => Rows::Mapped(RowMap::new(private, ruleset.pieces(), |p| adds(removes(p)?))),
        };
        let rosette = to <= len && ruleset.is_rosette(to) && ruleset.rosettes_grant_rolls();
        let same_square = from > 0 && to <= len && ruleset.own_on_square_of(to) >> from & 1 == 1;
        moves.push(OuterMove { from, to, leaves, end, rows, rosette, same_square });
    }
    moves
}

fn inner_moves(encoding: &Encoding, rolls: &[u8], k: u8) -> InnerMoves {
    let (ruleset, private) = (encoding.ruleset(), encoding.private());
    let is_private = |at: PathPosition| private.positions() >> at & 1 == 1;
    let rows = private.count(k) as usize;
    let mut inner = InnerMoves { rolls: rolls.len(), rows, moves: Vec::new(), ends: vec![0] };
    for row in 0..rows {
        let mask = private.mask(row);
        for &roll in rolls {
            for (from, to) in path_moves(encoding, roll) {
                let may_leave = match from {
                    0 => mask.count_ones() < u32::from(k),
                    _ => is_private(from) && mask >> from & 1 == 1,
                };
                if !may_leave || to > ruleset.path().len() || !is_private(to) {
                    continue;
                }
                let without = if from == 0 { mask } else { mask & !(1 << from) };
                if without & ruleset.own_on_square_of(to) != 0 {
                    continue;
                }
                let after = private.rank(without | 1 << to).expect("one piece to a square");
                assert!(row < after && after < rows, "moves within a block lead to higher rows");
                let again = ruleset.is_rosette(to) && ruleset.rosettes_grant_rolls();
                inner.moves.push(InnerMove::new(after, again));
            }
            inner.ends.push(inner.moves.len() as u32);
        }
    }
    inner
}
