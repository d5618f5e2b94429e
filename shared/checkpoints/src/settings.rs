//! How to reach a bucket: the variables `AWS_*` that everybody uses, looked through before anything is sent. The library
//! panics on some values, passes others on to where nobody understands them, and drops those that are no text.

use std::{env, time::Duration};

use object_store::{
    ClientConfigKey, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey as Key},
};
use url::Url;

use crate::CheckpointError;

/// A request is given up after so long, with all it sends or gets, unless `AWS_TIMEOUT` says otherwise.
const REQUEST: &str = "2 minutes";

/// A request that failed is tried again for so long.
pub(crate) const TRIES: Duration = Duration::from_secs(3 * 60);

/// The same while nobody knows yet whether the place is one: it should be known within [`crate::probe::OPENING`].
const FIRST_REQUEST: &str = "4 seconds";
const FIRST_CONNECTION: &str = "3 seconds";
const FIRST_TRIES: Duration = Duration::from_secs(2);

/// Variables that hold a word each: no space, nothing but ASCII.
const WORDS: [Key; 12] = [
    Key::AccessKeyId,
    Key::SecretAccessKey,
    Key::Token,
    Key::Region,
    Key::DefaultRegion,
    Key::Endpoint,
    Key::MetadataEndpoint,
    Key::StsEndpoint,
    Key::ContainerCredentialsRelativeUri,
    Key::ContainerCredentialsFullUri,
    Key::RoleArn,
    Key::RoleSessionName,
];

/// Those of them that hold URLs.
const URLS: [Key; 4] =
    [Key::Endpoint, Key::MetadataEndpoint, Key::StsEndpoint, Key::ContainerCredentialsFullUri];

/// Variables that hold names of files, or a certificate.
const FILES: [Key; 3] = [
    Key::WebIdentityTokenFile,
    Key::ContainerAuthorizationTokenFile,
    Key::Client(ClientConfigKey::ProxyCaCertificate),
];

/// How to reach a bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(Vec<Setting>);

#[derive(Clone)]
struct Setting {
    variable: String,
    key: Key,
    value: String,
}

impl std::fmt::Debug for Setting {
    /// Without the value, which may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.variable)
    }
}

/// How long requests may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// Nobody knows yet whether the place is one.
    Start,
    /// It was one: what fails may pass.
    Work,
}

impl Settings {
    /// Those of this process.
    ///
    /// # Errors
    /// [`CheckpointError::Setting`], if one cannot be right.
    pub(crate) fn of_environment() -> Result<Self, CheckpointError> {
        let mut variables = Vec::new();
        for (variable, value) in env::vars_os() {
            let Ok(variable) = variable.into_string() else { continue };
            if key_of(&variable).is_none() {
                continue;
            }
            let value =
                value.into_string().map_err(|_| wrong(&variable, "it is no text (UTF-8)"))?;
            variables.push((variable, value));
        }
        Self::of(variables)
    }

