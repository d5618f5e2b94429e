//! What the answers of a bucket mean. The protocol has a status and, in the body, a code of its own (Amazon S3, API
//! reference, "Error responses"); the library passes both on as text alone, and what went wrong before there was one as
//! an "HTTP error".

use std::error::Error as _;

use object_store::Error;

use crate::settings::Settings;

/// Why a bucket did not do something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// Why, and what to do about it.
    pub(crate) text: String,
    /// Whether it stays so until somebody changes something.
    pub(crate) lasts: bool,
}

/// What a store does not do, rather than not now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It does not know the request.
    Unknown,
    /// There is something already.
    Exists,
    /// Others are at the same: it is to be asked again.
    Conflict,
    /// No answer came in time, so it may have been done.
    Late,
    /// Anything else.
    Other,
}

/// What kind of refusal an error is of.
pub(crate) fn kind(error: &Error) -> Refused {
    let said = Said::by(error);
    match (error, said.status) {
        (Error::NotImplemented | Error::NotSupported { .. }, _) | (_, Some(501)) => {
            Refused::Unknown
        }
        (_, Some(400)) if said.code == "NotImplemented" => Refused::Unknown,
        (_, Some(409)) => Refused::Conflict,
        (Error::AlreadyExists { .. }, _) => Refused::Exists,
        _ if said.is_late() => Refused::Late,
        _ => Refused::Other,
    }
}

/// Whether an object is not there. That a bucket is not, or that somebody else answers who knows no such page, is
/// another thing: checkpoints are not lost by that.
pub(crate) fn is_missing(error: &Error) -> bool {
    let said = Said::by(error);
    let is_from_s3 = said.status.is_some();
    matches!(error, Error::NotFound { .. })
        && (!is_from_s3 || ["NoSuchKey", "NoSuchVersion"].contains(&said.code.as_str()))
}

/// Whether what answers, or does not, may do so later.
pub(crate) fn may_pass(error: &Error) -> bool {
    let said = Said::by(error);
    said.is_silence() || said.status.is_some_and(|status| status >= 500)
}

