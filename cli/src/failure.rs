//! How a command fails: what went wrong, what to do about it, and the exit code that tells a
//! script which kind of failure it was.

use std::{fmt::Display, io};

use rayon::ThreadPoolBuildError;
use ziggurat_encoding::EncodingError;
use ziggurat_files::Limit;
use ziggurat_game::{NotationError, RulesetError, RulesetFileError, UnknownName};
use ziggurat_table::TableError;

/// The remedy for threads that the system does not start.
pub const MORE_THREADS: &str = "raise that limit (ulimit -u, that of the control group, or memory for their stacks), or \
                                take fewer (--threads N)";

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

    /// What went wrong, with its causes.
    #[cfg(feature = "full")]
    pub fn message(&self) -> String {
        format!("{:#}", self.error)
    }

    /// Adds what to do about it.
    pub fn help(mut self, help: impl Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Adds what else to do about it.
    pub fn and_help(self, more: impl Display) -> Self {
        let help = self.help.as_ref().map_or_else(String::new, |help| format!("{help}; "));
        self.help(format!("{help}{more}"))
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
        let help = remedy(&error);
        Self { exit: exit_of(&error), error, help }
    }
}

/// What to do where there was no room left to write something, or the process may have no more of something.
fn remedy(error: &anyhow::Error) -> Option<String> {
    let causes: Vec<_> = error.chain().map(|cause| (cause, cause.to_string())).collect();
    let limit = causes.iter().find_map(|(cause, text)| {
        let of_system = cause.downcast_ref::<io::Error>().and_then(Limit::of);
        // Some libraries pass errors of the system on as text.
        of_system.or_else(|| Limit::in_text(text))
    });
    if let Some(limit) = limit {
        return Some(format!("{limit}; {}, then run it again", limit.remedy()));
    }
    if error.chain().any(|cause| cause.is::<ThreadPoolBuildError>()) {
        return Some(MORE_THREADS.to_owned());
    }
    let is_full = causes.iter().any(|(cause, text)| {
        let of_system = cause.downcast_ref::<io::Error>();
        of_system.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
            || text.contains("No space left on device")
    });
    is_full.then(|| "make room on the disk, then run it again".to_owned())
}

/// Whether an error of a library is about what the user typed, or what the machine has not.
fn exit_of(error: &anyhow::Error) -> Exit {
    if error.chain().any(|cause| cause.is::<ThreadPoolBuildError>()) {
        return Exit::Refused;
    }
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
            | TableError::ForeignGame { .. }
            | TableError::ForeignKeys { .. }
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
    fn a_limit_is_named_with_its_remedy_also_where_a_library_says_it_as_text() {
        let as_text = io::Error::other("External: File too large (os error 27)");
        for (error, part) in [
            (io::Error::from_raw_os_error(27), "file"),
            (as_text, "file"),
            (io::Error::from_raw_os_error(24), "(ulimit -n)"),
            (io::Error::from_raw_os_error(122), "quota"),
        ] {
            let failed: Result<(), Failure> = Err(error).context("cannot write x.zgt");
            let report = failed.unwrap_err().report();
            let help = report.split_once("\nhelp: ").expect(&report).1;
            assert!(help.contains(part) && help.ends_with(", then run it again"), "{report}");
        }
    }

    #[test]
    fn a_cause_that_is_quoted_already_is_not_repeated() {
        let inner: Result<(), _> = Err(anyhow::anyhow!("disk full"));
        let failure = inner.context("could not write: disk full").unwrap_err();
        assert_eq!(failure.report(), "error: could not write: disk full");
    }
}
