//! Where an attempt gets saved values from: this worker's checkpoints, other workers, the checkpoint store.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use prost::Message;
use rayon::prelude::*;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use ziggurat_checkpoints::CheckpointStore;
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Column, Data, Part, Places, Sources, StepStoreError};
use ziggurat_rpc::{
    Connection, OLDEST_PROTOCOL, connect,
    convert::{Failure, FailureKind, Member, identity_text},
    data_client,
    proto::FetchRequest,
};
use ziggurat_store::Epoch;

use super::{
    Worker,
    failure::{Unread, cancelled},
    halo::OVERHEAD_BYTES,
    local_checkpoints::SaveName,
    pieces::{receive, spans_of},
};
use crate::{parts::key, state::lock};

/// How long a connection to a worker may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long another worker may take to send the next piece of a range.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a checkpoint of a step is.
#[derive(Clone, Debug)]
pub struct CheckpointAt {
    /// The checkpoint.
    pub save: SaveName,
    /// Workers that have it.
    pub holders: Vec<Member>,
    /// For each shard, which of them has it.
    pub owners: Vec<u32>,
    /// Whether it is in the checkpoint store.
    pub stored: bool,
}

/// What an attempt goes on from, and reads.
pub struct Saved {
    pub worker: Arc<Worker>,
    pub runtime: Handle,
    /// Where checkpoints are, and what is proven of them, by step.
    pub places: HashMap<Tier, (CheckpointAt, f64)>,
    pub connections: Mutex<HashMap<String, Connection>>,
    /// Workers that could not be reached.
    pub out_of_reach: Mutex<HashSet<u64>>,
    pub fetched_bytes: AtomicU64,
    /// When the attempt is over.
    pub stop: CancellationToken,
}

impl Sources for Saved {
    fn load(&self, step: Tier, parts: Vec<(Part<'_>, Places)>) -> Result<(), StepStoreError> {
        let Some((place, _)) = self.places.get(&step) else {
            let message = format!("nobody said where step {step} is");
            return Err(unread(message, None));
        };
        parts
            .into_par_iter()
            .try_for_each(|(part, places)| self.load_part(step, place, part, &places))
    }

    fn solution(&self, step: Tier) -> u32 {
        self.places.get(&step).map_or(0, |(place, _)| place.save.epoch)
    }

    fn bound(&self, step: Tier) -> f64 {
        self.places.get(&step).map_or(1.0, |(_, bound)| *bound)
    }
}

impl Saved {
    /// Some places of a part, or all of it: from this disk, the worker that has it, or the checkpoint store, from
    /// the first of them that can.
    fn load_part(
        &self,
        step: Tier,
        place: &CheckpointAt,
        part: Part<'_>,
        places: &[Range<usize>],
    ) -> Result<(), StepStoreError> {
        let Part { column, shard, range, mut data } = part;
        if self.stop.is_cancelled() {
            return Err(StepStoreError { is_damage: false, source: Box::new(Unread(cancelled())) });
        }
        let wanted = Wanted { save: place.save, column, shard, range };
        let me = self.worker.local_checkpoints.identity();
        let holder = place.owners.get(shard as usize).and_then(|&i| place.holders.get(i as usize));
        let mut problem = match self.load_locally(wanted, &mut data, places)? {
            Local::Here => return Ok(()),
            Local::Damaged(problem) => problem,
            Local::Missing => match holder {
                Some(holder) if holder.worker == me => {
                    let message =
                        format!("shard {shard} of step {step} is not on this disk any more");
                    wanted.damaged(message, Some(me))
                }
                _ => wanted.damaged(format!("nobody has shard {shard} of step {step}"), None),
            },
        };
        let store = self.worker.checkpoints().filter(|_| place.stored);
        // To wait for every part for a machine that does not answer would take all the time there is.
        let is_asked = |holder: &&Member| {
            let is_out_of_reach = lock(&self.out_of_reach).contains(&holder.worker);
            holder.worker != me && !(store.is_some() && is_out_of_reach)
        };
        if let Some(holder) = holder.filter(is_asked) {
            match self.load_from_holder(holder, wanted, &mut data, places) {
                Ok(()) => return Ok(()),
                Err(error) => problem = error,
            }
        }
        match store {
            Some(store) => self.load_from_store(&store, wanted, &mut data, places),
            None => Err(problem),
        }
    }

