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
use ziggurat_rpc::{
    JobsClient, Renewal, Security, Trouble, connect, diagnose, failed_on_its_way, jobs_client,
};

use super::flags::CoordinatorArgs;
use crate::{
    exhausted::no_threads,
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
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(no_threads)?;
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
        let call = || call(self.client.clone());
        self.runtime.block_on(patiently(&self.address, &self.security, call))
    }
}

/// Calls the coordinator at `address` until there is an answer, for [`PATIENCE`] if none comes. A call that fails on its way may
/// have been carried out, so it is one that may be made again.
///
/// # Errors
/// The last refusal.
pub async fn patiently<T, F>(
    address: &str,
    security: &Security,
    call: impl Fn() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let mut unheard_since = None;
    loop {
        let answer = time::timeout(ANSWER, call()).await.unwrap_or_else(|_| {
            Err(Status::deadline_exceeded(format!("no answer within {} s", ANSWER.as_secs())))
        });
        let status = match answer {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => status,
        };
        let trouble = trouble(&status, address, security).await;
        let may_pass =
            trouble.as_ref().map_or(status.code() == Code::Unavailable, Trouble::may_pass);
        if !may_pass || unheard_since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
            return Err(match trouble {
                Some(trouble) => unreached(&trouble, &message(&status), address),
                None => refusal(&status, address),
            });
        }
        time::sleep(PAUSE).await;
    }
}

/// What is the matter with the way to the coordinator, if a call failed there.
async fn trouble(status: &Status, address: &str, security: &Security) -> Option<Trouble> {
    // What a web server of HTTP/2 says to a call; one that is in front of a coordinator may have nobody behind it yet.
    if status.message().starts_with("grpc-status header missing")
        && status.code() != Code::Unavailable
    {
        return Some(Trouble::SpeaksOldHttp);
    }
    if !failed_on_its_way(status) {
        return None;
    }
    Some(diagnose(address, matches!(security, Security::Tls(_)), status).await)
}

/// A refusal of the coordinator at `address` as a user reads it.
pub fn refusal(status: &Status, address: &str) -> Failure {
    let message = message(status);
    let program = program_name();
    match status.code() {
        Code::NotFound => {
            Failure::bad_input(message).help(format!("`{program} jobs` lists the jobs there are"))
        }
        Code::InvalidArgument | Code::AlreadyExists => Failure::bad_input(message),
        Code::FailedPrecondition => Failure::of(Exit::Failed, message),
        Code::PermissionDenied => {
            Failure::bad_input(format!("the coordinator at {address} refuses: {message}"))
                .help("give the file of a token that has it: --token-file")
        }
        Code::Unauthenticated => Failure::bad_input(format!(
            "the coordinator at {address} refuses: {message}"
        ))
        .help("give what it was started with: --token-file, or --tls-ca, --tls-cert and --tls-key"),
        Code::Unavailable | Code::DeadlineExceeded => Failure::of(
            Exit::Failed,
            format!("the coordinator at {address} does not answer: {message}"),
        )
        .help("see what its log says, and try again"),
        _ => Failure::of(Exit::Failed, format!("the coordinator at {address}: {message}"))
            .help("see what its log says"),
    }
}

