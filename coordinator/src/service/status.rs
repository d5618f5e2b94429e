//! What there is to say about jobs, steps and workers.

use prost::Message;
use ziggurat_rpc::{
    convert::identity_text,
    limits::MESSAGE_BYTES,
    proto::{
        ClusterStatus, JobState, JobStatus, ListReply, LocateReply, LocatedStep, Peer, StepState,
        StepStatus, StoringStatus, Unreached, WorkerStatus,
    },
};

use super::convert;
use crate::machine::{Connected, Counters, JobId, Machine, Phase, StepId, Time, WorkerId};

/// A job, with its steps and all workers; `None` if there is none.
pub fn cluster(machine: &Machine, id: JobId, now: Time) -> Option<ClusterStatus> {
    let job = job(machine, id)?;
    let sizes = &machine.records().jobs[&id].steps;
    let steps = sizes.iter().map(|size| {
        let status = StepStatus {
            step: Some(size.tier.into()),
            positions: size.positions,
            shards: size.shards,
            ..StepStatus::default()
        };
        step(machine, StepId { job: id, tier: size.tier }, status, now)
    });
    Some(ClusterStatus {
        job: Some(job),
        steps: steps.collect(),
        workers: workers(machine, now),
        unreached: unreached(machine, now),
    })
}

/// Connected workers that could not reach each other when they last tried.
fn unreached(machine: &Machine, now: Time) -> Vec<Unreached> {
    let unreached = machine.unreached();
    unreached
        .map(|(one, other, at)| Unreached {
            one: machine.name_of(one),
            other: machine.name_of(other),
            seconds_ago: now.saturating_sub(at).as_secs_f64(),
        })
        .collect()
}

/// Jobs, in the order they were submitted: the newest that fit a message.
pub fn list(machine: &Machine) -> ListReply {
    let all = &machine.records().jobs;
    let mut reply = ListReply::default();
    // The number of those that are left out takes some, too.
    let mut room = MESSAGE_BYTES - 16;
    for mut job in all.keys().rev().filter_map(|&id| job(machine, id)) {
        if let Some(spec) = &mut job.spec {
            spec.ruleset.clear();
        }
        let alone = ListReply { jobs: vec![job], left_out: 0 };
        let Some(left) = room.checked_sub(alone.encoded_len()) else { break };
        room = left;
        reply.jobs.extend(alone.jobs);
    }
    reply.left_out = (all.len() - reply.jobs.len()) as u64;
    reply.jobs.reverse();
    reply
}

/// A job, without its steps.
pub fn job(machine: &Machine, id: JobId) -> Option<JobStatus> {
    let record = machine.records().jobs.get(&id)?;
    let solved = record.steps.iter().filter(|size| {
        let step = StepId { job: id, tier: size.tier };
        machine.records().steps.get(&step).is_some_and(|step| step.solution().is_some())
    });
    let (solved_steps, solved_positions) =
        solved.fold((0, 0), |(steps, positions), size| (steps + 1, positions + size.positions));
    let counters = counters(machine, id);
    Some(JobStatus {
        job: id.0,
        name: record.name.clone(),
        state: state(machine, id).into(),
        message: machine.why_waiting(id),
        spec: Some(convert::spec(&record.spec)),
        positions: record.steps.iter().map(|size| size.positions).sum(),
        solved_positions,
        steps: record.steps.len() as u32,
        solved_steps,
        submitted: record.submitted.as_secs_f64(),
        ended: record.ended.map_or(0.0, |ended| ended.as_secs_f64()),
        seconds: counters.seconds,
        exchanged_bytes: counters.exchanged_bytes,
        exchanged_positions: counters.exchanged_positions,
        swept_positions: counters.swept_positions,
        priority: record.scheduling.priority,
        max_workers: record.scheduling.max_workers.unwrap_or(0),
        after: record.scheduling.after.map_or(0, |job| job.0),
    })
}

/// What was done for a job, up to now.
pub fn counters(machine: &Machine, id: JobId) -> Counters {
    let mut counters = machine.records().jobs[&id].counters;
    let attempts = machine.attempts().iter().filter(|(step, _)| step.job == id);
    attempts.for_each(|(_, attempt)| counters.add(attempt.counters));
    counters.seconds += machine.working_seconds(id);
    counters
}

