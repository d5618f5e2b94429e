//! A step to be proven: its values, and the solved tiers that it reads with their bounds.

use ziggurat_encoding::Tier;
use ziggurat_planning::proof::Proof;

use crate::{
    certificate::rounding::rounding_margin,
    moves::tables::Tables,
    shards::{ranges::Orientation, step::ShardedStep},
    simd::value::Value,
    sweep::context::Context,
};

/// A step whose values are to be proven.
pub struct Unproven<'a, T> {
    pub(super) context: Context<'a, f64>,
    pub(super) step: &'a ShardedStep<'a>,
    /// By orientation.
    pub(super) values: Vec<&'a [T]>,
    /// By orientation, the tier that scoring a piece leads to; `None` if that wins.
    pub(super) finals: Vec<Option<Certified<'a, T>>>,
    /// The unit of the offsets.
    pub(super) unit: f64,
    /// They are rounded to multiples of so many.
    pub(super) multiple: f64,
    /// Whether slabs that are stable are passed over.
    pub(super) skips: bool,
    /// More than all rounding errors of a value.
    pub(super) margin: f64,
}

impl<'s, T: Value> Unproven<'s, T> {
    /// A step with its values by orientation, and the tiers it reads with their bounds.
    pub fn new(
        step: &'s ShardedStep<'s>,
        tables: &'s Tables,
        values: &[&'s [T]],
        finals: impl Fn(Tier) -> Certified<'s, T>,
        proof: &Proof,
    ) -> Self {
        let context = Context::<f64>::new(step.encoding, tables, step.tier, |_| &[]);
        let after = |orientation| context.after_scoring(orientation).map(&finals);
        let finals = Orientation::all(context.tiers.len()).map(after).collect();
        let len = |&tier| step.encoding.tier_len(tier) as usize;
        let values = context.tiers.iter().map(len).zip(values);
        let values = values.map(|(len, values)| &values[..len]).collect();
        let margin = rounding_margin(step.encoding.ruleset().dice(), proof.bound());
        let unit = proof.unit();
        let mut this =
            Self { context, step, values, finals, unit, multiple: 1.0, skips: false, margin };
        this.look_at(proof);
        this
    }

    /// Takes over how the next sweep of the proof is to be made.
    pub fn look_at(&mut self, proof: &Proof) {
        self.multiple = proof.multiple();
        self.skips = proof.sweeps() > 0;
    }
}

/// Final values of a tier with their bound.
#[derive(Clone, Copy, Debug)]
pub struct Certified<'a, T> {
    /// The values, in index order; there may be more behind them.
    pub values: &'a [T],
    /// A bound on their distance from the true ones.
    pub bound: f64,
}
