//! The Bellman equations of a step, in whole numbers.
//!
//! ```text
//! V(s) = sum over rolls of P(roll) * max over legal moves of W(s')
//! ```
//!
//! Probabilities are `weights[roll] / total`. Values of earlier steps are fractions over one
//! denominator, `common`; the unknowns are `y(s) = common * V(s)`, so that for a policy, which
//! names one move for every position and roll, all coefficients are whole numbers.

use num_bigint::{BigInt, BigUint};
use num_traits::Zero;
use ziggurat_game::{Move, Position, Ruleset};

use crate::elimination::Row;
use crate::linear::{Solution, System};
use crate::weights::Weights;

/// What the player to move may do for a roll, and what it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// The move; `None` if there is none, and the turn passes.
    pub(crate) mv: Option<Move>,
    pub(crate) leads: Leads,
}

/// Where a choice leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leads {
    /// The game is won.
    Won,
    /// To a position of the same step.
    Inside { at: u32, turn_passes: bool },
    /// To an earlier step: an index into the values that are known.
    Known(u32),
}

/// The equations of the positions of one step.
pub(crate) struct Equations<'w> {
    weights: &'w Weights,
    /// The common denominator of the values that are known.
    common: BigUint,
    /// The chances of the player who chose, over `common`.
    known: Vec<BigUint>,
    /// The choices, one position after the other, one roll after the other.
    choices: Vec<Choice>,
    /// Where the choices of every position and roll end.
    ends: Vec<u32>,
}

/// One choice for every position and roll: its number among them.
pub(crate) type Policy = Vec<u8>;

/// What a comparison of a policy's choices with all others found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Comparison {
    /// Positions with rolls that leave more than one choice.
    pub(crate) choices: u64,
    /// Choices among those where another is exactly as good as the best.
    pub(crate) ties: u64,
    /// Choices that were not the best, and are changed.
    pub(crate) improved: u64,
}

impl<'w> Equations<'w> {
    /// The equations of a step. `common` is a common denominator of all values outside, `inside`
    /// finds a position of the step, and `outside` tells the value of any other, over `common`.
    pub(crate) fn new(
        ruleset: &Ruleset,
        weights: &'w Weights,
        positions: &[Position],
        common: BigUint,
        inside: impl Fn(&Position) -> Option<u32>,
        outside: impl Fn(&Position) -> BigUint,
    ) -> Self {
        let mut equations =
            Self { weights, common, known: Vec::new(), choices: Vec::new(), ends: Vec::new() };
        for position in positions {
            for roll in ruleset.dice().rolls() {
                let before = equations.choices.len();
                for mv in ruleset.moves(position, roll.value) {
                    let outcome = ruleset.apply(position, mv);
                    let leads = match outcome.won {
                        true => Leads::Won,
                        false => {
                            let next = outcome.next();
                            equations.leads(&next, !outcome.rolls_again, &inside, &outside)
                        }
                    };
                    equations.choices.push(Choice { mv: Some(mv), leads });
                }
                if equations.choices.len() == before {
                    let leads = equations.leads(&position.swap(), true, &inside, &outside);
                    equations.choices.push(Choice { mv: None, leads });
                }
                equations.ends.push(equations.choices.len() as u32);
            }
        }
        equations
    }

    fn leads(
        &mut self,
        next: &Position,
        turn_passes: bool,
        inside: &impl Fn(&Position) -> Option<u32>,
        outside: &impl Fn(&Position) -> BigUint,
    ) -> Leads {
        if let Some(at) = inside(next) {
            return Leads::Inside { at, turn_passes };
        }
        let value = outside(next);
        self.known.push(if turn_passes { &self.common - value } else { value });
        Leads::Known(self.known.len() as u32 - 1)
    }

