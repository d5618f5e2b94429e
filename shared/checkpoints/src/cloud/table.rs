//! What a cloud is like, as a table that a module fills in for each.

use std::{fmt, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use object_store::{CredentialProvider, Error, ObjectStore, RetryConfig};

use crate::{
    CheckpointError,
    given::{Endpoint, Given},
    said::{Refused, Said},
};

/// A client of a bucket, by the values of options.
pub(super) type Build = fn(&str, &[(&str, &str)], RetryConfig) -> Result<Client, Error>;

/// What a cloud is like. An *option* is what a variable sets, under the name that the library has for it.
pub(crate) struct Cloud {
    /// How URLs begin.
    pub(crate) scheme: &'static str,
    /// The protocol, for people.
    pub(crate) protocol: &'static str,
    /// What has the objects, for people.
    pub(crate) bucket: &'static str,
    /// How its variables begin.
    pub(crate) prefix: &'static str,
    /// What is wrong with the name of a bucket, if something is.
    pub(crate) check_name: fn(&str) -> Result<(), &'static str>,
    /// The option that a variable sets.
    pub(crate) option_of: fn(&str) -> Option<String>,
    /// The option that is the bucket, which the URL names.
    pub(crate) named_in_url: &'static str,
    /// Options that hold a word each: no space, nothing but ASCII.
    pub(crate) words: &'static [&'static str],
    /// Those of them that hold URLs.
    pub(crate) urls: &'static [&'static str],
    /// Those of them that hold hosts, with a port or without.
    pub(crate) hosts: &'static [&'static str],
    /// Those of them that hold names, such as those of accounts and regions.
    pub(crate) names: &'static [&'static str],
    /// Options that hold names of files, or their text.
    pub(crate) texts: &'static [&'static str],
    /// Options that are of no use here when they are switched on, and what to do instead.
    pub(crate) unusable: &'static [(&'static str, &'static str)],
    /// Options that the library takes from the environment by itself.
    pub(crate) ambient: &'static [&'static str],
    /// Options of which one says what the keys are, or where to get them from. If none does, the last resort is a
    /// machine of the cloud's that knows its own.
    pub(crate) sources: &'static [&'static str],
    /// Options without which no client can be built.
    pub(crate) stand_ins: &'static [(&'static str, &'static str)],
    /// What is to blame if no client can be built and it is no variable.
    pub(crate) otherwise: &'static str,
    /// What is to be set to have keys.
    pub(crate) how: &'static str,
    /// What the keys are in, for people.
    pub(crate) keys: &'static str,
    /// The header that says that a write is to be done only if there is nothing.
    pub(crate) condition: &'static str,
    /// The server, if one is named.
    pub(crate) endpoint: fn(&Given) -> Result<Option<Endpoint>, CheckpointError>,
    /// Whether the options go together.
    pub(crate) check: fn(&Given) -> Result<(), CheckpointError>,
    /// The server where none is named, for people.
    pub(crate) server: fn(&Given) -> String,
    pub(crate) client: Build,
    /// Whether many objects are deleted by one request.
    pub(crate) deletes_many: bool,
    /// What the status 409 means with a code.
    pub(crate) conflict: fn(&str) -> Refused,
    /// What an answer means that lasts, if it is one of this cloud's own.
    pub(crate) meaning: fn(&Said, &str) -> Option<String>,
}

impl PartialEq for Cloud {
    fn eq(&self, other: &Self) -> bool {
        self.scheme == other.scheme
    }
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme)
    }
}

/// A client of a bucket.
pub(crate) struct Client {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// Gets the keys, to see whether there are any.
    pub(crate) credentials: BoxFuture<'static, Result<(), Error>>,
}

impl Client {
    pub(super) fn new<C: Send + Sync + 'static>(
        objects: impl ObjectStore,
        credentials: Arc<dyn CredentialProvider<Credential = C>>,
    ) -> Self {
        let credentials = async move { credentials.get_credential().await.map(drop) };
        Self { objects: Arc::new(objects), credentials: credentials.boxed() }
    }
}

/// How a client is built: by this builder of the library, to which this method names the bucket.
macro_rules! build {
    ($builder:ty, $name:ident) => {
        |bucket, options, retry| {
            let mut builder = <$builder>::new();
            for &(option, value) in options {
                builder = builder.with_config(option.parse()?, value);
            }
            let objects = builder.$name(bucket).with_retry(retry).build()?;
            let credentials = objects.credentials().clone();
            Ok(Client::new(objects, credentials))
        }
    };
}
pub(super) use build;

/// Whether a name is of letters, digits and these.
pub(crate) fn is_of(name: &str, others: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Whether a name begins and ends with a small letter or a digit, and has these besides.
pub(super) fn is_small(name: &str, others: &str) -> bool {
    let is_small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(is_small)
        && name.ends_with(is_small)
        && name.chars().all(|c| is_small(c) || others.contains(c))
}
