//! Whether the values of a table are those of optimal play.
//!
//! The true values are the only solution of Bellman's equation (see the `bellman` module), so a
//! table is checked against the rules alone, without the solver: every value must be what the
//! equation makes of the values of the next positions, as far as the type of the values can say.

use std::collections::BTreeMap;

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::{Position, Roll, Ruleset};

use crate::{
    AnyTable, TableError, Tell, TierStatistics, ValueType, bellman::Bellman, frame::frame_values,
    progress::Work, value::HALF,
};

/// Positions whose values one equation reads, roughly.
const POSITIONS_READ: u64 = 10;
/// A solver's value satisfies the equation to about the residual, but for what passing adds; so many times as much is still
/// taken for it.
const SLACK: f64 = 4.0;
/// The residual taken for granted where a file says nothing about its own.
const UNKNOWN_RESIDUAL: f64 = 1e-12;

/// Values that can be verified: those of a table, or of a file that a table is made of.
pub trait Values: Sync {
    /// The ranking of their positions.
    fn encoding(&self) -> &Encoding;

    /// Their type.
    fn value_type(&self) -> ValueType;

    /// How a tier was solved, and what is proven of it.
    fn statistics(&self, tier: Tier) -> TierStatistics;

    /// The value at an index: the chance of the player who just moved, less one half.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    fn stored(&self, index: Index) -> Result<f64, TableError>;

    /// All of a tier.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    fn read_tier(&self, tier: Tier) -> Result<Vec<f64>, TableError>;

    /// How many values of a whole tier are read in the time of one look-up, roughly.
    fn values_per_look_up(&self) -> u64;

    /// Bytes that they hold in memory besides while several threads look values up.
    fn held_bytes(&self) -> u64 {
        0
    }
}

impl Values for AnyTable {
    fn encoding(&self) -> &Encoding {
        self.encoding()
    }

    fn value_type(&self) -> ValueType {
        self.value_type()
    }

    fn statistics(&self, tier: Tier) -> TierStatistics {
        self.statistics(tier)
    }

    fn stored(&self, index: Index) -> Result<f64, TableError> {
        self.stored(index)
    }

    fn read_tier(&self, tier: Tier) -> Result<Vec<f64>, TableError> {
        self.read_tier(tier)
    }

    fn values_per_look_up(&self) -> u64 {
        match self {
            // A look-up reads a frame.
            Self::Zgt(_) => frame_values(self.value_type()) as u64,
            // It asks the system for a key and a value.
            Self::Rgu(_) => 10,
        }
    }

    fn held_bytes(&self) -> u64 {
        self.held_bytes()
    }
}

/// What came of verifying a table. Violations are probabilities.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verification {
    /// Undecided positions checked.
    pub checked: u64,
    /// Undecided positions of the table.
    pub positions: u64,
    /// The largest distance between a value and what Bellman's equation makes of the next ones.
    pub largest_violation: f64,
    /// Where it is; `None` if there is none at all.
    pub at: Option<Position>,
    /// The largest violation that is explained by the type of the values and by what is proven of
    /// them, or how far they were solved.
    pub tolerance: f64,
    /// Positions with a violation that is not explained in their own tier.
    pub beyond_tolerance: u64,
    /// Won positions that are in the file, and how many of them are not certain.
    pub won: Identities,
    /// Positions that look alike to both players. Passing leads back to the same position, so
    /// that the equation can be solved for the value: it is V = (M + p) / (1 + p), with p the
    /// chance to pass and M what the moves add.
    pub symmetric: Identities,
}

/// Values that are known in closed form.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Identities {
    /// The values compared.
    pub checked: u64,
    /// The largest distance to what they must be.
    pub largest_violation: f64,
    /// Those that are farther away than the tolerance.
    pub beyond_tolerance: u64,
}

impl Verification {
    /// Whether every value that was checked is explained.
    pub fn holds(&self) -> bool {
        let beyond =
            [self.beyond_tolerance, self.won.beyond_tolerance, self.symmetric.beyond_tolerance];
        beyond == [0; 3]
    }
}

impl Identities {
    fn add(&mut self, violation: f64, tolerance: f64) {
        self.checked += 1;
        self.largest_violation = self.largest_violation.max(violation);
        self.beyond_tolerance += u64::from(violation > tolerance);
    }

