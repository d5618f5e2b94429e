//! The metadata of an `.rgu` file: JSON, of which some programs repeat members.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::GameSettings;
use crate::ValueType;

/// The members of the metadata, in order, with all that are repeated.
#[derive(Clone, PartialEq, Debug)]
pub struct Metadata {
    members: Vec<(String, Value)>,
}

impl Metadata {
    /// The metadata of a file that this program writes.
    pub(super) fn new(settings: &GameSettings, value_type: ValueType) -> Self {
        let members = [
            ("value_type", value_type.name().into()),
            ("author", "Ziggurat".into()),
            ("game_settings", serde_json::json!(settings)),
        ];
        Self { members: members.map(|(name, value)| (name.to_owned(), value)).into() }
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

    /// Whether the file says that its values are of a type; several may be said.
    pub(super) fn says(&self, value_type: ValueType) -> bool {
        self.all("value_type").any(|said| said == value_type.name())
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
