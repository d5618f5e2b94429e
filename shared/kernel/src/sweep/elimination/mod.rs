//! Action elimination (J. MacQueen 1967): sweeps leave out moves that cannot be best.

pub mod format;
pub mod gather;
pub mod record;
pub mod validity;
