//! Proving from a table alone how far its values are from the true ones.

use std::{collections::BTreeMap, fmt, iter};

use ziggurat_encoding::Tier;
use ziggurat_kernel::{Certified, Certifier};
use ziggurat_table::{AnyTable, Tell, ValueType};

use crate::{failure::Failure, output::bound};

/// What is to be proven of a tier beyond the tiers it reads, where the file says nothing. If it cannot be, ten times as much
/// is tried, and so on.
const UNKNOWN: f64 = 1e-12;

/// The most that is tried where the file says nothing.
const MOST_UNKNOWN: f64 = 0.1;

/// What is to be proven of a tier beyond the tiers it reads, in steps of the stored type, where
/// that is too coarse for what was proven of the solver's values.
const STEPS: f64 = 4.0;

/// What came of a proof.
#[derive(Debug)]
pub struct Proof {
    /// No value of the tiers that are proven is further from the true one than this.
    pub bound: f64,
    /// The first tier that could not be proven.
    pub refused: Option<Tier>,
    /// What the file claims, if that is finer than its type of values and could not be proven of these alone.
    pub claimed: Option<f64>,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proven = bound(self.bound);
        match (self.refused, self.claimed) {
            (Some(tier), _) => {
                write!(f, "tier {tier} cannot be proven to be within {proven}")
            }
            (None, None) => write!(f, "no chance is further than {proven} from the true one"),
            (None, Some(claimed)) => write!(
                f,
                "no chance is further than {proven} from the true one ({} is claimed, which rounded values alone cannot prove)",
                bound(claimed)
            ),
        }
    }
}

/// The coarsest type that has all of these values: a table that was rounded may have been written with a finer type again.
fn coarsest(values: &[&[f64]], of_file: ValueType) -> ValueType {
    let finer = [ValueType::F32, ValueType::F64];
    let is_of = |value_type: ValueType, value: f64| {
        let rounded = value_type.rounded(value);
        finer.iter().any(|finer| finer.rounded(rounded) == value)
    };
    let have = |value_type: &ValueType| {
        *value_type == of_file
            || values.iter().all(|of| of.iter().all(|&value| is_of(*value_type, value)))
    };
    ValueType::ALL.into_iter().find(have).unwrap_or(of_file)
}

/// What is tried for a tier whose values have a type, the least first; `read` is proven of the tiers it reads.
fn bounds(claimed: Option<f64>, value_type: ValueType, read: f64) -> Vec<f64> {
    let steps = STEPS * value_type.quantum();
    let more = iter::successors(Some(UNKNOWN.max(steps)), |more| Some(10.0 * more));
    let more = more.take_while(|more| *more <= MOST_UNKNOWN).map(|more| read + more);
    // Values of percent16 are always rounded after they were proven; those of `f32` if less is claimed than they can tell apart.
    let is_rounded = |claimed| match value_type {
        ValueType::Percent16 => true,
        ValueType::F32 => claimed < value_type.quantum(),
        ValueType::F64 => false,
    };
    match claimed {
        Some(claimed) if is_rounded(claimed) => iter::once(claimed).chain(more).collect(),
        Some(claimed) => vec![claimed],
        None => more.collect(),
    }
}

/// Proves what a table claims, tier by tier. Where its type of values is too coarse for the claim (a claim of less than a
/// step of the type may hold, as that of a small tier in `f32`), what can be proven of the stored values is a multiple of the
/// type's steps; where it makes none, the least power of ten times that.
pub fn prove(table: &AnyTable, tell: &Tell<'_>) -> Result<Proof, Failure> {
    let encoding = table.encoding();
    let certifier = Certifier::new(encoding, 0)?;
    let mut proven: BTreeMap<Tier, (Vec<f64>, f64)> = BTreeMap::new();
    let (mut done, mut largest, mut claimed) = (0, 0.0_f64, None);
    for tier in encoding.tiers() {
        if tier != tier.first_of_step() {
            continue;
        }
        proven.retain(|other, _| other.level() + 1 >= tier.level());
        let read = tier.reads().filter_map(|tier| proven.get(&tier)).map(|&(_, bound)| bound);
        let first = table.read_tier(tier)?;
        let is_one = tier == tier.swap();
        let second = if is_one { Vec::new() } else { table.read_tier(tier.swap())? };
        let values = if is_one { vec![&first[..]] } else { vec![&first[..], &second] };
        let value_type = coarsest(&values, table.value_type());
        // Both tiers are proven at once, so the better of their claims is what is to be proven.
        let claims = tier.both().filter_map(|tier| table.statistics(tier).certificate);
        let of_step = claims.reduce(f64::min);
        let bounds = bounds(of_step, value_type, read.fold(0.0, f64::max));
        let finals = |tier: Tier| {
            let (values, bound) = &proven[&tier];
            Certified { values, bound: *bound }
        };
        let is_proven = |bound| certifier.certify(tier, &values, &finals, bound).is_some();
        let Some(bound) = bounds.iter().copied().find(|&bound| is_proven(bound)) else {
            return Ok(Proof {
                bound: *bounds.last().expect("some"),
                refused: Some(tier),
                claimed,
            });
        };
        if of_step.is_some_and(|claimed| claimed < bound) {
            claimed = table.certificate();
        }
        largest = largest.max(bound);
        proven.insert(tier.swap(), (second, bound)); // the same one, if it is
        proven.insert(tier, (first, bound));
        done += encoding.step_len(tier);
        tell(done as f64 / encoding.undecided() as f64);
    }
    Ok(Proof { bound: largest, refused: None, claimed })
}
