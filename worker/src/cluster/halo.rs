//! The halo of an attempt on its way between members.
//!
//! What a member sends to another goes through a bounded queue to a task that compresses it and writes
//! it to a stream; what others send is put into bounded queues by the [Data service](super::data). A full queue
//! holds its sender up.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use prost::Message;
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc},
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Exchange, ExchangeError};
use ziggurat_rpc::{
    PROTOCOL, Security, connect,
    convert::Member,
    data_client,
    limits::CHUNK_BYTES,
    proto::{HaloMessage, HaloOpen, HaloPayload, halo_message::Message as Content},
};
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::CParameter,
};

use crate::job::lock;

/// How many payloads may wait to be sent to a member, or to be applied of what it sent.
const QUEUE: usize = 2;

/// How zstd compresses payloads: there is little to find in them but zeros, so it looks for long matches only.
/// Higher levels and shorter matches take longer and make payloads no smaller.
const COMPRESSION_LEVEL: i32 = 1;
const COMPRESSION: [CParameter; 2] = [CParameter::MinMatch(7), CParameter::HashLog(12)];

/// How long a connection to a member may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a message takes on the wire beside itself: the headers of gRPC and of an HTTP/2 frame.
pub const OVERHEAD_BYTES: u64 = 5 + 9;

/// A payload as it came: of a barrier, compressed.
pub type Packed = (u32, Vec<u8>);

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
    queues: Vec<Option<mpsc::Sender<Packed>>>,
}

impl Doors {
    /// Lets the payloads of an attempt in; those of earlier ones no more.
    fn open(&self, name: AttemptName, queues: Vec<Option<mpsc::Sender<Packed>>>) {
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
    ) -> Result<mpsc::Sender<Packed>, Status> {
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
    outgoing: Vec<mpsc::Sender<(u32, Vec<u8>)>>,
    incoming: Vec<Mutex<Incoming>>,
    shared: Arc<Shared>,
    waited_nanos: AtomicU64,
}

/// What came from a member.
struct Incoming {
    queue: mpsc::Receiver<Packed>,
    decompressor: Decompressor<'static>,
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
            let (queue, came) = mpsc::channel(QUEUE);
            let decompressor = Decompressor::default();
            incoming.push(Mutex::new(Incoming { queue: came, decompressor }));
            queues.push((member != me).then_some(queue));
            let (send, payloads) = mpsc::channel(QUEUE);
            outgoing.push(send);
            let way = Way {
                name,
                me: me as u32,
                member,
                address: address.clone(),
                security: security.clone(),
                shared: shared.clone(),
            };
            runtime.spawn(way.send_all(payloads));
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
    fn send(&self, member: usize, barrier: u32, payload: Vec<u8>) -> Result<(), ExchangeError> {
        let sent = async { self.outgoing[member].send((barrier, payload)).await.ok() };
        self.wait(member, sent)
    }

    fn receive(
        &self,
        member: usize,
        barrier: u32,
        most_bytes: usize,
    ) -> Result<Vec<u8>, ExchangeError> {
        let Incoming { queue, decompressor } = &mut *lock(&self.incoming[member]);
        let (number, packed) = self.wait(member, queue.recv())?;
        let wrong = |message: String| ExchangeError { member, message };
        if number != barrier {
            return Err(wrong(format!("barrier {number} came in place of {barrier}")));
        }
        decompressor
            .decompress(&packed, most_bytes)
            .map_err(|error| wrong(format!("what came cannot be unpacked: {error}")))
    }
}

fn compressor() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(COMPRESSION_LEVEL)?;
    COMPRESSION.into_iter().try_for_each(|one| compressor.set_parameter(one))?;
    Ok(compressor)
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
    async fn send_all(self, mut payloads: mpsc::Receiver<(u32, Vec<u8>)>) {
        // A member of whom nobody reads anything is never connected to.
        let Some(first) = payloads.recv().await else { return };
        let stop = self.shared.stop.clone();
        let result = tokio::select! {
            () = stop.cancelled() => Ok(()),
            result = self.stream(first, payloads) => result,
        };
        if let Err(message) = result {
            let message = format!("cannot reach {}: {message}", self.address);
            self.shared.fail(self.member, message);
        }
    }

    async fn stream(
        &self,
        first: (u32, Vec<u8>),
        mut payloads: mpsc::Receiver<(u32, Vec<u8>)>,
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
            let mut compressor = compressor().ok()?;
            let mut next = Some(first);
            while let Some((barrier, payload)) = next {
                let pack = move || (compressor.compress(&payload), compressor);
                let packed;
                (packed, compressor) = tokio::task::spawn_blocking(pack).await.ok()?;
                let mut rest = Bytes::from(packed.ok()?);
                loop {
                    let data = rest.split_to(rest.len().min(CHUNK_BYTES));
                    let last = rest.is_empty();
                    let payload = HaloPayload { barrier, data, last };
                    self.send(&messages, Content::Payload(payload)).await?;
                    if last {
                        break;
                    }
                }
                next = payloads.recv().await;
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
