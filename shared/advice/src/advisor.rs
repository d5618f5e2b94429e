//! An open table, and the moves of positions in it.

use std::path::Path;

use ziggurat_game::{Move, Position, Roll, Ruleset};
use ziggurat_table::{AnyTable, TableError};

use crate::{
    Bound,
    ranking::{ValuedMove, rank},
};

/// A table, open for advice. It may be shared between threads.
pub struct Advisor {
    table: AnyTable,
    bound: Bound,
}

/// The legal moves for a roll.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The roll.
    pub roll: Roll,
    /// The legal moves, best first, ties in the order of the path; none if the turn passes.
    pub moves: Vec<ValuedMove>,
    /// q(s, r): the chance of winning with the best move, or after passing.
    pub chance: f64,
}

impl Advice {
    /// The best move, the first of those that are tied; `None` if the turn passes.
    pub fn best(&self) -> Option<&ValuedMove> {
        self.moves.first()
    }

    /// The best move and all that are tied with it.
    pub fn best_moves(&self) -> &[ValuedMove] {
        &self.moves[..self.moves.iter().take_while(|it| it.place == 1).count()]
    }

    /// A legal move with its value.
    pub fn of(&self, mv: Move) -> Option<&ValuedMove> {
        self.moves.iter().find(|valued| valued.mv == mv)
    }
}

/// A position before the roll: all rolls with their moves.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The position.
    pub position: Position,
    /// The chance of the player to move, as the table has it.
    pub chance: f64,
    /// Every roll, ascending.
    pub rolls: Vec<Advice>,
}

impl Outlook {
    /// v(s), the mean over the rolls: what [`Outlook::chance`] is up to what the table is off.
    pub fn mean(&self) -> f64 {
        self.rolls.iter().map(|advice| advice.roll.chance() * advice.chance).sum()
    }

    /// The luck of a roll: what it is worth more than the mean. It is zero on average.
    pub fn luck(&self, advice: &Advice) -> f64 {
        advice.chance - self.mean()
    }

    /// The moves for a roll, `None` if the dice never show it.
    pub fn advice(&self, roll: u8) -> Option<&Advice> {
        self.rolls.iter().find(|advice| advice.roll.value == roll)
    }
}

/// Where the chance after a move comes from.
enum Source {
    /// The game is won.
    Won,
    /// A question's answer, the chance of the player who moved.
    Mine(usize),
    /// A question's answer, the chance of the other player.
    Theirs(usize),
}

impl Source {
    fn chance(&self, answers: &[f64]) -> f64 {
        match *self {
            Self::Won => 1.0,
            Self::Mine(at) => answers[at],
            Self::Theirs(at) => 1.0 - answers[at],
        }
    }
}

impl Advisor {
    /// Opens a table.
    ///
    /// # Errors
    /// As [`AnyTable::open`].
    pub fn open(path: &Path) -> Result<Self, TableError> {
        AnyTable::open(path).map(Self::new)
    }

    /// Advice from an open table.
    pub fn new(table: AnyTable) -> Self {
        let bound = Bound::of(&table);
        Self { table, bound }
    }

    /// The table.
    pub fn table(&self) -> &AnyTable {
        &self.table
    }

    /// The ruleset.
    pub fn ruleset(&self) -> &Ruleset {
        self.table.ruleset()
    }

    /// How far chances may be from the true ones.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// The chance that the player to move wins; decided positions have one, too.
    ///
    /// # Errors
    /// If the position is not one of the ruleset's, or the table cannot be read or is damaged.
    pub fn value(&self, position: &Position) -> Result<f64, TableError> {
        self.table.value(position)
    }

    /// The chances of many positions, in their order; see [`AnyTable::values`].
    ///
    /// # Errors
    /// As [`Advisor::value`].
    pub fn values(&self, positions: &[Position]) -> Result<Vec<f64>, TableError> {
        self.table.values(positions)
    }

