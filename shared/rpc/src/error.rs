//! Why there is no server or no connection.

use std::{io, net::SocketAddr, path::PathBuf};

use thiserror::Error;

/// Why there is no server or no connection.
#[derive(Debug, Error)]
pub enum RpcError {
    /// A file with a secret or a certificate could not be read.
    #[error("cannot read {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {problem}", file.display())]
    Secret {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// Others could reach the server and nobody would ask who they are.
    #[error(
        "{address} can be reached from other machines, and anybody there could give orders: ask for a \
         shared secret (--token-file FILE) or certificates (--tls-ca, --tls-cert and --tls-key), \
         listen on 127.0.0.1, or say --insecure if the network keeps strangers out"
    )]
    Exposed {
        /// Where it should listen.
        address: SocketAddr,
    },
    /// There is no listening at an address.
    #[error("cannot listen on {address}: {source}; is another process listening there?")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Something that is no address.
    #[error("`{address}` is no address; write HOST:PORT, such as 127.0.0.1:7400")]
    Address {
        /// What was given.
        address: String,
    },
    /// Nobody answers, or not in the way that was asked for.
    #[error("cannot connect to {address}: {problem}")]
    Connect {
        /// The address.
        address: String,
        /// Why, and what to look at.
        problem: String,
    },
}
