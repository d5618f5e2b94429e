//! Values of solved tiers, as those who store them take them.

use ziggurat_planning::settings::Precision;

use crate::{
    shards::columns::Number,
    simd::value::Value,
    solver::cache::{SolvedTierCache, Tiers},
};

/// The values of a solved tier in index order: the chance of the player who just moved, less one half.
#[derive(Clone, Copy, Debug)]
pub enum TierValues<'a> {
    /// 32-bit values.
    F32(&'a [f32]),
    /// 64-bit values.
    F64(&'a [f64]),
}

/// A type of values that steps end in.
pub trait AsTierValues: Value + Number {
    /// The precision that these are values of.
    const PRECISION: Precision;

    /// The values, tagged by their type.
    fn as_tier_values(values: &[Self]) -> TierValues<'_>;

    /// The cached tiers of this type.
    fn tiers(cache: &mut SolvedTierCache) -> &mut Tiers<Self>;
}
