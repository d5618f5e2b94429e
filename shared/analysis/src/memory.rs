//! How much memory questions take at the most: arrays of the step under way, and what is kept for those that follow.

use std::collections::BTreeSet;

use ziggurat_encoding::{Encoding, Tier};

use crate::{
    graph::Target,
    play::{LANES, is_read, steps},
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
        /// Whether one of the policies picks at random, or all moves are looked at.
        lists: bool,
    },
    /// [`Analyst::account`](crate::Analyst::account).
    Account {
        /// Whether both players have the same policy.
        same: bool,
        /// Whether one of the policies picks at random.
        lists: bool,
    },
    /// [`Analyst::distribution`](crate::Analyst::distribution).
    Distribution {
        /// Whether both players have the same policy.
        same: bool,
        /// Whether one of the policies picks at random.
        lists: bool,
    },
}

const NUMBER: u64 = size_of::<f64>() as u64;

/// The bytes of an edge: where it comes from, and its kind.
const EDGE: u64 = (size_of::<u32>() + size_of::<u16>()) as u64;

/// The bytes that a question of a table of a ruleset takes at the most, besides the program itself and what an `.rgu` table keeps.
pub fn memory_bytes(encoding: &Encoding, question: Question) -> u64 {
    if let Question::Distribution { same, lists } = question {
        let account = Question::Account { same, lists };
        let all = steps(encoding).into_iter().map(|tier| layer_bytes(encoding, tier, same, lists));
        return all.sum::<u64>() + memory_bytes(encoding, account);
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
        let read = tier.both().filter(|tier| later.is_empty() || is_read(*tier, later));
        let finished = read.map(|tier| encoding.tier_len(tier)).sum();
        most = most.max(step_bytes(encoding, tier, positions, finished, question));
        if is_down {
            kept.retain(|known| tier.both().all(|tier| tier != *known));
        } else {
            kept.extend(tier.both());
        }
    }
    most
}

/// What a distribution keeps of a step: edges, and what its positions and those below have now and next.
fn layer_bytes(encoding: &Encoding, tier: Tier, same: bool, lists: bool) -> u64 {
    let sides = if same { 1 } else { 2 };
    let (own, nodes) = (encoding.step_len(tier), Step::nodes_of(encoding, tier));
    let rolls = encoding.ruleset().dice().rolls().len() as u64;
    let ways = if lists { u64::from(encoding.ruleset().pieces()) } else { 1 };
    sides * (own * rolls * ways * EDGE + nodes * 2 * NUMBER + own * NUMBER)
}

/// Of a step, with so many positions of other tiers kept, and so many of its own at last.
fn step_bytes(
    encoding: &Encoding,
    tier: Tier,
    kept: u64,
    finished: u64,
    question: Question,
) -> u64 {
    let own = encoding.step_len(tier);
    let nodes = Step::nodes_of(encoding, tier);
    let largest = tier.both().chain(tier.reads()).map(|tier| encoding.tier_len(tier)).max();
    let values = NUMBER * (nodes + largest.unwrap_or(0));
    let ruleset = encoding.ruleset();
    let rolls = ruleset.dice().rolls().iter();
    let moving = rolls.clone().filter(|roll| roll.value > 0).count() as u64;
    let target = size_of::<Target>() as u64;
    let targets = own * target * rolls.count() as u64;
    // A list has its length and as many targets as a player has pieces. For a while it is there twice, and the first time has
    // room to grow.
    let listed = own * moving * (1 + u64::from(ruleset.pieces())) * target;
    let graph = |lists: bool| (targets, if lists { listed } else { 0 });
    let lanes = |sides: u64| NUMBER * LANES as u64 * sides;
    // The shards of a wave are there twice.
    let shards = encoding.shards(tier.first_of_step(), encoding.default_shard_positions(tier));
    let mut swept: Vec<u64> = shards.iter().map(|shard| shard.len()).collect();
    swept.sort_unstable_by(|a, b| b.cmp(a));
    let swept: u64 = swept.into_iter().take(WAVE).sum();
    match question {
        Question::Perfect => {
            let building = values + targets;
            let solving = targets + lanes(1) * (nodes + swept);
            let finishing = lanes(1) * (nodes + finished);
            building.max(solving).max(finishing) + lanes(1) * kept
        }
        Question::Games { lists } => {
            let (targets, listed) = graph(lists);
            let building = values + 2 * targets + 4 * listed;
            let solving = 2 * targets + 2 * listed + lanes(2) * (nodes + swept);
            let finishing = lanes(2) * (nodes + finished);
            building.max(solving).max(finishing) + lanes(2) * kept
        }
        Question::Account { same, lists } | Question::Distribution { same, lists } => {
            let sides = if same { 1 } else { 2 };
            let (targets, listed) = graph(lists);
            let rows = sides * nodes;
            let edges = sides * (targets + listed) / target;
            let of_edges = EDGE * edges + NUMBER * rows;
            let building = 4 * listed;
            let solving = of_edges + NUMBER * sides * (2 * own + swept);
            values
                + sides * (targets + listed)
                + building.max(solving)
                + (NUMBER + 1) * sides * (kept + nodes)
        }
    }
}
