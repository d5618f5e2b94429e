//! Tables: the solved values of one ruleset in a file.
//!
//! A `.zgt` table holds values only, in the order of the [encoding](ziggurat_encoding): a
//! position is looked up by ranking it. An `.rgu` file, the format of the existing libraries,
//! is read and written, too. [`AnyTable`] is either of them.
//!
//! | module | knows |
//! | --- | --- |
//! | `value` | value types: how a chance of winning is written |
//! | `frame` | frames: values packed, compressed and under a checksum |
//! | `layout` | the parts of a `.zgt` file around its frames |
//! | `writer`, `table` | writing and reading `.zgt` files |
//! | `unfinished` | `.zgt` files that are written by several processes, one after another |
//! | [`rgu`] | `.rgu` files |
//! | `any` | both formats behind one face |
//! | `parquet` | Parquet export |
//! | `diff` | how far two tables are apart |
//! | `verify`, `bellman` | whether values are those of optimal play |
//! | `rules` | whether two rulesets are the same game |
//! | `output` | files that are there completely or not at all |
//! | `progress` | how operations on long files tell how far they are |

mod any;
mod bellman;
mod diff;
mod error;
mod frame;
mod layout;
mod output;
mod parquet;
mod position;
mod progress;
pub mod rgu;
mod rules;
mod squares;
mod table;
mod unfinished;
mod value;
mod verify;
mod writer;

pub use any::{AnyTable, BATCH_POSITIONS};
pub use diff::{Diff, Differences, diff};
pub use error::TableError;
pub use frame::{Compression, FRAME_BYTES};
pub use layout::{FORMAT_VERSION, TierStatistics};
pub use output::{Existing, Interim, abandon_outputs, abandon_outputs_at_once, remove_leftovers};
pub use progress::{Tell, unheard};
pub use table::Table;
pub use unfinished::{TableIndex, UnfinishedTable};
pub use value::{UnknownValueType, ValueType, from_percent16, to_percent16};
pub use verify::{
    Identities, Values, Verification, verify, verify_bytes, verify_values, verify_values_bytes,
};
pub use writer::TableWriter;