    fn load_locally(
        &self,
        wanted: Wanted,
        data: &mut Data<'_>,
        places: &[Range<usize>],
    ) -> Result<Local, StepStoreError> {
        let Wanted { save, column, shard, range } = wanted;
        let checkpoints = &self.worker.local_checkpoints;
        if checkpoints.find(save, column, (shard, range)).is_none() {
            return Ok(Local::Missing);
        }
        let load = |data: Data<'_>| checkpoints.load(save, Part { column, shard, range, data });
        match data.read_at(places, load) {
            Ok(()) => {
                self.worker.moved.add(data.bytes().len());
                Ok(Local::Here)
            }
            Err(error) if error.damaged().is_some() => {
                Ok(Local::Damaged(wanted.damaged(error.to_string(), Some(checkpoints.identity()))))
            }
            Err(error) => Err(unread(error.to_string(), Some(FailureKind::Unable))),
        }
    }

    fn load_from_holder(
        &self,
        holder: &Member,
        wanted: Wanted,
        data: &mut Data<'_>,
        places: &[Range<usize>],
    ) -> Result<(), StepStoreError> {
        let Wanted { save, column, shard, range } = wanted;
        let (width, to) = (data.width(), data.bytes_mut());
        let request = FetchRequest {
            protocol: OLDEST_PROTOCOL,
            job: save.job,
            step: Some(save.step.into()),
            epoch: save.epoch,
            incarnation: save.incarnation,
            column: Some(column.into()),
            shard,
            range: range.into(),
            spans: spans_of(places, to.len() / width),
            worker: identity_text(holder.worker),
        };
        let fetched = self.runtime.block_on(self.fetch(holder, request, (places, width), to));
        fetched.map_err(|status| {
            lock(&self.connections).remove(&holder.address);
            let message = format!("{}: {}", holder.address, status.message());
            match status.code() {
                Code::NotFound | Code::DataLoss => wanted.damaged(message, Some(holder.worker)),
                _ => {
                    lock(&self.out_of_reach).insert(holder.worker);
                    unread(message, Some(FailureKind::OutOfReach { worker: holder.worker }))
                }
            }
        })
    }

    fn load_from_store(
        &self,
        store: &CheckpointStore,
        wanted: Wanted,
        data: &mut Data<'_>,
        places: &[Range<usize>],
    ) -> Result<(), StepStoreError> {
        let Wanted { save, column, shard, range } = wanted;
        let key = key(save.job, save.step, column, shard, range).at(Epoch(save.epoch));
        let (width, to) = (data.width(), data.bytes_mut());
        match self.runtime.block_on(store.get(key, save.incarnation, width)) {
            Ok(numbers) if numbers.len() == to.len() => {
                for place in places {
                    let bytes = place.start * width..place.end * width;
                    to[bytes.clone()].copy_from_slice(&numbers[bytes]);
                }
                self.worker.moved.add(numbers.len());
                Ok(())
            }
            Ok(_) => Err(wanted.damaged("the checkpoint store has other numbers".to_owned(), None)),
            Err(error) if error.lost().is_some() => Err(wanted.damaged(error.to_string(), None)),
            Err(error) => Err(unread(error.to_string(), None)),
        }
    }

    /// Fetches numbers of `width` bytes into their places.
    async fn fetch(
        &self,
        holder: &Member,
        request: FetchRequest,
        (places, width): (&[Range<usize>], usize),
        to: &mut [u8],
    ) -> Result<(), Status> {
        let count = |bytes: usize| {
            self.fetched_bytes.fetch_add(bytes as u64 + OVERHEAD_BYTES, Ordering::Relaxed);
            self.worker.moved.add(bytes);
        };
        let connection = self.connection(&holder.address)?;
        count(request.encoded_len());
        let pieces = data_client(connection).fetch(request).await?.into_inner();
        let len = places.iter().map(|place| place.len() * width).sum();
        let mut rooms = places.iter().map(|place| place.start * width..place.end * width);
        let mut room = 0..0;
        receive(pieces, (len, width), PIECE_TIMEOUT, |piece, mut numbers| {
            count(piece.encoded_len());
            while !numbers.is_empty() {
                if room.is_empty() {
                    room = rooms.next().expect("no more comes than there is room for");
                }
                let here = numbers.len().min(room.len());
                let (now, later) = numbers.split_at(here);
                to[room.start..room.start + here].copy_from_slice(now);
                (room.start, numbers) = (room.start + here, later);
            }
        })
        .await
    }

