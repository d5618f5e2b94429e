//! Slabs: what all blocks that agree on the outer squares have in common.
//!
//! Where a move leads that leaves or reaches an outer square, and whether the outer squares allow
//! it, is the same for every block of a slab: it is worked out once, as a [`Target`].

use ziggurat_encoding::{SharedConfiguration, shared::Budgets};
use ziggurat_game::PathPosition;

use crate::{
    context::Context,
    occupancy::Occupancy,
    rules::{BlockMove, End},
    value::Value,
};

/// The arrays of values that a sweep of one shard reads, padded.
pub struct Sources<'a, T> {
    /// Each orientation as it was published at the last barrier, the shard's own ranges as they
    /// are now, and for each orientation the tier that scoring a piece leads to.
    pub arrays: [&'a [T]; 6],
}

/// Where an array begins among [`Sources::arrays`].
pub mod arrays {
    /// Published values, by orientation.
    pub const PUBLISHED: usize = 0;
    /// The shard's own values, by range.
    pub const LIVE: usize = 2;
    /// Values after scoring, by orientation.
    pub const FINAL: usize = 4;
}

/// A place among the [`Sources`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Which array.
    pub array: usize,
    /// Where in it.
    pub start: usize,
}

impl Place {
    /// The place so many values further on.
    #[inline(always)]
    pub fn after(self, offset: usize) -> Self {
        Self { start: self.start + offset, ..self }
    }
}

impl<'a, T> Sources<'a, T> {
    /// The values at so many from a place on.
    #[inline(always)]
    pub fn at(&self, place: Place, offset: usize) -> &'a [T] {
        &self.arrays[place.array][place.start + offset..]
    }
}

/// Where values of the step are found: a shard's own values as they are now, those of others as
/// they were published.
pub trait Placed {
    /// The place of an index of an orientation.
    fn place(&self, orientation: usize, offset: u64) -> Place;
}

/// Where a move leads from the blocks of a slab.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// The slab in which the mover just moved.
    pub plain: Place,
    /// The slab in which the other player just moved: where the mover rolls again, turned.
    pub again: Place,
    /// The blocks of these slabs, as [`Tables::blocks_of`] numbers them.
    ///
    /// [`Tables::blocks_of`]: crate::context::Tables::blocks_of
    pub plain_blocks: u32,
    /// See [`Target::plain_blocks`].
    pub again_blocks: u32,
    /// The path position it reaches if that is on an inner square, as a mask: if the opponent
    /// stands there, `weight` times the digit at `place` goes away too.
    pub captures_at: u64,
    /// What the move adds to the inner value.
    pub step: i16,
    /// The weight of the inner square it reaches.
    pub weight: u16,
    /// The place among the inner squares of the one it reaches.
    pub place: u8,
    /// Whether the mover rolls again whatever the inner squares are.
    pub rolls_again: bool,
    /// Whether the move wins the game.
    pub wins: bool,
}

impl Target {
    /// The target of a move that is the same for all inner squares, between the slabs of a
    /// configuration with these budgets.
    fn between<T: Value>(
        context: &Context<'_, T>,
        (plain, again): (Place, Place),
        (own, opponent): Budgets,
    ) -> Self {
        Self {
            plain,
            again,
            plain_blocks: context.tables.blocks_of((own, opponent)),
            again_blocks: context.tables.blocks_of((opponent, own)),
            ..Self::default()
        }
    }

    /// Adds what a move does to the inner squares.
    fn with_inner_squares(mut self, mv: &BlockMove) -> Self {
        if let Some(left) = mv.leaves
            && let Some(inner) = left.inner
        {
            self.step -= (inner.weight * u16::from(left.digit)) as i16;
        }
        if let End::Shared(reached) = mv.end
            && let Some(inner) = reached.inner
        {
            self.step += (inner.weight * u16::from(reached.digit)) as i16;
            self.captures_at = 1 << mv.to;
            self.weight = inner.weight;
            self.place = inner.place as u8;
        }
        self
    }
}

