//! Whatever bytes a peer sends, and however messages are damaged on the way: nothing panics, and what is
//! understood is understood the same way again.

#[path = "common/everything.rs"]
mod everything;

use proptest::{collection::vec, prelude::*};
use prost::Message;
use ziggurat_encoding::Tier;
use ziggurat_game::Ruleset;
use ziggurat_planning::{
    Column, CycleSlot, GalerkinSystem, Order, Outcome, Precision, Proof, Settings, TierStatistics,
};
use ziggurat_rpc::{
    PROTOCOL,
    convert::{Answer, Failure, FailureKind, Job, Member, Submission, Task, runs},
    proto::{self, from_worker, halo_message, to_worker},
};

fn all(bytes: &[u8]) {
    everything::from_worker(bytes);
    everything::to_worker(bytes);
    everything::halo_message(bytes);
    everything::fetch_request(bytes);
    everything::submit_request(bytes);
    everything::locate_reply(bytes);
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in vec(any::<u8>(), 0..512)) {
        all(&bytes);
    }

    #[test]
    fn damaged_messages_do_no_harm(
        which in any::<prop::sample::Index>(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let messages = messages();
        let mut bytes = which.get(&messages).clone();
        for (at, byte) in damage {
            *at.get_mut(&mut bytes) = byte;
        }
        all(&bytes);
        all(&bytes[..cut.index(bytes.len())]);
    }
}

/// One message of each kind that is converted.
fn messages() -> Vec<Vec<u8>> {
    let step = Some(proto::Step::from(Tier::new(3, 2)));
    let member = Member { worker: 0xabc, address: "10.0.0.1:7301".to_owned() };
    let peers = vec![proto::Peer::from(&member)];
    let shares = runs(&[0, 0, 0]);
    let checkpoint = proto::Checkpoint {
        epoch: 3,
        incarnation: 9,
        peers: peers.clone(),
        runs: shares.clone(),
        stored: true,
    };
    let submission = Submission {
        job: job("finkel"),
        name: "a job".to_owned(),
        key: "key".to_owned(),
        checkpoint: std::time::Duration::from_secs(5),
        priority: -1,
        max_workers: Some(2),
        after: Some(1),
    };
    let assign = proto::Assign {
        spec: Some((&submission.job).into()),
        step,
        members: peers.clone(),
        shares: shares.clone(),
        checkpoint: Some(checkpoint.clone()),
        precision: 1,
        reads: vec![proto::Final { step, checkpoint: Some(checkpoint), bound: 1e-12 }],
        ..Default::default()
    };
    let located = proto::LocatedStep { step, peers, runs: shares, ..Default::default() };
    let located = located.with_statistics(&statistics());
    let locate = proto::LocateReply {
        spec: Some((&submission.job).into()),
        steps: vec![located],
        encoder: 1,
    };
    let register = proto::Register {
        protocol: PROTOCOL,
        encoder: 1,
        worker: "0123456789abcdef".to_owned(),
        name: "worker-1".to_owned(),
        address: "worker-1:7301".to_owned(),
        ..Default::default()
    };
    let open =
        proto::HaloOpen { protocol: PROTOCOL, job: 1, step, attempt: 1, ..Default::default() };
    let column = Some(Column::Vector(2).into());
    let fetch = proto::FetchRequest { protocol: PROTOCOL, step, column, ..Default::default() };

    let from_worker = |message| proto::FromWorker { message: Some(message) }.encode_to_vec();
    let to_worker = |message| proto::ToWorker { message: Some(message) }.encode_to_vec();
    let report = |answer: Answer| {
        let outcome = Some(answer.into());
        from_worker(from_worker::Message::Report(proto::Report {
            step,
            outcome,
            ..Default::default()
        }))
    };
    let order = |task: Task| {
        let task = Some(task.into());
        to_worker(to_worker::Message::Order(proto::Order { step, task, ..Default::default() }))
    };
    let mut messages = vec![
        from_worker(from_worker::Message::Register(register)),
        to_worker(to_worker::Message::Assign(assign)),
        proto::HaloMessage { message: Some(halo_message::Message::Open(open)) }.encode_to_vec(),
        fetch.encode_to_vec(),
        proto::SubmitRequest::from(&submission).encode_to_vec(),
        locate.encode_to_vec(),
    ];
    messages.extend(answers().into_iter().map(report));
    messages.extend(tasks().into_iter().map(order));
    messages
}

