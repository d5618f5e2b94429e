//! Interval sweeps of a step: both ends of all intervals, wave by wave.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{PoisonError, RwLock},
};

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_game::{Dice, Roll};

use super::{
    Certified, FAR, GROWN, Growth, Proof,
    end::End,
    slab::{Ends, Own, SweepSlab},
};
use crate::{
    array::Array,
    coarse::Sections,
    context::{Context, Tables},
    halo::{Content, STRIP},
    journal::{Column, Data, Part},
    memory::{self, Memory, MemoryError},
    ranges::{fill, for_own_parts, parts_of, ranges, split_off},
    scratch::{Pool, Scratch},
    shortlist::{Shortlist, Shortlists, Use, Visit},
    simd::Simd,
    sweep::for_each_pair_of_slabs,
    team::{Barrier, ExchangeError, Strip, Team, slices},
    value::{PADDING, Value},
    waves::{Wave, interval_waves, largest_first},
};

/// The distances of both ends from the values of a step, in units, and whether they have [`GROWN`](super::GROWN).
pub struct Distances {
    /// By end and orientation.
    all: [Vec<Array<u16>>; 2],
    /// Room for those of a wave, by end.
    live: [Array<u16>; 2],
    may_have_grown: MayHaveGrown,
    /// The working memory of threads.
    working: Pool<Scratch<f64>>,
}

/// By end and orientation, for every [`CHUNK`] of distances, 1 if any may have grown, else 0.
pub(super) type MayHaveGrown = [Vec<Array<u8>>; 2];

/// So many distances are known to have grown or not to have grown together.
pub(super) const CHUNK: usize = 64;

/// The distances of a shard, by end and range.
pub type ShardDistances<'a> = [[&'a mut [u16]; 2]; 2];

impl Distances {
    /// Room for distances, which are all 0.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(
        memory: &Memory,
        encoding: &Encoding,
        tier: Tier,
        cut: &Cut,
        team: Option<&Team<'_>>,
    ) -> Result<Self, MemoryError> {
        let own = |shard: usize| team.is_none_or(|team| team.owns(shard));
        let all = || {
            let room = |tier| memory.filled(0, encoding.tier_len(tier) as usize);
            tier.both().map(room).collect::<Result<Vec<_>, _>>()
        };
        let live = || memory.filled(0, cut.live_len(own) as usize);
        // Nothing is known of distances before they have been swept.
        let chunks = || {
            let chunks = |tier| (encoding.tier_len(tier) as usize).div_ceil(CHUNK);
            tier.both().map(|tier| memory.filled(1, chunks(tier))).collect::<Result<Vec<_>, _>>()
        };
        let may_have_grown = [chunks()?, chunks()?];
        let working = Pool::default();
        Ok(Self { all: [all()?, all()?], live: [live()?, live()?], may_have_grown, working })
    }

    /// Sets all to what they are before the first interval sweep of a proof of the step of a tier.
    pub fn reset(
        &mut self,
        proof: &Proof,
        encoding: &Encoding,
        tier: Tier,
        shards: &[Shard],
        team: Option<&Team<'_>>,
    ) {
        if proof.turns.is_empty() {
            return self.all.iter_mut().for_each(|arrays| fill(arrays, proof.start, shards, team));
        }
        let sections = Sections::new(encoding, tier);
        let starts = starts(proof, &sections, self.all[0].len());
        for arrays in &mut self.all {
            for_own_parts(arrays, shards, team, |orientation, places, distances| {
                let copy =
                    |distances: &mut [u16], starts: &[u16]| distances.copy_from_slice(starts);
                sections.for_each_row(orientation, places, distances, &starts[orientation], copy);
            });
        }
    }

    /// Takes over what the others have of the halo.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub fn fill_halo(&mut self, team: &Team<'_>) -> Result<(), ExchangeError> {
        let barrier = team.barrier(|_| true);
        barrier.give(|Strip { orientation, values, .. }, packed| {
            let new = self.all.each_ref().map(|end| &end[*orientation][values.clone()]);
            packed.push_distances(new, [&[0; STRIP]; 2]);
        })?;
        take(&mut self.all, &barrier)
    }

    /// The most bytes they take, without the working memory of threads.
    pub fn bytes(encoding: &Encoding, shards: &[Shard]) -> u64 {
        let positions: u64 = shards.iter().map(Shard::len).sum();
        let live = Cut::new(encoding, shards.to_vec()).live_len(|_| true);
        let chunks = (positions + live) / CHUNK as u64 + 3 * PADDING as u64;
        4 * (positions + live + 3 * PADDING as u64) + 2 * chunks
    }

    /// All of them, shard by shard.
    pub fn parts(&mut self, shards: &[Shard]) -> Vec<Part<'_>> {
        let [lower, upper] = &mut self.all;
        let mut parts = parts_of(Column::Lower, lower, shards, Data::U16);
        parts.extend(parts_of(Column::Upper, upper, shards, Data::U16));
        parts
    }
}

