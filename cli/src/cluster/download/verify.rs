//! Whether the values that workers sent are those of optimal play, before a table is made of them.
//!
//! That a step is solved, its residual and its proof are what workers report, and nobody else has computed. Two things tell
//! whether the values are as reported: checksums, which the coordinator has kept since a step was solved, and the rules, by
//! which every value is what Bellman's equation makes of others, to within what is said to be proven. The first are compared
//! as values arrive. The second is looked at here, across all workers.

use std::collections::BTreeMap;

use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;
use ziggurat_kernel::{PROGRAM_MEMORY_BYTES, Precision};
use ziggurat_table::{
    TableError, TierStatistics, ValueType, Values, Verification, verify_values, verify_values_bytes,
};

use super::{
    part::Part,
    ranges::{Holders, Ranges},
};
use crate::{
    failure::{Exit, Explain, Failure},
    needs::{check_available, value_type_of},
    output::{grouped, one_line, points},
    target::Extent,
};

/// Equations of a sample, shared out by positions.
const SAMPLE: u64 = 10_000;

/// The least of them in each range, if it has so many positions.
const LEAST_IN_A_RANGE: u64 = 4;

/// A look-up in the part file takes as long as reading so many values of a whole tier, roughly.
const VALUES_PER_LOOK_UP: u64 = 100;

/// What was fetched, of all workers together.
pub struct Merged<'a> {
    /// What there is.
    pub ranges: &'a Ranges,
    /// Its values.
    pub part: &'a Part,
}

impl Values for Merged<'_> {
    fn encoding(&self) -> &Encoding {
        self.ranges.encoding()
    }

    fn value_type(&self) -> ValueType {
        value_type_of(self.ranges.settings().precision)
    }

    fn statistics(&self, tier: Tier) -> TierStatistics {
        let known = self.ranges.tiers().iter().find(|(known, _)| *known == tier);
        known.map(|&(_, statistics)| statistics).unwrap_or_default()
    }

    fn stored(&self, index: Index) -> Result<f64, TableError> {
        let mut value = 0.0;
        self.part.read_at(index.tier, index.offset, 1, |bytes| value = self.decode(bytes))?;
        Ok(value)
    }

    fn read_tier(&self, tier: Tier) -> Result<Vec<f64>, TableError> {
        let (positions, width) = (self.encoding().tier_len(tier), self.ranges.width());
        let mut values = Vec::with_capacity(positions as usize);
        self.part.read_at(tier, 0, positions, |piece| {
            values.extend(piece.chunks_exact(width).map(|bytes| self.decode(bytes)));
        })?;
        Ok(values)
    }

    fn values_per_look_up(&self) -> u64 {
        VALUES_PER_LOOK_UP
    }
}

impl Merged<'_> {
    fn decode(&self, bytes: &[u8]) -> f64 {
        match self.ranges.settings().precision {
            Precision::F32 => f32::from_le_bytes(bytes.try_into().expect("four bytes")).into(),
            Precision::F64 => f64::from_le_bytes(bytes.try_into().expect("eight bytes")),
        }
    }

    /// Which equations are looked at; `None` for all.
    fn chosen(&self, extent: Extent) -> Option<BTreeMap<Tier, Vec<u64>>> {
        (extent != Extent::All).then(|| sample(self.ranges))
    }

    /// Refuses to verify what does not fit memory.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_memory(&self, extent: Extent) -> Result<(), Failure> {
        let bytes = verify_values_bytes(self, self.chosen(extent));
        check_available("verifying the values", PROGRAM_MEMORY_BYTES + bytes).or_help(
            "verify less of them (--verify sample, or none), or export on a machine with more memory; the same command \
             goes on where it was",
        )
    }

    /// Looks at equations.
    ///
    /// # Errors
    /// If the values are not those of optimal play, which names the workers they came from, or cannot be read.
    pub fn verify(
        &self,
        extent: Extent,
        holders: &Holders,
        tell: &(dyn Fn(f64) + Sync),
    ) -> Result<(), Failure> {
        let found = verify_values(self, self.chosen(extent), tell)?;
        match found.at.filter(|_| !found.holds()) {
            None => Ok(()),
            Some(at) => Err(self.wrong(&found, &at, holders)),
        }
    }

    fn wrong(&self, found: &Verification, at: &Position, holders: &Holders) -> Failure {
        let names: Vec<String> = self.owners(at, holders);
        let failure = format!(
            "the values are wrong: at {} the value is {} off what the rules make of the next ones, and {} of {} equations \
             that were looked at do not hold to within what was reported to be proven; the values of that one came from {}",
            self.encoding().ruleset().format_position(at),
            points(found.largest_violation),
            grouped(found.beyond_tolerance),
            grouped(found.checked),
            names.join(", "),
        );
        Failure::of(Exit::Failed, failure).help(
            "nothing of what was fetched is kept. Find out what is wrong with that worker, cancel the job (--force) and \
             submit it again without that worker",
        )
    }

    /// The workers that have the values of an equation, that of the value itself first.
    fn owners(&self, at: &Position, holders: &Holders) -> Vec<String> {
        let ruleset = self.encoding().ruleset();
        let rolls = ruleset.dice().rolls().iter();
        let moves = rolls.flat_map(|roll| ruleset.moves(at, roll.value));
        let outcomes = moves.map(|mv| ruleset.apply(at, mv)).filter(|outcome| !outcome.won);
        let next = outcomes.map(|outcome| outcome.next());
        let mut names: Vec<String> = Vec::new();
        for position in [*at, at.swap()].into_iter().chain(next) {
            let Index { tier, offset } = self.encoding().rank(&position);
            let mut ranges = self.ranges.all().iter();
            let range = ranges.find(|it| it.tier == tier && it.offsets.contains(&offset));
            let owner =
                range.and_then(|range| holders.of(range.step, range.shard).first().copied());
            let name = owner.map(|owner| format!("worker {}", one_line(&owner.name)));
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names
    }
}

/// Offsets that are spread evenly over every range, the same at every call.
fn sample(ranges: &Ranges) -> BTreeMap<Tier, Vec<u64>> {
    let all = u128::from(ranges.positions().max(1));
    let mut chosen: BTreeMap<Tier, Vec<u64>> = BTreeMap::new();
    for range in ranges.all() {
        let length = range.len();
        let share = (u128::from(SAMPLE) * u128::from(length)).div_ceil(all) as u64;
        let count = share.max(LEAST_IN_A_RANGE).min(length);
        let place = |i| (u128::from(2 * i + 1) * u128::from(length) / u128::from(2 * count)) as u64;
        let offsets = (0..count).map(|i| range.offsets.start + place(i));
        chosen.entry(range.tier).or_default().extend(offsets);
    }
    chosen
}
