//! Events one after the other, and what the machine makes of them.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_planning::{Goal, Order, Outcome, Precision, Settings};

use super::{
    attempt::WORK_BY_SAVE,
    simulation::{
        values::{Value, ranges_of},
        worker::shards_of,
    },
    *,
};

mod failures;
mod queue;
mod returns;
mod storing;
mod versions;

const FIRST: StepId = StepId { job: JobId(1), tier: Tier { just_moved: 1, to_move: 1 } };

/// A machine with a job, and workers whose connections last.
struct World {
    machine: Machine,
    now: Time,
    plan: Arc<JobPlan>,
    submission: Submission,
    values: BTreeMap<(StepId, u32), Value>,
}

impl World {
    /// Steps with fewer positions are one worker's.
    fn new(workers: usize, whole_step_positions: u64) -> Self {
        Self::with_stores(&vec![None; workers], whole_step_positions)
    }

    /// The same, with workers that have these checkpoint stores.
    fn with_stores(stores: &[Option<u64>], whole_step_positions: u64) -> Self {
        Self::of((2, 20), stores, whole_step_positions)
    }

    /// The same for a game of so many pieces, in shards of so many positions.
    fn of(
        (pieces, shard_positions): (u8, u64),
        stores: &[Option<u64>],
        whole_step_positions: u64,
    ) -> Self {
        let pieces = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let encoding = Encoding::new(&Ruleset::builtin("finkel").unwrap().with(&pieces).unwrap());
        let settings =
            Settings { shard_positions: Some(shard_positions), ..Settings::new(Precision::F64) };
        let mut plan = JobPlan::new(encoding.unwrap(), settings);
        plan.goal = |encoding, settings, tier, read| Goal {
            functions: 0,
            ..Goal::new(encoding, settings, tier, read)
        };
        let plan = Arc::new(plan);
        let day = Duration::from_secs(86_400);
        let limits = Limits { whole_step_positions, ..Limits::new(day, day) };
        let now = Duration::from_secs(1_000_000);
        let (machine, _) = Machine::new(Records::default(), 1, limits, now);
        let spec = Spec {
            ruleset: String::new(),
            precision: Precision::F64,
            tolerance: 1e-12,
            certified: true,
            shard_positions: None,
        };
        let submission = Submission {
            name: "a job".to_owned(),
            key: String::new(),
            spec,
            checkpoint_every: day,
            scheduling: Scheduling::default(),
            plan: plan.clone(),
            memory_bytes: 0,
        };
        let values = BTreeMap::new();
        let mut world = Self { machine, now, plan, submission: submission.clone(), values };
        for (worker, &checkpoint_store) in (1..).zip(stores) {
            let registration = Registration { checkpoint_store, ..registration(worker) };
            world.tell(Event::Register(SessionId(worker), registration));
        }
        world.tell(Event::Submit(submission));
        world
    }

    fn tell(&mut self, event: Event) -> Vec<Command> {
        let output = self.machine.handle(event, self.now);
        self.machine.check().unwrap();
        output.commands
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.tell(Event::Tick);
    }

    /// The members of the attempt at the first step.
    fn members(&self) -> Vec<WorkerId> {
        let attempt = self.machine.attempts.get(&FIRST);
        attempt.map_or_else(Vec::new, |attempt| attempt.members.iter().map(|m| m.worker).collect())
    }

    /// A member answers what it was asked last.
    fn report(&mut self, worker: WorkerId, answer: Answer) {
        let attempt = &self.machine.attempts[&FIRST];
        let is_sweep = matches!(answer, Answer::Outcome(Outcome::Swept(_)));
        let place = attempt.place_of(worker).filter(|_| is_sweep);
        let positions = place.map_or(0, |place| attempt.members[place].positions);
        self.report_cost(worker, answer, (0.0, positions, 0));
    }

    /// It does, and says what that took: seconds, positions and bytes.
    fn report_cost(&mut self, worker: WorkerId, answer: Answer, cost: (f64, u64, u64)) {
        let Attempt { number: attempt, order, .. } = self.machine.attempts[&FIRST];
        let (seconds, positions, sent_bytes) = cost;
        let report = Report { attempt, order, seconds, positions, sent_bytes, ..said(answer) };
        self.tell(Event::Report(SessionId(worker.0), report));
    }

    /// Workers do what they are told until nothing is left to do.
    fn work(&mut self) {
        while !self.machine.attempts.is_empty() {
            self.work_once();
        }
    }

    /// The members of the first attempt do what they are told.
    fn work_once(&mut self) {
        for answer in self.answers() {
            self.tell(answer);
        }
    }

