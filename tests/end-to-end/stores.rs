//! A worker whose bucket cannot be used says why, and ends at once; one whose bucket is away for a while waits.

use std::{
    env,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{files, stderr, ziggurat};

/// A worker that goes on for so long will go on for ever. It should be known in ten seconds; machines under load take longer.
const KNOWN: Duration = Duration::from_secs(60);

/// A server that answers everything alike.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 16 << 10]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

fn refusal(status: &str, body: &str) -> &'static str {
    let length = body.len();
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    text.leak()
}

/// Starts a worker with a bucket of Amazon's, its keys, and these variables alone to reach it.
fn worker(directory: &Path, variables: &[(&str, &str)]) -> Child {
    let keys = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    worker_of("s3://bucket/some", directory, &[&keys, variables].concat())
}

/// Starts a worker with a bucket, and these variables alone to reach it.
fn worker_of(store: &str, directory: &Path, variables: &[(&str, &str)]) -> Child {
    let arguments = ["worker", "--coordinator", "127.0.0.1:1", "--dir", "w", "--checkpoints"];
    let mut command = ziggurat(directory, &[&arguments[..], &[store]].concat());
    for (variable, _) in env::vars_os() {
        let name = variable.to_string_lossy();
        if ["AWS_", "GOOGLE_", "GCE_", "AZURE_", "IDENTITY_"].iter().any(|it| name.starts_with(it))
        {
            command.env_remove(variable);
        }
    }
    // Google's credentials are looked for there.
    command.env("HOME", directory).envs(variables.iter().copied());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How it ends by itself.
fn end(mut worker: Child) -> Output {
    let started = Instant::now();
    while worker.try_wait().unwrap().is_none() && started.elapsed() < KNOWN {
        thread::sleep(Duration::from_millis(50));
    }
    let is_running = worker.try_wait().unwrap().is_none();
    if is_running {
        worker.kill().unwrap();
    }
    let output = worker.wait_with_output().unwrap();
    assert!(!is_running, "it goes on: {}", stderr(&output));
    output
}

#[test]
fn what_cannot_be_right_about_a_bucket_ends_a_worker_with_the_variable() {
    let directory = tempfile::tempdir().unwrap();
    let denied = server(refusal("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"));
    let absent = server(refusal("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>"));
    let page = server(refusal("200 OK", "<!DOCTYPE html><html><body>Hello</body></html>"));
    let [denied, absent, page] = [denied, absent, page].map(|at| format!("http://{at}"));
    let plain = ("AWS_ALLOW_HTTP", "true");
    for (variables, says) in [
        (&[("AWS_ENDPOINT", "minio:9000")][..], "AWS_ENDPOINT"),
        (&[("AWS_ENDPOINT", denied.as_str())], "AWS_ALLOW_HTTP"),
        (&[("AWS_ACCESS_KEY_ID", "key\n")], "AWS_ACCESS_KEY_ID"),
        (&[("AWS_SECRET_ACCESS_KEY", "")], "AWS_SECRET_ACCESS_KEY"),
        (&[("AWS_SESSION_TOKEN", "a\nb")], "AWS_SESSION_TOKEN"),
        (&[("AWS_REGION", "eu\ncentral")], "AWS_REGION"),
        (
            &[
                ("AWS_ACCESS_KEY_ID", ""),
                ("AWS_SECRET_ACCESS_KEY", ""),
                ("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1"),
            ],
            "AWS_ACCESS_KEY_ID",
        ),
        (&[("AWS_ENDPOINT", &denied), plain], "AWS_SECRET_ACCESS_KEY"),
        (&[("AWS_ENDPOINT", &absent), plain], "no such bucket"),
        (&[("AWS_ENDPOINT", &page), plain], "AWS_ENDPOINT"),
    ] {
        let output = end(worker(directory.path(), variables));
        assert_eq!(output.status.code(), Some(2), "{variables:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{variables:?}: {}", stderr(&output));
        assert_eq!(files(directory.path()), Vec::<String>::new(), "{variables:?}");
    }
}

#[test]
fn what_cannot_be_right_about_other_clouds_ends_a_worker_with_the_variable() {
    let directory = tempfile::tempdir().unwrap();
    let denied = server(refusal("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"));
    let absent = server(refusal("404 Not Found", "<Error><Code>ContainerNotFound</Code></Error>"));
    let (denied, absent) = (format!("http://{denied}"), format!("http://{absent}"));
    let key = format!(
        "{{\"gcs_base_url\": \"{denied}\", \"disable_oauth\": true, \"client_email\": \"\", \"private_key\": \"\", \
         \"private_key_id\": \"\"}}"
    );
    let (google, azure) = ("gs://bucket/some", "az://container/some");
    let key = ("GOOGLE_SERVICE_ACCOUNT_KEY", key.as_str());
    let machine = [("GCE_METADATA_HOST", "127.0.0.1:1"), ("GCE_METADATA_IP", "127.0.0.1:1")];
    let account = ("AZURE_STORAGE_ACCOUNT_NAME", "royal");
    let (secret, plain) = (("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0"), ("AZURE_ALLOW_HTTP", "true"));
    for (store, variables, says) in [
        (google, &machine[..], "GOOGLE_SERVICE_ACCOUNT"),
        (google, &[("GCE_METADATA_HOST", "a b")], "GCE_METADATA_HOST"),
        (google, &[("GCE_METADATA_HOST", "")], "GCE_METADATA_HOST"),
        (google, &[("GOOGLE_SERVICE_ACCOUNT", "/none")], "GOOGLE_SERVICE_ACCOUNT"),
        (google, &[("GOOGLE_APPLICATION_CREDENTIALS", "/none")], "GOOGLE_APPLICATION_CREDENTIALS"),
        (google, &[key], "GOOGLE_ALLOW_HTTP"),
        (google, &[key, ("GOOGLE_ALLOW_HTTP", "true")], "may list, read, write and delete"),
        (azure, &[], "AZURE_STORAGE_ACCOUNT_NAME"),
        (
            azure,
            &[account, ("AZURE_MSI_ENDPOINT", "http://127.0.0.1:1")],
            "AZURE_STORAGE_ACCOUNT_KEY",
        ),
        (azure, &[account, secret, ("IDENTITY_HEADER", "a\nb")], "IDENTITY_HEADER"),
        (azure, &[account, secret, ("AZURE_STORAGE_ENDPOINT", &absent)], "AZURE_ALLOW_HTTP"),
        (
            azure,
            &[account, secret, ("AZURE_STORAGE_ENDPOINT", &absent), plain],
            "no such container",
        ),
    ] {
        let output = end(worker_of(store, directory.path(), variables));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{says}: {text}");
        assert!(text.contains(says) && !text.contains("panicked"), "{says}: {text}");
    }
}

#[test]
fn a_bucket_that_is_away_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let busy = server(refusal("503 Service Unavailable", ""));
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (at, says) in [(busy, "503"), (gone, "cannot be reached")] {
        let at = format!("http://{at}");
        let mut waiting =
            worker(directory.path(), &[("AWS_ENDPOINT", at.as_str()), ("AWS_ALLOW_HTTP", "true")]);
        // It says so, and then goes on to its coordinator.
        let mut said = String::new();
        let mut log = waiting.stderr.take().unwrap();
        while !said.contains("127.0.0.1:1") {
            let mut some = [0; 4096];
            let length = log.read(&mut some).unwrap();
            assert!(length > 0, "it ended: {said}");
            said += &String::from_utf8_lossy(&some[..length]);
        }
        assert!(said.contains(says) && said.contains("tries again"), "{said}");
        waiting.kill().unwrap();
        waiting.wait().unwrap();
    }
}