    fn connection(&self, address: &str) -> Result<Connection, Status> {
        let mut connections = lock(&self.connections);
        if let Some(connection) = connections.get(address) {
            return Ok(connection.clone());
        }
        let _runtime = self.runtime.enter();
        let connection = connect(address, &self.worker.options.security, CONNECT_TIMEOUT)
            .map_err(|error| Status::unavailable(error.to_string()))?;
        connections.insert(address.to_owned(), connection.clone());
        Ok(connection)
    }
}

/// A range of a shard at a checkpoint.
#[derive(Clone, Copy)]
struct Wanted {
    save: SaveName,
    column: Column,
    shard: u32,
    range: u8,
}

impl Wanted {
    /// A worker has lost it, or the checkpoint store.
    fn damaged(self, message: String, worker: Option<u64>) -> StepStoreError {
        let SaveName { step, epoch, .. } = self.save;
        unread(message, Some(FailureKind::Damage { step, epoch, worker }))
    }
}

/// What a worker's own disk had to say.
enum Local {
    Here,
    Missing,
    Damaged(StepStoreError),
}

fn unread(message: String, kind: Option<FailureKind>) -> StepStoreError {
    let is_damage = matches!(kind, Some(FailureKind::Damage { .. }));
    StepStoreError { is_damage, source: Box::new(Unread(Failure { message, kind })) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio_stream::wrappers::ReceiverStream;
    use tonic::{Request, Response, Streaming, async_trait};
    use xxhash_rust::xxh3::xxh3_64;
    use ziggurat_rpc::{
        Security, bind, data,
        proto::{ExchangeReply, FetchReply, HaloMessage, data_server},
        server,
    };

    use super::{
        super::{pieces::packed, tests::idle_worker},
        *,
    };

    const STEP: Tier = Tier { just_moved: 2, to_move: 1 };

    /// Sends the same to whoever fetches something, and counts them.
    struct Sends(Result<Vec<FetchReply>, Code>, Arc<AtomicU64>);

    #[async_trait]
    impl data_server::Data for Sends {
        type FetchStream = ReceiverStream<Result<FetchReply, Status>>;

        async fn exchange(
            &self,
            _: Request<Streaming<HaloMessage>>,
        ) -> Result<Response<ExchangeReply>, Status> {
            Err(Status::unimplemented(""))
        }

        async fn fetch(
            &self,
            _: Request<FetchRequest>,
        ) -> Result<Response<Self::FetchStream>, Status> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let all = self.0.clone().map_err(|code| Status::new(code, "it is not to be had"))?;
            let (replies, stream) = tokio::sync::mpsc::channel(all.len() + 1);
            for reply in all {
                replies.send(Ok(reply)).await.unwrap();
            }
            Ok(Response::new(ReceiverStream::new(stream)))
        }
    }

    /// What a worker has saved who reads what another one has, who sends this; and how often that one was asked.
    async fn saved(
        dir: &Path,
        sent: Result<Vec<FetchReply>, Code>,
        stored: bool,
    ) -> (Saved, Arc<AtomicU64>) {
        let worker = idle_worker(dir);
        let asked = Arc::default();
        let bound = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
        let address = bound.address().to_string();
        let (service, incoming) =
            (data(Sends(sent, Arc::clone(&asked))), bound.incoming().unwrap());
        tokio::spawn(server(&Security::Open).add_service(service).serve_with_incoming(incoming));
        let place = CheckpointAt {
            save: SaveName { job: 1, step: STEP, epoch: 2, incarnation: 3 },
            holders: vec![Member { worker: worker.local_checkpoints.identity() ^ 1, address }],
            owners: vec![0],
            stored,
        };
        let saved = Saved {
            worker,
            runtime: Handle::current(),
            places: HashMap::from([(STEP, (place, 1e-9))]),
            connections: Mutex::default(),
            out_of_reach: Mutex::default(),
            fetched_bytes: AtomicU64::default(),
            stop: CancellationToken::new(),
        };
        (saved, asked)
    }

    /// What comes of three numbers, of which another worker sends this.
    async fn loaded(sent: Result<Vec<FetchReply>, Code>) -> Result<[f64; 3], Option<FailureKind>> {
        let dir = tempfile::tempdir().unwrap();
        let (saved, _) = saved(dir.path(), sent, false).await;
        let load = move || {
            let mut values = [0.0; 3];
            let data = Data::F64(&mut values);
            let part = Part { column: Column::Values, shard: 0, range: 0, data };
            let all = std::iter::once(0..3).collect();
            saved.load(STEP, vec![(part, all)]).map(|()| values).map_err(|error| {
                let unread: Unread = *error.source.downcast().unwrap();
                assert_eq!(
                    error.is_damage,
                    matches!(unread.0.kind, Some(FailureKind::Damage { .. }))
                );
                unread.0.kind
            })
        };
        tokio::task::spawn_blocking(load).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_comes_is_all_and_undamaged_or_its_sender_has_lost_it() {
        let values = [0.25, -0.5, 0.125];
        let bytes = values.map(f64::to_le_bytes).concat();
        let checksum = Some(xxh3_64(&bytes));
        let piece = |bytes: &[u8], checksum| packed(bytes, 8, checksum).unwrap();
        let whole = vec![piece(&bytes[..16], None), piece(&bytes[16..], checksum)];
        assert_eq!(loaded(Ok(whole)).await, Ok(values));

        let flipped = bytes.iter().map(|byte| byte ^ 1).collect::<Vec<_>>();
        let more = [&bytes[..], &bytes[..8]].concat();
        let of = |bytes: &[u8]| Some(xxh3_64(bytes));
        for (what, sent) in [
            ("a flipped bit", vec![piece(&flipped, checksum)]),
            ("less", vec![piece(&bytes[..16], of(&bytes[..16]))]),
            ("more", vec![piece(&more, of(&more))]),
            ("no checksum", vec![piece(&bytes, None)]),
            ("nothing", vec![]),
        ] {
            let lost = loaded(Ok(sent)).await.unwrap_err();
            assert!(matches!(lost, Some(FailureKind::Damage { epoch: 2, .. })), "{what}: {lost:?}");
        }
        for (code, is_lost) in [
            (Code::NotFound, true),
            (Code::DataLoss, true),
            (Code::FailedPrecondition, false),
            (Code::Unavailable, false),
        ] {
            let kind = loaded(Err(code)).await.unwrap_err();
            let lost = matches!(kind, Some(FailureKind::Damage { worker: Some(_), .. }));
            let unreached = matches!(kind, Some(FailureKind::OutOfReach { .. }));
            assert_eq!((lost, unreached), (is_lost, !is_lost), "{code:?}: {kind:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_out_of_reach_is_asked_once_where_a_store_has_it_too() {
        let (dir, numbers) = (tempfile::tempdir().unwrap(), [0.25, -0.5, 0.125]);
        let url = format!("file://{}", dir.path().join("store").display());
        let store = CheckpointStore::open(&url, "ur").await.unwrap();
        let key = key(1, STEP, Column::Values, 0, 0).at(Epoch(2));
        let bytes = numbers.map(f64::to_le_bytes).concat();
        store.put(key, 3, size_of::<f64>(), bytes.into()).await.unwrap();

        for stored in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let (saved, asked) = saved(dir.path(), Err(Code::Unavailable), stored).await;
            lock(&saved.worker.joined).checkpoints = Some((store.clone(), 0));
            let load = move || {
                [(); 3].map(|()| {
                    let mut values = [0.0; 3];
                    let data = Data::F64(&mut values);
                    let part = Part { column: Column::Values, shard: 0, range: 0, data };
                    let all = std::iter::once(0..3).collect();
                    saved.load(STEP, vec![(part, all)]).ok().map(|()| values)
                })
            };
            let loaded = tokio::task::spawn_blocking(load).await.unwrap();
            assert_eq!(loaded, [stored.then_some(numbers); 3]);
            assert_eq!(asked.load(Ordering::Relaxed), if stored { 1 } else { 3 });
        }
    }
}
