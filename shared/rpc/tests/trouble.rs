//! What is the matter with an address at which there is no server that can be spoken with.

mod common;

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use common::{SOON, TestServer, fetch};
use tonic::Status;
use ziggurat_rpc::{Security, Trouble, connect, data_client, diagnose, failed_on_its_way};

/// What is found out about an address, after a call failed there.
async fn trouble_at(address: &str) -> Trouble {
    let connection = connect(address, &Security::Open, SOON).unwrap();
    let status = fetch(&mut data_client(connection)).await.unwrap_err();
    assert!(failed_on_its_way(&status), "{address}: {status:?}");
    diagnose(address, false, &status).await
}

/// Somebody who answers to anything with a text.
fn answering(text: &'static str) -> String {
    answering_to(|_| true, text)
}

/// Somebody who answers to some requests with a text, and hangs up at others.
fn answering_to(answers: impl Fn(&[u8]) -> bool + Send + 'static, text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap_or(0);
            if answers(&request[..read]) {
                let _ = stream.write_all(text.as_bytes());
            }
        }
    });
    address
}

#[tokio::test]
async fn each_address_at_which_no_server_is_has_its_own_trouble() {
    assert_eq!(trouble_at("no-such-host.invalid:7400").await, Trouble::NoSuchHost);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert_eq!(trouble_at(&nobody).await, Trouble::Refused);
    let web = answering("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    assert_eq!(trouble_at(&web).await, Trouble::SpeaksOldHttp);
    let silent = |request: &[u8]| !request.starts_with(b"PRI ");
    let web = answering_to(silent, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    assert_eq!(trouble_at(&web).await, Trouble::SpeaksOldHttp);
    assert_eq!(trouble_at(&answering("SSH-2.0-OpenSSH_9.2p1\r\n")).await, Trouble::SpeaksOther);
}

#[tokio::test]
async fn a_server_that_is_there_has_been_lost_for_a_moment() {
    let server = TestServer::start(Security::Open);
    let broken = Status::from_error(std::io::Error::other("it broke").into());
    assert!(failed_on_its_way(&broken));
    let address = server.address.to_string();
    assert_eq!(diagnose(&address, false, &broken).await, Trouble::Lost);
    assert!(Trouble::Lost.may_pass() && !Trouble::SpeaksTls.may_pass());
}

#[tokio::test]
async fn what_a_server_answers_has_not_failed_on_its_way() {
    let server = TestServer::start(Security::Open);
    let connection = server.connect(&Security::Open).await.unwrap();
    let request = ziggurat_rpc::proto::FetchRequest { protocol: 0, ..common::FETCH };
    let refused = data_client(connection).fetch(request).await.unwrap_err();
    assert!(!failed_on_its_way(&refused), "{refused:?}");
}
