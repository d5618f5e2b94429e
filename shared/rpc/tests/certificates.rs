//! With TLS, only those with a certificate of the cluster's own authority speak with each other.

mod common;

use std::{fs, path::PathBuf};

use common::{SOON, TestServer, authority::Authority, fetch};
use ziggurat_rpc::{
    RpcError, Security, Trouble, connect, data_client, diagnose, failed_on_its_way,
};

/// Asks the server for something, connecting first.
async fn ask(server: &TestServer, security: &Security) -> Result<u16, String> {
    let connection = server.connect(security).await.map_err(|error| error.to_string())?;
    fetch(&mut data_client(connection)).await.map_err(|status| status.to_string())
}

#[tokio::test]
async fn members_of_a_cluster_speak_with_each_other() {
    let authority = Authority::new();
    let server = TestServer::start(authority.member("localhost", &authority));
    assert!(ask(&server, &authority.member("worker-1", &authority)).await.is_ok());
    assert_eq!(server.log(), "");
}

#[tokio::test]
async fn certificates_and_keys_are_read_however_an_editor_saved_them() {
    let authority = Authority::new();
    let server = TestServer::start(authority.member("localhost", &authority));
    let (certificate, key) = authority.issue("worker-1");
    let files = [authority.file("ca.pem"), certificate, key];
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap();
    }
    let [authority, certificate, key] = files;
    let member = Security::from_tls_files(&authority, &certificate, &key).unwrap();
    assert!(ask(&server, &member).await.is_ok());
}

#[tokio::test]
async fn clients_without_a_certificate_of_the_authority_are_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = TestServer::start(authority.member("localhost", &authority));
    let mut good = server.good_client().await;
    let port = fetch(&mut good).await.unwrap();

    let stranger = other.member("stranger", &authority);
    assert!(ask(&server, &stranger).await.is_err());
    server.logs("did not shake hands: invalid peer certificate").await;
    assert!(ask(&server, &Security::Open).await.is_err());
    server.logs("did not shake hands: received corrupt message").await;

    assert_eq!(fetch(&mut good).await.unwrap(), port);
    assert!(ask(&server, &authority.member("worker-2", &authority)).await.is_ok());
}

#[tokio::test]
async fn clients_do_not_speak_with_servers_of_another_authority_or_name() {
    let (authority, other) = (Authority::new(), Authority::new());
    let member = authority.member("worker-1", &authority);

    let impostor = TestServer::start(other.member("localhost", &other));
    let error = ask(&impostor, &member).await.unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    drop(impostor);

    let elsewhere = TestServer::start(authority.member("elsewhere", &authority));
    let error = ask(&elsewhere, &member).await.unwrap_err();
    assert!(error.contains("not valid for name \"localhost\""), "{error}");
}

#[test]
fn files_that_do_not_hold_what_they_should_are_named() {
    let authority = Authority::new();
    let ca = authority.file("ca.pem");
    let (certificate, key) = authority.issue("a");
    let (_, other_key) = authority.issue("b");
    let refusal = |ca: &PathBuf, certificate: &PathBuf, key: &PathBuf| {
        Security::from_tls_files(ca, certificate, key).unwrap_err()
    };

    let missing = refusal(&authority.file("missing.pem"), &certificate, &key);
    assert!(matches!(&missing, RpcError::Unreadable { .. }), "{missing:?}");
    assert!(missing.to_string().contains("missing.pem"), "{missing}");
    for (error, says) in [
        (refusal(&ca, &key, &key), "a.key: no certificate in PEM format"),
        (refusal(&ca, &certificate, &certificate), "a.pem: no private key in PEM format"),
        (refusal(&ca, &certificate, &other_key), "b.key: "),
    ] {
        assert!(matches!(&error, RpcError::Secret { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test]
async fn what_does_not_fit_between_client_and_server_is_told_apart() {
    let (authority, other) = (Authority::new(), Authority::new());
    let right = || authority.member("localhost", &authority);
    let trouble = async |server: Security, client: &Security| {
        let server = TestServer::start(server);
        let address = format!("localhost:{}", server.address.port());
        let connection = connect(&address, client, SOON).unwrap();
        let status = fetch(&mut data_client(connection)).await.unwrap_err();
        assert!(failed_on_its_way(&status), "{status:?}");
        diagnose(&address, matches!(client, Security::Tls(_)), &status).await
    };
    assert_eq!(trouble(right(), &Security::Open).await, Trouble::SpeaksTls);
    assert_eq!(trouble(Security::Open, &right()).await, Trouble::SpeaksNoTls);
    let impostor = trouble(other.member("localhost", &other), &right()).await;
    assert!(matches!(impostor, Trouble::NotTrusted(_)), "{impostor:?}");
    let elsewhere = trouble(authority.member("elsewhere", &authority), &right()).await;
    assert!(
        matches!(&elsewhere, Trouble::NotTrusted(why) if why.contains("localhost")),
        "{elsewhere:?}"
    );
    let stranger = trouble(right(), &other.member("stranger", &authority)).await;
    assert!(matches!(stranger, Trouble::Distrusts(_)), "{stranger:?}");
}