/// What is the matter with the way to the coordinator, as a user reads it.
fn unreached(trouble: &Trouble, message: &str, address: &str) -> Failure {
    const NAME_ANOTHER: &str = "name another: --coordinator HOST:PORT";
    let program = program_name();
    let away = |what: &str| Failure::of(Exit::Failed, format!("{what}: {message}"));
    let wrong = |what: String| Failure::bad_input(what);
    match trouble {
        Trouble::NoSuchHost => away(&format!("the host of the coordinator at {address} is not found"))
            .help(format!("see that its name is right, or {NAME_ANOTHER}")),
        Trouble::Refused => away(&format!("no coordinator listens at {address}")).help(format!(
            "start it ({program} coordinator --dir DIR --listen ADDRESS:PORT), or {NAME_ANOTHER}"
        )),
        Trouble::Silent => away(&format!("the coordinator at {address} does not answer")).help(format!(
            "see that its host is up and lets others in at this port (a firewall?), or {NAME_ANOTHER}"
        )),
        Trouble::Unreachable => away(&format!("the host of the coordinator at {address} cannot be reached"))
            .help(format!("see that this machine is in its network, or {NAME_ANOTHER}")),
        Trouble::SpeaksTls => wrong(format!("the coordinator at {address} speaks TLS"))
            .help("give --tls-ca, --tls-cert and --tls-key"),
        Trouble::SpeaksNoTls => wrong(format!("the coordinator at {address} does not speak TLS"))
            .help("leave out --tls-ca, --tls-cert and --tls-key (or ZIGGURAT_TLS_CA and the like), or start it with them"),
        Trouble::SpeaksOldHttp => wrong(format!("at {address} is no coordinator, but a web server")).help(
            "name the address that the coordinator listens on (--listen), not that of its metrics: --coordinator HOST:PORT",
        ),
        Trouble::SpeaksOther => wrong(format!("at {address} is no coordinator, but something else"))
            .help(format!("see that the port is right, or {NAME_ANOTHER}")),
        Trouble::NotTrusted(why) => {
            wrong(format!("the certificate of the coordinator at {address} is not right: {why}")).help(
                "give the certificate of who signed it (--tls-ca), and the name of the host that it is for (--coordinator)",
            )
        }
        Trouble::Distrusts(why) => {
            wrong(format!("the coordinator at {address} does not take the certificate of this side: {why}"))
                .help("give one that an authority has signed that it trusts: --tls-cert and --tls-key")
        }
        Trouble::Lost => away(&format!("the connection to the coordinator at {address} broke"))
            .help("see what its log says, and try again"),
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
        let (exit, report) = told(Status::permission_denied("that takes the role `submit`"));
        assert_eq!(exit, Exit::BadInput);
        assert!(report.contains("`submit`") && report.contains("a token that has it"), "{report}");
        let (exit, report) = told(Status::unavailable("the coordinator is shutting down"));
        assert_eq!(exit, Exit::Failed);
        assert!(report.contains("a:1 does not answer: the coordinator is shutting down"));
    }

    #[test]
    fn each_trouble_has_a_hint_of_its_own() {
        let report = |trouble: &Trouble| {
            let failure = unreached(trouble, "transport error", "a:1");
            assert_eq!(failure.exit == Exit::Failed, trouble.may_pass(), "{trouble:?}");
            failure.report()
        };
        let bad = || "UnknownIssuer".to_owned();
        for (trouble, hint) in [
            (Trouble::NoSuchHost, "its name is right"),
            (Trouble::Refused, "coordinator --dir"),
            (Trouble::Silent, "firewall"),
            (Trouble::Unreachable, "network"),
            (Trouble::SpeaksOldHttp, "metrics"),
            (Trouble::SpeaksOther, "port is right"),
            (Trouble::Lost, "log"),
        ] {
            let report = report(&trouble);
            let (error, help) = report.split_once("\nhelp: ").unwrap();
            assert!(error.contains("a:1") && help.contains(hint), "{report}");
            assert!(!report.to_lowercase().contains("tls"), "{report}");
        }
        for (trouble, hint) in [
            (Trouble::SpeaksTls, "help: give --tls-ca, --tls-cert and --tls-key"),
            (Trouble::SpeaksNoTls, "help: leave out --tls-ca"),
            (
                Trouble::NotTrusted(bad()),
                "UnknownIssuer\nhelp: give the certificate of who signed it",
            ),
            (Trouble::Distrusts(bad()), "--tls-cert and --tls-key"),
        ] {
            let report = report(&trouble);
            assert!(report.contains("a:1") && report.contains(hint), "{report}");
        }
    }

    #[test]
    fn a_status_without_words_has_its_code() {
        assert_eq!(message(&Status::new(Code::Aborted, "")), Code::Aborted.to_string());
    }
}