fn job(ruleset: &str) -> Job {
    Job::new(Ruleset::builtin(ruleset).unwrap(), &Settings::new(Precision::F64))
}

fn statistics() -> TierStatistics {
    TierStatistics {
        supersteps: 40,
        supersteps_in_f32: 20,
        residual: 1e-13,
        error_estimate: 1e-12,
        certificate: Some(ziggurat_planning::Certificate { bound: 1e-12, sweeps: 3 }),
    }
}

fn answers() -> Vec<Answer> {
    let products = [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [2.0, 3.0, 0.0, 0.0, 0.0],
        [4.0, 5.0, 6.0, 0.0, 0.0],
        [7.0, 8.0, 9.0, 10.0, 0.0],
        [11.0, 12.0, 13.0, 14.0, 15.0],
    ];
    let kinds = [
        FailureKind::Unreachable { member: 2 },
        FailureKind::Damage { step: Tier::new(2, 2), epoch: 7, worker: Some(1) },
        FailureKind::Damage { step: Tier::new(2, 1), epoch: 7, worker: None },
        FailureKind::Unable,
        FailureKind::Cancelled,
        FailureKind::OutOfReach { worker: u64::MAX },
    ];
    let failure = |kind| Answer::Failed(Failure { message: "a disk".to_owned(), kind });
    let mut answers = vec![
        Answer::Prepared { halo_positions: 9 },
        Outcome::Done.into(),
        Outcome::Swept(1e-3).into(),
        Outcome::Measured(vec![(4, products), (0, products)]).into(),
        Outcome::Sampled(
            GalerkinSystem::from_parts(vec![5.0, -7.0], vec![1.0, 0.0, -2.0, 9e15]).unwrap(),
        )
        .into(),
        Outcome::Proved(ziggurat_planning::Growth { largest: 16_000, grew: true }).into(),
        failure(None),
    ];
    answers.extend(kinds.map(Some).map(failure));
    answers
}

fn tasks() -> Vec<Task> {
    vec![
        Order::Sweep { slot: CycleSlot::new(3).unwrap(), finest: -100 }.into(),
        Order::Measure.into(),
        Order::Extrapolate { multiples: [0.0, 1.5, -2.0, 1e9, -1.0, 7.0] }.into(),
        Order::Sample { quantum: -63 }.into(),
        Order::Correct { multiples: vec![0.0, -1e-9, 2.5] }.into(),
        Order::Widen.into(),
        Order::Prove(Proof::new(1e-12, 1e-13).unwrap()).into(),
        Task::Save { epoch: 8, vectors: 5, offsets: true, behind: true },
    ]
}

#[test]
fn what_is_said_is_understood() {
    for answer in answers() {
        let message = proto::report::Outcome::from(answer.clone());
        assert_eq!(Answer::try_from(message), Ok(answer));
    }
    for task in tasks() {
        let message = proto::order::Task::from(task.clone());
        assert_eq!(Task::try_from(message), Ok(task));
    }
    for ruleset in ["finkel", "masters", "blitz", "aseb", "skiriuk", "murray"] {
        let job = job(ruleset);
        assert_eq!(Job::try_from(proto::JobSpec::from(&job)).as_ref(), Ok(&job));
        assert_eq!(Job::new(job.ruleset.clone(), &job.settings()), job);
    }
    for certificate in [statistics().certificate, None] {
        let statistics = TierStatistics { certificate, ..statistics() };
        let status = proto::StepStatus::default().with_statistics(&statistics);
        assert_eq!(status.statistics(), Ok(statistics));
    }
}

#[test]
fn a_proof_is_carried_on_with_the_numbers_it_has() {
    for (bound, read) in [(1e-13, 0.0), (1e-12, 9e-13), (0.25, 0.1), (0.49, 0.0), (0.49, 0.4)] {
        let proof = Proof::new(bound, read).unwrap();
        assert_eq!(Proof::try_from(proto::Prove::from(&proof)), Ok(proof), "{bound}, {read}");
    }
}
