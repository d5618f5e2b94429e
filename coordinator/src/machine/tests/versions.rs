//! Workers of two versions of the protocol.

use super::*;

/// Workers of some versions, who have so many cores, one after the other.
fn of(workers: &[(u32, u32)]) -> World {
    let mut world = World::new(0, 1);
    for (worker, &(protocol, cores)) in (1..).zip(workers) {
        let registration = Registration { protocol, cores, ..registration(worker) };
        world.tell(Event::Register(SessionId(worker), registration));
    }
    // A large step takes all who can take part, once none is busy.
    world.tell(Event::Pause(JobId(1)));
    world.tell(Event::Resume(JobId(1)));
    world.tell(Event::Planned(JobId(1), Ok(world.plan.clone())));
    world
}

#[test]
fn members_of_an_attempt_are_of_the_version_that_most_cores_have() {
    let [old, new] = [KEEPS_ONE - 1, KEEPS_ONE];
    for (workers, expected) in [
        (&[(old, 1), (new, 1), (old, 1)][..], &[1, 3][..]),
        (&[(old, 1), (new, 4), (old, 1)], &[2]),
        (&[(new, 1), (old, 1)], &[1]),
        (&[(old, 1), (new, 1)], &[2]),
        (&[(old, 1), (old, 1)], &[1, 2]),
    ] {
        let world = of(workers);
        let expected: Vec<WorkerId> = expected.iter().copied().map(WorkerId).collect();
        assert_eq!(world.members(), expected, "{workers:?}");
    }
}

#[test]
fn a_job_is_solved_by_workers_of_two_versions_that_come_and_go() {
    let mut world = of(&[(KEEPS_ONE - 1, 1), (KEEPS_ONE - 1, 1)]);
    assert_eq!(world.members().len(), 2);
    for worker in [1, 2] {
        world.work_once();
        // Its program is replaced.
        world.tell(Event::Disconnect(SessionId(worker)));
        world.tell(Event::Register(SessionId(worker + 10), registration(worker)));
    }
    world.work();
    assert_eq!(world.phase(), Phase::Solved);
}

#[test]
fn what_a_worker_cannot_keep_alone_it_is_not_told_to_drop() {
    let mut world = World::new(0, u64::MAX);
    let old = Registration { protocol: KEEPS_ONE - 1, ..registration(1) };
    world.tell(Event::Register(SessionId(1), old));
    world.tell(Event::Register(SessionId(2), registration(2)));
    let kept = Some(Epoch { number: 3, incarnation: 1 });
    for (kept, expected) in [(kept, vec![2]), (None, vec![1, 2])] {
        world.machine.drop_before(FIRST, 7, kept);
        let commands = std::mem::take(&mut world.machine.output).commands.into_iter();
        let told = commands.filter_map(|command| match command {
            Command::Send(session, Message::Commit { epoch: 7, .. }) => Some(session.0),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn members_of_another_version_begin_a_step_anew_that_is_under_way() {
    for (new, kept) in [(KEEPS_ONE, true), (KEEPS_ONE + 1, false)] {
        let mut world = of(&[(KEEPS_ONE, 1)]);
        world.work_once();
        world.commit(1);
        world.tell(Event::Disconnect(SessionId(1)));
        let registration = Registration { protocol: new, ..registration(1) };
        world.tell(Event::Register(SessionId(2), registration));
        let is_kept = world.machine.records.steps[&FIRST].checkpoint.is_some();
        assert_eq!((world.members(), is_kept), (vec![WorkerId(1)], kept));
    }
}
