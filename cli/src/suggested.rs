//! Arguments of which shells are told the usual texts, and which may be others.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use ziggurat_game::{Captures, Dice, Ruleset};
use ziggurat_kernel::Simd;
use ziggurat_table::ValueType;

/// Takes any text. What is wrong with one is said by those who read it, who know more about it than the parser of the
/// command line.
#[derive(Clone, Copy)]
pub struct Suggested(fn() -> Vec<&'static str>);

/// The built-in rulesets.
pub const RULESETS: Suggested = Suggested(|| Ruleset::builtin_names().collect());

/// The named dice.
pub const DICE: Suggested = Suggested(|| Dice::names().collect());

/// Yes and no.
pub const YES_OR_NO: Suggested = Suggested(|| vec!["yes", "no"]);

/// What may be captured.
pub const CAPTURES: Suggested = Suggested(|| Captures::ALL.map(Captures::name).into());

/// The types of stored values.
pub const VALUE_TYPES: Suggested = Suggested(|| vec!["percent16", "f32", "f64"]);

/// The vector instructions that there may be.
pub const SIMD: Suggested = Suggested(|| vec!["portable", "avx2", "avx512"]);

/// The parser of vector instructions by name.
pub fn simd() -> impl TypedValueParser<Value = Simd> {
    SIMD.try_map(|name| Simd::named(&name))
}

/// The parser of types of stored values.
pub fn value_type() -> impl TypedValueParser<Value = ValueType> {
    VALUE_TYPES.try_map(|name| name.parse())
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