    /// What the members of the first attempt answer.
    fn answers(&mut self) -> Vec<Event> {
        let mut answers = Vec::new();
        let (&step, attempt) = self.machine.attempts.first_key_value().unwrap();
        let attempt = attempt.clone();
        let plan = self.machine.plans[&step.job].clone();
        let plan = &plan.steps[&step.tier];
        for (place, member) in (0..).zip(&attempt.members) {
            let values = &mut self.values;
            let carried = |order: &Order| {
                let outcomes = shards_of(&attempt.runs, place).into_iter().map(|shard| {
                    let ranges = ranges_of(shard, plan.shards.len() as u32, plan.ranges);
                    let first = || Value::first(step.tier, shard);
                    let value = values.entry((step, shard)).or_insert_with(first);
                    value.carry(order, 0, step.tier, &ranges)
                });
                let outcome = outcomes.reduce(|one, other| one.and(other).unwrap());
                Answer::Outcome(outcome.unwrap())
            };
            let answer = match attempt.doing {
                Doing::Preparing => Answer::Ready { halo_positions: 0 },
                Doing::Saving { .. } => Answer::Outcome(Outcome::Done),
                Doing::Carrying => attempt.course.order().as_ref().map(carried).unwrap(),
            };
            let checksums = match attempt.doing {
                Doing::Saving { .. } => shards_of(&attempt.runs, place)
                    .into_iter()
                    .map(|shard| [u64::from(shard), 0])
                    .collect(),
                _ => Vec::new(),
            };
            let Attempt { number: attempt, order, .. } = attempt;
            let is_sweep = matches!(answer, Answer::Outcome(Outcome::Swept(_)));
            let positions = if is_sweep { member.positions } else { 0 };
            let report = Report { step, attempt, order, positions, checksums, ..said(answer) };
            answers.push(Event::Report(member.session, report));
        }
        answers
    }

    /// Submits the job once more.
    fn submit_another(&mut self) -> JobId {
        self.submit_with(Scheduling::default()).unwrap();
        *self.machine.records.jobs.last_key_value().unwrap().0
    }

    /// Submits the job once more, with wishes of when and by how many it is worked on.
    fn submit_with(&mut self, scheduling: Scheduling) -> Result<Changed, Refusal> {
        self.ask(Event::Submit(Submission { scheduling, ..self.submission.clone() }))
    }

    /// The answer to a request.
    fn ask(&mut self, event: Event) -> Result<Changed, Refusal> {
        let commands = self.tell(event);
        let answers = commands.into_iter().filter_map(|command| match command {
            Command::Answer(answer) => Some(answer),
            _ => None,
        });
        let [answer] = answers.collect::<Vec<_>>().try_into().unwrap();
        answer
    }

    /// The members of the attempt have written a checkpoint as it is at the beginning.
    fn commit(&mut self, number: u32) {
        let Attempt { course, protocol, members, runs, .. } = self.machine.attempts[&FIRST].clone();
        let checkpoint = Checkpoint {
            epoch: Epoch { number, incarnation: 1 },
            course,
            protocol,
            owners: members.iter().map(|member| member.worker).collect(),
            runs,
            stored: None,
            lost: BTreeSet::new(),
            given_up: BTreeSet::new(),
            checksums: Vec::new(),
        };
        let record = self.machine.step_mut(FIRST);
        (record.last_epoch, record.checkpoint) = (number, Some(checkpoint));
    }

    fn failures(&self) -> u32 {
        self.machine.failure_streak.get(&FIRST).map_or(0, |streak| streak.failures)
    }

    fn phase(&self) -> Phase {
        self.machine.records.jobs[&JobId(1)].phase
    }
}

fn registration(worker: u64) -> Registration {
    Registration {
        protocol: STORES_BEHIND,
        worker: WorkerId(worker),
        name: format!("w{worker}"),
        address: format!("w{worker}:1"),
        cores: 1,
        memory_bytes: 1 << 30,
        disk_bytes: 1 << 30,
        checkpoint_store: None,
        replaces: String::new(),
    }
}

/// A member could not read a checkpoint of the first step.
fn not_found(epoch: u32, worker: Option<WorkerId>) -> Answer {
    let kind = Some(FailureKind::Damage { tier: FIRST.tier, epoch, worker });
    Answer::Failed(Failure { message: "it is not there".to_owned(), kind })
}

/// An answer to the first order of an attempt at the first step, which took no time.
fn said(answer: Answer) -> Report {
    Report {
        step: FIRST,
        attempt: 1,
        order: 0,
        seconds: 0.0,
        exchanging_seconds: 0.0,
        waited_seconds: 0.0,
        positions: 0,
        sent_bytes: 0,
        answer,
        checksums: Vec::new(),
    }
}

