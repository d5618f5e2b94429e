//! What variables say of how to reach a bucket.

use std::fmt;

use url::Url;

use crate::CheckpointError;

/// What some variables set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(pub(crate) Vec<Setting>);

/// What one of them sets.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) variable: String,
    /// The option, under the library's name.
    pub(crate) option: String,
    pub(crate) value: String,
}

impl fmt::Debug for Setting {
    /// Without the value, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variable)
    }
}

impl Setting {
    /// What the library is to be given.
    pub(crate) fn pair(&self) -> (&str, &str) {
        (&self.option, &self.value)
    }
}

/// A server that is named.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Where that is said.
    pub(crate) variable: String,
    pub(crate) url: String,
}

impl Given {
    /// The value of an option, if a variable sets it.
    pub(crate) fn get(&self, option: &str) -> Option<&str> {
        self.setting(option).map(|setting| setting.value.as_str())
    }

    /// The variable that sets an option, if one does.
    pub(crate) fn variable(&self, option: &str) -> Option<&str> {
        self.setting(option).map(|setting| setting.variable.as_str())
    }

    /// The server that an option names, if it does.
    pub(crate) fn endpoint_in(&self, option: &str) -> Option<Endpoint> {
        let Setting { variable, value, .. } = self.setting(option)?;
        Some(Endpoint { variable: variable.clone(), url: value.clone() })
    }

    fn setting(&self, option: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.option == option)
    }
}

/// Whether a value is the URL of a server.
pub(crate) fn check_url(variable: &str, value: &str) -> Result<(), CheckpointError> {
    let such_as = "write a URL, such as https://s3.example.org:9000";
    let url = Url::parse(value).map_err(|error| wrong(variable, &format!("{error}; {such_as}")))?;
    if !["http", "https"].contains(&url.scheme()) || !value.contains("://") {
        return Err(wrong(
            variable,
            &format!("it does not begin with https:// or http://; {such_as}"),
        ));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    if !url.has_host() || !value.chars().all(is_plain) {
        return Err(wrong(
            variable,
            &format!("it has more than a server's name, port and path; {such_as}"),
        ));
    }
    Ok(())
}

/// A value that cannot be right.
pub(crate) fn wrong(variable: &str, problem: &str) -> CheckpointError {
    CheckpointError::Setting { variable: variable.to_owned(), problem: problem.to_owned() }
}
