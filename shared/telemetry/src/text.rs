//! Metrics in the text format of Prometheus before OpenMetrics (version 0.0.4), for collectors that know no other.

use std::{
    collections::BTreeSet,
    fmt::{self, Write},
};

use prometheus_client::{encoding::text, registry::Registry};

/// What `registry` has, in version 0.0.4 of the text format.
///
/// # Errors
/// If a metric cannot be written.
pub(crate) fn encode(registry: &Registry) -> Result<String, fmt::Error> {
    let mut page = String::new();
    text::encode_registry(&mut page, registry)?;
    older(&page)
}

/// A page of OpenMetrics text in the older format, which differs in the comments: a counter is called there as in its samples,
/// with `_total`, quotes in explanations are not escaped, and there is no unit and no end. Counters, gauges
/// and histograms are called and written alike in both.
fn older(page: &str) -> Result<String, fmt::Error> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let counters: BTreeSet<&str> =
        types.filter_map(|family| family.strip_suffix(" counter")).collect();
    let sampled = |name: &str| if counters.contains(name) { "_total" } else { "" };
    let mut older = String::with_capacity(page.len());
    for line in page.lines() {
        let comment = line.strip_prefix("# ").map(|comment| comment.splitn(3, ' '));
        let [kind, name, rest] =
            comment.map_or([""; 3], |mut words| [(); 3].map(|()| words.next().unwrap_or_default()));
        match kind {
            "TYPE" => writeln!(older, "# TYPE {name}{} {rest}", sampled(name))?,
            "HELP" => {
                writeln!(older, "# HELP {name}{} {}", sampled(name), rest.replace("\\\"", "\""))?;
            }
            "" => writeln!(older, "{line}")?,
            _ => {} // units, and the end
        }
    }
    Ok(older)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_differ_from_open_metrics() {
        let page = "\
            # HELP a_seconds The \\\"a\\\".\n\
            # TYPE a_seconds counter\n\
            # UNIT a_seconds seconds\n\
            a_seconds_total{worker=\"# TYPE b \\\"counter\"} 5\n\
            # HELP a_seconds_left What is left.\n\
            # TYPE a_seconds_left gauge\n\
            a_seconds_left 1.5\n\
            # HELP c Times.\n\
            # TYPE c histogram\n\
            c_sum 1\n\
            c_bucket{le=\"+Inf\"} 1\n\
            # EOF\n";
        let expected = "\
            # HELP a_seconds_total The \"a\".\n\
            # TYPE a_seconds_total counter\n\
            a_seconds_total{worker=\"# TYPE b \\\"counter\"} 5\n\
            # HELP a_seconds_left What is left.\n\
            # TYPE a_seconds_left gauge\n\
            a_seconds_left 1.5\n\
            # HELP c Times.\n\
            # TYPE c histogram\n\
            c_sum 1\n\
            c_bucket{le=\"+Inf\"} 1\n";
        assert_eq!(older(page).unwrap(), expected);
    }
}
