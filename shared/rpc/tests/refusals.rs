//! What messages may say, and what they may not.

use tonic::{Code, Status};
use ziggurat_encoding::Tier;
use ziggurat_game::Ruleset;
use ziggurat_planning::{Column, GalerkinSystem, Growth, Precision, Products, Proof, Settings};
use ziggurat_rpc::{
    OLDEST_PROTOCOL, PROTOCOL,
    convert::{
        Answer, Job, Member, Submission, Task, WireError, check_addressee, check_registration,
        identity, owners, precision, required, runs,
    },
    proto::{self, order, report},
};

/// What is said against a message.
fn refusal<P, T: TryFrom<P, Error = WireError> + std::fmt::Debug>(message: P) -> String {
    T::try_from(message).unwrap_err().to_string()
}

#[test]
fn steps_are_named_by_their_first_tier() {
    let step = |just_moved, to_move| proto::Step { just_moved, to_move };
    for (just_moved, to_move) in [(1, 1), (7, 7), (15, 1)] {
        let tier = Tier::try_from(step(just_moved, to_move)).unwrap();
        assert_eq!(proto::Step::from(tier), step(just_moved, to_move));
    }
    for (just_moved, to_move) in [(0, 0), (1, 0), (2, 3), (16, 1), (257, 257)] {
        let refused = refusal::<_, Tier>(step(just_moved, to_move));
        assert!(refused.contains("is not the first tier of a step"), "{refused}");
    }
    let missing = required::<proto::Step, Tier>(None, "assign.step").unwrap_err();
    assert_eq!(missing.to_string(), "assign.step: is missing");
    assert_eq!(Status::from(missing).code(), Code::InvalidArgument);
}

#[test]
fn a_status_quotes_no_more_than_fits_a_header() {
    let status = |problem: &str| Status::from(WireError::new("name", problem));
    assert_eq!(status("no").message(), "name: no");
    let long = status(&"ü".repeat(60_000));
    assert!(long.message().starts_with("name: üüü") && long.message().ends_with("ü..."));
    assert!(long.message().len() < 1100);
}

#[test]
fn precisions_and_columns_are_those_there_are() {
    assert_eq!(precision(2), Ok(Precision::F64));
    for number in [0, 3, -1] {
        assert!(precision(number).is_err());
    }
    let vector = |i| proto::Column { column: Some(proto::column::Column::Vector(i)) };
    assert_eq!(Column::try_from(vector(5)), Ok(Column::Vector(5)));
    assert!(refusal::<_, Column>(vector(6)).contains("there is no vector 6"));
    assert!(refusal::<_, Column>(proto::Column { column: None }).contains("is missing"));
}

#[test]
fn jobs_are_bounded() {
    let job = Job::new(Ruleset::builtin("blitz").unwrap(), &Settings::new(Precision::F32));
    let spec = proto::JobSpec::from(&job);
    for tolerance in [0.0, -1e-9, 1.0, f64::NAN, f64::INFINITY] {
        let refused = refusal::<_, Job>(proto::JobSpec { tolerance, ..spec.clone() });
        assert!(refused.starts_with("spec.tolerance: "), "{refused}");
    }
    let long = proto::JobSpec { ruleset: "#".repeat((64 << 10) + 1), ..spec.clone() };
    assert_eq!(refusal::<_, Job>(long), "spec.ruleset: 65537 bytes are more than 65536");
    let wrong = proto::JobSpec { ruleset: "pieces = 7".to_owned(), ..spec.clone() };
    let refused = refusal::<_, Job>(wrong);
    assert!(refused.starts_with("spec.ruleset: ruleset:1:1: `path` is missing"), "{refused}");

    let name = "a job".to_owned();
    let request = proto::SubmitRequest { spec: Some(spec), name, ..Default::default() };
    let submission = Submission::try_from(request.clone()).unwrap();
    assert_eq!(submission.checkpoint.as_secs(), 60);
    for checkpoint_seconds in [-1.0, f64::NAN, 1e30] {
        let request = proto::SubmitRequest { checkpoint_seconds, ..request.clone() };
        assert!(refusal::<_, Submission>(request).starts_with("checkpoint_seconds: "));
    }
    let long = "x".repeat(256);
    for name in ["", " ", "two\nlines", "red\u{1b}[31m", &long] {
        let request = proto::SubmitRequest { name: name.to_owned(), ..request.clone() };
        assert!(refusal::<_, Submission>(request).starts_with("name: "), "{name:?}");
    }
    let key = proto::SubmitRequest { key: "x".repeat(65), ..request };
    assert!(refusal::<_, Submission>(key).starts_with("key: "));
}

