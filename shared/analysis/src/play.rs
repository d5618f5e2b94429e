//! How long games between two policies last, and who wins them.
//!
//! Of a position and a player to move, seven numbers (*lanes*): expected rolls L = 1 + P L and their second moment
//! M = 1 + 2 P L + P M, the same for turns and for moves, and the chance of the player to move. A roll ends a turn if the other
//! player is the next to roll, or nobody is. Between two policies these are twice as many, so rolls, turns and moves are counted
//! one after another, in three lanes each. A last lane is zero: eight numbers, or twice four, are a line of memory.
//!
//! If |1 + P L - L| <= d < 1 everywhere, then L / (1 + d) <= L* <= L / (1 - d) for the true L*: L / (1 - d) satisfies
//! x >= 1 + P x, and the least solution lies below every such x; likewise on the other side, and with the least or the greatest
//! over moves in place of P. The equation of another lane that is violated by at most e is so by the solution of
//! x = b + e' + P x with |e'| <= e, which differs by at most e L*.

use std::collections::BTreeMap;

use ziggurat_encoding::{Encoding, Tier};

use crate::{
    Bounded,
    graph::{Lists, Target},
    step::Step,
    sweep::{Equation, InLines, LINE, Solved, Unknowns},
};

/// What is counted. Of some counts the lanes are: the expected numbers, the chance, the second moments, and zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    Rolls,
    Turns,
    Moves,
}

impl Count {
    /// All that is counted.
    pub(crate) const ALL: [Self; 3] = [Self::Rolls, Self::Turns, Self::Moves];

    /// Whether it counts a target.
    fn counts(self, target: Target) -> bool {
        match self {
            Self::Rolls => true,
            Self::Turns => target.is_others(),
            Self::Moves => target.moved(),
        }
    }
}

/// How many lanes there are where all is counted.
pub(crate) const LANES: usize = lanes_of(Count::ALL.len());

/// How many lanes so many counts have.
pub(crate) const fn lanes_of(counts: usize) -> usize {
    2 * (counts + 1)
}

/// How many of them are not always zero.
pub(crate) const fn used_lanes_of(counts: usize) -> usize {
    lanes_of(counts) - 1
}

/// The lane of the chance where all is counted.
const CHANCE: usize = chance_lane(LANES);

/// The lane of the chance, of so many.
const fn chance_lane(lanes: usize) -> usize {
    lanes / 2 - 1
}

/// Lanes are solved to this share of the largest number in them.
const CHANGE: f64 = 1e-14;

/// Where they only bound a chance, to this one.
const CHANGE_OF_BOUND: f64 = 1e-4;

/// The equation of the lanes of some counts.
pub(crate) struct Play<const K: usize> {
    /// What targets of each kind add.
    kinds: [Kind<K>; Target::KINDS],
    change: [f64; K],
    /// The first so many lanes are not always zero.
    used: usize,
}

/// How many lanes [`Play::of_chance`] has: the chance, and expected rolls.
pub(crate) const CHANCE_LANES: usize = lanes_of(0);

impl Play<CHANCE_LANES> {
    /// The chance, and in the lane that is zero elsewhere expected rolls, which say how far it is off.
    pub(crate) fn of_chance() -> Self {
        let mut play = Self::new(&[]);
        for kind in &mut play.kinds {
            kind.constant[1] = 1.0;
        }
        play.change[1] = CHANGE_OF_BOUND;
        play.used = CHANCE_LANES;
        play
    }
}

/// What a target adds: `constant` + `own` x + `mean` x', with x its lanes, and x' for each second moment the expected number.
#[derive(Clone, Copy)]
struct Kind<const K: usize> {
    constant: [f64; K],
    own: [f64; K],
    mean: [f64; K],
}

impl<const K: usize> Play<K> {
    /// Of some counts, of which there are as many as [`lanes_of`] says.
    pub(crate) fn new(counts: &[Count]) -> Self {
        assert_eq!(K, lanes_of(counts.len()));
        let kinds = Target::one_of_each_kind().map(|target| {
            let (mut constant, mut own, mut mean) = ([0.0; K], [1.0; K], [0.0; K]);
            for (lane, count) in counts.iter().enumerate() {
                if count.counts(target) {
                    let square = K / 2 + lane;
                    (constant[lane], constant[square], mean[square]) = (1.0, 1.0, 2.0);
                }
            }
            // The chance of the player who moves.
            if target.is_others() {
                (constant[chance_lane(K)], own[chance_lane(K)]) = (1.0, -1.0);
            }
            Kind { constant, own, mean }
        });
        Self { kinds, change: [CHANGE; K], used: used_lanes_of(counts.len()) }
    }
}

