//! What a user sees: these tests start the real binary and look at what it prints, how it ends
//! and which files it leaves.

mod broken_connections;
mod cluster;
mod errors;
mod exact;
mod file_systems;
mod games;
mod interrupt;
mod limits;
mod published;
mod renewal;
mod resume;
mod rules;
mod same_bytes;
mod signals;
mod slow;
mod stores;
mod support;
mod tables;
mod terminal;
