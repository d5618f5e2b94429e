//! Where values are: in memory, or in files that are mapped within a budget.

pub mod array;
pub mod budget;
pub mod pool;
pub mod process;
