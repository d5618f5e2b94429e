//! The room of the coordinator, which will accept jobs, plan steps and shards, assign shards to
//! workers and drive supersteps, as a pure state machine with the I/O around it. It will never
//! touch values.
//!
//! Nothing lives here yet: `ziggurat solve` does all of it in one process, see the crate
//! `ziggurat-kernel`.