/// A slab as a mover sees it.
#[derive(Clone, Debug, Default)]
pub struct Slab {
    /// Which orientation of the step the mover's own blocks are in.
    pub orientation: usize,
    /// The pieces that the outer squares leave, (mover, opponent).
    pub budgets: Budgets,
    /// Where its values are found.
    pub own: Place,
    /// Who stands where on the outer squares.
    pub occupancy: Occupancy,
    /// By roll and path position a move starts from.
    targets: Vec<Target>,
    stride: usize,
}

impl Slab {
    /// Works out the slab of `w`, whose inner squares are empty.
    pub fn set<T: Value>(
        &mut self,
        context: &Context<'_, T>,
        placed: &impl Placed,
        w: &SharedConfiguration,
        budgets: Budgets,
        orientation: usize,
    ) {
        let rules = &context.tables.rules;
        self.orientation = orientation;
        self.budgets = budgets;
        self.occupancy = context.tables.occupancies.of(w);
        self.stride = context.encoding.geometry().own_place.len();
        self.targets.resize(self.stride * rules.rolls.len(), Target::default());
        let itself = places(context, placed, w, budgets, orientation);
        self.own = itself.plain;
        let inner = if budgets.0 > 0 { context.tables.inner_from } else { 0 };
        for (roll, targets) in rules.rolls.iter().zip(self.targets.chunks_mut(self.stride)) {
            let open = !(self.occupancy.blocked >> roll.value) | roll.from_same_square;
            let starts = (self.occupancy.own | inner) & (roll.from_whole | roll.from_partial);
            for from in bits(starts & open) {
                let mv = roll.moved_from(from);
                let target = if mv.stays_in_slab() {
                    Target { rolls_again: mv.rosette, ..itself }
                } else {
                    target_of(context, placed, mv, w, budgets, orientation, &self.occupancy)
                };
                targets[from as usize] = target.with_inner_squares(mv);
            }
        }
    }

    /// Where the move of a roll from a path position leads, which the outer squares allow.
    #[inline(always)]
    pub fn target_of_move(&self, roll: usize, from: PathPosition) -> &Target {
        &self.targets[roll * self.stride + from as usize]
    }
}

/// The slab of a configuration in both orientations.
fn places<T: Value>(
    context: &Context<'_, T>,
    placed: &impl Placed,
    w: &SharedConfiguration,
    budgets: Budgets,
    orientation: usize,
) -> Target {
    let shared = context.encoding.shared();
    let other = context.swapped(orientation);
    let plain = placed.place(orientation, shared.offset(context.tiers[orientation], w));
    let again = placed.place(other, shared.offset(context.tiers[other], &shared.swap(w)));
    Target::between(context, (plain, again), budgets)
}

/// The target of a move that leaves the slab.
fn target_of<T: Value>(
    context: &Context<'_, T>,
    placed: &impl Placed,
    mv: &BlockMove,
    w: &SharedConfiguration,
    budgets: Budgets,
    orientation: usize,
    occupancy: &Occupancy,
) -> Target {
    let shared = context.encoding.shared();
    let mut w = *w;
    let (mut own, mut opponent) = budgets;
    if let Some(left) = mv.leaves.filter(|left| left.inner.is_none()) {
        shared.change(&mut w, left.square, left.digit, 0);
        own += 1;
    }
    let mut captures = false;
    match mv.end {
        End::Shared(reached) if reached.inner.is_none() => {
            captures = occupancy.captures >> mv.to & 1 == 1;
            let before = if captures { shared.digit(&w, reached.square) } else { 0 };
            shared.change(&mut w, reached.square, before, reached.digit);
            own -= 1;
            opponent += u8::from(captures);
        }
        End::Shared(_) | End::Private => {}
        End::Scored => {
            own -= 1;
            let Some(tier) = context.after_scoring(orientation) else {
                return Target { wins: true, ..Target::default() };
            };
            let start = shared.offset(tier, &w) as usize;
            let plain = Place { array: arrays::FINAL + orientation, start };
            return Target::between(context, (plain, plain), (own, opponent));
        }
    }
    let rolls_again = mv.rosette || captures && context.tables.rules.captures_grant_rolls;
    Target { rolls_again, ..places(context, placed, &w, (own, opponent), orientation) }
}

/// The set bits of a mask.
#[inline(always)]
pub fn bits(mut mask: u64) -> impl Iterator<Item = PathPosition> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as PathPosition;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}
