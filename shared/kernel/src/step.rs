//! A step: the tiers (n, m) and (m, n), solved together by supersteps.
//!
//! A superstep sweeps every shard in place, in descending order. The shards are swept in *waves*, those
//! furthest along the path first, and each wave ends with a barrier at which its shards publish
//! their values: most moves lead forward, to a shard of an earlier wave, and so read values of this
//! superstep. A shard reads its own values as they are now and those of the other shards as they
//! were published at the last barrier, so the result does not depend on threads or timing.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;
use ziggurat_encoding::{Shard, Tier};

use crate::{
    accelerate::{DIFFERENCES, PIECE, Piece, extrapolate},
    array::Array,
    context::Context,
    scratch::Scratch,
    simd::Simd,
    slab::{Place, Placed, arrays},
    sweep::{SweepSlab, for_each_pair_of_slabs},
    value::{PADDING, Value},
};

/// The state of a step between two supersteps.
pub struct StepState<T: Value> {
    shards: Vec<Shard>,
    /// The shards' own values: range after range, each padded.
    live: Array<T>,
    /// The values of each orientation as of the last barrier.
    published: Vec<Array<T>>,
    /// What the last supersteps changed, as bytes, in the order of the published values.
    differences: [Array<i8>; DIFFERENCES],
    /// For each piece what a unit of them is worth.
    units: Vec<[f32; DIFFERENCES]>,
    /// Supersteps made.
    supersteps: usize,
    /// Working memory that no thread uses at the moment.
    scratch: Mutex<Vec<Scratch<T>>>,
}

/// A shard during a superstep, with its own values: one slice for each range, the second empty if
/// there is none.
struct LiveShard<'a, T> {
    shard: &'a Shard,
    live: [&'a mut [T]; 2],
}

/// The most waves of a superstep. More barriers gain little and leave less to do at a time.
const MOST_WAVES: u64 = 8;

/// The shards a wave has on average, at the least: they are swept at the same time.
const WAVE_SHARDS: u64 = 4;

/// The waves of a superstep in order: ranges of shards with about as many positions each.
fn waves(shards: &[Shard]) -> Vec<Range<usize>> {
    let count = (shards.len() as u64 / WAVE_SHARDS).clamp(1, MOST_WAVES);
    let total: u64 = shards.iter().map(Shard::len).sum();
    let (mut start, mut positions) = (shards.len(), 0);
    let mut wave = |end: u64| {
        let last = start;
        while start > 0 && positions < end {
            start -= 1;
            positions += shards[start].len();
        }
        start..last
    };
    (1..=count).map(|i| wave((total * i).div_ceil(count))).collect()
}

/// The padded lengths of a shard's ranges.
fn padded_lengths(shard: &Shard) -> [usize; 2] {
    let padded = |range: &Range<u64>| (range.end - range.start) as usize + PADDING;
    [padded(&shard.ranges.0), shard.ranges.1.as_ref().map_or(0, padded)]
}

/// Which values of the step are the shard's own.
struct Ranges<'a> {
    ranges: &'a (Range<u64>, Option<Range<u64>>),
    /// The last orientation of the step: 1, or 0 if both are the same.
    last: usize,
}

impl Placed for Ranges<'_> {
    #[inline(always)]
    fn place(&self, orientation: usize, offset: u64) -> Place {
        let (first, second) = self.ranges;
        let own = |range: usize, start: u64| Place {
            array: arrays::LIVE + range,
            start: (offset - start) as usize,
        };
        if orientation == 0 && first.contains(&offset) {
            return own(0, first.start);
        }
        match second {
            Some(second) if orientation == self.last && second.contains(&offset) => {
                own(1, second.start)
            }
            _ => Place { array: arrays::PUBLISHED + orientation, start: offset as usize },
        }
    }
}

impl<T: Value> StepState<T> {
    /// The state before the first superstep: every chance one half.
    pub fn new(context: &Context<'_, T>, shards: Vec<Shard>) -> Self {
        Self::starting_from(halves(context), shards)
    }

    /// The state before the first superstep, with the values of each orientation.
    pub fn starting_from(published: Vec<Array<T>>, shards: Vec<Shard>) -> Self {
        let positions = published.iter().map(|values| values.values().len()).sum();
        let live = shards.iter().flat_map(padded_lengths).sum();
        let ranges = shards.iter().flat_map(|shard| ranges(shard, published.len() - 1)).flatten();
        let pieces = ranges.map(|(_, range)| range.len().div_ceil(PIECE)).sum();
        let mut state = Self {
            shards,
            live: Array::filled(T::default(), live),
            published,
            differences: std::array::from_fn(|_| Array::filled(0, positions)),
            units: vec![[0.0; DIFFERENCES]; pieces],
            supersteps: 0,
            scratch: Mutex::default(),
        };
        let pieces = state.pieces(0..state.shards.len());
        pieces.into_par_iter().for_each(|piece| piece.live.copy_from_slice(piece.published));
        state
    }