    fn and(self, other: Self) -> Self {
        Self {
            checked: self.checked + other.checked,
            largest_violation: self.largest_violation.max(other.largest_violation),
            beyond_tolerance: self.beyond_tolerance + other.beyond_tolerance,
        }
    }
}

/// Verifies every value of a table, or about as many as `sample` says, spread evenly and the same
/// at every call.
///
/// # Errors
/// If the table cannot be read or is damaged. Values that are merely wrong are no error but in
/// the [`Verification`].
pub fn verify(
    table: &AnyTable,
    sample: Option<u64>,
    tell: &Tell<'_>,
) -> Result<Verification, TableError> {
    let chosen = Chosen::spread(table.encoding(), sample);
    Ok(Verification { won: won(table)?, ..verify_chosen(table, &chosen, tell)? })
}

/// Verifies every value, or those at some offsets of every tier.
///
/// # Errors
/// As [`verify`].
pub fn verify_values(
    values: &dyn Values,
    offsets: Option<BTreeMap<Tier, Vec<u64>>>,
    tell: &Tell<'_>,
) -> Result<Verification, TableError> {
    verify_chosen(values, &Chosen::of(values.encoding(), offsets), tell)
}

fn verify_chosen(
    values: &dyn Values,
    chosen: &Chosen,
    tell: &Tell<'_>,
) -> Result<Verification, TableError> {
    let tiers = values.encoding().tiers();
    let work = Work::new(tiers.iter().map(|&tier| chosen.count(tier)).sum(), tell);
    let positions = values.encoding().undecided();
    let mut total = Verification { positions, ..Verification::default() };
    let mut at_hand = AtHand::new(values);
    for tier in tiers {
        let tolerance = Tolerance::new(values, tier);
        total.tolerance = total.tolerance.max(tolerance.least);
        let count = chosen.count(tier);
        at_hand.prepare(tier, count)?;
        let chunks = count.div_ceil(CHUNK_POSITIONS) as usize;
        let parts: Result<Vec<_>, TableError> = (0..chunks)
            .into_par_iter()
            .map(|chunk| {
                let start = chunk as u64 * CHUNK_POSITIONS;
                let mut part = Verification::default();
                let end = count.min(start + CHUNK_POSITIONS);
                let mut positions = values.encoding().unranking(tier);
                for offset in (start..end).map(|i| chosen.get(tier, i)) {
                    let position = positions.position(offset);
                    part.check(&at_hand, Index { tier, offset }, position, tolerance)?;
                }
                work.did(end - start);
                Ok(part)
            })
            .collect();
        parts?.into_iter().for_each(|part| total.add(part));
    }
    Ok(total)
}

/// Which positions are verified.
enum Chosen {
    /// An even spread.
    Spread(BTreeMap<Tier, Sample>),
    /// Those at some offsets of each tier.
    Listed(BTreeMap<Tier, Vec<u64>>),
}

impl Chosen {
    fn spread(encoding: &Encoding, sample: Option<u64>) -> Self {
        let positions = encoding.undecided();
        let sample = sample.map_or(positions, |sample| sample.clamp(1, positions));
        let mut before = 0;
        let of_tier = |tier| {
            let length = encoding.tier_len(tier);
            let part = Sample { positions, sample, before, length };
            before += length;
            (tier, part)
        };
        Self::Spread(encoding.tiers().into_iter().map(of_tier).collect())
    }

    fn of(encoding: &Encoding, offsets: Option<BTreeMap<Tier, Vec<u64>>>) -> Self {
        offsets.map_or_else(|| Self::spread(encoding, None), Self::Listed)
    }

    /// How many of a tier.
    fn count(&self, tier: Tier) -> u64 {
        match self {
            Self::Spread(samples) => samples.get(&tier).map_or(0, Sample::count),
            Self::Listed(offsets) => offsets.get(&tier).map_or(0, |offsets| offsets.len() as u64),
        }
    }

    /// The offset in a tier of the `i`-th of them.
    fn get(&self, tier: Tier, i: u64) -> u64 {
        match self {
            Self::Spread(samples) => samples[&tier].get(i),
            Self::Listed(offsets) => offsets[&tier][i as usize],
        }
    }
}

/// Positions that a thread checks in sequence.
const CHUNK_POSITIONS: u64 = 1 << 12;