/// What an error says, with what caused it.
pub(crate) fn words(error: &Error) -> String {
    one_line(&Said::by(error).text)
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
    let no_s3 = |why: &str| Answer {
        text: format!(
            "{server} does not answer as S3 does; see that it is the URL of the API, not of a page ({why})"
        ),
        lasts: true,
    };
    match (said.code.as_str(), said.status) {
        ("InvalidAccessKeyId", _) => lasts(format!("{server} does not know the key in AWS_ACCESS_KEY_ID")),
        ("SignatureDoesNotMatch", _) => {
            lasts("AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID".to_owned())
        }
        ("ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired", _) => lasts(
            "the credentials have expired: get new ones, and set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
             AWS_SESSION_TOKEN"
                .to_owned(),
        ),
        ("InvalidToken" | "InvalidClientTokenId", _) => {
            lasts("AWS_SESSION_TOKEN is not that of the key in AWS_ACCESS_KEY_ID".to_owned())
        }
        ("RequestTimeTooSkewed" | "RequestExpired", _) => {
            lasts("the clock of this machine is wrong: set it, and keep it right (NTP)".to_owned())
        }
        ("NoSuchBucket", _) => lasts(format!("there is no such bucket at {server}")),
        ("InvalidBucketName", _) => lasts("that is no name of a bucket".to_owned()),
        (
            "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException"
            | "PermanentRedirect"
            | "TemporaryRedirect"
            | "InvalidRegion",
            _,
        )
        | (_, Some(300..=399)) => lasts(region(&said.region)),
        _ if said.text.contains("redirect without LOCATION") => lasts(region(&said.region)),
        ("SlowDown" | "ServiceUnavailable" | "InternalError" | "RequestTimeout" | "OperationAborted", _)
        | (_, Some(408 | 409 | 425 | 429)) => passes(),
        (_, Some(401 | 403)) => lasts(format!(
            "{server} says no: see that the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY may list, read, \
             write and delete in this bucket"
        )),
        (_, Some(501)) => lasts(format!("{server} does not know such a request")),
        (_, Some(500..)) => passes(),
        ("", Some(status)) => no_s3(&format!("status {status}, and no code of S3")),
        ("", None) => no_s3(&one_line(&said.text)),
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

fn region(region: &str) -> String {
    let other =
        "the bucket is in another region than AWS_REGION says (us-east-1 if it says nothing)";
    match region {
        "" => other.to_owned(),
        region => format!("{other}: it is in {region}"),
    }
}

/// What an error says of an answer, or of there being none.
struct Said {
    status: Option<u16>,
    /// The code and the words of the protocol.
    code: String,
    message: String,
    /// The region that the bucket is in.
    region: String,
    /// The first of the causes.
    last: String,
    text: String,
}

impl Said {
    fn by(error: &Error) -> Self {
        let (mut text, mut last) = (error.to_string(), error.to_string());
        let mut cause = error.source();
        while let Some(error) = cause {
            last = error.to_string();
            if !text.contains(&last) {
                text = format!("{text}: {last}");
            }
            cause = error.source();
        }
        let status =
            text.split_once("status code: ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
        let element = |name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            rest.split_once('<').map(|(value, _)| one_line(value))
        };
        let [code, message, region] =
            ["Code", "Message", "Region"].map(|name| element(name).unwrap_or_default());
        Self { status, code, message, region, last: one_line(&last), text }
    }

    /// Whether there was no answer.
    fn is_silence(&self) -> bool {
        self.text.contains("HTTP error: ")
    }

    fn is_late(&self) -> bool {
        self.is_silence() && self.text.contains("timed out")
    }

    /// What the store itself says.
    fn own_words(&self) -> String {
        match (self.code.as_str(), self.message.as_str(), self.status) {
            ("", _, None) => String::new(),
            ("", _, Some(status)) => format!(" (status {status})"),
            (code, "", _) => format!(" ({code})"),
            (code, message, _) => format!(" ({code}: {message})"),
        }
    }
}

/// Foreign words, as they may be shown.
fn one_line(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let cut: String = visible.take(SHOWN).collect();
    cut.trim().to_owned()
}

/// Characters that are shown of what others say.
const SHOWN: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn an_answer_means_what_somebody_can_do() {
        let status = |status: &str, code: &str| {
            let body =
                format!("<?xml?><Error><Code>{code}</Code><Message>so\nit is</Message></Error>");
            format!(
                "Error performing GET http://a in 1ms - Server returned non-2xx status code: {status}: {body}"
            )
        };
        for (text, says, lasts) in [
            (status("403 Forbidden", "InvalidAccessKeyId"), "AWS_ACCESS_KEY_ID", true),
            (status("403 Forbidden", "SignatureDoesNotMatch"), "AWS_SECRET_ACCESS_KEY", true),
            (status("400 Bad Request", "ExpiredToken"), "AWS_SESSION_TOKEN", true),
            (status("403 Forbidden", "RequestTimeTooSkewed"), "clock", true),
            (status("403 Forbidden", "AccessDenied"), "may list, read, write and delete", true),
            (status("404 Not Found", "NoSuchBucket"), "no such bucket", true),
            (status("400 Bad Request", "AuthorizationHeaderMalformed"), "AWS_REGION", true),
            (status("301 Moved Permanently", "PermanentRedirect"), "AWS_REGION", true),
            (status("503 Service Unavailable", "SlowDown"), "now", false),
            (status("409 Conflict", "ConditionalRequestConflict"), "now", false),
            (
                "status code: 404 Not Found: <html>nothing here</html>".to_owned(),
                "as S3 does",
                true,
            ),
            ("status code: 502 Bad Gateway: ".to_owned(), "now", false),
            (
                "HTTP error: error sending request: tcp connect error: refused".to_owned(),
                "reached",
                false,
            ),
            ("HTTP error: error sending request: operation timed out".to_owned(), "in time", false),
            (
                "HTTP error: received corrupt message of type InvalidContentType".to_owned(),
                "TLS",
                true,
            ),
            ("Got invalid list response: expected <html>".to_owned(), "as S3 does", true),
        ] {
            let answer = meaning(&refusal(&text), &Settings::default());
            assert!(answer.text.contains(says), "{text}: {}", answer.text);
            assert_eq!(answer.lasts, lasts, "{text}: {}", answer.text);
            assert!(!answer.text.contains('\n'), "{}", answer.text);
        }
    }

    #[test]
    fn a_conflict_is_not_that_something_is_there() {
        let already = |text: &str| Error::AlreadyExists {
            path: "a".to_owned(),
            source: text.to_owned().into(),
        };
        assert_eq!(kind(&already("status code: 409 Conflict: ")), Refused::Conflict);
        assert_eq!(kind(&already("status code: 412 Precondition Failed: ")), Refused::Exists);
        assert_eq!(kind(&Error::NotImplemented), Refused::Unknown);
        assert_eq!(kind(&refusal("status code: 501 Not Implemented: ")), Refused::Unknown);
        assert_eq!(kind(&refusal("HTTP error: operation timed out")), Refused::Late);
        assert_eq!(kind(&refusal("status code: 403 Forbidden: ")), Refused::Other);
    }
}