#[test]
fn tasks_are_those_that_can_be_done() {
    let sweep = |slot, finest| order::Task::Sweep(proto::Sweep { slot, finest });
    assert!(Task::try_from(sweep(3, -126)).is_ok());
    for (slot, finest) in [(4, -12), (0, -127), (0, 0), (u32::MAX, i32::MIN)] {
        assert!(Task::try_from(sweep(slot, finest)).is_err(), "{slot}, {finest}");
    }
    let not_finite = vec![0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0];
    for multiples in [vec![], vec![1.0; 5], vec![1.0; 7], not_finite] {
        let task = order::Task::Extrapolate(proto::Extrapolate { multiples });
        assert!(refusal::<_, Task>(task).contains("are not 6 numbers"));
    }
    let sample = |quantum| Task::try_from(order::Task::Sample(proto::Sample { quantum }));
    assert!(sample(0).is_ok() && sample(-1000).is_ok());
    assert!(sample(1).is_err() && sample(-1001).is_err() && sample(i32::MIN).is_err());
    let correct = order::Task::Correct(proto::Correct { multiples: vec![1.0, f64::INFINITY] });
    assert!(refusal::<_, Task>(correct).starts_with("correct.multiples: inf "));
    let proof = Proof::new(1e-12, 0.0).unwrap();
    let changed = |change: &dyn Fn(&mut proto::Prove)| {
        let mut prove = proto::Prove::from(&proof);
        change(&mut prove);
        prove
    };
    assert_eq!(Proof::try_from(changed(&|_| {})).ok(), Some(proof.clone()));
    for wrong in [
        changed(&|prove| prove.bound = f64::NAN),
        changed(&|prove| prove.bound *= -1.0),
        changed(&|prove| prove.bound = 1e-3),
        changed(&|prove| prove.unit = 0.0),
        changed(&|prove| prove.unit *= 1.5),
        changed(&|prove| (prove.unit, prove.bound) = (f64::INFINITY, f64::INFINITY)),
        changed(&|prove| prove.start = 1 << 15),
        changed(&|prove| prove.start = 1 << 16),
        changed(&|prove| prove.sweeps = 64),
    ] {
        assert!(Proof::try_from(wrong).is_err(), "{wrong:?}");
    }
    let save =
        order::Task::Save(proto::Save { epoch: 1, vectors: 6, offsets: false, behind: false });
    assert!(Task::try_from(save).is_err());
}

#[test]
fn reports_are_numbers() {
    for residual in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(Answer::try_from(report::Outcome::Residual(residual)).is_err());
    }
    let growth = proto::Growth { largest: 1 << 16, grew: false };
    assert!(Growth::try_from(growth).is_err());
    let products = |ranges: u32, products: Vec<f64>| {
        let range = (0..ranges).collect();
        Vec::<(u32, Products)>::try_from(proto::Products { range, products })
    };
    let two = products(2, vec![1.0; 30]).unwrap();
    assert_eq!((two.len(), two[1].0, two[1].1[4][4], two[1].1[0][1]), (2, 1, 1.0, 0.0));
    for wrong in [(1, 14), (1, 16), (2, 15), (0, 15), (1, 30), (1, 0)] {
        assert!(products(wrong.0, vec![1.0; wrong.1]).is_err(), "{wrong:?}");
    }
    assert!(products(1, vec![f64::NAN; 15]).is_err());
    let system = |rhs: usize, matrix: Vec<f64>| {
        GalerkinSystem::try_from(proto::GalerkinSystem { rhs: vec![1.0; rhs], matrix })
    };
    assert_eq!(system(2, vec![3.0; 4]).unwrap().functions(), 2);
    for (rhs, matrix) in [(2, vec![3.0; 3]), (2, vec![]), (0, vec![3.0]), (1, vec![0.5])] {
        assert!(system(rhs, matrix.clone()).is_err(), "{rhs}, {matrix:?}");
    }
    assert!(system(1, vec![f64::NAN]).is_err() && system(1, vec![1e17]).is_err());
}

