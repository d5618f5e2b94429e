//! The dashboard: what it shows of jobs in a browser, and reports of solves on one machine.

use std::fs;

use serde_json::Value;

use super::support::{in_a_browser, run, stderr, succeed};

#[test]
fn a_job_is_watched_in_a_browser_to_its_end_through_the_loss_of_a_worker() {
    in_a_browser("dashboard.sh");
}

#[test]
fn a_solve_in_a_directory_has_a_history_of_which_a_report_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "2", "--dir", "job", "--json"]);
    let text = fs::read_to_string(path.join("job/history.json")).unwrap();
    let history: Value = serde_json::from_str(&text).unwrap();
    for step in ["1-1", "2-1", "2-2"] {
        let curve = &history["steps"][step];
        for phase in ["f32", "f64"] {
            assert!(curve[phase].as_array().is_some_and(|it| it.len() > 1), "{step}: {curve}");
        }
        let proof = curve["proof"].as_array().unwrap();
        let proven = proof.last().unwrap()[1].as_f64().unwrap();
        assert!(proven < 1.001e-12, "{step}: {curve}");
        let last = curve["f32"].as_array().unwrap().last().unwrap()[0].as_u64().unwrap();
        assert!(curve["f64"][0][0].as_u64().unwrap() > last, "{step}: {curve}");
    }
    let report = ["report", "job", "--html", "report.html"];
    succeed(path, &report);
    let page = fs::read_to_string(path.join("report.html")).unwrap();
    assert!(page.contains("\"state\":\"solved\"") && page.contains("\"2-2\""), "{page}");
    assert!(page.ends_with("</html>\n") && !page.contains("src="));

    let again = run(path, &report);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("report.html already exists"), "{}", stderr(&again));
    succeed(path, &[&report[..], &["--force"]].concat());
    let nothing = run(path, &["report", "nowhere", "--html", "other.html"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("nowhere holds no solve"), "{}", stderr(&nothing));
    assert!(!path.join("other.html").exists());
}

#[test]
fn a_page_of_a_solve_is_for_this_machine_alone() {
    let directory = tempfile::tempdir().unwrap();
    let open = ["solve", "finkel", "--pieces", "2", "--http", "0.0.0.0:0"];
    let refused = run(directory.path(), &open);
    assert_eq!(refused.status.code(), Some(2));
    let told = stderr(&refused);
    assert!(
        told.contains("0.0.0.0:0 can be reached") && told.contains("write 127.0.0.1:0"),
        "{told}"
    );
    assert!(!directory.path().join("finkel-2.zgt").exists());
}
