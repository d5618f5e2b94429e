//! Attempts that end: because somebody is late, or has failed, or is gone. Whatever is tried again is counted, and
//! ends.

use super::*;

#[test]
fn a_hang_is_one_failure_however_many_wait_for_it() {
    let mut world = World::new(5, 1);
    let members = world.members();
    assert!(members.len() > 2, "{members:?}");
    // Nobody answers: any of them may be to blame.
    world.wait(1000);
    assert_eq!((world.failures(), world.phase()), (1, Phase::Active));
    assert_eq!(world.members(), members);
    // All but one do.
    for &worker in &members[1..] {
        world.report(worker, Answer::Ready { halo_positions: 0 });
    }
    world.wait(1000);
    assert_eq!((world.failures(), world.phase()), (2, Phase::Active));
    let others = world.members();
    assert!(!others.is_empty() && !others.contains(&members[0]), "{others:?}");
}

/// The members of the attempt at the first step are told to save.
fn saving(workers: usize) -> World {
    let mut world = World::new(workers, 1);
    while !matches!(world.machine.attempts[&FIRST].doing, Doing::Saving { .. }) {
        world.work_once();
    }
    world
}

#[test]
fn a_save_that_goes_on_may_take_hours_and_one_that_stands_still_does_not() {
    let mut world = saving(2);
    let (number, members) = (world.machine.attempts[&FIRST].number, world.members());
    let beat = |world: &mut World, moved: [u64; 2]| {
        for (&worker, moved_bytes) in members.iter().zip(moved) {
            let resources = Resources { moved_bytes, ..Resources::default() };
            world.tell(Event::Heartbeat(SessionId(worker.0), resources));
        }
    };
    // For three hours one is slow, and the other is done.
    world.report(members[1], Answer::Outcome(Outcome::Done));
    for minute in 1..=180 {
        world.now += Duration::from_secs(50);
        beat(&mut world, [minute, 7]);
        world.wait(10);
        assert_eq!(world.machine.attempts[&FIRST].number, number, "after {minute} minutes");
    }
    assert_eq!(world.failures(), 0);
    // From then on nothing moves any more.
    let mut seconds = 0;
    while world.machine.attempts.get(&FIRST).is_some_and(|attempt| attempt.number == number) {
        beat(&mut world, [180, 7]);
        world.wait(5);
        seconds += 5;
        assert!(seconds < 700);
    }
    assert!(seconds > 580, "{seconds}");
    assert_eq!(world.failures(), 1);
    assert!(world.machine.rests(FIRST, members[0]) && !world.machine.rests(FIRST, members[1]));
    let message = &world.machine.failure_streak[&FIRST].message;
    assert!(message.contains("worker w1 has not answered"), "{message}");
}

#[test]
fn what_workers_meet_one_after_the_other_is_one_failure() {
    let mut world = World::new(6, u64::MAX);
    for round in 1..=MOST_FAILURES {
        assert_eq!(world.phase(), Phase::Active);
        for _ in 0..6 {
            let [worker] = world.members()[..] else { break };
            world.now += Duration::from_secs(1);
            let message = "the checkpoint store is full".to_owned();
            let failure = Failure { message, kind: Some(FailureKind::Unable) };
            world.report(worker, Answer::Failed(failure));
            if round < MOST_FAILURES {
                assert_eq!(world.failures(), round);
            }
        }
        assert!(world.members().is_empty());
        world.wait(BACKOFF.as_secs());
    }
    assert_eq!(world.phase(), Phase::Failed);
    let message = world.machine.why_waiting(JobId(1));
    assert!(message.contains("failed 5 times") && message.contains("is full"), "{message}");
}

