//! The inputs of a sweep besides the step's own values.

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_planning::basis::is_dense;

use crate::{moves::tables::Tables, shards::ranges::Orientation, simd::value::Value};

/// A step's surroundings: tables, tiers, and the final values of the tiers it reads.
pub struct Context<'a, T> {
    /// The ranking.
    pub encoding: &'a Encoding,
    /// The tables of the ruleset.
    pub tables: &'a Tables,
    /// The probability of a roll of 0.
    pub zero: T,
    /// The probabilities of the rolls above 0.
    pub chances: Vec<T>,
    /// The orientations of the step: one tier if both players have the same pieces left, else
    /// (n, m) and (m, n).
    pub tiers: Vec<Tier>,
    /// For each orientation the final values (padded) of the tier it leads to when the player who
    /// just moved scores a piece; `None` if that wins the game.
    after_scoring: Vec<Option<(Tier, &'a [T])>>,
}

impl<'a, T: Value> Context<'a, T> {
    /// The surroundings of the step of a tier; `finals` gives the padded values of the tiers it
    /// reads.
    pub fn new(
        encoding: &'a Encoding,
        tables: &'a Tables,
        tier: Tier,
        finals: impl Fn(Tier) -> &'a [T],
    ) -> Self {
        let tiers: Vec<Tier> = tier.both().collect();
        let after_scoring = tiers
            .iter()
            .map(|tier| tier.swap().after_score().map(|after| (after, finals(after))))
            .collect();
        Self {
            encoding,
            tables,
            zero: T::from_f64(tables.rules.zero),
            chances: tables.rules.rolls.iter().map(|roll| T::from_f64(roll.chance)).collect(),
            tiers,
            after_scoring,
        }
    }

    /// Whether slabs are dense.
    pub fn is_dense(&self) -> bool {
        is_dense(self.encoding)
    }

    /// The last orientation of the step.
    #[inline(always)]
    pub fn last(&self) -> Orientation {
        Orientation::last(self.tiers.len())
    }

    /// The orientation in which the other player just moved.
    #[inline(always)]
    pub fn swapped(&self, orientation: Orientation) -> Orientation {
        match orientation {
            Orientation::FIRST => self.last(),
            _ => Orientation::FIRST,
        }
    }

    /// The tier an orientation leads to by scoring; `None` if that wins.
    #[inline(always)]
    pub fn after_scoring(&self, orientation: Orientation) -> Option<Tier> {
        self.after_scoring[orientation.index()].map(|(tier, _)| tier)
    }

    /// The values of [`Context::after_scoring`]; none if that wins.
    #[inline(always)]
    pub fn finals(&self, orientation: Orientation) -> &'a [T] {
        self.after_scoring
            .get(orientation.index())
            .copied()
            .flatten()
            .map_or(&[], |(_, values)| values)
    }
}