/// The state of a job, which is queued until its first attempt.
pub fn state(machine: &Machine, id: JobId) -> JobState {
    let records = machine.records();
    match records.jobs[&id].phase {
        Phase::Active => match records.steps_of(id).next() {
            Some(_) => JobState::Running,
            None => JobState::Queued,
        },
        Phase::Paused => JobState::Paused,
        Phase::Solved => JobState::Solved,
        Phase::Failed => JobState::Failed,
        Phase::Cancelled => JobState::Cancelled,
    }
}

fn step(machine: &Machine, id: StepId, mut status: StepStatus, now: Time) -> StepStatus {
    let record = machine.records().steps.get(&id);
    let checkpoint = record.and_then(|record| record.checkpoint.as_ref());
    let attempt = machine.attempts().get(&id);
    let solved = record.is_some_and(|record| record.solution().is_some());
    let state = match attempt {
        _ if solved => StepState::Solved,
        Some(_) => StepState::Running,
        None => StepState::Waiting,
    };
    let course = attempt.map(|attempt| &attempt.course);
    if let Some(course) = course.or(checkpoint.map(|checkpoint| &checkpoint.course)) {
        status = status.with_statistics(course.statistics());
        status.interval_sweeps = course.proof().map_or(0, |proof| proof.sweeps());
    }
    let at = attempt.map(|attempt| {
        attempt.members.iter().map(|member| member.worker).collect::<Vec<WorkerId>>()
    });
    let have = checkpoint.map(|checkpoint| {
        let owners = checkpoint.owners.iter().copied();
        owners.filter(|&owner| checkpoint.is_with(owner)).collect()
    });
    let workers = at.or(have).unwrap_or_default();
    let storing = attempt.and_then(|attempt| {
        let behind = attempt.behind.as_ref()?;
        Some(StoringStatus {
            epoch: behind.checkpoint.epoch,
            workers_stored: behind.stored.len() as u32,
            workers: attempt.members.len() as u32,
            seconds: now.saturating_sub(behind.checkpoint.since).as_secs_f64(),
        })
    });
    StepStatus {
        state: state.into(),
        epoch: checkpoint.map_or(0, |checkpoint| checkpoint.epoch.number),
        attempt: record.map_or(0, |record| record.last_attempt),
        workers: workers.into_iter().map(|worker| machine.name_of(worker)).collect(),
        store: store_text(checkpoint.and_then(|checkpoint| checkpoint.stored)),
        storing,
        ..status
    }
}

/// All workers: those that are connected, then those that are away and have something.
pub fn workers(machine: &Machine, now: Time) -> Vec<WorkerStatus> {
    let here = machine.connected().map(|connected| connected_worker(machine, connected, now));
    let away = machine.records().workers.iter().filter(|&(&id, _)| {
        machine.connection(id).is_none()
            && machine.records().steps.values().any(|step| {
                let has = |checkpoint: &crate::machine::Checkpoint| checkpoint.is_with(id);
                step.checkpoint.as_ref().is_some_and(has)
            })
    });
    let away = away.map(|(&id, record)| WorkerStatus {
        worker: identity_text(id.0),
        name: record.name.clone(),
        address: record.address.clone(),
        positions_per_second: record.positions_per_second.unwrap_or(0.0),
        silent_seconds: now.saturating_sub(machine.heard(id)).as_secs_f64(),
        ..WorkerStatus::default()
    });
    here.chain(away).collect()
}

/// A worker that is connected.
pub fn connected_worker(machine: &Machine, connected: &Connected, now: Time) -> WorkerStatus {
    let registration = &connected.registration;
    let worker = registration.worker;
    let at = machine.attempts().iter().find_map(|(step, attempt)| {
        attempt.place_of(worker).map(|place| (step, attempt.members[place].shards))
    });
    WorkerStatus {
        worker: identity_text(worker.0),
        name: registration.name.clone(),
        address: registration.address.clone(),
        connected: true,
        draining: connected.draining.is_some(),
        cores: registration.cores,
        memory_bytes: registration.memory_bytes,
        resident_bytes: connected.resources.resident_bytes,
        disk_bytes: registration.disk_bytes,
        free_disk_bytes: connected.resources.free_disk_bytes,
        positions_per_second: connected.positions_per_second.unwrap_or(0.0),
        job: at.map_or(0, |(step, _)| step.job.0),
        step: at.map(|(step, _)| step.tier.into()),
        shards: at.map_or(0, |(_, shards)| shards),
        silent_seconds: now.saturating_sub(connected.last_heard).as_secs_f64(),
        checkpoint_store: store_text(registration.checkpoint_store),
    }
}

