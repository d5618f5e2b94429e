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

mod accelerate;
mod array;
mod block;
mod certificate;
mod coarse;
mod context;
mod convergence;
mod course;
mod dense;
mod gather;
mod halo;
mod inner;
mod journal;
mod kept;
mod layout;
mod lists;
mod member;
mod memory;
mod occupancy;
mod pass;
mod plan;
mod predict;
mod ranges;
mod reads;
mod routes;
mod rows;
mod rules;
mod scratch;
mod settings;
mod shortlist;
mod simd;
mod slab;
mod solve;
mod step;
mod sweep;
mod team;
mod turn;
mod value;
mod vector;
mod waves;
mod work;

pub use accelerate::{DIFFERENCES, FINEST_UNITS, Multiples, POINTS, Products, VECTORS};
pub use certificate::{Certificate, Certified, Certifier, Growth, Proof, USELESS_BOUND};
pub use coarse::{Asked, CorrectedFrom, SAMPLE_UNITS, Sums};
pub use context::Tables;
pub use course::{Course, Goal, Order, Outcome};
pub use journal::{Column, Data, Found, Journal, JournalError, Part};
pub use kept::Kept;
pub use member::{Assignment, Member, Sources, take_part};
pub use memory::{Memory, MemoryError, resident_bytes};
pub use plan::{Plan, Step, plan, shards};
pub use reads::Places;
pub use settings::{Precision, Settings, thread_count};
pub use simd::{NoSuchSimd, Simd};
pub use solve::{
    Cancelled, Event, SolveError, Summary, Surroundings, TierStatistics, TierValues, solve,
    time_supersteps,
};
pub use team::{Exchange, ExchangeError, HaloPart, PART_BYTES};
pub use waves::{Wave, interval_waves, waves};
pub use work::ResumeFrom;
