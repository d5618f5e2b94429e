//! Ways to choose a move: the perfect one, rules of thumb by name, and weights of features from a file.

mod features;
mod weights;

use std::{fmt, str::FromStr, sync::Arc};

pub use weights::{PolicyFileError, Weights};
use ziggurat_game::{Move, Outcome, Ruleset, UnknownName};

use crate::{Advice, SeededDice, ValuedMove};

/// A way to choose a move.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Policy {
    /// A best move, the first of those that are tied.
    #[default]
    Perfect,
    /// Any legal move, each as likely.
    Random,
    /// The piece that is furthest along.
    Furthest,
    /// The piece that is least far along, or one from hand.
    Rearmost,
    /// A capture, or else a move that rolls again, or else one that scores, or else the piece furthest along.
    Greedy,
    /// What is gained in the move and the answer to it: advancement + attack - risk. The advancement is the roll, the attack how
    /// far the captured piece had come, and the risk, unless the player rolls again, the sum over the own pieces of how far they
    /// have come times the probability that the next roll can capture them. After the influences that Raposo and Lamont name,
    /// "Mathematical analysis of the Royal Game of Ur" (2023), section 4.
    Gain,
    /// The largest sum of weighted features of the position after the move.
    Weighted(Arc<Weights>),
}

/// What a policy picks of some legal moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The best one: it takes values.
    Best,
    /// Any of them, each as likely.
    Any,
    /// The one at a place in the list.
    At(usize),
}

impl Policy {
    /// Those that have a name of their own.
    pub const ALL: [Self; 6] =
        [Self::Perfect, Self::Random, Self::Furthest, Self::Rearmost, Self::Greedy, Self::Gain];

    /// Other names of policies.
    const ALSO: [(&str, Self); 3] =
        [("optimal", Self::Perfect), ("first", Self::Furthest), ("last", Self::Rearmost)];

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Perfect => "perfect",
            Self::Random => "random",
            Self::Furthest => "furthest",
            Self::Rearmost => "rearmost",
            Self::Greedy => "greedy",
            Self::Gain => "gain",
            Self::Weighted(weights) => weights.name(),
        }
    }

    /// What it picks of the legal moves for a roll, given in ascending order with what they lead to. Of moves that are equal
    /// to it, the first.
    ///
    /// # Panics
    /// If there is no move.
    pub fn pick(&self, ruleset: &Ruleset, moves: &[(Move, Outcome)]) -> Pick {
        let most = |score: &dyn Fn(&(Move, Outcome)) -> f64| {
            let scores = moves.iter().map(score).enumerate();
            let best = scores.reduce(|best, next| if next.1 > best.1 { next } else { best });
            Pick::At(best.expect("there is a move").0)
        };
        match self {
            Self::Perfect => Pick::Best,
            Self::Random => Pick::Any,
            Self::Furthest => Pick::At(moves.len() - 1),
            Self::Rearmost => Pick::At(0),
            Self::Greedy => {
                let key = |(at, (mv, outcome)): &(usize, &(Move, Outcome))| {
                    let scored = outcome.position.own.scored;
                    (outcome.captured.is_some(), outcome.rolls_again, scored, mv.from, *at)
                };
                let best = moves.iter().enumerate().max_by_key(key);
                Pick::At(best.expect("there is a move").0)
            }
            Self::Gain => most(&|(mv, outcome)| features::gain(ruleset, *mv, outcome)),
            Self::Weighted(weights) => most(&|(mv, outcome)| weights.score(ruleset, *mv, outcome)),
        }
    }

    /// The move it chooses; `None` if there is none. Chance, where it takes any, comes from `dice`.
    pub fn choose<'a>(
        &self,
        ruleset: &Ruleset,
        advice: &'a Advice,
        dice: &mut SeededDice,
    ) -> Option<&'a ValuedMove> {
        let mut moves: Vec<_> = advice.moves.iter().map(|it| (it.mv, it.outcome)).collect();
        moves.sort_unstable_by_key(|(mv, _)| *mv);
        match moves.as_slice() {
            [] if *self != Self::Random => None,
            _ => match self.pick(ruleset, &moves) {
                Pick::Best => advice.best(),
                Pick::Any => {
                    let count = advice.moves.len() as u64;
                    advice.moves.get((dice.next_bits() % count.max(1)) as usize)
                }
                Pick::At(at) => advice.of(moves[at].0),
            },
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut known = Self::ALL.into_iter().find(|policy| policy.name() == name);
        let also = Self::ALSO.into_iter().find(|(also, _)| *also == name);
        known = known.or(also.map(|(_, policy)| policy));
        known.ok_or_else(|| UnknownName::new("policy", name, Self::ALL.iter().map(Self::name)))
    }
}
