//! The halo of an attempt on its way between members.
//!
//! What a member sends to another goes, part by part, through a bounded queue to a task that writes it to a
//! stream; what others send is put into bounded queues by the [Data service](super::data), a payload at a time. A full
//! queue holds its sender up.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use prost::Message;
use tokio::{
    runtime::Handle,
    sync::{
        Notify,
        mpsc::{self, error::TrySendError},
    },
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Exchange, ExchangeError, HaloPart, PART_BYTES};
use ziggurat_rpc::{
    PROTOCOL, Security, connect,
    convert::Member,
    data_client,
    limits::CHUNK_BYTES,
    proto::{HaloMessage, HaloOpen, HaloPayload, halo_message::Message as Content},
};

use crate::job::lock;

/// How many parts may wait to be sent to a member.
const OUTGOING: usize = 16;

/// How many payloads of a member may wait to be applied.
const INCOMING: usize = 2;

const _: () = assert!(PART_BYTES <= CHUNK_BYTES);

/// How long a connection to a member may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a message takes on the wire beside itself: the headers of gRPC and of an HTTP/2 frame.
pub const OVERHEAD_BYTES: u64 = 5 + 9;

/// A payload as it came: of a barrier, its parts.
pub type Payload = (u32, Vec<Vec<u8>>);

/// An attempt at a step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttemptName {
    /// The job.
    pub job: u64,
    /// Its step.
    pub step: Tier,
    /// The number of the attempt.
    pub attempt: u32,
}

/// Where payloads come in, for all attempts of a worker.
#[derive(Default)]
pub struct Doors {
    open: Mutex<HashMap<(u64, Tier), Door>>,
    changed: Notify,
}

struct Door {
    attempt: u32,
    /// By member; gone once a stream has come.
    queues: Vec<Option<mpsc::Sender<Payload>>>,
}

impl Doors {
    /// Lets the payloads of an attempt in; those of earlier ones no more.
    fn open(&self, name: AttemptName, queues: Vec<Option<mpsc::Sender<Payload>>>) {
        let AttemptName { job, step, attempt } = name;
        lock(&self.open).insert((job, step), Door { attempt, queues });
        self.changed.notify_waiters();
    }

    fn close(&self, name: AttemptName) {
        let mut open = lock(&self.open);
        let place = (name.job, name.step);
        if open.get(&place).is_some_and(|door| door.attempt == name.attempt) {
            open.remove(&place);
        }
    }

    /// The queue for what a member sends; waits for a while until the attempt begins.
    ///
    /// # Errors
    /// NOT_FOUND if it does not, or is over; INVALID_ARGUMENT for a member that is none;
    /// ALREADY_EXISTS if a stream of that member has come.
    pub async fn enter(
        &self,
        name: AttemptName,
        member: u32,
        patience: Duration,
    ) -> Result<mpsc::Sender<Payload>, Status> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let changed = self.changed.notified();
            if let Some(door) = lock(&self.open).get_mut(&(name.job, name.step)) {
                if door.attempt > name.attempt {
                    return Err(Status::not_found("the attempt is over"));
                }
                if door.attempt == name.attempt {
                    let queue = door.queues.get_mut(member as usize);
                    let queue = queue.ok_or_else(|| Status::invalid_argument("no such member"))?;
                    return queue.take().ok_or_else(|| Status::already_exists("it came before"));
                }
            }
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                return Err(Status::not_found("no such attempt"));
            }
        }
    }
}

/// The halo of one attempt.
pub struct Halo {
    name: AttemptName,
    doors: Arc<Doors>,
    runtime: Handle,
    /// By member: to the task that sends, and what came.
    outgoing: Vec<mpsc::Sender<(u32, HaloPart)>>,
    incoming: Vec<Mutex<mpsc::Receiver<Payload>>>,
    shared: Arc<Shared>,
    waited_nanos: AtomicU64,
}

struct Shared {
    /// Cancelled when the attempt is over, or a member cannot be reached.
    stop: CancellationToken,
    failed: Mutex<Option<(usize, String)>>,
    sent_bytes: AtomicU64,
}

impl Shared {
    fn fail(&self, member: usize, message: String) {
        lock(&self.failed).get_or_insert((member, message));
        self.stop.cancel();
    }
}

