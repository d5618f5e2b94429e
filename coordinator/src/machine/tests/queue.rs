//! Which job goes first, with how many workers, and when it is removed.

use super::*;

fn priority(priority: i32) -> Scheduling {
    Scheduling { priority, ..Scheduling::default() }
}

fn after(job: u64) -> Scheduling {
    Scheduling { after: Some(JobId(job)), ..Scheduling::default() }
}

/// What a request was refused for.
fn refused(answer: Result<Changed, Refusal>) -> String {
    match answer {
        Err(Refusal::WrongPhase(why)) => why,
        other => panic!("{other:?}"),
    }
}

impl World {
    /// A worker connects.
    fn join(&mut self, worker: u64) {
        self.tell(Event::Register(SessionId(worker), registration(worker)));
    }

    /// The plan of a job is worked out.
    fn planned(&mut self, job: u64) {
        self.tell(Event::Planned(JobId(job), Ok(self.plan.clone())));
    }

    /// The jobs that are worked on, and by how many.
    fn at_work(&self) -> Vec<(u64, usize)> {
        let attempts = self.machine.attempts.iter();
        attempts.map(|(step, attempt)| (step.job.0, attempt.members.len())).collect()
    }

    fn jobs(&self) -> Vec<u64> {
        self.machine.records.jobs.keys().map(|job| job.0).collect()
    }
}

#[test]
fn jobs_of_higher_priority_go_first_and_the_oldest_among_equals() {
    let mut world = World::new(0, u64::MAX);
    for wanted in [0, 5, 5, -1] {
        world.submit_with(priority(wanted)).unwrap();
    }
    let queue: Vec<u64> = world.machine.queue().iter().map(|job| job.0).collect();
    assert_eq!(queue, [3, 4, 1, 2, 5]);
    world.join(1);
    assert_eq!(world.at_work(), [(3, 1)]);
    // A job that is solved again goes after all others, whatever its priority.
    world.machine.records.jobs.get_mut(&JobId(3)).unwrap().again = true;
    assert_eq!(world.machine.queue().last(), Some(&JobId(3)));
}

#[test]
fn an_attempt_ends_at_its_next_checkpoint_for_a_job_of_higher_priority_and_for_no_other() {
    for (wanted, first) in [(1, 2), (0, 1)] {
        let mut world = World::new(2, 1);
        let job = world.machine.records.jobs.get_mut(&JobId(1)).unwrap();
        job.checkpoint_every = Duration::ZERO;
        world.work_once();
        world.submit_with(priority(wanted)).unwrap();
        assert_eq!(world.at_work(), [(1, 2)], "nothing is interrupted");
        let step = *world.machine.attempts.first_key_value().unwrap().0;
        while world.machine.attempts.contains_key(&step) {
            world.work_once();
        }
        let is_solved = world.machine.solution(step).is_some();
        let is_saved = world.machine.checkpoint(step).is_some();
        assert_eq!((world.at_work()[0].0, is_saved, is_solved), (first, true, first == 1));
    }
}

#[test]
fn a_job_has_no_more_workers_than_it_may_and_the_others_are_free_for_the_next() {
    let mut world = World::new(0, 1);
    let few = Scheduling { max_workers: Some(2), ..priority(1) };
    world.submit_with(few).unwrap();
    let jobs = [JobId(1), JobId(2)];
    for job in jobs {
        world.tell(Event::Pause(job));
    }
    for worker in 1..=5 {
        world.join(worker);
    }
    for job in jobs {
        world.tell(Event::Resume(job));
        world.planned(job.0);
    }
    // The one that came first has all workers until its step is solved.
    assert_eq!(world.at_work(), [(1, 5)]);
    while world.at_work() == [(1, 5)] {
        world.work_once();
    }
    // Neither waits for the other then.
    assert_eq!(world.at_work(), [(1, 3), (2, 2)]);
}

#[test]
fn a_job_that_comes_after_another_begins_when_that_is_solved() {
    let mut world = World::new(1, u64::MAX);
    world.submit_with(after(1)).unwrap();
    let why = world.machine.why_waiting(JobId(2));
    assert_eq!(why, "waiting for job 1, which is to be solved first");
    assert_eq!(
        refused(world.ask(Event::Remove(JobId(1)))),
        "job 1 is active; `ziggurat cancel 1` ends it"
    );
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
    world.planned(2);
    assert_eq!(world.at_work(), [(2, 1)]);
    // It has begun: what becomes of the other then is nothing to it.
    world.ask(Event::Cancel { job: JobId(1), force: true }).unwrap();
    assert_eq!(world.at_work(), [(2, 1)]);
    assert_eq!(world.machine.waits_for(JobId(2)), None);
    // After what is solved, a job begins at once.
    let mut world = World::new(1, u64::MAX);
    world.work();
    world.submit_with(after(1)).unwrap();
    world.planned(2);
    assert_eq!(world.at_work(), [(2, 1)]);
}