impl Verification {
    /// Checks the value at an index, of a position.
    fn check(
        &mut self,
        values: &AtHand<'_>,
        index: Index,
        position: Position,
        tolerance: Tolerance,
    ) -> Result<(), TableError> {
        let chance_at = |index| values.stored(index).map(|stored| HALF - stored);
        let chance = chance_at(index)?;
        let equation = Bellman::new(values.encoding.ruleset(), &position, |next| {
            chance_at(values.encoding.rank(next))
        })?;
        self.checked += 1;
        let violation = (chance - equation.value()).abs();
        let tolerance = match violation > tolerance.least {
            true => tolerance.with_passing(values.encoding.ruleset(), &position),
            false => tolerance.least,
        };
        self.tolerance = self.tolerance.max(tolerance);
        self.beyond_tolerance += u64::from(violation > tolerance);
        if violation > self.largest_violation {
            (self.largest_violation, self.at) = (violation, Some(position));
        }
        if position == position.swap() {
            self.symmetric.add((chance - equation.value_if_symmetric()).abs(), tolerance);
        }
        Ok(())
    }

    fn add(&mut self, part: Self) {
        self.checked += part.checked;
        self.tolerance = self.tolerance.max(part.tolerance);
        self.beyond_tolerance += part.beyond_tolerance;
        if part.largest_violation > self.largest_violation {
            (self.largest_violation, self.at) = (part.largest_violation, part.at);
        }
        self.symmetric = self.symmetric.and(part.symmetric);
    }
}

/// The violations that are explained in a tier.
#[derive(Clone, Copy)]
struct Tolerance {
    /// In every position.
    least: f64,
    /// What changes and the rounding of sums explain where nobody passes.
    changes: f64,
}

impl Tolerance {
    /// What is proven of the stored values leaves room for no more than the sum of the errors of a value and of those that its equation
    /// reads, which makes no more of these than the largest; and what is rounded here. Where nothing is proven, the type of the values
    /// and how far the tier was solved have to explain what there is.
    fn new(values: &dyn Values, tier: Tier) -> Self {
        // A bound of one half says nothing.
        let proven = |tier| values.statistics(tier).certificate.filter(|bound| *bound < HALF);
        let largest = read_by(tier).map(proven).reduce(|a, b| Some(a?.max(b?))).flatten();
        if let Some((own, read)) = proven(tier).zip(largest) {
            let terms = values.encoding().ruleset().dice().rolls().len() as f64 + 2.0;
            return Self { least: own + read + terms * f64::EPSILON, changes: 0.0 };
        }
        let residual = values.statistics(tier).residual.unwrap_or(UNKNOWN_RESIDUAL);
        // A narrow value may come from a solve in `f32`, whose sums carry the rounding of a few terms.
        let sums = match values.value_type() {
            ValueType::F64 => SLACK * f64::EPSILON,
            ValueType::F32 | ValueType::Percent16 => SLACK * f64::from(f32::EPSILON),
        };
        let changes = SLACK * residual + sums;
        Self { least: values.value_type().quantum() + changes, changes }
    }

    /// The same in a position, with what passing adds. A superstep finds the values x and y of a position and its swap from
    /// those before, as if both players had passed twice. If they do so with chances p and q, what it changes of x is the
    /// violation of x before, less p times that of y, and likewise of y; of the violation of x it leaves pq times as much.
    fn with_passing(self, ruleset: &Ruleset, position: &Position) -> f64 {
        let [moves, answers] = [*position, position.swap()].map(|at| chance_to_move(ruleset, &at));
        let (p, q, ends) = (1.0 - moves, 1.0 - answers, moves + answers - moves * answers);
        // Where neither can ever move, a superstep changes nothing.
        let passing = if ends > 0.0 { p * q * (1.0 + p) / ends } else { 0.0 };
        self.least + self.changes * passing
    }
}

/// The chance that the player to move has a move.
fn chance_to_move(ruleset: &Ruleset, position: &Position) -> f64 {
    let rolls = ruleset.dice().rolls().iter();
    let moves = rolls.filter(|roll| ruleset.moves(position, roll.value).next().is_some());
    moves.map(Roll::chance).sum()
}

