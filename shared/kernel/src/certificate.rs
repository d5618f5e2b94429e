//! Certificates: a proof that stored values are close to the true ones.
//!
//! That supersteps hardly change the values any more does not prove that the values are right. So
//! take for every value v of a step the interval [v - e, v + e], and apply the equation to intervals:
//! the upper end of what a mover gains comes from the upper ends where the turn passes and from
//! the other player's *lower* ends where the mover rolls again, and the other way round. Every
//! rounding goes outwards. If after some such *interval sweeps* every interval lies inside the one it
//! started from, or inside the one before the last sweep, the true values lie there too: the operator
//! is monotone, so it has a fixed point in there, and where play ends with certainty there is only one.
//!
//! An interval is kept as the distances of its ends from v, 16 bits each, in units of a power of two
//! near e / 2^11 (finer ones make proofs no shorter, and what teams exchange longer): 4 bytes per position
//! besides the values. The first sweeps round to multiples of four units. A sweep takes the shards in *waves*,
//! those with the pieces furthest along first, so that a shard reads new ends of whatever a move forward
//! leads to; shards of one wave are swept at the same time and see each other's ends as they were
//! before it.

use std::{collections::HashMap, ops::Range};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ziggurat_encoding::{Encoding, Shard, Tier};

use crate::{
    SolveError,
    array::Array,
    block::{self, SweepBlocks},
    context::{Context, Tables},
    gather::Gather,
    halo::{Content, STRIP},
    journal::{Column, Data, Part},
    layout::Block,
    memory::{self, Memory, MemoryError},
    routes::Route,
    rules::Rules,
    scratch::Scratch,
    simd::Simd,
    slab::{Offers, Place, Placed, Slab, Sources, arrays},
    solve::thread_pool,
    step::{both, fill, parts_of, ranges, read_by, split_off},
    sweep::{for_each_pair_of_slabs, groups_of, load, views},
    team::{Barrier, ExchangeError, Strip, Team, slices},
    value::{Group, LANES, PADDING, Value},
    vector::{Instructions, Operation},
    waves::{Wave, interval_waves, largest_first},
};

/// A proof that no stored value of a step is further from the true one than `bound`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Certificate {
    /// The bound, as a probability.
    pub bound: f64,
    /// How many interval sweeps it took.
    pub sweeps: u32,
}

/// Final values of a tier and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct Certified<'a, T> {
    /// The values, in index order; there may be more behind them.
    pub values: &'a [T],
    /// A bound on their distance from the true ones.
    pub bound: f64,
}

/// The most interval sweeps that are tried.
const MOST_SWEEPS: u32 = 64;

/// No bound that is tried is larger: it says nothing any more.
const LARGEST_BOUND: f64 = 2.0;

/// Some intervals grow before they shrink, so all start with this part of what they may have beyond the
/// bounds of the tiers that are read.
const START: f64 = 0.7;

/// The first sweeps round distances to multiples of so many units, which are shorter to tell. Long proofs
/// would take more sweeps for it, so their later sweeps do not.
const COARSE: f64 = 4.0;
const COARSE_SWEEPS: u32 = 4;

/// A distance that is too large to be told.
const FAR: u16 = u16::MAX;

/// Added to a small number, this leaves an integer in the lowest bits: 2^52.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// An end of the intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Lower,
    Upper,
}

impl End {
    fn other(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }

    fn index(self) -> usize {
        self as usize
    }

    /// What to multiply a distance by.
    fn sign(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

/// The distances of both ends from the values of a step, in units.
pub struct Distances {
    /// By end and orientation.
    all: [Vec<Array<u16>>; 2],
    /// Room for those of a wave, by end.
    live: [Array<u16>; 2],
}

/// The distances of a shard, by end and range.
type ShardDistances<'a> = [[&'a mut [u16]; 2]; 2];

/// What an interval sweep did to the distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Growth {
    /// The largest distance.
    pub largest: u16,
    /// Whether any distance has grown.
    pub grew: bool,
}

impl Growth {
    /// What two sweeps of different positions did.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self { largest: self.largest.max(other.largest), grew: self.grew | other.grew }
    }
}

