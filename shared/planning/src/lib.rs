//! The plan of a solve: settings, goals, and the next order of a step, decided without a value.
//!
//! A step is the two tiers (n, m) and (m, n), which are solved together. Its [controller](StepController) gives an
//! [`Order`] at a time, somebody carries it out, here or on many machines, and reports to the controller its
//! [`Outcome`]: a few numbers. The controller is a pure state machine. Written down, it is all that is needed beside
//! the values to go on later.
//!
//! A step from its start to its proof, with outcomes that are made up:
//!
//! ```
//! use ziggurat_encoding::{Encoding, Tier};
//! use ziggurat_game::{Overrides, Ruleset};
//! use ziggurat_planning::{
//!     StepController, Goal, Growth, Order, Outcome, POINTS, Precision, Products, Settings,
//! };
//!
//! let one_piece = Overrides { pieces: Some(1), ..Overrides::default() };
//! let finkel = Ruleset::builtin("finkel").unwrap().with(&one_piece).unwrap();
//! let encoding = Encoding::new(&finkel).unwrap();
//! // Values in f64, proven to 1e-12. The step reads no other tier, so the bound of its inputs is 0.
//! let settings = Settings::new(Precision::F64);
//! let mut step = StepController::new(Goal::new(&encoding, &settings, Tier::new(1, 1), 0.0));
//!
//! let (mut residual, mut given) = (0.25, Vec::new());
//! while let Some(order) = step.order() {
//!     let (name, outcome) = match order {
//!         // A superstep applies the Bellman operator to all values: the largest change shrinks to a third.
//!         Order::Sweep { .. } => {
//!             residual /= 3.0;
//!             ("sweep", Outcome::Swept(residual))
//!         }
//!         // After four supersteps, inner products of their changes say how to extrapolate.
//!         Order::Measure => {
//!             let mut products = Products::default();
//!             (0..POINTS).for_each(|i| products[i][i] = 1.0);
//!             ("measure", Outcome::Measured(vec![(0, products)]))
//!         }
//!         Order::Extrapolate { .. } => ("extrapolate", Outcome::Done),
//!         // The digits that f32 has are found in f32.
//!         Order::Widen => ("widen", Outcome::Done),
//!         // Intervals around all values are swept. Those that do not grow hold the true values.
//!         Order::Prove(proof) => {
//!             ("prove", Outcome::Proved(Growth { largest: proof.start(), grew: false }))
//!         }
//!         // Only large steps have their values corrected by a sample's equations.
//!         Order::Sample { .. } | Order::Correct { .. } => unreachable!("this step is small"),
//!     };
//!     given.push(name);
//!     step.apply(outcome);
//! }
//! given.dedup();
//! assert_eq!(given[..3], ["sweep", "measure", "extrapolate"]);
//! assert!(given.contains(&"widen"));
//! assert_eq!(given[given.len() - 2..], ["sweep", "prove"]);
//! let proven = step.statistics().certificate.unwrap();
//! assert!(proven.bound <= 1e-12 && proven.sweeps == 1);
//! ```
//!
//! | modules, highest first | know |
//! | --- | --- |
//! | [`controller`] | the next order of a step, and how an outcome changes it |
//! | [`goal`], [`order`] | the bound that a step is solved to; the orders there are, and their outcomes |
//! | [`convergence`], [`proof`] | when supersteps have done enough; when intervals prove a bound |
//! | [`correction`], [`galerkin`], [`basis`] | when values are corrected, by which functions, and the equations for their multiples |
//! | [`weights`], [`quanta`] | reduced rank extrapolation from inner products; the powers of two that changes are encoded in |
//! | [`mod@steps`], [`mod@waves`], [`columns`] | steps, their shards, the order in which these are swept, and the arrays they have |
//! | [`placement`], [`model`] | who sweeps which shards; what that takes, on how many cores and machines |
//! | [`settings`], [`statistics`] | the inputs that decide the bytes of a result; how it came about |

pub mod basis;
pub mod columns;
pub mod controller;
pub mod convergence;
pub mod correction;
pub mod galerkin;
pub mod goal;
pub mod model;
pub mod order;
pub mod placement;
pub mod proof;
pub mod quanta;
pub mod settings;
pub mod statistics;
pub mod steps;
pub mod waves;
pub mod weights;

pub use columns::Column;
pub use controller::StepController;
pub use correction::CorrectedFrom;
pub use galerkin::{GalerkinSystem, SAMPLE_QUANTA};
pub use goal::{Goal, slow_rolls};
pub use order::{Order, Outcome};
pub use proof::{Certificate, Growth, Proof, USELESS_BOUND};
pub use quanta::QUANTUM_EXPONENTS;
pub use settings::{Precision, Settings, thread_count};
pub use statistics::TierStatistics;
pub use steps::{MOST_SHARDS, Step, shards, steps};
pub use waves::{ShardIndex, Unit, UnitIndex, Wave, units, waves};
pub use weights::{CycleSlot, DIFFERENCES, Multiples, POINTS, Products, VECTORS};
