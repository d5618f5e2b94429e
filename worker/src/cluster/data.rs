//! The Data service: what other workers send of their halos, and what was saved, for whoever asks.

use std::{ops::Range, sync::Arc, time::Duration};

use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};
use ziggurat_checkpoints::CheckpointError;
use ziggurat_kernel::{Column, HaloPart};
use ziggurat_rpc::{
    Peer,
    convert::{check_addressee, check_member, check_protocol, required},
    limits::CHUNK_BYTES,
    proto::{
        ExchangeReply, FetchReply, FetchRequest, HaloMessage, HaloOpen, HaloPayload,
        data_server::Data, halo_message::Message as Content,
    },
};
use ziggurat_store::{Epoch, EpochKey, ShardEpoch, StoreError};

use super::{
    Worker,
    halo::{AttemptName, OVERHEAD_BYTES, over},
    local_checkpoints::SaveName,
    pieces::{chosen, packed, places_of},
};
use crate::parts::key;

/// How long a stream waits for the attempt it belongs to: this worker may be told of it later.
const PATIENCE: Duration = Duration::from_secs(20);

/// The service.
pub struct DataService(pub Arc<Worker>);

#[tonic::async_trait]
impl Data for DataService {
    async fn exchange(
        &self,
        request: Request<Streaming<HaloMessage>>,
    ) -> Result<Response<ExchangeReply>, Status> {
        let peer = Peer::of(&request).cloned();
        let result = self.take_halo(request.into_inner(), peer.as_ref()).await;
        if let (Err(status), Some(peer)) = (&result, &peer)
            && status.code() == tonic::Code::InvalidArgument
        {
            peer.misbehaved(format_args!("sent a wrong halo: {}", status.message()));
        }
        result.map(|()| Response::new(ExchangeReply {}))
    }

    type FetchStream = ReceiverStream<Result<FetchReply, Status>>;

