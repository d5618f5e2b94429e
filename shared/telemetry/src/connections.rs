//! Connections of an HTTP server: at most so many, none without an end, and all of them ended when the server ends.

use std::{collections::VecDeque, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::AbortHandle,
    time::{sleep, timeout},
};

/// How many connections a server has, and how long they may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most connections at the same time; for a further one the oldest one is closed.
    pub connections: usize,
    /// How long the head of a request may take to come, counted from the answer before it.
    pub header_timeout: Duration,
    /// How long answers under way may still take when the server ends.
    pub goodbye: Duration,
}

/// Serves pages over HTTP/1.1, until `shutdown` is ready: then it takes no more requests, and gives the answers under way the
/// time of a goodbye. A connection is closed when the future is dropped, too.
pub async fn serve_connections(
    listener: TcpListener,
    pages: Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let (ends, ending) = watch::channel(false);
    let mut connections = Connections(VecDeque::new());
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    connections.make_room(limits.connections);
                    let served = serve_one(stream, pages.clone(), limits, ending.clone());
                    connections.0.push_back(tokio::spawn(served).abort_handle());
                }
                Err(error) => {
                    // A connection that is gone already, or no file handles left, which takes a moment.
                    tracing::debug!(%error, "could not accept a connection");
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = shutdown => {}
    }
    drop((listener, ending));
    ends.send_replace(true);
    // Connections hold the other ends; each of them ends within the time of a goodbye.
    ends.closed().await;
}

/// The tasks of connections, oldest first, which end with this.
struct Connections(VecDeque<AbortHandle>);

impl Connections {
    fn make_room(&mut self, most: usize) {
        self.0.retain(|connection| !connection.is_finished());
        if self.0.len() >= most {
            self.0.pop_front().iter().for_each(AbortHandle::abort);
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// Serves a connection until it is closed. How it ends concerns nobody.
async fn serve_one(
    stream: TcpStream,
    pages: Router,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
) {
    let mut server = Builder::new(TokioExecutor::new()).http1_only();
    server.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    // An answer is written at once, or each waits for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let pages = TowerToHyperService::new(pages);
    let mut connection = std::pin::pin!(server.serve_connection(TokioIo::new(stream), pages));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|ends| *ends) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(limits.goodbye, connection).await;
}