/// A step cut into shards.
#[derive(Debug)]
pub struct Cut {
    /// The shards.
    pub shards: Vec<Shard>,
    /// The order of interval sweeps: places of shards, those that are swept at the same time together. A
    /// move forward that leaves a shard leads to an earlier wave.
    waves: Vec<Wave>,
}

impl Cut {
    /// The order of shards.
    pub fn new(encoding: &Encoding, shards: Vec<Shard>) -> Self {
        let waves = interval_waves(encoding, &shards);
        Self { shards, waves }
    }

    /// How many positions the largest wave has of some shards.
    fn live_len(&self, own: impl Fn(usize) -> bool) -> u64 {
        let of_wave = |wave: &Wave| {
            let own = wave.iter().filter(|&&shard| own(shard));
            own.map(|&shard| self.shards[shard].len()).sum()
        };
        self.waves.iter().map(of_wave).max().unwrap_or(0)
    }
}

/// A step whose values are to be proven.
pub struct Unproven<'a, T> {
    pub(super) context: Context<'a, f64>,
    cut: &'a Cut,
    /// By orientation.
    pub(super) values: Vec<&'a [T]>,
    /// By orientation, what scoring a piece leads to; `None` if that wins.
    pub(super) finals: Vec<Option<Certified<'a, T>>>,
    /// What a unit of the distances is worth.
    pub(super) unit: f64,
    /// They are rounded to multiples of so many.
    pub(super) multiple: f64,
    /// Whether slabs that are settled are passed over.
    pub(super) skips: bool,
    /// More than all rounding errors of a value.
    pub(super) margin: f64,
}

impl<'s, T: Value> Unproven<'s, T> {
    /// A step with its values by orientation, and what is known of the tiers it reads.
    pub fn new(
        encoding: &'s Encoding,
        tables: &'s Tables,
        tier: Tier,
        cut: &'s Cut,
        values: &[&'s [T]],
        finals: impl Fn(Tier) -> Certified<'s, T>,
        proof: &Proof,
    ) -> Self {
        let context = Context::<f64>::new(encoding, tables, tier, |_| &[]);
        let after = |orientation| context.after_scoring(orientation).map(&finals);
        let finals = (0..context.tiers.len()).map(after).collect();
        let len = |&tier| encoding.tier_len(tier) as usize;
        let values = context.tiers.iter().map(len).zip(values);
        let values = values.map(|(len, values)| &values[..len]).collect();
        let margin = rounding_margin(encoding.ruleset().dice(), proof.bound);
        let unit = proof.unit;
        let mut this =
            Self { context, cut, values, finals, unit, multiple: 1.0, skips: false, margin };
        this.look_at(proof);
        this
    }

    /// Takes over how the next sweep of the proof is to be made.
    pub fn look_at(&mut self, proof: &Proof) {
        self.multiple = proof.multiple();
        self.skips = proof.sweeps > 0;
    }

    /// Computes both ends of all intervals, or of those of a team's member. What shortlists leave out cannot be best,
    /// so they change nothing; they are looked at if they hold.
    ///
    /// # Errors
    /// If other members cannot be reached.
    pub fn sweep(
        &self,
        distances: &mut Distances,
        shortlists: &Shortlists,
        simd: Simd,
        team: Option<&Team<'_>>,
    ) -> Result<Growth, ExchangeError> {
        let lists = match shortlists.hold_for_intervals(f64::from(FAR) * self.unit) {
            true => Use::Take,
            false => Use::None,
        };
        let encoding = self.context.encoding;
        let last = self.values.len() - 1;
        let Cut { shards, waves } = self.cut;
        let Distances { all, live, may_have_grown, working } = distances;
        let working = &*working;
        let mut growth = Growth::default();
        for wave in waves {
            let own = |shard: &usize| team.is_none_or(|team| team.owns(*shard));
            let own_of_wave: Vec<usize> = wave.iter().copied().filter(own).collect();
            let own: Vec<&Shard> = own_of_wave.iter().map(|&i| &shards[i]).collect();
            let others = (&*all, &*may_have_grown);
            let lists = own_of_wave.iter().map(|&i| (shortlists.of(i), lists));
            let parts = own.iter().copied().zip(lists).zip(own_distances(live, &own));
            let tasks = self.tasks(parts.map(|((shard, lists), live)| (shard, lists, live)));
            growth = largest_first(tasks, Task::work)
                .map(|task| {
                    working.with(
                        || Scratch::new(encoding),
                        |scratch| self.sweep_task(task, others, scratch, simd),
                    )
                })
                .reduce(Growth::default, Growth::and)
                .and(growth);
            let swept = own_distances(live, &own);
            let barrier = team.map(|team| team.barrier(|shard| wave.contains(&shard)));
            if let Some(barrier) = &barrier {
                let places: HashMap<_, _> = wave
                    .iter()
                    .filter(|&&shard| team.is_some_and(|team| team.owns(shard)))
                    .zip(&swept)
                    .collect();
                barrier.give(|strip, packed| {
                    let Strip { shard, range, start, orientation, values } = strip;
                    let place = *start..start + values.len();
                    let new = places[shard].each_ref().map(|end| &end[*range][place.clone()]);
                    let old = all.each_ref().map(|end| &end[*orientation][values.clone()]);
                    packed.push_distances(new, old);
                })?;
            }
            for (shard, swept) in own.iter().zip(swept) {
                for ((distances, grown), swept) in
                    all.iter_mut().zip(&mut *may_have_grown).zip(swept)
                {
                    for ((orientation, range), swept) in
                        ranges(shard, last).into_iter().flatten().zip(swept)
                    {
                        let distances = &mut distances[orientation];
                        memory::copy_together(&mut distances[range.clone()], swept);
                        look_for_growth(distances, &mut grown[orientation], range);
                    }
                }
            }
            if let Some(barrier) = &barrier {
                take(all, barrier)?;
            }
        }
        Ok(growth)
    }

    /// The tasks of a wave: to sweep its shards, or where others would have to wait for one, its two chains.
    fn tasks<'a>(
        &self,
        shards: impl Iterator<Item = (&'a Shard, OfShard<'a>, ShardDistances<'a>)>,
    ) -> Vec<Task<'a>> {
        let shards: Vec<_> = shards.collect();
        let positions: u64 = shards.iter().map(|(shard, ..)| shard.len()).sum();
        let threads = rayon::current_num_threads() as u64;
        let mut tasks = Vec::with_capacity(2 * shards.len());
        for (shard, lists, live) in shards {
            let is_long = threads > 1 && 2 * threads * shard.len() > positions;
            if !is_long || shard.ranges.1.is_none() {
                tasks.push(Task { shard, chains: &[End::Upper, End::Lower], lists, live });
                continue;
            }
            let [[lower, other_lower], [upper, other_upper]] = live;
            let first = [[&mut [], other_lower], [upper, &mut []]];
            let second = [[lower, &mut []], [&mut [], other_upper]];
            tasks.push(Task { shard, chains: &[End::Upper], lists, live: first });
            tasks.push(Task { shard, chains: &[End::Lower], lists, live: second });
        }
        tasks
    }

