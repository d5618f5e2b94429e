//! Peers that do what no peer does are refused, disconnected and named in the log, and others do not notice.

mod common;

use std::{
    io::ErrorKind::ConnectionReset,
    time::{Duration, Instant},
};

use common::{FETCH, SOON, TestServer, fetch};
use prost::bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tonic::{Code, client::Grpc, codegen::http::uri::PathAndQuery};
use tonic_prost::ProstCodec;
use ziggurat_rpc::{
    Connection, OLDEST_PROTOCOL, PROTOCOL, Security,
    limits::{
        AUTHENTICATION_TIMEOUT, CONNECTIONS_PER_HOST, MESSAGE_BYTES, OFFENCES_FORGIVEN, PENALTY,
    },
    proto::{
        FetchReply, FetchRequest, HaloMessage, HaloOpen, HaloPayload, SubmitRequest,
        data_client::DataClient, halo_message,
    },
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Sends bytes, and waits until the server closes the connection.
async fn send_and_be_closed(server: &TestServer, bytes: &[u8]) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // Whether it ends in order or is reset does not matter.
    let closed = timeout(SOON, stream.read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "the server keeps the connection");
}

#[tokio::test]
async fn garbage_is_disconnected_and_named() {
    let server = TestServer::start(Security::Open);
    let mut good = server.good_client().await;
    let port = fetch(&mut good).await.unwrap();

    send_and_be_closed(&server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    server.logs("it does not speak HTTP/2").await;
    send_and_be_closed(&server, &[PREFACE, &[0xff; 1000]].concat()).await;
    server.logs("broke HTTP/2").await;

    assert_eq!(fetch(&mut good).await.unwrap(), port, "the good client was disconnected");
    assert!(fetch(&mut server.good_client().await).await.is_ok());
}

#[tokio::test]
async fn somebody_who_only_looks_whether_the_port_is_open_is_no_offender() {
    let server = TestServer::start(Security::Open);
    let stream = TcpStream::connect(server.address).await.unwrap();
    drop(stream);
    let idle = TcpStream::connect(server.address).await.unwrap();
    assert!(fetch(&mut server.good_client().await).await.is_ok());
    drop(idle);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.log(), "");
}

#[tokio::test]
async fn hosts_that_misbehave_often_are_slowed_down_but_not_locked_out() {
    let server = TestServer::start(Security::Open);
    let mut good = server.good_client().await;
    for _ in 0..=OFFENCES_FORGIVEN {
        send_and_be_closed(&server, b"garbage").await;
    }
    assert!(fetch(&mut good).await.is_ok());
    let started = Instant::now();
    assert!(fetch(&mut server.good_client().await).await.is_ok());
    assert!(started.elapsed() >= PENALTY);
}

#[tokio::test]
async fn strangers_keep_no_member_out() {
    let server = TestServer::start(token("a-secret-of-enough-letters"));
    let mut member = server.good_client().await;
    let port = fetch(&mut member).await.unwrap();
    let mut strangers = Vec::new();
    for _ in 0..CONNECTIONS_PER_HOST + 44 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let _ = stream.write_all(PREFACE).await; // it may have had to go already
        strangers.push(stream);
    }
    assert!(fetch(&mut server.good_client().await).await.is_ok());
    assert_eq!(fetch(&mut member).await.unwrap(), port, "the member was disconnected");
    let log = server.log();
    assert!(log.contains("too many connections of strangers"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_stranger_that_does_not_say_who_it_is_is_disconnected() {
    let server = TestServer::start(token("a-secret-of-enough-letters"));
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(PREFACE).await.unwrap();
    let started = tokio::time::Instant::now();
    let ended = stream.read_to_end(&mut Vec::new()).await;
    let took = started.elapsed();
    assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == ConnectionReset));
    assert!(took < AUTHENTICATION_TIMEOUT + SOON, "{took:?}");
    server.logs("did not say in 10s who it is").await;
}

fn token(text: &str) -> Security {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Security::from_token_file(file.path()).unwrap()
}

#[tokio::test]
async fn only_who_knows_the_token_is_answered() {
    let server =
        TestServer::start(token("correct horse battery staple".replace(' ', "-").as_str()));
    let mut good = server.good_client().await;
    assert!(fetch(&mut good).await.is_ok());

    let mut without = ziggurat_rpc::data_client(server.connect(&Security::Open).await.unwrap());
    let refused = fetch(&mut without).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("--token-file"), "{refused}");
    server.logs("has no token").await;

    for wrong in
        ["correct-horse-battery-stable", "correct-horse-battery", "correct-horse-battery-staple-s"]
    {
        let mut wrong = ziggurat_rpc::data_client(server.connect(&token(wrong)).await.unwrap());
        assert_eq!(fetch(&mut wrong).await.unwrap_err().code(), Code::Unauthenticated);
    }
    server.logs("has another token").await;

    // Nothing is told to strangers, not even which methods there are.
    let stranger = server.connect(&Security::Open).await.unwrap();
    let refused = call::<FetchRequest, FetchReply>(stranger, "/no/such", FETCH).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);

    assert!(fetch(&mut good).await.is_ok());
    assert!(!server.log().contains("correct-horse"), "a secret in the log:\n{}", server.log());
}

