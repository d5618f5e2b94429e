//! The page of one job as a file of its own: styles, scripts and data in it, nothing from anywhere else.

use serde_json::Value;

/// What the page consists of, with places for what goes into it.
const PAGE: &str = include_str!("../../assets/dashboard-report.html");

/// The styles and the scripts, each of which imports only ones before it.
const STYLES: [&str; 2] =
    [include_str!("../../assets/style.css"), include_str!("../../assets/dashboard.css")];
const SCRIPTS: [&str; 3] = [
    include_str!("../../assets/dom.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/dashboard-job.js"),
];

/// A page that shows the status and the history of a job, as [`Source`](super::Source) has them.
pub fn report(status: &Value, history: &Value) -> String {
    let scripts = SCRIPTS.map(as_one).concat();
    let data = serde_json::json!({"status": status, "history": history});
    let parts = [("STYLES", STYLES.concat()), ("SCRIPTS", scripts), ("DATA", in_a_script(&data))];
    let mut page = String::new();
    let mut rest = PAGE;
    // Each once and in order: what was put in is not looked through again.
    for (name, text) in parts {
        let (before, after) =
            rest.split_once(&format!("/*{name}*/")).expect("the page has a place");
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page + rest
}

/// A module as a part of one script: without imports, and what it exports is there for those after it.
fn as_one(module: &str) -> String {
    let kept = module.lines().filter(|line| !line.starts_with("import "));
    kept.map(|line| format!("{}\n", line.strip_prefix("export ").unwrap_or(line))).collect()
}

/// JSON within a script of a page: no text in it can end the script, or begin a comment.
fn in_a_script(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_in_a_job_becomes_markup_and_nothing_is_fetched() {
        let hostile = "</script><script>alert(1)</script><!--";
        let status = json!({"job": {"name": hostile}});
        let page = report(&status, &json!({"events": []}));
        assert!(!page.contains(hostile) && page.contains("\\u003c/script\\u003e"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
        for word in ["import ", "export ", "src=", "https://"] {
            let at = page.find(word).map(|at| &page[at..(at + 60).min(page.len())]);
            assert_eq!(at, None, "{word}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn data_is_the_same_json() {
        let data = json!({"a": "<b> & \u{202e}", "c": [1, 2.5, null]});
        assert_eq!(serde_json::from_str::<Value>(&in_a_script(&data)).unwrap(), data);
    }
}
