//! Reaching others.

use std::{error::Error, time::Duration};

use tonic::{
    Request, Status,
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

use crate::{
    RpcError, Security,
    address::is_address,
    limits::{
        CONNECTION_WINDOW_BYTES, HEADER_BYTES, KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT,
        MESSAGE_BYTES, STREAM_WINDOW_BYTES,
    },
    proto::{control_client, data_client, jobs_client},
};

/// A connection to a server, which is made again if it breaks. Clones share it.
pub type Connection = InterceptedService<Channel, Credentials>;

/// What workers ask a coordinator.
pub type ControlClient = control_client::ControlClient<Connection>;
/// What users ask a coordinator.
pub type JobsClient = jobs_client::JobsClient<Connection>;
/// What workers and exports ask a worker.
pub type DataClient = data_client::DataClient<Connection>;

/// Adds the token to every request, if there is one.
#[derive(Clone, Debug)]
pub struct Credentials(Security);

impl Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Security::Token(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.header().clone());
        }
        Ok(request)
    }
}

/// A connection to `HOST:PORT` that is made, within `timeout`, when it is first needed.
///
/// # Errors
/// If the address is none.
///
/// # Panics
/// Outside of a Tokio runtime.
pub fn connect(
    address: &str,
    security: &Security,
    timeout: Duration,
) -> Result<Connection, RpcError> {
    let channel = endpoint(address, security, timeout)?.connect_lazy();
    Ok(with_credentials(channel, security))
}

/// The same, but made at once.
///
/// # Errors
/// If the address is none, nobody answers, or not in the way that `security` asks for.
pub async fn connect_now(
    address: &str,
    security: &Security,
    timeout: Duration,
) -> Result<Connection, RpcError> {
    let endpoint = endpoint(address, security, timeout)?;
    let cannot = |problem: String| RpcError::Connect { address: address.to_owned(), problem };
    // The endpoint's own limit is for each of the host's addresses, and for TCP alone.
    match tokio::time::timeout(timeout, endpoint.connect()).await {
        Ok(Ok(channel)) => Ok(with_credentials(channel, security)),
        Ok(Err(error)) => Err(cannot(reasons(&error))),
        Err(_) => Err(cannot(format!("no answer within {timeout:?}"))),
    }
}

/// A client of a coordinator's Control, for workers.
pub fn control_client(connection: Connection) -> ControlClient {
    ControlClient::new(connection)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

/// A client of a coordinator's Jobs.
pub fn jobs_client(connection: Connection) -> JobsClient {
    JobsClient::new(connection)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

/// A client of a worker's Data.
pub fn data_client(connection: Connection) -> DataClient {
    DataClient::new(connection)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

fn with_credentials(channel: Channel, security: &Security) -> Connection {
    InterceptedService::new(channel, Credentials(security.clone()))
}

fn endpoint(address: &str, security: &Security, timeout: Duration) -> Result<Endpoint, RpcError> {
    let no_address = || RpcError::Address { address: address.to_owned() };
    if !is_address(address) {
        return Err(no_address());
    }
    let scheme = if matches!(security, Security::Tls(_)) { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
        .map_err(|_| no_address())?
        .connect_timeout(timeout)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .http2_max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    let Security::Tls(tls) = security else { return Ok(endpoint) };
    endpoint.tls_config(tls.client().timeout(timeout)).map_err(|error| RpcError::Connect {
        address: address.to_owned(),
        problem: reasons(&error),
    })
}

/// An error and what caused it, in one line.
fn reasons(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
