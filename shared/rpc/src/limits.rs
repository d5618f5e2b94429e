//! The limits of the protocol: what a peer may send, how much of it, and how long it may take.

use std::time::Duration;

/// The version of the protocol, and of what members do to their shards.
pub const PROTOCOL: u32 = 26;

/// The oldest version that is understood, too: the one before, while the programs of a cluster are replaced one after
/// another. Requests that both versions mean the same by name this one, so
/// those who know only that one understand them. Peers of other versions are refused.
pub const OLDEST_PROTOCOL: u32 = 25;

/// From this version on, members do the same to their shards: those of one go on from checkpoints of another. Whoever changes
/// that raises this along with [`PROTOCOL`].
pub const SAME_SWEEPS: u32 = 24;

/// The largest message, either way.
pub const MESSAGE_BYTES: usize = 4 << 20;

/// The most bytes of values or of a halo that a message carries.
pub const CHUNK_BYTES: usize = 1 << 20;

/// The most calls at the same time on a connection.
pub const STREAMS_PER_CONNECTION: u32 = 256;

/// The most connections of members to a server at the same time: of those that have been [authenticated](AUTHENTICATION_TIMEOUT).
/// Calls over further ones are refused.
pub const CONNECTIONS: usize = 1024;

/// The most connections of members from one host at the same time.
pub const CONNECTIONS_PER_HOST: u32 = 256;

/// The most connections at the same time that nobody has been authenticated over yet. For a further one the oldest one goes
/// of the host that has most.
pub const STRANGERS: usize = 256;

/// The same from one host; for a further one its oldest one goes.
pub const STRANGERS_PER_HOST: usize = 64;

/// How long a connection may take until its peer is known for a member: by a certificate, or a call with the right token;
/// where nobody is asked who they are, by any call.
pub const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest HTTP/2 frame.
pub const FRAME_BYTES: u32 = 64 << 10;

/// The most bytes of headers of a call.
pub const HEADER_BYTES: u32 = 16 << 10;

/// The most bytes of the message of a status.
pub const STATUS_BYTES: usize = 1 << 10;

/// What may be under way on a stream before its receiver has read it.
pub const STREAM_WINDOW_BYTES: u32 = 2 << 20;

/// The same for all streams of a connection.
pub const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// How often a connection is probed.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// How long a probe may remain without an answer until the connection is given up.
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a new connection may take until it speaks HTTP/2 (over TLS, if that is asked for).
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call may take until it is answered, or its stream of answers begins; not for calls with a
/// stream of requests.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a peer that misbehaved may still read what was wrong until it is disconnected.
pub const LINGER: Duration = Duration::from_millis(250);

/// A host that misbehaved more often than this within [`OFFENCE_MEMORY`] is slowed down.
pub const OFFENCES_FORGIVEN: u32 = 8;

/// How long a host has to behave until what it did is forgotten.
pub const OFFENCE_MEMORY: Duration = Duration::from_secs(60);

/// How long every new connection of a host that is slowed down waits until it is read from.
pub const PENALTY: Duration = Duration::from_secs(1);

/// How many new connections of a host that is slowed down may wait at the same time; further ones
/// are closed at once.
pub const PENALISED_CONNECTIONS: u32 = 16;

/// The longest ruleset of a job.
pub const RULESET_BYTES: usize = 64 << 10;

/// The longest name of a job or of a worker.
pub const NAME_BYTES: usize = 255;

/// The longest key of a submission.
pub const KEY_BYTES: usize = 64;

/// The most work that a job may be allowed to lose.
pub const CHECKPOINT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The shortest token: shorter ones can be guessed.
pub const TOKEN_BYTES: usize = 16;

/// The longest name of a token.
pub const TOKEN_NAME_BYTES: usize = 32;