    /// Those among some variables and their values. A variable without a value is none.
    ///
    /// # Errors
    /// [`CheckpointError::Setting`], if one cannot be right.
    pub(crate) fn of(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, CheckpointError> {
        let mut all = Self::default();
        for (variable, value) in variables {
            if let Some(key) = key_of(&variable).filter(|key| *key != Key::Bucket)
                && !value.is_empty()
            {
                check(&variable, key, &value)?;
                let same = all.0.iter().find(|other| other.key == key && other.value != value);
                if let Some(other) = same {
                    return Err(wrong(
                        &variable,
                        &format!("{} says something else", other.variable),
                    ));
                }
                all.0.push(Setting { variable, key, value });
            }
        }
        all.check_endpoint()?;
        all.check_keys()?;
        Ok(all)
    }

    /// A client of a bucket.
    ///
    /// # Errors
    /// [`CheckpointError::Setting`], if a value cannot be used.
    pub(crate) fn client(
        &self,
        bucket: &str,
        patience: Patience,
    ) -> Result<AmazonS3, CheckpointError> {
        self.builder(bucket, patience).build().map_err(|error| {
            // Which one it was, the library does not say.
            let alone = |setting: &&Setting| {
                let alone = AmazonS3Builder::new().with_bucket_name(bucket);
                let alone = alone.with_access_key_id("id").with_secret_access_key("key");
                alone.with_config(setting.key, &setting.value).build().is_err()
            };
            let variable = self.0.iter().find(alone).map_or("AWS_*", |setting| &setting.variable);
            wrong(variable, &error.to_string())
        })
    }

    /// Whether there are keys, or something is told where to get them from; if not, the last resort is a machine of
    /// Amazon's that knows its own.
    pub(crate) fn have_credentials(&self) -> bool {
        let sources = [
            Key::AccessKeyId,
            Key::WebIdentityTokenFile,
            Key::ContainerCredentialsRelativeUri,
            Key::ContainerCredentialsFullUri,
        ];
        sources.into_iter().any(|key| self.get(key).is_some()) || self.is_unsigned()
    }

    /// Whether requests are not signed, so that no keys are needed.
    pub(crate) fn is_unsigned(&self) -> bool {
        self.get(Key::SkipSignature).is_some_and(is_yes)
    }

    /// The server, for people.
    pub(crate) fn server(&self) -> String {
        let endpoint = self.0.iter().find(|setting| setting.key == Key::Endpoint);
        match endpoint {
            Some(setting) => format!("{} ({})", setting.value, setting.variable),
            None => "Amazon S3 (AWS_ENDPOINT names another server)".to_owned(),
        }
    }

    fn get(&self, key: Key) -> Option<&str> {
        self.0.iter().find(|setting| setting.key == key).map(|setting| setting.value.as_str())
    }

    fn builder(&self, bucket: &str, patience: Patience) -> AmazonS3Builder {
        let (request, connection, tries) = match patience {
            Patience::Start => (FIRST_REQUEST, FIRST_CONNECTION, FIRST_TRIES),
            Patience::Work => (REQUEST, "5 seconds", TRIES),
        };
        let builder = AmazonS3Builder::new()
            .with_config(Key::Client(ClientConfigKey::Timeout), request)
            .with_config(Key::Client(ClientConfigKey::ConnectTimeout), connection);
        let builder = self
            .0
            .iter()
            .fold(builder, |builder, Setting { key, value, .. }| builder.with_config(*key, value));
        let retry = RetryConfig { retry_timeout: tries, ..RetryConfig::default() };
        builder.with_bucket_name(bucket).with_retry(retry)
    }

    fn check_endpoint(&self) -> Result<(), CheckpointError> {
        let plain = |setting: &&Setting| {
            setting.key == Key::Endpoint && setting.value.to_ascii_lowercase().starts_with("http:")
        };
        let Some(plain) = self.0.iter().find(plain) else { return Ok(()) };
        if self.get(Key::Client(ClientConfigKey::AllowHttp)).is_some_and(is_yes) {
            return Ok(());
        }
        let what = "it is without TLS: others on the way can read and change all that is sent; give an https:// \
                    URL, or say AWS_ALLOW_HTTP=true";
        Err(wrong(&plain.variable, what))
    }

    fn check_keys(&self) -> Result<(), CheckpointError> {
        let pair = [Key::AccessKeyId, Key::SecretAccessKey].map(|key| self.get(key).is_some());
        let [there, missing] = match pair {
            [true, false] => ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            [false, true] => ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"],
            _ => return Ok(()),
        };
        Err(wrong(missing, &format!("it is missing; {there} is there")))
    }
}

fn key_of(variable: &str) -> Option<Key> {
    let is_one = variable.starts_with("AWS_");
    is_one.then(|| variable.to_ascii_lowercase().parse().ok()).flatten()
}

fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a value can be right, as far as can be told without sending it anywhere.
fn check(variable: &str, key: Key, value: &str) -> Result<(), CheckpointError> {
    if FILES.contains(&key) {
        return Ok(());
    }
    let problem = if value.contains(['\n', '\r']) {
        "it has a line break"
    } else if value.contains(|c: char| c.is_ascii_control()) {
        "it has a control character"
    } else if !value.is_ascii() {
        "it has a character that is not ASCII"
    } else if WORDS.contains(&key) && value.contains(' ') {
        "it has a space"
    } else {
        ""
    };
    if !problem.is_empty() {
        return Err(wrong(variable, problem));
    }
    let is_region = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if matches!(key, Key::Region | Key::DefaultRegion) && !value.chars().all(is_region) {
        return Err(wrong(
            variable,
            "a region's name has letters, digits and `-`, such as eu-central-1",
        ));
    }
    if URLS.contains(&key) {
        check_url(variable, value)?;
    }
    Ok(())
}

fn check_url(variable: &str, value: &str) -> Result<(), CheckpointError> {
    let such_as = "write a URL, such as https://s3.example.org:9000";
    let url = Url::parse(value).map_err(|error| wrong(variable, &format!("{error}; {such_as}")))?;
    if !["http", "https"].contains(&url.scheme()) || !value.contains("://") {
        return Err(wrong(
            variable,
            &format!("it does not begin with https:// or http://; {such_as}"),
        ));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    if !url.has_host() || !value.chars().all(is_plain) {
        return Err(wrong(
            variable,
            &format!("it has more than a server's name, port and path; {such_as}"),
        ));
    }
    Ok(())
}

fn wrong(variable: &str, problem: &str) -> CheckpointError {
    CheckpointError::Setting { variable: variable.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [(&str, &str); 2] =
        [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    fn settings(more: &[(&str, &str)]) -> Result<Settings, CheckpointError> {
        let all = KEYS.iter().filter(|(key, _)| more.iter().all(|(other, _)| other != key));
        Settings::of(all.chain(more).map(|&(key, value)| (key.to_owned(), value.to_owned())))
    }

    /// Whatever is let through must not make the library panic.
    fn client(more: &[(&str, &str)]) -> Result<AmazonS3, CheckpointError> {
        settings(more)?.client("b", Patience::Start)
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_name() {
        for (variable, value) in [
            ("AWS_ENDPOINT", "minio:9000"),
            ("AWS_ENDPOINT", "minio"),
            ("AWS_ENDPOINT", "//minio:9000"),
            ("AWS_ENDPOINT", "https:minio"),
            ("AWS_ENDPOINT", "https://"),
            ("AWS_ENDPOINT", "https://minio:port"),
            ("AWS_ENDPOINT", "https://minio:99999"),
            ("AWS_ENDPOINT", "https://mi nio"),
            ("AWS_ENDPOINT", "https://256.0.0.1"),
            ("AWS_ENDPOINT", "https://minio/?a=b"),
            ("AWS_ENDPOINT", "https://key:secret@minio"),
            ("AWS_ENDPOINT", "s3://minio"),
            ("AWS_ENDPOINT", "http://minio:9000"),
            ("AWS_ENDPOINT_URL", "HTTP://minio:9000"),
            ("AWS_ENDPOINT_URL", "minio:9000"),
            ("AWS_ACCESS_KEY_ID", "key\n"),
            ("AWS_ACCESS_KEY_ID", "k\u{e9}y"),
            ("AWS_ACCESS_KEY_ID", ""),
            ("AWS_SECRET_ACCESS_KEY", "sec\nret"),
            ("AWS_SECRET_ACCESS_KEY", "secret\r"),
            ("AWS_SECRET_ACCESS_KEY", " secret"),
            ("AWS_SECRET_ACCESS_KEY", ""),
            ("AWS_SESSION_TOKEN", "token\n"),
            ("AWS_SESSION_TOKEN", "to\u{7f}ken"),
            ("AWS_REGION", "eu-central-1\n"),
            ("AWS_REGION", "eu/central"),
            ("AWS_DEFAULT_REGION", "eu central"),
            ("AWS_ALLOW_HTTP", "maybe"),
            ("AWS_TIMEOUT", "soon"),
            ("AWS_CONDITIONAL_PUT", "never"),
            ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "2"),
            ("AWS_SERVER_SIDE_ENCRYPTION", "none"),
            ("AWS_ENDPOINT_URL_STS", "sts"),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "169.254.170.23/v1"),
        ] {
            let error = client(&[(variable, value)]).expect_err(value).to_string();
            assert!(error.contains(variable), "{variable}={value:?}: {error}");
            assert!(!error.contains("secret\r"), "a secret is not to be shown: {error}");
        }
        let both = [("AWS_ENDPOINT", "https://a"), ("AWS_ENDPOINT_URL", "https://b")];
        assert!(client(&both).unwrap_err().to_string().contains("AWS_ENDPOINT"));
    }

    #[test]
    fn what_may_be_right_is_taken() {
        for more in [
            vec![],
            vec![("AWS_ENDPOINT", "https://minio:9000")],
            vec![("AWS_ENDPOINT", "https://[::1]:9000/some/where")],
            vec![("AWS_ENDPOINT", "http://minio:9000"), ("AWS_ALLOW_HTTP", "Yes")],
            vec![("AWS_ENDPOINT", "https://a"), ("AWS_ENDPOINT_URL", "https://a")],
            vec![("AWS_ENDPOINT", "")],
            vec![("AWS_SESSION_TOKEN", ""), ("AWS_REGION", "eu-central-1")],
            vec![("AWS_PAGER", "less -R\n")],
        ] {
            assert!(client(&more).is_ok(), "{more:?}: {:?}", client(&more).err());
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        assert!(!format!("{:?}", settings(&[]).unwrap()).contains("secret\""));
    }
}
