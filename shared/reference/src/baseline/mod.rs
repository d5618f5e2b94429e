//! The rival in the benchmarks: in-place sweeps over a precomputed successor table.
//!
//! Moves are generated once, for every position and roll, and written down as indices of
//! values. A sweep then only streams through that table: it loads the values of the successors,
//! takes the best for every roll and adds up. All positions of a step are swept in place;
//! several threads take turns at chunks of the table and see each other's values as they come.
//!
//! There are two of it:
//!
//! * [`Design::Published`] is laid out like the fastest solver published: the values of the
//!   whole game in the order of the keys of the `.rgu` format, swept upwards, and a table that
//!   holds for every position and roll where its successors end, about 99 bytes per position.
//! * [`Design::Compact`] is what this idea becomes with a perfect ranking: the values of
//!   the step by themselves, swept downwards, pieces furthest along first, and a table of nothing
//!   but successors, about 60 bytes per position.
//!
//! In both, a value is the chance of the player to move *minus one half*, so that "one minus the
//! chance" is a change of sign: one exclusive-or with a bit of the table, and no branch. The won
//! position is a value like any other.

mod places;
mod table;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;

use thiserror::Error;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;

use places::Places;
use table::Chunk;

/// Positions per chunk of the table, the unit of work of a thread.
const CHUNK_POSITIONS: usize = 1 << 14;

/// How the table and the values are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// As the fastest solver published has them.
    Published,
    /// As tightly as a perfect ranking allows.
    Compact,
}

/// Why there is no successor table for a step: a successor has 30 bits for the place of a value.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "a game of {positions} positions has too many for a successor table of tier {tier}; \
     use fewer pieces"
)]
pub struct TooManyPositions {
    /// The tier asked for.
    pub tier: Tier,
    /// Undecided positions of the game.
    pub positions: u64,
}

/// The successor table of a step (a tier and its swap), and the values it works on.
pub struct Baseline<'a> {
    encoding: &'a Encoding,
    /// The tiers of the step: one, or two that are the swap of each other.
    step: Vec<Tier>,
    /// Where the value of a position is.
    places: Places,
    /// By place: the chance of the player to move, minus one half, as bits.
    values: Vec<AtomicU64>,
    /// The chance of every roll.
    chances: Vec<f64>,
    /// The table, in the order of a sweep.
    chunks: Vec<Chunk>,
}

impl<'a> Baseline<'a> {
    /// The table of the step of `tier`, with all its values at one half, built by `threads`
    /// threads. `lower` is the chance of the player to move in the positions of the tiers with
    /// one piece less that the step reads.
    ///
    /// # Errors
    /// If the table would refer to 2^30 values or more: all positions of the game, or for
    /// [`Design::Compact`] those of the step and of the tiers it reads.
    pub fn new(
        encoding: &'a Encoding,
        tier: Tier,
        design: Design,
        lower: impl Fn(&Position) -> f64,
        threads: usize,
    ) -> Result<Self, TooManyPositions> {
        let (step, reads): (Vec<_>, Vec<_>) = (tier.both().collect(), tier.reads().collect());
        let places = match design {
            Design::Published => Places::by_key(encoding),
            Design::Compact => Places::dense(encoding, step.iter().chain(&reads)),
        };
        let too_many = || TooManyPositions { tier, positions: encoding.undecided() };
        let places = places.ok_or_else(too_many)?;

        let half = || AtomicU64::new(0.0_f64.to_bits());
        let mut values: Vec<AtomicU64> = (0..=places.won()).map(|_| half()).collect();
        for index in reads.iter().flat_map(|&tier| indices(encoding, tier)) {
            let chance = lower(&encoding.unrank(index));
            values[places.place(index) as usize] = AtomicU64::new((chance - 0.5).to_bits());
        }
        values[places.won() as usize] = AtomicU64::new(0.5_f64.to_bits());

        let mut order: Vec<Index> = step.iter().flat_map(|&tier| indices(encoding, tier)).collect();
        match design {
            Design::Published => order.sort_unstable_by_key(|&index| places.place(index)),
            Design::Compact => order.reverse(),
        }
        let chunks: Vec<&[Index]> = order.chunks(CHUNK_POSITIONS).collect();
        let chunks =
            on_threads(threads, &chunks, |chunk| Chunk::new(encoding, &places, design, chunk));
        let chances = encoding.ruleset().dice().rolls().iter().map(|roll| roll.chance()).collect();
        Ok(Self { encoding, step, places, values, chances, chunks })
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
        self.step.iter().map(|&tier| self.encoding.tier_len(tier)).sum()
    }

    /// The size of the table in bytes, values not included.
    pub fn table_bytes(&self) -> u64 {
        self.chunks.iter().map(Chunk::bytes).sum()
    }

    /// The chance of the player to move in a position of the step; `None` for any other.
    ///
    /// # Panics
    /// As [`Encoding::rank`].
    pub fn value(&self, position: &Position) -> Option<f64> {
        let index = self.encoding.rank(position);
        self.step.contains(&index.tier).then(|| {
            let place = self.places.place(index);
            f64::from_bits(self.values[place as usize].load(Relaxed)) + 0.5
        })
    }
}

/// The indices of all positions of a tier.
fn indices(encoding: &Encoding, tier: Tier) -> impl Iterator<Item = Index> + use<> {
    (0..encoding.tier_len(tier)).map(move |offset| Index { tier, offset })
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