    /// The most bytes a state of `positions` positions in `shards` shards takes.
    pub fn bytes(positions: u64, shards: usize) -> u64 {
        let ranges = 2 * shards as u64;
        let values = (2 * positions + (ranges + 3) * PADDING as u64) * size_of::<T>() as u64;
        let differences = positions + PADDING as u64;
        let piece = size_of::<[f32; DIFFERENCES]>() + size_of::<Piece<'_, T>>();
        let pieces = positions / PIECE as u64 + ranges;
        values + DIFFERENCES as u64 * differences + pieces * piece as u64
    }

    /// Sweeps every shard once, wave by wave. Returns the residual: the largest change of any value.
    pub fn superstep(&mut self, context: &Context<'_, T>, simd: Simd) -> f64 {
        let waves = waves(&self.shards).into_iter();
        let residual = waves.map(|wave| self.sweep(wave, context, simd)).fold(0.0, f64::max);
        self.supersteps += 1;
        residual
    }

    /// Sweeps the shards of a wave and publishes the result. Returns the largest change.
    fn sweep(&mut self, wave: Range<usize>, context: &Context<'_, T>, simd: Simd) -> f64 {
        let Self { shards, live, published, scratch, .. } = self;
        let scratch = &*scratch;
        let mut rest: &mut [T] = live;
        let mut take = |length: usize| rest.split_off_mut(..length).expect("the shards fit");
        let mut parts: Vec<LiveShard<'_, T>> = shards
            .iter()
            .map(|shard| LiveShard { shard, live: padded_lengths(shard).map(&mut take) })
            .collect();
        let parts: Vec<_> = parts.drain(wave.clone()).collect();
        parts.into_par_iter().with_max_len(1).for_each(|shard| {
            let free = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = free().pop();
            let mut working = kept.unwrap_or_else(|| Scratch::new(context.encoding));
            shard.sweep(context, published, &mut working, simd);
            free().push(working);
        });
        let row = self.supersteps % DIFFERENCES;
        let changes = self.pieces(wave).into_par_iter().map(|mut piece| piece.publish(row));
        changes.reduce(|| 0.0, f64::max)
    }

    /// Moves the values to where the last [`DIFFERENCES`] supersteps, a row of them, were heading.
    pub fn extrapolate(&mut self) {
        assert!(
            self.supersteps > 0 && self.supersteps.is_multiple_of(DIFFERENCES),
            "rows are complete"
        );
        extrapolate(&mut self.pieces(0..self.shards.len()));
    }

    /// The values of each orientation, once the step is solved.
    pub fn into_values(self) -> Vec<Array<T>> {
        self.published
    }

    /// The values of some shards, piece by piece, in the order of the published values.
    fn pieces(&mut self, wanted: Range<usize>) -> Vec<Piece<'_, T>> {
        let Self { shards, live, published, differences, units, .. } = self;
        let mut live: &mut [T] = live;
        let mut parts = Vec::new();
        for (i, shard) in shards.iter().enumerate() {
            let ranges = ranges(shard, published.len() - 1);
            for (length, range) in padded_lengths(shard).into_iter().zip(ranges) {
                let values = live.split_off_mut(..length).expect("the shards fit");
                if let Some((orientation, range)) = range {
                    let live = &mut values[..range.len()];
                    parts.push((orientation, range.start, wanted.contains(&i), live));
                }
            }
        }
        parts.sort_by_key(|&(orientation, start, ..)| (orientation, start));
        let mut published: Vec<&mut [T]> = published.iter_mut().map(|all| &mut **all).collect();
        let mut differences = differences.each_mut().map(|all| &mut **all);
        let mut units = units.iter_mut();
        let mut pieces = Vec::new();
        for (orientation, _, wanted, values) in parts {
            for live in values.chunks_mut(PIECE) {
                let piece = Piece {
                    published: split_off(&mut published[orientation], live.len()),
                    differences: differences.each_mut().map(|all| split_off(all, live.len())),
                    units: units.next().expect("the shards fit"),
                    live,
                };
                if wanted {
                    pieces.push(piece);
                }
            }
        }
        pieces
    }
}