/// Calls a method with any message.
async fn call<Q, A>(connection: Connection, path: &'static str, message: Q) -> tonic::Result<A>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut client = Grpc::new(connection);
    client.ready().await.map_err(|error| tonic::Status::unavailable(format!("{error:?}")))?;
    let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::<Q, A>::default());
    client.unary(tonic::Request::new(message), path, codec).await.map(tonic::Response::into_inner)
}

/// A message in place of a `FetchRequest`, of so many bytes.
fn other_message(bytes: usize) -> SubmitRequest {
    SubmitRequest { name: "x".repeat(bytes), ..Default::default() }
}

#[tokio::test]
async fn messages_that_are_too_large_are_refused_and_their_sender_is_disconnected() {
    let server = TestServer::start(Security::Open);
    let mut good = server.good_client().await;
    let port = fetch(&mut good).await.unwrap();

    let hostile = server.connect(&Security::Open).await.unwrap();
    let mut client = ziggurat_rpc::data_client(hostile.clone());
    let before = fetch(&mut client).await.unwrap();
    let fetch_path = "/ziggurat.v1.Data/Fetch";
    let large = other_message(MESSAGE_BYTES + 1);
    let refused = call::<_, FetchReply>(hostile, fetch_path, large).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    server.logs("sent what is no message").await;
    // The connection may break just while it is used; then a new one is made.
    let gone = async {
        while fetch(&mut client).await.is_ok_and(|port| port == before) {
            tokio::time::sleep(ziggurat_rpc::limits::LINGER).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("the connection is still there");
    assert_ne!(fetch(&mut client).await.unwrap(), before);

    assert_eq!(fetch(&mut good).await.unwrap(), port);
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_a_stream_and_its_sender_is_disconnected() {
    let server = TestServer::start(Security::Open);
    let connection = server.connect(&Security::Open).await.unwrap();
    // Without the limits that a good client keeps to.
    let mut client = DataClient::new(connection);
    let data = Bytes::from(vec![0; MESSAGE_BYTES + 1]);
    let payload = HaloPayload { barrier: 0, data, part: 0 };
    let message = HaloMessage { message: Some(halo_message::Message::Payload(payload)) };
    let refused = client.exchange(tokio_stream::iter([message])).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    server.logs("sent what is no message").await;
    assert!(fetch(&mut server.good_client().await).await.is_ok());
}

#[tokio::test]
async fn bytes_that_are_no_message_are_refused_and_their_sender_is_disconnected() {
    let server = TestServer::start(Security::Open);
    let connection = server.connect(&Security::Open).await.unwrap();
    // Where this has a text, the other has a number.
    let data = Bytes::from_static(b"\xff");
    let broken = FetchReply { data, ..FetchReply::default() };
    let path = "/ziggurat.v1.Data/Fetch";
    let refused = call::<_, FetchReply>(connection, path, broken).await.unwrap_err();
    assert_eq!(refused.code(), Code::Internal, "{refused}");
    server.logs("sent what is no message").await;
    assert!(fetch(&mut server.good_client().await).await.is_ok());
}

#[tokio::test]
async fn another_version_of_the_protocol_is_refused_but_no_offence() {
    let server = TestServer::start(Security::Open);
    let mut client = server.good_client().await;
    for protocol in [OLDEST_PROTOCOL - 1, PROTOCOL + 1] {
        let refused = client.fetch(FetchRequest { protocol, ..FETCH }).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        let versions = format!(
            "version {protocol} of the protocol, here {OLDEST_PROTOCOL} and {PROTOCOL} are understood"
        );
        assert!(refused.message().contains(&versions), "{refused}");
    }
    let before = FetchRequest { protocol: OLDEST_PROTOCOL, ..FETCH };
    assert!(client.fetch(before).await.is_ok());
    let open =
        halo_message::Message::Open(HaloOpen { protocol: PROTOCOL + 1, ..Default::default() });
    let messages = tokio_stream::iter([HaloMessage { message: Some(open) }]);
    let refused = client.exchange(messages).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(fetch(&mut client).await.is_ok());
    assert_eq!(server.log(), "");
}
