//! A small server as others would write it, and what it wrote to the log.
#![allow(dead_code)]

pub mod authority;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};
use tracing::subscriber::DefaultGuard;
use ziggurat_rpc::{
    Connection, DataClient, PROTOCOL, Peer, RpcError, Security, bind, connect_now,
    convert::check_protocol,
    data, data_client,
    proto::{
        ExchangeReply, FetchReply, FetchRequest, HaloMessage, data_server::Data, halo_message,
    },
    server,
};

/// Answers every fetch with the address the request came from, and takes any halo.
struct Echo;

#[tonic::async_trait]
impl Data for Echo {
    async fn exchange(
        &self,
        request: Request<Streaming<HaloMessage>>,
    ) -> Result<Response<ExchangeReply>, Status> {
        let peer = Peer::of(&request).expect("it came over a connection").clone();
        let mut messages = request.into_inner();
        while let Some(message) = messages.message().await.inspect_err(|error| peer.sent(error))? {
            if let Some(halo_message::Message::Open(open)) = message.message {
                check_protocol(open.protocol)?;
            }
        }
        Ok(Response::new(ExchangeReply {}))
    }

    type FetchStream = Box<dyn Stream<Item = Result<FetchReply, Status>> + Send + Unpin>;

    async fn fetch(
        &self,
        request: Request<FetchRequest>,
    ) -> Result<Response<Self::FetchStream>, Status> {
        check_protocol(request.get_ref().protocol)?;
        let address = Peer::of(&request).expect("it came over a connection").address();
        let data = address.to_string().into();
        let reply = FetchReply { data, ..FetchReply::default() };
        Ok(Response::new(Box::new(tokio_stream::once(Ok(reply)))))
    }
}

/// A server that runs until the test ends.
pub struct TestServer {
    pub address: SocketAddr,
    security: Security,
    log: Log,
    _logging: DefaultGuard,
}

impl TestServer {
    /// Starts one in the test's own thread, which therefore writes its log.
    pub fn start(security: Security) -> Self {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::WARN)
            .with_writer(move || writer.clone())
            .finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let bound = bind("127.0.0.1:0".parse().unwrap(), &security, false).unwrap();
        let address = bound.address();
        let router = server(&security).add_service(data(Echo));
        tokio::spawn(router.serve_with_incoming(bound.incoming().unwrap()));
        Self { address, security, log, _logging: logging }
    }

    /// A client that speaks as it should.
    pub async fn good_client(&self) -> DataClient {
        data_client(self.connect(&self.security).await.unwrap())
    }

    pub async fn connect(&self, security: &Security) -> Result<Connection, RpcError> {
        connect_now(&format!("localhost:{}", self.address.port()), security, SOON).await
    }

    /// What was logged so far.
    pub fn log(&self) -> String {
        String::from_utf8(self.log.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits for a line of the log that says `what`, and names a peer.
    pub async fn logs(&self, what: &str) {
        let line = |line: &str| line.contains(what) && line.contains("peer=127.0.0.1:");
        let logged = async {
            while !self.log().lines().any(line) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let logged = tokio::time::timeout(SOON, logged).await;
        assert!(logged.is_ok(), "{what:?} and a peer are not in the log:\n{}", self.log());
    }
}

/// What all in these tests has to happen in.
pub const SOON: Duration = Duration::from_secs(5);

/// A request that is answered.
pub const FETCH: FetchRequest = FetchRequest {
    protocol: PROTOCOL,
    job: 1,
    step: None,
    epoch: 1,
    incarnation: 1,
    column: None,
    shard: 0,
    range: 0,
    spans: Vec::new(),
    worker: String::new(),
};

/// Asks the server for something; returns the port the request came from.
pub async fn fetch(client: &mut DataClient) -> Result<u16, Status> {
    let mut replies = client.fetch(FETCH).await?.into_inner();
    let reply = replies.next().await.expect("a reply")?;
    let address: SocketAddr = std::str::from_utf8(&reply.data).unwrap().parse().unwrap();
    Ok(address.port())
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