#[test]
fn all_workers_have_the_same_checkpoint_store_or_none() {
    let mut world = World::new(0, 1);
    for (worker, store, refused) in [
        (1, None, None),
        (2, Some(7), None),
        (3, Some(8), Some("w2".to_owned())),
        (4, Some(7), None),
        (5, None, None),
    ] {
        let registration = Registration { checkpoint_store: store, ..registration(worker) };
        let told = world.tell(Event::Register(SessionId(worker), registration));
        let closed = told.into_iter().find_map(|command| match command {
            Command::Close(_, Refusal::OtherStore(other)) => Some(other),
            _ => None,
        });
        assert_eq!(closed, refused, "{worker}");
    }
}

#[test]
fn whatever_workers_say_of_their_work_is_added_up() {
    let mut world = World::new(1, u64::MAX);
    let [worker] = world.members()[..] else { panic!("there is one worker") };
    let most = (f64::from_bits(1), u64::MAX, u64::MAX);
    world.report_cost(worker, Answer::Ready { halo_positions: u64::MAX }, most);
    let positions = world.plan.steps[&FIRST.tier].positions();
    for _ in 0..2 {
        let cost = (f64::from_bits(1), positions, u64::MAX);
        world.report_cost(worker, Answer::Outcome(Outcome::Swept(0.5)), cost);
    }
    let counters = world.machine.attempts[&FIRST].counters;
    assert_eq!(counters.exchanged_bytes, u64::MAX);
    assert_eq!(counters.exchanged_positions, u64::MAX);
    assert_eq!(counters.swept_positions, 2 * positions);
    assert_eq!(world.machine.connection(worker).unwrap().positions_per_second, None);
}

#[test]
fn reports_of_what_was_not_done_end_the_attempt_with_the_name_of_the_worker() {
    let positions = World::new(1, u64::MAX).plan.steps[&FIRST.tier].positions();
    for (residual, swept) in [(0.5, 0), (0.5, positions - 1), (0.5, u64::MAX), (0.0, positions)] {
        let mut world = World::new(1, u64::MAX);
        let [worker] = world.members()[..] else { panic!("there is one worker") };
        world.report(worker, Answer::Ready { halo_positions: 0 });
        let answer = Answer::Outcome(Outcome::Swept(residual));
        world.report_cost(worker, answer, (1.0, swept, 0));
        assert_eq!((world.members(), world.failures()), (vec![], 1), "{residual}, {swept}");
        assert!(world.machine.failure_streak[&FIRST].message.contains("w1"));
    }
}

#[test]
fn a_solved_step_has_the_checksums_that_were_reported_of_all_its_shards() {
    let mut world = World::new(2, 1);
    while world.machine.solution(FIRST).is_none() {
        world.work_once();
    }
    let shards = world.plan.steps[&FIRST.tier].shards.len() as u64;
    let expected: Vec<Checksums> = (0..shards).map(|shard| [shard, 0]).collect();
    assert!(shards > 2);
    assert_eq!(world.machine.solution(FIRST).unwrap().checksums, expected);
}

#[test]
fn a_worker_that_cannot_take_part_in_a_step_takes_part_in_others() {
    let mut world = World::new(1, u64::MAX);
    let other = world.submit_another();
    let kind = Some(FailureKind::Unable);
    let message = "it takes more memory than there is".to_owned();
    world.report(WorkerId(1), Answer::Failed(Failure { message, kind }));
    let at: Vec<JobId> = world.machine.attempts.keys().map(|step| step.job).collect();
    assert_eq!(at, [other]);
    assert_eq!(world.machine.why_waiting(other), "");
    let why = world.machine.why_waiting(JobId(1));
    assert!(why.contains("worker w1 cannot take part in step 1-1: it takes more memory"), "{why}");
    world.work();
    assert_eq!(world.machine.records.jobs[&other].phase, Phase::Solved);
    assert_eq!((world.phase(), world.members()), (Phase::Active, vec![]));
    world.wait(BACKOFF.as_secs());
    assert_eq!(world.members(), [WorkerId(1)]);
}

/// Why connections were closed, by what the machine says.
fn closed(commands: Vec<Command>) -> Vec<(u64, Refusal)> {
    let closes = commands.into_iter().filter_map(|command| match command {
        Command::Close(session, refusal) => Some((session.0, refusal)),
        _ => None,
    });
    closes.collect()
}

