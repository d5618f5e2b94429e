//! Content negotiation (RFC 9110, section 12.5.1): which of the two text formats of metrics a request asks for.

/// A format that there is, as media ranges of a request are compared with it.
struct Offer {
    main: &'static str,
    sub: &'static str,
    version: &'static str,
}

const OPEN_METRICS: Offer =
    Offer { main: "application", sub: "openmetrics-text", version: "1.0.0" };
const TEXT: Offer = Offer { main: "text", sub: "plain", version: "0.0.4" };

/// A media range of an `Accept` header.
struct Range<'a> {
    main: &'a str,
    sub: &'a str,
    version: Option<&'a str>,
    charset: Option<&'a str>,
    quality: f32,
}

/// Whether a request with these `Accept` headers asks for OpenMetrics rather than for the older text, which requests get that do
/// not say.
pub(crate) fn prefers_open_metrics<'a>(headers: impl Iterator<Item = &'a str>) -> bool {
    let ranges: Vec<Range<'_>> =
        headers.flat_map(|header| header.split(',')).filter_map(Range::parse).collect();
    quality(&OPEN_METRICS, &ranges) > quality(&TEXT, &ranges)
}

/// The quality that a request gives a format: that of the most specific range that the format is in, 0 if there is none.
fn quality(offer: &Offer, ranges: &[Range<'_>]) -> f32 {
    let fits = ranges.iter().filter_map(|range| Some((range.specificity(offer)?, range.quality)));
    fits.fold((0, 0.0), |best, fit| if fit >= best { fit } else { best }).1
}

impl<'a> Range<'a> {
    /// `TYPE/SUBTYPE; PARAMETER=VALUE; q=QUALITY`. What is none is passed over.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (main, sub) = parts.next()?.split_once('/')?;
        let mut range = Self { main, sub, version: None, charset: None, quality: 1.0 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let (name, value) = (name.trim(), value.trim().trim_matches('"'));
            if name.eq_ignore_ascii_case("version") {
                range.version = Some(value);
            } else if name.eq_ignore_ascii_case("charset") {
                range.charset = Some(value);
            } else if name.eq_ignore_ascii_case("q") {
                range.quality = value.parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
            }
        }
        Some(range)
    }

    /// How closely the range describes a format; `None` if the format is not in it.
    fn specificity(&self, offer: &Offer) -> Option<u8> {
        let is = |known: &str, asked: &str| known.eq_ignore_ascii_case(asked);
        let kind = match (self.main, self.sub) {
            ("*", "*") => 1,
            (main, "*") if is(offer.main, main) => 2,
            (main, sub) if is(offer.main, main) && is(offer.sub, sub) => 3,
            _ => return None,
        };
        let fits = self.version.is_none_or(|version| is(offer.version, version))
            && self.charset.is_none_or(|charset| is("utf-8", charset));
        fits.then_some(kind + u8::from(self.version.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_ask_for_open_metrics_gets_the_older_text() {
        for (asked, headers) in [
            (false, &[][..]),
            (false, &["*/*"]),
            (false, &["text/plain"]),
            (false, &["text/html, */*;q=0.8"]),
            (false, &["text/plain; version=0.0.4"]),
            (true, &["application/openmetrics-text"]),
            (true, &["Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=UTF-8"]),
            (true, &["application/*"]),
            // What Prometheus 2 and 3 send.
            (
                true,
                &[
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                      text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ],
            ),
            (
                true,
                &["application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                      application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
                      text/plain;version=0.0.4;q=0.2,*/*;q=0.1"],
            ),
            // Several headers are one list.
            (true, &["text/plain;q=0.5", "application/openmetrics-text;q=0.6"]),
            (false, &["text/plain;q=0.6", "application/openmetrics-text;q=0.5"]),
            (false, &["text/plain;q=0.5, application/openmetrics-text;q=0.5"]),
            (false, &["application/openmetrics-text;q=0"]),
            (false, &["application/openmetrics-text;q=0, */*"]),
            // The more specific range decides, wherever it stands.
            (true, &["*/*;q=0.9, text/plain;q=0.1"]),
            (false, &["application/openmetrics-text;q=0.1, */*"]),
            (
                false,
                &[
                    "application/openmetrics-text; version=1.0.0; q=0.1, application/openmetrics-text, text/plain;q=0.2",
                ],
            ),
            // There are no such formats.
            (false, &["application/openmetrics-text; version=0.0.1"]),
            (false, &["application/openmetrics-text; charset=utf-16"]),
            (false, &["application/json"]),
            // What cannot be read counts for nothing.
            (false, &["", ",;=,", "openmetrics-text", "application/openmetrics-text;q=nan"]),
            (false, &["application/openmetrics-text;q=2", "application/openmetrics-text;q=-1"]),
        ] {
            assert_eq!(prefers_open_metrics(headers.iter().copied()), asked, "{headers:?}");
        }
    }
}
