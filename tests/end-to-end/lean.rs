//! A lean program has nothing of a cluster or a store, and says how to get a full one.

use std::fs;

use crate::support::{program, succeed};

/// Whether the program has these words anywhere in it.
fn has(words: &str) -> bool {
    let program = fs::read(program()).unwrap();
    program.windows(words.len()).any(|at| at == words.as_bytes())
}

#[test]
fn a_lean_program_has_no_database_and_no_network_in_it() {
    for library in ["rocksdb", "rustls", "tonic", "object_store"] {
        assert_eq!(has(library), cfg!(feature = "full"), "{library}");
    }
    assert!(has("zstd"));
}

#[test]
fn help_lists_the_commands_of_a_full_program() {
    let directory = tempfile::tempdir().unwrap();
    let help = succeed(directory.path(), &["--help"]);
    for command in ["solve", "resume", "coordinator", "worker", "watch"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{help}");
    }
    assert_eq!(help.contains("not in this lean program"), !cfg!(feature = "full"));
}

#[cfg(not(feature = "full"))]
#[test]
fn what_a_lean_program_does_not_have_says_how_to_get_it() {
    use crate::support::{files, run, stderr};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for (line, what) in [
        ("solve finkel --pieces 1 --dir job", "`solve --dir`"),
        ("solve finkel --pieces 1 --dir job --checkpoint-every 1s", "`solve --dir`"),
        ("resume job --threads 2", "`resume`"),
        ("status job --json", "`status`"),
        ("coordinator --dir c", "`coordinator`"),
        ("worker --help", "`worker`"),
        ("submit blitz --wait", "`submit`"),
        ("jobs", "`jobs`"),
        ("watch 3", "`watch`"),
        ("pause 3", "`pause`"),
        ("cancel 3 --force", "`cancel`"),
        ("serve finkel-7.zgt --cors *", "`serve`"),
        ("man man1", "`man`"),
        ("export 3 --out a.zgt --coordinator a:1", "`export JOB`"),
    ] {
        let output = run(path, &line.split(' ').collect::<Vec<_>>());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(message.starts_with("error: this is a lean program, without "), "{message}");
        assert!(message.contains(what), "{line}: {message}");
        assert!(message.contains("help: ./ziggurat"), "{line}: {message}");
        assert!(output.stdout.is_empty() && files(path).is_empty(), "{line}");
    }
}