/// The state of a proof between two interval sweeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Proof {
    bound: f64,
    /// What a unit of the distances is worth: a power of two.
    unit: f64,
    /// The distances at the start.
    start: u16,
    sweeps: u32,
    proven: bool,
}

/// What an interval sweep has shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// Nothing yet.
    Sweep,
    /// The bound.
    Proven(Certificate),
    /// That the bound cannot be proven.
    Refused,
}

impl Proof {
    /// A proof that values are within `bound` of the true ones, where those of the tiers that are
    /// read are within `read`; `None` if there can be none.
    pub fn new(bound: f64, read: f64) -> Option<Self> {
        if bound.is_nan() || bound <= read {
            return None;
        }
        let unit = (bound.log2().floor() - 11.0).exp2();
        let start = ((read + START * (bound - read)) / (unit * COARSE)).floor() * COARSE;
        let start = start as u16;
        Some(Self { bound, unit, start, sweeps: 0, proven: false })
    }

    /// A proof that goes on somewhere else, for those who only sweep: what it has shown so far is not
    /// told. `None` if no proof has such numbers.
    pub fn from_parts(bound: f64, unit: f64, start: u16, sweeps: u32) -> Option<Self> {
        let is_power_of_two = unit.is_normal() && unit.log2().round().exp2() == unit;
        // [`Proof::new`] chooses it between 2^11 and 2^12; logarithms may be rounded differently elsewhere.
        let is_fine_enough = (1024.0..=8192.0).contains(&(bound / unit));
        let fits = bound <= LARGEST_BOUND
            && is_power_of_two
            && is_fine_enough
            && f64::from(start) * unit <= bound
            && sweeps < MOST_SWEEPS;
        fits.then_some(Self { bound, unit, start, sweeps, proven: false })
    }

    /// What is to be proven.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// What a unit of the distances is worth.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// The distances before the first interval sweep, in units.
    pub fn start(&self) -> u16 {
        self.start
    }

    /// Interval sweeps made so far.
    pub fn sweeps(&self) -> u32 {
        self.sweeps
    }

    /// The next sweep rounds distances to multiples of so many units.
    fn multiple(&self) -> f64 {
        if self.sweeps < COARSE_SWEEPS { COARSE } else { 1.0 }
    }

    /// Takes note of what an interval sweep did.
    pub fn after(&mut self, Growth { largest, grew }: Growth) -> Verdict {
        self.sweeps += 1;
        if largest == FAR {
            return Verdict::Refused;
        }
        self.proven |= largest <= self.start || !grew;
        if self.proven && f64::from(largest) * self.unit <= self.bound {
            return Verdict::Proven(Certificate { bound: self.bound, sweeps: self.sweeps });
        }
        if self.sweeps < MOST_SWEEPS { Verdict::Sweep } else { Verdict::Refused }
    }
}

/// A step whose values are to be proven.
pub struct Unproven<'a, T> {
    context: Context<'a, f64>,
    cut: &'a Cut,
    /// By orientation.
    values: Vec<&'a [T]>,
    /// By orientation, what scoring a piece leads to; `None` if that wins.
    finals: Vec<Option<Certified<'a, T>>>,
    /// What a unit of the distances is worth.
    unit: f64,
    /// They are rounded to multiples of so many.
    multiple: f64,
    /// More than all rounding errors of a value.
    margin: f64,
}

/// Proves certificates of stored values.
pub struct Certifier<'a> {
    encoding: &'a Encoding,
    tables: Tables,
    pool: rayon::ThreadPool,
}

impl<'a> Certifier<'a> {
    /// For the tables of an encoding's ruleset, with so many threads (0: one per core).
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(encoding: &'a Encoding, threads: usize) -> Result<Self, SolveError> {
        let tables = Tables::new(encoding);
        Ok(Self { encoding, tables, pool: thread_pool(threads)? })
    }

