//! How much memory questions take at the most: arrays of the step under way, and what is kept for those that follow.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_encoding::{Encoding, Tier};

use crate::{
    graph::{Target, most_listed},
    play::{CHANCE_LANES, Count, PART_POSITIONS, is_read, lanes_of, steps, used_lanes_of},
    step::Step,
    sweep::WAVE,
};

/// Which question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// [`Analyst::perfect`](crate::Analyst::perfect).
    Perfect,
    /// [`Analyst::games`](crate::Analyst::games), where a policy that picks at random or not is among them.
    Games {
        /// How many of the policies pick at random, or look at all moves.
        lists: u64,
    },
    /// [`Analyst::chances`](crate::Analyst::chances).
    Chances {
        /// How many of the policies pick at random.
        lists: u64,
    },
    /// [`Analyst::account`](crate::Analyst::account).
    Account {
        /// Whether both players have the same policy.
        same: bool,
        /// How many of the policies pick at random.
        lists: u64,
    },
    /// [`Analyst::distribution`](crate::Analyst::distribution).
    Distribution {
        /// Whether both players have the same policy.
        same: bool,
        /// How many of the policies pick at random.
        lists: u64,
    },
}

const NUMBER: u64 = size_of::<f64>() as u64;

/// The bytes of an edge: where it comes from, and its kind.
const EDGE: u64 = (size_of::<u32>() + size_of::<u16>()) as u64;

/// The bytes of where the edges of a row start.
const START: u64 = size_of::<u32>() as u64;

/// The bytes that questions of a table of a ruleset, one after another, take at the most, besides the program itself and what an
/// `.rgu` table keeps.
///
/// Where a policy picks at random, the moves of all positions are counted: some seconds for 100 million positions and two cores.
pub fn memory_bytes(encoding: &Encoding, questions: &[Question]) -> u64 {
    let listed = match questions.iter().any(|question| question.lists() > 0) {
        true => {
            steps(encoding).into_iter().map(|tier| (tier, most_listed(encoding, tier))).collect()
        }
        false => BTreeMap::new(),
    };
    questions.iter().map(|question| bytes_of(encoding, *question, &listed)).max().unwrap_or(0)
}

impl Question {
    /// How many of the policies take lists of moves.
    fn lists(self) -> u64 {
        match self {
            Self::Perfect => 0,
            Self::Games { lists }
            | Self::Chances { lists }
            | Self::Account { lists, .. }
            | Self::Distribution { lists, .. } => lists,
        }
    }
}

/// What one question takes, with how many numbers the lists of each step have.
fn bytes_of(encoding: &Encoding, question: Question, listed: &BTreeMap<Tier, u64>) -> u64 {
    let listed_in = |tier: Tier| listed.get(&tier).copied().unwrap_or(0);
    if let Question::Distribution { same, lists } = question {
        let account = Question::Account { same, lists };
        let layer = |tier| layer_bytes(encoding, tier, same, lists * listed_in(tier));
        let all: u64 = steps(encoding).into_iter().map(layer).sum();
        return all + bytes_of(encoding, account, listed);
    }
    let mut steps = steps(encoding);
    let is_down = matches!(question, Question::Account { .. });
    if is_down {
        steps.reverse();
    }
    let mut kept: BTreeSet<Tier> = BTreeSet::new();
    let mut most = 0;
    for (at, &tier) in steps.iter().enumerate() {
        let later = &steps[at + 1..];
        if is_down {
            // What flows out is there before.
            kept.extend(tier.reads());
        } else {
            kept.retain(|tier| is_read(*tier, later));
        }
        let positions: u64 = kept.iter().map(|tier| encoding.tier_len(*tier)).sum();
        let read = tier.both().filter(|tier| is_read(*tier, later));
        let finished = read.map(|tier| encoding.tier_len(tier)).sum();
        let listed = listed_in(tier);
        most = most.max(step_bytes(encoding, tier, positions, finished, question, listed));
        if is_down {
            kept.retain(|known| tier.both().all(|tier| tier != *known));
        } else {
            kept.extend(tier.both());
        }
    }
    most
}

/// What a distribution keeps of a step: edges, and what its positions and those below have now and next.
fn layer_bytes(encoding: &Encoding, tier: Tier, same: bool, listed: u64) -> u64 {
    let sides = if same { 1 } else { 2 };
    let (own, nodes) = (encoding.step_len(tier), Step::nodes_of(encoding, tier));
    let rolls = encoding.ruleset().dice().rolls().len() as u64;
    let edges = sides * own * rolls + listed;
    edges * EDGE + sides * (nodes * (START + NUMBER) + own * NUMBER)
}

/// Of a step, with so many positions of other tiers kept, so many of its own at last, and so many numbers in lists.
fn step_bytes(
    encoding: &Encoding,
    tier: Tier,
    kept: u64,
    finished: u64,
    question: Question,
    listed: u64,
) -> u64 {
    let own = encoding.step_len(tier);
    let nodes = Step::nodes_of(encoding, tier);
    let largest = tier.both().chain(tier.reads()).map(|tier| encoding.tier_len(tier)).max();
    let largest = largest.unwrap_or(0);
    let values = NUMBER * (nodes + largest);
    let rolls = encoding.ruleset().dice().rolls().len() as u64;
    let target = size_of::<Target>() as u64;
    let targets = own * target * rolls;
    let graphs = |sides: u64, lists: u64| sides * targets + lists * listed * target;
    // The shards of a wave are there twice.
    let shards = encoding.shards(tier.first_of_step(), encoding.default_shard_positions(tier));
    let mut swept: Vec<u64> = shards.iter().map(|shard| shard.len()).collect();
    swept.sort_unstable_by(|a, b| b.cmp(a));
    let swept: u64 = swept.into_iter().take(WAVE).sum();
    let solved = |graphs: u64, sides: u64, lanes: usize, used: usize| {
        let [lanes, used] = [lanes, used].map(|lanes| NUMBER * lanes as u64 * sides);
        let building = values + graphs;
        // Before the first superstep a part of a tier that is read for the last time is there twice.
        let twice = (lanes * swept).max(used * largest.min(PART_POSITIONS as u64));
        let solving = graphs + lanes * nodes + twice;
        let finishing = lanes * nodes + used * finished;
        building.max(solving).max(finishing) + used * kept
    };
    let counted = |graphs: u64, sides: u64, counts: usize| {
        solved(graphs, sides, lanes_of(counts), used_lanes_of(counts))
    };
    match question {
        Question::Perfect => counted(graphs(1, 0), 1, Count::ALL.len()),
        Question::Games { lists } => counted(graphs(2, lists), 2, 1),
        Question::Chances { lists } => solved(graphs(2, lists), 2, CHANCE_LANES, CHANCE_LANES),
        Question::Account { same, lists } | Question::Distribution { same, lists } => {
            let sides = if same { 1 } else { 2 };
            let rows = sides * nodes;
            let of_edges = EDGE * (sides * own * rolls + lists * listed) + START * rows;
            // Visits, and whether there are any, of the step and of what it leads to.
            let of_rows = (NUMBER + 1) * sides * (own + kept);
            let building = values;
            let solving = NUMBER * sides * (own + swept);
            of_edges + of_rows + building.max(solving)
        }
    }
}
