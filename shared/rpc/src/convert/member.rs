//! Workers, as others know and reach them.

use super::WireError;
use crate::{is_address, proto};

/// A worker, as others reach it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Its identity, which its disk keeps.
    pub worker: u64,
    /// Where its Data service listens: host:port.
    pub address: String,
}

impl From<&Member> for proto::Peer {
    fn from(member: &Member) -> Self {
        let (worker, address) = (identity_text(member.worker), member.address.clone());
        Self { worker, address, name: String::new() }
    }
}

impl TryFrom<proto::Peer> for Member {
    type Error = WireError;

    fn try_from(peer: proto::Peer) -> Result<Self, WireError> {
        let proto::Peer { worker, address, .. } = peer;
        Ok(Self { worker: identity(&worker)?, address: address_in(address)? })
    }
}

pub(super) fn address_in(address: String) -> Result<String, WireError> {
    if is_address(&address) {
        return Ok(address);
    }
    Err(WireError::new("address", format_args!("{address:?} is not host:port")))
}

/// A worker's identity as it is written: 16 hexadecimal digits.
pub fn identity_text(worker: u64) -> String {
    format!("{worker:016x}")
}

/// Reads a worker's identity.
///
/// # Errors
/// If it is not written in 16 digits as [`identity_text`] writes them.
pub fn identity(text: &str) -> Result<u64, WireError> {
    let worker = u64::from_str_radix(text, 16).ok();
    let problem = || WireError::new("worker", format_args!("{text:?} is no identity"));
    worker.filter(|&worker| identity_text(worker) == text).ok_or_else(problem)
}
