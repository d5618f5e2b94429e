//! Records of the versions before, changed into those of this one.
//!
//! Records are JSON, and are changed as such. Steps that are solved stay as they are: values have not changed. What is saved of a
//! step under way may have, with the way to the solution: such a step begins anew.

use serde_json::{Value, json};

use crate::machine::ANY_STORE;

/// The oldest version that is changed into this one.
pub const OLDEST: u32 = 20;

/// Changes the record of a job of version `found`.
pub fn job(record: &mut Value, found: u32) {
    if found < 21 {
        record["again"] = json!(false);
    }
    if found < 22 {
        record["scheduling"] = json!({ "priority": 0, "max_workers": null, "after": null });
        record["waits"] = json!(false);
        record["left_in"] = Value::Null;
    }
}

/// Changes the record of a step.
pub fn step(record: &mut Value, found: u32) {
    let course = &record["checkpoint"]["course"];
    let is_solved = match found {
        ..21 => course["task"] == "Done",
        _ => course["order"].is_null(),
    };
    if !is_solved {
        record["checkpoint"] = Value::Null;
        return;
    }
    if found < 21 {
        let checkpoint = &mut record["checkpoint"];
        let is_stored = checkpoint["stored"] == true;
        checkpoint["stored"] = if is_stored { json!(ANY_STORE) } else { Value::Null };
        let before = checkpoint["course"].take();
        let mut course = json!({ "order": null, "slot": before["row"], "has_restart": false });
        for same in ["goal", "precision", "convergence", "statistics"] {
            course[same] = before[same].clone();
        }
        checkpoint["course"] = course;
    }
}

/// Changes the record of a worker.
pub fn worker(record: &mut Value, found: u32) {
    if found < 21 {
        record["nameless"] = json!(false);
    }
}
