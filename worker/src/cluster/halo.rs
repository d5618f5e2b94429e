//! The halo of an attempt on its way between members.
//!
//! What a member sends to another goes, part by part, through a queue to a task that writes it to a stream; what others
//! send is put into queues by the [Data service](super::data), which have room for so many bytes. A full queue holds its
//! sender up. Values of a whole step may have any size: no more than some parts of them wait to be sent. What is sent
//! while a wave is swept, at most about a byte for each of its positions, waits for nobody.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use prost::Message;
use tokio::{
    runtime::Handle,
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    time::error::Elapsed,
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Exchange, ExchangeError, HaloPart, MemberIndex, PART_BYTES, PARTS_AHEAD};
use ziggurat_rpc::{
    PROTOCOL, Security, connect,
    convert::{Member, identity_text},
    data_client,
    limits::CHUNK_BYTES,
    proto::{HaloMessage, HaloOpen, HaloPayload, halo_message::Message as Content},
};
use ziggurat_telemetry::{Counted, Gauge, WorkerMetrics};

use super::moved::Moved;
use crate::state::lock;

/// How many parts of a whole step may wait to be sent to a member.
const OUTGOING: usize = 16;

/// How many bytes of a member's parts may wait to be applied: of values of a whole step no more come before as many were
/// sent.
const INCOMING_BYTES: usize = PARTS_AHEAD * PART_BYTES;

const _: () = assert!(PART_BYTES <= CHUNK_BYTES);

/// How long a connection to a member may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a member whose streams ended without a reason that blames it is waited for: it may have ended the attempt because of a
/// third, and the coordinator then ends it for all.
const ENDED_PATIENCE: Duration = Duration::from_secs(20);

/// What a message takes on the wire beside itself: the headers of gRPC and of an HTTP/2 frame.
pub const OVERHEAD_BYTES: u64 = 5 + 9;

/// A part that waits in a queue.
pub struct Waiting {
    barrier: u32,
    part: HaloPart,
    _counted: Counted,
    /// Its room in the queue.
    _room: Option<OwnedSemaphorePermit>,
}

/// An attempt at a step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttemptName {
    /// Of the coordinator whose attempt it is.
    pub incarnation: u64,
    /// The job.
    pub job: u64,
    /// Its step.
    pub step: Tier,
    /// The number of the attempt.
    pub attempt: u32,
}

/// Where payloads come in, for all attempts of a worker.
#[derive(Default)]
pub struct Inboxes {
    open: Mutex<HashMap<(u64, Tier), AttemptInboxes>>,
    changed: Notify,
}

struct AttemptInboxes {
    name: AttemptName,
    /// By member; gone once a stream has come.
    by_member: Vec<Option<Inbox>>,
}

/// Where the parts of a member's payloads come in.
pub struct Inbox {
    queue: mpsc::UnboundedSender<Waiting>,
    /// A permit for each byte that there is room for.
    room: Arc<Semaphore>,
    waiting: Gauge,
}

impl Inbox {
    /// Lets a part in as soon as there is room for it; `None` if the attempt is over.
    pub async fn put(&self, barrier: u32, part: HaloPart) -> Option<()> {
        let bytes = part.bytes.len().min(INCOMING_BYTES) as u32;
        let room = tokio::select! {
            () = self.queue.closed() => return None,
            room = self.room.clone().acquire_many_owned(bytes) => room.ok(),
        };
        let _counted = Counted::by(&self.waiting);
        self.queue.send(Waiting { barrier, part, _counted, _room: room }).ok()
    }
}

impl Inboxes {
    /// Lets the payloads of an attempt in; those of earlier ones no more.
    fn open(&self, name: AttemptName, by_member: Vec<Option<Inbox>>) {
        lock(&self.open).insert((name.job, name.step), AttemptInboxes { name, by_member });
        self.changed.notify_waiters();
    }

    fn close(&self, name: AttemptName) {
        let mut open = lock(&self.open);
        let place = (name.job, name.step);
        if open.get(&place).is_some_and(|of_attempt| of_attempt.name == name) {
            open.remove(&place);
        }
    }