impl Halo {
    /// Opens the doors to the other members, and will reach them when there is something to send.
    pub fn open(
        name: AttemptName,
        members: &[Member],
        me: usize,
        security: &Security,
        doors: &Arc<Doors>,
        stop: CancellationToken,
    ) -> Self {
        let runtime = Handle::current();
        let shared =
            Arc::new(Shared { stop, failed: Mutex::default(), sent_bytes: AtomicU64::new(0) });
        let (mut outgoing, mut incoming, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        for (member, Member { address, .. }) in members.iter().enumerate() {
            let (queue, came) = mpsc::channel(INCOMING);
            incoming.push(Mutex::new(came));
            queues.push((member != me).then_some(queue));
            let (send, parts) = mpsc::channel(OUTGOING);
            outgoing.push(send);
            let way = Way {
                name,
                me: me as u32,
                member,
                address: address.clone(),
                security: security.clone(),
                shared: shared.clone(),
            };
            runtime.spawn(way.send_all(parts));
        }
        doors.open(name, queues);
        let (doors, waited_nanos) = (doors.clone(), AtomicU64::new(0));
        Self { name, doors, runtime, outgoing, incoming, shared, waited_nanos }
    }

    /// Bytes sent so far, with what gRPC and HTTP/2 add.
    pub fn sent_bytes(&self) -> u64 {
        self.shared.sent_bytes.load(Ordering::Relaxed)
    }

    /// Time spent waiting for others so far.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Ordering::Relaxed))
    }

    /// Why nothing can be exchanged any more.
    fn failure(&self, member: usize) -> ExchangeError {
        let (member, message) =
            lock(&self.shared.failed).clone().unwrap_or((member, "the attempt is over".to_owned()));
        ExchangeError { member, message }
    }

    /// Waits, unless everything is over before.
    fn wait<T>(
        &self,
        member: usize,
        what: impl Future<Output = Option<T>>,
    ) -> Result<T, ExchangeError> {
        let started = Instant::now();
        let got = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => None,
                got = what => got,
            }
        });
        self.waited_nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        got.ok_or_else(|| self.failure(member))
    }
}

impl Drop for Halo {
    fn drop(&mut self) {
        self.doors.close(self.name);
    }
}

impl Exchange for Halo {
    fn send(&self, member: usize, barrier: u32, part: HaloPart) -> Result<(), ExchangeError> {
        let part = (barrier, part);
        match self.outgoing[member].try_send(part) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(self.failure(member)),
            Err(TrySendError::Full(part)) => {
                self.wait(member, async { self.outgoing[member].send(part).await.ok() })
            }
        }
    }

    fn receive(&self, member: usize, barrier: u32) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let (number, parts) = self.wait(member, lock(&self.incoming[member]).recv())?;
        if number != barrier {
            let message = format!("barrier {number} came in place of {barrier}");
            return Err(ExchangeError { member, message });
        }
        Ok(parts)
    }
}

/// The way to another member.
struct Way {
    name: AttemptName,
    me: u32,
    member: usize,
    address: String,
    security: Security,
    shared: Arc<Shared>,
}

impl Way {
    async fn send_all(self, mut parts: mpsc::Receiver<(u32, HaloPart)>) {
        // A member of whom nobody reads anything is never connected to.
        let Some(first) = parts.recv().await else { return };
        let stop = self.shared.stop.clone();
        let result = tokio::select! {
            () = stop.cancelled() => Ok(()),
            result = self.stream(first, parts) => result,
        };
        if let Err(message) = result {
            let message = format!("cannot reach {}: {message}", self.address);
            self.shared.fail(self.member, message);
        }
    }

    async fn stream(
        &self,
        first: (u32, HaloPart),
        mut parts: mpsc::Receiver<(u32, HaloPart)>,
    ) -> Result<(), String> {
        let connection = connect(&self.address, &self.security, CONNECT_TIMEOUT)
            .map_err(|error| error.to_string())?;
        let (messages, stream) = mpsc::channel(4);
        let mut client = data_client(connection);
        let call = client.exchange(ReceiverStream::new(stream));
        let AttemptName { job, step, attempt } = self.name;
        let open =
            HaloOpen { protocol: PROTOCOL, job, step: Some(step.into()), attempt, member: self.me };
        let feed = async move {
            self.send(&messages, Content::Open(open)).await?;
            let mut next = Some(first);
            while let Some((barrier, HaloPart { bytes, is_last })) = next {
                let payload = HaloPayload { barrier, data: bytes.into(), last: is_last };
                self.send(&messages, Content::Payload(payload)).await?;
                next = parts.recv().await;
            }
            Some(())
        };
        // The call ends with an error as soon as the other side does not want any more.
        let (_, answer) = tokio::join!(feed, call);
        answer.map(drop).map_err(|status| status.message().to_owned())
    }

    async fn send(&self, messages: &mpsc::Sender<HaloMessage>, content: Content) -> Option<()> {
        let message = HaloMessage { message: Some(content) };
        let bytes = message.encoded_len() as u64 + OVERHEAD_BYTES;
        messages.send(message).await.ok()?;
        self.shared.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
        Some(())
    }
}