/// The won positions that a file has: `.zgt` files have none.
fn won(table: &AnyTable) -> Result<Identities, TableError> {
    let mut won = Identities::default();
    let mut failed = None;
    if let AnyTable::Rgu(rgu) = table {
        rgu.keys().for_each_won(|position| match rgu.value(position) {
            Ok(value) => won.add((value - 1.0).abs(), 0.0),
            Err(error) => failed = Some(error),
        });
    }
    failed.map_or(Ok(won), Err)
}

/// An even spread of `sample` of all `positions`, the part of it that falls into a tier that
/// comes after `before` positions and has `length`.
#[derive(Clone, Copy)]
struct Sample {
    positions: u64,
    sample: u64,
    before: u64,
    length: u64,
}

impl Sample {
    /// The first number of the sample that is at or after a position: the i-th of the sample is
    /// position floor(i * positions / sample).
    fn first_from(&self, position: u64) -> u64 {
        let number = u128::from(position) * u128::from(self.sample);
        number.div_ceil(u128::from(self.positions)) as u64
    }

    /// How many fall into the tier.
    fn count(&self) -> u64 {
        self.first_from(self.before + self.length) - self.first_from(self.before)
    }

    /// The offset in the tier of the `i`-th that does.
    fn get(&self, i: u64) -> u64 {
        if self.sample == self.positions {
            return i;
        }
        let number = u128::from(self.first_from(self.before) + i);
        (number * u128::from(self.positions) / u128::from(self.sample)) as u64 - self.before
    }
}

/// The tiers that the equations of a tier read: the tier, its swap and the tier after the player to move has scored.
fn read_by(tier: Tier) -> impl Iterator<Item = Tier> {
    [tier, tier.swap()].into_iter().chain(tier.after_score())
}

/// The tiers that are best at hand for `count` equations in one. None where so few are read that they are looked up.
fn needed(values: &dyn Values, tier: Tier, count: u64) -> Vec<Tier> {
    let mut needed: Vec<_> = read_by(tier).collect();
    needed.sort();
    needed.dedup();
    let positions: u64 = needed.iter().map(|&tier| values.encoding().tier_len(tier)).sum();
    if count * POSITIONS_READ < positions / values.values_per_look_up() {
        needed.clear();
    }
    needed
}

/// The most bytes of values that [`verify`] has in memory.
pub fn verify_bytes(table: &AnyTable, sample: Option<u64>) -> u64 {
    bytes_at_hand(table, &Chosen::spread(table.encoding(), sample))
}

/// The most bytes of values that [`verify_values`] has in memory.
pub fn verify_values_bytes(values: &dyn Values, offsets: Option<BTreeMap<Tier, Vec<u64>>>) -> u64 {
    bytes_at_hand(values, &Chosen::of(values.encoding(), offsets))
}

fn bytes_at_hand(values: &dyn Values, chosen: &Chosen) -> u64 {
    let encoding = values.encoding();
    let of_tier = |tier| {
        let at_hand = needed(values, tier, chosen.count(tier));
        at_hand.into_iter().map(|tier| encoding.tier_len(tier)).sum()
    };
    let most: u64 = encoding.tiers().into_iter().map(of_tier).max().unwrap_or(0);
    let held_bytes = if most > 0 { values.held_bytes() } else { 0 };
    size_of::<f64>() as u64 * most + held_bytes
}

/// Values of the tiers at hand in memory where many are needed, else looked up.
struct AtHand<'a> {
    values: &'a dyn Values,
    encoding: &'a Encoding,
    loaded: Vec<(Tier, Vec<f64>)>,
}

impl<'a> AtHand<'a> {
    fn new(values: &'a dyn Values) -> Self {
        Self { values, encoding: values.encoding(), loaded: Vec::new() }
    }

    /// Makes ready for `count` equations in a tier.
    fn prepare(&mut self, tier: Tier, count: u64) -> Result<(), TableError> {
        let needed = needed(self.values, tier, count);
        self.loaded.retain(|(loaded, _)| needed.contains(loaded));
        for tier in needed {
            if !self.loaded.iter().any(|(loaded, _)| *loaded == tier) {
                self.loaded.push((tier, self.values.read_tier(tier)?));
            }
        }
        Ok(())
    }

    fn stored(&self, index: Index) -> Result<f64, TableError> {
        match self.loaded.iter().find(|(tier, _)| *tier == index.tier) {
            Some((_, values)) => Ok(values[index.offset as usize]),
            None => self.values.stored(index),
        }
    }
}
