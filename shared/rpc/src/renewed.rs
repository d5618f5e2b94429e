//! Objects that are made of files, and made anew when the files change.
//!
//! Files are written one after the other, and in pieces; a volume of secrets is exchanged by turning a link. So what is new
//! counts once it was found twice alike, and only if it can be used: until then the old one stays.

use std::{
    fmt, fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::SystemTime,
};

use crate::RpcError;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is made of files.
pub(crate) trait OfFiles: Sized {
    /// Makes it of what the files hold.
    fn make(files: &[PathBuf], contents: &[Vec<u8>]) -> Result<Self, RpcError>;

    /// Whether it can be used now; if not, why.
    fn check(&self, now: SystemTime) -> Result<(), RpcError>;
}

/// What is made of files, as they are now.
pub(crate) struct Renewed<T> {
    files: Vec<PathBuf>,
    now: RwLock<Arc<T>>,
    seen: Mutex<Seen>,
}

/// What was found in the files.
#[derive(Default)]
struct Seen {
    hasher: RandomState,
    /// A hash of what is in use, and of what was found last, or nothing if they could not be read.
    used: u64,
    last: Option<u64>,
    /// What was wrong with them last, and whether that was told.
    problem: Option<(String, bool)>,
}

/// What a look at the files showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// Nothing new.
    Same,
    /// What is new is in use.
    Renewed,
    /// What is new cannot be used.
    Unusable(String),
}

impl<T: OfFiles> Renewed<T> {
    pub(crate) fn load(files: &[&Path]) -> Result<Self, RpcError> {
        let files: Vec<PathBuf> = files.iter().map(|&file| file.to_owned()).collect();
        let contents = read(&files)?;
        let made = T::make(&files, &contents)?;
        let hasher = RandomState::new();
        let used = hasher.hash_one(&contents);
        let seen = Seen { hasher, used, last: Some(used), problem: None };
        Ok(Self { files, now: RwLock::new(Arc::new(made)), seen: Mutex::new(seen) })
    }

    pub(crate) fn now(&self) -> Arc<T> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Looks at the files, and takes up what is new.
    pub(crate) fn look(&self) -> Look {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read(&self.files).map(|contents| (seen.hasher.hash_one(&contents), contents));
        let result = match found {
            Err(error) => {
                seen.last = None;
                Err(error)
            }
            Ok((hash, _)) if hash == seen.used => {
                (seen.last, seen.problem) = (Some(hash), None);
                return Look::Same;
            }
            // Somebody may still be writing.
            Ok((hash, _)) if seen.last.replace(hash) != Some(hash) => {
                seen.problem = None;
                return Look::Same;
            }
            Ok((hash, contents)) => T::make(&self.files, &contents)
                .and_then(|made| made.check(SystemTime::now()).map(|()| (hash, made))),
        };
        match result {
            Ok((hash, made)) => {
                (seen.used, seen.problem) = (hash, None);
                *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
                Look::Renewed
            }
            Err(error) => {
                let text = error.to_string();
                // That a file is not there for a moment is how some renew it.
                let is_passing = matches!(error, RpcError::Unreadable { .. });
                let was = seen.problem.take().filter(|(problem, _)| *problem == text);
                let tell = was.as_ref().map_or(!is_passing, |(_, told)| !told);
                let told = tell || was.is_some_and(|(_, told)| told);
                seen.problem = Some((text.clone(), told));
                if tell { Look::Unusable(text) } else { Look::Same }
            }
        }
    }
}

impl<T> fmt::Debug for Renewed<T> {
    /// Without what is in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Renewed").field(&self.files).finish()
    }
}

/// The texts of files, without the byte order marks that some editors begin them with.
fn read(files: &[PathBuf]) -> Result<Vec<Vec<u8>>, RpcError> {
    let read = |file: &PathBuf| {
        let mut text =
            fs::read(file).map_err(|source| RpcError::Unreadable { file: file.clone(), source })?;
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(text)
    };
    files.iter().map(read).collect()
}

/// When the certificate of this process ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expiry {
    /// Its file.
    pub file: PathBuf,
    /// Since when it has been valid.
    pub since: SystemTime,
    /// Until when it is, and those between it and the authority.
    pub until: SystemTime,
}

impl Expiry {
    /// Seconds between 1970 and its end.
    pub fn until_unix_seconds(&self) -> i64 {
        let until = self.until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(until.as_secs()).unwrap_or(i64::MAX)
    }
}
