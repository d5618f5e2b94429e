//! The machine's words as messages, and back.

use tonic::Status;
use ziggurat_rpc::{
    convert::{self as wire, WireError, identity_text, required},
    proto::{self, to_worker},
};

use crate::machine::{
    Answer, Assignment, CheckpointAt, Epoch, Failure, FailureKind, JobId, JobRecord, Machine,
    Message, Phase, Refusal, Registration, Report, Run, Spec, StepId, Stored, Task, WorkerId,
};

/// The most checkpoints, and the most jobs, that one welcome names: so many fit a message.
const NAMED_AT_ONCE: usize = 1 << 16;

/// What a worker of a cluster is told, in as many messages as it takes.
pub fn messages(message: &Message, machine: &Machine, cluster: u64) -> Vec<proto::ToWorker> {
    let message = match message {
        Message::Welcome { incarnation, commits, cancelled } => {
            let (mut commits, mut cancelled) =
                (commits.chunks(NAMED_AT_ONCE), cancelled.chunks(NAMED_AT_ONCE));
            let count = commits.len().max(cancelled.len()).max(1);
            let welcome = |place| proto::Welcome {
                lease_ms: machine.limits().lease.as_millis() as u32,
                cluster: identity_text(cluster),
                commits: commits.next().into_iter().flatten().copied().map(commit).collect(),
                cancelled: cancelled.next().into_iter().flatten().map(|job| job.0).collect(),
                incarnation: *incarnation,
                more: place + 1 < count,
            };
            let welcomes = (0..count).map(welcome).map(to_worker::Message::Welcome);
            return welcomes.map(|message| proto::ToWorker { message: Some(message) }).collect();
        }
        Message::Heard => {
            let records = machine.records();
            let goes_on = |job: &JobRecord| matches!(job.phase, Phase::Active | Phase::Paused);
            let jobs = records.jobs.iter().filter(|(_, job)| goes_on(job));
            // Of thousands that wait, no worker has anything.
            let jobs = jobs.filter(|(id, _)| records.steps_of(**id).next().is_some());
            to_worker::Message::Heard(proto::Heard { jobs: jobs.map(|(id, _)| id.0).collect() })
        }
        Message::Assign(assignment, member) => {
            let spec = machine.records().jobs.get(&assignment.step.job).map(|job| spec(&job.spec));
            to_worker::Message::Assign(assign(assignment, *member, spec))
        }
        Message::Order { step, attempt, order, task } => to_worker::Message::Order(proto::Order {
            job: step.job.0,
            step: Some(step.tier.into()),
            attempt: *attempt,
            order: *order,
            task: Some(self::task(task).into()),
        }),
        Message::Abandon { step, attempt } => to_worker::Message::Abandon(proto::Abandon {
            job: step.job.0,
            step: Some(step.tier.into()),
            attempt: *attempt,
        }),
        &Message::Commit { step, epoch: number, kept } => {
            let epoch = Epoch { number, incarnation: machine.incarnation() };
            let (kept_epoch, kept_incarnation) =
                kept.map_or((0, 0), |kept| (kept.number, kept.incarnation));
            let commit = commit((step, epoch));
            to_worker::Message::Commit(proto::Commit { kept_epoch, kept_incarnation, ..commit })
        }
        Message::Forget(job) => to_worker::Message::Forget(proto::Forget { job: job.0 }),
        Message::Released => to_worker::Message::Released(proto::Released {}),
    };
    vec![proto::ToWorker { message: Some(message) }]
}

fn commit((step, Epoch { number, incarnation }): (StepId, Epoch)) -> proto::Commit {
    let (job, step) = (step.job.0, Some(step.tier.into()));
    proto::Commit { job, step, epoch: number, incarnation, ..proto::Commit::default() }
}

fn task(task: &Task) -> wire::Task {
    match task {
        Task::Carry(order) => order.clone().into(),
        &Task::Save { epoch, vectors, offsets, behind } => {
            wire::Task::Save { epoch, vectors: vectors as usize, offsets, behind }
        }
    }
}

