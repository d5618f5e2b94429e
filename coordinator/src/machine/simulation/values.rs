//! Values of shards in the simulation: a number that remembers every order that made it, so that a
//! step that ends with the right numbers went the right way, whatever happened meanwhile.

use std::collections::BTreeMap;

use ziggurat_encoding::Tier;
use ziggurat_planning::{GalerkinSystem, Growth, Order, Outcome, Products};

use super::{
    super::{Checksums, JobPlan, begin::reads},
    chance::scramble,
};

/// The step that takes long, so that it is corrected, and its functions.
pub const CORRECTED: Tier = Tier { just_moved: 3, to_move: 2 };
pub const FUNCTIONS: usize = 3;

/// The value of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    history: u64,
    sweeps: u32,
}

impl Value {
    /// Before the first superstep.
    pub fn first(tier: Tier, shard: u32) -> Self {
        let place = u64::from(tier.just_moved) << 8 | u64::from(tier.to_move);
        Self { history: scramble(place << 32 | u64::from(shard)), sweeps: 0 }
    }

    /// What tells it from others.
    pub fn checksums(self) -> Checksums {
        [self.history, self.sweeps.into()]
    }

    /// What remains of many values.
    pub fn digest(values: impl Iterator<Item = Self>) -> u64 {
        values.fold(0, |digest, value| scramble(digest ^ value.history))
    }

    /// Carries out an order that reads finals with a digest, for a shard of a tier.
    pub fn carry(&mut self, order: &Order, finals: u64, tier: Tier, ranges: &[u32]) -> Outcome {
        let code = match order {
            Order::Sweep { slot, finest } => {
                1 + ((slot.before() as u64) << 32 | *finest as u32 as u64)
            }
            Order::Extrapolate { multiples } => {
                multiples.iter().fold(1, |code, multiple| scramble(code ^ multiple.to_bits()))
            }
            Order::Correct { multiples } => {
                multiples.iter().fold(3, |code, multiple| scramble(code ^ multiple.to_bits()))
            }
            Order::Widen => 2,
            Order::Measure | Order::Sample { .. } | Order::Prove(_) => 0,
        };
        if code != 0 {
            self.history = scramble(self.history ^ finals ^ scramble(code));
        }
        match order {
            Order::Sweep { .. } => {
                self.sweeps += 1;
                let uneven = 1.0 + (self.history % 1000) as f64 / 1000.0;
                let rate: f64 = if tier == CORRECTED { 0.6 } else { 0.2 };
                Outcome::Swept((rate.powi(self.sweeps as i32) * uneven).min(1.0))
            }
            Order::Measure => {
                let mut products = Products::default();
                for (i, row) in products.iter_mut().enumerate() {
                    row[i] = 1.0 + (self.history >> (8 * i) & 0xff) as f64;
                }
                Outcome::Measured(ranges.iter().map(|&range| (range, products)).collect())
            }
            Order::Sample { .. } => Outcome::Sampled(self.system()),
            Order::Extrapolate { .. } | Order::Correct { .. } | Order::Widen => Outcome::Done,
            // One step has to go back once; the others are proven in two sweeps.
            Order::Prove(_) if tier == Tier::new(2, 1) && self.sweeps < 20 => {
                Outcome::Proved(Growth { largest: u16::MAX, grew: true })
            }
            Order::Prove(proof) if proof.sweeps() == 0 => {
                Outcome::Proved(Growth { largest: 40_000, grew: true })
            }
            Order::Prove(_) => Outcome::Proved(Growth { largest: 1, grew: false }),
        }
    }
}

impl Value {
    /// The equations of a sample of the shard's positions.
    fn system(self) -> GalerkinSystem {
        let number = |i: usize| (self.history >> (8 * i) & 0xff) as f64;
        let rhs = (0..FUNCTIONS).map(number).collect();
        let matrix = (0..FUNCTIONS * FUNCTIONS).map(|i| number(i % 7)).collect();
        GalerkinSystem::from_parts(rhs, matrix).expect("they are small whole numbers")
    }
}

/// The places of a shard's ranges: in the simulation, each shard has as many as the step has per shard, and
/// the first ones what is left over.
pub fn ranges_of(shard: u32, shards: u32, ranges: u32) -> Vec<u32> {
    (0..ranges).filter(|range| range % shards == shard).collect()
}

/// The solutions of all steps, found without any cluster, and how many orders they took.
pub fn solve(plan: &JobPlan) -> (BTreeMap<Tier, Vec<Value>>, u32) {
    let mut solved: BTreeMap<Tier, Vec<Value>> = BTreeMap::new();
    let mut bounds: BTreeMap<Tier, f64> = BTreeMap::new();
    let mut orders = 0;
    for size in &plan.order {
        let tier = size.tier;
        let read = reads(tier).map(|tier| bounds[&tier]).fold(0.0, f64::max);
        let finals = reads(tier).flat_map(|tier| solved[&tier].iter().copied());
        let finals = Value::digest(finals.collect::<Vec<_>>().into_iter());
        let mut values: Vec<Value> =
            (0..size.shards).map(|shard| Value::first(tier, shard)).collect();
        let mut course = plan.course(tier, read);
        while let Some(order) = course.order() {
            let ranges = plan.steps[&tier].ranges;
            let outcomes = (0..).zip(&mut values).map(|(shard, value)| {
                value.carry(&order, finals, tier, &ranges_of(shard, size.shards, ranges))
            });
            let outcome = outcomes.reduce(|a, b| a.and(b).expect("the same order"));
            course.apply(outcome.expect("a step has shards"));
            orders += 1;
        }
        bounds.insert(tier, course.statistics().certificate.map_or(1.0, |proof| proof.bound));
        solved.insert(tier, values);
    }
    (solved, orders)
}
