//! The same job gives the same bytes, whatever the number of threads.

use std::fs;

use crate::support::succeed;

#[test]
fn a_table_does_not_depend_on_the_number_of_threads() {
    // Small shards, so that there is work for all threads.
    let jobs: [&[&str]; 3] = [
        &["finkel", "--pieces", "3", "--shard-positions", "3000"],
        &["blitz", "--pieces", "2", "--shard-positions", "500", "--raw"],
        &["murray", "--pieces", "1", "--precision", "f32", "--shard-positions", "100"],
    ];
    for job in jobs {
        let directory = tempfile::tempdir().unwrap();
        let mut tables = Vec::new();
        for threads in ["1", "2", "3", "7"] {
            let out = format!("{threads}.zgt");
            let how = ["solve", "--json", "--threads", threads, "--out", &out];
            succeed(directory.path(), &[&how, job].concat());
            tables.push(fs::read(directory.path().join(out)).unwrap());
        }
        assert!(tables.iter().all(|table| *table == tables[0]), "{job:?}");
    }
}