    /// Proves that the values of the step of a tier are within `bound` of the true ones; `None` if
    /// that cannot be proven. `values` are those of
    /// `tier`, and of its swap if that is another tier; `finals` gives the tiers that the step reads. (It is not generic, so that
    /// interval sweeps are not compiled once more wherever it is called.)
    ///
    /// # Panics
    /// If there are fewer values than the tiers have positions.
    pub fn certify<'v>(
        &self,
        tier: Tier,
        values: &[&'v [f64]],
        finals: &dyn Fn(Tier) -> Certified<'v, f64>,
        bound: f64,
    ) -> Option<Certificate> {
        let limit = self.encoding.default_shard_positions(tier);
        let cut = Cut::new(self.encoding, self.encoding.shards(tier, limit));
        let read = read_by(tier).map(|tier| finals(tier).bound).fold(0.0, f64::max);
        let mut proof = Proof::new(bound, read)?;
        let finals = |tier| finals(tier); // for no longer than needed here
        let mut step =
            Unproven::new(self.encoding, &self.tables, tier, &cut, values, finals, &proof);
        let mut distances = Distances::new(&Memory::anonymous(), self.encoding, tier, &cut, None)
            .expect("memory that is not in files is there or ends the process");
        distances.reset(&proof, &cut.shards, None);
        self.pool.install(|| {
            loop {
                step.multiple = proof.multiple();
                let growth = step.sweep(&mut distances, Simd::best(), None);
                match proof.after(growth.expect("nobody else is asked")) {
                    Verdict::Sweep => {}
                    Verdict::Proven(certificate) => return Some(certificate),
                    Verdict::Refused => return None,
                }
            }
        })
    }
}

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
            both(tier).map(room).collect::<Result<Vec<_>, _>>()
        };
        let live = || memory.filled(0, cut.live_len(own) as usize);
        Ok(Self { all: [all()?, all()?], live: [live()?, live()?] })
    }

    /// Sets all to what they are before the first interval sweep of a proof.
    pub fn reset(&mut self, proof: &Proof, shards: &[Shard], team: Option<&Team<'_>>) {
        for arrays in &mut self.all {
            fill(arrays, proof.start, shards, team);
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

    /// The most bytes they take.
    pub fn bytes(encoding: &Encoding, shards: &[Shard]) -> u64 {
        let positions: u64 = shards.iter().map(Shard::len).sum();
        let live = Cut::new(encoding, shards.to_vec()).live_len(|_| true);
        4 * (positions + live + 3 * PADDING as u64)
    }

    /// All of them, shard by shard.
    pub fn parts(&mut self, shards: &[Shard]) -> Vec<Part<'_>> {
        let [lower, upper] = &mut self.all;
        let mut parts = parts_of(Column::Lower, lower, shards, Data::U16);
        parts.extend(parts_of(Column::Upper, upper, shards, Data::U16));
        parts
    }
}

/// A bound on the sum of all rounding errors of an end, in f64. All numbers are between 0 and 1. There
/// are those of an end that is read, of its complement, of the complement that is computed, and of
/// adding the margin (4 times 2^-54); of chances and products, no larger than the chance; and of the sums,
/// no larger than the sum of the chances so far.
fn rounding_margin(rules: &Rules) -> f64 {
    let chances: Vec<f64> = rules.rolls.iter().map(|roll| roll.chance).collect();
    let (mut once, mut sum) = (4.0 * rounding(1.0), 0.0);
    for &chance in [rules.zero].iter().chain(&chances).filter(|&&chance| chance > 0.0) {
        once += if (chance * 1024.0).fract() == 0.0 { 0.0 } else { rounding(chance) };
        once += if chance.log2().fract() == 0.0 { 0.0 } else { rounding(chance) };
        once += if sum == 0.0 { 0.0 } else { rounding((sum + chance).min(1.0)) };
        sum += chance;
    }
    1.001 * once
}

