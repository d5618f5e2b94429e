//! What a user sees: these tests start the real binary and look at what it prints, how it ends
//! and which files it leaves. Modules about stores, clusters, or both kinds of commands are left out of the tests of a lean
//! program.

mod analyse;
#[cfg(feature = "full")]
mod broken_connections;
#[cfg(feature = "full")]
mod cluster;
#[cfg(feature = "full")]
mod config;
#[cfg(feature = "full")]
mod dashboard;
#[cfg(feature = "full")]
mod errors;
mod exact;
#[cfg(feature = "full")]
mod fences;
#[cfg(feature = "full")]
mod file_systems;
mod games;
#[cfg(feature = "full")]
mod growing_table;
mod interrupt;
#[cfg(feature = "full")]
mod jobs;
#[cfg(feature = "full")]
mod launcher;
mod lean;
#[cfg(feature = "full")]
mod liars;
#[cfg(feature = "full")]
mod limits;
#[cfg(feature = "full")]
mod losses;
#[cfg(feature = "full")]
mod names;
#[cfg(feature = "full")]
mod published;
#[cfg(feature = "full")]
mod remedies;
#[cfg(feature = "full")]
mod renewal;
#[cfg(feature = "full")]
mod resume;
mod rules;
mod same_bytes;
#[cfg(feature = "full")]
mod schedules;
#[cfg(feature = "full")]
mod signals;
#[cfg(feature = "full")]
mod slow;
#[cfg(feature = "full")]
mod starving;
#[cfg(feature = "full")]
mod stores;
#[cfg(feature = "full")]
mod storing;
#[cfg(feature = "full")]
mod strangers;
#[cfg_attr(not(feature = "full"), allow(dead_code))]
mod support;
mod tables;
#[cfg(feature = "full")]
mod terminal;
#[cfg(feature = "full")]
mod watched;
#[cfg(feature = "full")]
mod web;
