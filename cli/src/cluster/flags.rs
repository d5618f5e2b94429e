//! The options that name a coordinator, and say who may speak to whom.

use std::{env, net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum, builder::BoolishValueParser};
use ziggurat_rpc::{Security, convert::is_name, is_address, limits::NAME_BYTES};

use crate::failure::{Explain, Failure};

/// The variable that says where the coordinator listens.
const COORDINATOR: &str = "ZIGGURAT_COORDINATOR";

/// Where it listens if nobody says so.
const DEFAULT_COORDINATOR: &str = "127.0.0.1:7400";

/// The variables that say who may speak to whom where no option does. For `clap` they would be as good as the options, of which
/// a token's file does not go with certificates.
const TOKEN_FILE: &str = "ZIGGURAT_TOKEN_FILE";
const TLS_FILES: [&str; 3] = ["ZIGGURAT_TLS_CA", "ZIGGURAT_TLS_CERT", "ZIGGURAT_TLS_KEY"];

/// Which coordinator, and what it knows its users by.
#[derive(Args, Clone, Debug)]
pub struct CoordinatorArgs {
    /// Where the coordinator listens
    /// [env: ZIGGURAT_COORDINATOR] [default: 127.0.0.1:7400]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_address, help_heading = "Cluster")]
    coordinator: Option<String>,

    #[command(flatten)]
    pub security: SecurityArgs,
}

impl CoordinatorArgs {
    /// Where the coordinator listens: as typed, or what the environment says. Commands that speak to no coordinator do not
    /// ask.
    ///
    /// # Errors
    /// If the environment has what is no address.
    pub fn address(&self) -> Result<String, Failure> {
        let from_environment = || env::var(COORDINATOR).ok().filter(|address| !address.is_empty());
        match (&self.coordinator, from_environment()) {
            (Some(typed), _) => Ok(typed.clone()),
            (None, Some(address)) => parse_address(&address)
                .map_err(|why| Failure::bad_input(format!("{COORDINATOR}: {why}"))),
            (None, None) => Ok(DEFAULT_COORDINATOR.to_owned()),
        }
    }
}

/// What peers know each other by: nothing, a shared secret, or certificates.
#[derive(Args, Clone, Default, Debug)]
pub struct SecurityArgs {
    /// A file with the secret that all of the cluster share [env: ZIGGURAT_TOKEN_FILE]
    #[arg(long, value_name = "FILE", conflicts_with = "tls_ca", help_heading = "Cluster")]
    token_file: Option<PathBuf>,

    /// Speak TLS: the certificate (PEM) of who signs the certificates of the cluster [env: ZIGGURAT_TLS_CA]
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        requires = "tls_key",
        help_heading = "Cluster"
    )]
    tls_ca: Option<PathBuf>,

    /// The certificate (PEM) of this peer [env: ZIGGURAT_TLS_CERT]
    #[arg(long, value_name = "FILE", requires = "tls_ca", help_heading = "Cluster")]
    tls_cert: Option<PathBuf>,

    /// The key (PEM) of that certificate [env: ZIGGURAT_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "tls_ca", help_heading = "Cluster")]
    tls_key: Option<PathBuf>,
}

impl SecurityArgs {
    /// What they stand for; what the environment says, if none of them is given.
    ///
    /// # Errors
    /// If one of the files cannot be read, or is not what it should be; if the environment names a token's file and certificates,
    /// or some of the files that certificates take.
    pub fn security(&self) -> Result<Security, Failure> {
        let typed = [&self.token_file, &self.tls_ca, &self.tls_cert, &self.tls_key];
        let [token, certificates @ ..] = if typed.iter().any(|file| file.is_some()) {
            typed.map(Clone::clone)
        } else {
            let [ca, certificate, key] = TLS_FILES;
            [TOKEN_FILE, ca, certificate, key].map(|variable| {
                env::var_os(variable).filter(|file| !file.is_empty()).map(PathBuf::from)
            })
        };
        match (token, certificates) {
            (None, [None, None, None]) => Ok(Security::Open),
            (Some(token), [None, None, None]) => Security::from_token_file(&token).or_bad_input(),
            (None, [Some(ca), Some(certificate), Some(key)]) => {
                Security::from_tls_files(&ca, &certificate, &key).or_bad_input()
            }
            _ => Err(Failure::bad_input(format!(
                "the environment is to have {TOKEN_FILE}, or all of {}, or none of them",
                TLS_FILES.join(", ")
            ))),
        }
    }
}

/// What only the commands have that listen.
#[derive(Args, Clone, Debug)]
pub struct ListenArgs {
    /// Listen beyond this machine although anybody may then give orders and read tables
    #[arg(
        long,
        env = "ZIGGURAT_INSECURE",
        value_parser = BoolishValueParser::new(),
        help_heading = "Cluster"
    )]
    pub insecure: bool,

    /// Serve /metrics, /healthz and /readyz over HTTP at this address
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "ZIGGURAT_METRICS",
        value_parser = parse_socket,
        help_heading = "Cluster"
    )]
    pub metrics: Option<SocketAddr>,

    /// Serve metrics beyond this machine although everybody who reaches them may read them
    #[arg(
        long,
        env = "ZIGGURAT_INSECURE_METRICS",
        value_parser = BoolishValueParser::new(),
        help_heading = "Cluster"
    )]
    pub insecure_metrics: bool,

    /// How log lines are written to standard error; ZIGGURAT_LOG chooses which, such as `debug`
    #[arg(
        long,
        value_enum,
        env = "ZIGGURAT_LOG_FORMAT",
        default_value_t = LogFormat::Text,
        help_heading = "Cluster"
    )]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum LogFormat {
    /// For people
    Text,
    /// An object per line
    Json,
}

/// The name of a worker or a job.
pub fn parse_name(text: &str) -> Result<String, String> {
    match is_name(text) {
        true => Ok(text.to_owned()),
        false => {
            Err(format!("a name has 1 to {NAME_BYTES} bytes, on one line, not all of them blank"))
        }
    }
}

/// An address of this machine, and a port.
pub fn parse_socket(text: &str) -> Result<SocketAddr, String> {
    let example = "write ADDRESS:PORT with an IP address of this machine, such as 127.0.0.1:7401";
    text.parse().map_err(|_| example.to_owned())
}

/// A host and a port.
pub fn parse_address(text: &str) -> Result<String, String> {
    if is_address(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is no address; write HOST:PORT, such as 127.0.0.1:7400"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for right in ["127.0.0.1:7400", "node-1.example:1", "[::1]:7400"] {
            assert_eq!(parse_address(right).as_deref(), Ok(right));
        }
        for wrong in ["", "host", "host:", ":7400", "host:0", "host:70000", "http://a:1"] {
            assert!(parse_address(wrong).unwrap_err().contains("HOST:PORT"), "{wrong}");
        }
    }
}
