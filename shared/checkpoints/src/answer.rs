//! What the answers of a bucket mean for those who run a cluster.

use object_store::Error;

use crate::{
    cloud::Cloud,
    said::{Refused, Said, one_line},
    settings::Settings,
};

/// Why a bucket did not do something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// Why, and what to do about it.
    pub(crate) text: String,
    /// Whether it stays so until somebody changes something.
    pub(crate) lasts: bool,
}

/// What kind of refusal of a cloud an error is of.
pub(crate) fn kind(error: &Error, cloud: &Cloud) -> Refused {
    let said = Said::by(error);
    match (error, said.status) {
        (Error::NotImplemented | Error::NotSupported { .. }, _) | (_, Some(501)) => {
            Refused::Unknown
        }
        (_, Some(400)) if said.code == "NotImplemented" => Refused::Unknown,
        (_, Some(409)) => (cloud.conflict)(&said.code),
        (Error::AlreadyExists { .. }, _) => Refused::Exists,
        // Of a blob.
        (Error::Precondition { .. }, _) if said.code == "ConditionNotMet" => Refused::Exists,
        _ if said.is_late() => Refused::Late,
        _ => Refused::Other,
    }
}

/// Whether an object is not there. That a bucket is not, or that somebody else answers who knows no such page, is
/// another thing: checkpoints are not lost by that.
pub(crate) fn is_missing(error: &Error) -> bool {
    let said = Said::by(error);
    let is_answer = said.status.is_some();
    let is_of_object = ["NoSuchKey", "NoSuchVersion", "BlobNotFound"].contains(&said.code.as_str());
    matches!(error, Error::NotFound { .. }) && (!is_answer || is_of_object)
}

/// Whether what answers, or does not, may do so later.
pub(crate) fn may_pass(error: &Error) -> bool {
    let said = Said::by(error);
    said.is_silence() || said.status.is_some_and(|status| status >= 500)
}

/// What an error means for those who run a bucket that is reached like this.
pub(crate) fn meaning(error: &Error, settings: &Settings) -> Answer {
    let said = Said::by(error);
    let server = settings.server();
    if said.is_silence() {
        return silence(&said, &server);
    }
    let own = said.own_words();
    let lasts = |text: String| Answer { text: text + &own, lasts: true };
    let passes = || Answer { text: format!("{server} cannot do it now{own}"), lasts: false };
    let Cloud { protocol, bucket, keys, .. } = settings.cloud;
    let no_such = |why: &str| Answer {
        text: format!(
            "{server} does not answer as {protocol} does; see that it is the URL of the API, not of a page ({why})"
        ),
        lasts: true,
    };
    if let Some(text) = (settings.cloud.meaning)(&said, &server) {
        return lasts(text);
    }
    match (said.code.as_str(), said.status) {
        ("RequestTimeTooSkewed" | "RequestExpired", _) => {
            lasts("the clock of this machine is wrong: set it, and keep it right (NTP)".to_owned())
        }
        ("NoSuchBucket" | "ContainerNotFound", _) => {
            lasts(format!("there is no such {bucket} at {server}"))
        }
        ("InvalidBucketName" | "InvalidResourceName", _) => {
            lasts(format!("that is no name of a {bucket}"))
        }
        (
            "SlowDown" | "ServiceUnavailable" | "InternalError" | "RequestTimeout"
            | "OperationAborted" | "ServerBusy" | "OperationTimedOut",
            _,
        )
        | (_, Some(408 | 409 | 425 | 429)) => passes(),
        (_, Some(401 | 403)) => lasts(format!(
            "{server} says no: see that {keys} may list, read, write and delete in this {bucket}"
        )),
        (_, Some(501)) => lasts(format!("{server} does not know such a request")),
        (_, Some(500..)) => passes(),
        ("", Some(status)) => no_such(&format!("status {status}, and no code of {protocol}")),
        ("", None) => no_such(&one_line(&said.text)),
        (_, _) => lasts(format!("{server} refuses")),
    }
}