    /// The inbox of a member; waits for a while until the attempt begins.
    ///
    /// # Errors
    /// NOT_FOUND if it does not; ABORTED if it is over; INVALID_ARGUMENT for a member that is none; ALREADY_EXISTS if a
    /// stream of that member has come.
    pub async fn enter(
        &self,
        name: AttemptName,
        member: u32,
        patience: Duration,
    ) -> Result<Inbox, Status> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let changed = self.changed.notified();
            if let Some(of_attempt) = lock(&self.open).get_mut(&(name.job, name.step)) {
                let same = of_attempt.name.incarnation == name.incarnation;
                if same && of_attempt.name.attempt > name.attempt {
                    return Err(over());
                }
                if of_attempt.name == name {
                    let inbox = of_attempt.by_member.get_mut(member as usize);
                    let inbox = inbox.ok_or_else(|| Status::invalid_argument("no such member"))?;
                    return inbox.take().ok_or_else(|| Status::already_exists("it came before"));
                }
            }
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                return Err(Status::not_found("no such attempt"));
            }
        }
    }
}

/// The answer to a member whose stream belongs to an attempt that this worker has ended.
pub fn over() -> Status {
    Status::aborted("the attempt is over")
}

/// The halo of one attempt.
pub struct Halo {
    name: AttemptName,
    inboxes: Arc<Inboxes>,
    runtime: Handle,
    /// By member: to the task that sends, with the room for parts of whole steps, and what came.
    outgoing: Vec<(mpsc::UnboundedSender<Waiting>, Arc<Semaphore>)>,
    incoming: Vec<Mutex<mpsc::UnboundedReceiver<Waiting>>>,
    shared: Arc<Shared>,
    to_send: Gauge,
    moved: Moved,
    waited_nanos: AtomicU64,
    packing: Mutex<Packing>,
}

/// The time between successive calls about one barrier that may wait, which is spent on packing and unpacking.
#[derive(Default)]
struct Packing {
    /// The barrier of the last call, and when that ended.
    last: Option<(u32, Instant)>,
    total: Duration,
}

/// What the halos of a worker have in common.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// How others are reached.
    pub security: &'a Security,
    /// Where payloads come in.
    pub inboxes: &'a Arc<Inboxes>,
    /// What is counted.
    pub metrics: &'a WorkerMetrics,
    /// What the worker has moved.
    pub moved: &'a Moved,
}

struct Shared {
    /// Cancelled when the attempt is over, or a member cannot be reached.
    stop: CancellationToken,
    failed: Mutex<Option<(MemberIndex, String)>>,
    sent_bytes: AtomicU64,
}

impl Shared {
    /// Waits for the end of an attempt that another member seems to have ended, and not for ever.
    async fn ends_elsewhere(&self) -> Result<(), Elapsed> {
        tokio::time::timeout(ENDED_PATIENCE, self.stop.cancelled()).await
    }

    fn fail(&self, member: MemberIndex, message: String) {
        lock(&self.failed).get_or_insert((member, message));
        self.stop.cancel();
    }
}

impl Halo {
    /// Opens the inboxes of the other members, and will reach them when there is something to send.
    pub fn open(
        name: AttemptName,
        members: &[Member],
        me: MemberIndex,
        Ports { security, inboxes, metrics, moved }: Ports<'_>,
        stop: CancellationToken,
    ) -> Self {
        let runtime = Handle::current();
        let shared =
            Arc::new(Shared { stop, failed: Mutex::default(), sent_bytes: AtomicU64::new(0) });
        let (mut outgoing, mut incoming, mut by_member) = (Vec::new(), Vec::new(), Vec::new());
        for (member, Member { worker, address }) in (0..).map(MemberIndex).zip(members) {
            let (queue, came) = mpsc::unbounded_channel();
            incoming.push(Mutex::new(came));
            let room = Arc::new(Semaphore::new(INCOMING_BYTES));
            let waiting = metrics.halo_parts_to_apply.clone();
            by_member.push((member != me).then_some(Inbox { queue, room, waiting }));
            let (send, parts) = mpsc::unbounded_channel();
            outgoing.push((send, Arc::new(Semaphore::new(OUTGOING))));
            let outbox = Outbox {
                name,
                me: me.0 as u32,
                member,
                worker: *worker,
                address: address.clone(),
                security: security.clone(),
                shared: shared.clone(),
            };
            runtime.spawn(outbox.send_all(parts));
        }
        inboxes.open(name, by_member);
        let (inboxes, waited_nanos) = (inboxes.clone(), AtomicU64::new(0));
        let to_send = metrics.halo_parts_to_send.clone();
        Self {
            name,
            inboxes,
            runtime,
            outgoing,
            incoming,
            shared,
            to_send,
            moved: moved.clone(),
            waited_nanos,
            packing: Mutex::default(),
        }
    }

