//! `.rgu` files, the lookup tables of the existing Java and Python libraries.
//!
//! | module | knows |
//! | --- | --- |
//! | `settings` | which rulesets the format can express |
//! | `keys` | which positions are in a file, and where |
//! | `war`, `smaller` | the fields of a key, and how they are counted |
//! | `metadata` | what a file says about itself |
//! | `format` | how numbers are written |
//! | `readers` | which other programs read a file |
//! | `read`, `write` | files |

pub(crate) mod format;
mod keys;
mod metadata;
mod read;
mod readers;
mod settings;
mod smaller;
mod war;
mod write;

pub use keys::{KeyLayout, Keys, Run};
pub use metadata::Metadata;
pub use read::RguTable;
pub use readers::{Reader, readers, value_type_for_readers};
pub use settings::{GameSettings, NotExpressible, UnknownSetting};
pub use write::{export, export_bytes, export_file_bytes, write};
