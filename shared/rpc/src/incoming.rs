//! Listening, and what happens to a connection until its first request: limits, TLS, and the preface that
//! tells a gRPC client from garbage.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr, TcpListener},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Instant,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use crate::{
    Peer, RpcError, Security, Tls,
    goodbye::Goodbyes,
    hosts::{Admission, Hosts},
    limits::{AUTHENTICATION_TIMEOUT, HANDSHAKE_TIMEOUT, PENALTY},
};

/// What every HTTP/2 client begins with (RFC 9113, section 3.4).
pub(crate) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Connections that are ready and not yet taken up.
const READY: usize = 16;

/// A socket that listens.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    security: Security,
}

/// Listens at an address; port 0 stands for any that is free.
///
/// # Errors
/// If others than this machine could reach it and nobody would ask who they are, unless that is what
/// `insecure` says; if the address cannot be listened on.
pub fn bind(address: SocketAddr, security: &Security, insecure: bool) -> Result<Bound, RpcError> {
    let is_open = matches!(security, Security::Open);
    if is_open && !insecure && !address.ip().to_canonical().is_loopback() {
        return Err(RpcError::Exposed { address });
    }
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Bound { listener, address, security: security.clone() })
    };
    listen().map_err(|source| RpcError::Bind { address, source })
}

impl Bound {
    /// The address it listens at, with the port that was free if any would do.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connections that are made to it, once they speak HTTP/2 (over TLS, if that is asked for). Those that do
    /// not are disconnected and named in the log. It stops listening when the stream is dropped.
    ///
    /// # Errors
    /// If the socket cannot be waited for.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn incoming(self) -> io::Result<impl Stream<Item = io::Result<Accepted>> + use<>> {
        self.incoming_watched(|| {})
    }

    /// The same, and is told of every peer that misbehaves, before its first request or later.
    ///
    /// # Errors
    /// If the socket cannot be waited for.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn incoming_watched<F: Fn() + Send + Sync + 'static>(
        self,
        misbehaved: F,
    ) -> io::Result<impl Stream<Item = io::Result<Accepted>> + use<F>> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let (ready, connections) = mpsc::channel(READY);
        let door = Door {
            tls: match self.security {
                Security::Tls(tls) => Some(tls),
                Security::Open | Security::Token(_) => None,
            },
            hosts: Arc::default(),
            misbehaved: Arc::new(misbehaved),
        };
        tokio::spawn(door.accept(listener, ready));
        Ok(ReceiverStream::new(connections))
    }
}

/// Where connections come in.
struct Door {
    tls: Option<Tls>,
    hosts: Arc<Mutex<Hosts>>,
    misbehaved: Arc<dyn Fn() + Send + Sync>,
}

impl Door {
    /// Says, now and then, that a connection of a host was closed.
    fn turned_away(&self, host: IpAddr, why: &str) {
        (self.misbehaved)();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(times) = hosts.turn_away(host, why, Instant::now()) {
            tracing::warn!(%host, times, "closed a connection: {why}");
        }
    }

    async fn accept(
        self,
        listener: tokio::net::TcpListener,
        ready: mpsc::Sender<io::Result<Accepted>>,
    ) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = ready.closed() => return,
            };
            match accepted {
                Ok((stream, address)) => self.admit(stream, address, &ready),
                Err(error) => {
                    // A connection that is gone already, or no file handles left, which takes a moment.
                    tracing::warn!(%error, "could not accept a connection");
                    sleep(PENALTY).await;
                }
            }
        }
    }

    fn admit(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        ready: &mpsc::Sender<io::Result<Accepted>>,
    ) {
        let closed = CancellationToken::new();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let (admission, turned_away) = hosts.admit(address.ip(), &closed, Instant::now());
        drop(hosts);
        if let Some(host) = turned_away {
            self.turned_away(host, "too many connections of strangers");
        }
        let (number, is_late) = match admission {
            Admission::Now(number) => (number, false),
            Admission::Later(number) => (number, true),
            Admission::Refused => {
                return self
                    .turned_away(address.ip(), "too many connections of a host that misbehaves");
            }
        };
        let peer =
            Peer::new(address, self.hosts.clone(), self.misbehaved.clone(), (number, closed));
        let presence = Presence(peer.clone());
        tokio::spawn(expect_member(peer.clone()));
        // With the certificates of now: they may be renewed at any time.
        let tls = self.tls.as_ref().map(|tls| TlsAcceptor::from(tls.server()));
        let ready = ready.clone();
        tokio::spawn(async move {
            if is_late {
                sleep(PENALTY).await;
                peer.hosts().has_waited(address.ip());
            }
            let hands = timeout(HANDSHAKE_TIMEOUT, shake_hands(stream, tls));
            // It may have to go for another.
            let Some(shaken) = peer.closed().run_until_cancelled(hands).await else { return };
            match shaken {
                Ok(Ok(Some(stream))) => {
                    // Its certificate was looked at.
                    if matches!(stream, Transport::Tls(_)) && !peer.authenticate() {
                        return tracing::debug!(peer = %address, "closed a connection: too many");
                    }
                    // If nobody takes it up, the server is shutting down.
                    let _ = ready.send(Ok(Accepted::new(stream, presence))).await;
                }
                Ok(Ok(None)) => tracing::debug!(peer = %address, "left without a word"),
                Ok(Err(error)) => peer.misbehaved(format_args!("did not shake hands: {error}")),
                Err(_) => peer.misbehaved("did not shake hands in time"),
            }
        });
    }
}

