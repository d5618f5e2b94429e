//! What a job takes of each worker that is there, as far as its shards are dealt out now.

use ziggurat_files::size;
use ziggurat_planning::{
    Precision, VECTORS,
    placement::{deal, positions_of},
};
use ziggurat_rpc::proto::{PlanReply, WorkerNeeds, WorkerStatus};

use super::{Alone, planning::Planned, status};
use crate::machine::{Connected, Machine, Time, positions_by_worker};

/// Who is there.
pub struct Here {
    /// The workers that are connected.
    workers: Vec<WorkerStatus>,
    /// Their speeds, in positions per second.
    speeds: Vec<f64>,
    /// Steps of fewer positions are solved by one worker.
    whole_step_positions: u64,
}

impl Here {
    /// The workers of a machine.
    pub fn of(machine: &Machine, now: Time) -> Self {
        let connected: Vec<_> = machine.connected().collect();
        let ids: Vec<_> = connected.iter().map(|here| here.registration.worker).collect();
        let status = |here: &&Connected| status::connected_worker(machine, here, now);
        Self {
            workers: connected.iter().map(status).collect(),
            speeds: machine.speeds(&ids),
            whole_step_positions: machine.limits().whole_step_positions,
        }
    }
}

/// Members read whole rows of slabs around the positions that moves lead to: by so much more, as measured
/// (docs/experiments/scale.md, 1.3 to 2.1).
const ROWS: f64 = 1.7;

/// The part of the arrays of the largest step that each worker uses, about, given by their speeds: that of its shards, and
/// of what these read.
fn shares(planned: &Planned, speeds: &[f64], whole_step_positions: u64) -> Vec<f64> {
    let Planned { plan, largest, .. } = planned;
    let shards = &plan.steps[&largest.tier].shards;
    let all = largest.positions();
    if all < whole_step_positions {
        return vec![1.0; speeds.len()]; // any of them solves it
    }
    let owners = deal(shards, speeds);
    let halos = largest.halos(&owners, speeds.len());
    let mut held: Vec<f64> = halos.into_iter().map(|halo| ROWS * halo).collect();
    shards.iter().zip(owners).for_each(|(shard, owner)| held[owner] += positions_of(shard) as f64);
    held.into_iter().map(|held| (held / all as f64).min(1.0)).collect()
}

/// What a job needs, and what is there. A worker takes memory for its share of the largest step, about. On its disk there
/// is to be room for the arrays of all of it: it may be left alone with it.
pub fn plan_reply(precision: Precision, planned: &Planned, here: Here) -> PlanReply {
    let Here { workers, speeds, whole_step_positions } = here;
    let value_bytes = precision.bytes() as u64;
    let sizes = planned.plan.order.iter().map(|size| size.positions);
    let speeds = if speeds.is_empty() { &[1.0][..] } else { &speeds };
    let positions = positions_by_worker(&planned.plan, speeds, whole_step_positions);
    // Where nobody is there yet, it is as for one.
    let nobody = [WorkerStatus::default()];
    let whose = if workers.is_empty() { &nobody[..] } else { &workers };
    let shares = shares(planned, speeds, whole_step_positions);
    let needs = whose.iter().zip(positions).zip(shares).map(|((worker, positions), share)| {
        let Alone { memory_bytes, least_memory_bytes, arrays_bytes } = planned.alone;
        let spared = ((1.0 - share) * arrays_bytes as f64) as u64;
        let memory_bytes = (memory_bytes - spared).max(least_memory_bytes);
        // Arrays have a place on the disk for all of a step where they do not fit the memory.
        let is_scarce = worker.memory_bytes > 0 && worker.memory_bytes < memory_bytes;
        let arrays_bytes = if is_scarce { arrays_bytes } else { 0 };
        // Final values, and two checkpoints of the largest step while one takes the place of another, each with a byte per
        // vector at most.
        let disk_bytes = positions.of_all * value_bytes
            + 2 * positions.of_largest * (value_bytes + VECTORS as u64)
            + arrays_bytes;
        WorkerNeeds { memory_bytes, least_memory_bytes, disk_bytes }
    });
    let needs: Vec<WorkerNeeds> = needs.collect();
    let mut missing = Vec::new();
    if workers.is_empty() {
        missing.push("no worker is connected: start some with `ziggurat worker`".to_owned());
    }
    for (worker, needs) in workers.iter().zip(&needs) {
        missing.extend(missing_of(worker, needs));
    }
    PlanReply {
        positions: planned.positions,
        largest_positions: sizes.max().unwrap_or(0),
        memory_bytes: needs.iter().map(|needs| needs.memory_bytes).sum(),
        worker_memory_bytes: known_sum(workers.iter().map(|worker| worker.memory_bytes)),
        disk_bytes: needs.iter().map(|needs| needs.disk_bytes).sum(),
        worker_disk_bytes: known_sum(workers.iter().map(|worker| worker.disk_bytes)),
        workers,
        missing,
        needs,
    }
}

