//! Why a connection does not come about or breaks, so that a user can be told what to do about it.
//!
//! The error of a connection says what the first byte was that did not fit, which is the same for many causes. So the
//! address is looked at again: whether its host has one, whether somebody listens there, and which protocol that is, by
//! its answer to the beginning of HTTP/2, and to an older request where there is none.

use std::{error::Error, fmt, io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tonic::Status;

use crate::incoming::PREFACE;

/// A host that takes longer to be found, to be reached or to answer is silent.
const LOOK: Duration = Duration::from_secs(2);

/// An empty frame of HTTP/2 settings (RFC 9113, section 6.5), with which a client goes on after the preface.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Why a connection does not come about or breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// No host is called like that, or who knows them cannot be asked.
    NoSuchHost,
    /// The host is there, and nobody listens.
    Refused,
    /// Nothing comes back from the host.
    Silent,
    /// There is no way to the host.
    Unreachable,
    /// Somebody listens who asks for TLS, which this side does not speak.
    SpeaksTls,
    /// Somebody listens who does not speak TLS, which this side asks for.
    SpeaksNoTls,
    /// Somebody listens who speaks an older HTTP: a web server, or metrics.
    SpeaksOldHttp,
    /// Somebody listens who speaks something else.
    SpeaksOther,
    /// The certificate of the other side is not trusted, and why.
    NotTrusted(String),
    /// The other side does not trust the certificate of this side, and why.
    Distrusts(String),
    /// All that is as it should be: the connection broke.
    Lost,
}

impl Trouble {
    /// Whether the same attempt may succeed later, when nobody changes how it is made.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NoSuchHost | Self::Refused | Self::Silent | Self::Unreachable | Self::Lost
        )
    }
}

/// What is the matter, for a log.
impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchHost => formatter.write_str("its host is not found: is the name right?"),
            Self::Refused => formatter.write_str("nobody listens there"),
            Self::Silent => formatter.write_str("nothing comes back: is there a firewall?"),
            Self::Unreachable => formatter.write_str("there is no way to its host"),
            Self::SpeaksTls => {
                formatter.write_str("it speaks TLS: --tls-ca, --tls-cert, --tls-key")
            }
            Self::SpeaksNoTls => {
                formatter.write_str("it does not speak TLS, which this side asks for")
            }
            Self::SpeaksOldHttp => formatter.write_str("it is a web server, or one of metrics"),
            Self::SpeaksOther => formatter.write_str("it is something else: is the port right?"),
            Self::NotTrusted(why) => write!(formatter, "its certificate is not right: {why}"),
            Self::Distrusts(why) => {
                write!(formatter, "it does not take the certificate of this side: {why}")
            }
            Self::Lost => formatter.write_str("it speaks, but the connection broke"),
        }
    }
}

/// Whether a call failed on its way, so that nobody knows whether it was carried out, and not because it was answered like
/// that.
pub fn failed_on_its_way(status: &Status) -> bool {
    // What the other side says has no cause on this side.
    status.source().is_some()
}

/// Finds out why a connection to `HOST:PORT`, over TLS if that is asked for, failed with an error.
pub async fn diagnose(address: &str, asks_for_tls: bool, error: &(dyn Error + 'static)) -> Trouble {
    if let Some(trouble) = told(error) {
        return trouble;
    }
    let hosts = match timeout(LOOK, lookup_host(address)).await {
        Ok(Ok(hosts)) => hosts,
        Ok(Err(_)) | Err(_) => return Trouble::NoSuchHost,
    };
    let mut trouble = Trouble::NoSuchHost;
    for host in hosts {
        trouble = match timeout(LOOK, TcpStream::connect(host)).await {
            Ok(Ok(stream)) => {
                return match heard(stream, asks_for_tls).await {
                    Trouble::Lost if answers_old_http(host).await => Trouble::SpeaksOldHttp,
                    trouble => trouble,
                };
            }
            Ok(Err(error)) => of_kind(error.kind()).unwrap_or(Trouble::Unreachable),
            Err(_) => Trouble::Silent,
        };
    }
    trouble
}

/// What an error says for itself.
fn told(error: &(dyn Error + 'static)) -> Option<Trouble> {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    for error in chain {
        let text = error.to_string();
        let after = |words: &str| text.split_once(words).map(|(_, why)| why.to_owned());
        if let Some(why) = after("invalid peer certificate: ") {
            return Some(Trouble::NotTrusted(why));
        }
        if let Some(why) = after("received fatal alert: ") {
            return Some(Trouble::Distrusts(why));
        }
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if let Some(trouble) = kind.and_then(of_kind) {
            return Some(trouble);
        }
    }
    None
}

fn of_kind(kind: io::ErrorKind) -> Option<Trouble> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some(Trouble::Refused),
        io::ErrorKind::TimedOut => Some(Trouble::Silent),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Some(Trouble::Unreachable)
        }
        _ => None,
    }
}

/// Which protocol is spoken at the other end, by its answer to the beginning of HTTP/2.
async fn heard(mut stream: TcpStream, asks_for_tls: bool) -> Trouble {
    let mut answer = Vec::new();
    let hears = async {
        stream.write_all(PREFACE).await?;
        stream.write_all(&SETTINGS).await?;
        while answer.len() < SETTINGS.len() && stream.read_buf(&mut answer).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // What was heard before it broke off is what counts.
    let _ = timeout(LOOK, hears).await;
    match answer[..] {
        [] => Trouble::Lost,
        [_, _, _, 4, ..] if asks_for_tls => Trouble::SpeaksNoTls,
        [_, _, _, 4, ..] => Trouble::Lost,
        // The record of an alert, of any version (RFC 8446, section 5.1).
        [21, 3, ..] if asks_for_tls => Trouble::Lost,
        [21, 3, ..] => Trouble::SpeaksTls,
        [b'H', b'T', b'T', b'P', ..] => Trouble::SpeaksOldHttp,
        _ => Trouble::SpeaksOther,
    }
}

/// Whether a web server answers, which may break a connection off that begins as in HTTP/2.
async fn answers_old_http(host: SocketAddr) -> bool {
    let mut answer = [0; 4];
    let hears = async {
        let mut stream = TcpStream::connect(host).await?;
        stream
            .write_all(b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await?;
        stream.read_exact(&mut answer).await
    };
    matches!(timeout(LOOK, hears).await, Ok(Ok(_))) && answer == *b"HTTP"
}
