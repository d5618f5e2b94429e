//! Jobs, steps and workers as text for people and as JSON for programs.

use serde_json::{Value, json};
use ziggurat_encoding::Tier;
use ziggurat_rpc::proto::{
    ClusterStatus, JobState, JobStatus, PlanReply, Precision, Step, StepState, StepStatus,
    StoringStatus, Unreached, WorkerStatus,
};

use crate::output::{bound, bytes, columns, duration, grouped, one_line, short};

/// Whether nothing more will happen to a job.
pub fn has_ended(job: &JobStatus) -> bool {
    matches!(job.state(), JobState::Solved | JobState::Failed | JobState::Cancelled)
}

/// The state of a job in a word.
pub fn job_state(job: &JobStatus) -> &'static str {
    match job.state() {
        JobState::Unspecified => "unknown",
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Paused => "paused",
        JobState::Solved => "solved",
        JobState::Failed => "failed",
        JobState::Cancelled => "cancelled",
    }
}

/// The state of a step in a word.
pub fn step_state(step: &StepStatus) -> &'static str {
    match step.state() {
        StepState::Unspecified => "unknown",
        StepState::Waiting => "waiting",
        StepState::Running if step.interval_sweeps > 0 => "proving",
        StepState::Running => "running",
        StepState::Solved => "solved",
    }
}

/// What a worker is at.
pub fn worker_state(worker: &WorkerStatus) -> String {
    let step = worker.step.as_ref();
    match (worker.connected, step) {
        (false, _) => format!("silent for {}", duration(worker.silent_seconds)),
        (true, Some(step)) if worker.draining => format!("leaves after {}", tier(step)),
        (true, None) if worker.draining => "leaves".to_owned(),
        (true, Some(step)) => format!("job {}, step {}", worker.job, tier(step)),
        (true, None) => "idle".to_owned(),
    }
}

/// The first tier of a step. Numbers that no tier has become 0.
pub fn tier(step: &Step) -> Tier {
    let pieces = |number: u32| u8::try_from(number).unwrap_or(0);
    Tier::new(pieces(step.just_moved), pieces(step.to_move))
}

/// The first tier of a step, if it is told.
pub fn step_tier(step: &StepStatus) -> Tier {
    step.step.as_ref().map_or(Tier::new(0, 0), tier)
}

/// Bytes sent for each halo position and superstep; `None` if there were none.
pub fn bytes_per_position(job: &JobStatus) -> Option<f64> {
    let positions = job.exchanged_positions;
    (positions > 0).then(|| job.exchanged_bytes as f64 / positions as f64)
}