#[test]
fn whoever_is_called_or_known_like_another_that_is_here_is_not_let_in() {
    let mut world = World::new(1, 1);
    let first = registration(1);
    for (twin, refusal) in [
        (Registration { worker: WorkerId(2), address: "b:1".to_owned(), ..first.clone() }, "name"),
        (Registration { name: "b".to_owned(), address: "b:1".to_owned(), ..first.clone() }, "disk"),
        (Registration { worker: WorkerId(2), name: "b".to_owned(), ..first }, "address"),
    ] {
        let told = closed(world.tell(Event::Register(SessionId(7), twin)));
        let [(7, told)] = &told[..] else { panic!("{refusal}: {told:?}") };
        match refusal {
            "address" => assert_eq!(*told, Refusal::SameAddress("w1".to_owned())),
            "disk" => assert_eq!(*told, Refusal::Connected("b".to_owned())),
            _ => {
                let name = "w1".to_owned();
                assert_eq!(*told, Refusal::NameTaken { name, is_connected: true });
            }
        }
    }
    // Once it is gone, its name is free: nothing is lost by that.
    world.tell(Event::Disconnect(SessionId(1)));
    let again = Registration { worker: WorkerId(2), ..registration(1) };
    assert_eq!(closed(world.tell(Event::Register(SessionId(7), again))), []);
}

#[test]
fn a_name_under_which_values_are_saved_is_given_away_by_an_operator_only() {
    let twin = |replaces: &str| {
        let replaces = replaces.to_owned();
        Registration { worker: WorkerId(2), replaces, ..registration(1) }
    };
    let is_saved = |world: &World| {
        let checkpoint = world.machine.records.steps[&FIRST].checkpoint.as_ref();
        checkpoint.is_some_and(|checkpoint| checkpoint.lost.is_empty())
    };
    let saved = || {
        let mut world = World::new(1, u64::MAX);
        world.commit(1);
        world
    };
    let name = || "w1".to_owned();
    let mut world = saved();
    let told = closed(world.tell(Event::Register(SessionId(7), twin("w1"))));
    assert_eq!(told, [(7, Refusal::NameTaken { name: name(), is_connected: true })]);
    world.tell(Event::Disconnect(SessionId(1)));
    for replaces in ["", "w9"] {
        let told = closed(world.tell(Event::Register(SessionId(8), twin(replaces))));
        assert_eq!(told, [(8, Refusal::NameTaken { name: name(), is_connected: false })]);
    }
    assert!(is_saved(&world));
    // The worker comes back to what it had.
    assert_eq!(closed(world.tell(Event::Register(SessionId(9), registration(1)))), []);
    assert!(is_saved(&world));
    assert_eq!(world.ask(Event::ForgetWorker(name())), Err(Refusal::StillConnected(name())));
    let stranger = || "stranger".to_owned();
    assert_eq!(world.ask(Event::ForgetWorker(stranger())), Err(Refusal::NoSuchWorker(stranger())));

    world.tell(Event::Disconnect(SessionId(9)));
    assert_eq!(closed(world.tell(Event::Register(SessionId(10), twin("w1")))), []);
    assert!(!is_saved(&world));
    // Or an operator says so, by name or identity.
    for called in [name(), WorkerId(1).to_string()] {
        let mut world = saved();
        world.tell(Event::Disconnect(SessionId(1)));
        assert_eq!(world.ask(Event::ForgetWorker(called)), Ok(Changed::Worker(WorkerId(1))));
        assert!(!is_saved(&world));
        assert_eq!(closed(world.tell(Event::Register(SessionId(7), twin("")))), []);
    }
}

#[test]
fn what_a_solved_job_has_lost_is_solved_again_on_request_and_after_active_jobs() {
    let mut world = World::new(1, u64::MAX);
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
    world.tell(Event::Disconnect(SessionId(1)));
    world.ask(Event::ForgetWorker("w1".to_owned())).unwrap();
    world.tell(Event::Register(SessionId(2), registration(2)));
    assert_eq!(world.phase(), Phase::Solved);
    assert!(world.machine.attempts.is_empty());
    let why = world.machine.why_waiting(JobId(1));
    assert!(why.contains("worker w1") && why.contains("resume 1"), "{why}");
    assert_eq!(world.ask(Event::Resume(JobId(1))), Ok(Changed::Job(JobId(1))));
    world.tell(Event::Planned(JobId(1), Ok(world.plan.clone())));
    assert_eq!(world.phase(), Phase::Active);
    // The worker is at it; then it goes, and another job comes.
    assert!(!world.members().is_empty());
    world.tell(Event::Disconnect(SessionId(2)));
    let new = world.submit_another();
    world.tell(Event::Register(SessionId(9), registration(2)));
    let at: Vec<JobId> = world.machine.attempts.keys().map(|step| step.job).collect();
    assert_eq!(at, [new]);
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
    assert_eq!(world.machine.why_waiting(JobId(1)), "");
    assert_eq!(world.machine.records.jobs[&new].phase, Phase::Solved);
}