/// The largest rounding error of a number from 0 to `largest`: half a unit in the last place.
fn rounding(largest: f64) -> f64 {
    largest.log2().ceil().exp2() * f64::EPSILON / 4.0
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
        let margin = rounding_margin(&tables.rules);
        let (unit, multiple) = (proof.unit, proof.multiple());
        Self { context, cut, values, finals, unit, multiple, margin }
    }

    /// Computes both ends of all intervals, or of those of a team's member.
    ///
    /// # Errors
    /// If other members cannot be reached.
    pub fn sweep(
        &self,
        distances: &mut Distances,
        simd: Simd,
        team: Option<&Team<'_>>,
    ) -> Result<Growth, ExchangeError> {
        let encoding = self.context.encoding;
        let last = self.values.len() - 1;
        let Cut { shards, waves } = self.cut;
        let Distances { all, live } = distances;
        let mut growth = Growth::default();
        for wave in waves {
            let own = |shard: &usize| team.is_none_or(|team| team.owns(*shard));
            let own: Vec<&Shard> = wave.iter().copied().filter(own).map(|i| &shards[i]).collect();
            let memory = || (Scratch::new(encoding), Decoded::default());
            let others = &*all;
            let parts = own.iter().copied().zip(own_distances(live, &own)).collect();
            growth = largest_first(parts, |(shard, _): &(&Shard, _)| shard.len())
                .map_init(memory, |memory, (shard, live)| {
                    self.sweep_shard(shard, live, others, memory, simd)
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
                for (distances, swept) in all.iter_mut().zip(swept) {
                    for ((orientation, range), swept) in
                        ranges(shard, last).into_iter().flatten().zip(swept)
                    {
                        memory::copy(&mut distances[orientation][range], swept);
                    }
                }
            }
            if let Some(barrier) = &barrier {
                take(all, barrier)?;
            }
        }
        Ok(growth)
    }

    /// Computes both ends of the intervals of a shard.
    fn sweep_shard(
        &self,
        shard: &Shard,
        mut live: ShardDistances<'_>,
        others: &[Vec<Array<u16>>; 2],
        (scratch, decoded): &mut (Scratch<f64>, Decoded<'s>),
        simd: Simd,
    ) -> Growth {
        let last = self.values.len() - 1;
        for (live, others) in live.iter_mut().zip(others) {
            for (live, (orientation, range)) in
                live.iter_mut().zip(ranges(shard, last).into_iter().flatten())
            {
                memory::copy(live, &others[orientation][range]);
            }
        }
        let mut growth = Growth::default();
        let mut ends = Ends { step: self, shard, live, others, simd };
        for_each_pair_of_slabs(&self.context, shard, &Own { shard, last }, |slabs, is_own_swap| {
            let (ends, growth) = (&mut ends, &mut growth);
            simd.run(SweepSlab { ends, slabs, is_own_swap, scratch, decoded, growth });
        });
        growth
    }
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

/// Which values of the step are the shard's own. All places count from the start of the tier.
struct Own<'a> {
    shard: &'a Shard,
    last: usize,
}

impl Placed for Own<'_> {
    fn place(&self, orientation: usize, offset: u64) -> Place {
        let (first, second) = &self.shard.ranges;
        let start = offset as usize;
        if orientation == 0 && first.contains(&offset) {
            return Place { array: arrays::LIVE, start };
        }
        match second {
            Some(second) if orientation == self.last && second.contains(&offset) => {
                Place { array: arrays::LIVE + 1, start }
            }
            _ => Place { array: arrays::PUBLISHED + orientation, start },
        }
    }
}

/// The ends that a sweep of a shard reads and writes.
struct Ends<'a, T> {
    step: &'a Unproven<'a, T>,
    shard: &'a Shard,
    /// The distances of the shard.
    live: ShardDistances<'a>,
    /// All distances, as they were before this wave.
    others: &'a [Vec<Array<u16>>; 2],
    simd: Simd,
}

