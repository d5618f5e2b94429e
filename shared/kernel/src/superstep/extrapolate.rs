//! Extrapolation of a step from the changes of its last supersteps.

use rayon::prelude::*;
use ziggurat_planning::{
    quanta::most,
    weights::{Multiples, Products, VECTORS, add},
};

use crate::{
    delta::extrapolation::{Piece, Quanta, extrapolate, quanta_after},
    halo::{
        partition::slices,
        team::{Team, is_own},
    },
    memory::budget::enforce_budget,
    simd::value::Value,
    superstep::state::StepState,
};

impl<T: Value> StepState<'_, T> {
    /// The inner products of the differences of the points that an extrapolation looks at, by range
    /// of a shard.
    pub fn measure(&mut self, team: Option<&Team<'_>>) -> Vec<(u32, Products)> {
        let simd = self.simd;
        let pieces = self.pieces(|unit| is_own(team, unit));
        let of_piece = |(order, piece): &(u32, Piece<'_, T>)| (*order, piece.products(simd));
        let mut ranges: Vec<(u32, Products)> = Vec::new();
        for (order, products) in pieces.par_iter().map(of_piece).collect::<Vec<_>>() {
            match ranges.last_mut() {
                Some((last, total)) if *last == order => add(total, &products),
                _ => ranges.push((order, products)),
            }
        }
        ranges
    }

    /// Adds multiples of the vectors to the values, and to the halo as its owners do to theirs.
    pub fn extrapolate(&mut self, multiples: &Multiples, team: Option<&Team<'_>>) {
        let changed = |quanta: &Quanta| {
            quanta.iter().zip(multiples).map(|(&quantum, by)| most(quantum) * by.abs()).sum()
        };
        self.candidate_lists.extrapolated(self.quanta.iter().map(changed).fold(0.0, f64::max));
        let simd = self.simd;
        let pieces = self.pieces(|unit| is_own(team, unit));
        pieces.into_par_iter().for_each(|(_, Piece { published, vectors, quanta })| {
            enforce_budget();
            let after = quanta_after(quanta, multiples);
            extrapolate(published, vectors, [quanta, &after], multiples, simd);
        });
        let Self { step, published, vectors, quanta, .. } = self;
        for strips in team.iter().flat_map(|team| team.halo()) {
            let mut of_strips = vectors.each_mut().map(|all| slices(all, &strips).into_iter());
            let vectors: Vec<[&mut [i8]; VECTORS]> = strips
                .iter()
                .map(|_| of_strips.each_mut().map(|all| all.next().expect("one for each strip")))
                .collect();
            let places = slices(published, &strips).into_par_iter().zip(vectors);
            strips.into_par_iter().zip(places).for_each(|(strip, (values, vectors))| {
                let quanta = &quanta[step.piece(strip.unit, strip.range, strip.start)];
                let after = quanta_after(quanta, multiples);
                extrapolate(values, vectors, [quanta, &after], multiples, simd);
            });
        }
        quanta.iter_mut().for_each(|quanta| *quanta = quanta_after(quanta, multiples));
    }
}