#[test]
fn an_operator_has_a_worker_leave() {
    let mut world = World::new(1, u64::MAX);
    let name = || "w1".to_owned();
    let gone = Err(Refusal::NoSuchWorker("w2".to_owned()));
    assert_eq!(world.ask(Event::DrainWorker("w2".to_owned())), gone);
    assert_eq!(world.ask(Event::DrainWorker(name())), Ok(Changed::Worker(WorkerId(1))));
    assert!(world.members().is_empty());
    assert!(world.machine.connection(WorkerId(1)).unwrap().released);
}

#[test]
fn a_worker_that_is_silent_for_a_lease_is_disconnected_and_no_sooner() {
    let mut world = World::new(1, u64::MAX);
    let lease = world.machine.limits().lease;
    world.now += lease;
    assert_eq!(closed(world.tell(Event::Tick)), []);
    world.now += Duration::from_secs(1);
    assert_eq!(closed(world.tell(Event::Tick)), [(1, Refusal::Silent)]);
    assert_eq!(world.members(), []);
}

#[test]
fn what_a_worker_has_is_given_up_once_it_was_lost_for_long_and_no_sooner() {
    let mut world = World::new(2, u64::MAX);
    let [gone] = world.members()[..] else { panic!("{:?}", world.members()) };
    let other = SessionId(3 - gone.0);
    world.commit(1);
    world.tell(Event::Disconnect(SessionId(gone.0)));
    world.tell(Event::Tick);
    let lost_after = world.machine.limits().lost_after;
    let mut is_there_after = |gone: Duration| {
        world.now += gone;
        let resources = Resources { free_disk_bytes: 1 << 30, ..Resources::default() };
        world.tell(Event::Heartbeat(other, resources));
        world.tell(Event::Tick);
        let checkpoint = &world.machine.records.steps[&FIRST].checkpoint;
        checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.epoch.number == 1)
    };
    assert!(is_there_after(lost_after / 2) && is_there_after(lost_after / 2));
    assert!(!is_there_after(Duration::from_secs(1)));
}

#[test]
fn a_job_that_is_resumed_waits_from_then_on_for_those_that_went_meanwhile() {
    let mut world = World::new(2, u64::MAX);
    let [gone] = world.members()[..] else { panic!("{:?}", world.members()) };
    world.commit(1);
    world.tell(Event::Pause(JobId(1)));
    world.tell(Event::Disconnect(SessionId(gone.0)));
    let lost_after = world.machine.limits().lost_after;
    let is_there_after = |world: &mut World, time: Duration| {
        world.now += time;
        let resources = Resources::default();
        world.tell(Event::Heartbeat(SessionId(3 - gone.0), resources));
        world.tell(Event::Tick);
        let checkpoint = &world.machine.records.steps[&FIRST].checkpoint;
        checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.epoch.number == 1)
    };
    for _ in 0..10 {
        assert!(is_there_after(&mut world, lost_after / 2));
    }
    world.tell(Event::Resume(JobId(1)));
    assert!(is_there_after(&mut world, Duration::ZERO));
    let why = world.machine.why_waiting(JobId(1));
    assert!(why.contains("in 86400 s that is given up"), "{why}");
    assert!(is_there_after(&mut world, lost_after / 2));
    assert!(is_there_after(&mut world, lost_after / 2));
    assert!(!is_there_after(&mut world, Duration::from_secs(1)));
}

#[test]
fn what_a_worker_has_of_a_solved_step_is_not_given_up_by_time_unless_somebody_wants_that() {
    for solved_lost_after in [None, Some(Duration::from_secs(100))] {
        let mut world = World::new(1, u64::MAX);
        world.machine.limits.solved_lost_after = solved_lost_after;
        // The first step is solved, and its worker goes.
        while world.machine.solution(FIRST).is_none() {
            world.work_once();
        }
        world.tell(Event::Disconnect(SessionId(1)));
        world.tell(Event::Register(SessionId(2), registration(2)));
        world.tell(Event::Tick);
        let why = world.machine.why_waiting(JobId(1));
        let part =
            if solved_lost_after.is_some() { "in 100 s" } else { "`ziggurat worker forget w1`" };
        assert!(why.contains(part), "{why}");
        for _ in 0..1000 {
            world.now += Duration::from_secs(86_000);
            world.tell(Event::Heartbeat(SessionId(2), Resources::default()));
            world.tell(Event::Tick);
        }
        let is_there = world.machine.solution(FIRST).is_some();
        assert_eq!(is_there, solved_lost_after.is_none());
    }
}

