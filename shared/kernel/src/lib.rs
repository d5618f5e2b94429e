//! The block kernel and the solver around it: the chance that the player to move wins, for every position of a ruleset.
//!
//! The tiers (n, m) and (m, n) are a *step*, and read only the steps of the level below, so steps are solved from the end of
//! the game up. Within a step *supersteps* apply the equation of docs/ARCHITECTURE.md to all values until they hardly
//! change, and *interval sweeps* then prove how close they are to the true ones.
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
//! | modules | know |
//! | --- | --- |
//! | `settings`, `plan`, `solve` | what decides the bytes, the steps in their order, and solving them one after the other |
//! | `course`, `convergence`, `certificate` | what is to be done next for a step, when it is solved, and the proof |
//! | `work`, `step`, `waves`, `ranges` | doing it: the arrays of a step, and its shards in order |
//! | `team`, `member`, `reads` | sharing a step out |
//! | `sweep`, `gather`, `block`, `pass`, `turn`, `rows` | the kernel: from what other slabs offer to new values, outermost first |
//! | `dense` | the same where there are no private squares |
//! | `shortlist` | leaving out moves that cannot be best |
//! | `context`, `rules`, `occupancy`, `routes`, `lists`, `inner`, `slab`, `layout` | what moves do, worked out once for a ruleset or a slab |
//! | `accelerate`, `coarse` | fewer supersteps: extrapolation, and what all values together are short of |
//! | `vector`, `simd`, `value` | registers, instruction sets, and the types of values |
//! | `array`, `memory`, `scratch`, `kept` | where values are |
//! | `journal`, `halo`, `predict` | what is written down, and what members send each other |

mod certificate;
mod coarse;
mod delta;
mod halo;
mod memory;
mod moves;
mod planning;
mod shards;
mod simd;
mod solver;
mod superstep;
mod sweep;

pub use certificate::problem::Certified;
pub use halo::{
    places::Places,
    team::{Exchange, ExchangeError, HaloPart, PART_BYTES},
};
pub use memory::budget::{Memory, MemoryError, resident_bytes};
pub use moves::tables::Tables;
pub use planning::{
    controller::Course,
    correction::CorrectedFrom,
    goal::Goal,
    order::{Order, Outcome},
    proof::{Certificate, Growth, Proof, USELESS_BOUND},
    quanta::FINEST_UNITS,
    settings::{Precision, Settings, thread_count},
    statistics::TierStatistics,
    sums::{Asked, SAMPLE_UNITS, Sums},
    waves::{Wave, interval_waves, waves},
    weights::{DIFFERENCES, Multiples, POINTS, Products, VECTORS},
};
pub use shards::columns::{Column, Data, Part};
pub use simd::dispatch::{NoSuchSimd, Simd};
pub use solver::{
    certifier::Certifier,
    error::SolveError,
    ground::ResumeFrom,
    journal::{Found, Journal, JournalError},
    kept::Kept,
    member::{Assignment, Member, Sources, take_part},
    plan::{Plan, Step, plan, shards},
    solve::{Cancelled, Event, Summary, Surroundings, solve},
    timing::time_supersteps,
    values::TierValues,
};
