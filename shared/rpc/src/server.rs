//! Serving within the limits of the protocol.

use tonic::transport;
use tower::layer::util::{Identity, Stack};

use crate::{
    Security,
    limits::{
        CONNECTION_WINDOW_BYTES, FRAME_BYTES, HEADER_BYTES, KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT,
        MESSAGE_BYTES, STREAM_WINDOW_BYTES, STREAMS_PER_CONNECTION,
    },
    proto::{
        control_server::{Control, ControlServer},
        data_server::{Data, DataServer},
        jobs_server::{Jobs, JobsServer},
    },
    watch::Watch,
};

/// A server with the limits of the protocol.
pub type Server = transport::Server<Stack<Watch, Identity>>;

/// A server with the limits of the protocol, to be given services ([`control`], [`jobs`], [`data`]) and the
/// connections of [`Bound::incoming`](crate::Bound::incoming). It calls services only for those who know a token with the
/// [role](crate::Role) for it, if there are tokens; certificates are asked for when a connection is made.
pub fn server(security: &Security) -> Server {
    transport::Server::builder()
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .max_frame_size(FRAME_BYTES)
        .http2_max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .layer(Watch::new(security))
}

/// Control, as the protocol limits it.
pub fn control<T: Control>(service: T) -> ControlServer<T> {
    ControlServer::new(service)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

/// Jobs, as the protocol limits it.
pub fn jobs<T: Jobs>(service: T) -> JobsServer<T> {
    JobsServer::new(service)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

/// Data, as the protocol limits it.
pub fn data<T: Data>(service: T) -> DataServer<T> {
    DataServer::new(service)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}