#[test]
fn a_job_that_waits_for_one_that_is_not_solved_says_how_to_go_on() {
    let mut world = World::new(1, u64::MAX);
    world.submit_with(after(1)).unwrap();
    assert_eq!(world.submit_with(after(7)), Err(Refusal::NoSuchJob(JobId(7))));
    let why = |world: &World| world.machine.why_waiting(JobId(2));
    world.tell(Event::Pause(JobId(1)));
    assert!(why(&world).contains("`ziggurat resume 1` goes on with it"), "{}", why(&world));
    // To resume it changes nothing while the other may be solved.
    world.ask(Event::Resume(JobId(2))).unwrap();
    assert_eq!(world.machine.waits_for(JobId(2)), Some(JobId(1)));
    let told = world.tell(Event::Planned(JobId(1), Err("no plan".to_owned())));
    let is_told = |command: &Command| {
        let Command::Note(note) = command else { return false };
        (note.job, note.kind) == (Some(JobId(2)), Kind::After) && note.text.contains("has failed")
    };
    assert!(told.iter().any(is_told), "{told:?}");
    let both = ["`ziggurat resume 1` tries again", "`ziggurat resume 2` goes on without it"];
    assert!(both.iter().all(|way| why(&world).contains(way)), "{}", why(&world));
    let kept = refused(world.ask(Event::Remove(JobId(1))));
    assert!(kept.contains("job 2 waits for job 1"), "{kept}");
    world.tell(Event::Cancel { job: JobId(1), force: false });
    assert!(!why(&world).contains("resume 1") && why(&world).contains(both[1]), "{}", why(&world));
    assert!(refused(world.submit_with(after(1))).contains("submit without --after 1"));
    world.ask(Event::Resume(JobId(2))).unwrap();
    assert_eq!(world.machine.waits_for(JobId(2)), None);
    world.planned(2);
    assert_eq!(world.at_work(), [(2, 1)]);
}

#[test]
fn a_job_that_has_ended_is_removed_with_all_that_it_left_and_its_number_is_not_given_again() {
    let mut world = World::new(1, u64::MAX);
    world.tell(Event::Pause(JobId(1)));
    let why = refused(world.ask(Event::Remove(JobId(1))));
    assert_eq!(why, "job 1 is paused; `ziggurat cancel 1` ends it");
    world.tell(Event::Resume(JobId(1)));
    world.planned(1);
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
    let output = world.machine.handle(Event::Remove(JobId(1)), world.now);
    let is_forgotten = |command: &Command| {
        matches!(command, Command::Send(SessionId(1), Message::Forget(JobId(1))))
    };
    assert!(output.commands.iter().any(is_forgotten));
    assert!(
        output.changed.contains(&Key::Job(JobId(1))) && output.changed.contains(&Key::Step(FIRST))
    );
    world.machine.check().unwrap();
    assert!(world.jobs().is_empty() && world.machine.records.steps.is_empty());
    // The same request is sent again if its answer was lost.
    assert_eq!(world.ask(Event::Remove(JobId(1))), Ok(Changed::Job(JobId(1))));
    assert_eq!(world.ask(Event::Remove(JobId(2))), Err(Refusal::NoSuchJob(JobId(2))));
    let records = world.machine.records.clone();
    (world.machine, _) = Machine::new(records, 2, world.machine.limits, world.now);
    world.submit_another();
    assert_eq!(world.jobs(), [2]);
}

#[test]
fn a_job_is_removed_only_where_its_checkpoint_store_is_cleared_too() {
    for is_cancelled in [false, true] {
        let mut world = World::with_stores(&[Some(7)], u64::MAX);
        world.work();
        world.tell(Event::Disconnect(SessionId(1)));
        world.join(2);
        if is_cancelled {
            world.ask(Event::Cancel { job: JobId(1), force: true }).unwrap();
        }
        let why = refused(world.ask(Event::Remove(JobId(1))));
        assert!(why.contains("a checkpoint store has values of job 1"), "{why}");
        let registration = Registration { checkpoint_store: Some(7), ..registration(3) };
        world.tell(Event::Register(SessionId(3), registration));
        world.ask(Event::Remove(JobId(1))).unwrap();
        assert!(world.jobs().is_empty());
    }
}

#[test]
fn jobs_that_ended_are_removed_after_the_time_that_they_are_kept() {
    let mut world = World::new(1, u64::MAX);
    world.submit_with(after(1)).unwrap();
    world.submit_another();
    world.tell(Event::Cancel { job: JobId(3), force: false });
    world.tell(Event::Pause(JobId(2)));
    world.work();
    world.submit_another();
    world.tell(Event::Planned(JobId(4), Err("no plan".to_owned())));
    let ended = |world: &World| {
        world
            .jobs()
            .into_iter()
            .map(|job| world.machine.records.jobs[&JobId(job)].phase)
            .collect::<Vec<_>>()
    };
    assert_eq!(ended(&world), [Phase::Solved, Phase::Paused, Phase::Cancelled, Phase::Failed]);
    world.wait(80_000);
    assert_eq!(world.jobs(), [1, 2, 3, 4], "nothing is removed that nobody asked for");
    world.machine.limits.keep_ended = Some(Duration::from_secs(80_001));
    world.wait(1);
    assert_eq!(world.jobs(), [1, 2, 3, 4]);
    world.wait(1);
    assert_eq!(world.jobs(), [2]);
}