    /// Computes ends of the intervals of a shard.
    fn sweep_task(
        &self,
        Task { shard, chains, lists: (shortlist, lists), mut live }: Task<'_>,
        (others, may_have_grown): (&[Vec<Array<u16>>; 2], &MayHaveGrown),
        scratch: &mut Scratch<f64>,
        simd: Simd,
    ) -> Growth {
        let shortlist = shortlist.map(|list| list.read().unwrap_or_else(PoisonError::into_inner));
        let mut lists = Visit::begin(shortlist.as_deref(), lists, shard);
        let last = self.values.len() - 1;
        for (live, others) in live.iter_mut().zip(others) {
            for (live, (orientation, range)) in
                live.iter_mut().zip(ranges(shard, last).into_iter().flatten())
            {
                if !live.is_empty() {
                    memory::copy(live, &others[orientation][range]);
                }
            }
        }
        let mut growth = Growth::default();
        let grown = may_have_grown.each_ref().map(|of_end| {
            let own = ranges(shard, last).into_iter();
            let of_range = |(orientation, range): (usize, Range<usize>)| {
                of_end[orientation][range.start / CHUNK..range.end.div_ceil(CHUNK)].to_vec()
            };
            let mut own = own.map(|range| range.map_or_else(Vec::new, of_range));
            [own.next(), own.next()].map(Option::unwrap_or_default)
        });
        let first = chains[0];
        let mut ends = Ends { step: self, shard, live, others, may_have_grown, grown, first, simd };
        for_each_pair_of_slabs(&self.context, shard, &Own { shard, last }, |slabs, is_own_swap| {
            let (ends, growth, shortlist) = (&mut ends, &mut growth, lists.take());
            // Both chains are the same for a slab that is its own swap.
            let chains = if is_own_swap { &chains[..1] } else { chains };
            simd.run(SweepSlab { ends, slabs, chains, shortlist, scratch, growth });
        });
        growth
    }
}

/// The shortlist of a shard, and what is done with it.
type OfShard<'a> = (Option<&'a RwLock<Shortlist>>, Use);

/// What one thread sweeps of a wave.
struct Task<'a> {
    shard: &'a Shard,
    /// The end of the first range that each chain computes.
    chains: &'static [End],
    lists: OfShard<'a>,
    /// The distances that are computed; others are empty.
    live: ShardDistances<'a>,
}

impl Task<'_> {
    /// How long it takes, as a number of positions of both chains.
    fn work(&self) -> u64 {
        self.shard.len() * self.chains.len() as u64
    }
}

/// No distance starts as if the step went on for less than this part of the most turns: functions are off by so much here and
/// there, and what starts too small grows for long.
const LEAST_TURNS: f32 = 0.25;

