//! Workers that come back after what they have was given up.

use super::*;

/// A world in which the first step was solved by a worker that is away, and another worker is there.
fn away() -> World {
    let mut world = World::new(1, u64::MAX);
    while world.machine.solution(FIRST).is_none() {
        world.work_once();
    }
    world.tell(Event::Disconnect(SessionId(1)));
    world.tell(Event::Register(SessionId(2), registration(2)));
    world
}

fn forget(world: &mut World, worker: u64) {
    let name = format!("w{worker}");
    assert_eq!(world.ask(Event::ForgetWorker(name)), Ok(Changed::Worker(WorkerId(worker))));
}

/// The checkpoints of the first step that a worker is told to keep when it is let in.
fn welcomed(world: &mut World, session: u64, worker: u64) -> Vec<Epoch> {
    let told = world.tell(Event::Register(SessionId(session), registration(worker)));
    let welcome = told.into_iter().find_map(|command| match command {
        Command::Send(_, Message::Welcome { commits, .. }) => Some(commits),
        _ => None,
    });
    let commits = welcome.expect("it is let in").into_iter();
    commits.filter(|(step, _)| *step == FIRST).map(|(_, epoch)| epoch).collect()
}

#[test]
fn a_solution_that_was_given_up_counts_again_when_its_worker_is_back() {
    let mut world = away();
    let solution = world.machine.solution(FIRST).unwrap().clone();
    forget(&mut world, 1);
    assert_eq!(world.members(), [WorkerId(2)]);
    // What is saved on the way to another does not have it dropped.
    world.work_once();
    world.work_once();
    let told = {
        world.machine.records.jobs.get_mut(&JobId(1)).unwrap().checkpoint_every = Duration::ZERO;
        loop {
            assert!(world.machine.solution(FIRST).is_none());
            let mut told = world.answers().into_iter().flat_map(|answer| world.tell(answer));
            let commit = told.find_map(|command| match command {
                Command::Send(_, Message::Commit { step, epoch, kept }) => {
                    Some((step, epoch, kept))
                }
                _ => None,
            });
            if let Some(commit) = commit {
                break commit;
            }
        }
    };
    let under_way = world.machine.checkpoint(FIRST).unwrap().epoch;
    assert_eq!(told, (FIRST, under_way.number, Some(solution.epoch)));
    let kept = welcomed(&mut world, 3, 1);
    assert_eq!(kept, [solution.epoch]);
    assert_eq!(world.machine.solution(FIRST), Some(&solution));
    assert_eq!(world.members(), []);
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
    assert_eq!(world.machine.solution(FIRST), Some(&solution));
}

#[test]
fn what_was_solved_again_stays_when_the_worker_is_back() {
    let mut world = away();
    let before = world.machine.solution(FIRST).unwrap().epoch;
    forget(&mut world, 1);
    while world.machine.solution(FIRST).is_none() {
        world.work_once();
    }
    let solution = world.machine.solution(FIRST).unwrap().clone();
    assert_ne!(solution.epoch, before);
    assert_eq!(welcomed(&mut world, 3, 1), [solution.epoch]);
    assert_eq!(world.machine.solution(FIRST), Some(&solution));
}

#[test]
fn what_a_solved_job_has_lost_counts_again_when_its_worker_is_back() {
    let mut world = World::new(1, u64::MAX);
    world.work();
    world.tell(Event::Disconnect(SessionId(1)));
    let missing = |world: &World| world.machine.missing(JobId(1));
    for again in 0..2 {
        forget(&mut world, 1);
        assert!(missing(&world).is_some());
        let why = world.machine.why_waiting(JobId(1));
        assert!(why.contains("if it comes back with its directory"), "{why}");
        if again == 1 {
            // Somebody has it solved again, and nobody has got far.
            world.ask(Event::Resume(JobId(1))).unwrap();
            world.tell(Event::Planned(JobId(1), Ok(world.plan.clone())));
            world.tell(Event::Register(SessionId(4), registration(2)));
            world.work_once();
            assert_eq!(world.phase(), Phase::Active);
        }
        world.tell(Event::Register(SessionId(5 + again), registration(1)));
        assert_eq!((missing(&world), world.phase()), (None, Phase::Solved));
        assert_eq!(world.machine.why_waiting(JobId(1)), "");
        world.tell(Event::Disconnect(SessionId(5 + again)));
    }
}

#[test]
fn what_is_proven_to_be_lost_does_not_count_again() {
    // An operator has seen that the disk is gone, or somebody has not found anything there.
    for is_replaced in [true, false] {
        for was_given_up in [true, false] {
            let mut world = away();
            let epoch = world.machine.solution(FIRST).unwrap().epoch.number;
            if was_given_up {
                forget(&mut world, 1);
            }
            if is_replaced {
                let (replaces, worker) = ("w1".to_owned(), WorkerId(3));
                let replacing = Registration { replaces, worker, ..registration(3) };
                world.tell(Event::Register(SessionId(3), replacing));
            }
            world.tell(Event::Register(SessionId(4), registration(1)));
            let is_back = world.machine.solution(FIRST).is_some();
            // What was forgotten has no name any more by which somebody could take its place.
            assert_eq!(is_back, !is_replaced || was_given_up);
            if !is_replaced {
                let (&step, attempt) = world.machine.attempts.first_key_value().unwrap();
                let Attempt { number: attempt, order, ref members, .. } = *attempt;
                let session = members[0].session;
                let answer = not_found(epoch, Some(WorkerId(1)));
                let report = Report { step, attempt, order, ..said(answer) };
                world.tell(Event::Report(session, report));
                assert!(world.machine.solution(FIRST).is_none());
                world.tell(Event::Disconnect(SessionId(4)));
                assert_eq!(welcomed(&mut world, 5, 1), []);
                assert!(world.machine.solution(FIRST).is_none());
            }
        }
    }
}
