//! What differs between the clouds that have buckets: a table for each, in a module of its own. All else is the same.

mod amazon;
mod azure;
mod google;
mod table;

pub(crate) use amazon::AMAZON;
pub(crate) use azure::AZURE;
pub(crate) use google::GOOGLE;
pub(crate) use table::{Client, Cloud, is_of};

/// All of them.
pub(crate) const CLOUDS: [&Cloud; 3] = [&AMAZON, &GOOGLE, &AZURE];