    /// The number of positions.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() / self.rolls()
    }

    /// The number of rolls.
    pub(crate) fn rolls(&self) -> usize {
        self.weights.weights.len()
    }

    /// The choices for a position and roll, `slot` = position x rolls + roll.
    pub(crate) fn choices(&self, slot: usize) -> &[Choice] {
        let begin = if slot == 0 { 0 } else { self.ends[slot - 1] as usize };
        &self.choices[begin..self.ends[slot] as usize]
    }

    /// A position from which the players can together put off the end for ever, whatever the dice
    /// show; `None` if there is none.
    ///
    /// These are the positions that remain when all are struck out, again and again, that have a
    /// roll for which no choice leads to a remaining one.
    pub(crate) fn endless(&self) -> Option<usize> {
        let mut remains = vec![true; self.len()];
        loop {
            let mut struck = false;
            for position in 0..remains.len() {
                let stays = |choice: &Choice| match choice.leads {
                    Leads::Inside { at, .. } => remains[at as usize],
                    Leads::Won | Leads::Known(_) => false,
                };
                let mut slots = position * self.rolls()..(position + 1) * self.rolls();
                if remains[position] && !slots.all(|slot| self.choices(slot).iter().any(stays)) {
                    remains[position] = false;
                    struck = true;
                }
            }
            if !struck {
                return remains.iter().position(|&remains| remains);
            }
        }
    }

    /// The choices that are best by the values that `chance` gives to the positions inside and
    /// `known` to the others, the first of equal ones.
    pub(crate) fn greedy(&self, chance: impl Fn(u32) -> f64) -> Policy {
        let denominator = scaled(&self.common);
        let value = |choice: &Choice| match choice.leads {
            Leads::Won => 1.0,
            Leads::Inside { at, turn_passes: true } => 1.0 - chance(at),
            Leads::Inside { at, turn_passes: false } => chance(at),
            Leads::Known(at) => quotient(&self.known[at as usize], denominator),
        };
        let best = |slot: usize| {
            let values = self.choices(slot).iter().map(value).enumerate();
            let better = |a: (usize, f64), b: (usize, f64)| if b.1 > a.1 { b } else { a };
            values.reduce(better).map_or(0, |(choice, _)| choice as u8)
        };
        (0..self.ends.len()).map(best).collect()
    }

    /// The linear equations of a policy: `total V(s) - sum of weight W(s') = 0`, times `common`.
    pub(crate) fn of_policy(&self, policy: &Policy) -> System {
        let total = self.weights.total;
        let common = BigInt::from(self.common.clone());
        let mut system = System {
            rows: Vec::with_capacity(self.len()),
            right: Vec::with_capacity(self.len()),
            largest: self.common.clone(),
        };
        for (position, policy) in (0..).zip(policy.chunks_exact(self.rolls())) {
            let mut row = Row::from([(position, total)]);
            let mut right = BigInt::zero();
            for (roll, (&chosen, &weight)) in policy.iter().zip(&self.weights.weights).enumerate() {
                let slot = position as usize * self.rolls() + roll;
                match self.choices(slot)[chosen as usize].leads {
                    Leads::Won => right += &common * weight,
                    Leads::Known(at) => {
                        right += BigInt::from(self.known[at as usize].clone()) * weight;
                    }
                    Leads::Inside { at, turn_passes: false } => row.push((at, -weight)),
                    Leads::Inside { at, turn_passes: true } => {
                        row.push((at, weight));
                        right += &common * weight;
                    }
                }
            }
            system.rows.push(sum_by_column(row));
            system.right.push(right);
        }
        system
    }

    /// Compares every choice of a policy with all others, by the exact values of that policy, and
    /// changes those that are not the best. If none was, the policy is optimal.
    pub(crate) fn improve(&self, policy: &mut Policy, values: &Solution) -> Comparison {
        let whole = &self.common * &values.denominator;
        let value = |choice: &Choice| match choice.leads {
            Leads::Won => whole.clone(),
            Leads::Known(at) => &self.known[at as usize] * &values.denominator,
            Leads::Inside { at, turn_passes: false } => values.numerators[at as usize].clone(),
            Leads::Inside { at, turn_passes: true } => &whole - &values.numerators[at as usize],
        };
        let mut comparison = Comparison::default();
        for (slot, chosen) in policy.iter_mut().enumerate() {
            let choices = self.choices(slot);
            if choices.len() < 2 {
                continue;
            }
            let chances: Vec<BigUint> = choices.iter().map(value).collect();
            let mut best = usize::from(*chosen);
            for (other, chance) in chances.iter().enumerate() {
                if *chance > chances[best] {
                    best = other;
                }
            }
            comparison.choices += 1;
            let equal = chances.iter().filter(|&chance| *chance == chances[best]).count();
            comparison.ties += u64::from(equal > 1);
            if best != usize::from(*chosen) {
                *chosen = best as u8;
                comparison.improved += 1;
            }
        }
        comparison
    }

    /// The common denominator of the values that are known.
    pub(crate) fn common(&self) -> &BigUint {
        &self.common
    }
}

/// Sorts by column and adds up what is in the same one.
fn sum_by_column(mut row: Row<i64>) -> Row<i64> {
    row.sort_by_key(|&(column, _)| column);
    row.dedup_by(|later, first| {
        let same = later.0 == first.0;
        first.1 += if same { later.1 } else { 0 };
        same
    });
    row
}

/// A number as a float in [2^63, 2^64) and a power of two.
fn scaled(number: &BigUint) -> (f64, i64) {
    let shift = number.bits() as i64 - 64;
    let upper = if shift > 0 { number >> shift } else { number << -shift };
    (upper.iter_u64_digits().next().unwrap_or(0) as f64, shift)
}

/// A number divided by a scaled one.
fn quotient(numerator: &BigUint, (denominator, shift): (f64, i64)) -> f64 {
    if numerator.is_zero() {
        return 0.0;
    }
    let (upper, numerator_shift) = scaled(numerator);
    upper / denominator * 2f64.powi((numerator_shift - shift).clamp(-2000, 0) as i32)
}
