//! The service for workers: a stream each.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};
use ziggurat_rpc::{
    Peer,
    convert::{check_protocol, check_registration, identity_text},
    proto::{
        Fenced, FromWorker, GreetReply, GreetRequest, Heartbeat, ToWorker, control_server::Control,
        from_worker,
    },
};

use super::{
    actor::{Handle, Line},
    convert,
    jobs::by,
};
use crate::machine::{Event, Resources, SessionId};

/// Messages that a worker has not read yet. It gets a few for every step of every job when it registers.
const UNREAD: usize = 16 << 10;

/// Serves workers.
pub struct ControlService {
    actor: Handle,
    cluster: u64,
    lease: Duration,
    sessions: Arc<AtomicU64>,
    ended: CancellationToken,
}

impl ControlService {
    pub fn new(actor: Handle, cluster: u64, lease: Duration, ended: CancellationToken) -> Self {
        Self { actor, cluster, lease, sessions: Arc::default(), ended }
    }
}

#[tonic::async_trait]
impl Control for ControlService {
    async fn greet(&self, request: Request<GreetRequest>) -> Result<Response<GreetReply>, Status> {
        check_protocol(request.into_inner().protocol)?;
        Ok(Response::new(GreetReply { cluster: identity_text(self.cluster) }))
    }

    type WorkStream = ReceiverStream<Result<ToWorker, Status>>;

    async fn work(
        &self,
        request: Request<Streaming<FromWorker>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let (peer, by) = (Peer::of(&request).cloned(), by(&request));
        let mut stream = request.into_inner();
        let first = tokio::time::timeout(self.lease, next(&mut stream, peer.as_ref())).await;
        let first =
            first.map_err(|_| Status::deadline_exceeded("the worker did not register"))??;
        let Some(from_worker::Message::Register(register)) = first else {
            return Err(misbehaved(peer.as_ref(), "did not register first"));
        };
        let identities = check_registration(&register)?;
        let (to_worker, messages) = mpsc::channel(UNREAD);
        let session = SessionId(self.sessions.fetch_add(1, Ordering::Relaxed));
        let ended = self.ended.child_token();
        let line = Line { to_worker, ended: ended.clone(), name: register.name.clone(), by };
        let register = Event::Register(session, convert::registration(register, identities));
        self.actor.connect(session, line, register).await;
        let actor = self.actor.clone();
        tokio::spawn(async move {
            let reading = read(session, stream, peer, &actor);
            let _ = ended.run_until_cancelled(reading).await;
            actor.tell(Event::Disconnect(session)).await;
        });
        Ok(Response::new(ReceiverStream::new(messages)))
    }
}

/// Tells the machine what a worker says, until it says no more.
async fn read(
    session: SessionId,
    mut stream: Streaming<FromWorker>,
    peer: Option<Peer>,
    actor: &Handle,
) {
    while let Ok(Some(message)) = next(&mut stream, peer.as_ref()).await {
        let event = match message {
            from_worker::Message::Heartbeat(heartbeat) => {
                let Heartbeat { resident_bytes, free_disk_bytes, moved_bytes } = heartbeat;
                let resources = Resources { resident_bytes, free_disk_bytes, moved_bytes };
                Ok(Event::Heartbeat(session, resources))
            }
            from_worker::Message::Report(report) => {
                convert::report(report).map(|report| Event::Report(session, report))
            }
            from_worker::Message::Stored(stored) => {
                convert::stored(stored).map(|stored| Event::Stored(session, stored))
            }
            from_worker::Message::Drain(_) => Ok(Event::Drain(session)),
            from_worker::Message::Fenced(Fenced { incarnation, coordinator }) => {
                actor.fenced(session, incarnation, &coordinator).await;
                return;
            }
            from_worker::Message::Register(_) => {
                misbehaved(peer.as_ref(), "registered twice");
                return;
            }
        };
        match event {
            Ok(event) => actor.tell(event).await,
            Err(error) => {
                misbehaved(peer.as_ref(), &format!("said what cannot be: {error}"));
                return;
            }
        }
    }
}

/// The next message; `None` at the end.
async fn next(
    stream: &mut Streaming<FromWorker>,
    peer: Option<&Peer>,
) -> Result<Option<from_worker::Message>, Status> {
    let message = stream.message().await.inspect_err(|error| {
        if let Some(peer) = peer {
            peer.sent(error);
        }
    })?;
    match message {
        None => Ok(None),
        Some(FromWorker { message: Some(message) }) => Ok(Some(message)),
        Some(FromWorker { message: None }) => Err(misbehaved(peer, "sent a message of no kind")),
    }
}

/// Disconnects a peer, and says why.
fn misbehaved(peer: Option<&Peer>, what: &str) -> Status {
    if let Some(peer) = peer {
        peer.misbehaved(what);
    }
    Status::invalid_argument(format!("this end {what}"))
}
