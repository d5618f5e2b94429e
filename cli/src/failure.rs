//! How a command fails: what went wrong, what to do about it, and the exit code that tells a
//! script which kind of failure it was.

use std::{fmt::Display, io};

use ziggurat_encoding::EncodingError;
use ziggurat_game::{NotationError, RulesetError, RulesetFileError, UnknownName};
use ziggurat_table::TableError;

/// What the process says to its parent when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Success = 0,
    /// The work failed, a verification failed, or a comparison found a difference.
    Failed = 1,
    /// The command line or a file named on it is not right.
    BadInput = 2,
    /// There is not enough memory or disk.
    Refused = 3,
    /// The user stopped it.
    Interrupted = 130,
}

/// A failed command: an error, the remedy if there is one, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    error: anyhow::Error,
    help: Option<String>,
}

impl Failure {
    /// A failure that is put right by typing something else.
    pub fn bad_input(message: impl Display) -> Self {
        Self::of(Exit::BadInput, message)
    }

    /// Work that was not begun for lack of memory or disk.
    pub fn refused(message: impl Display) -> Self {
        Self::of(Exit::Refused, message)
    }

    /// A failure with an exit code of its own.
    pub fn of(exit: Exit, message: impl Display) -> Self {
        Self { exit, error: anyhow::anyhow!("{message}"), help: None }
    }

    /// Adds what to do about it.
    pub fn help(mut self, help: impl Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// What the user reads: `error: ...`, causes in line, and `help: ...` where there is any.
    pub fn report(&self) -> String {
        let mut chain = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            // Some errors already quote their cause.
            if !chain.contains(&cause) {
                chain = if chain.is_empty() { cause } else { format!("{chain}: {cause}") };
            }
        }
        match &self.help {
            Some(help) => format!("error: {chain}\nhelp: {help}"),
            None => format!("error: {chain}"),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let help =
            is_of_full_disk(&error).then(|| "make room on the disk, then run it again".to_owned());
        Self { exit: exit_of(&error), error, help }
    }
}

/// Whether there was no room left to write something.
fn is_of_full_disk(error: &anyhow::Error) -> bool {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    let errors = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.map(io::Error::kind).any(|kind| full.contains(&kind))
}

/// Whether an error of a library is about what the user typed.
fn exit_of(error: &anyhow::Error) -> Exit {
    let typed = error.is::<EncodingError>()
        || error.is::<NotationError>()
        || error.is::<RulesetError>()
        || error.is::<RulesetFileError>()
        || error.is::<UnknownName>();
    match error.downcast_ref::<TableError>() {
        Some(TableError::Io { action: "open" | "create", .. }) => Exit::BadInput,
        Some(
            TableError::Exists { .. }
            | TableError::IsADirectory { .. }
            | TableError::NotAFile { .. }
            | TableError::NotATable { .. }
            | TableError::Encoding(_)
            | TableError::NotExpressible(_)
            | TableError::NotAPosition { .. }
            | TableError::DifferentRulesets { .. },
        ) => Exit::BadInput,
        None if typed => Exit::BadInput,
        _ => Exit::Failed,
    }
}

/// Turns the errors of libraries into failures with a remedy.
pub trait Explain<T> {
    /// Says what was being done.
    fn context(self, doing: impl Display) -> Result<T, Failure>;

    /// Blames what the user typed.
    fn or_bad_input(self) -> Result<T, Failure>;

    /// Adds what to do about it.
    fn or_help(self, help: impl Display) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Explain<T> for Result<T, E> {
    fn context(self, doing: impl Display) -> Result<T, Failure> {
        self.map_err(|error| {
            let failure: Failure = error.into();
            Failure { error: failure.error.context(doing.to_string()), ..failure }
        })
    }

    fn or_bad_input(self) -> Result<T, Failure> {
        self.map_err(|error| Failure { exit: Exit::BadInput, ..error.into() })
    }

    fn or_help(self, help: impl Display) -> Result<T, Failure> {
        self.map_err(|error| error.into().help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_causes_in_line_and_the_remedy_below() {
        let failed: Result<(), _> = std::fs::read("/no/such/file").map(drop);
        let failure = failed.context("cannot read x").or_bad_input().or_help("try y").unwrap_err();
        assert_eq!(failure.exit, Exit::BadInput);
        assert_eq!(
            failure.report(),
            "error: cannot read x: No such file or directory (os error 2)\nhelp: try y"
        );
    }

    #[test]
    fn a_full_disk_has_a_remedy() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let failed: Result<(), Failure> = Err(full).context("cannot write x.rgu");
        let report = failed.unwrap_err().report();
        assert!(report.ends_with("help: make room on the disk, then run it again"), "{report}");
    }

    #[test]
    fn a_cause_that_is_quoted_already_is_not_repeated() {
        let inner: Result<(), _> = Err(anyhow::anyhow!("disk full"));
        let failure = inner.context("could not write: disk full").unwrap_err();
        assert_eq!(failure.report(), "error: could not write: disk full");
    }
}
