//! The machine in a simulated world, where anything may go wrong that can.
//!
//! A seed decides everything. The machine's invariants are checked after every event, and what it tells the
//! workers is compared with what the world knows: that values are where it says, that nothing is committed
//! which was not saved, that numbers never go back, that records are written when they change. In the
//! end, when nothing goes wrong any more, every job has to be solved, with the values that one
//! process finds.
//!
//! `ZIGGURAT_SEEDS=1000..2000` runs other seeds, `ZIGGURAT_SEEDS=17` one.

mod chance;
mod claims;
pub(super) mod values;
pub(super) mod worker;
mod world;

use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_planning::{Goal, Precision, Settings};

use self::{values::Value, world::World};
use super::{
    Epoch, Event, Failure, FailureKind, JobId, JobPlan, Limits, Phase, Scheduling, StepId, WorkerId,
};

type Solutions = Arc<BTreeMap<Tier, Vec<Value>>>;

/// A small game, cut into so many shards that there is something to share.
fn game() -> (Arc<JobPlan>, Solutions) {
    let pieces = Overrides { pieces: Some(3), ..Overrides::default() };
    let ruleset = Ruleset::builtin("finkel").unwrap().with(&pieces).unwrap();
    let encoding = Encoding::new(&ruleset).unwrap();
    let settings = Settings { shard_positions: Some(10_000), ..Settings::new(Precision::F64) };
    let mut plan = JobPlan::new(encoding, settings);
    plan.goal = |encoding, settings, tier, read| {
        let functions = if tier == values::CORRECTED { values::FUNCTIONS } else { 0 };
        Goal { functions, ..Goal::new(encoding, settings, tier, read) }
    };
    let (solutions, _) = values::solve(&plan);
    (Arc::new(plan), Arc::new(solutions))
}

fn limits() -> Limits {
    let whole_step_positions = 30_000;
    let seconds = Duration::from_secs;
    Limits { whole_step_positions, ..Limits::new(seconds(10), seconds(60)) }
}

/// What may go wrong, one after another.
fn something_goes_wrong(world: &mut World, jobs: u64) {
    let for_a_while = |world: &mut World| {
        let longest = if world.chance.once_in(4) { 120_000 } else { 15_000 };
        Duration::from_millis(world.chance.below(longest))
    };
    let count = world.workers.len() as u64;
    let place = world.chance.below(count) as usize;
    let other = world.chance.below(count) as usize;
    let (one, two) = (world.workers[place].id, world.workers[other].id);
    let until = world.now + for_a_while(world);
    let job = JobId(1 + world.chance.below(jobs));
    let failure = |kind| Failure { message: "trouble".to_owned(), kind };
    match world.chance.below(25) {
        0..=2 => {
            let away = for_a_while(world);
            world.crash(place, away);
        }
        3 => {
            let away = for_a_while(world);
            world.crash(place, away);
            world.lose_disk(place);
            world.workers[place].replaces = world.chance.once_in(2);
        }
        4 | 5 if one != two => {
            world.unreachable_pairs.insert((one.min(two), one.max(two)), until);
        }
        6 => {
            world.cut_off.insert(one, until);
        }
        7 => world.restart(),
        8 => world.workers[place].slow = 1 + world.chance.below(50),
        9 if world.chance.once_in(2) => {
            let name = world.workers[place].name.clone();
            world.tell(Event::DrainWorker(name));
        }
        9 => {
            world.workers[place].draining = true;
            if let Some(session) = world.workers[place].session {
                world.tell(Event::Drain(session));
            }
        }
        10 => world.tell(Event::Pause(job)),
        11 => world.tell(Event::Resume(job)),
        12 if world.chance.once_in(30) => world.tell(Event::Cancel { job, force: true }),
        12 if world.chance.once_in(3) => world.tell(Event::Remove(job)),
        13 => {
            let disk = &mut world.workers[place].disk;
            let parts = disk.len() as u64;
            if parts > 0 {
                let part = world.chance.below(parts) as usize;
                let part = *world.workers[place].disk.keys().nth(part).unwrap();
                world.workers[place].disk.remove(&part);
                world.damaged.insert(part);
            }
        }
        14 => world.workers[place].trouble = Some(failure(Some(FailureKind::Unable))),
        15 => {
            let kind = world.chance.once_in(2).then_some(FailureKind::Cancelled);
            world.workers[place].trouble = Some(failure(kind));
        }
        16 if world.chance.once_in(4) => {
            let parts: Vec<(StepId, Epoch)> = world.store.keys().copied().collect();
            if !parts.is_empty() {
                let part = parts[world.chance.below(parts.len() as u64) as usize];
                world.store.remove(&part);
                world.damaged.insert(part);
            }
        }
        17 => world.copy_or_go_back(),
        18 => world.start_refused(place),
        20 => world.workers[place].pretends = true,
        21 => world.workers[place].is_stuck = true,
        22 => world.workers[place].saves_slowly = true,
        24 if !world.workers[place].up => {
            let name = world.workers[place].name.clone();
            world.forget(&name);
        }
        23 => world.workers[place].claim = Some(failure(Some(something_wrong(world, two)))),
        19 if count < 7 => world.join_twin(place),
        _ if count < 7 => world.join(false),
        _ => {}
    }
}

