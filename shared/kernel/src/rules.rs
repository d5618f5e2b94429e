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

/// A piece on a shared square, as a digit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedDigit {
    /// The square's place in the order.
    pub square: usize,
    /// The digit.
    pub digit: u8,
    /// For an inner square, what one more of its digit adds to the inner value, and where its digit
    /// is found among those of the inner squares; `None` for an outer square.
    pub inner: Option<InnerSquare>,
}

/// An inner square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InnerSquare {
    /// What one more of its digit adds to the inner value.
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
    /// Whether it ends on a rosette that grants another roll.
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

/// What a roll can do.
#[derive(Clone, Debug)]
pub struct RollMoves {
    /// How far the piece moves.
    pub value: u8,
    /// The probability of the roll.
    pub chance: f64,
    /// The moves that leave the block, by the path position they start from.
    pub moves: Vec<Option<BlockMove>>,
    /// Where moves start that leave all rows as they are and need no piece in hand.
    pub from_whole: u64,
    /// Where the other moves that leave the block start.
    pub from_partial: u64,
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
        let whole = |mv: &BlockMove| matches!(mv.rows, Rows::Same);
        let mut this = Self {
            value: roll.value,
            chance: roll.chance(),
            moves: vec![None; encoding.ruleset().path().len() as usize + 1],
            from_whole: starts(&whole),
            from_partial: starts(&|mv| !whole(mv)),
            from_same_square: starts(&|mv| mv.same_square),
        };
        for mv in moves {
            let from = mv.from as usize;
            this.moves[from] = Some(mv);
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

/// The moves within a block, for blocks whose rows have at most k pieces, in the order in which a
/// pass needs them: for each row from the highest down, for each roll, their number and then the
/// moves themselves.
#[derive(Clone, Debug)]
pub struct InnerMoves {
    rolls: usize,
    rows: usize,
    stream: Vec<InnerMove>,
}

impl InnerMoves {
    /// Whether these are the moves of a block of so many rows and rolls: the stream then has that
    /// many numbers of moves, and every move leads to one of the rows.
    #[inline(always)]
    pub fn fits(&self, rows: usize, rolls: usize) -> bool {
        self.rolls == rolls && self.rows == rows
    }

    /// What a quantity adds up to at the most if it is 1 for each row, and comes in again, with the
    /// chance of the roll, from the row that a move leads to after which the player rolls again.
    pub fn most_weight_of_again(&self, chances: &[f64]) -> f64 {
        let mut weights = vec![1.0f64; self.rows];
        let mut stream = self.stream();
        for row in (0..self.rows).rev() {
            for chance in chances {
                let moves = (0..stream.count()).map(|_| stream.next()).collect::<Vec<_>>();
                let again = moves.iter().filter(|mv| mv.rolls_again());
                let most = again.map(|mv| weights[mv.row()]).fold(0.0, f64::max);
                weights[row] += chance * most;
            }
        }
        weights.into_iter().fold(1.0, f64::max)
    }

    /// The numbers and the moves.
    #[inline(always)]
    pub fn stream(&self) -> InnerStream<'_> {
        InnerStream(self.stream.iter())
    }
}

/// What is left of a stream of moves.
pub struct InnerStream<'a>(std::slice::Iter<'a, InnerMove>);

impl InnerStream<'_> {
    /// How many moves follow for the next row and roll.
    #[inline(always)]
    pub fn count(&mut self) -> u32 {
        self.next().0
    }

    /// The next move.
    #[inline(always)]
    pub fn next(&mut self) -> InnerMove {
        let next = self.0.next();
        debug_assert!(next.is_some(), "a pass takes what the stream has");
        next.copied().unwrap_or(InnerMove(0))
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
        let rosette = to <= len && ruleset.is_rosette(to) && ruleset.rosettes_grant_rolls();
        let same_square = from > 0 && to <= len && ruleset.own_on_square_of(to) >> from & 1 == 1;
        moves.push(BlockMove { from, to, leaves, end, rows, rosette, same_square });
    }
    moves
}

fn inner_moves(encoding: &Encoding, rolls: &[u8], k: u8) -> InnerMoves {
    let (ruleset, private) = (encoding.ruleset(), encoding.private());
    let is_private = |at: PathPosition| private.positions() >> at & 1 == 1;
    let rows = private.count(k) as usize;
    let mut stream = Vec::new();
    for row in (0..rows).rev() {
        let mask = private.mask(row);
        for &roll in rolls {
            let count = stream.len();
            stream.push(InnerMove(0));
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
                stream.push(InnerMove::new(after, again));
            }
            stream[count] = InnerMove((stream.len() - count - 1) as u32);
        }
    }
    InnerMoves { rolls: rolls.len(), rows, stream }
}
