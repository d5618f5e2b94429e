//! What a sweep of a step reads besides the step's own values.

use ziggurat_encoding::{Encoding, Tier};

use crate::{occupancy::Occupancies, rules::Rules, value::Value};

/// The tables of a ruleset that the kernel works with.
#[derive(Debug)]
pub struct Tables {
    /// The moves, sorted by what they touch.
    pub rules: Rules,
    /// Who stands where, by shared configuration.
    pub occupancies: Occupancies,
    /// Path positions on private squares, and the hand.
    pub private_from: u64,
}

impl Tables {
    /// The tables of an encoding's ruleset.
    pub fn new(encoding: &Encoding) -> Self {
        Self {
            rules: Rules::new(encoding),
            occupancies: Occupancies::new(encoding),
            private_from: encoding.private().positions() | 1,
        }
    }

    /// The most rows or columns a block has.
    pub fn side(encoding: &Encoding) -> usize {
        encoding.private().count(encoding.ruleset().pieces()) as usize
    }
}

/// A step's surroundings: tables, tiers, and the final values of the tiers it reads.
pub struct Context<'a, T> {
    /// The ranking.
    pub encoding: &'a Encoding,
    /// The moves.
    pub rules: &'a Rules,
    /// Who stands where.
    pub occupancies: &'a Occupancies,
    /// Path positions on private squares, and the hand.
    pub private_from: u64,
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
        let tiers = if tier == tier.swap() { vec![tier] } else { vec![tier, tier.swap()] };
        let after_scoring = tiers
            .iter()
            .map(|tier| {
                let after = Tier::new(tier.just_moved - 1, tier.to_move);
                (after.just_moved > 0).then(|| (after, finals(after)))
            })
            .collect();
        Self {
            encoding,
            rules: &tables.rules,
            occupancies: &tables.occupancies,
            private_from: tables.private_from,
            zero: T::from_f64(tables.rules.zero),
            chances: tables.rules.rolls.iter().map(|roll| T::from_f64(roll.chance)).collect(),
            tiers,
            after_scoring,
        }
    }

    /// The orientation in which the other player just moved.
    #[inline(always)]
    pub fn swapped(&self, orientation: usize) -> usize {
        if self.tiers.len() == 1 { 0 } else { 1 - orientation }
    }

    /// The tier an orientation leads to by scoring, and its values; `None` if that wins.
    #[inline(always)]
    pub fn after_scoring(&self, orientation: usize) -> Option<(Tier, &'a [T])> {
        self.after_scoring[orientation]
    }
}

/// The values of the step itself, as a sweep of one shard may see them.
pub trait Stored<T> {
    /// The values of an orientation from an index on, padded: those of the shard itself as they are
    /// now, those of others as they were published at the last barrier.
    fn values(&self, orientation: usize, offset: u64) -> &[T];
}
