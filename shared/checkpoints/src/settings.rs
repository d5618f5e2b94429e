//! How to reach a bucket: the variables that everybody uses for a cloud, looked through before anything is sent. The
//! library panics on some values, passes others on to where nobody understands them, and drops those that are no text.

use std::{env, time::Duration};

use object_store::RetryConfig;
use url::Url;

use crate::{
    CheckpointError,
    cloud::{Client, Cloud, is_of},
    given::{Endpoint, Given, Setting, check_url, wrong},
    said,
};

/// A request is given up after so long, with all it sends or gets, unless a variable such as `AWS_TIMEOUT` says
/// otherwise.
const REQUEST: &str = "2 minutes";

/// A request that failed is tried again for so long.
pub(crate) const TRIES: Duration = Duration::from_secs(3 * 60);

/// The same while nobody knows yet whether the place is one: it should be known within [`crate::probe::OPENING`].
const FIRST_REQUEST: &str = "4 seconds";
const FIRST_CONNECTION: &str = "3 seconds";
const FIRST_TRIES: Duration = Duration::from_secs(2);

/// How to reach a bucket of a cloud.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) cloud: &'static Cloud,
    given: Given,
    endpoint: Option<Endpoint>,
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
    pub(crate) fn of_environment(cloud: &'static Cloud) -> Result<Self, CheckpointError> {
        let mut variables = Vec::new();
        for (variable, value) in env::vars_os() {
            let Ok(variable) = variable.into_string() else { continue };
            if (cloud.option_of)(&variable).is_none() {
                continue;
            }
            let value =
                value.into_string().map_err(|_| wrong(&variable, "it is no text (UTF-8)"))?;
            variables.push((variable, value));
        }
        Self::of(cloud, variables)
    }

    /// Those among some variables and their values. A variable without a value is none, but for hosts: the library
    /// takes these from the environment as they are.
    ///
    /// # Errors
    /// [`CheckpointError::Setting`], if one cannot be right.
    pub(crate) fn of(
        cloud: &'static Cloud,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, CheckpointError> {
        let mut settings = Self { cloud, given: Given::default(), endpoint: None };
        for (variable, value) in variables {
            if let Some(option) = (cloud.option_of)(&variable)
                && option != cloud.named_in_url
                && (!value.is_empty() || cloud.hosts.contains(&option.as_str()))
            {
                check(cloud, &variable, &option, &value)?;
                let mut given = settings.given.0.iter();
                if let Some(other) = given.find(|it| it.option == option && it.value != value) {
                    let what = format!("{} says something else", other.variable);
                    return Err(wrong(&variable, &what));
                }
                settings.given.0.push(Setting { variable, option, value });
            }
        }
        (cloud.check)(&settings.given)?;
        settings.endpoint = (cloud.endpoint)(&settings.given)?;
        settings.check_endpoint()?;
        Ok(settings)
    }

    /// A client of a bucket.
    ///
    /// # Errors
    /// [`CheckpointError::Setting`], if a value cannot be used.
    pub(crate) fn client(
        &self,
        bucket: &str,
        patience: Patience,
    ) -> Result<Client, CheckpointError> {
        let (request, connection, retry_timeout) = match patience {
            Patience::Start => (FIRST_REQUEST, FIRST_CONNECTION, FIRST_TRIES),
            Patience::Work => (REQUEST, "5 seconds", TRIES),
        };
        let mut options = vec![("timeout", request), ("connect_timeout", connection)];
        options.extend(self.for_library().map(Setting::pair));
        let retry = RetryConfig { retry_timeout, ..RetryConfig::default() };
        (self.cloud.client)(bucket, &options, retry).map_err(|error| {
            // Which one it was, the library does not say.
            let is_wrong_alone = |setting: &&Setting| {
                let alone = [self.cloud.stand_ins, &[setting.pair()]].concat();
                (self.cloud.client)(bucket, &alone, RetryConfig::default()).is_err()
            };
            let culprit = self.for_library().find(is_wrong_alone);
            let variable = culprit.map_or(self.cloud.otherwise, |setting| &setting.variable);
            wrong(variable, &said::words(&error))
        })
    }

    /// Whether there are keys, or something is told where to get them from; if not, the last resort is a machine of
    /// the cloud's that knows its own.
    pub(crate) fn have_credentials(&self) -> bool {
        self.cloud.sources.iter().any(|option| self.given.get(option).is_some())
            || self.is_unsigned()
    }

    /// Whether requests are not signed, so that no keys are needed.
    pub(crate) fn is_unsigned(&self) -> bool {
        let mut given = self.given.0.iter();
        given.any(|setting| setting.option.ends_with("_skip_signature") && is_yes(&setting.value))
    }

    /// The server, for people.
    pub(crate) fn server(&self) -> String {
        match &self.endpoint {
            Some(Endpoint { variable, url }) => format!("{url} ({variable})"),
            None => (self.cloud.server)(&self.given),
        }
    }

    /// What the library is to be given.
    fn for_library(&self) -> impl Iterator<Item = &Setting> {
        self.given.0.iter().filter(|it| !self.cloud.ambient.contains(&it.option.as_str()))
    }

    fn check_endpoint(&self) -> Result<(), CheckpointError> {
        let Some(Endpoint { variable, url }) = &self.endpoint else { return Ok(()) };
        let is_plain = url.to_ascii_lowercase().starts_with("http:");
        if !is_plain || self.given.get("allow_http").is_some_and(is_yes) {
            return Ok(());
        }
        let what = format!(
            "it is without TLS: others on the way can read and change all that is sent; give an https:// URL, or say \
             {}ALLOW_HTTP=true",
            self.cloud.prefix
        );
        Err(wrong(variable, &what))
    }
}

fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a value can be right, as far as can be told without sending it anywhere.
fn check(cloud: &Cloud, variable: &str, option: &str, value: &str) -> Result<(), CheckpointError> {
    if cloud.texts.contains(&option) {
        return Ok(());
    }
    let problem = if value.contains(['\n', '\r']) {
        "it has a line break"
    } else if value.contains(|c: char| c.is_ascii_control()) {
        "it has a control character"
    } else if !value.is_ascii() {
        "it has a character that is not ASCII"
    } else if cloud.words.contains(&option) && value.contains(' ') {
        "it has a space"
    } else {
        ""
    };
    if !problem.is_empty() {
        return Err(wrong(variable, problem));
    }
    if cloud.names.contains(&option) && !is_of(value, "-_.") {
        let what = "it is no name: these have letters, digits and `-`, such as eu-central-1";
        return Err(wrong(variable, what));
    }
    if cloud.urls.contains(&option) {
        check_url(variable, value)?;
    }
    if cloud.hosts.contains(&option) {
        let is_host = is_of(value, "-_.:[]") && Url::parse(&format!("http://{value}")).is_ok();
        if !is_host {
            return Err(wrong(variable, "it is no HOST or HOST:PORT; unset it, or write one"));
        }
    }
    let mut unusable = cloud.unusable.iter();
    match unusable.find(|(unusable, _)| *unusable == option && is_yes(value)) {
        Some((_, instead)) => Err(wrong(variable, &format!("it is of no use here: {instead}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::{AMAZON, AZURE, CLOUDS, GOOGLE};

    /// What no client of a cloud can be had without.
    fn keys(cloud: &Cloud) -> Vec<(&'static str, &'static str)> {
        match cloud.scheme {
            "s3" => vec![("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")],
            "gs" => vec![("GOOGLE_SERVICE_ACCOUNT_KEY", KEY)],
            _ => vec![
                ("AZURE_STORAGE_ACCOUNT_NAME", "royal"),
                ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0"),
            ],
        }
    }

    const KEY: &str = r#"{
        "disable_oauth": true,
        "client_email": "", "private_key": "secret", "private_key_id": ""
    }"#;

    fn settings(cloud: &'static Cloud, more: &[(&str, &str)]) -> Result<Settings, CheckpointError> {
        let keys = keys(cloud);
        let keys = keys.iter().filter(|(key, _)| more.iter().all(|(other, _)| other != key));
        let all = keys.chain(more).map(|&(key, value)| (key.to_owned(), value.to_owned()));
        Settings::of(cloud, all)
    }

    /// What is let through must not make the library panic.
    fn client(cloud: &'static Cloud, more: &[(&str, &str)]) -> Result<Client, CheckpointError> {
        settings(cloud, more)?.client("royal", Patience::Start)
    }

    fn is_refused_by_name(cloud: &'static Cloud, variable: &str, value: &str) {
        let Err(error) = client(cloud, &[(variable, value)]) else {
            panic!("{variable}={value:?} is let through");
        };
        let error = error.to_string();
        assert!(error.contains(variable), "{variable}={value:?}: {error}");
        assert!(!error.contains("secret"), "a secret is not to be shown: {error}");
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_name() {
        for (variable, value) in [
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
            ("AWS_REGION", "eu:central"),
            ("AWS_DEFAULT_REGION", "eu central"),
            ("AWS_ALLOW_HTTP", "maybe"),
            ("AWS_TIMEOUT", "soon"),
            ("AWS_CONDITIONAL_PUT", "never"),
            ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "2"),
            ("AWS_SERVER_SIDE_ENCRYPTION", "none"),
            ("AWS_ENDPOINT_URL_STS", "sts"),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "169.254.170.23/v1"),
        ] {
            is_refused_by_name(&AMAZON, variable, value);
        }
        for (variable, value) in [
            ("GOOGLE_SERVICE_ACCOUNT", "/there/is/none"),
            ("GOOGLE_SERVICE_ACCOUNT_PATH", "key\n"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "secret"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "\"secret\""),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "[\"secret\"]"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "{\"private_key\": \"secret\"}"),
            (
                "GOOGLE_SERVICE_ACCOUNT_KEY",
                r#"{"client_email": "a", "private_key": "secret", "private_key_id": "b"}"#,
            ),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/there/is/none"),
            ("GOOGLE_SKIP_SIGNATURE", "true"),
            ("GOOGLE_SKIP_SIGNATURE", "maybe"),
            ("GOOGLE_ALLOW_HTTP", "maybe"),
            ("GOOGLE_TIMEOUT", "soon"),
            ("GOOGLE_PROXY_URL", "http://pro\nxy"),
            ("GCE_METADATA_HOST", "http://metadata"),
            ("GCE_METADATA_HOST", "meta data"),
            ("GCE_METADATA_HOST", "meta\\data"),
            ("GCE_METADATA_HOST", ""),
            ("GCE_METADATA_ROOT", "a:b:c"),
            ("GCE_METADATA_IP", "127.0.0.1:99999"),
        ] {
            is_refused_by_name(&GOOGLE, variable, value);
        }
        for (variable, value) in [
            ("AZURE_STORAGE_ACCOUNT_NAME", ""),
            ("AZURE_STORAGE_ACCOUNT_NAME", "royal game"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "royal/game"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "royal:game"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "r\u{f6}yal"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "xn--a"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "secret!"),
            ("AZURE_STORAGE_ACCESS_KEY", "c2VjcmV0\n"),
            ("AZURE_STORAGE_TOKEN", "to\nken"),
            ("AZURE_STORAGE_TENANT_ID", "a/b"),
            ("AZURE_AUTHORITY_HOST", "login.example.org"),
            ("AZURE_MSI_ENDPOINT", "169.254.169.254"),
            ("IDENTITY_ENDPOINT", "//host"),
            ("IDENTITY_HEADER", "a\u{7}b"),
            ("AZURE_STORAGE_USE_EMULATOR", "true"),
            ("AZURE_USE_AZURE_CLI", "1"),
            ("AZURE_SKIP_SIGNATURE", "maybe"),
            ("AZURE_ALLOW_HTTP", "maybe"),
            ("AZURE_TIMEOUT", "soon"),
        ] {
            is_refused_by_name(&AZURE, variable, value);
        }
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused_by_name() {
        for url in [
            "minio:9000",
            "minio",
            "//minio:9000",
            "https:minio",
            "https://",
            "https://minio:port",
            "https://minio:99999",
            "https://mi nio",
            "https://256.0.0.1",
            "https://minio/?a=b",
            "https://key:sesame@minio",
            "s3://minio",
            "http://minio:9000",
            "HTTP://minio:9000",
        ] {
            is_refused_by_name(&AMAZON, "AWS_ENDPOINT", url);
            is_refused_by_name(&AMAZON, "AWS_ENDPOINT_URL", url);
            is_refused_by_name(&AZURE, "AZURE_STORAGE_ENDPOINT", url);
            is_refused_by_name(&AZURE, "AZURE_ENDPOINT", url);
            is_refused_by_name(&GOOGLE, "GOOGLE_SERVICE_ACCOUNT_KEY", &with_base(url));
        }
        is_refused_by_name(&GOOGLE, "GOOGLE_SERVICE_ACCOUNT_KEY", &with_base("https://a/"));
        is_refused_by_name(
            &GOOGLE,
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            &KEY.replace("true", "true, \"gcs_base_url\": 1"),
        );
    }

    fn with_base(url: &str) -> String {
        KEY.replace("true", &format!("true, \"gcs_base_url\": \"{url}\""))
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_name() {
        for (cloud, more, variable) in [
            (
                &AMAZON,
                &[("AWS_ENDPOINT", "https://a"), ("AWS_ENDPOINT_URL", "https://b")][..],
                "AWS_ENDPOINT",
            ),
            (&GOOGLE, &[("GOOGLE_SERVICE_ACCOUNT", "/some/file")], "GOOGLE_SERVICE_ACCOUNT_KEY"),
            (
                &AZURE,
                &[("AZURE_STORAGE_ACCOUNT_KEY", ""), ("AZURE_CLIENT_SECRET", "word")],
                "AZURE_CLIENT_ID",
            ),
            (
                &AZURE,
                &[
                    ("AZURE_STORAGE_ACCOUNT_KEY", ""),
                    ("AZURE_FEDERATED_TOKEN_FILE", "/some/file"),
                    ("AZURE_CLIENT_ID", "id"),
                ],
                "AZURE_TENANT_ID",
            ),
        ] {
            let error = client(cloud, more).err().expect(variable).to_string();
            assert!(error.starts_with(&format!("{variable}: ")) || cloud == &AMAZON, "{error}");
            assert!(error.contains(variable), "{error}");
        }
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
            vec![("AWS_SERVER_SIDE_ENCRYPTION", "AES256"), ("AWS_CONDITIONAL_PUT", "etag")],
            vec![("AWS_PAGER", "less -R\n"), ("AWS_BUCKET", "an other\n")],
        ] {
            assert!(client(&AMAZON, &more).is_ok(), "{more:?}: {:?}", client(&AMAZON, &more).err());
        }
        let (plain, tls) = (with_base("http://fake:4443"), with_base("https://fake:4443"));
        for more in [
            vec![],
            vec![("GOOGLE_SERVICE_ACCOUNT_KEY", "")],
            vec![("GOOGLE_SERVICE_ACCOUNT_KEY", tls.as_str())],
            vec![("GOOGLE_SERVICE_ACCOUNT_KEY", plain.as_str()), ("GOOGLE_ALLOW_HTTP", "1")],
            vec![("GOOGLE_SKIP_SIGNATURE", "false"), ("GOOGLE_TIMEOUT", "1 minute")],
            vec![("GOOGLE_CLOUD_PROJECT", "ur\n"), ("GOOGLE_BUCKET", "an other\n")],
            vec![("GCE_METADATA_HOST", "metadata:80"), ("GCE_METADATA_IP", "[::1]:80")],
        ] {
            assert!(client(&GOOGLE, &more).is_ok(), "{more:?}: {:?}", client(&GOOGLE, &more).err());
        }
        let no_key = ("AZURE_STORAGE_ACCOUNT_KEY", "");
        for more in [
            vec![],
            vec![no_key],
            vec![
                ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:10000/devstoreaccount1/"),
                ("AZURE_ALLOW_HTTP", "true"),
            ],
            vec![no_key, ("AZURE_STORAGE_SAS_TOKEN", "?sv=2023-11-03&sp=racwdl&sig=a%2Bb%3D")],
            vec![no_key, ("AZURE_STORAGE_TOKEN", "a.b.c")],
            vec![
                no_key,
                ("AZURE_CLIENT_ID", "a"),
                ("AZURE_TENANT_ID", "b"),
                ("AZURE_FEDERATED_TOKEN_FILE", "/var/run/secrets/token"),
                ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/"),
            ],
            vec![no_key, ("IDENTITY_ENDPOINT", "http://127.0.0.1:42"), ("IDENTITY_HEADER", "a")],
            vec![("AZURE_CLIENT_SECRET", "word"), ("AZURE_CONTAINER_NAME", "an other\n")],
            vec![("AZURE_USE_AZURE_CLI", "false"), ("AZURE_LOCATION", "a b\n")],
        ] {
            assert!(client(&AZURE, &more).is_ok(), "{more:?}: {:?}", client(&AZURE, &more).err());
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for cloud in CLOUDS {
            let shown = format!("{:?}", settings(cloud, &[]).unwrap());
            let is_shown = |(_, value): &(&str, &str)| shown.contains(value);
            let secret = keys(cloud).pop().unwrap();
            assert!(!is_shown(&secret), "{shown}");
        }
    }

    #[test]
    fn a_table_names_options_of_the_library() {
        for cloud in CLOUDS {
            let named =
                [cloud.words, cloud.urls, cloud.hosts, cloud.names, cloud.texts, cloud.sources];
            let unusable = cloud.unusable.iter().map(|(option, _)| option);
            for option in named.concat().iter().chain(unusable) {
                let is_ambient = cloud.ambient.contains(option);
                let is_own =
                    |variable: &str| (cloud.option_of)(variable).as_deref() == Some(option);
                let prefixed = format!("{}{}", cloud.prefix, option.to_ascii_uppercase());
                assert!(
                    is_own(&option.to_ascii_uppercase()) || is_own(&prefixed) || is_ambient,
                    "{cloud:?}: {option}"
                );
            }
        }
    }
}
