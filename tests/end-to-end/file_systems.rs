//! What a file system lacks ends no work that could be finished without it.
//!
//! The kernel answers system calls here as it does on such file systems: a filter (seccomp) says so, of one thread and the
//! processes it starts.

use std::{
    collections::BTreeMap,
    env,
    ffi::{c_int, c_long},
    fs, io,
    path::Path,
    thread,
};

use libc::{EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP, EPERM, F_SETLK};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::{
    cluster::{Cluster, expected},
    support::{files, run, stderr, succeed},
};

/// A call, and how it is answered.
type Answer = (c_long, c_int);

/// No hard links, nor flags of a rename: as on exFAT, FAT and many file systems in user space.
const NO_LINKS: &[Answer] = &[
    (libc::SYS_renameat2, EINVAL),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, EPERM),
    (libc::SYS_linkat, EPERM),
];

/// Nothing can be synced; that of directories is what SMB and many file systems in user space lack.
const NO_SYNCS: &[Answer] = &[(libc::SYS_fsync, EINVAL), (libc::SYS_fdatasync, EINVAL)];

/// Of what a file system has, a finished file needs one way to its name.
const NO_RENAMES: &[Answer] = &[
    (libc::SYS_renameat2, EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, EPERM),
    (libc::SYS_renameat, EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, EPERM),
    (libc::SYS_linkat, EPERM),
];

/// Calls that make things faster or safer where there are any.
const NO_OTHERS: &[Answer] = &[
    (libc::SYS_fallocate, ENOSYS),
    (libc::SYS_fadvise64, ENOSYS),
    (libc::SYS_flock, ENOLCK),
    (libc::SYS_sync_file_range, ENOSYS),
    (libc::SYS_readahead, EINVAL),
    (libc::SYS_statfs, ENOSYS),
    (libc::SYS_fstatfs, ENOSYS),
    (libc::SYS_statx, ENOSYS),
    (libc::SYS_copy_file_range, EOPNOTSUPP),
];

/// A filter that answers a call, if its arguments are these.
fn filter((call, errno): Answer, arguments: Vec<SeccompCondition>) -> BpfProgram {
    let rules = match arguments.is_empty() {
        true => Vec::new(),
        false => vec![SeccompRule::new(arguments).unwrap()],
    };
    let answer = SeccompAction::Errno(errno as u32);
    let arch = env::consts::ARCH.try_into().unwrap();
    let rules = BTreeMap::from([(call, rules)]);
    SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).unwrap().try_into().unwrap()
}

/// Does something on a thread to which the kernel answers so, and all it starts.
fn behind(filters: Vec<BpfProgram>, work: impl FnOnce() + Send) {
    let work = || {
        for filter in &filters {
            if let Err(error) = apply_filter(filter) {
                return eprintln!("SKIPPED: system calls cannot be answered here: {error}");
            }
        }
        work();
    };
    if let Err(panic) = thread::scope(|scope| scope.spawn(work).join()) {
        std::panic::resume_unwind(panic);
    }
}

fn without(answers: &[Answer], work: impl FnOnce() + Send) {
    behind(answers.iter().map(|&answer| filter(answer, Vec::new())).collect(), work);
}

const SOLVE: [&str; 6] = ["solve", "finkel", "--pieces", "2", "--out", "x.zgt"];

/// Solves in memory and in a directory, goes on, and exports: as everywhere else.
fn works_as_elsewhere(answers: &[Answer]) {
    let [there, here] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let everything = |path: &Path| {
        succeed(path, &SOLVE);
        let again = run(path, &SOLVE);
        assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
        succeed(path, &[&SOLVE[..], &["--force"]].concat());
        let in_files = ["--dir", "job", "--memory", "150MB", "--threads", "1", "--out", "y.zgt"];
        succeed(path, &[&["solve", "finkel", "--pieces", "4"][..], &in_files].concat());
        succeed(path, &["resume", "job", "--out", "z.zgt"]);
        succeed(path, &["export", "x.zgt", "x.rgu", "--value-type", "percent16"]);
        succeed(path, &["export", "x.zgt", "x.parquet"]);
        succeed(path, &["status", "job"]);
        succeed(path, &["table", "verify", "x.zgt"]);
    };
    everything(there.path());
    without(answers, || everything(here.path()));
    if !here.path().join("x.zgt").exists() {
        return; // skipped
    }
    assert_eq!(files(here.path()), files(there.path()));
    for file in ["x.zgt", "y.zgt", "z.zgt", "x.rgu"] {
        let [one, other] = [&here, &there].map(|dir| fs::read(dir.path().join(file)).unwrap());
        assert!(one == other, "{file}");
    }
}

#[test]
fn tables_get_their_names_without_links_and_flags_of_renames() {
    works_as_elsewhere(NO_LINKS);
}

#[test]
fn what_cannot_be_synced_is_finished() {
    works_as_elsewhere(NO_SYNCS);
    works_as_elsewhere(&NO_SYNCS.iter().map(|&(call, _)| (call, EOPNOTSUPP)).collect::<Vec<_>>());
}

#[test]
fn calls_that_a_file_system_may_lack_are_done_without() {
    works_as_elsewhere(NO_OTHERS);
}

#[test]
fn a_cluster_does_without_links_and_syncs() {
    let expected = expected();
    let shared = tempfile::tempdir().unwrap();
    without(&[NO_LINKS, NO_SYNCS, NO_OTHERS].concat(), || {
        let cluster = Cluster::with(2, &["--checkpoints", shared.path().to_str().unwrap()]);
        let job = cluster.submit();
        cluster.ends_well(&job, &expected);
    });
}

#[test]
fn a_finished_table_that_cannot_get_its_name_is_kept_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    without(NO_RENAMES, || {
        for more in [&[][..], &["--force"]] {
            let before = files(path);
            let output = run(path, &[&SOLVE[..], more].concat());
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            let kept = files(path).into_iter().find(|file| !before.contains(file));
            let kept = kept.unwrap_or_else(|| panic!("nothing is kept: {said}"));
            // Nor does the next solve take it for the rest of one that was killed.
            assert!(before.iter().all(|file| files(path).contains(file)), "{said}");
            assert!(said.contains(&format!("{kept} is complete")), "{said}");
            assert!(said.contains("x.zgt") && said.contains("Operation not permitted"), "{said}");
            succeed(path, &["table", "verify", &kept]);
        }
    });
}

#[test]
fn a_directory_without_locks_is_refused_with_the_file_and_its_file_system() {
    let lock = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, F_SETLK as u64);
    let no_locks = filter((libc::SYS_fcntl, ENOLCK), vec![lock.unwrap()]);
    behind(vec![no_locks], || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        for command in [
            &["solve", "finkel", "--pieces", "2", "--dir", "d"][..],
            &["coordinator", "--dir", "d", "--listen", "127.0.0.1:0"],
            &["worker", "--dir", "d"],
        ] {
            let output = run(path, command);
            let said = stderr(&output);
            assert!(matches!(output.status.code(), Some(1..=3)), "{command:?}: {said}");
            for part in ["cannot lock ", "LOCK (on ", "): No locks available; choose a directory"] {
                assert!(said.contains(part), "{command:?}: {said}");
            }
        }
    });
}

#[test]
fn the_filter_answers() {
    let directory = tempfile::tempdir().unwrap();
    without(NO_LINKS, || {
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        fs::write(&one, "").unwrap();
        assert_eq!(
            fs::hard_link(&one, &other).unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
    });
}
