//! The published state of the art, as the baseline of benchmarks: in-place sweeps over a
//! precomputed successor table.
//!
//! Moves are generated once, for every position and roll, and written down as indices of
//! values. A sweep then only streams through that table: it loads the values of the successors,
//! takes the best for every roll and adds up. All positions of a step are swept in descending
//! order of their index, in place; several threads take turns at chunks of the table and see each
//! other's values as they come.
//!
//! What makes it fast:
//!
//! * A successor is one `u32`: an index, whether the turn passes, and whether it is the last
//!   one for its roll. The table has no other structure and is read strictly in order.
//! * Values are kept as the chance of the player to move *minus one half*, so that "one minus the
//!   chance" is a change of sign: one exclusive-or with a bit of the table, no branch.
//! * Positions of lower tiers and the won position are values like any others, so that
//!   successors need no cases.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;

use thiserror::Error;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::{Position, Ruleset};

/// Positions per chunk of the table, the unit of work of a thread.
const CHUNK_POSITIONS: u64 = 1 << 16;

/// Set in a successor after which the other player moves.
const TURN_PASSES: u32 = 1 << 31;
/// Set in the last successor of a roll.
const LAST: u32 = 1 << 30;
/// The bits of a successor that are an index.
const INDEX: u32 = LAST - 1;

/// Why there is no successor table for a step.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the step of tier {tier} reads {values} values, more than 30 bits count; use fewer pieces")]
pub struct TooManyValues {
    /// One of the tiers of the step.
    pub tier: Tier,
    /// Values of the step and of the tiers it reads.
    pub values: u64,
}

/// The successor table of a step (a tier and its swap), and the values it works on.
pub struct Baseline<'a> {
    encoding: &'a Encoding,
    layout: Layout,
    /// The chance of every roll.
    chances: Vec<f64>,
    /// By index in the layout: the chance of the player to move, minus one half, as bits.
    values: Vec<AtomicU64>,
    /// The table, in the order of a sweep.
    chunks: Vec<Chunk>,
}

impl<'a> Baseline<'a> {
    /// The table of the step of `tier`, with all its values at one half, built by `threads`
    /// threads. `lower` is the chance of the player to move in the positions of the tiers with
    /// one piece less that the step reads.
    ///
    /// # Errors
    /// If the step and the tiers it reads have more than 2^30 positions.
    pub fn new(
        encoding: &'a Encoding,
        tier: Tier,
        lower: impl Fn(&Position) -> f64,
        threads: usize,
    ) -> Result<Self, TooManyValues> {
        let layout = Layout::new(encoding, tier)?;
        let half = || AtomicU64::new(0.0_f64.to_bits());
        let mut values: Vec<AtomicU64> = (0..layout.step).map(|_| half()).collect();
        for &(tier, _) in &layout.tiers[layout.step_tiers..] {
            values.extend((0..encoding.tier_len(tier)).map(|offset| {
                let chance = lower(&encoding.unrank(Index { tier, offset }));
                AtomicU64::new((chance - 0.5).to_bits())
            }));
        }
        values.push(AtomicU64::new(0.5_f64.to_bits()));
        let chunks = (0..layout.step.div_ceil(CHUNK_POSITIONS)).rev().collect::<Vec<_>>();
        let chunks = on_threads(threads, &chunks, |&chunk| {
            let first = chunk * CHUNK_POSITIONS;
            Chunk::new(encoding, &layout, first, layout.step.min(first + CHUNK_POSITIONS))
        });
        let chances = encoding.ruleset().dice().rolls().iter().map(|roll| roll.chance()).collect();
        Ok(Self { encoding, layout, chances, values, chunks })
    }