fn assign(assignment: &Assignment, member: u32, spec: Option<proto::JobSpec>) -> proto::Assign {
    let read = |(tier, place, bound): &(_, CheckpointAt, f64)| proto::Final {
        step: Some(proto::Step::from(*tier)),
        checkpoint: Some(checkpoint(place)),
        bound: *bound,
    };
    proto::Assign {
        job: assignment.step.job.0,
        spec,
        step: Some(assignment.step.tier.into()),
        attempt: assignment.attempt,
        members: assignment.members.iter().map(peer).collect(),
        member,
        shares: runs(&assignment.shares),
        checkpoint: assignment.checkpoint.as_ref().map(checkpoint),
        precision: proto::Precision::from(assignment.precision).into(),
        vectors: assignment.vectors,
        offsets: assignment.offsets,
        reads: assignment.reads.iter().map(read).collect(),
    }
}

/// Where a checkpoint is.
pub fn checkpoint(place: &CheckpointAt) -> proto::Checkpoint {
    proto::Checkpoint {
        epoch: place.epoch.number,
        incarnation: place.epoch.incarnation,
        peers: place.peers.iter().map(peer).collect(),
        runs: runs(&place.runs),
        stored: place.stored,
    }
}

fn peer(peer: &crate::machine::Peer) -> proto::Peer {
    let worker = identity_text(peer.worker.0);
    proto::Peer { worker, address: peer.address.clone(), name: peer.name.clone() }
}

fn runs(runs: &[Run]) -> Vec<proto::Run> {
    runs.iter().map(|run| proto::Run { count: run.count, peer: run.owner }).collect()
}

/// A job, as others are told of it.
pub fn spec(spec: &Spec) -> proto::JobSpec {
    proto::JobSpec {
        ruleset: spec.ruleset.clone(),
        precision: proto::Precision::from(spec.precision).into(),
        tolerance: spec.tolerance,
        certified: spec.certified,
        shard_positions: spec.shard_positions.unwrap_or(0),
    }
}

/// A job that was submitted.
pub fn spec_of(job: &wire::Job) -> Spec {
    Spec {
        ruleset: job.ruleset.to_toml(),
        precision: job.precision,
        tolerance: job.tolerance,
        certified: job.certified,
        shard_positions: job.shard_positions,
    }
}

/// What a worker says of itself; its identity and its store's were checked.
pub fn registration(
    register: proto::Register,
    (worker, checkpoint_store): (u64, Option<u64>),
) -> Registration {
    Registration {
        protocol: register.protocol,
        worker: WorkerId(worker),
        name: register.name,
        address: register.address,
        cores: register.cores,
        memory_bytes: register.memory_bytes,
        disk_bytes: register.disk_bytes,
        checkpoint_store,
        replaces: register.replaces,
    }
}

/// A worker's answer to an order.
pub fn report(report: proto::Report) -> Result<Report, WireError> {
    let outcome = report.outcome.ok_or_else(|| WireError::new("report.outcome", "is missing"))?;
    let answer = match wire::Answer::try_from(outcome)? {
        wire::Answer::Outcome(outcome) => Answer::Outcome(outcome),
        wire::Answer::Prepared { halo_positions } => Answer::Ready { halo_positions },
        wire::Answer::Failed(wire::Failure { message, kind }) => {
            let kind = kind.map(|kind| match kind {
                wire::FailureKind::Unreachable { member } => FailureKind::Unreachable(member),
                wire::FailureKind::Damage { step, epoch, worker } => {
                    FailureKind::Damage { tier: step, epoch, worker: worker.map(WorkerId) }
                }
                wire::FailureKind::Unable => FailureKind::Unable,
                wire::FailureKind::Cancelled => FailureKind::Cancelled,
                wire::FailureKind::OutOfReach { worker } => {
                    FailureKind::OutOfReach(WorkerId(worker))
                }
            });
            Answer::Failed(Failure { message: wire::cut(&message), kind })
        }
    };
    let (checksums, rest) = report.checksums.as_chunks();
    if !rest.is_empty() {
        return Err(WireError::new("report.checksums", "are not two for each shard"));
    }
    Ok(Report {
        step: StepId { job: JobId(report.job), tier: required(report.step, "report.step")? },
        attempt: report.attempt,
        order: report.order,
        seconds: report.seconds,
        exchanging_seconds: report.exchanging_seconds,
        waited_seconds: report.waited_seconds,
        positions: report.positions,
        sent_bytes: report.sent_bytes,
        answer,
        checksums: checksums.to_vec(),
    })
}

/// What a worker says of a checkpoint that it was to store.
pub fn stored(stored: proto::Stored) -> Result<Stored, WireError> {
    let proto::Stored { job, step, attempt, epoch, failure } = stored;
    Ok(Stored {
        step: StepId { job: JobId(job), tier: required(step, "stored.step")? },
        attempt,
        epoch,
        failure: (!failure.is_empty()).then(|| wire::cut(&failure)),
    })
}