/// All jobs, a line for each.
pub fn jobs_table(jobs: &[JobStatus]) -> String {
    if jobs.is_empty() {
        return "There are no jobs.\n".to_owned();
    }
    let mut header = vec!["job", "name", "state", "steps", "positions", "solved", "worked"];
    // Most clusters have no use for priorities.
    let has_priorities = jobs.iter().any(|job| job.priority != 0);
    header.extend(has_priorities.then_some("priority"));
    let rows = jobs.iter().map(|job| {
        let mut row = vec![
            job.job.to_string(),
            one_line(&job.name),
            job_state(job).to_owned(),
            format!("{}/{}", job.solved_steps, job.steps),
            grouped(job.positions),
            format!("{:.1} %", share(job) * 100.0),
            duration(job.seconds),
        ];
        row.extend(has_priorities.then(|| job.priority.to_string()));
        row
    });
    // Messages are long: nothing is lined up with them.
    let messages = std::iter::once("message".to_owned());
    let messages = messages.chain(jobs.iter().map(|job| one_line(&job.message)));
    let lines = table(&header, rows);
    let with_message = |(line, message): (&str, String)| format!("{line}  {message}");
    lines
        .lines()
        .zip(messages)
        .map(with_message)
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// The share of the positions that is solved.
pub fn share(job: &JobStatus) -> f64 {
    job.solved_positions as f64 / job.positions.max(1) as f64
}

/// A job with its steps and workers.
pub fn status_text(status: &ClusterStatus) -> String {
    let job = status.job.clone().unwrap_or_default();
    let mut text = format!("Job {}, {}: {}\n", job.job, one_line(&job.name), job_state(&job));
    if !job.message.is_empty() {
        text += &format!("{}\n", one_line(&job.message));
    }
    text += &scheduling(&job);
    text += &format!(
        "{} of {} steps are solved, {} of {} positions\n",
        job.solved_steps,
        job.steps,
        grouped(job.solved_positions),
        grouped(job.positions),
    );
    text += &format!(
        "Worked on for {}: {} positions swept, {} exchanged{}\n",
        duration(job.seconds),
        grouped(job.swept_positions),
        bytes(job.exchanged_bytes),
        bytes_per_position(&job)
            .map_or_else(String::new, |each| format!(", {each:.2} bytes per halo position")),
    );
    if !status.steps.is_empty() {
        text += &format!("\n{}", steps_table(&status.steps));
    }
    let stored = status.steps.iter().filter(|step| !step.store.is_empty());
    let mut stores: Vec<(&str, usize)> = Vec::new();
    for step in stored {
        match stores.iter_mut().find(|(known, _)| *known == step.store) {
            Some((_, steps)) => *steps += 1,
            None => stores.push((&step.store, 1)),
        }
    }
    for (store, steps) in stores {
        text += &format!("The checkpoint store {store} has the values of {steps} of the steps\n");
    }
    for step in &status.steps {
        if let Some(StoringStatus { epoch, workers_stored, workers, seconds }) = step.storing {
            text += &format!(
                "Checkpoint {epoch} of step {} has been on its way to the checkpoint store for {}: {workers_stored} of \
                 {workers} workers have stored their parts\n",
                step_tier(step),
                duration(seconds),
            );
        }
    }
    if !status.workers.is_empty() {
        text += &format!("\n{}", workers_table(&status.workers));
    }
    for Unreached { one, other, seconds_ago } in &status.unreached {
        text += &format!(
            "{} and {} could not reach each other {} ago: see that each reaches the address of the other\n",
            one_line(one),
            one_line(other),
            duration(*seconds_ago)
        );
    }
    text
}

/// When a job is worked on, and by how many, if it was submitted with a wish about that.
fn scheduling(job: &JobStatus) -> String {
    let priority = (job.priority != 0).then(|| format!("priority {}", job.priority));
    let workers = (job.max_workers > 0).then(|| format!("at most {} workers", job.max_workers));
    let after = (job.after > 0).then(|| format!("after job {}", job.after));
    let wishes: Vec<String> = [priority, workers, after].into_iter().flatten().collect();
    if wishes.is_empty() {
        String::new()
    } else {
        format!("Submitted with {}\n", wishes.join(", "))
    }
}

fn steps_table(steps: &[StepStatus]) -> String {
    let header =
        ["step", "positions", "shards", "supersteps", "residual", "proven", "state", "workers"];
    let rows = steps.iter().map(|step| {
        let begun = step.supersteps > 0;
        let known = |number: f64, text: fn(f64) -> String| {
            if number > 0.0 { text(number) } else { String::new() }
        };
        vec![
            step_tier(step).to_string(),
            grouped(step.positions),
            grouped(step.shards),
            if begun { step.supersteps.to_string() } else { String::new() },
            known(step.residual, |residual| format!("{residual:.1e}")),
            known(step.bound, bound),
            step_state(step).to_owned(),
            step.workers.join(" "),
        ]
    });
    table(&header, rows)
}

/// Workers, a line for each.
pub fn workers_table(workers: &[WorkerStatus]) -> String {
    let header = ["worker", "cores", "memory", "free disk", "shards", "speed", "state"];
    let rows = workers.iter().map(|worker| {
        vec![
            worker.name.clone(),
            worker.cores.to_string(),
            format!(
                "{}{}",
                bytes(worker.resident_bytes),
                known(worker.memory_bytes, |most| format!(" of {most}"))
            ),
            known(worker.free_disk_bytes, |free| free),
            worker.shards.to_string(),
            speed(worker.positions_per_second),
            worker_state(worker),
        ]
    });
    table(&header, rows)
}

/// Positions per second, if known.
pub fn speed(positions_per_second: f64) -> String {
    if positions_per_second > 0.0 {
        format!("{}/s", short(positions_per_second))
    } else {
        String::new()
    }
}

/// A size in a sentence, which 0 says is not known.
fn known(size: u64, sentence: impl Fn(String) -> String) -> String {
    if size > 0 { sentence(bytes(size)) } else { String::new() }
}

/// What a job needs of the workers that are there.
pub fn plan_text(plan: &PlanReply, title: &str) -> String {
    let mut text = format!(
        "Solving {title}: {} undecided positions, {} in the largest step.\n\
         Memory: {}{}. Disk: {}{}.\n",
        grouped(plan.positions),
        grouped(plan.largest_positions),
        bytes(plan.memory_bytes),
        known(plan.worker_memory_bytes, |there| format!(" of {there} that the workers have")),
        bytes(plan.disk_bytes),
        known(plan.worker_disk_bytes, |there| format!(" of {there}")),
    );
    if !plan.workers.is_empty() {
        text += &workers_table(&plan.workers);
    }
    for missing in &plan.missing {
        text += &format!("Missing: {missing}\n");
    }
    text
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(|&cell| cell.to_owned()).collect();
    columns(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
}

/// A job for machines.
pub fn job_json(job: &JobStatus) -> Value {
    let spec = job.spec.clone().unwrap_or_default();
    let time = |seconds: f64| (seconds > 0.0).then_some(seconds);
    json!({
        "job": job.job,
        "name": job.name,
        "state": job_state(job),
        "message": job.message,
        "precision": match spec.precision() {
            Precision::F32 => "f32",
            Precision::F64 | Precision::Unspecified => "f64",
        },
        "tolerance": spec.tolerance,
        "certified": spec.certified,
        "positions": job.positions,
        "solved_positions": job.solved_positions,
        "steps": job.steps,
        "solved_steps": job.solved_steps,
        "submitted": time(job.submitted),
        "ended": time(job.ended),
        "seconds": job.seconds,
        "exchanged_bytes": job.exchanged_bytes,
        "exchanged_positions": job.exchanged_positions,
        "swept_positions": job.swept_positions,
        "priority": job.priority,
        "max_workers": (job.max_workers > 0).then_some(job.max_workers),
        "after": (job.after > 0).then_some(job.after),
    })
}

/// A job with its steps and workers for machines.
pub fn status_json(status: &ClusterStatus) -> Value {
    json!({
        "job": job_json(&status.job.clone().unwrap_or_default()),
        "steps": status.steps.iter().map(step_json).collect::<Vec<_>>(),
        "workers": status.workers.iter().map(worker_json).collect::<Vec<_>>(),
        "unreached": status.unreached.iter().map(|pair| json!({
            "workers": [pair.one, pair.other],
            "seconds_ago": pair.seconds_ago,
        })).collect::<Vec<_>>(),
    })
}

fn step_json(step: &StepStatus) -> Value {
    let begun = |number: f64| (step.supersteps > 0).then_some(number);
    json!({
        "tier": step_tier(step).to_string(),
        "state": step_state(step),
        "positions": step.positions,
        "shards": step.shards,
        "supersteps": step.supersteps,
        "supersteps_in_f32": step.supersteps_in_f32,
        "residual": begun(step.residual),
        "error_estimate": begun(step.error_estimate),
        "certificate": (step.bound > 0.0).then_some(step.bound),
        "sweeps": step.sweeps,
        "epoch": step.epoch,
        "attempt": step.attempt,
        "workers": step.workers,
        "store": known_store(&step.store),
        "storing": step.storing.map(|storing| json!({
            "epoch": storing.epoch,
            "workers_stored": storing.workers_stored,
            "workers": storing.workers,
            "seconds": storing.seconds,
        })),
    })
}

/// A worker for machines.
pub fn worker_json(worker: &WorkerStatus) -> Value {
    json!({
        "worker": worker.worker,
        "name": worker.name,
        "address": worker.address,
        "connected": worker.connected,
        "draining": worker.draining,
        "cores": worker.cores,
        "memory_bytes": worker.memory_bytes,
        "resident_bytes": worker.resident_bytes,
        "disk_bytes": worker.disk_bytes,
        "free_disk_bytes": worker.free_disk_bytes,
        "positions_per_second": worker.positions_per_second,
        "job": worker.step.is_some().then_some(worker.job),
        "tier": worker.step.as_ref().map(|step| tier(step).to_string()),
        "shards": worker.shards,
        "silent_seconds": worker.silent_seconds,
        "checkpoint_store": known_store(&worker.checkpoint_store),
    })
}

/// What a checkpoint store is known by, if there is one.
fn known_store(store: &str) -> Option<&str> {
    (!store.is_empty()).then_some(store)
}

/// What a job needs for machines.
pub fn plan_json(plan: &PlanReply) -> Value {
    json!({
        "event": "planned",
        "positions": plan.positions,
        "largest_positions": plan.largest_positions,
        "memory_bytes": plan.memory_bytes,
        "worker_memory_bytes": plan.worker_memory_bytes,
        "disk_bytes": plan.disk_bytes,
        "worker_disk_bytes": plan.worker_disk_bytes,
        "workers": plan.workers.iter().map(worker_json).collect::<Vec<_>>(),
        "needs": plan.needs.iter().map(|needs| json!({
            "memory_bytes": needs.memory_bytes,
            "least_memory_bytes": needs.least_memory_bytes,
            "disk_bytes": needs.disk_bytes,
        })).collect::<Vec<_>>(),
        "missing": plan.missing,
    })
}

#[cfg(test)]
pub mod samples {
    //! A job under way, for tests.

    use ziggurat_rpc::proto::JobSpec;

    use super::*;

    fn step(
        (just_moved, to_move): (u32, u32),
        state: StepState,
        positions: u64,
        supersteps: u32,
        residual: f64,
    ) -> StepStatus {
        let solved = state == StepState::Solved;
        StepStatus {
            step: Some(Step { just_moved, to_move }),
            state: state.into(),
            positions,
            shards: positions.div_ceil(65536) as u32,
            supersteps,
            residual,
            bound: if solved { 2e-13 } else { 0.0 },
            workers: if supersteps > 0 { vec!["anu".into(), "enki".into()] } else { Vec::new() },
            ..StepStatus::default()
        }
    }

    fn worker(name: &str, connected: bool, step: Option<Step>) -> WorkerStatus {
        WorkerStatus {
            worker: "0123456789abcdef".into(),
            name: name.into(),
            address: format!("{name}:7410"),
            connected,
            cores: 2,
            memory_bytes: 8_000_000_000,
            resident_bytes: 512_000_000,
            disk_bytes: 100_000_000_000,
            free_disk_bytes: 90_000_000_000,
            positions_per_second: if step.is_some() { 31_200_000.0 } else { 0.0 },
            job: 3,
            shards: if step.is_some() { 5 } else { 0 },
            step,
            silent_seconds: if connected { 0.4 } else { 40.0 },
            ..WorkerStatus::default()
        }
    }

    /// Three pieces: four steps are solved, one is under way, one waits; of three workers one is lost.
    pub fn under_way() -> ClusterStatus {
        let at = Some(Step { just_moved: 3, to_move: 2 });
        ClusterStatus {
            job: Some(JobStatus {
                job: 3,
                name: "blitz-3".into(),
                state: JobState::Running.into(),
                message: "waiting for worker utu (last heard 40 s ago)".into(),
                spec: Some(JobSpec { tolerance: 1e-12, ..JobSpec::default() }),
                positions: 1_234_567,
                solved_positions: 234_567,
                steps: 6,
                solved_steps: 4,
                submitted: 1_790_000_000.5,
                ended: 0.0,
                seconds: 95.0,
                exchanged_bytes: 52_000_000,
                exchanged_positions: 100_000_000,
                swept_positions: 987_654_321,
                ..JobStatus::default()
            }),
            steps: vec![
                step((1, 1), StepState::Solved, 1_000, 30, 1e-14),
                step((2, 1), StepState::Solved, 8_567, 40, 1e-14),
                step((2, 2), StepState::Solved, 75_000, 35, 1e-14),
                step((3, 1), StepState::Solved, 150_000, 45, 1e-14),
                step((3, 2), StepState::Running, 400_000, 12, 3.4e-7),
                step((3, 3), StepState::Waiting, 600_000, 0, 0.0),
            ],
            workers: vec![
                worker("anu", true, at),
                worker("enki", true, at),
                worker("utu", false, None),
            ],
            unreached: vec![Unreached {
                one: "anu".into(),
                other: "enki".into(),
                seconds_ago: 40.0,
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_three_parts_of_text() {
        assert_eq!(
            status_text(&samples::under_way()),
            "\
Job 3, blitz-3: running
waiting for worker utu (last heard 40 s ago)
4 of 6 steps are solved, 234,567 of 1,234,567 positions
Worked on for 1 min 35 s: 987,654,321 positions swept, 52.0 MB exchanged, 0.52 bytes per halo position

step  positions  shards  supersteps  residual   proven    state   workers
1-1       1,000       1          30   1.0e-14  2.0e-13   solved  anu enki
2-1       8,567       1          40   1.0e-14  2.0e-13   solved  anu enki
2-2      75,000       2          35   1.0e-14  2.0e-13   solved  anu enki
3-1     150,000       3          45   1.0e-14  2.0e-13   solved  anu enki
3-2     400,000       7          12    3.4e-7           running  anu enki
3-3     600,000      10                                 waiting

worker  cores             memory  free disk  shards     speed            state
anu         2  512 MB of 8.00 GB    90.0 GB       5  31.2 M/s  job 3, step 3-2
enki        2  512 MB of 8.00 GB    90.0 GB       5  31.2 M/s  job 3, step 3-2
utu         2  512 MB of 8.00 GB    90.0 GB       0            silent for 40 s
anu and enki could not reach each other 40 s ago: see that each reaches the address of the other
"
        );
    }

    #[test]
    fn a_checkpoint_on_its_way_to_the_store_is_told() {
        let mut status = samples::under_way();
        let step = status.steps.iter_mut().find(|step| step.state() == StepState::Running).unwrap();
        step.storing =
            Some(StoringStatus { epoch: 5, workers_stored: 1, workers: 2, seconds: 40.0 });
        let told = "Checkpoint 5 of step 3-2 has been on its way to the checkpoint store for 40 s: \
                    1 of 2 workers have stored their parts\n";
        assert!(status_text(&status).contains(told), "{}", status_text(&status));
        let storing = status_json(&status)["steps"][4]["storing"].clone();
        assert_eq!((&storing["epoch"], &storing["workers_stored"]), (&json!(5), &json!(1)));
    }

    #[test]
    fn wishes_that_a_job_was_submitted_with_are_told() {
        let mut status = samples::under_way();
        let job = status.job.as_mut().unwrap();
        assert!(!jobs_table(std::slice::from_ref(job)).contains("priority"));
        (job.priority, job.max_workers, job.after) = (-2, 4, 1);
        let table = jobs_table(std::slice::from_ref(job));
        assert!(table.lines().next().unwrap().contains("priority") && table.contains(" -2 "));
        assert!(
            status_text(&status)
                .contains("Submitted with priority -2, at most 4 workers, after job 1\n")
        );
        let value = status_json(&status);
        assert_eq!([&value["job"]["priority"], &value["job"]["after"]], [&json!(-2), &json!(1)]);
        assert_eq!(status_json(&samples::under_way())["job"]["max_workers"], Value::Null);
    }

    #[test]
    fn machines_read_numbers_and_words() {
        let value = status_json(&samples::under_way());
        assert_eq!(value["job"]["state"], "running");
        assert_eq!(value["job"]["ended"], Value::Null);
        assert_eq!(value["steps"][4]["tier"], "3-2");
        assert_eq!(value["steps"][4]["certificate"], Value::Null);
        assert_eq!(value["steps"][4]["residual"], 3.4e-7);
        assert_eq!(value["steps"][5]["residual"], Value::Null);
        assert_eq!(value["steps"][0]["certificate"], 2e-13);
        assert_eq!(value["workers"][2]["job"], Value::Null);
        assert_eq!(value["workers"][0]["tier"], "3-2");
        assert_eq!(value["unreached"][0]["workers"], json!(["anu", "enki"]));
    }

    #[test]
    fn a_plan_says_what_is_missing() {
        let plan = PlanReply {
            positions: 1000,
            largest_positions: 600,
            memory_bytes: 2_000_000,
            disk_bytes: 3_000_000,
            missing: vec!["a worker".into()],
            ..PlanReply::default()
        };
        assert_eq!(
            plan_text(&plan, "blitz with 3 pieces"),
            "\
Solving blitz with 3 pieces: 1,000 undecided positions, 600 in the largest step.
Memory: 2.00 MB. Disk: 3.00 MB.
Missing: a worker
"
        );
        assert_eq!(plan_json(&plan)["missing"][0], "a worker");
        let there =
            PlanReply { worker_memory_bytes: 5_000_000, worker_disk_bytes: 9_000_000, ..plan };
        let text = plan_text(&there, "blitz with 3 pieces");
        let line = "Memory: 2.00 MB of 5.00 MB that the workers have. Disk: 3.00 MB of 9.00 MB.\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn jobs_are_a_table() {
        assert_eq!(jobs_table(&[]), "There are no jobs.\n");
        let job = samples::under_way().job.unwrap();
        let mut quiet = job.clone();
        quiet.message.clear();
        assert_eq!(
            jobs_table(&[job, quiet]),
            "\
job     name    state  steps  positions  solved      worked  message
3    blitz-3  running    4/6  1,234,567  19.0 %  1 min 35 s  waiting for worker utu (last heard 40 s ago)
3    blitz-3  running    4/6  1,234,567  19.0 %  1 min 35 s
"
        );
    }
}
