//! The block kernel and the solver around it: the chance that the player to move wins, for every position of a ruleset.
//!
//! The tiers (n, m) and (m, n) are a *step*, and read only the steps of the level below, so steps are solved from the
//! end of the game up. Within a step *supersteps* apply the equation of docs/ARCHITECTURE.md to all values until they
//! hardly change (value iteration of a stochastic game: Shapley 1953), and *interval sweeps* then prove how close they
//! are to the true ones.
//!
//! ```
//! use ziggurat_encoding::Encoding;
//! use ziggurat_game::{Overrides, Ruleset};
//! use ziggurat_kernel::{Cancelled, Precision, Settings, Surroundings, solve};
//!
//! let one_piece = Overrides { pieces: Some(1), ..Overrides::default() };
//! let finkel = Ruleset::builtin("finkel").unwrap().with(&one_piece).unwrap();
//! let encoding = Encoding::new(&finkel).unwrap();
//! let settings = Settings::new(Precision::F64);
//! let summary = solve(
//!     &encoding,
//!     &settings,
//!     Surroundings::in_memory(&Cancelled::default()),
//!     &mut |_event| {},
//!     &mut |_tier, _statistics, _values| Ok(()),
//! )
//! .unwrap();
//! assert!((summary.first_player_wins - 0.530_049_839_525).abs() < 1e-12);
//! ```
//!
//! The folders are layers, the highest first. Imports lead down, and to `ziggurat-planning`, which decides the next
//! order.
//!
//! | folder | knows |
//! | --- | --- |
//! | `solver` | the steps one after the other, alone or as a member of a team; carrying out orders, step store, memory plan |
//! | `superstep` | the state of a step: sweep the waves, publish, measure, extrapolate |
//! | `certificate` | the intervals of a proof, and their sweeps |
//! | `coarse` | fewer supersteps: a two-level correction of all values together, from a sample |
//! | `halo` | sharing a step out: the reads of members of a team of each other, their messages, the loop over waves |
//! | `sweep` | the Bellman operator on a pair of slabs: `pair`, then `gather`, `block`, `pass`, `transpose`, `rows`, outermost first; `elimination` leaves out moves that cannot be best; `successors` are tables of them, where slabs are dense |
//! | `delta` | quantised changes of values, and extrapolation from them |
//! | `shards` | the description of a step, and its arrays by shard |
//! | `moves` | the effects of moves, worked out once for a ruleset: `rules`, `routes`, `lists`, `layout` |
//! | `memory` | where values are |
//! | `simd` | registers, instruction sets, and the types of values |

mod certificate;
mod coarse;
mod delta;
#[cfg(test)]
mod fixtures;
mod halo;
mod memory;
mod moves;
mod shards;
mod simd;
mod solver;
mod superstep;
mod sweep;

pub use certificate::problem::Certified;
pub use halo::{
    partition::MemberIndex,
    parts::PART_BYTES,
    places::Places,
    team::{Exchange, ExchangeError, HaloPart, PARTS_AHEAD},
};
pub use memory::{
    budget::{Arrays, Memory, MemoryError, resident_bytes},
    process::{LEAST_MAPPED_BYTES, PROGRAM_MEMORY_BYTES, STORE_MEMORY_BYTES, base_memory_bytes},
};
pub use moves::tables::Tables;
pub use shards::columns::{Data, Part};
pub use simd::dispatch::{NoSuchSimd, Simd};
pub use solver::{
    cache::SolvedTierCache,
    certifier::Certifier,
    error::SolveError,
    inputs::ResumeFrom,
    member::{Assignment, Member, Share, Sources},
    plan::{Batch, Plan, SolveMemory, plan},
    solve::{Cancelled, Event, Summary, Surroundings, solve},
    step_store::{Found, StepStore, StepStoreError},
    timing::time_supersteps,
    values::TierValues,
};
pub use ziggurat_planning::{
    Certificate, Column, CorrectedFrom, CycleSlot, DIFFERENCES, GalerkinSystem, Goal, Growth,
    Multiples, Order, Outcome, POINTS, Precision, Products, Proof, QUANTUM_EXPONENTS,
    SAMPLE_QUANTA, Settings, ShardIndex, Step, StepController, TierStatistics, USELESS_BOUND, Unit,
    UnitIndex, VECTORS, Wave, shards, slow_rolls, thread_count, units, waves,
};
