//! What the commands for clusters share: how they reach a coordinator, and what they show of its jobs.
//!
//! | module | knows |
//! | --- | --- |
//! | `flags` | the options that name a coordinator and say who may speak to whom |
//! | `config` | options of coordinator and worker from a file |
//! | `client` | asking the coordinator, and what its refusals mean to a user |
//! | `one_job` | what the commands that change one job share |
//! | `feed` | the states of a job as they come, through losses of the connection |
//! | `following` | a job as it was seen so far, with its forecast |
//! | `words` | jobs, steps and workers as text and JSON |
//! | `lines` | following a job without a terminal |
//! | `screen` | following a job on a terminal |
//! | `download` | the values of a solved job, from its workers into a file |
//! | `server` | what the commands that listen have in common |

pub mod client;
pub mod config;
pub mod download;
#[cfg(test)]
pub mod fake;
pub mod feed;
pub mod flags;
pub mod following;
pub mod lines;
pub mod one_job;
pub mod screen;
pub mod server;
pub mod words;
