//! The coordinator: who works on what.
//!
//! `machine` decides: a pure state machine, tested on its own. The rest carries out what it decided: records are
//! on disk before anybody is told anything, and what people and workers send comes in as events, one at a time.
//! Values never come here.
//!
//! | module | knows |
//! | --- | --- |
//! | `machine` | jobs, steps, attempts, checkpoints, workers: every decision |
//! | `service::actor` | the thread that owns the machine |
//! | `service::records` | what is written down, and reading it again |
//! | `service::migration` | records of the versions before |
//! | `service::control`, `service::jobs` | the two gRPC services |
//! | `service::convert`, `service::status` | the machine's words as messages |
//! | `service::planning` | cutting rulesets into steps and shards, off the async runtime |
//! | `service::metrics` | what is counted |
//! | `service::board` | what a page in the same process sees |
//! | `service::history` | what is written down of each job for people |

mod machine;
mod service;

pub use service::{
    Alone, Board, CoordinatorError, JobChange, MemoryAlone, Options, run, run_watched,
};