impl<T: Value> Ends<'_, T> {
    /// The orientation, and where a range of the shard begins.
    fn own_range(&self, slot: usize) -> (usize, usize) {
        let (first, second) = &self.shard.ranges;
        match (slot, second) {
            (1, Some(second)) => (self.step.values.len() - 1, second.start as usize),
            _ => (0, first.start as usize),
        }
    }

    /// Writes an end of `to.len()` values from a place on.
    #[inline(always)]
    fn decode(&self, end: End, place: Place, to: &mut [f64]) {
        let Self { step, .. } = self;
        let Place { array, start } = place;
        let len = to.len();
        if array >= arrays::FINAL {
            let read = step.finals[array - arrays::FINAL].expect("the move does not win");
            let distance = end.sign() * read.bound;
            for (to, &value) in to.iter_mut().zip(&read.values[start..start + len]) {
                *to = (value.to_f64() + distance).clamp(0.0, 1.0);
            }
            return;
        }
        let (orientation, distances) = match array.checked_sub(arrays::LIVE) {
            Some(slot) => {
                let (orientation, first) = self.own_range(slot);
                (orientation, &self.live[end.index()][slot][start - first..])
            }
            None => {
                let orientation = array - arrays::PUBLISHED;
                (orientation, &self.others[end.index()][orientation][start..])
            }
        };
        let unit = end.sign() * step.unit;
        let values = &step.values[orientation][start..start + len];
        for ((to, &value), &distance) in to.iter_mut().zip(values).zip(&distances[..len]) {
            *to = (value.to_f64() + unit * f64::from(distance)).clamp(0.0, 1.0);
        }
    }

    /// How many values there are from a place on.
    fn available(&self, place: Place) -> usize {
        let Place { array, start } = place;
        let end = match array {
            arrays::PUBLISHED..arrays::LIVE => self.step.values[array - arrays::PUBLISHED].len(),
            arrays::LIVE..arrays::FINAL => {
                let slot = array - arrays::LIVE;
                self.own_range(slot).1 + self.live[0][slot].len()
            }
            _ => self.step.finals[array - arrays::FINAL].map_or(0, |read| read.values.len()),
        };
        end - start
    }

    /// Takes scratch rows as an end of a block's values, and returns how their distances grew.
    #[inline(always)]
    fn encode(
        &mut self,
        end: End,
        from: &[<f64 as Value>::Group],
        slab: Place,
        block: &Block,
    ) -> Growth {
        let multiple = self.step.multiple;
        let multiples = 1.0 / (self.step.unit * multiple);
        let slot = slab.array - arrays::LIVE;
        let (orientation, first) = self.own_range(slot);
        let start = slab.start + block.start;
        let values = &self.step.values[orientation][start..];
        let distances = &mut self.live[end.index()][slot][start - first..];
        let sign = end.sign();
        let mut growth = Growth::default();
        let (lines, len) = block.lines();
        for line in 0..lines {
            let row = &from[line * block.stride..][..block.stride];
            let range = line * len..(line + 1) * len;
            let ends = row.iter().flat_map(|group| group.lanes());
            for ((&end, &value), to) in ends.zip(&values[range.clone()]).zip(&mut distances[range])
            {
                let distance = sign * (end - value.to_f64()) * multiples;
                let distance = (distance.ceil() * multiple).clamp(0.0, f64::from(FAR));
                // The sum has its unit in the lowest bit. (A cast does not vectorise.)
                let distance = (distance + INTEGERS).to_bits() as u16;
                growth.largest = growth.largest.max(distance);
                growth.grew |= distance > *to;
                *to = distance;
            }
        }
        growth
    }
}

/// A slab with everything it is offered, as ends of intervals.
#[derive(Default)]
struct Decoded<'t> {
    slab: Slab<'t>,
    values: Room,
}

/// Room for decoded values, which keeps what was there before until it is written to.
#[derive(Default)]
struct Room {
    values: Vec<f64>,
    used: usize,
}

impl Room {
    /// Takes room for so many values.
    fn take(&mut self, len: usize) -> Range<usize> {
        let start = self.used;
        self.used += len;
        if self.values.len() < self.used {
            self.values.resize(self.used, 0.5);
        }
        start..self.used
    }
}