/// What a worker lacks, as sentences.
fn missing_of(worker: &WorkerStatus, needs: &WorkerNeeds) -> Vec<String> {
    let WorkerStatus { name, memory_bytes, free_disk_bytes, disk_bytes, .. } = worker;
    let WorkerNeeds { memory_bytes: most, least_memory_bytes: least, disk_bytes: disk } = needs;
    let mut missing = Vec::new();
    if (1..*least).contains(memory_bytes) {
        missing.push(format!(
            "worker {name} may take {} of memory, and the job takes at least {}: start it again with more (--memory)",
            size(*memory_bytes),
            size(*least)
        ));
    } else if (1..*most).contains(memory_bytes) {
        missing.push(format!(
            "worker {name} may take {} of memory, and its share takes about {}: what does not fit is kept in files, \
             which is slower",
            size(*memory_bytes),
            size(*most)
        ));
    }
    let free = if *free_disk_bytes > 0 { *free_disk_bytes } else { *disk_bytes };
    if (1..*disk).contains(&free) {
        missing.push(format!(
            "worker {name} has {} of free disk, and up to {} may be needed there: make room, or start more workers",
            size(free),
            size(*disk)
        ));
    }
    missing
}

/// The sum of numbers of which 0 says that one is not known: 0 then.
fn known_sum(mut numbers: impl Iterator<Item = u64>) -> u64 {
    let known = |sum: u64, number| Some(sum.saturating_add(number)).filter(|_| number > 0);
    numbers.try_fold(0, known).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ziggurat_encoding::{Encoding, Tier};
    use ziggurat_game::{Overrides, Ruleset};
    use ziggurat_planning::{Settings, model::units::StepUnits};

    use super::*;
    use crate::machine::JobPlan;

    /// A job that takes a megabyte at the least, and 100 of arrays.
    fn planned() -> Planned {
        let overrides = Overrides { pieces: Some(4), ..Overrides::default() };
        let blitz = Ruleset::builtin("blitz").unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&blitz).unwrap();
        let positions = encoding.undecided();
        let (settings, tier) = (Settings::new(Precision::F64), Tier::new(4, 4));
        let largest = Arc::new(StepUnits::new(&encoding, &settings, tier, 1 << 12));
        let plan = Arc::new(JobPlan::new(encoding, settings));
        let alone = Alone {
            memory_bytes: 101_000_000,
            least_memory_bytes: 1_000_000,
            arrays_bytes: 100_000_000,
        };
        Planned { plan, largest, positions, alone }
    }

    fn worker(name: &str, memory_bytes: u64, free_disk_bytes: u64) -> WorkerStatus {
        WorkerStatus { name: name.into(), memory_bytes, free_disk_bytes, ..WorkerStatus::default() }
    }

    fn reply(workers: Vec<WorkerStatus>) -> PlanReply {
        let speeds = vec![1.0; workers.len()];
        plan_reply(Precision::F64, &planned(), Here { workers, speeds, whole_step_positions: 0 })
    }

    #[test]
    fn what_a_worker_lacks_is_said_with_its_name_and_with_what_it_takes() {
        let ample = reply(vec![worker("one", 1 << 30, 1 << 30), worker("two", 0, 0)]);
        assert!(ample.missing.is_empty(), "{:?}", ample.missing);
        let [one, two] = &ample.needs[..] else { panic!("two workers need something") };
        assert_eq!((one.memory_bytes, one.least_memory_bytes), (101_000_000, 1_000_000));
        let shares = (one.disk_bytes + two.disk_bytes) as f64;
        let largest = ample.largest_positions * 2 * (8 + VECTORS as u64);
        assert!(shares >= (ample.positions * 8 + largest) as f64 && shares < 1.1 * 1e9);

        let just = worker("just", 101_000_000, one.disk_bytes.max(two.disk_bytes));
        assert!(reply(vec![just.clone(), just]).missing.is_empty());
        let tight =
            [("tiny", 900_000, 1 << 30), ("small", 100_999_999, 1 << 30), ("full", 1 << 30, 9)];
        let tight = reply(tight.map(|(name, memory, disk)| worker(name, memory, disk)).into());
        let [tiny, small, full] = &tight.missing[..] else { panic!("{:?}", tight.missing) };
        assert!(
            tiny.starts_with("worker tiny may take 900 kB of memory, and the job takes at least"),
            "{tiny}"
        );
        assert!(
            small.starts_with("worker small may take 101 MB") && small.contains("in files"),
            "{small}"
        );
        assert!(full.starts_with("worker full has 9 B of free disk"), "{full}");
        // Arrays that do not fit the memory are on the disk.
        let [tiny, _, full] = &tight.needs[..] else { panic!("three workers need something") };
        assert!(tiny.disk_bytes > full.disk_bytes + 99_000_000);
    }

    #[test]
    fn a_worker_takes_memory_for_its_share_unless_it_solves_whole_steps() {
        let of = |workers: usize, whole_step_positions| {
            let speeds = vec![1.0; workers];
            let workers = (0..workers).map(|_| worker("any", 0, 0)).collect();
            let here = Here { workers, speeds, whole_step_positions };
            let needs = plan_reply(Precision::F64, &planned(), here).needs.into_iter();
            needs.map(|needs| needs.memory_bytes).max().unwrap()
        };
        let [alone, of_8, of_64] = [1, 8, 64].map(|workers| of(workers, 0));
        assert_eq!(alone, 101_000_000);
        assert!(of_8 < alone && of_64 < of_8 / 2 && of_64 > alone / 64, "{of_64} < {of_8}");
        assert_eq!(of(64, u64::MAX), alone);
    }

    #[test]
    fn without_workers_it_is_said_what_one_would_take() {
        let reply = reply(Vec::new());
        assert_eq!(reply.memory_bytes, 101_000_000);
        assert!(reply.disk_bytes > reply.positions * 8);
        assert!(reply.missing[0].contains("no worker is connected"), "{:?}", reply.missing);
    }
}