#[test]
fn what_a_checkpoint_store_has_is_given_up_by_proof_only_and_asked_for_in_that_store() {
    let mut world = World::with_stores(&[Some(7)], u64::MAX);
    while world.machine.solution(FIRST).is_none() {
        world.work_once();
    }
    world.tell(Event::Disconnect(SessionId(1)));
    for (worker, checkpoint_store) in [(2, None), (3, Some(8))] {
        let registration = Registration { checkpoint_store, ..registration(worker) };
        world.tell(Event::Register(SessionId(worker), registration));
        for _ in 0..100 {
            world.now += Duration::from_secs(86_000);
            world.tell(Event::Heartbeat(SessionId(worker), Resources::default()));
            world.tell(Event::Tick);
        }
        let solution = world.machine.solution(FIRST).unwrap();
        assert_eq!(solution.stored, Some(7));
        assert!(!world.machine.place(solution).stored);
        assert!(world.machine.attempts.is_empty());
        let why = world.machine.why_waiting(JobId(1));
        assert!(why.contains("only the checkpoint store has all of step 1-1"), "{why}");
        world.tell(Event::Disconnect(SessionId(worker)));
    }
    // One that reads it goes on, and may find that it is not there.
    let reader = Registration { checkpoint_store: Some(7), ..registration(4) };
    world.tell(Event::Register(SessionId(4), reader));
    let (&step, attempt) = world.machine.attempts.first_key_value().unwrap();
    assert_ne!(step, FIRST);
    let epoch = world.machine.solution(FIRST).unwrap().epoch.number;
    let Attempt { number: attempt, order, .. } = *attempt;
    let report = Report { step, attempt, order, ..said(not_found(epoch, None)) };
    world.tell(Event::Report(SessionId(4), report));
    // The worker that wrote it may still have it.
    let solution = world.machine.solution(FIRST).unwrap();
    assert_eq!((solution.stored, solution.is_whole()), (None, true));
}

#[test]
fn a_checkpoint_is_stored_if_all_who_wrote_it_have_the_store() {
    for (stores, stored) in [([Some(7); 2], Some(7)), ([Some(7), None], None), ([None; 2], None)] {
        let mut world = World::with_stores(&stores, 1);
        let members = world.members();
        assert_eq!(members.len(), 2);
        for &worker in &members {
            world.report(worker, Answer::Ready { halo_positions: 0 });
        }
        world.tell(Event::Drain(SessionId(1)));
        for &worker in &members {
            world.report(worker, Answer::Outcome(Outcome::Swept(0.5)));
        }
        for &worker in &members {
            world.report(worker, Answer::Outcome(Outcome::Done));
        }
        let checkpoint = world.machine.records.steps[&FIRST].checkpoint.as_ref().unwrap();
        assert_eq!(checkpoint.stored, stored, "{stores:?}");
    }
}

#[test]
fn what_makes_no_sense_as_an_answer_ends_the_connection() {
    for answer in [
        Outcome::Swept(f64::NAN),
        Outcome::Swept(-0.1),
        Outcome::Swept(1.1),
        Outcome::Done,
        Outcome::Measured(Vec::new()),
    ] {
        let mut world = World::new(1, u64::MAX);
        let [worker] = world.members()[..] else { panic!("{:?}", world.members()) };
        world.report(worker, Answer::Ready { halo_positions: 0 });
        let Attempt { number: attempt, order, .. } = world.machine.attempts[&FIRST];
        let report = |answer| Report {
            step: FIRST,
            attempt,
            order,
            seconds: 0.0,
            exchanging_seconds: 0.0,
            waited_seconds: 0.0,
            positions: 0,
            sent_bytes: 0,
            answer: Answer::Outcome(answer),
            checksums: Vec::new(),
        };
        let told = world.tell(Event::Report(SessionId(1), report(answer.clone())));
        let [(1, Refusal::Misbehaved(_))] = &closed(told)[..] else { panic!("{answer:?}") };
        assert_eq!(world.members(), [], "{answer:?}");
    }
}

#[test]
fn submissions_without_a_key_are_jobs_of_their_own_and_those_with_one_are_one() {
    let mut world = World::new(0, 1);
    let submitted = |world: &mut World, key: &str| {
        let JobRecord { name, spec, checkpoint_every, .. } =
            world.machine.records.jobs[&JobId(1)].clone();
        let plan = world.machine.plans[&JobId(1)].clone();
        let key = key.to_owned();
        world.tell(Event::Submit(Submission {
            name,
            key,
            spec,
            checkpoint_every,
            scheduling: Scheduling::default(),
            plan,
            memory_bytes: 0,
        }));
        world.machine.records.jobs.len()
    };
    assert_eq!(submitted(&mut world, ""), 2);
    assert_eq!(submitted(&mut world, ""), 3);
    assert_eq!(submitted(&mut world, "once"), 4);
    assert_eq!(submitted(&mut world, "once"), 4);
    assert_eq!(submitted(&mut world, "twice"), 5);
}