/// Why something is not done, as others are told.
pub fn status(refusal: &Refusal) -> Status {
    match refusal {
        Refusal::NoSuchJob(job) => Status::not_found(format!("there is no job {job}")),
        Refusal::WrongPhase(why) => Status::failed_precondition(why.clone()),
        Refusal::OtherSubmission(job) => Status::already_exists(format!(
            "job {job} was submitted with the same key, and is another (its name, what is solved, or how often it is \
             saved); give this one a key of its own"
        )),
        Refusal::Connected(name) => Status::already_exists(format!(
            "worker {name} is connected with the same disk; give this one a directory of its own, or wait until \
             the other's lease is over"
        )),
        Refusal::NameTaken { name, is_connected: true } => Status::permission_denied(format!(
            "another worker called {name} is connected; give this one a name of its own: --name NAME"
        )),
        Refusal::NameTaken { name, is_connected: false } => Status::permission_denied(format!(
            "another worker is called {name}, is away, and alone has values that it saved; start that one on its \
             directory, or give this one a name of its own: --name NAME. If that directory is lost: --replace {name}"
        )),
        Refusal::NoSuchWorker(name) => Status::invalid_argument(format!(
            "there is no worker {name}; `ziggurat workers` lists those there are"
        )),
        Refusal::StillConnected(name) => Status::failed_precondition(format!(
            "worker {name} is connected, and its values are given up only when it is gone; stop it first \
             (`ziggurat worker drain {name}`)"
        )),
        Refusal::SameAddress(name) => Status::already_exists(format!(
            "worker {name} is connected and has the same address; give this one an address of its own \
             (--advertise), or wait until the other's lease is over"
        )),
        Refusal::OtherStore(name) => Status::already_exists(format!(
            "worker {name} is connected and has another checkpoint store; give all workers the same, a directory \
             that is the very same on all their machines or a bucket, or none (--checkpoints)"
        )),
        Refusal::Silent => Status::deadline_exceeded("nothing was heard for a whole lease"),
        Refusal::Misbehaved(what) => Status::invalid_argument(wire::cut(what)),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use prost::Message as _;
    use ziggurat_encoding::Tier;
    use ziggurat_rpc::limits::MESSAGE_BYTES;

    use super::*;
    use crate::machine::{Limits, Records};

    #[test]
    fn a_welcome_says_in_several_messages_what_fits_none() {
        let limits = Limits::new(Duration::ZERO, Duration::ZERO);
        let machine = Machine::new(Records::default(), 1, limits, Duration::ZERO).0;
        let welcomes = |commits: usize, cancelled: usize| {
            let job = |number| JobId(u64::MAX - number as u64);
            let tier = Tier::new(255, 255);
            let epoch = Epoch { number: u32::MAX, incarnation: u64::MAX };
            let welcome = Message::Welcome {
                incarnation: u64::MAX,
                commits: (0..commits).map(|n| (StepId { job: job(n), tier }, epoch)).collect(),
                cancelled: (0..cancelled).map(job).collect(),
            };
            let told = messages(&welcome, &machine, u64::MAX);
            assert!(told.iter().all(|message| message.encoded_len() <= MESSAGE_BYTES));
            let told: Vec<_> = told
                .into_iter()
                .map(|message| match message.message {
                    Some(to_worker::Message::Welcome(welcome)) => welcome,
                    other => panic!("{other:?}"),
                })
                .collect();
            let (last, earlier) = told.split_last().unwrap();
            assert!(!last.more && earlier.iter().all(|welcome| welcome.more));
            let jobs = told.iter().flat_map(|told| &told.commits).map(|commit| commit.job);
            assert_eq!(jobs.collect::<BTreeSet<_>>().len(), commits);
            let jobs = told.iter().flat_map(|told| &told.cancelled);
            assert_eq!(jobs.collect::<BTreeSet<_>>().len(), cancelled);
            told.len()
        };
        assert_eq!(welcomes(0, 0), 1);
        assert_eq!(welcomes(NAMED_AT_ONCE, NAMED_AT_ONCE), 1);
        assert_eq!(welcomes(NAMED_AT_ONCE + 1, 3), 2);
        assert_eq!(welcomes(3, 2 * NAMED_AT_ONCE + 1), 3);
    }
}
