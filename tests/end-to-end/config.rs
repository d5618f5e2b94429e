//! Options of `coordinator` and `worker` from variables and a file.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::support::{files, stderr, succeed, ziggurat};

/// A worker that ends at once, since it is allowed so little memory, with `text` as its file.
fn worker(directory: &Path, text: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    fs::write(directory.join("w.toml"), text).unwrap();
    let mut command: Command =
        ziggurat(directory, &[&["worker", "--config", "w.toml"], arguments].concat());
    command.envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn the_command_line_counts_more_than_variables_and_these_more_than_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = "dir = \"w\"\nmemory = \"1MB\"\n";
    let variable = [("ZIGGURAT_MEMORY", "2MB")];
    let allowed = |arguments: &[&str], variables: &[(&str, &str)], size: &str| {
        let output = worker(directory.path(), file, arguments, variables);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{size} is allowed")), "{}", stderr(&output));
    };
    allowed(&[], &[], "1.00 MB");
    allowed(&[], &[("ZIGGURAT_MEMORY", "")], "1.00 MB");
    allowed(&[], &variable, "2.00 MB");
    allowed(&["--memory", "3MB"], &variable, "3.00 MB");
    allowed(&["--memory=4MB"], &[], "4.00 MB");
    assert_eq!(files(directory.path()), ["w.toml"]);

    // The file itself may be named by a variable.
    let mut named = ziggurat(directory.path(), &["worker"]);
    let output = named.env("ZIGGURAT_CONFIG", "w.toml").output().unwrap();
    assert!(stderr(&output).contains("1.00 MB is allowed"), "{}", stderr(&output));
}

#[test]
fn a_file_of_other_systems_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = "\u{feff}dir = \"w\"\r\nmemory = \"1MB\"\r\n";
    let output = worker(directory.path(), file, &[], &[]);
    assert!(stderr(&output).contains("1.00 MB is allowed"), "{}", stderr(&output));
    let wrong = worker(directory.path(), "\u{feff}memroy = \"1MB\"\r\n", &[], &[]);
    assert!(stderr(&wrong).contains("w.toml:1: unknown option `memroy`"), "{}", stderr(&wrong));
}

#[test]
fn mistakes_in_a_file_are_named_with_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |text: &str, said: &[&str]| {
        let output = worker(directory.path(), text, &[], &[]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}: {message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
        for words in said {
            assert!(message.contains(words), "{text} does not say `{words}`: {message}");
        }
        assert_eq!(files(directory.path()), ["w.toml"]);
    };
    refused("dir = \"w\"\nmemroy = \"1MB\"\n", &["w.toml:2: unknown option `memroy`", "`memory`"]);
    refused("dir = \"w\"\n\nmemory = \"much\"\n", &["w.toml:3: ", "`much` is not a size"]);
    refused("dir = \"w\"\nthreads = -1\n", &["w.toml:2: ", "-1"]);
    refused("dir = \"w\"\nthreads = [1]\n", &["w.toml:2: write threads = "]);
    refused("dir = \"w\"\ninsecure = \"yes\"\n", &["w.toml:2: write insecure = true or false"]);
    refused("config = \"other.toml\"\n", &["w.toml:1: unknown option `config`"]);
    refused("lost-after = \"1h\"\n", &["w.toml:1: unknown option `lost-after`"]); // a coordinator's
    refused("dir = \"w\"\ndir = \"v\"\n", &["w.toml:2: "]);
    refused("dir = \n", &["w.toml:1: "]);
    let output = ziggurat(directory.path(), &["worker", "--config", "none.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot read none.toml"), "{}", stderr(&output));
}

#[test]
fn a_secret_on_the_command_line_or_in_a_variable_is_in_place_of_all_that_the_file_says_of_secrets()
{
    let directory = tempfile::tempdir().unwrap();
    let tls = "dir = \"w\"\ntls-ca = \"a\"\ntls-cert = \"b\"\ntls-key = \"c\"\n";
    let said = |text: &str, arguments: &[&str], variables: &[(&str, &str)]| {
        let output = worker(directory.path(), text, arguments, variables);
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    assert!(said(tls, &[], &[]).contains(" a"));
    assert!(said(tls, &["--token-file", "typed"], &[]).contains("typed"));
    assert!(said(tls, &[], &[("ZIGGURAT_TOKEN_FILE", "variable")]).contains("variable"));
}

#[test]
fn variables_of_options_without_a_value_are_true_or_false() {
    let directory = tempfile::tempdir().unwrap();
    let coordinator = |insecure: &str| {
        let arguments = ["coordinator", "--dir", "c", "--listen", "192.0.2.1:0"];
        let mut command = ziggurat(directory.path(), &arguments);
        stderr(&command.env("ZIGGURAT_INSECURE", insecure).output().unwrap())
    };
    // With it, the coordinator goes on to find that this is no address of the machine.
    assert!(coordinator("false").contains("--insecure"), "{}", coordinator("false"));
    assert!(!coordinator("true").contains("--insecure"), "{}", coordinator("true"));
    assert!(coordinator("maybe").contains("'maybe'"), "{}", coordinator("maybe"));
}

#[test]
fn every_command_has_a_page_in_the_manual() {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &["man", "man1"]);
    let pages = files(&directory.path().join("man1"));
    for command in ["", "-solve", "-worker", "-table", "-table-verify", "-rulesets-show", "-export"]
    {
        let page = format!("ziggurat{command}.1");
        assert!(pages.contains(&page), "{pages:?}");
    }
    let page = fs::read_to_string(directory.path().join("man1/ziggurat-worker.1")).unwrap();
    assert!(page.contains("ZIGGURAT_MEMORY"), "{page}");
}