/// Something that a worker says without a reason.
fn something_wrong(world: &mut World, other: WorkerId) -> FailureKind {
    match world.chance.below(3) {
        0 => FailureKind::OutOfReach(other),
        1 => FailureKind::Unreachable(world.chance.below(5) as u32),
        _ => {
            let (tier, epoch) = (Tier::new(1 + world.chance.below(3) as u8, 1), 1_000_000);
            let worker = world.chance.once_in(2).then_some(other);
            FailureKind::Damage { tier, epoch, worker }
        }
    }
}

/// Nothing is wrong any more, but that some of the workers are gone for good.
fn heal(world: &mut World, jobs: u64) {
    world.faults = false;
    for place in (1..world.workers.len()).rev() {
        if world.chance.once_in(3) {
            let gone = world.workers.remove(place);
            world.gone.insert(gone.id);
        }
    }
    // What only the checkpoint store has is never given up: somebody has to read it.
    if !world.workers[0].store && world.anything_is_stored() {
        world.crash(0, Duration::ZERO);
        world.workers[0].store = true;
    }
    world.unreachable_pairs.clear();
    world.cut_off.clear();
    for worker in &mut world.workers {
        (worker.slow, worker.trouble, worker.draining) = (1, None, false);
        (worker.pretends, worker.is_stuck, worker.saves_slowly) = (false, false, false);
        worker.claim = None;
        if !worker.up {
            worker.returns = Some(world.now);
        }
    }
    for job in 1..=jobs {
        world.tell(Event::Resume(JobId(job)));
    }
}

