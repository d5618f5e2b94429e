//! Checkpoints that go to the store while sweeps go on.

use super::*;

/// Longer than the most work that may be lost.
const A_WHILE: Duration = Duration::from_secs(100_000);

/// A member says what became of its part of a checkpoint.
fn say(world: &mut World, worker: WorkerId, epoch: u32, failure: Option<&str>) {
    let attempt = world.machine.attempts[&FIRST].number;
    let failure = failure.map(str::to_owned);
    let stored = Stored { step: FIRST, attempt, epoch, failure };
    world.tell(Event::Stored(SessionId(worker.0), stored));
}

/// Two workers with a store, of this version of the protocol, who have just been told to save. Its number.
fn saving(protocol: u32) -> (World, [WorkerId; 2], u32) {
    let mut world = World::with_stores(&[], 1);
    for worker in 1..=2 {
        let checkpoint_store = Some(7);
        let registration = Registration { protocol, checkpoint_store, ..registration(worker) };
        world.tell(Event::Register(SessionId(worker), registration));
    }
    world.tell(Event::Pause(JobId(1)));
    world.tell(Event::Resume(JobId(1)));
    world.tell(Event::Planned(JobId(1), Ok(world.plan.clone())));
    let [one, two] = world.members()[..] else { panic!("two take part") };
    world.work_once();
    world.work_once();
    assert_eq!(supersteps(&world), 1);
    let epoch = next_save(&mut world);
    (world, [one, two], epoch)
}

/// Sweeps until it is time to save. The number of the checkpoint.
fn next_save(world: &mut World) -> u32 {
    world.now += A_WHILE;
    loop {
        if let Doing::Saving { epoch, .. } = world.machine.attempts[&FIRST].doing {
            return epoch;
        }
        world.work_once();
    }
}

fn supersteps(world: &World) -> u32 {
    world.machine.attempts[&FIRST].course.statistics().supersteps
}

/// The number of the checkpoint that counts, the supersteps before it, and its store.
fn counts(world: &World) -> Option<(u32, u32, Option<u64>)> {
    let checkpoint = world.machine.checkpoint(FIRST)?;
    let supersteps = checkpoint.course.statistics().supersteps;
    Some((checkpoint.epoch.number, supersteps, checkpoint.stored))
}

#[test]
fn a_step_goes_on_while_its_checkpoint_goes_to_the_store() {
    let (mut world, [one, two], epoch) = saving(STORES_BEHIND);
    let saved = supersteps(&world);
    // One has stored its part before the other has written its own.
    world.report(one, Answer::Outcome(Outcome::Done));
    say(&mut world, one, epoch, None);
    world.report(two, Answer::Outcome(Outcome::Done));
    // There is no second one while the first is on its way, however long that takes.
    for _ in 0..3 {
        assert_eq!(world.machine.attempts[&FIRST].doing, Doing::Carrying);
        world.now += A_WHILE;
        world.work_once();
    }
    assert!(supersteps(&world) > saved);
    say(&mut world, one, epoch, None);
    say(&mut world, two, epoch + 1, None);
    assert_eq!(counts(&world), None);
    say(&mut world, two, epoch, None);
    assert_eq!(counts(&world), Some((epoch, saved, Some(7))));
    // What is lost if all are lost now is what was done since it was written; so the next one is due.
    assert_eq!(next_save(&mut world), epoch + 1);
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
}

#[test]
fn a_checkpoint_counts_that_is_stored_before_all_answers_have_come() {
    let (mut world, [one, two], epoch) = saving(STORES_BEHIND);
    world.report(one, Answer::Outcome(Outcome::Done));
    say(&mut world, one, epoch, None);
    say(&mut world, two, epoch, None);
    let expected = Some((epoch, supersteps(&world), Some(7)));
    assert_eq!(counts(&world), expected);
    world.report(two, Answer::Outcome(Outcome::Done));
    assert_eq!((counts(&world), world.members().len()), (expected, 2));
    assert_eq!(world.machine.attempts[&FIRST].doing, Doing::Carrying);
}

