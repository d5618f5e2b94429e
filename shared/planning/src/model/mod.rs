//! The model: what parallelism costs, and what it gives.
//!
//! A sweep is a list of waves, a wave a set of units of work. On P cores a wave takes the makespan of its units, which is
//! at least max(c_1, (c_1 + c_2 + ...) / P) for units that cost c_1 >= c_2 >= ...; then there is a barrier, between
//! machines with an exchange. So the time of a sweep has a lower bound that no number of cores changes, the sum of the
//! largest units of its waves (the span, after Brent 1974), and what is left to gain is in the units and the waves.
//!
//! Where units come from is of no interest to the time: units that nobody has built can be tried. With four equal units
//! in a wave four cores are four times as fast as one, and sixteen are no faster. Cut each in four:
//!
//! ```
//! use ziggurat_planning::model::{
//!     Costs, Kind, Team,
//!     time::{Unit, WaveOfUnits, sweep_seconds},
//! };
//!
//! let wave = |units, positions| WaveOfUnits {
//!     units: vec![Unit { positions, kind: Kind::Superstep, owner: 0 }; units],
//!     exchanged: Vec::new(),
//! };
//! let costs = Costs { barrier_seconds: 0.0, ..Costs::MEASURED };
//! let speed_up = |waves: &[WaveOfUnits], cores| {
//!     let seconds = |cores| sweep_seconds(waves, &Team::alone(cores), &costs, 0.0);
//!     (seconds(1) / seconds(cores)).round()
//! };
//! let today = vec![wave(4, 1_000_000); 8];
//! assert_eq!([4, 16].map(|cores| speed_up(&today, cores)), [4.0, 4.0]);
//! let finer = vec![wave(16, 250_000); 8];
//! assert_eq!([4, 16].map(|cores| speed_up(&finer, cores)), [4.0, 16.0]);
//! ```
//!
//! | module, highest first | knows |
//! | --- | --- |
//! | [`solve`] | a whole solve: its time, its exchange, the memory and disk of a member |
//! | [`units`] | the units there are today, on a team |
//! | [`readers`] | which units read a position, for a sample |
//! | [`time`] | the seconds of a sweep and of a checkpoint |
//! | [`costs`] | nanoseconds and bytes of a position, and how often it is swept |
//! | [`mod@makespan`] | largest first on equal cores |
//!
//! Cores are equal, and share no memory bandwidth; units cost what their positions cost.

pub mod costs;
pub mod makespan;
pub mod readers;
pub mod solve;
pub mod time;
pub mod units;

pub use costs::{Costs, Course, Kind};
pub use solve::{Prediction, SAMPLES, SolveModel};
pub use time::{Link, Team};
