//! What `--version` says: the version, the commit, and the kind of program.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let kind = if env::var_os("CARGO_FEATURE_FULL").is_some() { "full" } else { "lean" };
    let commit = commit().map_or(String::new(), |commit| format!("{commit}, "));
    println!("cargo::rustc-env=ZIGGURAT_VERSION={version} ({commit}{kind})");
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit that the sources are of, with `-modified` if they are not quite; `None` where Git does not know it. Cargo asks
/// again when there is another commit, or another source.
fn commit() -> Option<String> {
    let root = Path::new("..").canonicalize().ok()?;
    let is_ours = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? == root;
    if !is_ours {
        return None;
    }
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"])?;
    let state = ["HEAD", "packed-refs", &branch].map(|of| git(&["rev-parse", "--git-path", of]));
    let shared = fs::read_dir("../shared").ok()?.flatten().map(|part| part.path().join("src"));
    let others = ["Cargo.lock", "cli/src", "coordinator/src", "proto", "worker/src"];
    let sources: Vec<PathBuf> =
        others.iter().map(|source| Path::new("..").join(source)).chain(shared).collect();
    for path in state.into_iter().flatten().map(PathBuf::from).chain(sources.iter().cloned()) {
        // Of what is not there Cargo would think that it has changed, always.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let sources: Vec<String> = sources.iter().map(|path| path.display().to_string()).collect();
    let status = ["status", "--porcelain", "--untracked-files=no", "--"].into_iter();
    let modified = git(&status.chain(sources.iter().map(String::as_str)).collect::<Vec<_>>())?;
    Some(if modified.is_empty() { commit } else { format!("{commit}-modified") })
}

/// What Git prints, if it is there and content.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
