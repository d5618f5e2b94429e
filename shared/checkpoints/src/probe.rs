//! Opening a place, and finding out what it can do before anybody relies on it.
//!
//! A bucket is tried with an object of its own: written twice on the condition that there is none, read back, and
//! deleted. Of stores that talk like those of a cloud, some refuse the condition and some ignore it.

use std::{
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use object_store::{Error, ObjectStore, PutMode, PutPayload, local::LocalFileSystem, path::Path};
use tokio::time::{sleep, timeout};

use crate::{
    CheckpointError, answer,
    cloud::{Client, Cloud},
    directory::made,
    place::Place,
    said::{self, Refused},
    settings::{Patience, Settings},
};

/// A bucket says within this time whether it can be used, or does not answer.
pub(crate) const OPENING: Duration = Duration::from_secs(9);

/// Credentials come within this time, or there are none.
const CREDENTIALS: Duration = Duration::from_secs(4);

/// Between two tries of what meets others that are at the same.
const PAUSE: Duration = Duration::from_millis(300);

/// A place where checkpoints can be kept: it has been tried.
#[derive(Clone, Debug)]
pub struct CheckpointPlace {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Where that is on disk; nothing if it is a bucket.
    pub(crate) directory: Option<PathBuf>,
    /// What goes before all names in `objects`.
    pub(crate) prefix: Path,
    /// The URL, for messages.
    pub(crate) url: String,
    /// How a bucket is reached.
    settings: Option<Settings>,
    /// Whether it can write an object on the condition that there is none.
    pub(crate) knows_conditions: bool,
}

impl CheckpointPlace {
    /// Opens a place: `file:///DIRECTORY`, which is made if there is none, the plain path of a directory,
    /// `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`. How to reach a bucket is in the
    /// environment: `AWS_ACCESS_KEY_ID`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME` and so on
    /// (`docs/CLUSTER.md`). It takes ten seconds at most.
    ///
    /// # Errors
    ///
    /// If the URL is none, or the place cannot be used; [`CheckpointError::lasts`] tells whether trying again may help.
    pub async fn open(url: &str) -> Result<Self, CheckpointError> {
        Self::open_as(url, Settings::of_environment).await
    }

    /// The same, with these variables in place of the environment's.
    ///
    /// # Errors
    ///
    /// As [`CheckpointPlace::open`].
    pub async fn open_with(
        url: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, CheckpointError> {
        Self::open_as(url, |cloud| Settings::of(cloud, variables)).await
    }

    async fn open_as(
        url: &str,
        settings: impl FnOnce(&'static Cloud) -> Result<Settings, CheckpointError>,
    ) -> Result<Self, CheckpointError> {
        let place = Place::parse(url)?;
        let url = url.trim_end_matches('/').to_owned();
        match place {
            Place::Directory(dir) => {
                let dir = made(dir).await.map_err(|source| CheckpointError::System {
                    object: url.clone(),
                    action: "open",
                    source,
                })?;
                let files = LocalFileSystem::new_with_prefix(&dir);
                let files = files.map_err(|error| of_directory(url.clone(), "open", &error))?;
                Ok(Self {
                    objects: Arc::new(files.with_automatic_cleanup(true)),
                    directory: Some(dir),
                    prefix: Path::default(),
                    url,
                    settings: None,
                    knows_conditions: true,
                })
            }
            Place::Bucket { cloud, bucket, prefix } => {
                let settings = settings(cloud)?;
                let Client { objects, credentials } = settings.client(&bucket, Patience::Start)?;
                let tried = Trial { objects, prefix: &prefix, url: &url, settings: &settings };
                let Ok(knows_conditions) = timeout(OPENING, tried.run(credentials)).await else {
                    let why = format!("{} does not answer within {OPENING:?}", settings.server());
                    return Err(CheckpointError::Objects {
                        object: url,
                        action: "open",
                        why,
                        lasts: false,
                    });
                };
                let knows_conditions = knows_conditions?;
                let objects = settings.client(&bucket, Patience::Work)?.objects;
                let (directory, settings) = (None, Some(settings));
                Ok(Self { objects, directory, prefix, url, settings, knows_conditions })
            }
        }
    }

    /// What it cannot do, for people, if there is something.
    pub fn shortcoming(&self) -> Option<String> {
        let settings = self.settings.as_ref().filter(|_| !self.knows_conditions)?;
        Some(format!(
            "{} does not write objects on the condition that there are none ({}): of two workers that write the same \
             one at the same instant, the later wins",
            self.url, settings.cloud.condition
        ))
    }

    /// What the place said, as an error about an object.
    pub(crate) fn refusal(
        &self,
        object: String,
        action: &'static str,
        error: &Error,
    ) -> CheckpointError {
        match &self.settings {
            None => of_directory(object, action, error),
            Some(settings) => of_bucket(object, action, error, settings),
        }
    }

    /// Whether many objects are deleted by one request.
    pub(crate) fn deletes_many(&self) -> bool {
        self.settings.as_ref().is_none_or(|it| it.cloud.deletes_many)
    }

    /// What kind of refusal an error is of.
    pub(crate) fn kind(&self, error: &Error) -> Refused {
        self.settings.as_ref().map_or(Refused::Other, |it| answer::kind(error, it.cloud))
    }
}

fn of_directory(object: String, action: &'static str, error: &Error) -> CheckpointError {
    let why = format!("{error}; see that the directory is there and its disk works");
    CheckpointError::Objects { object, action, why, lasts: false }
}

fn of_bucket(
    object: String,
    action: &'static str,
    error: &Error,
    settings: &Settings,
) -> CheckpointError {
    let answer::Answer { text: why, lasts } = answer::meaning(error, settings);
    CheckpointError::Objects { object, action, why, lasts }
}

/// Keys that are being got.
type Credentials = BoxFuture<'static, Result<(), Error>>;

/// Trying a bucket out.
struct Trial<'a> {
    objects: Arc<dyn ObjectStore>,
    prefix: &'a Path,
    url: &'a str,
    settings: &'a Settings,
}

impl Trial<'_> {
    /// Whether it knows conditions, if it can be used.
    async fn run(&self, credentials: Credentials) -> Result<bool, CheckpointError> {
        self.get(credentials).await?;
        let listed = self.objects.list_with_delimiter(Some(self.prefix)).await;
        listed.map_err(|error| self.refusal("list", &error))?;
        let number = RandomState::new().hash_one((SystemTime::now(), std::process::id()));
        let name = format!("probe-{number:016x}");
        let path = self.prefix.child(name.as_str());
        let absent = self.objects.get(&path).await.err();
        if let Some(error) = absent.filter(|error| !answer::is_missing(error)) {
            return Err(self.refusal("read", &error));
        }
        let tried = self.write(&path, name.clone().into()).await;
        // Best nothing of this stays, whatever became of it; the first error says why.
        let deleted = self.objects.delete(&path).await;
        let knows_conditions = tried?;
        deleted.map_err(|error| self.refusal("delete from", &error))?;
        Ok(knows_conditions)
    }

    async fn get(&self, credentials: Credentials) -> Result<(), CheckpointError> {
        if self.settings.is_unsigned() {
            return Ok(());
        }
        let (why, lasts) = match timeout(CREDENTIALS, credentials).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => (said::words(&error), !answer::may_pass(&error)),
            Err(_) => (format!("no answer within {CREDENTIALS:?}"), false),
        };
        // Where nobody said where they are, a machine of the cloud's was looked for, and this is none.
        let lasts = lasts || !self.settings.have_credentials();
        let how = self.settings.cloud.how;
        Err(CheckpointError::Credentials { url: self.url.to_owned(), how, why, lasts })
    }

    /// Writes and reads an object. Whether the condition that there is none was kept.
    async fn write(&self, path: &Path, bytes: Bytes) -> Result<bool, CheckpointError> {
        let knows_conditions =
            self.create(path, &bytes).await? && !self.create(path, &bytes).await?;
        if !knows_conditions {
            let payload = PutPayload::from(bytes.clone());
            let written = self.objects.put(path, payload).await;
            written.map_err(|error| self.refusal("write to", &error))?;
        }
        let read = async { self.objects.get(path).await?.bytes().await };
        let read = read.await.map_err(|error| self.refusal("read from", &error))?;
        if read == bytes {
            return Ok(knows_conditions);
        }
        Err(CheckpointError::Objects {
            object: self.url.to_owned(),
            action: "use",
            why: format!("{} does not give back what is written there", self.settings.server()),
            lasts: true,
        })
    }

    /// Writes an object if there is none. Whether it did: not, if there is one or the store does not know how.
    async fn create(&self, path: &Path, bytes: &Bytes) -> Result<bool, CheckpointError> {
        loop {
            let payload = PutPayload::from(bytes.clone());
            let Err(error) = self.objects.put_opts(path, payload, PutMode::Create.into()).await
            else {
                return Ok(true);
            };
            match answer::kind(&error, self.settings.cloud) {
                Refused::Exists | Refused::Unknown => return Ok(false),
                Refused::Conflict => sleep(PAUSE).await,
                Refused::Late | Refused::Other => return Err(self.refusal("write to", &error)),
            }
        }
    }

    fn refusal(&self, action: &'static str, error: &Error) -> CheckpointError {
        of_bucket(self.url.to_owned(), action, error, self.settings)
    }
}
