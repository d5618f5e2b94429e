//! Reaching others.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::pki_types::ServerName};
use tonic::{
    Request, Status,
    codegen::{Service, http::Uri},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

use crate::{
    RpcError, Security, Tls,
    address::is_address,
    limits::{
        CONNECTION_WINDOW_BYTES, HEADER_BYTES, KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT,
        MESSAGE_BYTES, STREAM_WINDOW_BYTES,
    },
    proto::{control_client, data_client, jobs_client},
    tls::H2,
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
            request.metadata_mut().insert("authorization", token.header());
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
    let endpoint = endpoint(address, timeout)?;
    let channel = match security {
        Security::Open | Security::Token(_) => endpoint.connect_lazy(),
        Security::Tls(tls) => {
            let (endpoint, door) = secured(endpoint, address, tls, timeout)?;
            endpoint.connect_with_connector_lazy(door)
        }
    };
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
    let endpoint = endpoint(address, timeout)?;
    let connecting = async {
        match security {
            Security::Open | Security::Token(_) => Ok(endpoint.connect().await),
            Security::Tls(tls) => {
                let (endpoint, door) = secured(endpoint, address, tls, timeout)?;
                Ok(endpoint.connect_with_connector(door).await)
            }
        }
    };
    let cannot = |problem: String| RpcError::Connect { address: address.to_owned(), problem };
    // The endpoint's own limit is for each of the host's addresses, and for TCP alone.
    match tokio::time::timeout(timeout, connecting).await {
        Ok(Ok(Ok(channel))) => Ok(with_credentials(channel, security)),
        Ok(Ok(Err(error))) => Err(cannot(reasons(&error))),
        Ok(Err(error)) => Err(error),
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

fn endpoint(address: &str, timeout: Duration) -> Result<Endpoint, RpcError> {
    let no_address = || RpcError::Address { address: address.to_owned() };
    if !is_address(address) {
        return Err(no_address());
    }
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .map_err(|_| no_address())?
        .connect_timeout(timeout)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .http2_max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    Ok(endpoint)
}

/// An endpoint that is reached over TLS, and how.
fn secured(
    endpoint: Endpoint,
    address: &str,
    tls: &Tls,
    timeout: Duration,
) -> Result<(Endpoint, Door), RpcError> {
    let no_address = || RpcError::Address { address: address.to_owned() };
    let origin = Uri::try_from(format!("https://{address}")).map_err(|_| no_address())?;
    let host = origin.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let host = ServerName::try_from(host).map_err(|_| no_address())?;
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout));
    Ok((endpoint.origin(origin), Door { tcp, tls: tls.clone(), host }))
}

/// Makes connections over TLS, each with the certificates of that moment. (`tonic` does so with those of the first.)
#[derive(Clone)]
struct Door {
    tcp: HttpConnector,
    tls: Tls,
    host: ServerName<'static>,
}

impl Service<Uri> for Door {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let (tcp, host) = (self.tcp.call(address), self.host.clone());
        let tls = TlsConnector::from(self.tls.client());
        Box::pin(async move {
            let stream = tls.connect(host, tcp.await?.into_inner()).await?;
            match stream.get_ref().1.alpn_protocol() {
                Some(H2) => Ok(TokioIo::new(stream)),
                _ => Err("it does not speak HTTP/2".into()),
            }
        })
    }
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