    async fn fetch(
        &self,
        request: Request<FetchRequest>,
    ) -> Result<Response<Self::FetchStream>, Status> {
        let request = request.into_inner();
        let FetchRequest { protocol, job, step, epoch, incarnation, .. } = request;
        let FetchRequest { column, shard, range, spans, worker, .. } = request;
        check_protocol(protocol)?;
        check_addressee(&worker, self.0.local_checkpoints.identity())?;
        let step = required(step, "fetch.step")?;
        let column: Column = required(column, "fetch.column")?;
        let range = u8::try_from(range).map_err(|_| Status::invalid_argument("no such range"))?;
        let save = SaveName { job, step, epoch, incarnation };
        let found = self.0.local_checkpoints.find(save, column, (shard, range));
        let (replies, stream) = mpsc::channel(4);
        let worker = self.0.clone();
        let Some(found) = found else {
            let key = key(job, step, column, shard, range).at(Epoch(epoch));
            let (numbers, width) = worker.stored(key, incarnation, column).await?;
            let places = places_of(&spans, (numbers.len() / width) as u64)?;
            tokio::task::spawn_blocking(move || {
                send_numbers(&chosen(&numbers, width, 0, &places), width, &replies);
            });
            return Ok(Response::new(ReceiverStream::new(stream)));
        };
        let places = places_of(&spans, found.values)?;
        tokio::task::spawn_blocking(move || {
            let is_there = || worker.local_checkpoints.find(save, column, (shard, range)).is_some();
            if let Err(status) = send_range(&worker, &found, &places, is_there, &replies) {
                drop(replies.blocking_send(Err(status))); // whoever asked may be gone
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

impl DataService {
    async fn take_halo(
        &self,
        mut messages: Streaming<HaloMessage>,
        peer: Option<&Peer>,
    ) -> Result<(), Status> {
        let wrong = |problem: &'static str| Status::invalid_argument(problem);
        let note = |status: Status| {
            if let Some(peer) = peer {
                peer.sent(&status);
            }
            status
        };
        let first = messages.message().await.map_err(note)?;
        let Some(HaloMessage { message: Some(Content::Open(open)) }) = first else {
            return Err(wrong("the first message is not `open`"));
        };
        check_member(open.protocol)?;
        check_addressee(&open.worker, self.0.local_checkpoints.identity())?;
        let step = required(open.step, "open.step")?;
        let HaloOpen { incarnation, job, attempt, .. } = open;
        let name = AttemptName { incarnation, job, step, attempt };
        let inbox = self.0.inboxes.enter(name, open.member, PATIENCE).await?;
        let received = self.0.metrics.received.of(name.job);
        let mut at = 0;
        while let Some(message) = messages.message().await.map_err(note)? {
            received.inc_by(message.encoded_len() as u64 + OVERHEAD_BYTES);
            let Some(Content::Payload(payload)) = message.message else {
                return Err(wrong("a message is no payload"));
            };
            let HaloPayload { barrier, data, part } = payload;
            if data.len() > CHUNK_BYTES {
                return Err(wrong("a part of a payload is too large"));
            }
            if barrier < at {
                return Err(wrong("a part of a payload comes after those of a later barrier"));
            }
            at = barrier;
            let part = HaloPart { number: part, bytes: data.into() };
            inbox.put(barrier, part).await.ok_or_else(over)?;
        }
        Ok(())
    }
}

impl Worker {
    /// What the checkpoint store has of a range of a shard, and how many bytes a number of it has, for those who
    /// cannot reach it themselves.
    async fn stored(
        &self,
        key: EpochKey,
        incarnation: u64,
        column: Column,
    ) -> Result<(Vec<u8>, usize), Status> {
        let store = self.checkpoints().ok_or_else(missing)?;
        let widths: &[usize] = match column {
            Column::Values => &[8, 4], // which of them, the job knows
            Column::Units => &[4],
            Column::Lower | Column::Upper => &[2],
            Column::Vector(_) => &[1],
        };
        let mut problem = missing();
        for &width in widths {
            match store.get(key, incarnation, width).await {
                Ok(numbers) => return Ok((numbers, width)),
                Err(CheckpointError::Missing { .. }) => return Err(missing()),
                Err(error) if error.lost().is_some() => {
                    problem = Status::data_loss(error.to_string());
                }
                Err(error) => return Err(Status::unavailable(error.to_string())),
            }
        }
        Err(problem)
    }
}

fn missing() -> Status {
    Status::not_found("this worker does not have it")
}

fn unread(error: StoreError) -> Status {
    match error.damaged() {
        Some(_) => Status::data_loss(error.to_string()),
        None => Status::unavailable(error.to_string()),
    }
}

/// Where the pieces of an answer go; whoever asked may be gone.
type Replies = mpsc::Sender<Result<FetchReply, Status>>;

/// Sends numbers, piece by piece.
fn send_numbers(numbers: &[u8], width: usize, replies: &Replies) {
    let checksum = xxh3_64(numbers);
    let mut pieces = numbers.chunks(CHUNK_BYTES).peekable();
    while let Some(piece) = pieces.next() {
        let checksum = pieces.peek().is_none().then_some(checksum);
        if replies.blocking_send(packed(piece, width, checksum)).is_err() {
            return;
        }
    }
}

/// Sends some places of a range of a shard, piece by piece, as long as it is there.
fn send_range(
    worker: &Worker,
    found: &ShardEpoch,
    places: &[Range<u64>],
    is_there: impl Fn() -> bool,
    replies: &Replies,
) -> Result<(), Status> {
    let width = found.value_type.bytes();
    let mut checksum = Xxh3::new();
    let each = (CHUNK_BYTES / width) as u64;
    let last = places.last().map_or(0, |place| place.end);
    for start in (0..last).step_by(each as usize) {
        let count = each.min(found.values - start);
        if !places.iter().any(|place| place.start < start + count && place.end > start) {
            continue;
        }
        let read = worker.local_checkpoints.read(found, start, count as usize).map_err(unread)?;
        if !is_there() {
            return Err(missing());
        }
        let numbers = chosen(&read, width, start, places);
        checksum.update(&numbers);
        let checksum = (start + count >= last).then(|| checksum.digest());
        if replies.blocking_send(packed(&numbers, width, checksum)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;
    use tonic::Code;
    use ziggurat_encoding::Tier;
    use ziggurat_kernel::{Data as Numbers, Exchange, MemberIndex, Part};
    use ziggurat_rpc::{
        DataClient, OLDEST_PROTOCOL, PROTOCOL, Security, bind, connect,
        convert::{Member, identity_text},
        data, data_client, server,
    };

    use super::{
        super::{
            halo::Halo,
            pieces::{receive, spans_of, unpacked},
            tests::idle_worker,
        },
        *,
    };

    const STEP: Tier = Tier { just_moved: 2, to_move: 1 };

    /// Serves what a worker has; how to reach it.
    fn served(worker: &Arc<Worker>) -> impl Fn() -> DataClient + use<> {
        let address = serve(worker);
        move || data_client(connect(&address, &Security::Open, Duration::from_secs(5)).unwrap())
    }

    /// Begins to serve what a worker has; returns the address.
    fn serve(worker: &Arc<Worker>) -> String {
        let bound = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
        let address = bound.address().to_string();
        let service = data(DataService(worker.clone()));
        let incoming = bound.incoming().unwrap();
        tokio::spawn(server(&Security::Open).add_service(service).serve_with_incoming(incoming));
        address
    }

    /// A request for all of the first shard of what a worker has saved.
    fn request(worker: &Worker, save: SaveName, column: Column) -> FetchRequest {
        FetchRequest {
            protocol: PROTOCOL,
            job: save.job,
            step: Some(save.step.into()),
            epoch: save.epoch,
            incarnation: save.incarnation,
            column: Some(column.into()),
            worker: identity_text(worker.local_checkpoints.identity()),
            ..FetchRequest::default()
        }
    }

    /// The halo of a worker that takes part in an attempt with another.
    fn opened(worker: &Worker, name: AttemptName) -> Halo {
        let me = worker.local_checkpoints.identity();
        let member = |worker| Member { worker, address: "127.0.0.1:1".to_owned() };
        let (members, stop) = ([member(me), member(me ^ 1)], CancellationToken::new());
        Halo::open(name, &members, MemberIndex(0), worker.ports(), stop)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_saved_is_for_those_who_mean_this_worker_and_this_save() {
        let dir = tempfile::tempdir().unwrap();
        let worker = idle_worker(dir.path());
        let (column, mut values) = (Column::Values, [0.25, 0.5, -0.125]);
        let save = SaveName { job: 7, step: STEP, epoch: 3, incarnation: 5 };
        let data = Numbers::F64(&mut values);
        worker
            .local_checkpoints
            .save(save, vec![Part { column, shard: 0, range: 0, data }], |_| {})
            .unwrap();
        let client = served(&worker);
        let right = request(&worker, save, column);
        let mut replies = client().fetch(right.clone()).await.unwrap().into_inner();
        let reply = replies.message().await.unwrap().unwrap();
        let numbers = unpacked(&reply, 8).unwrap();
        assert_eq!(numbers, values.map(f64::to_le_bytes).concat());
        assert_eq!(reply.checksum, Some(xxh3_64(&numbers)));
        let before = FetchRequest { protocol: OLDEST_PROTOCOL, ..right.clone() };
        client().fetch(before).await.unwrap();
        let another = identity_text(worker.local_checkpoints.identity() ^ 1);
        for (wrong, expected) in [
            (FetchRequest { worker: another, ..right.clone() }, Code::FailedPrecondition),
            (
                FetchRequest { protocol: OLDEST_PROTOCOL - 1, ..right.clone() },
                Code::FailedPrecondition,
            ),
            (FetchRequest { protocol: PROTOCOL + 1, ..right.clone() }, Code::FailedPrecondition),
            (FetchRequest { incarnation: 4, ..right.clone() }, Code::NotFound),
            (FetchRequest { epoch: 4, ..right.clone() }, Code::NotFound),
            (FetchRequest { shard: 1, ..right.clone() }, Code::NotFound),
            (FetchRequest { range: 256, ..right.clone() }, Code::InvalidArgument),
        ] {
            let refused = client().fetch(wrong.clone()).await.unwrap_err();
            assert_eq!(refused.code(), expected, "{wrong:?}: {refused}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_takes_more_than_one_piece_comes_in_order() {
        const LEN: usize = 300_000;
        let dir = tempfile::tempdir().unwrap();
        let worker = idle_worker(dir.path());
        let save = SaveName { job: 7, step: STEP, epoch: 3, incarnation: 5 };
        let column = Column::Values;
        let mut wide: Vec<f64> = (0..LEN).map(|i| i as f64).collect();
        let mut narrow: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
        worker
            .local_checkpoints
            .save(
                save,
                vec![
                    Part { column, shard: 0, range: 0, data: Numbers::F64(&mut wide) },
                    Part { column, shard: 1, range: 0, data: Numbers::F32(&mut narrow) },
                ],
                |_| {},
            )
            .unwrap();
        let client = served(&worker);
        for (shard, width) in [(0, size_of::<f64>()), (1, size_of::<f32>())] {
            assert!(LEN * width > CHUNK_BYTES);
            let number = |i: usize| match width {
                4 => (i as f32).to_le_bytes().to_vec(),
                _ => (i as f64).to_le_bytes().to_vec(),
            };
            let some = [131_000..131_080, 200_000..270_000, LEN - 1..LEN];
            for places in [std::iter::once(0..LEN).collect(), some.to_vec()] {
                let spans = spans_of(&places, LEN);
                let request = FetchRequest { shard, spans, ..request(&worker, save, column) };
                let pieces = client().fetch(request).await.unwrap().into_inner();
                let expected: Vec<u8> = places.iter().cloned().flatten().flat_map(number).collect();
                let mut got = Vec::new();
                let take = |_: &_, numbers: &[u8]| got.extend_from_slice(numbers);
                receive(pieces, (expected.len(), width), Duration::from_secs(10), take)
                    .await
                    .unwrap();
                assert!(got == expected, "{places:?} of {width} bytes");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_payload_of_more_than_two_gibibytes_is_taken_part_by_part() {
        const PARTS: u64 = (2 << 10) + 1;
        let dir = tempfile::tempdir().unwrap();
        let worker = idle_worker(dir.path());
        let client = served(&worker);
        let me = worker.local_checkpoints.identity();
        let name = AttemptName { incarnation: 1, job: 1, step: STEP, attempt: 1 };
        let halo = opened(&worker, name);
        let open = HaloOpen {
            protocol: PROTOCOL,
            job: name.job,
            step: Some(STEP.into()),
            attempt: name.attempt,
            member: 1,
            worker: identity_text(me),
            incarnation: name.incarnation,
        };
        let data = bytes::Bytes::from(vec![7; CHUNK_BYTES]);
        let payload = move |part| HaloPayload { barrier: 0, data: data.clone(), part };
        let parts = (0..PARTS as u32).map(move |part| Content::Payload(payload(part)));
        let messages = std::iter::once(Content::Open(open)).chain(parts);
        let messages = messages.map(|it| HaloMessage { message: Some(it) });
        let sent =
            tokio::spawn(
                async move { client().exchange(tokio_stream::iter(messages)).await.map(drop) },
            );
        let receive = move || {
            let parts = (0..PARTS as u32).map(|number| {
                let part = halo.receive(MemberIndex(1), 0).unwrap();
                assert_eq!(part.number, number);
                part.bytes.len() as u64
            });
            let bytes: u64 = parts.sum();
            (halo, bytes)
        };
        let (halo, bytes) = tokio::task::spawn_blocking(receive).await.unwrap();
        assert_eq!(bytes, PARTS << 20);
        sent.await.unwrap().unwrap();
        drop(halo);
    }

    /// What is true of a member that waits for another: whether it still does after a while, and why not once the attempt is over.
    async fn waits(halo: Halo, stop: CancellationToken) -> (bool, String) {
        let receive = move || halo.receive(MemberIndex(0), 0).unwrap_err().message;
        let mut receive = tokio::task::spawn_blocking(receive);
        let soon = tokio::time::timeout(Duration::from_millis(500), &mut receive).await;
        stop.cancel();
        match soon {
            Ok(message) => (false, message.unwrap()),
            Err(_) => (true, receive.await.unwrap()),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_member_that_has_ended_an_attempt_is_not_taken_for_unreachable() {
        let dirs = [(), ()].map(|()| tempfile::tempdir().unwrap());
        let [ends, stays] = [0, 1].map(|it| idle_worker(dirs[it].path()));
        let address = serve(&ends);
        let member = |worker: &Worker, address: &str| Member {
            worker: worker.local_checkpoints.identity(),
            address: address.to_owned(),
        };
        let members = [member(&ends, &address), member(&stays, "127.0.0.1:1")];
        let part = || HaloPart { number: 0, bytes: vec![7] };
        for attempt in 1..=2 {
            let name = AttemptName { incarnation: 1, job: 1, step: STEP, attempt };
            let stop = CancellationToken::new();
            let open = |worker: &Worker, me, stop| {
                Halo::open(name, &members, MemberIndex(me), worker.ports(), stop)
            };
            let ending = open(&ends, 0, CancellationToken::new());
            let staying = open(&stays, 1, stop.clone());
            if attempt == 1 {
                // It takes no more of what is sent to it.
                staying.send(MemberIndex(0), 0, part()).unwrap();
                let receive = move || drop(ending.receive(MemberIndex(1), 0).unwrap());
                tokio::task::spawn_blocking(receive).await.unwrap();
                staying.send(MemberIndex(0), 1, part()).unwrap();
            } else {
                // Its own stream ends.
                drop(stays.inboxes.enter(name, 0, Duration::ZERO).await.unwrap());
            }
            assert_eq!(waits(staying, stop).await, (true, "the attempt is over".to_owned()));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_halo_that_cannot_be_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let worker = idle_worker(dir.path());
        let client = served(&worker);
        let me = worker.local_checkpoints.identity();
        let opened =
            |attempt| opened(&worker, AttemptName { incarnation: 1, job: 1, step: STEP, attempt });
        let open = |attempt, worker| {
            Content::Open(HaloOpen {
                protocol: PROTOCOL,
                job: 1,
                step: Some(STEP.into()),
                attempt,
                member: 1,
                worker: identity_text(worker),
                incarnation: 1,
            })
        };
        let payload = |barrier, bytes: usize| {
            Content::Payload(HaloPayload { barrier, data: vec![7; bytes].into(), part: 0 })
        };
        let exchange = async |messages: Vec<Content>| {
            let messages = messages.into_iter().map(|it| HaloMessage { message: Some(it) });
            let answer = client().exchange(tokio_stream::iter(messages)).await;
            answer.map(drop).map_err(|status| (status.code(), status.message().to_owned()))
        };
        let halo = opened(1);
        let right = vec![open(1, me), payload(0, 1), payload(0, CHUNK_BYTES), payload(1, 1)];
        assert_eq!(exchange(right).await, Ok(()));
        drop(halo);

        let wrong = [
            (vec![open(2, me), payload(0, CHUNK_BYTES + 1)], "a part of a payload is too large"),
            (
                vec![open(3, me), payload(1, 1), payload(0, 1)],
                "comes after those of a later barrier",
            ),
            (vec![open(4, me), open(4, me)], "a message is no payload"),
            (vec![payload(0, 1)], "the first message is not `open`"),
        ];
        for (attempt, (messages, said)) in (2..).zip(wrong) {
            let _halo = opened(attempt);
            let (code, message) = exchange(messages).await.unwrap_err();
            assert_eq!(code, Code::InvalidArgument, "{message}");
            assert!(message.contains(said), "{message}");
        }
        let _halo = opened(9);
        let (code, message) = exchange(vec![open(9, me ^ 1)]).await.unwrap_err();
        assert_eq!(code, Code::FailedPrecondition, "{message}");
        let Content::Open(open) = open(9, me) else { unreachable!("it is made so") };
        let before = Content::Open(HaloOpen { protocol: OLDEST_PROTOCOL, ..open });
        let (code, message) = exchange(vec![before]).await.unwrap_err();
        assert_eq!(code, Code::FailedPrecondition, "{message}");
        let said = format!("version {OLDEST_PROTOCOL} of the protocol, here it is {PROTOCOL}");
        assert!(message.contains(&said), "{message}");
    }
}
