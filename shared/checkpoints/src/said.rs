//! What the answers of a bucket say. The protocols have a status and, in the body, a code of their own; the library
//! passes both on as text alone, and what went wrong before there was one as an "HTTP error".

use std::error::Error as _;

use object_store::Error;

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

/// What an error says, with what caused it.
pub(crate) fn words(error: &Error) -> String {
    one_line(&Said::by(error).text)
}

/// What an error says of an answer, or of there being none.
pub(crate) struct Said {
    pub(crate) status: Option<u16>,
    /// The code and the words of the protocol.
    pub(crate) code: String,
    message: String,
    details: String,
    /// The region that the bucket is in.
    pub(crate) region: String,
    /// The first of the causes.
    pub(crate) last: String,
    pub(crate) text: String,
}

impl Said {
    pub(crate) fn by(error: &Error) -> Self {
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
        // Of several objects that are deleted at once each has a status (Azure) or a code (S3) of its own.
        let of_one = text.rsplit_once("(code: ").and_then(|(_, rest)| rest.split_once(')'));
        let of_one = of_one.map_or("", |(code, _)| code);
        let status = status.or(of_one.parse().ok());
        let element = |name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            rest.split_once('<').map(|(value, _)| one_line(value))
        };
        let [code, message, details, region] =
            ["Code", "Message", "Details", "Region"].map(|name| element(name).unwrap_or_default());
        let is_code = code.is_empty() && status.is_none();
        let code = if is_code { one_line(of_one) } else { code };
        Self { status, code, message, details, region, last: one_line(&last), text }
    }

    /// Whether there was no answer.
    pub(crate) fn is_silence(&self) -> bool {
        self.text.contains("HTTP error: ")
    }

    pub(crate) fn is_late(&self) -> bool {
        self.is_silence() && self.text.contains("timed out")
    }

    /// What the store itself says.
    pub(crate) fn own_words(&self) -> String {
        match (self.code.as_str(), self.message.as_str(), self.status) {
            ("", _, None) => String::new(),
            ("", _, Some(status)) => format!(" (status {status})"),
            (code, "", _) => format!(" ({code})"),
            (code, message, _) if self.details.is_empty() => format!(" ({code}: {message})"),
            (code, message, _) => format!(" ({code}: {message} {})", self.details),
        }
    }
}

/// Foreign words, as they may be shown.
pub(crate) fn one_line(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let cut: String = visible.take(SHOWN).collect();
    cut.trim().to_owned()
}

/// Characters that are shown of what others say.
const SHOWN: usize = 300;
