//! Asking the coordinator, and what its refusals mean to a user.

use std::{
    error::Error,
    time::{Duration, Instant, SystemTime},
};

use tokio::{
    runtime::{Builder, Runtime},
    time,
};
use tonic::{Code, Response, Status};
use ziggurat_rpc::{JobsClient, Renewal, Security, connect, jobs_client};

use super::flags::CoordinatorArgs;
use crate::{
    failure::{Exit, Failure},
    output::note,
    program_name,
};

/// A coordinator that does not answer may be about to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two attempts to reach it.
const PAUSE: Duration = Duration::from_millis(200);

/// An answer that takes longer is none.
const ANSWER: Duration = Duration::from_secs(60);

/// A certificate that ends within this time is spoken of.
const LAST_DAYS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A coordinator as a user sees it: ask, wait, have an answer.
pub struct Coordinator {
    runtime: Runtime,
    client: JobsClient,
    security: Security,
    address: String,
}

impl Coordinator {
    /// The coordinator that the command line names. Nothing is sent yet.
    ///
    /// # Errors
    /// If the files of a secret or certificate are not right.
    pub fn new(args: &CoordinatorArgs) -> Result<Self, Failure> {
        let security = args.security.security()?;
        if let Some(expiry) = security.expiry() {
            let left = expiry.until.duration_since(SystemTime::now()).unwrap_or_default();
            if left < LAST_DAYS {
                note!("{}", Renewal::Ends { expiry, left });
            }
        }
        Self::at(&args.address()?, security)
    }

    /// The coordinator at `address`.
    ///
    /// # Errors
    /// If the address is none.
    pub fn at(address: &str, security: Security) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = {
            let _inside = runtime.enter();
            jobs_client(connect(address, &security, PATIENCE)?)
        };
        // Commands may take longer than a certificate lives. What cannot be renewed is told when it is used.
        runtime.spawn(security.clone().keep_renewed(|_| {}, |_| {}));
        Ok(Self { runtime, client, security, address: address.to_owned() })
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it knows its users by, and its workers theirs.
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// What calls run on.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// To call it directly.
    pub fn client(&self) -> JobsClient {
        self.client.clone()
    }

    /// Asks something that may be asked again if no answer comes.
    ///
    /// # Errors
    /// If the coordinator refuses, or cannot be reached for a few seconds.
    pub fn ask<T, F>(&self, call: impl Fn(JobsClient) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        self.runtime
            .block_on(patiently(|| call(self.client.clone())))
            .map_err(|status| refusal(&status, &self.address))
    }
}

/// Calls until there is an answer, for [`PATIENCE`] if nobody listens.
///
/// # Errors
/// The last refusal.
pub async fn patiently<T, F>(call: impl Fn() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let started = Instant::now();
    loop {
        let answer = time::timeout(ANSWER, call()).await.unwrap_or_else(|_| {
            Err(Status::deadline_exceeded(format!("no answer within {} s", ANSWER.as_secs())))
        });
        match answer {
            Err(status) if status.code() == Code::Unavailable && started.elapsed() < PATIENCE => {
                time::sleep(PAUSE).await;
            }
            answer => return answer.map(Response::into_inner),
        }
    }
}

/// A refusal of the coordinator at `address` as a user reads it.
pub fn refusal(status: &Status, address: &str) -> Failure {
    let message = message(status);
    let program = program_name();
    match status.code() {
        Code::NotFound => {
            Failure::bad_input(message).help(format!("`{program} jobs` lists the jobs there are"))
        }
        Code::InvalidArgument => Failure::bad_input(message),
        Code::FailedPrecondition => Failure::of(Exit::Failed, message),
        Code::Unauthenticated | Code::PermissionDenied => Failure::bad_input(format!(
            "the coordinator at {address} refuses: {message}"
        ))
        .help("give what it was started with: --token-file, or --tls-ca, --tls-cert and --tls-key"),
        Code::Unavailable | Code::DeadlineExceeded => Failure::of(
            Exit::Failed,
            format!("the coordinator at {address} does not answer: {message}"),
        )
        .help(format!(
            "start it ({program} coordinator --dir DIR), or name another: --coordinator HOST:PORT; if it runs, see that \
             both of you speak TLS, or neither (--tls-ca, --tls-cert, --tls-key)"
        )),
        _ => Failure::of(Exit::Failed, format!("the coordinator at {address}: {message}")).help(
            "if it speaks TLS, give --tls-ca, --tls-cert and --tls-key; see what its log says",
        ),
    }
}

/// What a status says, with its causes where they say more.
pub fn message(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = status.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = if text.is_empty() { more } else { format!("{text}: {more}") };
        }
        cause = error.source();
    }
    if text.is_empty() { status.code().to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_to_do() {
        let told = |status: Status| {
            let failure = refusal(&status, "a:1");
            (failure.exit, failure.report())
        };
        let (exit, report) = told(Status::not_found("there is no job 7"));
        assert_eq!(exit, Exit::BadInput);
        assert!(report.starts_with("error: there is no job 7\nhelp: "), "{report}");
        assert!(report.contains("jobs` lists"), "{report}");
        let (exit, report) = told(Status::unauthenticated("no token"));
        assert_eq!(exit, Exit::BadInput);
        assert!(report.contains("a:1 refuses: no token") && report.contains("--token-file"));
        let (exit, report) = told(Status::unavailable("connection refused"));
        assert_eq!(exit, Exit::Failed);
        assert!(report.contains("a:1 does not answer") && report.contains("--coordinator"));
    }

    #[test]
    fn a_status_without_words_has_its_code() {
        assert_eq!(message(&Status::new(Code::Aborted, "")), Code::Aborted.to_string());
    }
}
