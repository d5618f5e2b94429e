//! The store: writing, reading, listing and deleting objects.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::{Error, ObjectStore, PutMode, PutPayload, WriteMultipart, path::Path};
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    CheckpointError, CheckpointPlace, Epoch, EpochKey, answer,
    directory::{self, blocking},
    name, object,
    place::Place,
    said::Refused,
    settings::TRIES,
};

/// Objects of more bytes than this are sent in parts: too much to send all again when it fails. A shard of the
/// default size is smaller.
const LARGE_BYTES: usize = 64 << 20;
const PART_BYTES: usize = 16 << 20;
/// The object with what a cluster's store is known by.
const IDENTITY: &str = "store";
/// Objects deleted at a time where each needs a request.
const DELETED_AT_A_TIME: usize = 16;
/// Parts sent at a time.
const PARTS: usize = 4;

/// Whoever finds an object that was just written where conditions are not known waits for so long for others that write
/// it at the same instant.
pub(crate) const SETTLING: Duration = Duration::from_secs(2);

/// Between two tries of a write that met others: at first, and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// A checkpoint store of one cluster, open. Copies are of the same store.
#[derive(Clone, Debug)]
pub struct CheckpointStore(Arc<Open>);

#[derive(Debug)]
struct Open {
    place: CheckpointPlace,
    cluster: String,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    /// Bytes of shards' objects that went out, of those too that are not whole yet.
    sent_bytes: Arc<AtomicU64>,
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// It is there.
    Yes,
    /// There is one already that is not to be replaced.
    Exists,
    /// Others were at the same, or no answer came: whether it is there is to be looked at, and if not, to be tried again.
    Perhaps,
}

/// Tries of a write that met others, further and further apart.
struct Tries {
    since: Instant,
    pause: Duration,
}

impl Tries {
    fn begin() -> Self {
        Self { since: Instant::now(), pause: FIRST_PAUSE }
    }

    /// Waits for the next. Whether there is one.
    async fn next(&mut self) -> bool {
        tokio::time::sleep(self.pause).await;
        self.pause = (2 * self.pause).min(LAST_PAUSE);
        self.since.elapsed() < TRIES
    }
}

impl CheckpointStore {
    /// Whether a URL may be that of a checkpoint store.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Url`], if it is none.
    pub fn check_url(url: &str) -> Result<(), CheckpointError> {
        Place::parse(url).map(drop)
    }

    /// Opens a [place](CheckpointPlace::open), and the checkpoint store of a cluster there.
    ///
    /// # Errors
    ///
    /// If the URL or the cluster's name is none, or the place cannot be used.
    pub async fn open(url: &str, cluster: &str) -> Result<Self, CheckpointError> {
        Self::check_name(cluster)?;
        CheckpointPlace::open(url).await?.store(cluster)
    }

