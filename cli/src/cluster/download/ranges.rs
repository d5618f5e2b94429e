//! What there is to fetch, and from whom.

use std::{collections::HashMap, ops::Range};

use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_kernel::{Settings, plan, shards};
use ziggurat_rpc::{
    convert::Job,
    proto::{JobSpec, LocateReply, LocatedStep, Peer},
};
use ziggurat_table::TierStatistics;

use crate::{
    cluster::words,
    failure::{Exit, Failure},
};

/// A range of positions of a shard, all of one tier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// Its place among all ranges of the job.
    pub number: usize,
    /// The first tier of its step.
    pub step: Tier,
    /// The place of its shard among those of the step.
    pub shard: u32,
    /// Which of the shard's ranges.
    pub range: u32,
    /// The tier of its positions.
    pub tier: Tier,
    /// Their offsets in the tier.
    pub offsets: Range<u64>,
}

impl Fetched {
    /// The number of its positions.
    pub fn len(&self) -> u64 {
        self.offsets.end - self.offsets.start
    }
}

/// All ranges of a job, in the order in which its table is written: step by step as they are solved,
/// and shard by shard.
pub struct Ranges {
    encoding: Encoding,
    settings: Settings,
    spec: JobSpec,
    tiers: Vec<(Tier, TierStatistics)>,
    all: Vec<Fetched>,
}

impl Ranges {
    /// What a coordinator says of a solved job, checked.
    ///
    /// # Errors
    /// If that is no job, or its positions are ranked in another way.
    pub fn new(located: &LocateReply) -> Result<Self, Failure> {
        if located.encoder != Encoding::VERSION {
            return Err(Failure::of(
                Exit::Failed,
                format!(
                    "the job was solved with version {} of the ranking of positions; this program has \
                     version {}",
                    located.encoder,
                    Encoding::VERSION
                ),
            )
            .help("export it with the program that the coordinator runs"));
        }
        let spec = located.spec.clone().unwrap_or_default();
        let job = Job::try_from(spec.clone())?;
        let (encoding, settings) = (Encoding::new(&job.ruleset)?, job.settings());
        let (mut tiers, mut all) = (Vec::new(), Vec::new());
        for step in plan(&encoding, &settings).steps {
            let found = located_step(located, step.tier).ok_or_else(|| {
                Failure::of(
                    Exit::Failed,
                    format!("the coordinator does not know step {}", step.tier),
                )
            })?;
            let statistics = statistics(found)?;
            tiers.extend(step.tier.both().map(|tier| (tier, statistics)));
            for (shard, cut) in shards(&encoding, &settings, step.tier).into_iter().enumerate() {
                for (range, (tier, offsets)) in parts(step.tier, cut).enumerate() {
                    let (number, step) = (all.len(), step.tier);
                    let (shard, range) = (shard as u32, range as u32);
                    all.push(Fetched { number, step, shard, range, tier, offsets });
                }
            }
        }
        Ok(Self { encoding, settings, spec, tiers, all })
    }

    /// The ranking of the job's positions.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// How it was solved.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What decides its values.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// Its tiers in the order in which its table is written, and how they came about.
    pub fn tiers(&self) -> &[(Tier, TierStatistics)] {
        &self.tiers
    }

    /// All ranges.
    pub fn all(&self) -> &[Fetched] {
        &self.all
    }

    /// All positions.
    pub fn positions(&self) -> u64 {
        self.encoding.undecided()
    }

    /// Bytes of a value.
    pub fn width(&self) -> usize {
        self.settings.precision.bytes()
    }
}

/// The ranges of a shard, each with its tier.
fn parts(step: Tier, shard: Shard) -> impl Iterator<Item = (Tier, Range<u64>)> {
    let (first, second) = shard.ranges;
    [(step, first)].into_iter().chain(second.map(|range| (step.swap(), range)))
}

/// What the table says of how a step was solved.
fn statistics(step: &LocatedStep) -> Result<TierStatistics, Failure> {
    let made = step.statistics()?;
    Ok(TierStatistics {
        supersteps: made.supersteps,
        residual: Some(made.residual),
        certificate: made.certificate.map(|certificate| certificate.bound),
    })
}

fn located_step(located: &LocateReply, tier: Tier) -> Option<&LocatedStep> {
    located.steps.iter().find(|step| step.step.as_ref().map(words::tier) == Some(tier))
}

/// Who has which shards.
#[derive(Clone, Debug)]
pub struct Holders {
    steps: HashMap<Tier, LocatedStep>,
    /// Everybody that has anything.
    peers: Vec<Peer>,
}

impl Holders {
    /// Who has them as a coordinator says.
    pub fn new(located: &LocateReply) -> Self {
        let mut peers: Vec<Peer> = Vec::new();
        for peer in located.steps.iter().flat_map(|step| &step.peers) {
            if !peers.contains(peer) {
                peers.push(peer.clone());
            }
        }
        let steps = located.steps.iter();
        let steps = steps.filter_map(|step| Some((words::tier(step.step.as_ref()?), step.clone())));
        Self { steps: steps.collect(), peers }
    }

    /// The checkpoint with the values of a step: its epoch, and the incarnation of the coordinator that gave it out.
    pub fn checkpoint(&self, step: Tier) -> (u32, u64) {
        self.steps.get(&step).map_or((0, 0), |step| (step.epoch, step.incarnation))
    }

    /// The workers to ask for a shard, best first: who swept it, and where the checkpoint store has it,
    /// all others, who can read it there.
    pub fn of(&self, step: Tier, shard: u32) -> Vec<&Peer> {
        let Some(located) = self.steps.get(&step) else { return Vec::new() };
        let mut end = 0;
        let run = located.runs.iter().find(|run| {
            end += u64::from(run.count);
            u64::from(shard) < end
        });
        let owner = run.and_then(|run| located.peers.get(run.peer as usize));
        let others = self.peers.iter().filter(|peer| located.stored && Some(*peer) != owner);
        owner.into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_rpc::proto::{Run, Step};

    use super::*;

    fn peer(name: &str) -> Peer {
        Peer { worker: name.to_owned(), address: format!("{name}:1"), name: name.to_owned() }
    }

    fn located(stored: bool) -> LocateReply {
        let step = LocatedStep {
            step: Some(Step { just_moved: 2, to_move: 1 }),
            epoch: 7,
            incarnation: 9,
            peers: vec![peer("anu"), peer("enki")],
            runs: vec![Run { count: 3, peer: 1 }, Run { count: 2, peer: 0 }],
            stored,
            ..LocatedStep::default()
        };
        LocateReply { steps: vec![step], ..LocateReply::default() }
    }

    #[test]
    fn a_shard_is_asked_of_who_swept_it() {
        let step = Tier::new(2, 1);
        let names = |stored: bool, shard: u32| {
            let holders = Holders::new(&located(stored));
            assert_eq!(holders.checkpoint(step), (7, 9));
            holders.of(step, shard).into_iter().map(|peer| peer.worker.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(false, 2), ["enki"]);
        assert_eq!(names(false, 3), ["anu"]);
        assert_eq!(names(false, 5), [""; 0]);
        assert_eq!(names(true, 3), ["anu", "enki"]);
    }

    #[test]
    fn another_ranking_is_refused() {
        let located = LocateReply { encoder: Encoding::VERSION + 1, ..located(false) };
        let failure = Ranges::new(&located).map(drop).unwrap_err();
        assert!(failure.report().contains("version"), "{}", failure.report());
    }
}
