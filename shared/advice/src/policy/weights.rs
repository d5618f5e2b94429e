//! Policies from files: weights of features.
//!
//! ```toml
//! name = "careful"                  # the file's name without .toml if left out
//!
//! [weights]
//! advancement = 1.0
//! exposure = -0.5
//! ```

use std::{fs, io, path::Path};

use thiserror::Error;
use toml::{Table, Value};
use ziggurat_game::{Move, Outcome, Ruleset, UnknownName};

use super::features::{FEATURES, Feature};

/// Weights of features of the position after a move.
#[derive(Clone, Debug)]
pub struct Weights {
    name: String,
    weights: Vec<(Feature, f64)>,
}

impl PartialEq for Weights {
    fn eq(&self, other: &Self) -> bool {
        let named = |it: &Self| -> Vec<(&'static str, f64)> {
            it.weights.iter().map(|((name, _), weight)| (*name, *weight)).collect()
        };
        self.name == other.name && named(self) == named(other)
    }
}

/// What is wrong with a file of a policy.
#[derive(Debug, Error)]
pub enum PolicyFileError {
    /// It cannot be read.
    #[error("cannot read {file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// It is no TOML.
    #[error(
        "{file}: {message}; a policy is a TOML file with weights of features, such as [weights] and exposure = -0.5"
    )]
    Toml {
        /// The file.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// A key that there is not.
    #[error("{file}: {unknown}")]
    Unknown {
        /// The file.
        file: String,
        /// The key, and which there are.
        unknown: UnknownName,
    },
    /// A value that is none for its key.
    #[error("{file}: `{key}` is not {wanted}")]
    Value {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// What would be right.
        wanted: &'static str,
    },
}

impl Weights {
    /// The names of all features.
    pub fn features() -> impl Iterator<Item = &'static str> {
        FEATURES.into_iter().map(|(name, _)| name)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no policy.
    pub fn read(path: &Path) -> Result<Self, PolicyFileError> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|source| PolicyFileError::Io { file: file.clone(), source })?;
        let stem = path.file_stem().map_or_else(|| file.clone(), |it| it.to_string_lossy().into());
        Self::from_toml(&text, &file, &stem)
    }

    /// The policy of a text. `file` is how errors call it, `name` how the policy is called unless the text names it.
    ///
    /// # Errors
    /// If it is no policy.
    pub fn from_toml(text: &str, file: &str, name: &str) -> Result<Self, PolicyFileError> {
        let file = file.to_owned();
        let bad = |key: &str, wanted| PolicyFileError::Value {
            file: file.clone(),
            key: key.to_owned(),
            wanted,
        };
        let unknown = |what, name: &str, known: &[&str]| PolicyFileError::Unknown {
            file: file.clone(),
            unknown: UnknownName::new(what, name, known.iter().copied()),
        };
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let message = error.message().to_owned();
            PolicyFileError::Toml { file: file.clone(), message }
        })?;
        let mut this = Self { name: name.to_owned(), weights: Vec::new() };
        for (key, value) in &table {
            match (key.as_str(), value) {
                ("name", Value::String(name)) => this.name.clone_from(name),
                ("name", _) => return Err(bad(key, "a text")),
                ("weights", Value::Table(weights)) => {
                    for (key, value) in weights {
                        let feature = FEATURES.into_iter().find(|(name, _)| name == key);
                        let known = FEATURES.map(|(name, _)| name);
                        let feature = feature.ok_or_else(|| unknown("feature", key, &known))?;
                        let weight = match value {
                            Value::Float(weight) => *weight,
                            Value::Integer(weight) => *weight as f64,
                            _ => f64::NAN,
                        };
                        if !weight.is_finite() {
                            return Err(bad(key, "a number"));
                        }
                        this.weights.push((feature, weight));
                    }
                }
                ("weights", _) => return Err(bad(key, "a table of features with their weights")),
                _ => return Err(unknown("key", key, &["name", "weights"])),
            }
        }
        if this.weights.is_empty() {
            return Err(bad(
                "weights",
                "there, so that there is nothing to choose by; write [weights] and a line such as advancement = 1",
            ));
        }
        Ok(this)
    }

    /// How the policy is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The weighted sum after a move.
    pub(super) fn score(&self, ruleset: &Ruleset, mv: Move, outcome: &Outcome) -> f64 {
        let weighted =
            self.weights.iter().map(|((_, of), weight)| weight * of(ruleset, mv, outcome));
        weighted.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Weights::from_toml(text, "mine.toml", "mine").unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_in_a_file_is_named_with_what_would_be_right() {
        for (text, said) in [
            ("weights = 1", "mine.toml: `weights` is not a table of features"),
            ("", "mine.toml: `weights` is not there"),
            ("[weights]\nexposed = 1", "mine.toml: unknown feature `exposed`"),
            ("[weights]\nexposure = \"much\"", "mine.toml: `exposure` is not a number"),
            ("[weights]\nexposure = inf", "mine.toml: `exposure` is not a number"),
            ("weight = 1", "mine.toml: unknown key `weight`"),
            ("[weights", "mine.toml: "),
        ] {
            let message = refused(text);
            assert!(message.starts_with(said), "{text}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_file_says_its_name_or_has_that_of_the_file() {
        let named = |text| Weights::from_toml(text, "mine.toml", "mine").unwrap().name().to_owned();
        assert_eq!(named("[weights]\nscored = 1"), "mine");
        assert_eq!(named("name = \"eager\"\n[weights]\nscored = 1"), "eager");
    }
}