#[test]
fn what_was_dropped_for_a_later_checkpoint_is_no_failure() {
    let mut world = World::new(1, u64::MAX);
    let [worker] = world.members()[..] else { panic!("{:?}", world.members()) };
    world.commit(1);
    world.tell(Event::Disconnect(SessionId(1)));
    world.tell(Event::Register(SessionId(1), registration(1)));
    assert_eq!(world.machine.attempts[&FIRST].reads[&FIRST.tier], 1);
    world.commit(2);
    world.report(worker, not_found(1, Some(worker)));
    assert_eq!((world.failures(), world.members()), (0, vec![worker]));
    // That one was not to be read.
    world.report(worker, not_found(3, Some(worker)));
    assert_eq!((world.failures(), world.members()), (1, vec![]));
}

#[test]
fn whatever_is_tried_again_as_it_was_is_counted_and_ends() {
    let stranger = WorkerId(77);
    for kind in [
        None,
        Some(FailureKind::Cancelled),
        Some(FailureKind::Unable),
        // None of these is a member, or has what is read.
        Some(FailureKind::Unreachable(5)),
        Some(FailureKind::OutOfReach(stranger)),
        Some(FailureKind::OutOfReach(WorkerId(2))),
        Some(FailureKind::Damage { tier: FIRST.tier, epoch: 9, worker: Some(stranger) }),
        Some(FailureKind::Damage { tier: Tier::new(2, 1), epoch: 0, worker: None }),
    ] {
        let mut world = World::new(2, u64::MAX);
        let mut tries = 0;
        while world.phase() == Phase::Active {
            for worker in world.members() {
                tries += 1;
                let message = "so it says".to_owned();
                world.report(worker, Answer::Failed(Failure { message, kind }));
            }
            world.wait(1);
            assert!(tries < 200, "{kind:?}");
        }
        let message = world.machine.why_waiting(JobId(1));
        assert!(message.contains("failed 5 times") && message.contains("so it says"), "{message}");
    }
}

#[test]
fn a_worker_that_goes_again_and_again_at_the_same_step_is_a_failure() {
    let mut world = World::new(1, u64::MAX);
    let mut goes = 0;
    while world.phase() == Phase::Active {
        assert!(!world.members().is_empty() && goes < 10);
        world.report(WorkerId(1), Answer::Ready { halo_positions: 0 });
        world.tell(Event::Disconnect(SessionId(1)));
        world.wait(BACKOFF.as_secs());
        world.tell(Event::Register(SessionId(1), registration(1)));
        goes += 1;
    }
    // The first time is none: workers come and go.
    assert_eq!(goes, 1 + MOST_FAILURES);
    let message = world.machine.why_waiting(JobId(1));
    assert!(message.contains("worker w1 was gone again and again"), "{message}");
    // Where the step gets further, it may go as often as it likes.
    let mut world = World::new(1, u64::MAX);
    for number in 1..=6 {
        (0..4).for_each(|_| world.work_once());
        world.commit(number);
        world.tell(Event::Disconnect(SessionId(1)));
        world.wait(BACKOFF.as_secs());
        world.tell(Event::Register(SessionId(1), registration(1)));
        assert_eq!((world.failures(), world.phase()), (0, Phase::Active));
    }
}

#[test]
fn a_disk_that_damages_all_it_is_given_does_not_have_its_steps_solved_for_ever() {
    let mut world = World::new(1, u64::MAX);
    let mut solved = 0;
    while world.phase() == Phase::Active {
        assert!(solved < 10);
        while world.machine.solution(FIRST).is_none() {
            world.work_once();
        }
        solved += 1;
        world.wait(BACKOFF.as_secs());
        // The steps that read the first one find nothing there.
        let (&step, attempt) = world.machine.attempts.first_key_value().unwrap();
        assert_ne!(step, FIRST);
        let epoch = world.machine.solution(FIRST).unwrap().epoch.number;
        let Attempt { number: attempt, order, .. } = *attempt;
        let report = Report { step, attempt, order, ..said(not_found(epoch, Some(WorkerId(1)))) };
        world.tell(Event::Report(SessionId(1), report));
    }
    assert_eq!(solved, MOST_FAILURES as usize);
    let message = world.machine.why_waiting(JobId(1));
    assert!(message.contains("failed 5 times in a row without getting further"), "{message}");
}