    /// The moves of a position for a roll.
    ///
    /// # Errors
    /// If the position is decided or not one of the ruleset's, or the table cannot be read or is damaged.
    pub fn advice(&self, position: &Position, roll: Roll) -> Result<Advice, TableError> {
        let mut advice = self.advice_for(&[(*position, roll)])?;
        Ok(advice.remove(0))
    }

    /// The moves of many positions and rolls, in their order. The look-ups are made all at once, each part of the table read once.
    ///
    /// # Errors
    /// As [`Advisor::advice`].
    pub fn advice_for(&self, asked: &[(Position, Roll)]) -> Result<Vec<Advice>, TableError> {
        let ruleset = self.ruleset();
        let mut questions = Vec::new();
        let mut ask = |position: Position| {
            questions.push(position);
            questions.len() - 1
        };
        let mut plans = Vec::with_capacity(asked.len());
        for (position, roll) in asked {
            self.check_undecided(position)?;
            let moves: Vec<_> = ruleset
                .moves(position, roll.value)
                .map(|mv| {
                    let outcome = ruleset.apply(position, mv);
                    let source = match outcome {
                        _ if outcome.won => Source::Won,
                        _ if outcome.rolls_again => Source::Mine(ask(outcome.next())),
                        _ => Source::Theirs(ask(outcome.next())),
                    };
                    (mv, outcome, source)
                })
                .collect();
            let pass = moves.is_empty().then(|| Source::Theirs(ask(position.swap())));
            plans.push((*roll, moves, pass));
        }
        let answers = self.values(&questions)?;
        let told_apart = self.bound.told_apart();
        let advice = plans.into_iter().map(|(roll, moves, pass)| {
            let valued = moves.into_iter().map(|(mv, outcome, source)| {
                let chance = source.chance(&answers);
                ValuedMove { mv, outcome, chance, place: 0, tied: false }
            });
            let mut moves: Vec<ValuedMove> = valued.collect();
            rank(&mut moves, told_apart);
            let best = moves.iter().map(|valued| valued.chance).reduce(f64::max);
            let passed = pass.map(|source| source.chance(&answers));
            let chance = best.or(passed).expect("without a move there is the pass");
            Advice { roll, moves, chance }
        });
        Ok(advice.collect())
    }

    /// All rolls of a position.
    ///
    /// # Errors
    /// As [`Advisor::advice`].
    pub fn outlook(&self, position: &Position) -> Result<Outlook, TableError> {
        let mut outlooks = self.outlooks(std::slice::from_ref(position))?;
        Ok(outlooks.remove(0))
    }

    /// All rolls of many positions, in their order; the look-ups are made all at once.
    ///
    /// # Errors
    /// As [`Advisor::advice`].
    pub fn outlooks(&self, positions: &[Position]) -> Result<Vec<Outlook>, TableError> {
        let rolls = self.ruleset().dice().rolls();
        let asked: Vec<(Position, Roll)> = positions
            .iter()
            .flat_map(|position| rolls.iter().map(move |roll| (*position, *roll)))
            .collect();
        let mut advice = self.advice_for(&asked)?.into_iter();
        let chances = self.values(positions)?;
        let outlooks = positions.iter().zip(chances).map(|(&position, chance)| Outlook {
            position,
            chance,
            rolls: advice.by_ref().take(rolls.len()).collect(),
        });
        Ok(outlooks.collect())
    }

    fn check_undecided(&self, position: &Position) -> Result<(), TableError> {
        let ruleset = self.ruleset();
        let refuse =
            |why: String| TableError::NotAPosition { ruleset: ruleset.name().to_owned(), why };
        ruleset.check_position(position).map_err(|error| refuse(error.to_string()))?;
        if [position.own, position.opponent].iter().any(|side| side.scored == ruleset.pieces()) {
            let text = ruleset.format_position(position);
            return Err(refuse(format!("`{text}` is decided, nobody can move any more")));
        }
        Ok(())
    }
}
