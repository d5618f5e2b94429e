//! Tokens and certificates that are renewed while all runs.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use common::{SOON, TestServer, authority::Authority, fetch};
use tokio::time::{sleep, timeout};
use ziggurat_rpc::{Expiry, LOOK_INTERVAL, Renewal, Security, connect, data_client};

/// What is new is in use by then: it has to be found twice alike. Machines under load take longer.
const RENEWED: Duration = Duration::from_secs(30 * LOOK_INTERVAL.as_secs());

/// Long enough to be renewed before it ends, and no longer than a test may wait.
const SHORT_LIFE: Duration = Duration::from_secs(12 * LOOK_INTERVAL.as_secs());

/// A peer and its files.
struct Member {
    security: Security,
    dir: tempfile::TempDir,
    news: Arc<Mutex<Vec<Renewal>>>,
    ends: Arc<Mutex<Option<Expiry>>>,
}

impl Member {
    /// One with certificates, which are looked after.
    fn with_certificates(ca: &str, certificate: (String, String)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_certificates(dir.path(), ca, &certificate);
        let [ca, pem, key] = ["ca.pem", "own.pem", "own.key"].map(|name| dir.path().join(name));
        Self::new(Security::from_tls_files(&ca, &pem, &key).unwrap(), dir)
    }

    /// One with tokens.
    fn with_tokens(tokens: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        fs::write(&file, tokens).unwrap();
        Self::new(Security::from_token_file(&file).unwrap(), dir)
    }