    /// Bytes sent so far, with what gRPC and HTTP/2 add.
    pub fn sent_bytes(&self) -> u64 {
        self.shared.sent_bytes.load(Ordering::Relaxed)
    }

    /// Time spent waiting for others so far.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Ordering::Relaxed))
    }

    /// Time spent on exchanging so far, without waiting and without what was packed while a wave was swept: that between the
    /// first and the last call about each barrier that may wait.
    pub fn packed(&self) -> Duration {
        lock(&self.packing).total
    }

    /// A call about a barrier begins.
    fn begins(&self, barrier: u32) {
        let mut packing = lock(&self.packing);
        if let Some((_, ended)) = packing.last.filter(|&(last, _)| last == barrier) {
            packing.total += ended.elapsed();
        }
    }

    /// It ends.
    fn ends(&self, barrier: u32) {
        lock(&self.packing).last = Some((barrier, Instant::now()));
    }

    /// Why nothing can be exchanged any more.
    fn failure(&self, member: MemberIndex) -> ExchangeError {
        let (member, message) =
            lock(&self.shared.failed).clone().unwrap_or((member, "the attempt is over".to_owned()));
        ExchangeError { member, message }
    }

    /// Leaves a part to the task that sends.
    fn send_with(
        &self,
        room: Option<OwnedSemaphorePermit>,
        member: MemberIndex,
        barrier: u32,
        part: HaloPart,
    ) -> Result<(), ExchangeError> {
        let bytes = part.bytes.len();
        let _counted = Counted::by(&self.to_send);
        let part = Waiting { barrier, part, _counted, _room: room };
        self.outgoing[member.0].0.send(part).map_err(|_| self.failure(member))?;
        self.moved.add(bytes);
        Ok(())
    }

    /// Waits, unless everything is over before.
    fn wait<T>(
        &self,
        member: MemberIndex,
        what: impl Future<Output = Option<T>>,
    ) -> Result<T, ExchangeError> {
        let started = Instant::now();
        let got = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => None,
                got = what => {
                    if got.is_none() {
                        drop(self.shared.ends_elsewhere().await); // the same failure either way
                    }
                    got
                }
            }
        });
        self.waited_nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        got.ok_or_else(|| self.failure(member))
    }
}

impl Drop for Halo {
    fn drop(&mut self) {
        self.inboxes.close(self.name);
    }
}

impl Exchange for Halo {
    fn post(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError> {
        self.send_with(None, member, barrier, part)
    }

    fn send(&self, member: MemberIndex, barrier: u32, part: HaloPart) -> Result<(), ExchangeError> {
        self.begins(barrier);
        let (queue, room) = &self.outgoing[member.0];
        let room = match room.clone().try_acquire_owned() {
            Ok(room) => room,
            Err(_) => self.wait(member, async {
                tokio::select! {
                    () = queue.closed() => None,
                    room = room.clone().acquire_owned() => room.ok(),
                }
            })?,
        };
        self.ends(barrier);
        self.send_with(Some(room), member, barrier, part)
    }

    fn receive(&self, member: MemberIndex, barrier: u32) -> Result<HaloPart, ExchangeError> {
        self.begins(barrier);
        let next = self.wait(member, lock(&self.incoming[member.0]).recv())?;
        self.ends(barrier);
        let Waiting { barrier: number, part, .. } = next;
        self.moved.add(part.bytes.len());
        if number != barrier {
            let message = format!("barrier {number} came in place of {barrier}");
            return Err(ExchangeError { member, message });
        }
        Ok(part)
    }
}

/// The outbox of another member: the stream that carries payloads to it.
struct Outbox {
    name: AttemptName,
    me: u32,
    member: MemberIndex,
    worker: u64,
    address: String,
    security: Security,
    shared: Arc<Shared>,
}

impl Outbox {
    async fn send_all(self, mut parts: mpsc::UnboundedReceiver<Waiting>) {
        // A member of whom nobody reads anything is never connected to.
        let Some(first) = parts.recv().await else { return };
        let stop = self.shared.stop.clone();
        let result = tokio::select! {
            () = stop.cancelled() => Ok(()),
            result = self.stream(first, &mut parts) => result,
        };
        let Err(status) = result else { return };
        if status.code() == Code::Aborted && self.shared.ends_elsewhere().await.is_ok() {
            return;
        }
        let message = format!("cannot reach {}: {}", self.address, status.message());
        self.shared.fail(self.member, message);
    }

