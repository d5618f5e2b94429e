//! `ziggurat serve`: tables over HTTP, and the page that explores them.

use std::{net::SocketAddr, path::PathBuf};

use clap::builder::BoolishValueParser;
use ziggurat_rpc::Security;
use ziggurat_web::{
    explorer::{self, ServedError},
    server::{self, BindError, Cors, Options},
};

use crate::{
    cluster::{
        flags::{LogFormat, parse_socket},
        server::serve,
    },
    failure::{Exit, Explain, Failure},
    needs::check_available,
    output::print,
    resources,
};

/// Serve tables over HTTP, and a page in the browser to explore them, play and review games
///
/// docs/EXPLORER.md describes the page and the API. Ctrl-C, SIGTERM or SIGHUP ends it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat serve finkel-7.zgt\n\
\x20 ziggurat serve *.zgt --listen 0.0.0.0:7480 --token-file token\n\
\x20 curl 'http://127.0.0.1:7480/v1/finkel-7?position=4,8+1/3,12&roll=2'")]
pub struct Args {
    /// Solved tables, .zgt or .rgu; each is served under the name of its file without the ending
    #[arg(required = true, value_name = "TABLE")]
    tables: Vec<PathBuf>,

    /// Where to listen; beyond this machine only with --token-file or --insecure
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "ZIGGURAT_LISTEN",
        default_value = "127.0.0.1:7480",
        value_parser = parse_socket
    )]
    listen: SocketAddr,

    /// A file with the secret that requests have to tell
    #[arg(long, value_name = "FILE", env = "ZIGGURAT_TOKEN_FILE")]
    token_file: Option<PathBuf>,

    /// Listen beyond this machine although anybody may then read the tables
    #[arg(long, env = "ZIGGURAT_INSECURE", value_parser = BoolishValueParser::new())]
    insecure: bool,

    /// Memory for parts of compressed tables that stay unpacked, such as 2GiB: with all of them there, look-ups are as fast as those
    /// of a table that was written with --raw
    /// [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    #[arg(
        long, value_name = "ORIGIN", value_parser = parse_origin,
        help = "Let pages of this origin, such as https://example.org, read the answers; * for all; may be given several times"
    )]
    cors: Vec<String>,

    /// How log lines are written to standard error; ZIGGURAT_LOG chooses which, such as `debug`
    #[arg(long, value_enum, env = "ZIGGURAT_LOG_FORMAT", default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// What unpacked parts of tables take, unless the user says otherwise.
const DEFAULT_MEMORY: u64 = 256 << 20;

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(memory) = args.memory {
        check_available("--memory", memory)?;
    }
    let security = match &args.token_file {
        Some(file) => Security::from_token_file(file).or_bad_input()?,
        None => Security::Open,
    };
    let mut cors = Cors::default();
    for origin in &args.cors {
        cors.add(origin).map_err(Failure::bad_input)?;
    }
    let token = match &security {
        Security::Token(token) => Some(token.clone()),
        Security::Open | Security::Tls(_) => None,
    };
    let options = Options { token, insecure: args.insecure, cors, ..Options::default() };
    let pages =
        explorer::pages(&args.tables, args.memory.unwrap_or(DEFAULT_MEMORY)).map_err(|error| {
            match error {
                ServedError::Table(error) => Failure::from(error),
                ServedError::SameName { .. } => Failure::bad_input(error),
            }
        })?;
    serve(
        args.log_format,
        async |shutdown| {
            let bound = server::bind(args.listen, &options).await?;
            tokio::spawn(security.clone().keep_renewed(|_| {}, |_| {}));
            // Nobody may be there to read it.
            let _ = print(&format!("http://{}/\n", bound.address()));
            server::serve(bound, pages, options, shutdown).await;
            Ok(())
        },
        |error| matches!(error, BindError::Exposed { .. }),
    )
}

/// An origin, or `*`.
fn parse_origin(text: &str) -> Result<String, String> {
    Cors::default().add(text).map(|()| text.to_owned())
}