    /// Updates every position of the step once, with `threads` threads; returns the largest
    /// change of any chance.
    pub fn sweep(&mut self, threads: usize) -> f64 {
        on_threads(threads, &self.chunks, |chunk| chunk.sweep(&self.chances, &self.values))
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// The number of positions of the step, all of which a sweep updates.
    pub fn positions(&self) -> u64 {
        self.layout.step
    }

    /// The size of the table and the values of the step, in bytes.
    pub fn bytes(&self) -> u64 {
        let table: usize = self.chunks.iter().map(|c| size_of_val(c.successors.as_slice())).sum();
        table as u64 + self.layout.step * size_of::<f64>() as u64
    }

    /// The chance of the player to move in a position of the step or of a tier it reads; `None`
    /// for any other.
    ///
    /// # Panics
    /// As [`Encoding::rank`].
    pub fn value(&self, position: &Position) -> Option<f64> {
        let at = self.layout.index(self.encoding.rank(position))?;
        Some(f64::from_bits(self.values[at as usize].load(Relaxed)) + 0.5)
    }
}

/// Where the values of the tiers are: those of the step, those it reads, and the won position.
struct Layout {
    /// The tiers, those of the step first, and where their values begin.
    tiers: Vec<(Tier, u64)>,
    /// The number of tiers of the step: 1 or 2.
    step_tiers: usize,
    /// The number of positions of the step.
    step: u64,
    /// The index of the won position, behind all others.
    won: u32,
}

impl Layout {
    fn new(encoding: &Encoding, tier: Tier) -> Result<Self, TooManyValues> {
        let Tier { just_moved: n, to_move: m } = tier;
        // A player who scores has one piece less left, and has just moved.
        let mut step = vec![tier, tier.swap()];
        let mut lower = vec![Tier::new(n - 1, m), Tier::new(m - 1, n)];
        step.dedup();
        lower.dedup();
        let undecided = |tier: &Tier| tier.just_moved > 0;
        let mut end = 0;
        let mut tiers = Vec::new();
        for &tier in step.iter().chain(lower.iter().filter(|tier| undecided(tier))) {
            tiers.push((tier, end));
            end += encoding.tier_len(tier);
        }
        let step_positions = step.iter().map(|&tier| encoding.tier_len(tier)).sum();
        let too_many = TooManyValues { tier, values: end };
        let won = u32::try_from(end).ok().filter(|&won| won <= INDEX).ok_or(too_many)?;
        Ok(Self { tiers, step_tiers: step.len(), step: step_positions, won })
    }

    /// The place of a stored position among the values, if its tier is there.
    fn index(&self, index: Index) -> Option<u32> {
        let (_, begin) = self.tiers.iter().find(|(tier, _)| *tier == index.tier)?;
        Some((begin + index.offset) as u32)
    }

    /// The position of the step at a place among the values.
    fn position(&self, encoding: &Encoding, at: u64) -> Position {
        let step = &self.tiers[..self.step_tiers];
        let (tier, begin) = *step.iter().rfind(|&&(_, begin)| begin <= at).expect("0 is a begin");
        encoding.unrank(Index { tier, offset: at - begin })
    }
}

/// The successors of consecutive positions.
struct Chunk {
    /// The positions: from the first to before the last of these places among the values.
    first: u64,
    end: u64,
    /// The successors of the last position first; of each, roll after roll.
    successors: Vec<u32>,
}

impl Chunk {
    fn new(encoding: &Encoding, layout: &Layout, first: u64, end: u64) -> Self {
        let mut successors = Vec::new();
        for at in (first..end).rev() {
            append_successors(encoding, layout, layout.position(encoding, at), &mut successors);
        }
        successors.shrink_to_fit();
        Self { first, end, successors }
    }

    fn sweep(&self, chances: &[f64], values: &[AtomicU64]) -> f64 {
        let mut residual = 0.0_f64;
        let mut successors = self.successors.iter();
        for value in values[self.first as usize..self.end as usize].iter().rev() {
            let mut sum = 0.0;
            for chance in chances {
                let mut best = f64::NEG_INFINITY;
                for &successor in successors.by_ref() {
                    let bits = values[(successor & INDEX) as usize].load(Relaxed);
                    let sign = u64::from(successor & TURN_PASSES) << 32;
                    let found = f64::from_bits(bits ^ sign);
                    best = if found > best { found } else { best };
                    if successor & LAST != 0 {
                        break;
                    }
                }
                sum += chance * best;
            }
            let old = f64::from_bits(value.load(Relaxed));
            value.store(sum.to_bits(), Relaxed);
            residual = residual.max((sum - old).abs());
        }
        residual
    }
}

/// Appends the successors of a position, for one roll after the other.
fn append_successors(
    encoding: &Encoding,
    layout: &Layout,
    position: Position,
    successors: &mut Vec<u32>,
) {
    let ruleset: &Ruleset = encoding.ruleset();
    let find = |position: &Position| {
        layout.index(encoding.rank(position)).expect("moves stay in the step or score a piece")
    };
    for roll in ruleset.dice().rolls() {
        let before = successors.len();
        successors.extend(ruleset.moves(&position, roll.value).map(|mv| {
            let outcome = ruleset.apply(&position, mv);
            match (outcome.won, outcome.rolls_again) {
                (true, _) => layout.won,
                (_, true) => find(&outcome.position),
                (_, false) => find(&outcome.position.swap()) | TURN_PASSES,
            }
        }));
        if successors.len() == before {
            successors.push(find(&position.swap()) | TURN_PASSES);
        }
        *successors.last_mut().expect("at least the pass was appended") |= LAST;
    }
}

/// What `work` makes of every item, in the order of the items. The threads take the items in
/// that order, each the next one when it has finished one.
fn on_threads<I: Sync, O: Send>(
    threads: usize,
    items: &[I],
    work: impl Fn(&I) -> O + Sync,
) -> Vec<O> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().expect("a thread of the baseline does not panic"));
        }
        done
    });
    done.sort_unstable_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, output)| output).collect()
}
