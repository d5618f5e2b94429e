//! One pair of blocks: gather what other blocks offer, then pass over the pair's own rows.
//!
//! The block of a shared configuration w holds the chances of the player who just moved, rows by
//! that player's private configuration. Seen by a mover x, w's own block (x just moved) is what x
//! reads when the turn passes to the opponent; what x computes is written, transposed, to the block
//! of the swapped configuration (the opponent just moved, x is to move). So the two blocks of a
//! pair w, swap(w) read and write each other:
//!
//! ```text
//! V[p][q]        = sum over rolls of P(roll) * max( best of other blocks [roll][p][q],
//!                                                   rows p' of block(w), rows p' of V )
//! block(swap(w))[q][p] = 1 - V[p][q]
//! ```
//!
//! The first kind of candidates, from other blocks, is gathered once per sweep. Then a few *passes*
//! go back and forth between the two blocks, which are in cache by then: this removes the lag
//! between the two orientations.

use ziggurat_encoding::SharedConfiguration;
use ziggurat_game::PathPosition;

use crate::{
    context::{Context, Stored},
    lanes::{LANES, Lanes, groups},
    occupancy::Occupancy,
    rules::{End, InnerMove, OuterMove, RollMoves, Rows},
    value::Value,
};

/// How often a sweep passes over both blocks of a pair.
pub const PASSES: usize = 2;

/// A block as a mover sees it.
#[derive(Clone, Copy)]
pub struct View {
    /// The shared squares, "own" being the mover.
    pub w: SharedConfiguration,
    /// Which orientation of the step the mover's own block is in.
    pub orientation: usize,
    /// The most private pieces of the mover, and of the opponent.
    left: (u8, u8),
    occupancy: Occupancy,
    /// Rows: the mover's private configurations; columns: the opponent's.
    pub rows: usize,
    pub columns: usize,
    /// Where the block starts in its tier.
    pub offset: u64,
}

impl View {
    /// The view of a configuration whose player just moved, in an orientation of the step.
    #[inline(always)]
    pub fn new<T: Value>(
        context: &Context<'_, T>,
        w: SharedConfiguration,
        orientation: usize,
    ) -> Self {
        let encoding = context.encoding;
        let tier = context.tiers[orientation];
        let (own, opponent) = encoding.shared().pieces(&w);
        let left = (tier.just_moved - own, tier.to_move - opponent);
        Self {
            w,
            orientation,
            left,
            occupancy: context.occupancies.of(&w),
            rows: encoding.private().count(left.0) as usize,
            columns: encoding.private().count(left.1) as usize,
            offset: encoding.shared().offset(tier, &w),
        }
    }

    /// Groups of lanes per scratch row.
    #[inline(always)]
    fn stride(&self) -> usize {
        groups(self.columns)
    }

    /// Groups of lanes of a scratch matrix, its rows padded too, so that it can be transposed
    /// in squares.
    #[inline(always)]
    fn area(&self) -> usize {
        groups(self.rows) * LANES * self.stride()
    }
}

/// The working memory of one thread.
pub struct Scratch<T> {
    /// For both views, by roll: the best of what other blocks offer.
    best: [Vec<Lanes<T>>; 2],
    /// Both views' own blocks.
    own: [Vec<Lanes<T>>; 2],
    /// V, the chances of the mover.
    value: Vec<Lanes<T>>,
    /// A block turned to the mover's rows.
    turned: Vec<Lanes<T>>,
}

impl<T: Value> Scratch<T> {
    /// Working memory for blocks of up to `side` x `side` values and `rolls` rolls above 0.
    pub fn new(side: usize, rolls: usize) -> Self {
        let area = groups(side) * LANES * groups(side);
        let matrices = |count: usize| vec![Lanes::splat(T::default()); area * count];
        Self {
            best: [matrices(rolls), matrices(rolls)],
            own: [matrices(1), matrices(1)],
            value: matrices(1),
            turned: matrices(1),
        }
    }

    /// The size in bytes of [`Scratch::new`]'s memory.
    pub fn bytes(side: usize, rolls: usize) -> u64 {
        let area = groups(side) * LANES * groups(side);
        (area * (2 * rolls + 4) * size_of::<Lanes<T>>()) as u64
    }

    /// Computes both blocks of a pair from `stored` and the blocks themselves; afterwards
    /// [`Scratch::block`] holds them.
    #[inline(always)]
    pub fn sweep_pair(
        &mut self,
        context: &Context<'_, T>,
        stored: &impl Stored<T>,
        view: &View,
        swapped: &View,
    ) {
        let Self { best: [best, best_swapped], own: [own, own_swapped], value, turned } = self;
        gather(context, stored, view, best, turned);
        gather(context, stored, swapped, best_swapped, turned);
        load(view, stored.values(view.orientation, view.offset), own);
        for _ in 0..PASSES {
            pass(context, view, best, own, value);
            transpose_complement(view, value, own_swapped);
            pass(context, swapped, best_swapped, own_swapped, value);
            transpose_complement(swapped, value, own);
        }
    }

