//! Amazon S3, and what talks like it (Amazon S3, API reference, "Error responses").

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use super::table::{Client, Cloud, build, is_of};
use crate::{
    CheckpointError,
    given::{Given, wrong},
    said::{Refused, Said},
};

const ENDPOINT: &str = "aws_endpoint";
const KEYS: [&str; 2] = ["aws_access_key_id", "aws_secret_access_key"];

pub(crate) static AMAZON: Cloud = Cloud {
    scheme: "s3",
    protocol: "S3",
    bucket: "bucket",
    prefix: "AWS_",
    check_name: |name| match is_of(name, "-._") {
        true => Ok(()),
        false => Err("a bucket's name has letters, digits, `-`, `.` and `_` without accents"),
    },
    option_of: |variable| {
        let variable = variable.starts_with("AWS_").then(|| variable.to_ascii_lowercase())?;
        Some(variable.parse::<AmazonS3ConfigKey>().ok()?.as_ref().to_owned())
    },
    named_in_url: "aws_bucket",
    words: &[
        KEYS[0],
        KEYS[1],
        "aws_session_token",
        "aws_region",
        "aws_default_region",
        ENDPOINT,
        "aws_metadata_endpoint",
        "aws_endpoint_url_sts",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_role_arn",
        "aws_role_session_name",
    ],
    urls: &[
        ENDPOINT,
        "aws_metadata_endpoint",
        "aws_endpoint_url_sts",
        "aws_container_credentials_full_uri",
    ],
    hosts: &[],
    names: &["aws_region", "aws_default_region"],
    texts: &[
        "aws_web_identity_token_file",
        "aws_container_authorization_token_file",
        "proxy_ca_certificate",
    ],
    unusable: &[],
    ambient: &[],
    sources: &[
        KEYS[0],
        "aws_web_identity_token_file",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
    ],
    stand_ins: &[(KEYS[0], "id"), (KEYS[1], "key")],
    otherwise: "AWS_*",
    how: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or say where to get them: AWS_WEB_IDENTITY_TOKEN_FILE \
          and AWS_ROLE_ARN, or AWS_CONTAINER_CREDENTIALS_FULL_URI (files such as ~/.aws/credentials are not read)",
    keys: "the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    condition: "If-None-Match",
    endpoint: |given| Ok(given.endpoint_in(ENDPOINT)),
    check,
    server: |_| "Amazon S3 (AWS_ENDPOINT names another server)".to_owned(),
    client: build!(AmazonS3Builder, with_bucket_name),
    deletes_many: true,
    // `ConditionalRequestConflict`: another write of the same is under way.
    conflict: |_| Refused::Conflict,
    meaning,
};

fn check(given: &Given) -> Result<(), CheckpointError> {
    let [there, missing] = match KEYS.map(|key| given.get(key).is_some()) {
        [true, false] => ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
        [false, true] => ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"],
        _ => return Ok(()),
    };
    Err(wrong(missing, &format!("it is missing; {there} is there")))
}

fn meaning(said: &Said, server: &str) -> Option<String> {
    let text = match (said.code.as_str(), said.status) {
        ("InvalidAccessKeyId", _) => format!("{server} does not know the key in AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", _) => {
            "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID".to_owned()
        }
        ("ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired", _) => {
            "the credentials have expired: get new ones, and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
             AWS_SESSION_TOKEN"
                .to_owned()
        }
        ("InvalidToken" | "InvalidClientTokenId", _) => {
            "AWS_SESSION_TOKEN is not that of the key in AWS_ACCESS_KEY_ID".to_owned()
        }
        (
            "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException"
            | "PermanentRedirect"
            | "TemporaryRedirect"
            | "InvalidRegion",
            _,
        )
        | (_, Some(300..=399)) => region(&said.region),
        _ if said.text.contains("redirect without LOCATION") => region(&said.region),
        _ => return None,
    };
    Some(text)
}

fn region(region: &str) -> String {
    let other =
        "the bucket is in another region than AWS_REGION says (us-east-1 if it says nothing)";
    match region {
        "" => other.to_owned(),
        region => format!("{other}: it is in {region}"),
    }
}
