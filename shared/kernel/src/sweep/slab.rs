//! Slabs: all blocks that agree on the outer squares, and their successors.
//!
//! Which moves the outer squares allow, and where they lead, is the same for every block of a slab:
//! it is found once, as a list of *successors*, each a location and a route from the values there.

use ziggurat_encoding::{SharedConfiguration, shared::Budgets};

use crate::{
    moves::{
        occupancy::{Occupancy, bits},
        routes::{Route, Routes},
        rules::{BlockMove, End},
    },
    shards::ranges::Orientation,
    simd::value::Value,
    sweep::{
        context::Context,
        sources::{Location, Locator, arrays},
    },
};

/// The successors of a slab for a roll, by moves that its outer squares allow.
#[derive(Clone, Debug, Default)]
pub struct Successors<'t> {
    /// Slabs that offer something for all rows: the turn passes.
    pub all_rows: Vec<(Location, &'t Route)>,
    /// Slabs that offer something for some rows.
    pub some_rows: Vec<(Location, &'t Route)>,
    /// Slabs in which the other player just moved, to be transposed: the mover rolls again.
    pub extra_roll: Vec<(Location, &'t Route)>,
    /// Moves that win.
    pub wins: Vec<&'t Route>,
}

impl<'t> Successors<'t> {
    /// Those where the turn passes, complete ones first.
    pub fn passing(&self) -> impl Iterator<Item = &(Location, &'t Route)> {
        self.all_rows.iter().chain(&self.some_rows)
    }

    /// The reads of the roll: where, how many values from there on, and whether the mover rolls again.
    pub fn reads(&self, routes: &Routes) -> impl Iterator<Item = (Location, usize, bool)> {
        let some_rows = self
            .passing()
            .map(|&(location, route)| (location, routes.passing_source_reach(route), false));
        let extra_roll = self.extra_roll.iter();
        some_rows.chain(
            extra_roll
                .map(|&(location, route)| (location, routes.extra_roll_source_reach(route), true)),
        )
    }
}

/// A slab as a mover sees it.
#[derive(Clone, Debug, Default)]
pub struct Slab<'t> {
    /// The pieces that the outer squares leave, (mover, opponent).
    pub budgets: Budgets,
    /// Where its values are found.
    pub own: Location,
    /// The successors for each roll.
    pub successors: Vec<Successors<'t>>,
}

/// A slab's shared configuration, in an orientation.
struct At<'a> {
    w: &'a SharedConfiguration,
    orientation: Orientation,
    occupancy: Occupancy,
}

impl<'t> Slab<'t> {
    /// Works out the slab of `w`, whose inner squares are empty.
    pub fn set<T: Value>(
        &mut self,
        context: &Context<'t, T>,
        locator: &impl Locator,
        w: &SharedConfiguration,
        budgets: Budgets,
        orientation: Orientation,
    ) {
        let tables = context.tables;
        let tier = context.tiers[orientation.index()];
        self.budgets = budgets;
        self.own = locator.locate(orientation, context.encoding.shared().offset(tier, w));
        self.successors.resize_with(tables.rules.rolls.len(), Successors::default);
        let at = At { w, orientation, occupancy: tables.occupancies.of(w) };
        let inner = if budgets.0 > 0 { tables.inner_from } else { 0 };
        for (roll, (moves, successors)) in
            tables.rules.rolls.iter().zip(&mut self.successors).enumerate()
        {
            successors.all_rows.clear();
            successors.some_rows.clear();
            successors.extra_roll.clear();
            successors.wins.clear();
            let open = !(at.occupancy.blocked >> moves.value) | moves.from_same_square;
            for from in bits((at.occupancy.own | inner) & moves.leaves_slab & open) {
                let captures = at.occupancy.captures >> moves.moved_from(from).to & 1 == 1;
                if let Some(route) = tables.routes.of_move(budgets, roll, from, captures) {
                    at.successor(context, locator, moves.moved_from(from), route, successors);
                }
            }
        }
    }
}

impl At<'_> {
    /// Adds the successors by a move.
    #[inline(always)]
    fn successor<'t, T: Value>(
        &self,
        context: &Context<'t, T>,
        locator: &impl Locator,
        mv: &BlockMove,
        route: &'t Route,
        successors: &mut Successors<'t>,
    ) {
        let shared = context.encoding.shared();
        let mut w = *self.w;
        if let Some(left) = mv.leaves.filter(|left| left.inner.is_none()) {
            shared.change(&mut w, left.square, left.digit, 0);
        }
        if let End::Shared(reached) = mv.end
            && reached.inner.is_none()
        {
            let before = shared.digit(&w, reached.square);
            shared.change(&mut w, reached.square, before, reached.digit);
        }
        let orientation = self.orientation;
        if route.passes_turn() {
            let location = if mv.end == End::Scored {
                let Some(tier) = context.after_scoring(orientation) else {
                    return successors.wins.push(route);
                };
                let start = shared.offset(tier, &w) as usize;
                Location { array: arrays::FINAL + orientation.index(), start }
            } else {
                locator.locate(orientation, shared.offset(context.tiers[orientation.index()], &w))
            };
            if route.covers_all_rows {
                successors.all_rows.push((location, route));
            } else {
                successors.some_rows.push((location, route));
            }
        }
        if route.rolls_again() {
            let other = context.swapped(orientation);
            let offset = shared.offset(context.tiers[other.index()], &shared.swap(&w));
            successors.extra_roll.push((locator.locate(other, offset), route));
        }
    }
}