/// What it means that no answer came.
fn silence(said: &Said, server: &str) -> Answer {
    let why = &said.last;
    // rustls says so of what does not begin like TLS, and of certificates that it does not trust.
    let is_plain = said.text.contains("InvalidContentType");
    let is_stranger = said.text.contains("invalid peer certificate");
    let text = if is_plain {
        format!(
            "{server} does not speak TLS: if it is meant to, see to that; else give an http:// URL"
        )
    } else if is_stranger {
        format!("{server} has a certificate that this machine does not trust: {why}")
    } else if said.is_late() {
        format!("{server} does not answer in time")
    } else {
        format!("{server} cannot be reached: {why}")
    };
    Answer { text, lasts: is_plain || is_stranger }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::{AMAZON, AZURE, CLOUDS, GOOGLE};

    fn refusal(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    fn status(status: &str, body: &str) -> String {
        format!(
            "Error performing GET http://a in 1ms - Server returned non-2xx status code: {status}: {body}"
        )
    }

    /// What a cloud's server writes.
    fn answered(line: &str, code: &str) -> String {
        let body = "<Message>so\nit is</Message></Error>";
        status(line, &format!("<?xml?><Error><Code>{code}</Code>{body}"))
    }

    fn means(
        cloud: &'static Cloud,
        answers: impl IntoIterator<Item = (String, &'static str, bool)>,
    ) {
        let account = ("AZURE_STORAGE_ACCOUNT_NAME".to_owned(), "royal".to_owned());
        let settings = Settings::of(cloud, [account]).unwrap();
        for (text, says, lasts) in answers {
            let answer = meaning(&refusal(&text), &settings);
            assert!(answer.text.contains(says), "{text}: {}", answer.text);
            assert_eq!(answer.lasts, lasts, "{text}: {}", answer.text);
            assert!(!answer.text.contains('\n'), "{}", answer.text);
        }
    }

    #[test]
    fn an_answer_means_what_somebody_can_do() {
        for cloud in CLOUDS {
            means(
                cloud,
                [
                    (
                        "Bulk delete request failed for key a: Busy (code: 503)".to_owned(),
                        "now",
                        false,
                    ),
                    (
                        "Bulk delete request failed for key a: No (code: 403)".to_owned(),
                        "may list, read, write and delete",
                        true,
                    ),
                    (
                        "DeleteObjects request failed for key a: so it is (code: SlowDown)"
                            .to_owned(),
                        "now",
                        false,
                    ),
                    (answered("503 Service Unavailable", "SlowDown"), "now", false),
                    (status("429 Too Many Requests", ""), "now", false),
                    (status("502 Bad Gateway", ""), "now", false),
                    (
                        answered("403 Forbidden", "AccessDenied"),
                        "may list, read, write and delete",
                        true,
                    ),
                    (
                        status("404 Not Found", "<html>nothing here</html>"),
                        "does not answer as",
                        true,
                    ),
                    (
                        "Got invalid list response: expected <html>".to_owned(),
                        "does not answer as",
                        true,
                    ),
                    (
                        "HTTP error: error sending request: tcp connect error: refused".to_owned(),
                        "reached",
                        false,
                    ),
                    (
                        "HTTP error: error sending request: operation timed out".to_owned(),
                        "in time",
                        false,
                    ),
                    (
                        "HTTP error: received corrupt message of type InvalidContentType"
                            .to_owned(),
                        "TLS",
                        true,
                    ),
                ],
            );
        }
    }

    #[test]
    fn an_answer_of_amazon_names_the_variable() {
        means(
            &AMAZON,
            [
                (answered("403 Forbidden", "InvalidAccessKeyId"), "AWS_ACCESS_KEY_ID", true),
                (answered("403 Forbidden", "SignatureDoesNotMatch"), "AWS_SECRET_ACCESS_KEY", true),
                (answered("403 Forbidden", "AccessDenied"), "AWS_ACCESS_KEY_ID", true),
                (answered("400 Bad Request", "ExpiredToken"), "AWS_SESSION_TOKEN", true),
                (answered("403 Forbidden", "RequestTimeTooSkewed"), "clock", true),
                (answered("404 Not Found", "NoSuchBucket"), "no such bucket", true),
                (answered("400 Bad Request", "AuthorizationHeaderMalformed"), "AWS_REGION", true),
                (answered("301 Moved Permanently", "PermanentRedirect"), "AWS_REGION", true),
                (answered("409 Conflict", "ConditionalRequestConflict"), "now", false),
            ],
        );
    }

    #[test]
    fn an_answer_of_google_names_the_variable() {
        let denied = "<Error><Code>AccessDenied</Code><Message>Access denied.</Message><Details>ur@a does not have \
                      storage.objects.list access</Details></Error>";
        means(
            &GOOGLE,
            [
                (status("403 Forbidden", denied), "storage.objects.list", true),
                (status("403 Forbidden", denied), "GOOGLE_SERVICE_ACCOUNT", true),
                (
                    answered("401 Unauthorized", "AuthenticationRequired"),
                    "GOOGLE_SERVICE_ACCOUNT_KEY",
                    true,
                ),
                (status("401 Unauthorized", ""), "clock", true),
                (answered("400 Bad Request", "ExpiredToken"), "expired", true),
                (answered("403 Forbidden", "RequestTimeTooSkewed"), "clock", true),
                (answered("404 Not Found", "NoSuchBucket"), "no such bucket", true),
                (answered("400 Bad Request", "InvalidBucketName"), "no name of a bucket", true),
                (answered("403 Forbidden", "UserProjectAccountProblem"), "billing", true),
                (answered("403 Forbidden", "RetentionPolicyNotMet"), "retention policy", true),
                (answered("409 Conflict", "OperationAborted"), "now", false),
            ],
        );
    }

    #[test]
    fn an_answer_of_azure_names_the_variable() {
        let failed = |detail: &str| {
            let body = format!(
                "<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.\n\
                 RequestId:1</Message><AuthenticationErrorDetail>{detail}</AuthenticationErrorDetail></Error>"
            );
            status("403 Forbidden", &body)
        };
        let emulator = "<Error><Code>AuthorizationFailure</Code><Message>Server failed to authenticate the \
                        request.</Message></Error>";
        let network = "<Error><Code>AuthorizationFailure</Code><Message>This request is not authorized to perform \
                       this operation.</Message></Error>";
        means(
            &AZURE,
            [
                (
                    failed("The MAC signature found is not the same as any"),
                    "AZURE_STORAGE_ACCOUNT_KEY",
                    true,
                ),
                (status("403 Forbidden", emulator), "AZURE_STORAGE_ACCOUNT_KEY", true),
                (status("403 Forbidden", network), "network rules", true),
                (failed("Request date header too old: 'Sun, 29 Nov'"), "clock", true),
                (
                    failed("Signature not valid in the specified time frame: Start - Expiry"),
                    "AZURE_STORAGE_SAS_TOKEN, or the token in AZURE_STORAGE_TOKEN, has expired",
                    true,
                ),
                (
                    answered("403 Forbidden", "AuthorizationPermissionMismatch"),
                    "Storage Blob Data Contributor",
                    true,
                ),
                (
                    answered("403 Forbidden", "KeyBasedAuthenticationNotPermitted"),
                    "unset AZURE_STORAGE_ACCOUNT_KEY",
                    true,
                ),
                (answered("404 Not Found", "ContainerNotFound"), "no such container", true),
                (answered("404 Not Found", "ContainerNotFound"), "account royal", true),
                (
                    answered("400 Bad Request", "InvalidResourceName"),
                    "no name of a container",
                    true,
                ),
                (answered("409 Conflict", "ContainerBeingDeleted"), "being deleted", true),
                (answered("409 Conflict", "BlobImmutableDueToPolicy"), "policy", true),
                (
                    answered("400 Bad Request", "AccountRequiresHttps"),
                    "AZURE_STORAGE_ENDPOINT",
                    true,
                ),
                (answered("503 Service Unavailable", "ServerBusy"), "now", false),
                (
                    "HTTP error: error sending request: dns error: no such host".to_owned(),
                    "AZURE_STORAGE_ACCOUNT_NAME",
                    false,
                ),
            ],
        );
    }

    fn already(text: &str) -> Error {
        Error::AlreadyExists { path: "a".to_owned(), source: text.to_owned().into() }
    }

    #[test]
    fn a_conflict_is_not_that_something_is_there() {
        for cloud in [&AMAZON, &GOOGLE] {
            assert_eq!(kind(&already("status code: 409 Conflict: "), cloud), Refused::Conflict);
        }
        for cloud in CLOUDS {
            let there = already("status code: 412 Precondition Failed: ");
            assert_eq!(kind(&there, cloud), Refused::Exists);
            assert_eq!(kind(&Error::NotImplemented, cloud), Refused::Unknown);
            let kind = |text| kind(&refusal(text), cloud);
            assert_eq!(kind("status code: 501 Not Implemented: "), Refused::Unknown);
            assert_eq!(kind("HTTP error: operation timed out"), Refused::Late);
            assert_eq!(kind("status code: 403 Forbidden: "), Refused::Other);
        }
    }

    #[test]
    fn a_blob_that_is_there_is_told_from_one_that_may_not_be_written() {
        let conflict = |code| kind(&already(&answered("409 Conflict", code)), &AZURE);
        assert_eq!(conflict("BlobAlreadyExists"), Refused::Exists);
        assert_eq!(conflict("BlobImmutableDueToPolicy"), Refused::Other);
        assert_eq!(conflict("ContainerBeingDeleted"), Refused::Other);
        let unmet = |code| {
            let source = answered("412 Precondition Failed", code).into();
            kind(&Error::Precondition { path: "a".to_owned(), source }, &AZURE)
        };
        assert_eq!(unmet("ConditionNotMet"), Refused::Exists);
        assert_eq!(unmet("LeaseIdMissing"), Refused::Other);
    }

    #[test]
    fn a_missing_object_is_told_from_a_missing_bucket() {
        let missing = |text: &str| {
            is_missing(&Error::NotFound { path: "a".to_owned(), source: text.to_owned().into() })
        };
        for code in ["NoSuchKey", "NoSuchVersion", "BlobNotFound"] {
            assert!(missing(&answered("404 Not Found", code)), "{code}");
        }
        for code in ["NoSuchBucket", "ContainerNotFound", "ResourceNotFound", ""] {
            assert!(!missing(&answered("404 Not Found", code)), "{code}");
        }
        assert!(!missing(&status("404 Not Found", "<html>nothing here</html>")));
        assert!(missing("no such file"));
    }
}