/// One half for every position of each orientation.
pub fn halves<T: Value>(context: &Context<'_, T>) -> Vec<Array<T>> {
    let half = T::from_f64(0.5);
    let tier = |&tier| Array::filled(half, context.encoding.tier_len(tier) as usize);
    context.tiers.iter().map(tier).collect()
}

/// The first values of a slice, which loses them.
fn split_off<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    rest.split_off_mut(..len).expect("the shards of a step fill it")
}

/// A shard's ranges, each with its orientation; `last` is the last orientation of the step.
pub fn ranges(shard: &Shard, last: usize) -> [Option<(usize, Range<usize>)>; 2] {
    let range = |range: &Range<u64>| range.start as usize..range.end as usize;
    let (first, second) = &shard.ranges;
    [Some((0, range(first))), second.as_ref().map(|second| (last, range(second)))]
}

impl<T: Value> LiveShard<'_, T> {
    /// Updates every position of the shard in place.
    fn sweep(
        self,
        context: &Context<'_, T>,
        published: &[Array<T>],
        scratch: &mut Scratch<T>,
        simd: Simd,
    ) {
        let Self { shard, mut live } = self;
        let placed = Ranges { ranges: &shard.ranges, last: context.tiers.len() - 1 };
        for_each_pair_of_slabs(context, shard, &placed, |slabs, is_own_swap| {
            let live = &mut live;
            simd.run(SweepSlab { scratch, context, published, live, slabs, is_own_swap });
        });
    }
}

/// The tier of a step that comes first: the one with the most pieces left for the player who
/// just moved.
pub fn first_of_step(tier: Tier) -> Tier {
    if tier.just_moved >= tier.to_move { tier } else { tier.swap() }
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Encoding;
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;
    use crate::{
        context::Tables,
        convergence::{Convergence, Next},
    };

    /// The step {1, 1} of skiriuk, whose supersteps converge slowly.
    fn solve_skiriuk(iterate: impl Fn(&Context<'_, f64>, &mut StepState<f64>) + Sync) -> Vec<f64> {
        let overrides = Overrides { pieces: Some(1), ..Overrides::default() };
        let ruleset = Ruleset::builtin("skiriuk").unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let tables = Tables::new::<f64>(&encoding);
        let tier = Tier::new(1, 1);
        let context = Context::new(&encoding, &tables, tier, |_| unreachable!("a score wins"));
        let shards = encoding.shards(tier, 8);
        assert!(waves(&shards).len() > 2);
        let mut state = StepState::new(&context, shards);
        iterate(&context, &mut state);
        state.into_values()[0].values().to_vec()
    }

    fn iterate_plainly(context: &Context<'_, f64>, state: &mut StepState<f64>) {
        while state.superstep(context, Simd::best()) > 1e-15 {}
    }

    fn iterate(context: &Context<'_, f64>, state: &mut StepState<f64>) {
        let mut convergence = Convergence::new::<f64>(1e-13);
        loop {
            match convergence.after(state.superstep(context, Simd::best())) {
                Next::Sweep => {}
                Next::Extrapolate => state.extrapolate(),
                Next::Done => return,
            }
        }
    }

    #[test]
    fn extrapolation_needs_fewer_supersteps_for_the_same_values() {
        let supersteps = std::sync::atomic::AtomicUsize::new(0);
        let count = |state: &StepState<f64>| {
            supersteps.swap(state.supersteps, std::sync::atomic::Ordering::Relaxed)
        };
        let plain = solve_skiriuk(|context, state| {
            iterate_plainly(context, state);
            count(state);
        });
        let plain_supersteps = supersteps.load(std::sync::atomic::Ordering::Relaxed);
        let ours = solve_skiriuk(|context, state| {
            iterate(context, state);
            count(state);
        });
        let differences = plain.iter().zip(&ours).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) <= 2e-13);
        assert!(supersteps.into_inner() * 10 < plain_supersteps * 8);
    }

    #[test]
    fn threads_do_not_matter_to_an_extrapolated_step() {
        let bits = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let values = pool.install(|| solve_skiriuk(iterate));
            values.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = bits(1);
        assert!([2, 3, 7].into_iter().all(|threads| bits(threads) == one));
    }

    #[test]
    fn waves_are_all_shards_from_the_last_to_the_first() {
        let ruleset = Ruleset::builtin("finkel").unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        for limit in [10, 1000, 100_000, u64::MAX] {
            let shards = encoding.shards(Tier::new(3, 2), limit);
            let waves = waves(&shards);
            assert!(waves.len() as u64 <= MOST_WAVES);
            let order = waves.iter().flat_map(|wave| wave.clone().rev());
            assert!(order.eq((0..shards.len()).rev()), "{waves:?}");
        }
    }
}
