//! How likely games of each length are.
//!
//! With P the matrix of a pair of policies and e the first position, a game ends with the n-th roll with the probability that
//! P'^n e has at the end of the game. All steps are in memory at a time, and each roll takes a pass over all of them.

use rayon::prelude::*;
use ziggurat_advice::Policy;
use ziggurat_encoding::Index;
use ziggurat_game::Position;
use ziggurat_table::Tell;

use crate::{AnalysisError, Analyst, graph::values, play::steps, step::Step, visits::Edges};

/// The distribution ends where longer games have this probability, or less.
const REST: f64 = 1e-12;

/// A distribution is not followed further than that.
const MOST_ROLLS: usize = 100_000;

/// How likely games are to last so many rolls.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// The probability of each number of rolls, from 0 on.
    pub probabilities: Vec<f64>,
    /// The probability of games that last longer.
    pub rest: f64,
}

impl Distribution {
    /// The least number of rolls within which games end with a probability of `share` or more; `None` where that is not known.
    pub fn quantile(&self, share: f64) -> Option<usize> {
        let mut sum = 0.0;
        self.probabilities.iter().position(|probability| {
            sum += probability;
            sum >= share
        })
    }

    /// The expected number of rolls of games that the distribution knows.
    pub fn mean(&self) -> f64 {
        self.probabilities.iter().enumerate().map(|(rolls, it)| rolls as f64 * it).sum()
    }
}

/// A step with what its positions have at a time.
struct Layer<'a, const S: usize> {
    step: Step<'a>,
    edges: Edges,
    /// The probability of each node and player to move.
    now: Vec<[f64; S]>,
}

impl Analyst<'_> {
    /// The lengths of games between two policies, if each of them begins half of the games.
    ///
    /// # Errors
    /// As [`Analyst::perfect`].
    pub fn distribution(
        &self,
        policies: [&Policy; 2],
        tell: &Tell<'_>,
    ) -> Result<Distribution, AnalysisError> {
        let [first, second] = policies;
        match first == second {
            true => self.distribution_of([first], tell),
            false => self.distribution_of(policies, tell),
        }
    }

    fn distribution_of<const S: usize>(
        &self,
        policies: [&Policy; S],
        tell: &Tell<'_>,
    ) -> Result<Distribution, AnalysisError> {
        let encoding = self.encoding();
        let mut layers: Vec<Layer<'_, S>> = Vec::new();
        for tier in steps(encoding).into_iter().rev() {
            let step = Step::new(encoding, tier)?;
            let values = values(&step, self.advisor.table())?;
            let edges = Edges::new(&step, &values, self.told_apart(), policies)?;
            let now = vec![[0.0; S]; step.own as usize];
            layers.push(Layer { step, edges, now });
        }
        let start: Index = encoding.rank(&Position::start());
        let first = &mut layers[0];
        first.now[first.step.node_at(start) as usize] = [1.0 / S as f64; S];
        let mut probabilities = vec![0.0];
        let mut rest = 1.0;
        while rest > REST && probabilities.len() < MOST_ROLLS {
            let ended = roll(&mut layers);
            rest -= ended;
            probabilities.push(ended);
            // What is left shrinks by about the same factor each time.
            tell((rest.max(REST).ln() / REST.ln()).clamp(0.0, 1.0));
        }
        // Rounding may have added a little.
        Ok(Distribution { probabilities, rest: rest.max(0.0) })
    }
}

/// Throws the dice once; returns the probability of games that end with it.
fn roll<const S: usize>(layers: &mut [Layer<'_, S>]) -> f64 {
    let mut ended = 0.0;
    let next: Vec<Vec<[f64; S]>> = layers
        .iter()
        .map(|layer| {
            let of = |row: usize| layer.now[row / S][row % S];
            let nodes = 0..layer.step.end() as usize + 1;
            let into =
                |node: usize| std::array::from_fn(|side| layer.edges.sum(node * S + side, of));
            nodes.into_par_iter().map(into).collect()
        })
        .collect();
    let tiers: Vec<_> = layers.iter().map(|layer| layer.step.tiers.clone()).collect();
    for (layer, next) in layers.iter_mut().zip(&next) {
        layer.now.copy_from_slice(&next[..layer.step.own as usize]);
        ended += next[layer.step.end() as usize].iter().sum::<f64>();
    }
    for (at, next) in next.iter().enumerate() {
        for (tier, first) in layers[at].step.below.clone() {
            let below = tiers.iter().position(|tiers| tiers.contains(&tier));
            let below = &mut layers[below.expect("a step reads steps")];
            let of_tier = &next[first as usize..];
            for run in below.step.runs.iter().filter(|run| run.tier == tier) {
                let from = &of_tier[run.offsets.start as usize..run.offsets.end as usize];
                let into = &mut below.now[run.first as usize..][..run.len()];
                for (into, from) in into.iter_mut().zip(from) {
                    (0..S).for_each(|side| into[side] += from[side]);
                }
            }
        }
    }
    ended
}