#[test]
fn a_key_that_is_known_is_that_of_the_same_job_only_even_after_a_restart() {
    let mut world = World::new(0, 1);
    let JobRecord { name, spec, checkpoint_every, scheduling, .. } =
        world.machine.records.jobs[&JobId(1)].clone();
    let plan = world.machine.plans[&JobId(1)].clone();
    let (key, memory_bytes) = ("k".to_owned(), 0);
    let submission =
        Submission { name, key, spec, checkpoint_every, scheduling, plan, memory_bytes };
    let answer = |world: &mut World, change: &dyn Fn(&mut Submission)| {
        let mut submission = submission.clone();
        change(&mut submission);
        let commands = world.tell(Event::Submit(submission));
        let answer = commands.into_iter().find_map(|command| match command {
            Command::Answer(answer) => Some(answer),
            _ => None,
        });
        answer.unwrap()
    };
    assert_eq!(answer(&mut world, &|_| {}), Ok(Changed::Job(JobId(2))));
    // What the records say is all that is left after a restart.
    let records = world.machine.records.clone();
    (world.machine, _) = Machine::new(records, 2, world.machine.limits, world.now);
    assert_eq!(answer(&mut world, &|_| {}), Ok(Changed::Job(JobId(2))));
    let changes: [&dyn Fn(&mut Submission); 4] = [
        &|other| other.name.push('x'),
        &|other| other.spec.tolerance /= 2.0,
        &|other| other.checkpoint_every /= 2,
        &|other| other.scheduling.priority += 1,
    ];
    for change in changes {
        assert_eq!(answer(&mut world, change), Err(Refusal::OtherSubmission(JobId(2))));
    }
    // A job that was cancelled is not begun anew.
    world.tell(Event::Cancel { job: JobId(2), force: false });
    assert_eq!(answer(&mut world, &|_| {}), Ok(Changed::Job(JobId(2))));
    assert_eq!(world.machine.records.jobs.len(), 2);
}

#[test]
fn whoever_wants_to_leave_ends_what_it_is_at_first_and_is_given_nothing_new() {
    let mut world = World::new(1, u64::MAX);
    let [worker] = world.members()[..] else { panic!("{:?}", world.members()) };
    world.report(worker, Answer::Ready { halo_positions: 0 });
    world.tell(Event::Drain(SessionId(1)));
    assert_eq!(world.members(), [worker]);
    // The superstep is done, and saved.
    world.report(worker, Answer::Outcome(Outcome::Swept(0.5)));
    let doing = world.machine.attempts[&FIRST].doing;
    assert!(matches!(doing, Doing::Saving { .. }), "{doing:?}");
    world.report(worker, Answer::Outcome(Outcome::Done));
    assert_eq!(world.members(), []);
    assert!(world.machine.records.steps[&FIRST].checkpoint.is_some());
}

#[test]
fn a_worker_that_was_stopped_is_asked_again_soon() {
    let mut world = World::new(1, u64::MAX);
    let [worker] = world.members()[..] else { panic!("{:?}", world.members()) };
    let kind = Some(FailureKind::Cancelled);
    world.report(worker, Answer::Failed(Failure { message: "stopped".to_owned(), kind }));
    assert_eq!((world.failures(), world.members()), (1, vec![]));
    world.wait(SHORT_BACKOFF.as_secs() + 1);
    assert_eq!(world.members(), [worker]);
}

#[test]
fn whoever_comes_is_told_of_cancelled_jobs() {
    let mut world = World::new(0, 1);
    let told = |world: &mut World, worker| {
        let commands = world.tell(Event::Register(SessionId(worker), registration(worker)));
        commands.into_iter().find_map(|command| match command {
            Command::Send(_, Message::Welcome { cancelled, .. }) => Some(cancelled),
            _ => None,
        })
    };
    assert_eq!(told(&mut world, 1), Some(vec![]));
    world.tell(Event::Cancel { job: JobId(1), force: false });
    assert_eq!(told(&mut world, 2), Some(vec![JobId(1)]));
}

#[test]
fn the_clock_does_not_go_back() {
    let mut world = World::new(1, u64::MAX);
    world.wait(50);
    let before = world.machine.now;
    world.now -= Duration::from_secs(40);
    world.tell(Event::Tick);
    assert_eq!(world.machine.now, before);
}

#[test]
fn an_answer_counts_once() {
    let mut world = World::new(5, 1);
    let members = world.members();
    assert!(members.len() > 1, "{members:?}");
    for _ in 0..2 {
        world.report_cost(members[0], Answer::Ready { halo_positions: 3 }, (1.0, 0, 5));
    }
    assert_eq!(world.machine.attempts[&FIRST].counters.exchanged_bytes, 5);
}

