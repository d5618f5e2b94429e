//! Names that are not known, and the known one that was probably meant.

use thiserror::Error;

/// Somebody asked for a thing by a name that nothing has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("unknown {what} `{}`; {}", .name.escape_debug(), remedy(.name, .known))]
pub struct UnknownName {
    /// The kind of thing, such as "ruleset".
    pub what: &'static str,
    /// The name that was asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

impl UnknownName {
    /// Nothing of the kind `what` is called `name`; these names are `known`.
    pub fn new<S: Into<String>>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Self {
        Self { what, name: name.to_owned(), known: known.into_iter().map(Into::into).collect() }
    }

    /// The known name that was probably meant, if one is close.
    pub fn nearest(&self) -> Option<&str> {
        nearest(&self.name, &self.known)
    }
}

/// What to do about it: the nearest name where there is one, and all of them.
fn remedy(name: &str, known: &[String]) -> String {
    let all = known.join(", ");
    match nearest(name, known) {
        Some(meant) => format!("did you mean `{meant}`? There are: {all}"),
        None => format!("there are: {all}"),
    }
}

/// The known name with the fewest typing errors between it and `name`, at most one in three
/// letters.
pub(crate) fn nearest<'n, S: AsRef<str>>(name: &str, known: &'n [S]) -> Option<&'n str> {
    let name = name.to_lowercase();
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&name, known.as_ref()), known.as_ref()))
        .min_by_key(|(errors, _)| *errors)
        .filter(|(errors, known)| *errors <= known.len().div_ceil(3))
        .map(|(_, known)| known)
}
