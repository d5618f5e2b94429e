//! `ziggurat coordinator`: takes jobs, and shares them out to workers.

use std::{error::Error, fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::oneshot;
use ziggurat_coordinator::{Alone, CoordinatorError, Options, run_watched};
use ziggurat_encoding::Encoding;
use ziggurat_kernel::{Settings, base_memory_bytes, plan};
use ziggurat_rpc::{RpcError, Security};
use ziggurat_telemetry::BindError;
use ziggurat_web::{dashboard, server};

use super::dashboard::Jobs;
use crate::{
    cluster::{
        config::ConfigArgs,
        flags::{ListenArgs, SecurityArgs, parse_socket},
        server::serve,
    },
    failure::{Exit, Explain, Failure},
    resources::parse_duration,
};

/// Run the coordinator of a cluster: it takes jobs and shares them out to workers
///
/// It can be killed at any moment and started again on its directory. Ctrl-C, SIGTERM or SIGHUP ends it;
/// its workers wait for it then.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// The directory for what it must not forget; made if there is none
    #[arg(long, value_name = "DIR", env = "ZIGGURAT_DIR")]
    dir: PathBuf,

    /// Where to listen; beyond this machine only with --token-file, --tls-... or --insecure
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "ZIGGURAT_LISTEN",
        default_value = "127.0.0.1:7400",
        value_parser = parse_socket
    )]
    listen: SocketAddr,

    /// A worker that is not heard of for this time is taken for lost: what it was at is begun anew without it, as soon
    /// as others can have what it saved, or --lost-after is over; from 1s to 24h
    #[arg(
        long,
        value_name = "TIME",
        env = "ZIGGURAT_LEASE",
        default_value = "10s",
        value_parser = parse_lease
    )]
    lease: Duration,

    /// How long a job waits for what a lost worker alone has of a step under way; then that is computed again
    #[arg(
        long,
        value_name = "TIME",
        env = "ZIGGURAT_LOST_AFTER",
        default_value = "10min",
        value_parser = parse_duration
    )]
    lost_after: Duration,

    /// The same for what it alone has of a solved step; or never, which leaves it to `worker forget`
    #[arg(
        long,
        value_name = "TIME|never",
        env = "ZIGGURAT_SOLVED_LOST_AFTER",
        default_value = "never",
        value_parser = parse_patience
    )]
    solved_lost_after: Patience,

    /// Remove jobs, with their values, that ended (solved, failed or cancelled) so long ago, such as 7d; or never
    #[arg(
        long,
        value_name = "TIME|never",
        env = "ZIGGURAT_KEEP_SOLVED",
        default_value = "never",
        value_parser = parse_patience
    )]
    keep_solved: Patience,

    /// Steps with fewer positions are not split: what workers exchange costs more than it gains then
    #[arg(long, value_name = "POSITIONS", env = "ZIGGURAT_SPLIT_ABOVE", default_value_t = 2 << 20)]
    split_above: u64,

    /// Serve the dashboard, a page that watches jobs, over HTTP at this address; beyond this machine only with a token or
    /// --insecure
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "ZIGGURAT_HTTP",
        value_parser = parse_socket
    )]
    http: Option<SocketAddr>,

    /// A file with the secret that the dashboard asks for [default: that of --token-file]
    #[arg(long, value_name = "FILE", env = "ZIGGURAT_HTTP_TOKEN_FILE")]
    http_token_file: Option<PathBuf>,

    #[command(flatten)]
    security: SecurityArgs,

    #[command(flatten)]
    listening: ListenArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let security = args.security.security()?;
    let page = args.http.map(|at| Page::new(at, args, &security)).transpose()?;
    let options = Options {
        listen: args.listen,
        dir: args.dir.clone(),
        security,
        insecure: args.listening.insecure,
        insecure_metrics: args.listening.insecure_metrics,
        lease: args.lease,
        lost_after: args.lost_after,
        solved_lost_after: args.solved_lost_after.0,
        keep_ended: args.keep_solved.0,
        whole_step_positions: args.split_above,
        metrics: args.listening.metrics,
        memory_alone,
    };
    serve(
        args.listening.log_format,
        async |shutdown| {
            let page = match &page {
                Some(page) => Some((page.bind().await?, page.options.clone())),
                None => None,
            };
            let (end, ended) = oneshot::channel::<()>();
            let listen = options.listen;
            let watch = |board| {
                let Some((bound, options)) = page else { return };
                let source = Arc::new(Jobs::new(board, listen));
                let pages = dashboard::pages(source);
                tokio::spawn(server::serve(bound, pages, options, async {
                    let _ = ended.await; // it ends with the coordinator
                }));
            };
            let ran = run_watched(options, watch, shutdown).await;
            drop(end);
            ran.map_err(Stopped::from)
        },
        |stopped| match stopped {
            Stopped::Coordinator(error) => is_bad_input(error),
            Stopped::Page(error) => matches!(error, server::BindError::Exposed { .. }),
        },
    )
}