/// Runs the world of a seed to its end. Returns the number of events, and those of parts of checkpoints that were stored
/// behind sweeps, and that were not.
fn run(seed: u64, (plan, solutions): &(Arc<JobPlan>, Solutions)) -> [u64; 3] {
    let solved_lost_after = (seed % 2 == 1).then_some(Duration::from_secs(60));
    let limits = Limits { solved_lost_after, ..limits() };
    let mut world = World::new(seed, plan.clone(), solutions.clone(), limits);
    let jobs = 1 + world.chance.below(3);
    let workers = 1 + world.chance.below(5);
    let store = world.chance.below(3);
    for _ in 0..workers {
        let has_store = store == 2 || store == 1 && world.chance.once_in(2);
        world.join(has_store);
    }
    for job in 0..jobs {
        let scheduling = Scheduling {
            priority: world.chance.below(3) as i32 - 1,
            max_workers: world.chance.once_in(3).then(|| 1 + world.chance.below(3) as u32),
            after: (job > 0 && world.chance.once_in(3)).then_some(JobId(job)),
        };
        world.submit(&format!("job {job}"), scheduling);
        world.submit(&format!("job {job}"), scheduling);
    }
    let calm = [50, 300, 2000][world.chance.below(3) as usize];
    let faults = world.chance.below(6000);
    while world.events < faults {
        world.go_on();
        if world.chance.once_in(calm) {
            something_goes_wrong(&mut world, jobs);
        }
    }
    while world.machine.is_none() {
        world.go_on();
    }
    heal(&mut world, jobs);
    let end = world.now + Duration::from_secs(3600);
    loop {
        world.go_on();
        world.forget_gone();
        world.rename_refused();
        let machine = world.machine.as_ref().expect("nobody kills it any more");
        // What went wrong before may be counted to the end, and a job may wait for one that was cancelled: it says what helps.
        let helps = |id: JobId| format!("`ziggurat resume {id}`");
        let is_stuck = |&(&id, job): &(&JobId, &super::JobRecord)| {
            job.phase == Phase::Failed
                || job.phase == Phase::Active && machine.why_waiting(id).contains(&helps(id))
        };
        if let Some(job) = machine.records().jobs.iter().find(is_stuck).map(|(&id, _)| id) {
            world.tell(Event::Resume(job));
        }
        if world.is_over_for_all() {
            break;
        }
        if world.now > end {
            let machine = world.machine.as_ref().expect("nobody kills it any more");
            let jobs = machine.records().jobs.iter();
            let why = jobs.map(|(&id, job)| (id, job.phase, machine.why_waiting(id)));
            panic!("it never ends: {:?}", why.collect::<Vec<_>>());
        }
    }
    world.check_solutions();
    let (stored, called_off) = world.behind;
    [world.events, stored, called_off]
}

/// The seeds to run.
fn seeds(default: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ZIGGURAT_SEEDS") else { return default };
    let number = |text: &str| text.parse().expect("ZIGGURAT_SEEDS is a seed or FIRST..END");
    match text.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(&text)..number(&text) + 1,
    }
}

#[test]
fn whatever_happens_every_job_ends_in_the_values_of_one_process() {
    let game = game();
    let ([mut events, mut stored, mut called_off], start) = ([0; 3], std::time::Instant::now());
    let seeds = seeds(0..100);
    for seed in seeds.clone() {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed, &game)));
        match ran {
            Ok([more, behind, not]) => {
                (events, stored, called_off) = (events + more, stored + behind, called_off + not);
            }
            Err(_) => panic!("ZIGGURAT_SEEDS={seed} runs it again"),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = events as f64 / seconds;
    println!("seeds {seeds:?}: {events} events in {seconds:.1} s, {rate:.0} per second");
    println!("{stored} parts were stored behind sweeps, {called_off} were not");
    assert!(seeds.end - seeds.start < 100 || stored.min(called_off) > 20);
}

#[test]
fn a_loss_that_was_found_is_one_though_nobody_can_look_for_it_any_more() {
    let (plan, solutions) = game();
    let mut world = World::new(1, plan, solutions, limits());
    world.faults = false;
    (0..2).for_each(|_| world.join(false));
    world.workers[1].protocol = world.workers[0].protocol;
    world.submit("job", Scheduling::default());
    // One worker has all it needs for a step, and loses what it had before the other asks for its part of that.
    let owner = world.workers[0].id;
    let missed = loop {
        assert!(!world.is_over_for_all(), "no step is worked on by two");
        world.go_on();
        if let Some(step) = world.about_to_miss(1, owner) {
            break step;
        }
        let part = world.workers[0].part.as_ref();
        let is_shared = part.is_some_and(|part| part.assignment.members.len() == 2);
        if is_shared && world.workers[1].part.is_none() {
            world.workers[0].disk.clear();
        }
    };
    // Before the coordinator hears of it, the whole disk is gone.
    world.crash(0, Duration::ZERO);
    world.lose_disk(0);
    let is_solved = |world: &World| {
        let records = world.machine.as_ref().expect("it runs").records();
        records.steps[&missed].solution().is_some()
    };
    assert!(is_solved(&world));
    let soon = world.now + Duration::from_secs(1);
    while is_solved(&world) {
        assert!(world.now < soon, "nobody told of it");
        world.go_on();
    }
    while !world.is_over_for_all() {
        world.go_on();
        world.forget_gone();
        world.rename_refused();
    }
    world.check_solutions();
}
