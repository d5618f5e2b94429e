//! What is to be done next for a step, decided without a value.

pub mod basis;
pub mod controller;
pub mod convergence;
pub mod correction;
pub mod goal;
pub mod order;
pub mod proof;
pub mod quanta;
pub mod settings;
pub mod statistics;
pub mod sums;
pub mod waves;
pub mod weights;