#[test]
fn runs_cover_all_shards_and_name_only_peers() {
    let owner_of_shard = [2, 2, 0, 1, 1, 1, 2];
    let mut all = runs(&owner_of_shard);
    let counts: Vec<(u32, u32)> = all.iter().map(|run| (run.count, run.peer)).collect();
    assert_eq!(counts, [(2, 2), (1, 0), (3, 1), (1, 2)]);
    assert_eq!(owners(&all, 7, 3).as_deref(), Ok(&owner_of_shard[..]));
    assert_eq!(owners(&[], 0, 0), Ok(vec![]));
    for (shards, peers) in [(6, 3), (8, 3), (7, 2), (0, 3)] {
        assert!(owners(&all, shards, peers).is_err(), "{shards} shards, {peers} peers");
    }
    // Neither do runs without shards count, nor does a sum that is too large for 32 bits come out right.
    all.push(proto::Run { count: 0, peer: 0 });
    assert!(owners(&all, 7, 3).is_err());
    let large = [proto::Run { count: u32::MAX, peer: 0 }, proto::Run { count: 8, peer: 0 }];
    assert!(owners(&large, 7, 3).is_err());
}

#[test]
fn statistics_are_numbers() {
    let status = proto::StepStatus::default();
    assert!(status.statistics().is_ok());
    assert!(proto::StepStatus { bound: -1.0, ..status.clone() }.statistics().is_err());
    assert!(proto::StepStatus { residual: f64::NAN, ..status }.statistics().is_err());
}

#[test]
fn what_is_meant_for_another_worker_is_refused() {
    assert!(check_addressee("00000000000000ff", 255).is_ok());
    assert!(check_addressee("", 255).is_ok());
    let refused = check_addressee("00000000000000fe", 255).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("00000000000000ff instead of 00000000000000fe"));
}

#[test]
fn workers_say_who_they_are_and_where() {
    assert_eq!(identity("00000000000000ff"), Ok(255));
    for wrong in
        ["", "ff", "00000000000000FF", "+0000000000000ff", "00000000000000fg", "0x00000000000000"]
    {
        assert!(identity(wrong).is_err(), "{wrong}");
    }
    let (worker, address) = ("00000000000000ff".to_owned(), "here".to_owned());
    let peer = proto::Peer { worker, address, ..Default::default() };
    assert!(refusal::<_, Member>(peer).contains("\"here\" is not host:port"));

    let register = proto::Register {
        protocol: PROTOCOL,
        encoder: 1,
        worker: "00000000000000ff".to_owned(),
        name: "worker-1".to_owned(),
        address: "10.0.0.1:7301".to_owned(),
        ..Default::default()
    };
    let code = |register| check_registration(&register).map_err(|status| status.code());
    assert_eq!(code(register.clone()), Ok((255, None)));
    let before = proto::Register { protocol: OLDEST_PROTOCOL, ..register.clone() };
    assert_eq!(code(before), Ok((255, None)));
    let with_store =
        |store: &str| proto::Register { checkpoint_store: store.to_owned(), ..register.clone() };
    assert_eq!(code(with_store("0000000000000007")), Ok((255, Some(7))));
    assert_eq!(code(with_store("7")), Err(Code::InvalidArgument));
    for (wrong, expected) in [
        (proto::Register { protocol: PROTOCOL + 1, ..register.clone() }, Code::FailedPrecondition),
        (
            proto::Register { protocol: OLDEST_PROTOCOL - 1, ..register.clone() },
            Code::FailedPrecondition,
        ),
        (proto::Register { encoder: 0, ..register.clone() }, Code::FailedPrecondition),
        (proto::Register { name: "x".repeat(256), ..register.clone() }, Code::InvalidArgument),
        (proto::Register { replaces: "\n".to_owned(), ..register.clone() }, Code::InvalidArgument),
        (proto::Register { worker: "me".to_owned(), ..register.clone() }, Code::InvalidArgument),
        (proto::Register { address: "10.0.0.1".to_owned(), ..register }, Code::InvalidArgument),
    ] {
        assert_eq!(code(wrong), Err(expected));
    }
}
