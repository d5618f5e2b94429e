//! `./ziggurat` builds a lean program unless a command needs a full one. These tests look at what it asks of `cargo`, a stand-in,
//! on a machine that has nothing but a shell and what a test says.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, absolute},
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::support::stderr;

/// What it writes down of how it was called, and a program that says which it is.
const CARGO: &str = r#"#!/bin/bash
echo "cargo $*" >>"$CALLS"
mkdir -p "$CARGO_TARGET_DIR/release"
case "$*" in *--no-default-features*) kind=lean ;; *) kind=full ;; esac
printf '#!/bin/bash\necho %s "$@"\n' $kind >"$CARGO_TARGET_DIR/release/ziggurat"
chmod +x "$CARGO_TARGET_DIR/release/ziggurat"
"#;

/// A tool that writes down that it was called.
const TOOL: &str = "#!/bin/bash\necho \"${0##*/} $*\" >>\"$CALLS\"\n";

struct Machine {
    directory: TempDir,
}

impl Machine {
    /// One with these tools.
    fn with(tools: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tool = directory.path().join("tool");
        fs::create_dir(&tool).unwrap();
        for name in ["bash", "chmod", "dirname", "env", "mkdir", "readlink"] {
            let real = ["/bin", "/usr/bin"].map(|directory| Path::new(directory).join(name));
            let real = real.iter().find(|real| real.exists()).expect("a shell and its tools");
            symlink(real, tool.join(name)).unwrap();
        }
        let machine = Self { directory };
        machine.install("cargo", CARGO);
        tools.iter().for_each(|name| machine.install(name, TOOL));
        machine
    }

    fn install(&self, name: &str, script: &str) {
        let file = self.directory.path().join("tool").join(name);
        fs::write(&file, script).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What `./ziggurat` did.
    fn run(&self, line: &str) -> Output {
        let at = |name: &str| self.directory.path().join(name);
        Command::new(absolute("../ziggurat").unwrap())
            .args(line.split(' '))
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", at("tool"))
            .env("CALLS", at("calls"))
            .env("CARGO_TARGET_DIR", at("target"))
            .env("LIBCLANG_PATH", "/there")
            .output()
            .unwrap()
    }

    /// The program that a command was given to, which must have had all of it.
    fn program(&self, line: &str) -> String {
        let output = self.run(line);
        let said = String::from_utf8(output.stdout.clone()).unwrap();
        let (program, arguments) = said.trim_end().split_once(' ').expect("a program answers");
        assert_eq!(arguments, line, "{}", stderr(&output));
        program.to_owned()
    }

    /// All tools that were called.
    fn calls(&self) -> String {
        fs::read_to_string(self.directory.path().join("calls")).unwrap_or_default()
    }
}

#[test]
fn rust_and_a_c_compiler_are_enough_for_a_lean_program() {
    let machine = Machine::with(&["cc", "apt-get", "python3", "pip"]);
    assert_eq!(machine.program("solve finkel"), "lean");
    let calls = machine.calls();
    assert!(calls.starts_with("cargo build ") && calls.lines().count() == 1, "{calls}");
    let worker = machine.run("worker --dir d");
    assert_eq!(worker.status.code(), Some(1));
    assert!(stderr(&worker).contains("c++ is not installed"), "{}", stderr(&worker));
    let nothing = Machine::with(&[]).run("solve finkel");
    assert!(stderr(&nothing).contains("cc is not installed"), "{}", stderr(&nothing));
}

#[test]
fn commands_that_need_a_full_program_get_one_and_say_why() {
    for (line, why) in [
        ("solve finkel --dir d", "solve --dir needs"),
        ("solve --dir=d finkel", "solve --dir needs"),
        ("export 3 --out a.zgt", "export JOB needs"),
        ("coordinator --dir d", "coordinator needs"),
        ("resume d", "resume needs"),
        ("status 3", "status needs"),
        ("jobs", "jobs needs"),
        ("man man1", "man needs"),
    ] {
        let machine = Machine::with(&["cc", "c++"]);
        let output = machine.run(line);
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("full {line}\n"));
        let said = stderr(&output);
        assert!(said.contains(why) && said.contains("quarter of an hour"), "{line}: {said}");
    }
    for line in ["solve finkel --pieces 7", "export 3.zgt a.rgu", "best a.zgt start", "--help"] {
        let machine = Machine::with(&["cc", "c++"]);
        assert_eq!(machine.program(line), "lean", "{line}");
    }
}

#[test]
fn a_full_program_that_is_there_does_everything() {
    let machine = Machine::with(&["cc", "c++"]);
    assert_eq!(machine.program("solve finkel"), "lean");
    assert_eq!(machine.program("worker --dir d"), "full");
    assert_eq!(machine.program("solve finkel"), "full");
}