/// The dashboard of a coordinator.
struct Page {
    at: SocketAddr,
    /// What knows the token.
    security: Security,
    options: server::Options,
}

impl Page {
    /// One that asks for its own token, or that of the cluster.
    ///
    /// # Errors
    /// If the token cannot be read, or there is none where the cluster asks for certificates.
    fn new(at: SocketAddr, args: &Args, cluster: &Security) -> Result<Self, Failure> {
        let security = match (&args.http_token_file, cluster) {
            (Some(file), _) => Security::from_token_file(file).or_bad_input()?,
            (None, Security::Tls(_)) => {
                let what = "the cluster asks for certificates, which its dashboard cannot";
                return Err(Failure::bad_input(what)
                    .help("give the dashboard a secret of its own: --http-token-file FILE"));
            }
            (None, cluster) => cluster.clone(),
        };
        let token = match &security {
            Security::Token(token) => Some(token.clone()),
            Security::Open | Security::Tls(_) => None,
        };
        let insecure = args.listening.insecure;
        let options = server::Options { token, insecure, ..server::Options::default() };
        Ok(Self { at, security, options })
    }

    async fn bind(&self) -> Result<server::Bound, server::BindError> {
        let bound = server::bind(self.at, &self.options).await?;
        tokio::spawn(self.security.clone().keep_renewed(|_| {}, |_| {}));
        Ok(bound)
    }
}

/// Why a coordinator or its dashboard does not start, or stops.
#[derive(Debug)]
enum Stopped {
    Coordinator(CoordinatorError),
    Page(server::BindError),
}

impl From<CoordinatorError> for Stopped {
    fn from(error: CoordinatorError) -> Self {
        Self::Coordinator(error)
    }
}

impl From<server::BindError> for Stopped {
    fn from(error: server::BindError) -> Self {
        Self::Page(error)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coordinator(error) => error.fmt(f),
            Self::Page(error) => write!(f, "the dashboard: {error}"),
        }
    }
}

impl Error for Stopped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Coordinator(error) => error.source(),
            Self::Page(error) => error.source(),
        }
    }
}

/// A coordinator that was started in a way that cannot be right is not to be started again like that.
fn is_bad_input(error: &CoordinatorError) -> bool {
    matches!(error, CoordinatorError::Store(error) if error.lasts())
        || matches!(
            error,
            CoordinatorError::OtherVersion { .. }
                | CoordinatorError::Fenced { .. }
                | CoordinatorError::Rpc(RpcError::Exposed { .. })
                | CoordinatorError::Metrics(BindError::Exposed { .. })
        )
}

/// How long something is waited for; `None` for ever.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Patience(Option<Duration>);

fn parse_patience(text: &str) -> Result<Patience, String> {
    match text {
        "never" => Ok(Patience(None)),
        _ => parse_duration(text).map(|time| Patience(Some(time))),
    }
}

/// A worker is heard of three times in a lease: shorter ones would be over before.
fn parse_lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text)?;
    let hour = Duration::from_secs(3600);
    match (Duration::from_secs(1)..=24 * hour).contains(&lease) {
        true => Ok(lease),
        false => Err("a lease is from 1s to 24h".to_owned()),
    }
}

/// What one process takes on one thread that does a job alone.
fn memory_alone(encoding: &Encoding, settings: &Settings) -> Alone {
    let memory = plan(encoding, &Settings { threads: 1, ..settings.clone() }).memory;
    let base = base_memory_bytes(1);
    Alone {
        memory_bytes: memory.sparing_bytes + base,
        least_memory_bytes: memory.least_bytes(base),
        arrays_bytes: memory.sparing_bytes - memory.scratch_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_solved_is_waited_for_for_some_time_or_for_ever() {
        assert_eq!(parse_patience("never"), Ok(Patience(None)));
        assert_eq!(parse_patience("2h"), Ok(Patience(Some(Duration::from_secs(7200)))));
        assert!(parse_patience("always").is_err());
    }

    #[test]
    fn a_lease_is_long_enough_to_be_heard_in() {
        assert_eq!(parse_lease("1s"), Ok(Duration::from_secs(1)));
        for wrong in ["0s", "999ms", "25h", "soon"] {
            assert!(parse_lease(wrong).is_err(), "{wrong}");
        }
    }
}
