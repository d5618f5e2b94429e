//! Proving from a table alone how far its values are from the true ones.

use std::{collections::BTreeMap, fmt};

use ziggurat_encoding::Tier;
use ziggurat_kernel::{Certified, Certifier};
use ziggurat_table::{AnyTable, Tell};

use crate::failure::Failure;

/// What is to be proven of a tier beyond the tiers it reads, where the file says nothing.
const UNKNOWN: f64 = 1e-12;

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
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.refused {
            None => write!(f, "no value is further than {:.1e} from the true one", self.bound),
            Some(tier) => write!(f, "tier {tier} cannot be proven to be within {:.1e}", self.bound),
        }
    }
}

/// Proves what a table claims, tier by tier. Where its type of values is too coarse for the claim (a claim of less than a
/// step of the type may hold, as that of a small tier in `f32`), or it makes none, what can be proven of the stored values
/// is a multiple of the type's steps.
pub fn prove(table: &AnyTable, tell: &Tell<'_>) -> Result<Proof, Failure> {
    let encoding = table.encoding();
    let certifier = Certifier::new(encoding, 0)?;
    let mut proven: BTreeMap<Tier, (Vec<f64>, f64)> = BTreeMap::new();
    let (mut done, mut largest) = (0, 0.0_f64);
    for tier in encoding.tiers() {
        if tier.just_moved < tier.to_move {
            continue;
        }
        proven.retain(|other, _| other.level() + 1 >= tier.level());
        let read = [tier, tier.swap()].map(|tier| Tier::new(tier.just_moved - 1, tier.to_move));
        let read = read.iter().filter_map(|tier| proven.get(tier)).map(|&(_, bound)| bound);
        let read = read.fold(0.0, f64::max);
        let coarse = read + UNKNOWN.max(STEPS * table.quantum());
        let bounds = match table.statistics(tier).certificate {
            Some(claimed) if claimed >= table.quantum() => vec![claimed],
            Some(claimed) => vec![claimed, coarse],
            None => vec![coarse],
        };
        let orientations = [table.read_tier(tier)?, table.read_tier(tier.swap())?];
        let values = orientations.each_ref().map(|values| &values[..]);
        let finals = |tier: Tier| {
            let (values, bound) = &proven[&tier];
            Certified { values, bound: *bound }
        };
        let is_proven = |bound| certifier.certify(tier, &values, &finals, bound).is_some();
        let Some(bound) = bounds.iter().copied().find(|&bound| is_proven(bound)) else {
            return Ok(Proof { bound: bounds[0], refused: Some(tier) });
        };
        largest = largest.max(bound);
        let [first, second] = orientations;
        proven.insert(tier.swap(), (second, bound));
        proven.insert(tier, (first, bound));
        done += encoding.step_len(tier);
        tell(done as f64 / encoding.undecided() as f64);
    }
    Ok(Proof { bound: largest, refused: None })
}
