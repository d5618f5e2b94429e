//! Ways to choose a move, by name: the perfect one, and rules of thumb.

use std::{fmt, str::FromStr};

use ziggurat_game::UnknownName;

use crate::{Advice, SeededDice, ValuedMove};

/// A way to choose a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Perfect, Self::Random, Self::Furthest, Self::Rearmost, Self::Greedy];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Perfect => "perfect",
            Self::Random => "random",
            Self::Furthest => "furthest",
            Self::Rearmost => "rearmost",
            Self::Greedy => "greedy",
        }
    }

    /// The move it chooses; `None` if there is none. Chance, where it takes any, comes from `dice`.
    pub fn choose<'a>(self, advice: &'a Advice, dice: &mut SeededDice) -> Option<&'a ValuedMove> {
        let moves = advice.moves.iter();
        match self {
            Self::Perfect => advice.best(),
            Self::Random => {
                let count = advice.moves.len() as u64;
                advice.moves.get((dice.next_bits() % count.max(1)) as usize)
            }
            Self::Furthest => moves.max_by_key(|it| it.mv.from),
            Self::Rearmost => moves.min_by_key(|it| it.mv.from),
            Self::Greedy => moves.max_by_key(|it| {
                let scored = it.outcome.position.own.scored;
                (it.outcome.captured.is_some(), it.outcome.rolls_again, scored, it.mv.from)
            }),
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
        let known = Self::ALL.into_iter().find(|policy| policy.name() == name);
        known.ok_or_else(|| UnknownName::new("policy", name, Self::ALL.map(Self::name)))
    }
}