/// What a checkpoint store is known by.
fn store_text(store: Option<u64>) -> String {
    store.map_or_else(String::new, identity_text)
}

/// Where the values of a job are, if it is solved.
///
/// # Errors
/// The phase of one that is not, or whose values are lost.
///
/// # Panics
/// If there is no such job.
pub fn located(machine: &Machine, id: JobId) -> Result<LocateReply, Phase> {
    let job = &machine.records().jobs[&id];
    if job.phase != Phase::Solved || machine.missing(id).is_some() {
        return Err(job.phase);
    }
    let registrations = machine.connected().map(|connected| &connected.registration);
    let readers: Vec<Peer> = registrations
        .filter(|registration| registration.checkpoint_store.is_some())
        .map(|registration| Peer {
            worker: identity_text(registration.worker.0),
            address: registration.address.clone(),
            name: registration.name.clone(),
        })
        .collect();
    let step = |size: &crate::machine::StepSize| {
        let step = StepId { job: id, tier: size.tier };
        let solution = machine.records().steps.get(&step)?.solution()?;
        let mut at = convert::checkpoint(&machine.place(solution));
        if at.stored {
            // Whoever reads the checkpoint store can hand it out.
            let more: Vec<Peer> =
                readers.iter().filter(|reader| !at.peers.contains(reader)).cloned().collect();
            at.peers.extend(more);
        }
        let located = LocatedStep {
            step: Some(size.tier.into()),
            epoch: at.epoch,
            incarnation: at.incarnation,
            peers: at.peers,
            runs: at.runs,
            stored: at.stored,
            ..LocatedStep::default()
        };
        Some(located.with_statistics(solution.course.statistics()))
    };
    Ok(LocateReply {
        spec: Some(convert::spec(&job.spec)),
        steps: job.steps.iter().map(step).collect::<Option<_>>().ok_or(job.phase)?,
        encoder: ziggurat_encoding::Encoding::VERSION,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ziggurat_planning::Precision;

    use super::*;
    use crate::machine::{JobRecord, Limits, Records, Scheduling, Spec};

    #[test]
    fn of_more_jobs_than_fit_a_message_the_newest_are_listed() {
        let spec = Spec {
            ruleset: "a ruleset".to_owned(),
            precision: Precision::F64,
            tolerance: 1e-12,
            certified: true,
            shard_positions: None,
        };
        let job = JobRecord {
            name: "n".repeat(255),
            key: String::new(),
            spec,
            checkpoint_every: Duration::ZERO,
            phase: Phase::Cancelled,
            again: false,
            scheduling: Scheduling::default(),
            waits: false,
            left_in: None,
            message: String::new(),
            submitted: Time::from_secs(1),
            ended: None,
            steps: Vec::new(),
            counters: Counters::default(),
        };
        let listed = |count: u64| {
            let jobs = (1..=count).map(|id| (JobId(id), job.clone())).collect();
            let records = Records { jobs, ..Records::default() };
            let limits = Limits::new(Duration::ZERO, Duration::ZERO);
            list(&Machine::new(records, 1, limits, Time::ZERO).0)
        };
        let all = listed(10_000);
        assert_eq!((all.jobs.len(), all.left_out), (10_000, 0));
        assert!(all.jobs[0].job == 1 && all.jobs[0].spec.as_ref().unwrap().ruleset.is_empty());
        let some = listed(20_000);
        assert!((MESSAGE_BYTES - 1000..MESSAGE_BYTES).contains(&some.encoded_len()));
        assert_eq!(some.jobs.len() as u64 + some.left_out, 20_000);
        assert_eq!(some.jobs.last().unwrap().job, 20_000);
    }
}