/// What distances start with, by orientation and arrangements of both players. Distances grow by what values are short of from turn to turn.
fn starts(proof: &Proof, sections: &Sections<'_>, orientations: usize) -> Vec<Vec<u16>> {
    let turns = |orientation| sections.table(orientation, &proof.turns);
    let turns: Vec<Vec<f32>> = (0..orientations).map(turns).collect();
    let most = turns.iter().flatten().copied().fold(0.0, f32::max);
    let room = f32::from(proof.start - proof.least);
    let start = |&turns: &f32| {
        let part = if most > 0.0 { (turns / most).clamp(LEAST_TURNS, 1.0) } else { 1.0 };
        (f32::from(proof.least) + part * room).ceil() as u16
    };
    turns.iter().map(|of_orientation| of_orientation.iter().map(start).collect()).collect()
}

/// Finds out in which chunks of a range distances have grown. Of those at its ends, which others may change as well, that is
/// never known.
fn look_for_growth(distances: &Array<u16>, grown: &mut [u8], range: Range<usize>) {
    let whole = range.start.div_ceil(CHUNK)..range.end / CHUNK;
    if whole.is_empty() {
        return;
    }
    let chunks = distances.values()[whole.start * CHUNK..whole.end * CHUNK].par_chunks(CHUNK);
    grown[whole].par_iter_mut().zip(chunks).with_min_len(1 << 12).for_each(|(grown, chunk)| {
        *grown = u8::from(chunk.iter().fold(0, |all, distance| all | distance) & GROWN != 0);
    });
}

/// Hears from the others what changed of the halo, and changes it.
fn take<P: Fn(usize) -> bool + Sync>(
    all: &mut [Vec<Array<u16>>; 2],
    barrier: &Barrier<'_, P>,
) -> Result<(), ExchangeError> {
    barrier.take(Content::Distances, 2, |strips, packed| {
        let [lower, upper] = all.each_mut().map(|end| {
            let arrays = end.iter_mut().map(|array| &mut **array).collect();
            slices(arrays, strips)
        });
        let places = lower.into_par_iter().zip(upper);
        packed.par_chunks(2).zip(places).for_each(|(packed, (lower, upper))| {
            packed[0].change_distances(&packed[1], [lower, upper]);
        });
    })
}

/// The distances of each shard of a wave.
fn own_distances<'a>(live: &'a mut [Array<u16>; 2], wave: &[&Shard]) -> Vec<ShardDistances<'a>> {
    let mut rest = live.each_mut().map(|live| &mut **live);
    let range = |range: &Range<u64>| (range.end - range.start) as usize;
    wave.iter()
        .map(|shard| {
            let (first, second) = &shard.ranges;
            let lengths = [range(first), second.as_ref().map_or(0, range)];
            rest.each_mut().map(|rest| lengths.map(|length| split_off(rest, length)))
        })
        .collect()
}

/// Distances of a larger bound than this lose so much as differences of ends and values that the margin has to say so.
const LARGE_BOUND: f64 = 1.0 / 1024.0;

/// A bound on the sum of all rounding errors of an end, in f64: a multiple of 2^-54, for what is said of adding it.
/// Numbers are between -1/2 and 1/2, so that an error is at most 2^-55, or half of that if the result is below 1/4.
/// There are errors of
///
/// * an end that is read: 2^-55. The other player's is the same number, negated;
/// * chances, half of one that may be the next power of two before it is rounded, and products, no larger than half the chance;
/// * the sums, no larger than half the sum of the chances so far;
/// * adding the margin. If the sum of all is 1/4 or more, it is a multiple of 2^-54, and nothing is rounded. If it is not,
///   its own error is at most 2^-56, and that of adding 2^-55.
///
/// Distances are rounded up; what they lose before, as the difference of an end and a value, is at most a part 2^-53 of them. Up to
/// distances of 2^-9 that is at most 2^-62, and less than the part of a thousand that is added here; for larger bounds 2^-54 is added,
/// since no distance that counts is larger than the bound, and so than 1/2.
fn rounding_margin(dice: &Dice, bound: f64) -> f64 {
    let is_exact = |roll: &Roll| roll.is_multiple_of_two_to_minus(10);
    // Sums of chances that are rounded may be beyond 1 by a little.
    let beyond = if dice.rolls().iter().all(is_exact) { 1.0 } else { 1.0 + 16.0 * f64::EPSILON };
    let (mut errors, mut sum) = (rounding(0.5) + rounding(0.25), 0.0);
    for roll in dice.rolls() {
        let chance = roll.chance();
        errors += if is_exact(roll) { 0.0 } else { rounding(chance.next_up()) / 2.0 };
        errors += if power_of_two_from(chance) == chance { 0.0 } else { rounding(chance / 2.0) };
        if sum > 0.0 {
            errors += rounding((sum + chance) / 2.0 * beyond);
        }
        sum += chance;
    }
    let grid = f64::EPSILON / 4.0;
    let of_differences = if bound > LARGE_BOUND { grid } else { 0.0 };
    (1.001 * errors / grid).ceil() * grid + of_differences
}

/// The largest rounding error of a number from 0 to `largest`: half a unit in the last place.
fn rounding(largest: f64) -> f64 {
    power_of_two_from(largest) * f64::EPSILON / 4.0
}

