//! Slabs: what all blocks that agree on the outer squares have in common.
//!
//! Which moves the outer squares allow, and where they lead, is the same for every block of a slab:
//! it is found once, as a list of *offers*, each a place and what to do with the values there.

use ziggurat_encoding::{SharedConfiguration, shared::Budgets};

use crate::{
    moves::{
        occupancy::{Occupancy, bits},
        routes::{Route, Routes},
        rules::{BlockMove, End},
    },
    simd::value::Value,
    sweep::{
        context::Context,
        sources::{Place, Placed, arrays},
    },
};

/// What the outer squares of a slab allow for a roll, and where it leads.
#[derive(Clone, Debug, Default)]
pub struct Offers<'t> {
    /// Slabs that offer something for all rows: the turn passes.
    pub complete: Vec<(Place, &'t Route)>,
    /// Slabs that offer something for some rows.
    pub plain: Vec<(Place, &'t Route)>,
    /// Slabs in which the other player just moved, to be turned: the mover rolls again.
    pub again: Vec<(Place, &'t Route)>,
    /// Moves that win.
    pub wins: Vec<&'t Route>,
}

impl<'t> Offers<'t> {
    /// Those where the turn passes, complete ones first.
    pub fn passing(&self) -> impl Iterator<Item = &(Place, &'t Route)> {
        self.complete.iter().chain(&self.plain)
    }

    /// What is read for the roll: where, how many values from there on, and whether the mover rolls again.
    pub fn reads(&self, routes: &Routes) -> impl Iterator<Item = (Place, usize, bool)> {
        let plain =
            self.passing().map(|&(place, route)| (place, routes.plain_source_reach(route), false));
        let again = self.again.iter();
        plain.chain(again.map(|&(place, route)| (place, routes.again_source_reach(route), true)))
    }
}

/// A slab as a mover sees it.
#[derive(Clone, Debug, Default)]
pub struct Slab<'t> {
    /// The pieces that the outer squares leave, (mover, opponent).
    pub budgets: Budgets,
    /// Where its values are found.
    pub own: Place,
    /// What is offered for each roll.
    pub offers: Vec<Offers<'t>>,
}

/// A slab's shared configuration, in an orientation.
struct At<'a> {
    w: &'a SharedConfiguration,
    orientation: usize,
    occupancy: Occupancy,
}

impl<'t> Slab<'t> {
    /// Works out the slab of `w`, whose inner squares are empty.
    pub fn set<T: Value>(
        &mut self,
        context: &Context<'t, T>,
        placed: &impl Placed,
        w: &SharedConfiguration,
        budgets: Budgets,
        orientation: usize,
    ) {
        let tables = context.tables;
        let tier = context.tiers[orientation];
        self.budgets = budgets;
        self.own = placed.place(orientation, context.encoding.shared().offset(tier, w));
        self.offers.resize_with(tables.rules.rolls.len(), Offers::default);
        let at = At { w, orientation, occupancy: tables.occupancies.of(w) };
        let inner = if budgets.0 > 0 { tables.inner_from } else { 0 };
        for (roll, (moves, offers)) in tables.rules.rolls.iter().zip(&mut self.offers).enumerate() {
            offers.complete.clear();
            offers.plain.clear();
            offers.again.clear();
            offers.wins.clear();
            let open = !(at.occupancy.blocked >> moves.value) | moves.from_same_square;
            for from in bits((at.occupancy.own | inner) & moves.leaves_slab & open) {
                let captures = at.occupancy.captures >> moves.moved_from(from).to & 1 == 1;
                if let Some(route) = tables.routes.of_move(budgets, roll, from, captures) {
                    at.offer(context, placed, moves.moved_from(from), route, offers);
                }
            }
        }
    }
}

impl At<'_> {
    /// Adds what a move offers.
    #[inline(always)]
    fn offer<'t, T: Value>(
        &self,
        context: &Context<'t, T>,
        placed: &impl Placed,
        mv: &BlockMove,
        route: &'t Route,
        offers: &mut Offers<'t>,
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
            let place = if mv.end == End::Scored {
                let Some(tier) = context.after_scoring(orientation) else {
                    return offers.wins.push(route);
                };
                let start = shared.offset(tier, &w) as usize;
                Place { array: arrays::FINAL + orientation, start }
            } else {
                placed.place(orientation, shared.offset(context.tiers[orientation], &w))
            };
            if route.is_complete {
                offers.complete.push((place, route));
            } else {
                offers.plain.push((place, route));
            }
        }
        if route.rolls_again() {
            let other = context.swapped(orientation);
            let offset = shared.offset(context.tiers[other], &shared.swap(&w));
            offers.again.push((placed.place(other, offset), route));
        }
    }
}