    fn check_name(cluster: &str) -> Result<(), CheckpointError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match (1..=64).contains(&cluster.len()) && cluster.chars().all(is_part) {
            true => Ok(()),
            false => Err(CheckpointError::Cluster { name: cluster.to_owned() }),
        }
    }

    /// What this store is known by: the same for all who open the same place for the same cluster, and no other. `new` is a random
    /// number, for one that is not known by anything yet.
    ///
    /// Of several who write one at the same time, one does. Where the place does not know conditions, the last one does,
    /// and all wait until it has: what was there for a while stays (Fischer's algorithm of mutual exclusion; Lamport, A
    /// fast mutual exclusion algorithm, 1987).
    ///
    /// # Errors
    ///
    /// What keeps it from being read, or written.
    pub async fn identity(&self, new: u64) -> Result<u64, CheckpointError> {
        let name = self.cluster_name(IDENTITY);
        let mut tries = Tries::begin();
        loop {
            if let Some(text) = self.settled(&name).await? {
                return Ok(xxh3_64(&text));
            }
            let written = self.write(&name, format!("{new:016x}\n").into(), false).await?;
            if written != Written::Yes && !tries.next().await {
                return Err(self.contended(&name));
            }
        }
    }

    /// An object as it is, if it is there and stays as it is.
    async fn settled(&self, name: &str) -> Result<Option<Bytes>, CheckpointError> {
        let mut before = self.read(name).await?;
        while before.is_some() && !self.0.place.knows_conditions {
            tokio::time::sleep(SETTLING).await;
            let now = self.read(name).await?;
            if now == before {
                break;
            }
            before = now;
        }
        Ok(before)
    }

    /// An object as it is, if it is there.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<Bytes>, CheckpointError> {
        let read = async { self.objects().get(&self.path(name)).await?.bytes().await };
        match read.await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if answer::is_missing(&error) => Ok(None),
            Err(error) => Err(self.refusal(self.object(name), "read", &error)),
        }
    }

    /// Keeps the numbers of a shard at an epoch of an incarnation, of `width` bytes each (1, 2, 4 or 8), little-endian. When this
    /// returns, they are kept for good. If they are already, nothing happens.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::OtherNumbers`], if there are others, or what keeps them from being written.
    ///
    /// # Panics
    ///
    /// If these are no numbers of that width.
    pub async fn put(
        &self,
        key: EpochKey,
        incarnation: u64,
        width: usize,
        numbers: Bytes,
    ) -> Result<(), CheckpointError> {
        assert!([1, 2, 4, 8].contains(&width) && numbers.len().is_multiple_of(width), "{width}");
        let name = self.name(key, incarnation);
        let mut replace = match self.get(key, incarnation, width).await {
            Ok(there) => return self.same(key, incarnation, &there, &numbers),
            Err(CheckpointError::Missing { .. }) => false,
            Err(CheckpointError::Damaged { .. }) => true,
            Err(error) => return Err(error),
        };
        let encoded = {
            let (name, numbers) = (name.clone(), numbers.clone());
            blocking(move || object::encode(&name, width, &numbers)).await
        };
        let encoded = Bytes::from(encoded.map_err(self.system_error(&name, "pack"))?);
        let length = encoded.len() as u64;
        let mut tries = Tries::begin();
        loop {
            let sent = &self.0.sent_bytes;
            if self.send(&name, encoded.clone(), replace, sent).await? == Written::Yes {
                self.0.written_bytes.fetch_add(length, Relaxed);
                return Ok(());
            }
            // Somebody else was quicker, or is about to be.
            replace = match self.get(key, incarnation, width).await {
                Ok(there) => return self.same(key, incarnation, &there, &numbers),
                Err(CheckpointError::Missing { .. }) => false,
                Err(CheckpointError::Damaged { .. }) => true,
                Err(error) => return Err(error),
            };
            if !tries.next().await {
                return Err(self.contended(&name));
            }
        }
    }

    /// The numbers of a shard at an epoch of an incarnation, which have `width` bytes each.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Missing`] or [`CheckpointError::Damaged`], or what keeps them from being read.
    pub async fn get(
        &self,
        key: EpochKey,
        incarnation: u64,
        width: usize,
    ) -> Result<Vec<u8>, CheckpointError> {
        let name = self.name(key, incarnation);
        let Some(encoded) = self.read(&name).await? else {
            return Err(CheckpointError::Missing { object: self.object(&name), key });
        };
        self.0.read_bytes.fetch_add(encoded.len() as u64, Relaxed);
        let object = self.object(&name);
        blocking(move || object::decode(&name, width, &encoded))
            .await
            .map_err(|what| CheckpointError::Damaged { object, key, what })
    }

    /// What is kept of a step at an epoch of an incarnation, sorted.
    ///
    /// # Errors
    ///
    /// What keeps it from being listed.
    pub async fn list(
        &self,
        job: u64,
        step: (u8, u8),
        epoch: Epoch,
        incarnation: u64,
    ) -> Result<Vec<EpochKey>, CheckpointError> {
        let under = name::epoch(job, step, epoch, incarnation);
        let path = self.cluster_path(&under);
        let found: Vec<_> = self
            .objects()
            .list(Some(&path))
            .try_collect()
            .await
            .map_err(|error| self.refusal(self.cluster_object(&under), "list", &error))?;
        let keys = found.iter().filter_map(|found| {
            let mut below = found.location.prefix_match(&path)?;
            let last = below.next()?;
            // Anything deeper is not ours.
            below.next().is_none().then(|| name::key_of(job, step, epoch, last.as_ref()))?
        });
        let mut keys: Vec<_> = keys.collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// Deletes what is kept of a step at epochs before `keep`, of all incarnations, and what is left over there.
    ///
    /// # Errors
    ///
    /// What keeps it from being deleted; some may be.
    pub async fn delete_epochs(
        &self,
        job: u64,
        step: (u8, u8),
        keep: Epoch,
    ) -> Result<(), CheckpointError> {
        let under = name::step(job, step);
        let path = self.cluster_path(&under);
        let epochs = match self.objects().list_with_delimiter(Some(&path)).await {
            Ok(found) => found.common_prefixes,
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(error) => {
                return Err(self.refusal(self.cluster_object(&under), "list", &error));
            }
        };
        for path in epochs {
            if path.filename().and_then(name::number_of).is_some_and(|epoch| epoch < keep.0) {
                self.delete_under(&path).await?;
            }
        }
        Ok(())
    }

    /// Deletes all that is kept of a job, and what is left over of it.
    ///
    /// # Errors
    ///
    /// What keeps it from being deleted; some may be.
    pub async fn delete_job(&self, job: u64) -> Result<(), CheckpointError> {
        self.delete_under(&self.cluster_path(&job.to_string())).await
    }

    /// Bytes of objects read since the store was opened.
    pub fn read_bytes(&self) -> u64 {
        self.0.read_bytes.load(Relaxed)
    }

    /// Bytes of objects written since the store was opened.
    pub fn written_bytes(&self) -> u64 {
        self.0.written_bytes.load(Relaxed)
    }

    /// Bytes of [numbers](Self::put) that went out since the store was opened, of objects too that are not whole yet:
    /// as long as this grows, somebody takes them.
    pub fn sent_bytes(&self) -> u64 {
        self.0.sent_bytes.load(Relaxed)
    }

    fn same(
        &self,
        key: EpochKey,
        incarnation: u64,
        there: &[u8],
        numbers: &[u8],
    ) -> Result<(), CheckpointError> {
        if there == numbers {
            return Ok(());
        }
        Err(CheckpointError::OtherNumbers {
            object: self.object(&self.name(key, incarnation)),
            key,
        })
    }

    /// Writes an object.
    pub(crate) async fn write(
        &self,
        name: &str,
        encoded: Bytes,
        replace: bool,
    ) -> Result<Written, CheckpointError> {
        self.send(name, encoded, replace, &Arc::default()).await
    }

    /// The same, and counts the bytes that go out.
    async fn send(
        &self,
        name: &str,
        encoded: Bytes,
        replace: bool,
        sent: &Arc<AtomicU64>,
    ) -> Result<Written, CheckpointError> {
        if let Some(directory) = self.0.place.directory.clone() {
            let (path, sent) = (name.to_owned(), sent.clone());
            let count = move |bytes: usize| _ = sent.fetch_add(bytes as u64, Relaxed);
            let write = move || directory::write(&directory, &path, &encoded, replace, count);
            return match blocking(write).await {
                Ok(()) => Ok(Written::Yes),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Written::Exists),
                Err(error) => Err(self.system_error(name, "write")(error)),
            };
        }
        let path = self.path(name);
        let result = if encoded.len() > LARGE_BYTES {
            self.send_in_parts(&path, encoded, sent).await
        } else {
            let is_conditional = !replace && self.0.place.knows_conditions;
            let mode = if is_conditional { PutMode::Create } else { PutMode::Overwrite };
            let (bytes, payload) = (encoded.len() as u64, PutPayload::from(encoded));
            let put = self.objects().put_opts(&path, payload, mode.into()).await;
            put.map(|_| _ = sent.fetch_add(bytes, Relaxed))
        };
        let Err(error) = result else { return Ok(Written::Yes) };
        match self.0.place.kind(&error) {
            Refused::Exists => Ok(Written::Exists),
            // Amazon's says `ConditionalRequestConflict` when another write of the same is under way.
            Refused::Conflict | Refused::Late => Ok(Written::Perhaps),
            Refused::Unknown | Refused::Other => {
                Err(self.refusal(self.object(name), "write", &error))
            }
        }
    }

    /// Sends a large object. It is there when the last part is, or not at all.
    async fn send_in_parts(
        &self,
        path: &Path,
        encoded: Bytes,
        sent: &AtomicU64,
    ) -> Result<(), Error> {
        let upload = self.objects().put_multipart(path).await?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        for start in (0..encoded.len()).step_by(PART_BYTES) {
            if let Err(error) = upload.wait_for_capacity(PARTS).await {
                // Parts cost money until somebody drops them. If that fails, too, the first error says why.
                let _ = upload.abort().await;
                return Err(error);
            }
            let part = encoded.slice(start..encoded.len().min(start + PART_BYTES));
            sent.fetch_add(part.len() as u64, Relaxed);
            upload.put(part);
        }
        upload.finish().await.map(|_| ())
    }

    async fn delete_under(&self, path: &Path) -> Result<(), CheckpointError> {
        let objects = self.objects();
        let found = objects.list(Some(path)).map_ok(|found| found.location).boxed();
        let mut deleted = if self.0.place.deletes_many() {
            objects.delete_stream(found)
        } else {
            let delete = async |found: Result<Path, Error>| {
                let path = found?;
                objects.delete(&path).await.map(|()| path)
            };
            found.map(delete).buffer_unordered(DELETED_AT_A_TIME).boxed()
        };
        while let Some(deleted) = deleted.next().await {
            match deleted {
                // Others delete the same.
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => {
                    let below = path.prefix_match(&self.0.place.prefix).into_iter().flatten();
                    let under = Path::from_iter(below);
                    return Err(self.refusal(self.object(under.as_ref()), "delete", &error));
                }
            }
        }
        Ok(())
    }

    /// The name of an object, which its checksum covers.
    fn name(&self, key: EpochKey, incarnation: u64) -> String {
        format!("{}/{}", self.0.cluster, name::object(key, incarnation))
    }

    /// The name of an object of the cluster that is no shard's.
    pub(crate) fn cluster_name(&self, last: &str) -> String {
        format!("{}/{last}", self.0.cluster)
    }

    /// Where that is in `objects`.
    fn path(&self, name: &str) -> Path {
        Path::from_iter(self.0.place.prefix.parts().chain(Path::from(name).parts()))
    }

    /// Where something of the cluster is in `objects`.
    fn cluster_path(&self, under: &str) -> Path {
        self.path(&self.cluster_name(under))
    }

    /// Where an object is, for people.
    fn object(&self, name: &str) -> String {
        format!("{}/{name}", self.0.place.url)
    }

    /// Where something of the cluster is, for people.
    fn cluster_object(&self, under: &str) -> String {
        self.object(&self.cluster_name(under))
    }

    fn objects(&self) -> &dyn ObjectStore {
        self.0.place.objects.as_ref()
    }

    fn refusal(&self, object: String, action: &'static str, error: &Error) -> CheckpointError {
        self.0.place.refusal(object, action, error)
    }

    /// Others were always at the same, and nothing came of it.
    fn contended(&self, name: &str) -> CheckpointError {
        CheckpointError::Objects {
            object: self.object(name),
            action: "write",
            why: format!(
                "for {TRIES:?} the store has said that others write it, or nothing, and it is not there"
            ),
            lasts: false,
        }
    }

    fn system_error(
        &self,
        name: &str,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> CheckpointError {
        let object = self.object(name);
        move |source| CheckpointError::System { object, action, source }
    }
}

impl CheckpointPlace {
    /// The checkpoint store of a cluster in this place. Clusters that share a place must have different names.
    ///
    /// # Errors
    ///
    /// If the cluster's name is none.
    pub fn store(&self, cluster: &str) -> Result<CheckpointStore, CheckpointError> {
        CheckpointStore::check_name(cluster)?;
        Ok(CheckpointStore(Arc::new(Open {
            place: self.clone(),
            cluster: cluster.to_owned(),
            read_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            sent_bytes: Arc::default(),
        })))
    }
}
