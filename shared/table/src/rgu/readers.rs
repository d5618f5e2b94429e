//! Which of the format's other readers read a file.
//!
//! [RoyalUr-Java](https://github.com/RoyalUr/RoyalUr-Java) reads whatever the format can express.
//! [RoyalUr-Python](https://github.com/RoyalUr/RoyalUr-Python) takes every value for two bytes, looks into the first map
//! only, and lays keys out for seven pieces on the path of `finkel`. It looks at nothing that a file says about itself, so
//! other files it does not refuse, but misreads.

use std::fmt;

use ziggurat_game::Ruleset;

use super::{GameSettings, NotExpressible, format::MAX_PIECES};
use crate::ValueType;

/// A library that reads `.rgu` files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// RoyalUr-Java.
    Java,
    /// RoyalUr-Python.
    Python,
}

/// Who reads the file of a ruleset with values of a type; the others misread it.
///
/// # Errors
/// If the format cannot express the ruleset.
pub fn readers(ruleset: &Ruleset, value_type: ValueType) -> Result<Vec<Reader>, NotExpressible> {
    let settings = GameSettings::of(ruleset)?;
    let has_its_keys = settings.paths == "bell" && settings.start_pieces == MAX_PIECES;
    let python = has_its_keys && value_type == ValueType::Percent16;
    Ok([Reader::Java].into_iter().chain(python.then_some(Reader::Python)).collect())
}

/// The type of values to write unless another is asked for: that of the source, or a narrower one if that lets another
/// reader read the file right. A wider one would have no more to say.
pub fn value_type_for_readers(ruleset: &Ruleset, own: ValueType) -> ValueType {
    let count = |value_type| readers(ruleset, value_type).map_or(0, |readers| readers.len());
    let more = |value_type: &ValueType| {
        value_type.bytes() < own.bytes() && count(*value_type) > count(own)
    };
    ValueType::ALL.into_iter().rev().find(more).unwrap_or(own)
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Java => "RoyalUr-Java",
            Self::Python => "RoyalUr-Python",
        })
    }
}
