//! `.rgu` files, the lookup tables of the existing Java and Python libraries.
//!
//! | module | knows |
//! | --- | --- |
//! | `settings` | which rulesets the format can express |
//! | `keys` | which positions are in a file, and where |
//! | `war`, `smaller` | the fields of a key, and how they are counted |
//! | `metadata` | what a file says about itself |
//! | `format` | how numbers are written |
//! | `read`, `write` | files |

pub(crate) mod format;
mod keys;
mod metadata;
mod read;
mod settings;
mod smaller;
mod war;
mod write;

pub use keys::{Keys, Run};
pub use metadata::Metadata;
pub use read::RguTable;
pub use settings::{GameSettings, NotExpressible, UnknownSetting};
pub use write::{export, export_bytes, write};