/// Disconnects a peer that is a stranger for too long.
async fn expect_member(peer: Peer) {
    let closed = peer.closed();
    let too_long = sleep(AUTHENTICATION_TIMEOUT);
    if closed.run_until_cancelled(too_long).await.is_some() && !peer.is_member() {
        peer.misbehaved(format_args!("did not say in {AUTHENTICATION_TIMEOUT:?} who it is"));
    }
}

/// Waits for the preface, under TLS if that is asked for; `None` if the peer leaves without a word,
/// as probes do that only look whether somebody is listening.
async fn shake_hands(stream: TcpStream, tls: Option<TlsAcceptor>) -> io::Result<Option<Transport>> {
    if !matches!(stream.peek(&mut [0]).await, Ok(1)) {
        return Ok(None);
    }
    stream.set_nodelay(true)?;
    let mut stream = match tls {
        Some(tls) => Transport::Tls(Box::new(tls.accept(stream).await?)),
        None => Transport::Plain(stream),
    };
    for &expected in PREFACE {
        if stream.read_u8().await? != expected {
            return Err(io::Error::other("it does not speak HTTP/2"));
        }
    }
    Ok(Some(stream))
}

/// Counts a connection for as long as it is there.
struct Presence(Peer);

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.leave();
        // Nobody waits any more for it to become a member.
        self.0.closed().cancel();
    }
}

/// What carries the bytes.
enum Transport {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

/// A connection of a client that has begun to speak HTTP/2. It ends when its [`Peer`] misbehaves.
pub struct Accepted {
    stream: Transport,
    /// How much of the preface, which was read already, has been read again.
    preface_read: usize,
    presence: Presence,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    goodbyes: Goodbyes,
}

impl Accepted {
    fn new(stream: Transport, presence: Presence) -> Self {
        let closed = Box::pin(presence.0.closed().cancelled_owned());
        Self { stream, preface_read: 0, presence, closed, goodbyes: Goodbyes::default() }
    }

    fn has_sent(&mut self, bytes: &[u8]) {
        if let Some(code) = self.goodbyes.look(bytes) {
            self.presence.0.misbehaved(format_args!("broke HTTP/2 (error code {code})"));
        }
    }
}

impl Connected for Accepted {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.presence.0.clone()
    }
}

/// Does the same to either kind of stream.
macro_rules! either {
    ($transport:expr, $stream:ident => $call:expr) => {
        match $transport {
            Transport::Plain($stream) => $call,
            Transport::Tls($stream) => $call,
        }
    };
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let preface = &PREFACE[self.preface_read..];
        if !preface.is_empty() {
            let length = preface.len().min(buffer.remaining());
            buffer.put_slice(&preface[..length]);
            self.preface_read += length;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = either!(&mut this.stream, stream =>
            Pin::new(stream).poll_write_vectored(context, slices));
        if let Poll::Ready(Ok(written)) = written {
            let mut left = written;
            for slice in slices {
                let sent = left.min(slice.len());
                this.has_sent(&slice[..sent]);
                left -= sent;
            }
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        either!(&self.stream, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.get_mut().stream, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.get_mut().stream, stream => Pin::new(stream).poll_shutdown(context))
    }
}