impl<const K: usize> Equation<K> for Play<K> {
    // A solve spends its time here: it is compiled into the sweep.
    #[inline(always)]
    fn add(&self, into: &mut [f64; K], weight: f64, target: Target, of: &[f64; K]) {
        let Kind { constant, own, mean } = &self.kinds[target.kind()];
        for lane in 0..K {
            let of_mean = mean[lane] * of[lane % (K / 2)];
            into[lane] += weight * (constant[lane] + own[lane] * of[lane] + of_mean);
        }
    }

    fn change(&self, lane: usize) -> f64 {
        self.change[lane]
    }

    #[inline]
    fn preference(&self, lists: Lists, target: Target, of: &[f64; K]) -> f64 {
        match lists {
            Lists::Shortest => -of[0],
            Lists::Longest => of[0],
            Lists::Best | Lists::Any if target.is_others() => 1.0 - of[chance_lane(K)],
            Lists::Best | Lists::Any => of[chance_lane(K)],
        }
    }
}

/// Expected number, and standard deviation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The expected number.
    pub mean: Bounded,
    /// The standard deviation.
    pub deviation: Bounded,
}

/// Games between two policies, from the first position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Games {
    /// Rolls of the dice, those after which nobody can move among them.
    pub rolls: Spread,
    /// Turns: a roll that grants another one does not end its turn.
    pub turns: Spread,
    /// Moves: rolls without passes.
    pub moves: Spread,
    /// The chance of the player who begins.
    pub chance: Bounded,
    /// The longest expected game from any position, in rolls: no position has more to go.
    pub longest: f64,
}

/// Which of all lanes those of some counts are.
pub(crate) fn all_lanes(counts: &[Count]) -> impl Iterator<Item = usize> {
    let halves = [0, LANES / 2].into_iter();
    halves.flat_map(|half| {
        let means = counts.iter().map(|count| *count as usize);
        means.chain([chance_lane(LANES)]).map(move |lane| half + lane)
    })
}

/// How closely the equations of all steps hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closeness {
    violation: [f64; LANES],
    largest: [f64; LANES],
}

impl Closeness {
    pub(crate) fn new() -> Self {
        Self { violation: [0.0; LANES], largest: [0.0; LANES] }
    }

    /// Adds a step, of which some counts were solved.
    pub(crate) fn add<const K: usize>(&mut self, counts: &[Count], solved: &Solved<K>) {
        for (from, lane) in all_lanes(counts).enumerate() {
            self.violation[lane] = self.violation[lane].max(solved.violation[from]);
            self.largest[lane] = self.largest[lane].max(solved.largest[from]);
        }
    }

    /// What the lanes of a position say, with bounds.
    pub(crate) fn games(&self, lanes: &[f64; LANES]) -> Games {
        let [rolls, turns, moves] = Count::ALL.map(|count| count as usize);
        let d = self.violation[rolls];
        let high = |length: f64| if d < 1.0 { length / (1.0 - d) } else { f64::INFINITY };
        let to_go = high(lanes[rolls]);
        let longest = high(self.largest[rolls]);
        let spread = |lane: usize| {
            let mean = if lane == rolls {
                Bounded { value: lanes[lane], low: lanes[lane] / (1.0 + d), high: to_go }
            } else {
                Bounded::within(lanes[lane], self.violation[lane] * to_go)
            };
            // The equation of the second moment holds with the computed means; these are off, too.
            let square = LANES / 2 + lane;
            let of_means = 2.0 * self.violation[lane] * longest;
            let error = (self.violation[square] + of_means) * to_go;
            let square = Bounded::within(lanes[square], error);
            Spread { mean, deviation: Bounded::deviation(mean, square) }
        };
        Games {
            rolls: spread(rolls),
            turns: spread(turns),
            moves: spread(moves),
            chance: Bounded::within(lanes[CHANCE], self.violation[CHANCE] * to_go),
            longest,
        }
    }
}

