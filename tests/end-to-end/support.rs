//! Starting the binary, and finding the reference data.

use std::{
    fs,
    path::{Path, PathBuf, absolute},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// The binary.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ziggurat"))
}

/// The binary with some arguments, in a directory.
pub fn ziggurat(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// The same under limits, such as `ulimit -f 100`, which bash counts in blocks of 1024 bytes.
pub fn limited(directory: &Path, limits: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("bash");
    let script = format!("{limits} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_ziggurat")]).args(arguments);
    command.current_dir(directory).stdin(Stdio::null());
    command
}

/// The same, as `nohup` starts it.
pub fn ziggurat_ignoring_hang_ups(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ziggurat")]);
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

/// What the binary did, which must not be a panic.
pub fn run(directory: &Path, arguments: &[&str]) -> Output {
    let output = ziggurat(directory, arguments).output().expect("the binary starts");
    assert_ne!(output.status.code(), Some(101), "{arguments:?}: {}", stderr(&output));
    output
}

/// What the binary printed, given that it succeeded.
pub fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The JSON that the binary printed on its last line, given that it succeeded.
pub fn succeed_with_json(directory: &Path, arguments: &[&str]) -> Value {
    last_json(&succeed(directory, arguments))
}

/// The JSON on the last line of a text.
pub fn last_json(text: &str) -> Value {
    serde_json::from_str(text.lines().last().expect("a line")).expect("a line of JSON")
}

/// What went to standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names of the files in a directory, hidden ones included.
pub fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The reference data that is part of this repository, and a larger collection beside it where
/// there is one.
fn data_directories() -> Vec<PathBuf> {
    let workspace = absolute("..").expect("tests run in the directory of their package");
    let directories = [workspace.join("tests/data"), workspace.join("../shared/data")];
    directories.into_iter().filter(|directory| directory.is_dir()).collect()
}

/// A file of the reference data.
pub fn data(name: &str) -> PathBuf {
    let mut places = data_directories().into_iter().map(|directory| directory.join(name));
    places.find(|path| path.is_file()).unwrap_or_else(|| panic!("tests/data has no {name}"))
}

/// All published and independently computed tables, by name.
pub fn reference_tables() -> Vec<PathBuf> {
    let mut tables: Vec<PathBuf> = Vec::new();
    for directory in data_directories() {
        for name in files(&directory).iter().filter(|name| name.ends_with(".rgu")) {
            if !tables.iter().any(|table| table.ends_with(name)) {
                tables.push(directory.join(name));
            }
        }
    }
    if !tables.iter().any(|table| table.ends_with("masters3-f64.rgu")) {
        eprintln!("SKIPPED: masters3-f64.rgu is not there, it is too large for tests/data");
    }
    tables
}

/// A small generator of random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    /// Begins anywhere, and prints where.
    pub fn new() -> Self {
        let seed = std::time::UNIX_EPOCH.elapsed().expect("it is later").as_nanos() as u64;
        println!("seed {seed}");
        Self(seed)
    }

    /// Begins at a place.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below another.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }
}

/// Runs a script of `tests/` that opens pages of the binary in a browser; says so where there is none.
pub fn in_a_browser(script: &str) {
    let script = absolute("../tests").unwrap().join(script);
    let output = Command::new(script).arg(program()).output().unwrap();
    match output.status.code() {
        Some(0) => {}
        Some(3) => eprintln!("SKIPPED: {}", stderr(&output)),
        _ => panic!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output)),
    }
}
