//! Workers of two versions of the protocol.

use ziggurat_rpc::limits::SAME_SWEEPS;

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
    let [old, new] = [STORES_BEHIND - 1, STORES_BEHIND];
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
    let mut world = of(&[(STORES_BEHIND - 1, 1), (STORES_BEHIND - 1, 1)]);
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
fn members_that_would_do_otherwise_begin_a_step_anew_that_is_under_way() {
    let [other, same] = [SAME_SWEEPS - 1, SAME_SWEEPS];
    for (old, new, kept) in [
        (other, other, true),
        (other, same, false),
        (same, other, false),
        (same, same + 1, true),
        (same + 1, same, true),
    ] {
        let mut world = of(&[(old, 1)]);
        world.work_once();
        world.commit(1);
        world.tell(Event::Disconnect(SessionId(1)));
        let registration = Registration { protocol: new, ..registration(1) };
        world.tell(Event::Register(SessionId(2), registration));
        let is_kept = world.machine.records.steps[&FIRST].checkpoint.is_some();
        assert_eq!((world.members(), is_kept), (vec![WorkerId(1)], kept), "{old}, {new}");
    }
}