/// The chance of lanes of [`Play::of_chance`], if their equations are violated by no more than `violation`.
pub(crate) fn chance_within(
    [chance, rolls]: [f64; CHANCE_LANES],
    [of_chance, of_rolls]: [f64; CHANCE_LANES],
) -> Bounded {
    let to_go = if of_rolls < 1.0 { rolls / (1.0 - of_rolls) } else { f64::INFINITY };
    Bounded::within(chance, of_chance * to_go)
}

/// The lanes of tiers that are solved, those that are not always zero, for as long as a step will read them. They are in
/// parts of [`PART_POSITIONS`], so that a tier that is read for the last time makes room as it is taken.
pub(crate) struct Finished {
    used: usize,
    tiers: BTreeMap<Tier, Vec<Vec<f64>>>,
}

/// So many positions of a tier are kept together: some 32 MiB or more, which allocators give back to the system at once.
pub(crate) const PART_POSITIONS: usize = 1 << 20;

impl Finished {
    pub(crate) fn new<const K: usize>(play: &Play<K>) -> Self {
        Self { used: play.used, tiers: BTreeMap::new() }
    }

    /// The lanes of the nodes of a step before it is solved, zero for those of the step and for the end of the game, where
    /// the player to move has lost. Takes those that none of the steps that follow reads.
    pub(crate) fn begin<const K: usize, const S: usize>(
        &mut self,
        step: &Step<'_>,
        later: &[Tier],
    ) -> InLines<K, S> {
        const { assert!(LINE.is_multiple_of(size_of::<Unknowns<K, S>>())) };
        let mut of_nodes = InLines::with_capacity(LINE, step.end() as usize + 1);
        of_nodes.resize(step.own as usize, Unknowns::NONE);
        for (tier, _) in &step.below {
            if is_read(*tier, later) {
                self.tiers[tier].iter().for_each(|part| self.unpack(part, &mut of_nodes));
            } else {
                let parts =
                    self.tiers.remove(tier).expect("a tier is solved before those that read it");
                parts.into_iter().for_each(|part| self.unpack(&part, &mut of_nodes));
            }
        }
        of_nodes.push(Unknowns::NONE);
        of_nodes
    }

    /// Adds the lanes of a part to those of nodes.
    fn unpack<const K: usize, const S: usize>(&self, part: &[f64], of_nodes: &mut InLines<K, S>) {
        for of_position in part.chunks_exact(S * self.used) {
            let mut lanes = Unknowns::NONE;
            for (side, kept) in lanes.0.iter_mut().zip(of_position.chunks_exact(self.used)) {
                side[..self.used].copy_from_slice(kept);
            }
            of_nodes.push(lanes);
        }
    }

    /// Takes the lanes of a step that is solved, if a step that follows reads them.
    pub(crate) fn finish<const K: usize, const S: usize>(
        &mut self,
        step: &Step<'_>,
        of_nodes: &[Unknowns<K, S>],
        later: &[Tier],
    ) {
        for &tier in step.tiers.iter().filter(|tier| is_read(**tier, later)) {
            let positions = step.encoding.tier_len(tier) as usize;
            let mut kept = Vec::with_capacity(positions.div_ceil(PART_POSITIONS));
            let mut nodes = step.nodes_of_tier(tier).flatten();
            for first in (0..positions).step_by(PART_POSITIONS) {
                let count = PART_POSITIONS.min(positions - first);
                let mut part = Vec::with_capacity(count * S * self.used);
                for node in nodes.by_ref().take(count) {
                    let Unknowns(sides) = &of_nodes[node];
                    sides.iter().for_each(|of_side| part.extend_from_slice(&of_side[..self.used]));
                }
                kept.push(part);
            }
            self.tiers.insert(tier, kept);
        }
    }
}

/// Whether one of some steps reads a tier.
pub(crate) fn is_read(tier: Tier, steps: &[Tier]) -> bool {
    steps.iter().any(|step| step.reads().any(|read| read == tier))
}

/// The steps in the order in which they are solved, each by its first tier.
pub(crate) fn steps(encoding: &Encoding) -> Vec<Tier> {
    encoding.tiers().into_iter().filter(|tier| *tier == tier.first_of_step()).collect()
}