/// The least power of two that is no smaller than a positive number.
fn power_of_two_from(number: f64) -> f64 {
    let mantissa = (1 << 52) - 1;
    f64::from_bits((number.to_bits() + mantissa) & !mantissa)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use num_bigint::BigInt;
    use num_integer::Integer;
    use num_traits::Float;
    use proptest::{prelude::*, test_runner::TestRunner};
    use ziggurat_game::{Overrides, Ruleset};

    use super::{super::Verdict, *};
    use crate::{
        coarse::Asked,
        settings::{Precision, Settings},
        solve::{Cancelled, Surroundings, TierValues, solve, thread_pool},
        step::{StepState, sums},
    };

    /// A number in units of 2^-400.
    fn exact(value: f64) -> BigInt {
        let (mantissa, exponent, sign) = value.integer_decode();
        if mantissa == 0 {
            BigInt::ZERO
        } else {
            (BigInt::from(mantissa) * sign) << (exponent + 400)
        }
    }

    /// An end of a value near some other, as it is computed, and exactly.
    fn any_end(
        random: &mut impl FnMut() -> f64,
        near: f64,
        width: f64,
        sign: f64,
    ) -> (f64, BigInt) {
        let value = (near + width * (random() - 0.5)).clamp(-0.5 + 1e-9, 0.5 - 1e-9);
        let distance = sign * (random() * 4096.0).floor() * 0.5f64.powi(55);
        (value + distance, exact(value) + exact(distance))
    }

    #[test]
    fn what_is_computed_lies_outside_whatever_is_rounded() {
        let mut runner = TestRunner::deterministic();
        let mut random = || runner.rng().random::<f64>();
        let explicit = [
            "1:1/3,2:2/3",
            "0:1/7,1:2/7,2:1/7,3:3/7",
            "1:0.123456789,2:0.876543211",
            "1:998332676126660559/10660563448239014887,2:9662230772112354328/10660563448239014887",
        ];
        for name in Dice::names().chain(explicit) {
            let dice: Dice = name.parse().unwrap();
            let margin = rounding_margin(&dice, 1e-12);
            assert_eq!(margin % (f64::EPSILON / 4.0), 0.0);
            let denoms = dice.rolls().iter().map(|roll| BigInt::from(*roll.probability.denom()));
            let denom = denoms.fold(BigInt::from(1), |all, denom| all.lcm(&denom));
            let weight = |roll: &Roll| {
                &denom / roll.probability.denom() * BigInt::from(*roll.probability.numer())
            };
            let weights: Vec<BigInt> = dice.rolls().iter().map(weight).collect();
            let unit = exact(margin) * &denom / 1_000_000;
            // How far beyond the exact value an end was, in millionths of the margin, at least.
            let mut least = BigInt::from(i64::MAX);
            for i in 0..200_000 {
                let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
                let near = [0.5, 0.25, 0.0, random()][(random() * 4.0) as usize];
                let near = if random() < 0.5 { near } else { -near };
                let width = 0.5f64.powi((random() * 53.0) as i32);
                let (mut sum, mut exact_sum) = (0.0, BigInt::ZERO);
                for (roll, weight) in dice.rolls().iter().zip(&weights) {
                    let (end, exact_end) = any_end(&mut random, near, width, sign);
                    sum += roll.chance() * end;
                    exact_sum += weight * exact_end;
                }
                let beyond = (exact(sum + sign * margin) * &denom - exact_sum) * sign as i32;
                least = least.min(beyond.div_floor(&unit));
            }
            assert!(least >= BigInt::ZERO && least < BigInt::from(600_000), "{name}: {least}");
        }
    }

    /// A game with as many pieces as a tier has of one player.
    fn encoding_of(game: &str, tier: Tier) -> Encoding {
        let pieces = Some(tier.just_moved.max(tier.to_move));
        let overrides = Overrides { pieces, ..Overrides::default() };
        Encoding::new(&Ruleset::builtin(game).unwrap().with(&overrides).unwrap()).unwrap()
    }

    /// All tiers of a game, as near to their limits as supersteps get.
    fn solved(encoding: &Encoding) -> HashMap<Tier, Vec<f64>> {
        let settings =
            Settings { tolerance: 1e-15, certified: false, ..Settings::new(Precision::F64) };
        let cancelled = Cancelled::new(false);
        let surroundings = Surroundings::in_memory(&cancelled);
        let mut tiers = HashMap::new();
        let mut keep = |tier, _, values: TierValues<'_>| {
            let TierValues::F64(values) = values else { unreachable!("f64 is asked for") };
            tiers.insert(tier, values.to_vec());
            Ok(())
        };
        solve(encoding, &settings, surroundings, &mut |_| {}, &mut keep).unwrap();
        tiers
    }

    fn all(distances: &Distances) -> Vec<u16> {
        distances.all.iter().flatten().flat_map(|array| array.values().to_vec()).collect()
    }

    /// Sweeps the intervals of a step until none grows, passing over what is settled; returns after how many sweeps.
    fn sweep_until_settled(game: &str, tier: Tier) -> u32 {
        let encoding = encoding_of(game, tier);
        let tables = Tables::new(&encoding);
        let tiers = solved(&encoding);
        let bound = 2e-13;
        let finals = |tier| Certified { values: &tiers[&tier][..], bound: 1e-13 };
        let is_first = tier.reads().next().is_none();
        let mut proof = Proof::new(bound, if is_first { 0.0 } else { 1e-13 }).unwrap();
        let cut = Cut::new(&encoding, encoding.shards(tier, 1 << 9));
        assert!(cut.waves.len() > 2, "{game} {tier}");
        let values: Vec<&[f64]> = tier.both().map(|tier| &tiers[&tier][..]).collect();
        let mut step = Unproven::new(&encoding, &tables, tier, &cut, &values, finals, &proof);
        let mut distances =
            Distances::new(&Memory::anonymous(), &encoding, tier, &cut, None).unwrap();
        distances.reset(&proof, &encoding, tier, &cut.shards, None);
        let sweep = |step: &Unproven<'_, f64>, distances: &mut Distances| {
            step.sweep(distances, &Shortlists::default(), Simd::best(), None).unwrap()
        };
        loop {
            step.look_at(&proof);
            let growth = sweep(&step, &mut distances);
            let largest = all(&distances).into_iter().map(|distance| distance & !GROWN).max();
            assert_eq!(largest, Some(growth.largest), "{game} {tier}");
            proof.after(growth);
            if !growth.grew {
                break;
            }
        }
        let settled = all(&distances);
        assert!(settled.iter().all(|distance| distance & GROWN == 0));
        // Everything is settled now, so a sweep changes nothing.
        step.look_at(&proof);
        assert!(!sweep(&step, &mut distances).grew && all(&distances) == settled, "{game} {tier}");
        // What is made to grow here and there reaches all that it must, however little else is swept.
        let len = settled.len() / 2;
        for (i, place) in (0..len).step_by(len / 16).enumerate() {
            let end = &mut distances.all[i % 2];
            let orientation = usize::from(place >= end[0].values().len());
            let offset = place - orientation * end[0].values().len();
            let planted = &mut end[orientation][offset];
            *planted = (*planted + 3_000) | GROWN;
            distances.may_have_grown[i % 2][orientation][offset / CHUNK] = 1;
            step.skips = true;
            while sweep(&step, &mut distances).grew {}
            step.skips = false;
            assert!(!sweep(&step, &mut distances).grew, "{game} {tier}: {orientation} {offset}");
        }
        proof.sweeps()
    }

    #[test]
    fn what_rounding_may_take_away_widens_every_interval() {
        let tier = Tier::new(2, 1);
        let encoding = encoding_of("finkel", tier);
        let tables = Tables::new(&encoding);
        let tiers = solved(&encoding);
        let finals = |tier| Certified { values: &tiers[&tier][..], bound: 1e-13 };
        let proof = Proof::new(2e-13, 1e-13).unwrap();
        let cut = Cut::new(&encoding, encoding.shards(tier, 1 << 9));
        let values: Vec<&[f64]> = tier.both().map(|tier| &tiers[&tier][..]).collect();
        let swept = |units_more: f64| {
            let mut step = Unproven::new(&encoding, &tables, tier, &cut, &values, finals, &proof);
            step.margin += units_more * proof.unit;
            let mut distances =
                Distances::new(&Memory::anonymous(), &encoding, tier, &cut, None).unwrap();
            distances.reset(&proof, &encoding, tier, &cut.shards, None);
            step.look_at(&proof);
            step.sweep(&mut distances, &Shortlists::default(), Simd::best(), None).unwrap();
            distances
        };
        let (narrow, wide) = (swept(0.0), swept(64.0));
        for (narrow, wide) in narrow.all.iter().flatten().zip(wide.all.iter().flatten()) {
            let both = narrow.values().iter().zip(wide.values());
            let mut both = both.map(|(narrow, wide)| (narrow & !GROWN, wide & !GROWN));
            assert!(both.all(|(narrow, wide)| narrow + 60 <= wide));
        }
    }

    /// Proves a step of a game, which reads the true values, with the shortlists of its supersteps and without, and
    /// compares all distances after each interval sweep.
    fn compare_with_shortlists<T: Value>(game: &str, tier: Tier, residual: f64, bound: f64) {
        let encoding = encoding_of(game, tier);
        let tables = Tables::new(&encoding);
        let memory = Memory::anonymous();
        let array = |values: &[f64]| {
            let mut array = memory.filled(T::default(), values.len()).unwrap();
            array.iter_mut().zip(values).for_each(|(to, &value)| *to = T::from_f64(value));
            array
        };
        let read: HashMap<Tier, Array<T>> =
            solved(&encoding).into_iter().map(|(tier, values)| (tier, array(&values))).collect();
        let context = Context::new(&encoding, &tables, tier, |tier| &read[&tier]);
        let cut = Cut::new(&encoding, encoding.shards(tier, 1 << 9));
        let halves = tier.both().map(|tier| array(&vec![0.0; encoding.tier_len(tier) as usize]));
        let simd = Simd::best();
        let (shards, halves) = (cut.shards.clone(), halves.collect());
        let mut state = StepState::new(&memory, &encoding, halves, shards, simd).unwrap();
        while state.superstep(&context, (0, -100), None).unwrap() > residual {}
        let shortlists = std::mem::take(&mut state.shortlists);
        assert!(shortlists.words() > 0, "{game} {tier}");

        let values = state.into_values();
        let values: Vec<&[T]> = values.iter().map(|values| values.values()).collect();
        let finals = |tier| Certified { values: read[&tier].values(), bound: bound / 2.0 };
        let is_first = tier.reads().next().is_none();
        let proof = || Proof::new(bound, if is_first { 0.0 } else { bound / 2.0 }).unwrap();
        assert!(shortlists.hold_for_intervals(f64::from(FAR) * proof().unit), "{game} {tier}");
        let room = || Distances::new(&memory, &encoding, tier, &cut, None).unwrap();
        let (mut with, mut without, mut proof) = (room(), room(), proof());
        for distances in [&mut with, &mut without] {
            distances.reset(&proof, &encoding, tier, &cut.shards, None);
        }
        let mut step = Unproven::new(&encoding, &tables, tier, &cut, &values, finals, &proof);
        loop {
            step.look_at(&proof);
            let growth = step.sweep(&mut with, &shortlists, simd, None).unwrap();
            let same = step.sweep(&mut without, &Shortlists::default(), simd, None).unwrap();
            assert!(growth == same && all(&with) == all(&without), "{game} {tier}");
            match proof.after(growth) {
                Verdict::Sweep => {}
                Verdict::Proven(_) => break,
                Verdict::Refused => panic!("{game} {tier} is not proven"),
            }
        }
    }

    /// What a proof says of a step of a game whose values are wrong by so much in one place, after how many sweeps, and
    /// how many distances it starts with; it may start by the turns that are still to come.
    fn prove_wrong_by(wrong: f64, has_turns: bool) -> (Verdict, u32, usize) {
        let (tier, bound) = (Tier::new(2, 2), 2e-13);
        let encoding = encoding_of("double-short", tier);
        let tables = Tables::new(&encoding);
        let mut tiers = solved(&encoding);
        let middle = encoding.tier_len(tier) as usize / 2;
        tiers.get_mut(&tier).unwrap()[middle] += wrong;
        let finals = |tier| Certified { values: &tiers[&tier][..], bound: 1e-13 };
        let cut = Cut::new(&encoding, encoding.shards(tier, 1 << 12));
        let values = [&tiers[&tier][..encoding.tier_len(tier) as usize]];
        let turns = if has_turns {
            let context = Context::new(&encoding, &tables, tier, |tier| &tiers[&tier]);
            let sample = (&mut None, Asked::Turns);
            let shards = &cut.shards;
            let sums = sums(&encoding, &context, shards, &values, sample, Simd::best(), None);
            sums.multiples(Asked::Turns).unwrap()
        } else {
            Vec::new()
        };
        let mut proof = Proof::with_turns(bound, 1e-13, turns).unwrap();
        let mut step = Unproven::new(&encoding, &tables, tier, &cut, &values, finals, &proof);
        let mut distances =
            Distances::new(&Memory::anonymous(), &encoding, tier, &cut, None).unwrap();
        let mut starts = std::collections::BTreeSet::new();
        let mut sweeps = 0;
        loop {
            if proof.sweeps() == 0 {
                distances.reset(&proof, &encoding, tier, &cut.shards, None);
                let own = distances.all.iter().map(|end| &end[0].values()[..values[0].len()]);
                starts = own.flatten().copied().collect();
                assert!(
                    starts.last() <= Some(&proof.start()) && starts.first() >= Some(&proof.least())
                );
            }
            step.look_at(&proof);
            let growth =
                step.sweep(&mut distances, &Shortlists::default(), Simd::best(), None).unwrap();
            sweeps += 1;
            match proof.after(growth) {
                Verdict::Sweep => {}
                verdict => return (verdict, sweeps, starts.len()),
            }
        }
    }

    #[test]
    fn distances_that_fall_with_the_turns_to_come_prove_the_same_sooner() {
        let proven = |sweeps| Verdict::Proven(super::super::Certificate { bound: 2e-13, sweeps });
        let (verdict, sweeps, starts) = prove_wrong_by(0.0, false);
        assert_eq!((verdict, starts), (proven(sweeps), 1));
        let (with_turns, fewer, starts) = prove_wrong_by(0.0, true);
        assert_eq!(with_turns, proven(fewer));
        assert!(fewer < sweeps && starts > 100, "{fewer} instead of {sweeps}, {starts}");
        // No start proves what is wrong.
        for has_turns in [false, true] {
            assert_eq!(prove_wrong_by(4e-13, has_turns).0, Verdict::Refused);
        }
    }

    #[test]
    fn distances_take_as_much_as_is_said() {
        for (game, tier) in [("finkel", Tier::new(4, 4)), ("masters", Tier::new(3, 2))] {
            let encoding = Encoding::new(&Ruleset::builtin(game).unwrap()).unwrap();
            let limit = encoding.default_shard_positions(tier);
            let cut = Cut::new(&encoding, encoding.shards(tier, limit));
            let Distances { all, live, may_have_grown, .. } =
                Distances::new(&Memory::anonymous(), &encoding, tier, &cut, None).unwrap();
            let numbers = all.iter().flatten().chain(&live).map(|array| array.values().len());
            let chunks = may_have_grown.iter().flatten().map(|array| array.values().len());
            let taken = (2 * numbers.sum::<usize>() + chunks.sum::<usize>()) as u64;
            let said = Distances::bytes(&encoding, &cut.shards);
            assert!(said >= taken && said < taken + taken / 16 + 1000, "{said}, not {taken}");
        }
    }

    #[test]
    fn what_others_may_change_as_well_is_never_known_not_to_have_grown() {
        let array = |distance| Memory::anonymous().filled(distance, 5 * CHUNK).unwrap();
        for (range, known) in [
            (0..5 * CHUNK, 0..5),
            (1..5 * CHUNK - 1, 1..4),
            (CHUNK..2 * CHUNK, 1..2),
            (CHUNK + 1..3 * CHUNK - 1, 0..0),
            (4 * CHUNK + 1..5 * CHUNK - 1, 0..0),
        ] {
            for grew in [0, GROWN] {
                let mut grown = [2; 5];
                look_for_growth(&array(7 | grew), &mut grown, range.clone());
                for (chunk, grown) in grown.into_iter().enumerate() {
                    let expected = if known.contains(&chunk) { u8::from(grew != 0) } else { 2 };
                    assert_eq!(grown, expected, "{range:?} {chunk}");
                }
            }
        }
    }

    #[test]
    fn shortlists_change_no_distance() {
        for (game, tier) in [
            ("blitz", Tier::new(3, 2)),
            ("finkel", Tier::new(3, 3)),
            ("masters", Tier::new(2, 2)),
            ("double-short", Tier::new(2, 1)),
        ] {
            compare_with_shortlists::<f64>(game, tier, 1e-12, 1e-9);
            compare_with_shortlists::<f32>(game, tier, 1e-6, 2e-5);
        }
    }

    /// Proves a step of a game on one thread and on so many that chains are swept apart, and compares all distances
    /// after each interval sweep. Shards have at most so many positions.
    fn compare_threads(game: &str, tier: Tier, limit: u64) {
        let encoding = encoding_of(game, tier);
        let tables = Tables::new(&encoding);
        let tiers = solved(&encoding);
        let finals = |tier| Certified { values: &tiers[&tier][..], bound: 1e-13 };
        let read = if tier.reads().next().is_none() { 0.0 } else { 1e-13 };
        let mut proof = Proof::new(2e-13, read).unwrap();
        let cut = Cut::new(&encoding, encoding.shards(tier, limit));
        let pairs = cut.shards.iter().filter(|shard| shard.ranges.1.is_some()).count();
        assert!(pairs >= cut.shards.len() / 2, "{game} {tier}: {pairs} of {}", cut.shards.len());
        let values: Vec<&[f64]> = tier.both().map(|tier| &tiers[&tier][..]).collect();
        let mut step = Unproven::new(&encoding, &tables, tier, &cut, &values, finals, &proof);
        let memory = Memory::anonymous();
        let mut on_threads = [1, 64].map(|threads| {
            let mut distances = Distances::new(&memory, &encoding, tier, &cut, None).unwrap();
            distances.reset(&proof, &encoding, tier, &cut.shards, None);
            (thread_pool(threads).unwrap(), distances)
        });
        loop {
            step.look_at(&proof);
            let none = Shortlists::default();
            let [alone, together] = on_threads.each_mut().map(|(pool, distances)| {
                pool.install(|| step.sweep(distances, &none, Simd::best(), None)).unwrap()
            });
            let [(_, alone_distances), (_, distances)] = &on_threads;
            assert!(alone == together && all(alone_distances) == all(distances), "{game} {tier}");
            proof.after(alone);
            if !alone.grew {
                break;
            }
        }
    }

    #[test]
    fn chains_that_are_swept_apart_give_the_same_distances() {
        for game in Ruleset::builtin_names() {
            compare_threads(game, Tier::new(1, 1), 1);
        }
        for (game, pieces) in [("finkel", 3), ("blitz", 2), ("skiriuk", 2), ("double-short", 2)] {
            for other in [pieces, pieces - 1] {
                compare_threads(game, Tier::new(pieces, other), 1 << 9);
            }
        }
    }

    #[test]
    fn what_is_settled_would_not_grow() {
        let mut sweeps = 0;
        for (game, tier) in [
            ("blitz", Tier::new(2, 2)),
            ("finkel", Tier::new(3, 2)),
            ("masters", Tier::new(3, 1)),
            ("skiriuk", Tier::new(2, 1)),
            ("murray", Tier::new(1, 1)),
            ("double-short", Tier::new(2, 1)),
        ] {
            sweeps += sweep_until_settled(game, tier);
        }
        assert!(sweeps > 12, "only {sweeps}: hardly anything could be passed over");
    }
}