    /// Computes a block that is its own swap.
    #[inline(always)]
    pub fn sweep_single(&mut self, context: &Context<'_, T>, stored: &impl Stored<T>, view: &View) {
        let Self { best: [best, _], own: [own, _], value, turned } = self;
        gather(context, stored, view, best, turned);
        load(view, stored.values(view.orientation, view.offset), own);
        for _ in 0..PASSES {
            pass(context, view, best, own, value);
            transpose_complement(view, value, own);
        }
    }

    /// Writes the view's block (0: the first view's, 1: the swapped one's) to where it is stored.
    #[inline(always)]
    pub fn store(&self, which: usize, view: &View, stored: &mut [T]) {
        let (columns, stride) = (view.columns, view.stride());
        for (row, from) in stored[..view.rows * columns]
            .chunks_exact_mut(columns)
            .zip(self.own[which].chunks(stride))
        {
            for (to, lanes) in row.chunks_mut(LANES).zip(from) {
                to.copy_from_slice(&lanes.0[..to.len()]);
            }
        }
    }
}

/// Fills `best` with the best of what other blocks offer the mover for each roll,
/// [`Value::NONE`] where they offer nothing.
#[inline(always)]
fn gather<T: Value>(
    context: &Context<'_, T>,
    stored: &impl Stored<T>,
    view: &View,
    best: &mut [Lanes<T>],
    turned: &mut [Lanes<T>],
) {
    let own = view.occupancy.own;
    let private = if view.left.0 > 0 { context.private_from } else { 0 };
    let area = view.area();
    for (roll, best) in context.rules.rolls.iter().zip(best.chunks_exact_mut(area)) {
        let open = !(view.occupancy.blocked >> roll.value) | roll.from_same_square;
        let mut filled = false;
        for from in bits(own & roll.from_whole & open) {
            offer(context, stored, view, roll, from, best, turned, !filled);
            filled = true;
        }
        if !filled {
            best[..view.rows * view.stride()].fill(Lanes::splat(T::NONE));
        }
        for from in bits((own | private) & roll.from_partial & open) {
            offer(context, stored, view, roll, from, best, turned, false);
        }
    }
}

/// The set bits of a mask.
#[inline(always)]
fn bits(mut mask: u64) -> impl Iterator<Item = PathPosition> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as PathPosition;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}

/// Offers one legal move to `best`.
#[expect(clippy::too_many_arguments)]
#[inline(always)]
fn offer<T: Value>(
    context: &Context<'_, T>,
    stored: &impl Stored<T>,
    view: &View,
    roll: &RollMoves,
    from: PathPosition,
    best: &mut [Lanes<T>],
    turned: &mut [Lanes<T>],
    first: bool,
) {
    let mv = roll.outer[from as usize].as_ref().expect("the masks name moves there are");
    let shared = context.encoding.shared();
    let mut w = view.w;
    if let Some((square, digit)) = mv.leaves {
        shared.change(&mut w, square, digit, 0);
    }
    let mut captures = false;
    match mv.end {
        End::Private => {}
        End::Shared { square, digit } => {
            captures = view.occupancy.captures >> mv.to & 1 == 1;
            let before = if captures { shared.digit(&view.w, square) } else { 0 };
            shared.change(&mut w, square, before, digit);
        }
        End::Scored => {
            let Some((tier, values)) = context.after_scoring(view.orientation) else {
                return take_wins(view, mv, best);
            };
            let block = &values[shared.offset(tier, &w) as usize..];
            return take(view, mv, best, first, Rectangle::Stored { block, stride: view.columns });
        }
    }
    let own_left = context.tiers[view.orientation].just_moved - shared.pieces(&w).0;
    let opponent_left = view.left.1 + u8::from(captures);
    let private = context.encoding.private();
    if mv.rosette || captures && context.rules.captures_grant_rolls {
        let orientation = context.swapped(view.orientation);
        let w = shared.swap(&w);
        let offset = shared.offset(context.tiers[orientation], &w);
        let rows = private.count(own_left) as usize;
        turn(stored.values(orientation, offset), rows, view.columns, turned);
        take(view, mv, best, first, Rectangle::Turned { block: turned });
    } else {
        let offset = shared.offset(context.tiers[view.orientation], &w);
        let block = stored.values(view.orientation, offset);
        let stride = private.count(opponent_left) as usize;
        take(view, mv, best, first, Rectangle::Stored { block, stride });
    }
}

/// The values a move leads to, rows by the mover's private configuration after it.
enum Rectangle<'a, T> {
    /// As stored.
    Stored {
        /// From the first row on.
        block: &'a [T],
        /// Values from row to row.
        stride: usize,
    },
    /// In scratch memory, with the stride of the view.
    Turned {
        /// All rows.
        block: &'a [Lanes<T>],
    },
}

impl<T: Value> Rectangle<'_, T> {
    #[inline(always)]
    fn lanes(&self, row: usize, group: usize, groups: usize) -> Lanes<T> {
        match self {
            Rectangle::Stored { block, stride } => {
                Lanes::load(&block[row * stride + group * LANES..])
            }
            Rectangle::Turned { block } => block[row * groups + group],
        }
    }
}

