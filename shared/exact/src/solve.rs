//! A ruleset step by step: the positions with the same numbers of pieces left, fewest first.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::One;
use rustc_hash::FxHashMap;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Move, Overrides, Position, Ruleset};

use crate::equations::{Comparison, Equations};
use crate::fraction::ratio;
use crate::weights::Weights;
use crate::{ExactError, linear};

/// The most positions of a step that [`solve`] takes on. Two pieces on the short tracks fit: finkel
/// (9,696 positions in its largest step) takes half a minute and fractions of 11,691 digits; time
/// grows with the cube of the positions.
pub const MOST_POSITIONS: u64 = 20_000;

/// Policies are improved so often before [`ExactError::NotOptimal`]: from a floating solution one
/// or two rounds are enough.
const MOST_ROUNDS: u32 = 1_000;

/// The exact value of every undecided position of a ruleset, and an optimal policy.
#[derive(Clone, Debug)]
pub struct Exact {
    ruleset: Ruleset,
    steps: Vec<Solved>,
    index: FxHashMap<Position, Place>,
    proof: Proof,
}

/// What was compared to prove the policy optimal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// Undecided positions.
    pub positions: u64,
    /// Positions times rolls: every one has its equation's term checked.
    pub rolls: u64,
    /// Those that leave the player to move more than one legal move; all moves were compared.
    pub choices: u64,
    /// Choices in which another move is exactly as good as the best.
    pub ties: u64,
    /// Choices of the guessed policy that were not the best, and were changed.
    pub improved: u64,
}

/// Where the value of a position is.
#[derive(Clone, Copy, Debug)]
struct Place {
    step: u32,
    at: u32,
}

/// The pieces left of both players together, and of the player who has more left.
type StepKey = (u8, u8);

/// A step with its values.
#[derive(Clone, Debug)]
struct Solved {
    key: StepKey,
    positions: Vec<Position>,
    /// The chances of the players to move, over the denominator.
    numerators: Vec<BigUint>,
    denominator: BigUint,
    /// For each position and roll, the best move; `None` if the turn passes.
    policy: Vec<Option<Move>>,
}

impl Exact {
    /// The ruleset.
    pub fn ruleset(&self) -> &Ruleset {
        &self.ruleset
    }

    /// The chance that the player to move wins, in lowest terms; `None` for a position that is
    /// decided or no arrangement of the ruleset.
    pub fn value(&self, position: &Position) -> Option<BigRational> {
        let place = self.index.get(position)?;
        let step = &self.steps[place.step as usize];
        Some(ratio(&step.numerators[place.at as usize], &step.denominator))
    }

    /// The chance that the player who begins wins, in lowest terms.
    pub fn first_player_wins(&self) -> BigRational {
        self.value(&Position::start()).expect("the start is an undecided position")
    }

    /// An optimal move; `None` if there is no legal move, the dice never show the roll, or
    /// [`Exact::value`] knows no such position. Of equally good moves it is one that a player with
    /// floating arithmetic finds.
    pub fn policy(&self, position: &Position, roll: u8) -> Option<Move> {
        let place = self.index.get(position)?;
        let rolls = self.ruleset.dice().rolls();
        let roll = rolls.iter().position(|known| known.value == roll)?;
        self.steps[place.step as usize].policy[place.at as usize * rolls.len() + roll]
    }

    /// All undecided positions, seen from the player to move, with that player's chance in lowest
    /// terms, those with the fewest pieces left first.
    pub fn iter(&self) -> impl Iterator<Item = (&Position, BigRational)> {
        self.steps.iter().flat_map(|step| {
            let value = |numerator| ratio(numerator, &step.denominator);
            step.positions.iter().zip(step.numerators.iter().map(value))
        })
    }

    /// The number of undecided positions.
    #[allow(clippy::len_without_is_empty)] // there is always the start
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// What was compared to prove the policy optimal.
    pub fn proof(&self) -> Proof {
        self.proof
    }
}

/// Solves a ruleset exactly.
///
/// # Errors
/// If a step has more than [`MOST_POSITIONS`] positions, the dice are too fine, or the players can
/// go on for ever; see [`ExactError`].
pub fn solve(ruleset: &Ruleset) -> Result<Exact, ExactError> {
    check_size(ruleset)?;
    let floating = ziggurat_reference::solve(ruleset);
    solve_from(ruleset, |position| floating.value(position).unwrap_or(0.5))
}

/// Solves a ruleset exactly, beginning with the policy that is best by guessed chances of the
/// player to move. The guess decides how long it takes, and which of equally good moves are
/// chosen, not the values.
///
/// # Errors
/// As [`solve`].
pub fn solve_from(
    ruleset: &Ruleset,
    guess: impl Fn(&Position) -> f64,
) -> Result<Exact, ExactError> {
    check_size(ruleset)?;
    let weights = Weights::new(ruleset.dice())?;
    let mut exact = Exact {
        ruleset: ruleset.clone(),
        steps: Vec::new(),
        index: FxHashMap::default(),
        proof: Proof::default(),
    };
    for (key, positions) in steps(ruleset) {
        let step = exact.steps.len() as u32;
        for (&position, at) in positions.iter().zip(0..) {
            exact.index.insert(position, Place { step, at });
        }
        let solved = exact.solve_step(&weights, key, positions, &guess)?;
        exact.steps.push(solved);
    }
    Ok(exact)
}

