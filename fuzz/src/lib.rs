//! What the fuzz targets call: the same as the tests of `shared/rpc`.

#[path = "../../shared/rpc/tests/common/everything.rs"]
mod everything;

pub use everything::*;
