//! Other units in the model before they are built: `units masters:7 blitz:5` prints how many times as fast as one core
//! others are, for several ways to cut the work of a step and to order it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_planning::{
    model::{makespan::makespan, readers::sample},
    steps,
    waves::{ShardIndex, Wave, interval_waves, progress, waves},
};

const CORES: [usize; 4] = [2, 16, 64, 1024];

/// Positions that are sampled of a step to know which units read each other.
const SAMPLES: u64 = 1 << 14;

/// Smaller steps are left out.
const LEAST_POSITIONS: u64 = 1 << 20;

fn main() {
    println!("speed-up on {CORES:?} cores, barriers of the largest step");
    for game in std::env::args().skip(1) {
        let (name, pieces) = game.split_once(':').expect("games are given as name:pieces");
        let pieces = Some(pieces.parse().expect("pieces are a number"));
        let ruleset = Ruleset::builtin(name).expect("a built-in ruleset");
        let ruleset = ruleset.with(&Overrides { pieces, ..Overrides::default() });
        let encoding = Encoding::new(&ruleset.expect("a number of pieces")).expect("a ranking");
        println!("{game}");
        let mut large = steps(&encoding);
        large.retain(|&tier| encoding.step_len(tier) >= LEAST_POSITIONS);
        for parts in [1, 4, 16] {
            let cut = |&tier| Cut::new(&encoding, tier, parts);
            let steps: Vec<Cut> = large.iter().map(cut).collect();
            let units = steps.iter().map(|step| step.units.len()).max().unwrap_or(0);
            println!("  shards in up to {parts} parts: at most {units} units");
            print("waves", &steps, |step, cores| step.by_waves(&step.waves, 1, cores));
            print("progress", &steps, |step, cores| step.by_waves(&step.levels, 1, cores));
            print("progress of shards", &steps, |step, cores| {
                step.by_waves(&step.coarse, 1, cores)
            });
            print("and two chains", &steps, |step, cores| step.by_waves(&step.coarse, 2, cores));
            print("dependencies", &steps, |step, cores| (step.by_dependencies(cores), 1));
        }
    }
}

fn print(name: &str, steps: &[Cut], seconds: impl Fn(&Cut, usize) -> (f64, usize)) {
    let all = |cores: usize| steps.iter().map(|step| seconds(step, cores).0).sum::<f64>();
    let one = all(1);
    let speeds = CORES.map(|cores| format!("{:.1}", one / all(cores)));
    let largest = steps.iter().max_by_key(|step| step.units.len()).expect("there are steps");
    println!("    {name}: {} ({})", speeds.join(" "), seconds(largest, 1).1);
}

/// A step cut into units.
struct Cut {
    units: Vec<f64>,
    waves: Vec<Wave>,
    levels: Vec<Wave>,
    /// Waves of units by the progress of the shard that they are in.
    coarse: Vec<Wave>,
    /// For each unit, those that must be done before, as far as a sample tells.
    before: Vec<Vec<usize>>,
}

impl Cut {
    fn new(encoding: &Encoding, tier: Tier, parts: u64) -> Self {
        let limit = encoding.default_shard_positions(tier);
        let placed = encoding.shards(tier, limit);
        let shards = encoding.shards(tier, (limit / parts).max(1 << 10));
        let of = |shard: &Shard| progress(encoding, shard);
        let mut coarse: BTreeMap<Reverse<u64>, Wave> = BTreeMap::new();
        for (i, shard) in shards.iter().enumerate() {
            let parent = placed.partition_point(|placed| placed.prefix <= shard.prefix) - 1;
            assert!(shard.prefix.starts_with(&placed[parent].prefix));
            coarse.entry(Reverse(of(&placed[parent]))).or_default().push(ShardIndex(i));
        }
        let progress: Vec<u64> = shards.iter().map(of).collect();
        let mut pairs = BTreeSet::new();
        for sampled in sample(encoding, tier, &shards, SAMPLES) {
            for reader in sampled.readers {
                let (one, other) = (sampled.shard.0, reader.0);
                match progress[one].cmp(&progress[other]) {
                    std::cmp::Ordering::Greater => pairs.insert((one, other)),
                    std::cmp::Ordering::Less => pairs.insert((other, one)),
                    std::cmp::Ordering::Equal => false,
                };
            }
        }
        let mut before = vec![Vec::new(); shards.len()];
        pairs.into_iter().for_each(|(first, then)| before[then].push(first));
        Self {
            units: shards.iter().map(|shard| shard.len() as f64).collect(),
            waves: waves(encoding, &shards),
            levels: interval_waves(encoding, &shards),
            coarse: coarse.into_values().collect(),
            before,
        }
    }

    /// Positions that the busiest cores sweep, units in so many chains, and barriers.
    fn by_waves(&self, waves: &[Wave], chains: usize, cores: usize) -> (f64, usize) {
        let wave = |wave: &Wave| {
            let chain = |unit: &ShardIndex| self.units[unit.0] / chains as f64;
            let units = wave.iter().flat_map(|unit| std::iter::repeat_n(chain(unit), chains));
            makespan(units.collect(), cores)
        };
        (waves.iter().map(wave).sum(), waves.len())
    }

    /// The same without barriers: a core takes the unit that has most to wait for it among those whose predecessors are
    /// done (critical path scheduling, Hu 1961).
    fn by_dependencies(&self, cores: usize) -> f64 {
        let mut after = vec![Vec::new(); self.units.len()];
        for (unit, before) in self.before.iter().enumerate() {
            before.iter().for_each(|&one| after[one].push(unit));
        }
        let order: Vec<usize> = self.levels.iter().flatten().map(|unit| unit.0).collect();
        let mut rest = self.units.clone();
        for &unit in order.iter().rev() {
            rest[unit] += after[unit].iter().map(|&next| rest[next]).fold(0.0, f64::max);
        }
        let bits = |number: f64| number.to_bits();
        let mut missing: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut ready: BinaryHeap<(u64, usize)> = BinaryHeap::new();
        let begin = (0..missing.len()).filter(|&unit| missing[unit] == 0);
        ready.extend(begin.map(|unit| (bits(rest[unit]), unit)));
        let mut running: BinaryHeap<(Reverse<u64>, usize)> = BinaryHeap::new();
        let mut now = 0.0;
        loop {
            while running.len() < cores {
                let Some((_, unit)) = ready.pop() else { break };
                running.push((Reverse(bits(now + self.units[unit])), unit));
            }
            let Some((Reverse(done), unit)) = running.pop() else { return now };
            now = f64::from_bits(done);
            for &next in &after[unit] {
                missing[next] -= 1;
                if missing[next] == 0 {
                    ready.push((bits(rest[next]), next));
                }
            }
        }
    }
}
