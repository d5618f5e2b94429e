//! Where an attempt gets saved values from: this worker's shelf, other workers, the checkpoint store.

use std::{
    collections::HashMap,
    fmt,
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
use ziggurat_kernel::{Column, Data, JournalError, Part, Places, Sources};
use ziggurat_rpc::{
    Connection, PROTOCOL, connect,
    convert::{Failure, FailureKind, Member, identity_text},
    data_client,
    proto::FetchRequest,
};
use ziggurat_store::Epoch;

use super::{
    Worker,
    attempt::cancelled,
    halo::OVERHEAD_BYTES,
    pieces::{receive, spans_of},
    shelf::SaveName,
};
use crate::{job::lock, parts::key};

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

/// Values could not be read.
#[derive(Debug)]
pub struct Unread(pub Failure);

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Unread {}

/// What an attempt goes on from, and reads.
pub struct Saved {
    pub worker: Arc<Worker>,
    pub runtime: Handle,
    /// Where checkpoints are, and what is proven of them, by step.
    pub places: HashMap<Tier, (CheckpointAt, f64)>,
    pub connections: Mutex<HashMap<String, Connection>>,
    pub fetched_bytes: AtomicU64,
    /// When the attempt is over.
    pub stop: CancellationToken,
}

impl Sources for Saved {
    fn load(&self, step: Tier, parts: Vec<(Part<'_>, Places)>) -> Result<(), JournalError> {
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
    ) -> Result<(), JournalError> {
        let Part { column, shard, range, mut data } = part;
        if self.stop.is_cancelled() {
            return Err(JournalError { is_damage: false, source: Box::new(Unread(cancelled())) });
        }
        let wanted = Wanted { save: place.save, column, shard, range };
        let me = self.worker.shelf.identity();
        let holder = place.owners.get(shard as usize).and_then(|&i| place.holders.get(i as usize));
        let mut problem = match self.load_from_shelf(wanted, &mut data)? {
            Shelved::Here => return Ok(()),
            Shelved::Damaged(problem) => problem,
            Shelved::Missing => match holder {
                Some(holder) if holder.worker == me => {
                    let message =
                        format!("shard {shard} of step {step} is not on this disk any more");
                    wanted.damaged(message, Some(me))
                }
                _ => wanted.damaged(format!("nobody has shard {shard} of step {step}"), None),
            },
        };
        if let Some(holder) = holder.filter(|holder| holder.worker != me) {
            match self.load_from_holder(holder, wanted, &mut data, places) {
                Ok(()) => return Ok(()),
                Err(error) => problem = error,
            }
        }
        match self.worker.checkpoints().filter(|_| place.stored) {
            Some(store) => self.load_from_store(&store, wanted, &mut data),
            None => Err(problem),
        }
    }

    fn load_from_shelf(
        &self,
        wanted: Wanted,
        data: &mut Data<'_>,
    ) -> Result<Shelved, JournalError> {
        let Wanted { save, column, shard, range } = wanted;
        let shelf = &self.worker.shelf;
        if shelf.find(save, column, (shard, range)).is_none() {
            return Ok(Shelved::Missing);
        }
        let part = Part { column, shard, range, data: data.again() };
        match shelf.load(save, part) {
            Ok(()) => Ok(Shelved::Here),
            Err(error) if error.damaged().is_some() => {
                Ok(Shelved::Damaged(wanted.damaged(error.to_string(), Some(shelf.identity()))))
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
    ) -> Result<(), JournalError> {
        let Wanted { save, column, shard, range } = wanted;
        let (width, to) = (data.width(), data.bytes_mut());
        let request = FetchRequest {
            protocol: PROTOCOL,
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
                _ => unread(message, Some(FailureKind::OutOfReach { worker: holder.worker })),
            }
        })
    }

    fn load_from_store(
        &self,
        store: &CheckpointStore,
        wanted: Wanted,
        data: &mut Data<'_>,
    ) -> Result<(), JournalError> {
        let Wanted { save, column, shard, range } = wanted;
        let key = key(save.job, save.step, column, shard, range).at(Epoch(save.epoch));
        let (width, to) = (data.width(), data.bytes_mut());
        match self.runtime.block_on(store.get(key, save.incarnation, width)) {
            Ok(numbers) if numbers.len() == to.len() => {
                to.copy_from_slice(&numbers);
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
    fn damaged(self, message: String, worker: Option<u64>) -> JournalError {
        let SaveName { step, epoch, .. } = self.save;
        unread(message, Some(FailureKind::Damage { step, epoch, worker }))
    }
}

/// What a worker's own disk had to say.
enum Shelved {
    Here,
    Missing,
    Damaged(JournalError),
}

fn unread(message: String, kind: Option<FailureKind>) -> JournalError {
    let is_damage = matches!(kind, Some(FailureKind::Damage { .. }));
    JournalError { is_damage, source: Box::new(Unread(Failure { message, kind })) }
}
