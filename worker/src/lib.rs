//! The room of the worker, which will keep shards of a tier in its memory or on its disk, sweep
//! them on a pool of threads and exchange halos with other workers.
//!
//! Nothing lives here yet: `ziggurat solve` does all of it in one process, see the crate
//! `ziggurat-kernel`.
