//! Writing files so that they survive a power loss, whole or not at all.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile};
use tokio::task::spawn_blocking;
use ziggurat_files::{make_dir, publish, sync, sync_dir};

/// What a file is called while it is written; what is left over of one that never was goes with its epoch.
pub(crate) const UNFINISHED: &str = ".writing-";

/// Whoever deletes an epoch removes directories that are empty, one of which may be ours.
const TRIES: usize = 5;

/// Bytes that are written before they are counted.
const COUNTED_BYTES: usize = 1 << 20;

/// Writes a file below `root`, with the directories to it, and counts its bytes on the way. When this returns, it is
/// on disk.
///
/// # Errors
///
/// Of kind [`io::ErrorKind::AlreadyExists`], if there is one, unless it is to be replaced.
pub(crate) fn write(
    root: &Path,
    name: &str,
    bytes: &[u8],
    replace: bool,
    count: impl Fn(usize),
) -> io::Result<()> {
    let path = root.join(name);
    let dir = path.parent().unwrap_or(root);
    let mut file = unfinished(dir)?;
    for some in bytes.chunks(COUNTED_BYTES) {
        file.write_all(some)?;
        count(some.len());
    }
    sync(file.as_file())?;
    publish(file, &path, replace)?;
    // The name is in its directory, and that one's in the one above.
    dir.ancestors().take_while(|dir| dir.starts_with(root)).try_for_each(sync_dir)
}

/// An empty file in a directory, which is made if there is none.
fn unfinished(dir: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(UNFINISHED);
    // Others read it; how much they may, the umask says.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut tries = 1;
    loop {
        match fs::create_dir_all(dir).and_then(|()| builder.tempfile_in(dir)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

/// A directory that is made if there is none, in full.
pub(crate) async fn made(dir: PathBuf) -> io::Result<PathBuf> {
    blocking(move || {
        make_dir(&dir)?;
        dir.canonicalize()
    })
    .await
}

/// Does what takes time away from the runtime's threads.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
