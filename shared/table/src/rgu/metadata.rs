//! The metadata of an `.rgu` file: JSON, of which some programs repeat members.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::GameSettings;
use crate::ValueType;

/// The member that states the residual, in percent.
const RESIDUAL: &str = "training-precision";
const PERCENT: f64 = 100.0;

/// The members of the metadata, in order, with all that are repeated.
#[derive(Clone, PartialEq, Debug)]
pub struct Metadata {
    members: Vec<(String, Value)>,
}

impl Metadata {
    /// The metadata of a file that this program writes; `residual` is a probability, if known.
    pub(super) fn new(
        settings: &GameSettings,
        value_type: ValueType,
        residual: Option<f64>,
    ) -> Self {
        let mut metadata = Self { members: Vec::new() };
        let mut say = |name: &str, value| metadata.members.push((name.to_owned(), value));
        say("value_type", value_type.name().into());
        say("author", "Ziggurat".into());
        if let Some(residual) = residual {
            say(RESIDUAL, (residual * PERCENT).into());
        }
        say("game_settings", serde_json::json!(settings));
        metadata
    }

    /// The residual that the file states, as a probability.
    pub(super) fn residual(&self) -> Option<f64> {
        let percent = self.all(RESIDUAL).last()?.as_f64()?;
        Some(percent / PERCENT)
    }

    /// The members with their names, in the order of the file.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The values of all members of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.members().filter(move |(known, _)| *known == name).map(|(_, value)| value)
    }

    /// What the file says about the game.
    ///
    /// # Errors
    /// If there is no such member or it is not complete.
    pub(super) fn settings(&self) -> serde_json::Result<GameSettings> {
        let settings = self.all("game_settings").last().unwrap_or(&Value::Null);
        GameSettings::deserialize(settings)
    }

    /// Whether the file says that its values are of a type. Several may be said; in a file that says none, as those of
    /// early 2024, they are `percent16`.
    pub(super) fn says(&self, value_type: ValueType) -> bool {
        let mut said = self.all("value_type").filter(|said| !said.is_null()).peekable();
        if said.peek().is_none() {
            return value_type == ValueType::Percent16;
        }
        let is_it = |name: &str| name.eq_ignore_ascii_case(value_type.name());
        said.filter_map(Value::as_str).any(is_it)
    }

    pub(super) fn to_json(&self) -> String {
        let members = self.members().map(|(name, value)| format!("{}:{value}", Value::from(name)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Metadata { members })
            }
        }

        from.deserialize_map(Members)
    }
}
