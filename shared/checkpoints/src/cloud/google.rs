//! Google Cloud Storage, by its XML API (Google Cloud Storage, XML API reference, "HTTP status and error codes").

use std::fs;

use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use serde_json::{Map, Value};

use super::table::{Client, Cloud, build, is_small};
use crate::{
    CheckpointError,
    given::{Endpoint, Given, check_url, wrong},
    said::{Refused, Said},
};

/// The key of a service account, and the file that has one.
const KEY: &str = "google_service_account_key";
const FILE: &str = "google_service_account";
const APPLICATION: &str = "google_application_credentials";

/// The entry of a key that names another server.
const BASE: &str = "gcs_base_url";

/// Where a machine of Google's gets its keys from: the library reads these itself.
const MACHINE: [&str; 3] = ["GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"];

pub(crate) static GOOGLE: Cloud = Cloud {
    scheme: "gs",
    protocol: "Google Cloud Storage",
    bucket: "bucket",
    prefix: "GOOGLE_",
    check_name: |name| {
        let is_length = |name: &str, most| (1..=most).contains(&name.len());
        let is_right = (3..=222).contains(&name.len())
            && is_small(name, "-_.")
            && name.split('.').all(|part| is_length(part, 63));
        match is_right {
            true => Ok(()),
            false => {
                Err("a bucket's name has 3 to 63 small letters, digits, `-`, `_` and `.`, and \
                          begins and ends with a letter or a digit")
            }
        }
    },
    option_of: |variable| {
        if MACHINE.contains(&variable) {
            return Some(variable.to_owned());
        }
        let variable = variable.starts_with("GOOGLE_").then(|| variable.to_ascii_lowercase())?;
        Some(variable.parse::<GoogleConfigKey>().ok()?.as_ref().to_owned())
    },
    named_in_url: "google_bucket",
    words: &MACHINE,
    urls: &[],
    hosts: &MACHINE,
    names: &[],
    texts: &[FILE, KEY, APPLICATION, "proxy_ca_certificate"],
    unusable: &[(
        "google_skip_signature",
        "nothing can be written without keys; for a server that wants none, write a file \
         {\"disable_oauth\": true, \"gcs_base_url\": \"https://HOST:PORT\", \"client_email\": \"\", \
         \"private_key\": \"\", \"private_key_id\": \"\"}, and name it in GOOGLE_SERVICE_ACCOUNT",
    )],
    ambient: &MACHINE,
    sources: &[FILE, KEY, APPLICATION],
    stand_ins: &[],
    otherwise: "~/.config/gcloud/application_default_credentials.json",
    how: "set GOOGLE_SERVICE_ACCOUNT to the name of a file with a service account's key, or \
          GOOGLE_SERVICE_ACCOUNT_KEY to its text, or GOOGLE_APPLICATION_CREDENTIALS to the name of a file of \
          application default credentials",
    keys: "the account of GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS, by a role such as Storage \
           Object Admin,",
    condition: "x-goog-if-generation-match",
    endpoint,
    check,
    server: |_| "Google Cloud Storage".to_owned(),
    client: build!(GoogleCloudStorageBuilder, with_bucket_name),
    deletes_many: false,
    conflict: |_| Refused::Conflict,
    meaning,
};

fn check(given: &Given) -> Result<(), CheckpointError> {
    match (given.variable(FILE), given.variable(KEY)) {
        (Some(file), Some(key)) => {
            Err(wrong(key, &format!("{file} names a file with a key, too: set one of them")))
        }
        _ => Ok(()),
    }
}

/// The server that the key names, if it does. Keys have secrets: no message shows any of one.
fn endpoint(given: &Given) -> Result<Option<Endpoint>, CheckpointError> {
    let (variable, text) = if let (Some(variable), Some(text)) =
        (given.variable(KEY), given.get(KEY))
    {
        (variable, text.to_owned())
    } else if let (Some(variable), Some(file)) = (given.variable(FILE), given.get(FILE)) {
        let text = fs::read_to_string(file);
        (variable, text.map_err(|error| wrong(variable, &format!("cannot read {file}: {error}")))?)
    } else {
        return Ok(None);
    };
    let key: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        wrong(
            variable,
            &format!("it is no service account's key in JSON (line {line}, column {column})"),
        )
    })?;
    let url = match key.get(BASE) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(url)) => url,
        Some(_) => return Err(wrong(variable, &format!("{BASE} is no text"))),
    };
    check_url(variable, url)?;
    if url.ends_with('/') {
        return Err(wrong(variable, &format!("{BASE} ends with /; leave that out")));
    }
    Ok(Some(Endpoint { variable: variable.to_owned(), url: url.to_owned() }))
}

fn meaning(said: &Said, server: &str) -> Option<String> {
    let text = match (said.code.as_str(), said.status) {
        ("ExpiredToken", _) => "the credentials have expired: get new ones".to_owned(),
        ("UserProjectMissing", _) => {
            "whoever asks this bucket pays for it, which is not supported: take another one".to_owned()
        }
        ("UserProjectAccountProblem" | "AccountProblem" | "BillingDisabled", _) => {
            "the project that has the bucket cannot be billed: see to its billing account".to_owned()
        }
        ("RetentionPolicyNotMet" | "ObjectUnderActiveHold", _) => {
            "a retention policy or a hold keeps objects of the bucket from being replaced or deleted: take it away, or \
             take another bucket"
                .to_owned()
        }
        (_, Some(401)) => format!(
            "{server} does not take the credentials: see that the key in GOOGLE_SERVICE_ACCOUNT or \
             GOOGLE_SERVICE_ACCOUNT_KEY is neither deleted nor disabled, and that the clock of this machine is right"
        ),
        _ => return None,
    };
    Some(text)
}