/// Takes the larger of `best` and what a move offers, row by row.
#[inline(always)]
fn take<T: Value>(
    view: &View,
    mv: &OuterMove,
    best: &mut [Lanes<T>],
    first: bool,
    offered: Rectangle<'_, T>,
) {
    let stride = view.stride();
    let mut row = |p: usize, after: usize| {
        for (group, best) in best[p * stride..][..stride].iter_mut().enumerate() {
            let offered = offered.lanes(after, group, stride);
            *best = if first { offered } else { best.larger(offered) };
        }
    };
    match &mv.rows {
        Rows::Same => (0..view.rows).for_each(|p| row(p, p)),
        Rows::SameWithHand { counts } => {
            (0..counts[view.left.0 as usize]).for_each(|p| row(p, p));
        }
        Rows::Mapped(map) => {
            for &(p, after) in map.up_to(view.left.0) {
                row(p as usize, after as usize);
            }
        }
    }
}

/// Takes a move that wins the game.
#[inline(always)]
fn take_wins<T: Value>(view: &View, mv: &OuterMove, best: &mut [Lanes<T>]) {
    let stride = view.stride();
    let mut row = |p: usize| best[p * stride..][..stride].fill(Lanes::splat(T::ONE));
    match &mv.rows {
        Rows::Same => (0..view.rows).for_each(&mut row),
        Rows::SameWithHand { counts } => (0..counts[view.left.0 as usize]).for_each(&mut row),
        Rows::Mapped(map) => {
            map.up_to(view.left.0).iter().for_each(|&(p, _)| row(p as usize));
        }
    }
}

/// Computes V from the best of other blocks and the rows of the mover's own block.
#[inline(always)]
fn pass<T: Value>(
    context: &Context<'_, T>,
    view: &View,
    best: &[Lanes<T>],
    own: &[Lanes<T>],
    value: &mut [Lanes<T>],
) {
    let (stride, area) = (view.stride(), view.area());
    let inner = &context.rules.inner[view.left.0 as usize];
    // Moves within the block lead to higher rows: compute those first.
    for p in (0..view.rows).rev() {
        for group in 0..stride {
            let at = p * stride + group;
            let mut sum = own[at].weighted(context.zero);
            for (roll, &chance) in context.chances.iter().enumerate() {
                let mut top = best[roll * area + at];
                let moves = inner.of(p, roll);
                for mv in moves {
                    top = top.larger(match *mv {
                        InnerMove::Row(after) => own[after as usize * stride + group],
                        InnerMove::Again(after) => value[after as usize * stride + group],
                    });
                }
                if moves.is_empty() && top.0[0] == T::NONE {
                    top = own[at];
                }
                sum = sum.add_weighted(chance, top);
            }
            value[at] = sum;
        }
    }
}

/// Reads a stored block into scratch rows.
#[inline(always)]
fn load<T: Value>(view: &View, block: &[T], own: &mut [Lanes<T>]) {
    let stride = view.stride();
    for (p, row) in own[..view.rows * stride].chunks_exact_mut(stride).enumerate() {
        for (group, lanes) in row.iter_mut().enumerate() {
            *lanes = Lanes::load(&block[p * view.columns + group * LANES..]);
        }
    }
}

/// Turns a stored block of the other orientation, `columns` rows of `rows` values, into `rows`
/// scratch rows of the complements.
#[inline(always)]
fn turn<T: Value>(block: &[T], rows: usize, columns: usize, turned: &mut [Lanes<T>]) {
    let stride = groups(columns);
    for group in 0..stride {
        let count = LANES.min(columns - group * LANES);
        for row_group in 0..groups(rows) {
            let mut square = [Lanes::splat(T::ONE); LANES];
            for (i, lanes) in square[..count].iter_mut().enumerate() {
                *lanes = Lanes::load(&block[(group * LANES + i) * rows + row_group * LANES..]);
            }
            for (j, lanes) in transpose_square(&square).into_iter().enumerate() {
                turned[(row_group * LANES + j) * stride + group] = lanes.complement();
            }
        }
    }
}

/// Writes the complement of V, transposed, as the rows of the swapped view's own block.
#[inline(always)]
fn transpose_complement<T: Value>(view: &View, value: &[Lanes<T>], out: &mut [Lanes<T>]) {
    let (stride, out_stride) = (view.stride(), groups(view.rows));
    for row_group in 0..out_stride {
        for group in 0..stride {
            let mut square = [Lanes::splat(T::ONE); LANES];
            for (i, lanes) in square.iter_mut().enumerate() {
                *lanes = value[(row_group * LANES + i) * stride + group];
            }
            for (j, lanes) in transpose_square(&square).into_iter().enumerate() {
                out[(group * LANES + j) * out_stride + row_group] = lanes.complement();
            }
        }
    }
}

/// The transpose of 8 x 8 values.
#[inline(always)]
fn transpose_square<T: Value>(square: &[Lanes<T>; LANES]) -> [Lanes<T>; LANES] {
    let mut out = [Lanes::splat(T::ONE); LANES];
    for (j, lanes) in out.iter_mut().enumerate() {
        for (i, x) in lanes.0.iter_mut().enumerate() {
            *x = square[i].0[j];
        }
    }
    out
}