#[test]
fn workers_that_could_not_reach_each_other_are_told_until_they_have() {
    let mut world = World::new(2, 1);
    let unreached = |world: &World| -> Vec<_> {
        world.machine.unreached().map(|(one, other, _)| (one, other)).collect()
    };
    let [one, other] = world.members()[..] else { panic!("both are at it") };
    let failure = Failure {
        message: "cannot reach the other".to_owned(),
        kind: Some(FailureKind::Unreachable(1)),
    };
    world.report(one, Answer::Failed(failure));
    assert_eq!(unreached(&world), [(one, other)]);
    // After a while they are tried together again, when nobody is at it alone; that they try is not yet that they have.
    world.wait(61);
    for _ in 0..2 {
        let [alone] = world.members()[..] else { panic!("each is at it alone") };
        let stopped = Failure { message: String::new(), kind: Some(FailureKind::Cancelled) };
        world.report(alone, Answer::Failed(stopped));
    }
    world.wait(6);
    assert_eq!(world.members().len(), 2);
    assert_eq!(unreached(&world), [(one, other)]);
    for worker in [one, other] {
        world.report(worker, Answer::Ready { halo_positions: 7 });
    }
    assert_eq!(unreached(&world), [(one, other)]);
    for worker in [one, other] {
        world.report(worker, Answer::Outcome(Outcome::Swept(0.5)));
    }
    assert_eq!(unreached(&world), []);
}

#[test]
fn as_many_jobs_are_worked_on_as_there_are_workers() {
    let mut world = World::new(0, u64::MAX);
    for _ in 1..50 {
        world.submit_another();
    }
    let mut commands = Vec::new();
    for worker in 1..=20 {
        commands.extend(world.tell(Event::Register(SessionId(worker), registration(worker))));
    }
    while let Some(command) = commands.pop() {
        if let Command::Plan(job) = command {
            commands.extend(world.tell(Event::Planned(job, Ok(world.plan.clone()))));
        }
    }
    assert_eq!(world.machine.attempts.len(), 20);
}

#[test]
fn many_workers_and_jobs_are_scheduled_in_time_and_few_plans_are_kept() {
    const WORKERS: u64 = 1000;
    const JOBS: u64 = 10_000;
    let mut world = World::of((3, 1), &[], 1);
    let mut records = world.machine.records.clone();
    let job = records.jobs[&JobId(1)].clone();
    records.jobs.extend((2..=JOBS).map(|id| (JobId(id), job.clone())));
    let started = Instant::now();
    let (machine, output) = Machine::new(records, 2, world.machine.limits, world.now);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!((output.commands.len(), machine.plans.len()), (PLANNED_JOBS, 0));
    world.machine = machine;
    let mut commands = VecDeque::from(output.commands);
    for worker in 1..=WORKERS {
        let register = Event::Register(SessionId(worker), registration(worker));
        commands.extend(world.machine.handle(register, world.now).commands);
    }
    let (mut ticks, mut beats, mut rounds, mut members) = (vec![], vec![], vec![], 0);
    let mut planned = 0;
    while world.phase() == Phase::Active {
        let mut events: Vec<Event> = Vec::new();
        for command in std::mem::take(&mut commands) {
            if let Command::Plan(job) = command {
                planned += 1;
                events.push(Event::Planned(job, Ok(world.plan.clone())));
            }
        }
        if !world.machine.attempts.is_empty() {
            events.extend(world.answers());
        }
        members = members.max(events.len());
        let mut timed = |event: Event, times: &mut Vec<Duration>| {
            let started = Instant::now();
            let output = world.machine.handle(event, world.now);
            times.push(started.elapsed());
            commands.extend(output.commands);
        };
        let mut round = Vec::new();
        events.into_iter().for_each(|event| timed(event, &mut round));
        if round.len() > 100 {
            rounds.push(round.iter().sum());
        }
        timed(Event::Tick, &mut ticks);
        timed(Event::Heartbeat(SessionId(7), Resources::default()), &mut beats);
        if ticks.len().is_multiple_of(50) {
            world.machine.check().unwrap();
        }
    }
    // The middle of them: others use the machine, too.
    let middle = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let [tick, beat, round] = [&mut ticks, &mut beats, &mut rounds].map(middle);
    println!("{members} members: a tick {tick:?}, a heartbeat {beat:?}, a superstep {round:?}");
    assert!(members > 100, "{members}");
    assert!(tick < Duration::from_millis(50), "a tick takes {tick:?}");
    assert!(beat < Duration::from_millis(1), "a heartbeat takes {beat:?}");
    assert!(round < Duration::from_millis(50), "a superstep takes {round:?}");
    assert!(planned < 2 * PLANNED_JOBS, "{planned} plans were asked for");
}