impl Exact {
    /// Solves one more step; its positions are in the index already.
    fn solve_step(
        &mut self,
        weights: &Weights,
        key: StepKey,
        positions: Vec<Position>,
        guess: &impl Fn(&Position) -> f64,
    ) -> Result<Solved, ExactError> {
        let ruleset = &self.ruleset;
        let equations = self.equations(weights, key, &positions);
        if let Some(at) = equations.endless() {
            let position = ruleset.format_position(&positions[at]);
            let safe_squares = !ruleset.safe_squares().is_empty();
            return Err(ExactError::Endless { position, safe_squares });
        }
        let mut policy = equations.greedy(|at| guess(&positions[at as usize]));
        let mut improved = 0;
        for _ in 0..MOST_ROUNDS {
            let values = equations
                .of_policy(&policy)
                .solve()
                .ok_or_else(|| ExactError::Coincidence { ruleset: ruleset.name().to_owned() })?;
            let comparison = equations.improve(&mut policy, &values);
            improved += comparison.improved;
            if comparison.improved > 0 {
                continue;
            }
            let Comparison { choices, ties, .. } = comparison;
            self.proof.positions += positions.len() as u64;
            self.proof.rolls += policy.len() as u64;
            self.proof.choices += choices;
            self.proof.ties += ties;
            self.proof.improved += improved;
            let chosen = policy.iter().enumerate();
            let policy =
                chosen.map(|(slot, &at)| equations.choices(slot)[at as usize].mv).collect();
            let linear::Solution { numerators, denominator } = values;
            let denominator = denominator * equations.common();
            return Ok(Solved { key, positions, numerators, denominator, policy }.in_lowest_terms());
        }
        let ruleset = ruleset.name().to_owned();
        Err(ExactError::NotOptimal { ruleset, rounds: MOST_ROUNDS })
    }

    /// The equations of the step that comes after those that are solved.
    fn equations<'w>(
        &self,
        weights: &'w Weights,
        key: StepKey,
        positions: &[Position],
    ) -> Equations<'w> {
        let this_step = self.steps.len() as u32;
        let place = |position: &Position| self.index[position];
        let reads = |step: &&Solved| step.is_one_piece_before(key);
        let common =
            self.steps.iter().filter(reads).fold(BigUint::one(), |lcm, s| lcm.lcm(&s.denominator));
        let factor = |step: &Solved| reads(&step).then(|| &common / &step.denominator);
        let factors: Vec<Option<BigUint>> = self.steps.iter().map(factor).collect();
        Equations::new(
            &self.ruleset,
            weights,
            positions,
            common,
            |next| Some(place(next)).filter(|p| p.step == this_step).map(|p| p.at),
            |next| {
                let Place { step, at } = place(next);
                let factor = factors[step as usize].as_ref();
                let factor = factor.expect("a move scores at most one piece");
                &self.steps[step as usize].numerators[at as usize] * factor
            },
        )
    }
}

impl Solved {
    /// Whether scoring one piece leads here from the step `key`.
    fn is_one_piece_before(&self, key: StepKey) -> bool {
        let (sum, most) = self.key;
        sum + 1 == key.0 && (most == key.1 || most + 1 == key.1)
    }

    /// Takes out what all numerators have in common with the denominator.
    fn in_lowest_terms(mut self) -> Self {
        let mut common = self.denominator.clone();
        for numerator in &self.numerators {
            if common.is_one() {
                return self;
            }
            common = common.gcd(numerator);
        }
        self.denominator /= &common;
        self.numerators.iter_mut().for_each(|numerator| *numerator /= &common);
        self
    }
}

/// The undecided positions by step, in the order in which the steps can be solved.
fn steps(ruleset: &Ruleset) -> BTreeMap<StepKey, Vec<Position>> {
    let mut steps: BTreeMap<StepKey, Vec<Position>> = BTreeMap::new();
    for position in ziggurat_reference::enumerate(ruleset) {
        let own = ruleset.pieces() - position.own.scored;
        let opponent = ruleset.pieces() - position.opponent.scored;
        steps.entry((own + opponent, own.max(opponent))).or_default().push(position);
    }
    steps
}

/// Refuses a ruleset whose largest step is too large.
fn check_size(ruleset: &Ruleset) -> Result<(), ExactError> {
    let encoding = Encoding::new(ruleset)?;
    let positions = largest_step(&encoding);
    if positions <= MOST_POSITIONS {
        return Ok(());
    }
    let fits = |&pieces: &u8| {
        let fewer = ruleset.with(&Overrides { pieces: Some(pieces), ..Overrides::default() });
        let encoding = fewer.ok().and_then(|fewer| Encoding::new(&fewer).ok());
        encoding.is_some_and(|encoding| largest_step(&encoding) <= MOST_POSITIONS)
    };
    Err(ExactError::TooManyPositions {
        ruleset: ruleset.name().to_owned(),
        pieces: ruleset.pieces(),
        positions,
        limit: MOST_POSITIONS,
        pieces_that_fit: (1..ruleset.pieces()).rev().find(fits),
    })
}

/// The number of positions of the largest step: a tier and its mirror image.
fn largest_step(encoding: &Encoding) -> u64 {
    let step = |tier: Tier| {
        let swap = if tier == tier.swap() { 0 } else { encoding.tier_len(tier.swap()) };
        encoding.tier_len(tier) + swap
    };
    encoding.tiers().into_iter().map(step).max().unwrap_or(0)
}