impl<'t> Decoded<'t> {
    /// The decoded values, as the places of the decoded slab mean them.
    fn sources(&self) -> Sources<'_, f64> {
        Sources { arrays: [&self.values.values, &[], &[], &[], &[], &[]] }
    }

    /// Decodes an end of a slab's own values.
    fn decode_own<T: Value>(&mut self, ends: &Ends<'_, T>, slab: &Slab<'t>, end: End) {
        let len = ends.step.context.tables.routes.own(slab.budgets).source_reach();
        self.values.used = 0;
        self.slab.budgets = slab.budgets;
        self.slab.own = add(ends, &mut self.values, end, slab.own, len);
    }

    /// Decodes what a slab is offered: `plain` is the end that is read where the turn passes; where
    /// the mover rolls again it is the other one.
    fn decode_offers<T: Value>(&mut self, ends: &Ends<'_, T>, slab: &Slab<'t>, plain: End) {
        let routes = &ends.step.context.tables.routes;
        let Self { slab: decoded, values } = self;
        values.used = 0;
        let mut add = |end, place, len| add(ends, values, end, place, len);
        decoded.budgets = slab.budgets;
        decoded.offers.resize_with(slab.offers.len(), Offers::default);
        for (from, to) in slab.offers.iter().zip(&mut decoded.offers) {
            let mut plainly = |&(place, route): &(Place, &'t Route)| {
                let len = routes.plain_source_reach(route);
                (add(plain, place, len), route)
            };
            to.complete.clear();
            to.complete.extend(from.complete.iter().map(&mut plainly));
            to.plain.clear();
            to.plain.extend(from.plain.iter().map(&mut plainly));
            to.again.clear();
            to.again.extend(from.again.iter().map(|&(place, route)| {
                (add(plain.other(), place, routes.again_source_reach(route)), route)
            }));
            to.wins.clone_from(&from.wins);
        }
        // Blocks are turned in whole squares.
        let side = Tables::side(ends.step.context.encoding);
        values.take((side + 1) * LANES);
    }
}

/// Adds an end of `len` values from a place on, or as many as there are, and says where it is.
fn add<T: Value>(ends: &Ends<'_, T>, room: &mut Room, end: End, place: Place, len: usize) -> Place {
    let start = room.take(len).start;
    let len = len.min(ends.available(place));
    let values = &mut room.values[start..start + len];
    ends.simd.compute(
        #[inline(always)]
        || ends.decode(end, place, values),
    );
    Place { array: 0, start }
}

/// The sweep of a pair of slabs, or of a slab that is its own swap.
struct SweepSlab<'a, 'e, 't, T> {
    ends: &'a mut Ends<'e, T>,
    slabs: &'a [Slab<'t>; 2],
    is_own_swap: bool,
    scratch: &'a mut Scratch<f64>,
    decoded: &'a mut Decoded<'t>,
    growth: &'a mut Growth,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { ends, slabs, is_own_swap, scratch, decoded, growth } = self;
        let step = ends.step;
        let context = &step.context;
        let routes = &context.tables.routes;
        let starts = [0, groups_of(context, &slabs[0])];
        let Scratch { slabs: scratch, turned } = scratch;
        // What x computes from upper ends is a lower end of what y reads, and the other way round.
        // Both chains are the same for a slab that is its own swap.
        let chains = [End::Upper, End::Lower].into_iter().take(if is_own_swap { 1 } else { 2 });
        for first in chains {
            let plain = [first, first.other()];
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                decoded.decode_own(ends, slab, plain);
                load::<f64, I>(
                    instructions,
                    context,
                    &decoded.sources(),
                    &decoded.slab,
                    &mut scratch[start..],
                );
            }
            if routes.rolls_again_within {
                for (view, swapped) in views(context, slabs, starts) {
                    block::value_from_stored::<f64, I>(scratch, &view, &swapped);
                    block::value_from_stored::<f64, I>(scratch, &swapped, &view);
                }
            }
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                decoded.decode_offers(ends, slab, plain);
                let (sources, slab, next) = (&decoded.sources(), &decoded.slab, None);
                let scratch = &mut scratch[start..];
                instructions.call(Gather { context, sources, slab, next, scratch, turned });
            }
            let shift = first.sign() * step.margin;
            instructions.call(SweepBlocks::<f64, true> {
                context,
                scratch,
                slabs,
                starts,
                shift,
                shortlist: None,
            });
            for ((slab, start), end) in slabs.iter().zip(starts).zip(plain) {
                for block in routes.layout(slab.budgets).blocks() {
                    let own = &scratch[start + block.own()..];
                    *growth = growth.and(ends.encode(end, own, slab.own, block));
                }
            }
        }
    }
}