    fn new(security: Security, dir: tempfile::TempDir) -> Self {
        let (news, ends) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<_>>::default());
        let (tell, end) = (news.clone(), ends.clone());
        tokio::spawn(security.clone().keep_renewed(
            move |renewal| tell.lock().unwrap().push(renewal),
            move |expiry| *end.lock().unwrap() = Some(expiry.clone()),
        ));
        Self { security, dir, news, ends }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Waits until something was told, and forgets it.
    async fn tells(&self, what: impl Fn(&Renewal) -> bool) {
        let told = async {
            while !self.news.lock().unwrap().iter().any(&what) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let told = timeout(RENEWED, told).await;
        assert!(told.is_ok(), "only {:?}", self.news.lock().unwrap());
        self.news.lock().unwrap().clear();
    }

    async fn is_renewed(&self) {
        self.tells(|news| matches!(news, Renewal::Renewed { .. })).await;
    }
}

fn write_certificates(dir: &Path, ca: &str, (certificate, key): &(String, String)) {
    fs::write(dir.join("ca.pem"), ca).unwrap();
    fs::write(dir.join("own.pem"), certificate).unwrap();
    fs::write(dir.join("own.key"), key).unwrap();
}

const YEAR: std::ops::Range<i64> = -60..365 * 24 * 60 * 60;

/// Asks the server for something, connecting first.
async fn ask(server: &TestServer, security: &Security) -> Result<u16, String> {
    let connection = server.connect(security).await.map_err(|error| error.to_string())?;
    fetch(&mut data_client(connection)).await.map_err(|status| status.to_string())
}

#[tokio::test]
async fn certificates_of_a_new_authority_are_taken_up_and_connections_stay() {
    let (old, new) = (Authority::new(), Authority::new());
    let south = Member::with_certificates(old.pem(), old.sign("localhost", YEAR));
    let worker = Member::with_certificates(old.pem(), old.sign("worker", YEAR));
    let server = TestServer::start(south.security.clone());
    let mut long = data_client(server.connect(&worker.security).await.unwrap());
    let port = fetch(&mut long).await.unwrap();
    // Not used until everything has changed.
    let address = format!("localhost:{}", server.address.port());
    let mut later = data_client(connect(&address, &worker.security, SOON).unwrap());

    write_certificates(south.dir.path(), new.pem(), &new.sign("localhost", YEAR));
    write_certificates(worker.dir.path(), new.pem(), &new.sign("worker", YEAR));
    south.is_renewed().await;
    worker.is_renewed().await;

    assert_eq!(fetch(&mut long).await.unwrap(), port, "the connection was lost");
    fetch(&mut later).await.unwrap();
    ask(&server, &worker.security).await.unwrap();
    ask(&server, &new.member("other", &new)).await.unwrap();
    assert!(ask(&server, &old.member("other", &old)).await.is_err());
}

#[tokio::test]
async fn certificates_that_end_are_spoken_of_and_replaced_in_time() {
    let authority = Authority::new();
    let life = -60..SHORT_LIFE.as_secs() as i64;
    let south =
        Member::with_certificates(authority.pem(), authority.sign("localhost", life.clone()));
    let worker = Member::with_certificates(authority.pem(), authority.sign("worker", life));
    let server = TestServer::start(south.security.clone());
    let ends = |news: &Renewal| matches!(news, Renewal::Ends { left, .. } if *left < SHORT_LIFE);
    south.tells(ends).await;
    let until = south.ends.lock().unwrap().clone().unwrap().until;
    let long = server.connect(&worker.security).await.unwrap();
    let mut long = data_client(long);
    let port = fetch(&mut long).await.unwrap();

    for (member, host) in [(&south, "localhost"), (&worker, "worker")] {
        write_certificates(member.dir.path(), authority.pem(), &authority.sign(host, YEAR));
    }
    south.is_renewed().await;
    worker.is_renewed().await;
    assert!(south.ends.lock().unwrap().clone().unwrap().until > until);
    let left = until.duration_since(std::time::SystemTime::now()).unwrap_or_default();
    sleep(left + Duration::from_secs(2)).await;
    ask(&server, &worker.security).await.unwrap();
    assert_eq!(fetch(&mut long).await.unwrap(), port, "the connection was lost");
}

#[tokio::test]
async fn what_is_renewed_and_broken_leaves_the_old_in_use() {
    let authority = Authority::new();
    let south = Member::with_certificates(authority.pem(), authority.sign("localhost", YEAR));
    let server = TestServer::start(south.security.clone());
    let worker = authority.member("worker", &authority);
    let (certificate, key) = authority.sign("localhost", YEAR);
    let half = certificate[..certificate.len() / 2].to_owned();
    let over = authority.sign("localhost", -7200..-3600).0;
    let not_yet = authority.sign("localhost", 3600..7200);
    for (pem, of) in [
        (half, "own.pem: no certificate"),
        (String::new(), "own.pem: no certificate"),
        // Without its key.
        (certificate.clone(), "is "),
        (over, "own."),
    ] {
        fs::write(south.file("own.pem"), pem).unwrap();
        let told =
            |news: &Renewal| matches!(news, Renewal::Unusable { problem } if problem.contains(of));
        south.tells(told).await;
        ask(&server, &worker).await.unwrap();
    }
    write_certificates(south.dir.path(), authority.pem(), &not_yet);
    south
        .tells(|news| matches!(news, Renewal::Unusable { problem } if problem.contains("yet")))
        .await;
    fs::remove_file(south.file("own.key")).unwrap();
    south
        .tells(|news| matches!(news, Renewal::Unusable { problem } if problem.contains("read")))
        .await;
    ask(&server, &worker).await.unwrap();

    write_certificates(south.dir.path(), authority.pem(), &(certificate, key));
    south.is_renewed().await;
    ask(&server, &worker).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_volume_of_secrets_is_exchanged_by_turning_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let authorities = ["1", "2"].map(|version| {
        let authority = Authority::new();
        fs::create_dir(dir.path().join(version)).unwrap();
        let certificate = authority.sign("localhost", YEAR);
        write_certificates(&dir.path().join(version), authority.pem(), &certificate);
        authority
    });
    let link = |version: &str| {
        let new = dir.path().join("new");
        std::os::unix::fs::symlink(version, &new).unwrap();
        fs::rename(new, dir.path().join("data")).unwrap();
    };
    link("1");
    let [ca, pem, key] =
        ["ca.pem", "own.pem", "own.key"].map(|name| dir.path().join("data").join(name));
    let security = Security::from_tls_files(&ca, &pem, &key).unwrap();
    let south = Member::new(security, tempfile::tempdir().unwrap());
    let server = TestServer::start(south.security.clone());
    let [first, second] = authorities.each_ref().map(|authority| authority.member("w", authority));
    ask(&server, &first).await.unwrap();
    link("2");
    south.is_renewed().await;
    ask(&server, &second).await.unwrap();
    assert!(ask(&server, &first).await.is_err());
}

#[tokio::test]
async fn a_token_is_changed_while_all_run() {
    let (old, new) = ("the-old-token-of-all", "the-new-token-of-all");
    let south = Member::with_tokens(old);
    let server = TestServer::start(south.security.clone());
    let worker = Member::with_tokens(&format!("{old}\n"));
    let mut long = data_client(server.connect(&worker.security).await.unwrap());
    fetch(&mut long).await.unwrap();
    // First all accept it, then all tell it, then nobody accepts the old one.
    fs::write(south.file("token"), format!("{old}\n{new}\n")).unwrap();
    south.is_renewed().await;
    fetch(&mut long).await.unwrap();
    fs::write(worker.file("token"), format!("{new}\n{old}\n")).unwrap();
    worker.is_renewed().await;
    fetch(&mut long).await.unwrap();
    fs::write(south.file("token"), new).unwrap();
    south.is_renewed().await;
    fetch(&mut long).await.unwrap();
    assert!(ask(&server, &Member::with_tokens(old).security).await.is_err());
    // Half of it is none.
    fs::write(south.file("token"), &new[..7]).unwrap();
    south.tells(|news| matches!(news, Renewal::Unusable { .. })).await;
    ask(&server, &worker.security).await.unwrap();
}