#[test]
fn a_store_that_takes_nothing_does_not_end_an_attempt_but_is_waited_for_next_time() {
    for before_answers in [true, false] {
        let (mut world, [one, _], epoch) = saving(STORES_BEHIND);
        if before_answers {
            say(&mut world, one, epoch, Some("it is full"));
        }
        world.work_once();
        if !before_answers {
            say(&mut world, one, epoch, Some("it is full"));
        }
        assert_eq!((counts(&world), world.failures()), (None, 0));
        while world.machine.attempts[&FIRST].doing == Doing::Carrying {
            world.work_once();
        }
        let doing = world.machine.attempts[&FIRST].doing;
        assert_eq!(doing, Doing::Saving { epoch: epoch + 1, stored: Some(7), behind: false });
        let saved = supersteps(&world);
        world.work_once();
        assert_eq!(counts(&world), Some((epoch + 1, saved, Some(7))));
        assert_eq!(next_save(&mut world), epoch + 2);
        let doing = world.machine.attempts[&FIRST].doing;
        assert_eq!(doing, Doing::Saving { epoch: epoch + 2, stored: Some(7), behind: true });
    }
}

#[test]
fn a_job_that_is_paused_meanwhile_is_saved_anew() {
    let (mut world, [one, two], epoch) = saving(STORES_BEHIND);
    world.work_once();
    world.tell(Event::Pause(JobId(1)));
    while world.machine.attempts[&FIRST].doing == Doing::Carrying {
        world.work_once();
    }
    let doing = world.machine.attempts[&FIRST].doing;
    assert_eq!(doing, Doing::Saving { epoch: epoch + 1, stored: Some(7), behind: false });
    // The one before is called off.
    say(&mut world, one, epoch, None);
    say(&mut world, two, epoch, None);
    assert_eq!(counts(&world), None);
    let saved = supersteps(&world);
    world.work_once();
    assert_eq!((counts(&world), world.members()), (Some((epoch + 1, saved, Some(7))), vec![]));
}

#[test]
fn what_had_not_reached_the_store_does_not_count_when_a_member_goes() {
    let (mut world, [one, two], epoch) = saving(STORES_BEHIND);
    world.work_once();
    say(&mut world, one, epoch, None);
    let attempt = world.machine.attempts[&FIRST].number;
    world.tell(Event::Disconnect(SessionId(two.0)));
    let stored = Stored { step: FIRST, attempt, epoch, failure: None };
    world.tell(Event::Stored(SessionId(one.0), stored));
    assert_eq!(counts(&world), None);
    assert_eq!((world.members(), supersteps(&world)), (vec![one], 0));
}

#[test]
fn members_that_cannot_store_behind_their_sweeps_are_waited_for() {
    let (mut world, _, epoch) = saving(STORES_BEHIND - 1);
    let doing = world.machine.attempts[&FIRST].doing;
    assert_eq!(doing, Doing::Saving { epoch, stored: Some(7), behind: false });
    world.work_once();
    assert_eq!(counts(&world), Some((epoch, supersteps(&world), Some(7))));
}

#[test]
fn a_checkpoint_that_took_long_is_followed_by_ten_times_as_much_work() {
    let is_saving = |world: &World| {
        let attempt = &world.machine.attempts[&FIRST];
        assert!(attempt.course.order().is_some(), "the step goes on");
        matches!(attempt.doing, Doing::Saving { .. })
    };
    let mut world = World::new(2, 1);
    world.work_once();
    next_save(&mut world);
    world.now += A_WHILE;
    world.work_once();
    world.now += A_WHILE * WORK_BY_SAVE - Duration::from_secs(1);
    for _ in 0..3 {
        world.work_once();
        assert!(!is_saving(&world));
    }
    world.now += Duration::from_secs(1);
    while !is_saving(&world) {
        world.work_once();
    }
}
