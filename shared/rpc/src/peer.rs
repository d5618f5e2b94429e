//! The other end of a connection, as a server sees it.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status};

use crate::{hosts::Hosts, limits::LINGER};

/// The other end of a connection to this server. Every request that comes over it carries one: see
/// [`Peer::of`].
#[derive(Clone)]
pub struct Peer(Arc<Shared>);

struct Shared {
    address: SocketAddr,
    hosts: Arc<Mutex<Hosts>>,
    /// Whom to tell that it misbehaved.
    misbehaved: Arc<dyn Fn() + Send + Sync>,
    has_misbehaved: AtomicBool,
    /// The number of its connection.
    number: u64,
    is_member: AtomicBool,
    closed: CancellationToken,
}

impl Peer {
    pub(crate) fn new(
        address: SocketAddr,
        hosts: Arc<Mutex<Hosts>>,
        misbehaved: Arc<dyn Fn() + Send + Sync>,
        (number, closed): (u64, CancellationToken),
    ) -> Self {
        let (has_misbehaved, is_member) = Default::default();
        Self(Arc::new(Shared {
            address,
            hosts,
            misbehaved,
            has_misbehaved,
            number,
            is_member,
            closed,
        }))
    }

    /// It is known for a member of the cluster. Whether there is room for one more.
    pub(crate) fn authenticate(&self) -> bool {
        if self.is_member() {
            return true;
        }
        let mut hosts = self.hosts();
        // Another call of the same connection may have been sooner.
        if !self.is_member() && hosts.authenticate(self.0.address.ip(), self.0.number) {
            self.0.is_member.store(true, Ordering::Relaxed);
        }
        self.is_member()
    }

    /// Whether it is.
    pub(crate) fn is_member(&self) -> bool {
        self.0.is_member.load(Ordering::Relaxed)
    }

    /// Its connection has ended.
    pub(crate) fn leave(&self) {
        let mut hosts = self.hosts();
        hosts.leave(self.0.address.ip(), self.0.number, self.is_member());
    }

    /// Who sent a request; `None` if it did not come over a connection of [`Bound::incoming`](crate::Bound::incoming).
    pub fn of<T>(request: &Request<T>) -> Option<&Self> {
        request.extensions().get()
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// It did something that no peer of this protocol does: names it in the log, and disconnects it a
    /// moment later, so that it can still read why. `what` continues "disconnected a peer that ...". One host that does the same
    /// again and again is named every ten minutes.
    pub fn misbehaved(&self, what: impl fmt::Display) {
        if self.0.has_misbehaved.swap(true, Ordering::Relaxed) {
            return;
        }
        let what = what.to_string();
        let peer = self.0.address;
        let since = self.hosts().offend(peer.ip(), what.clone(), Instant::now());
        match since {
            Some(0) => tracing::warn!(%peer, "disconnected a peer that {what}"),
            Some(times) => {
                tracing::warn!(%peer, times, "disconnected a peer that {what}, again and again")
            }
            None => tracing::debug!(%peer, "disconnected a peer that {what}"),
        }
        (self.0.misbehaved)();
        let closed = self.0.closed.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LINGER).await;
            closed.cancel();
        });
    }

    /// Of an error that ended a stream of its messages: disconnects it if the error is that a message was too
    /// large or none at all.
    pub fn sent(&self, error: &Status) {
        if is_no_message(error) {
            self.misbehaved(format_args!("sent what is no message: {}", error.message()));
        }
    }

    pub(crate) fn closed(&self) -> CancellationToken {
        self.0.closed.clone()
    }

    pub(crate) fn hosts(&self) -> std::sync::MutexGuard<'_, Hosts> {
        self.0.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peer").field(&self.0.address).finish()
    }
}

/// What the decoder says of bytes that are no message, or too large. It has no code for them alone.
const NO_MESSAGE: [&str; 3] = [
    "decoded message length too large",
    "failed to decode Protobuf message",
    "protocol error: received message with",
];

fn is_no_message(status: &Status) -> bool {
    matches!(status.code(), Code::OutOfRange | Code::Internal)
        && NO_MESSAGE.iter().any(|words| status.message().contains(words))
}