    async fn stream(
        &self,
        first: Waiting,
        parts: &mut mpsc::UnboundedReceiver<Waiting>,
    ) -> Result<(), Status> {
        let connection = connect(&self.address, &self.security, CONNECT_TIMEOUT)
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let (messages, stream) = mpsc::channel(4);
        let mut client = data_client(connection);
        let call = client.exchange(ReceiverStream::new(stream));
        let AttemptName { incarnation, job, step, attempt } = self.name;
        let open = HaloOpen {
            protocol: PROTOCOL,
            job,
            step: Some(step.into()),
            attempt,
            member: self.me,
            worker: identity_text(self.worker),
            incarnation,
        };
        let feed = async move {
            self.send(&messages, Content::Open(open)).await?;
            let mut next = Some(first);
            while let Some(Waiting { barrier, part, .. }) = next {
                let HaloPart { number, bytes } = part;
                let payload = HaloPayload { barrier, data: bytes.into(), part: number };
                self.send(&messages, Content::Payload(payload)).await?;
                next = parts.recv().await;
            }
            Some(())
        };
        // The call ends with an error as soon as the connection breaks, or the other side does not want any more: then nothing
        // more is fed, though the next part may be long in coming.
        let mut call = pin!(call);
        let answer = tokio::select! {
            biased;
            answer = &mut call => answer,
            _ = feed => call.await,
        };
        answer.map(drop)
    }

    async fn send(&self, messages: &mpsc::Sender<HaloMessage>, content: Content) -> Option<()> {
        let message = HaloMessage { message: Some(content) };
        let bytes = message.encoded_len() as u64 + OVERHEAD_BYTES;
        messages.send(message).await.ok()?;
        self.shared.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_telemetry::Registry;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn parts_that_came_are_counted_and_wait_for_room() {
        let metrics = WorkerMetrics::new(&mut Registry::default());
        let inboxes = Arc::new(Inboxes::default());
        let name = AttemptName { incarnation: 1, job: 1, step: Tier::new(1, 1), attempt: 1 };
        let member = |worker| Member { worker, address: "127.0.0.1:1".to_owned() };
        let (members, stop) = ([member(1), member(2)], CancellationToken::new());
        let (security, moved) = (&Security::Open, &Moved::default());
        let ports = Ports { security, inboxes: &inboxes, metrics: &metrics, moved };
        let halo = Halo::open(name, &members, MemberIndex(0), ports, stop);
        let inbox = inboxes.enter(name, 1, Duration::ZERO).await.unwrap();
        let part = |number, bytes| HaloPart { number, bytes: vec![7; bytes] };
        inbox.put(0, part(0, 1)).await.unwrap();
        inbox.put(0, part(1, 1)).await.unwrap();
        assert_eq!(metrics.halo_parts_to_apply.get(), 2);
        let receive = move || {
            let came = [
                halo.receive(MemberIndex(1), 0).unwrap(),
                halo.receive(MemberIndex(1), 0).unwrap(),
            ];
            (halo, came.map(|part| part.number))
        };
        let (halo, came) = tokio::task::spawn_blocking(receive).await.unwrap();
        assert_eq!((came, metrics.halo_parts_to_apply.get()), ([0, 1], 0));
        assert_eq!(moved.bytes(), 2);

        for number in 0..PARTS_AHEAD as u32 {
            inbox.put(1, part(number, PART_BYTES)).await.unwrap();
        }
        let soon = Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, inbox.put(1, part(99, 1))).await.is_err());
        drop(halo);
        assert_eq!(metrics.halo_parts_to_apply.get(), 0);
        assert_eq!(inbox.put(9, part(99, 1)).await, None);
    }

    #[tokio::test]
    async fn an_attempt_is_not_taken_for_that_of_another_incarnation() {
        let inboxes = Inboxes::default();
        let name = AttemptName { incarnation: 1, job: 1, step: Tier::new(1, 1), attempt: 2 };
        inboxes.open(name, vec![None]);
        let enter = |incarnation, attempt| {
            let name = AttemptName { incarnation, attempt, ..name };
            inboxes.enter(name, 0, Duration::ZERO)
        };
        let (never, over) = (Some(Code::NotFound), Some(Code::Aborted));
        for (incarnation, attempt, expected) in
            [(2, 1, never), (2, 2, never), (2, 3, never), (1, 1, over), (1, 3, never)]
        {
            let refused = enter(incarnation, attempt).await.err().map(|status| status.code());
            assert_eq!(refused, expected, "{incarnation} {attempt}");
        }
        let came = enter(1, 2).await.err().map(|status| status.code());
        assert_eq!(came, Some(Code::AlreadyExists));
    }
}
