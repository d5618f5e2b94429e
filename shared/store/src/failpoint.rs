//! Places where tests make the store fail or die (cargo feature `failpoints`).
//!
//! | name | between |
//! | --- | --- |
//! | `store::before-create` | there is no store, and one is about to be made |
//! | `store::before-seal` | the last page is in the file, the file not synced |
//! | `store::after-seal` | the file is synced, in staging |
//! | `store::before-ingest` | all files of a batch are in staging |
//! | `store::before-commit` | the files are ingested, nothing says that they count |
//! | `store::before-state-sync` | the state is about to be written |
//! | `store::before-drop` | dropped epochs no longer count, their files are still there |
//! | `store::before-remove` | damaged values are recovered, what was damaged is still there |

/// Fails here with [`StoreError::Io`](crate::StoreError::Io) if a test says so.
macro_rules! failpoint {
    ($name:literal, $dir:expr) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name, |_| Err($crate::StoreError::Io {
            path: $dir.to_owned(),
            action: $name,
            source: std::io::Error::other("failpoint"),
        }));
    };
}

pub(crate) use failpoint;
