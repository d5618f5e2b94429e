//! The parameters of a request: those that are known, each at most once.
//!
//! A plus sign is a plus sign, for positions have them; a blank is `%20`.

use std::collections::BTreeMap;

use url::form_urlencoded;

use crate::server::ApiError;

/// The parameters of a request.
#[derive(Debug)]
pub struct Query(BTreeMap<&'static str, String>);

impl Query {
    /// Reads the part of an address after its question mark.
    ///
    /// # Errors
    /// If a parameter is not one of the known ones, or comes twice.
    pub fn parse(text: Option<&str>, known: &[&'static str]) -> Result<Self, ApiError> {
        let text = text.unwrap_or_default().replace('+', "%2B");
        let mut found = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let shown = || name.escape_debug().to_string();
            let Some(known) = known.iter().find(|known| **known == name) else {
                let help = match known {
                    [] => "leave it out".to_owned(),
                    _ => format!("known are {}", known.join(", ")),
                };
                let problem = format!("there is no parameter `{}`", shown());
                return Err(ApiError::bad_request(problem).with("parameter", &*name).help(help));
            };
            if found.insert(*known, value.into_owned()).is_some() {
                let problem = format!("the parameter `{}` comes twice", shown());
                return Err(ApiError::bad_request(problem).with("parameter", &*name));
            }
        }
        Ok(Self(found))
    }

    /// What a parameter says, if it is there.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A number within a range, or one that is taken if the parameter is not there.
    ///
    /// # Errors
    /// If it is none.
    pub fn number(&self, name: &str, usual: usize, most: usize) -> Result<usize, ApiError> {
        let Some(text) = self.get(name) else { return Ok(usual) };
        text.parse().ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
            let problem = format!("`{}` is no number from 1 to {most}", text.escape_debug());
            ApiError::bad_request(problem).with("parameter", name)
        })
    }
}
