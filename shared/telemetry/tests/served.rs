//! What the port answers.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use ziggurat_telemetry::{BindError, Health, Registry, WorkerMetrics, bind, serve};

/// The status and all that follows, headers too.
async fn answer(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{text}")), text)
}

async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    answer(address, &request).await
}

#[tokio::test]
async fn metrics_and_health_are_served() {
    let mut registry = Registry::default();
    let metrics = WorkerMetrics::new(&mut registry);
    let health = Arc::new(Health::starting("the store is being opened"));
    let listener = bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve(listener, registry, Arc::clone(&health)));

    metrics.store_read.inc_by(12345);
    let asked = "GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: text/plain;q=0.5\r\n\
                 Accept: application/openmetrics-text;version=1.0.0\r\nConnection: close\r\n\r\n";
    let (status, page) = answer(address, asked).await;
    assert_eq!(status, 200);
    assert!(page.contains("content-type: application/openmetrics-text; version=1.0.0"), "{page}");
    assert!(page.contains("# TYPE ziggurat_worker_store_read_bytes counter\n"), "{page}");
    assert!(page.contains("ziggurat_worker_store_read_bytes_total 12345\n"), "{page}");
    assert!(page.ends_with("# EOF\n"), "{page}");

    let (status, page) = get(address, "/metrics").await;
    assert_eq!(status, 200);
    assert!(page.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{page}");
    assert!(page.contains("# HELP ziggurat_worker_store_read_bytes_total "), "{page}");
    assert!(page.contains("# TYPE ziggurat_worker_store_read_bytes_total counter\n"), "{page}");
    assert!(page.contains("\nziggurat_worker_store_read_bytes_total 12345\n"), "{page}");
    let comments = page.lines().filter(|line| line.starts_with('#'));
    for comment in comments {
        assert!(comment.starts_with("# HELP ") || comment.starts_with("# TYPE "), "{comment}");
    }

    assert_eq!(get(address, "/healthz").await.0, 200);
    let (status, page) = get(address, "/readyz").await;
    assert_eq!(status, 503);
    assert!(page.ends_with("not ready: the store is being opened\n"), "{page}");
    health.ready();
    assert_eq!(get(address, "/readyz").await.0, 200);
    health.not_ready("it leaves");
    assert_eq!(get(address, "/readyz").await.0, 503);

    // Whether it is alive, the part that works is asked.
    let works = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let asked = Arc::clone(&works);
    health.ask_by(move || std::future::ready(asked.load(std::sync::atomic::Ordering::Relaxed)));
    assert_eq!(get(address, "/healthz").await.0, 200);
    works.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(get(address, "/healthz").await.0, 503);
    works.store(true, std::sync::atomic::Ordering::Relaxed);

    // Nothing can be changed, and rubbish does no harm.
    assert_eq!(get(address, "/").await.0, 404);
    let post =
        "POST /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
    assert_eq!(answer(address, post).await.0, 405);
    assert_eq!(answer(address, "\0\u{1}rubbish\r\n\r\n").await.0, 400);
    assert_eq!(get(address, "/healthz").await.0, 200);
    serving.abort();
}

#[tokio::test]
async fn an_address_that_others_reach_is_refused_without_the_flag() {
    let address = "0.0.0.0:0".parse().unwrap();
    let error = bind(address, false).await.unwrap_err();
    assert!(matches!(error, BindError::Exposed { .. }));
    let text = error.to_string();
    assert!(text.contains("0.0.0.0:0") && text.contains("--insecure"), "{text}");
    bind(address, true).await.unwrap();
    bind("[::ffff:127.0.0.1]:0".parse().unwrap(), false).await.unwrap();
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let taken = bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
    let address = taken.local_addr().unwrap();
    let text = bind(address, false).await.unwrap_err().to_string();
    assert!(text.contains(&address.to_string()), "{text}");
}
