//! The account of a game.

use std::fmt;

use ziggurat_advice::{Advice, Advisor};
use ziggurat_game::{Move, Position};
use ziggurat_records::{End, Game, Player, Replay, Turn};
use ziggurat_table::TableError;

use crate::{LuckMark, MoveMark, Totals};

/// An action with its account.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// Who rolled.
    pub by: Player,
    /// The position before the roll, seen by that player.
    pub position: Position,
    /// The chance of that player before the roll, the mean over the rolls.
    pub chance: f64,
    /// The roll and its legal moves, best first.
    pub advice: Advice,
    /// What the roll is worth more than the mean.
    pub luck: f64,
    /// The move; `None` if the roll left none.
    pub mv: Option<Move>,
    /// The chance of that player after the move or the pass.
    pub chance_after: f64,
    /// What a best move is worth more than the move. Less than what is proven may be nothing.
    pub loss: f64,
    /// The best move, where it is better than the one that was made, as far as can be told.
    pub better: Option<Move>,
}

impl Reviewed {
    /// Whether there was a choice.
    pub fn is_decision(&self) -> bool {
        self.advice.moves.len() > 1
    }

    /// The mark of the roll.
    pub fn luck_mark(&self) -> Option<LuckMark> {
        LuckMark::of(self.luck)
    }

    /// The mark of the move.
    pub fn move_mark(&self) -> Option<MoveMark> {
        self.better.and_then(|_| MoveMark::of(self.loss))
    }

    /// A chance of the player who rolled as one of light.
    pub fn of_light(&self, chance: f64) -> f64 {
        if self.by == Player::Light { chance } else { 1.0 - chance }
    }
}

/// Where the chances of light went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ledger {
    /// At the start, as the table has it.
    pub start: f64,
    /// The luck of light and of dark.
    pub luck: [f64; 2],
    /// What the moves of light and of dark lost.
    pub loss: [f64; 2],
    /// At the end: 1 or 0 if the game was won, else the chance in the last position.
    pub result: f64,
    /// What the result is more than what the others come to.
    pub rest: f64,
    /// The most that the rest can be, if the table proves something.
    pub most_rest: Option<f64>,
}

/// The account of a game.
#[derive(Clone, Debug)]
pub struct Review {
    /// The game.
    pub game: Game,
    /// Its actions.
    pub actions: Vec<Reviewed>,
    /// Its ledger.
    pub ledger: Ledger,
    /// What light and dark did.
    pub totals: [Totals; 2],
}

/// Why there is no account of a game.
#[derive(Debug)]
pub enum ReviewError {
    /// The table is of other rules.
    OtherRules {
        /// The rules of the game.
        game: String,
        /// The rules of the table.
        table: String,
    },
    /// The table cannot be read or is damaged.
    Table(TableError),
}

impl fmt::Display for ReviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherRules { game, table } => {
                write!(f, "the game was played by the rules of {game}, and the table is of {table}")
            }
            Self::Table(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReviewError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::OtherRules { .. } => None,
            Self::Table(error) => error.source(),
        }
    }
}

impl From<TableError> for ReviewError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

/// The account of a game by a table of its rules.
///
/// # Errors
/// If the table is of other rules, cannot be read, or is damaged.
pub fn review(game: Game, advisor: &Advisor) -> Result<Review, ReviewError> {
    if game.ruleset != *advisor.ruleset() {
        let named = |ruleset: &ziggurat_game::Ruleset| {
            format!("{} with {} pieces", ruleset.name(), ruleset.pieces())
        };
        let (game, table) = (named(&game.ruleset), named(advisor.ruleset()));
        return Err(ReviewError::OtherRules { game, table });
    }
    let turns = game.turns();
    let positions: Vec<Position> = turns.iter().map(|turn| turn.position).collect();
    let outlooks = advisor.outlooks(&positions)?;
    let told_apart = advisor.bound().told_apart();
    let actions: Vec<Reviewed> = turns
        .iter()
        .zip(outlooks)
        .map(|(turn, outlook)| {
            let chance = outlook.mean();
            let advice = outlook.rolls.into_iter().find(|it| it.roll.value == turn.roll);
            account(turn, chance, advice.expect("a roll of the dice"), told_apart)
        })
        .collect();
    let ledger = ledger(&game, &actions, advisor)?;
    let totals =
        Player::BOTH.map(|player| totals(actions.iter().filter(|action| action.by == player)));
    Ok(Review { game, actions, ledger, totals })
}

/// The sums over some actions.
fn totals<'a>(actions: impl Iterator<Item = &'a Reviewed>) -> Totals {
    let mut totals = Totals::default();
    for action in actions {
        let is_decision = action.is_decision();
        totals += Totals {
            rolls: 1,
            decisions: is_decision.into(),
            right: (is_decision && action.better.is_none()).into(),
            luck: action.luck,
            loss: action.loss,
        };
    }
    totals
}

/// The account of an action.
fn account(turn: &Turn, chance: f64, advice: Advice, told_apart: f64) -> Reviewed {
    let luck = advice.chance - chance;
    let mv = turn.moved.map(|(mv, _)| mv);
    let valued = mv.and_then(|mv| advice.of(mv)).copied();
    let chance_after = valued.map_or(advice.chance, |valued| valued.chance);
    let loss = advice.chance - chance_after;
    let best = advice.best().map(|best| best.mv);
    let better = best.filter(|_| loss > told_apart && valued.is_some_and(|it| it.place > 1));
    let (by, position) = (turn.by, turn.position);
    Reviewed { by, position, chance, advice, luck, mv, chance_after, loss, better }
}

fn ledger(game: &Game, actions: &[Reviewed], advisor: &Advisor) -> Result<Ledger, TableError> {
    let of_light = |player: Player, chance: f64| match player {
        Player::Light => chance,
        Player::Dark => 1.0 - chance,
    };
    let sum = |player: Player, part: &dyn Fn(&Reviewed) -> f64| -> f64 {
        actions.iter().filter(|action| action.by == player).map(part).sum()
    };
    let start = of_light(game.start.first, advisor.value(&game.start.position)?);
    let luck = Player::BOTH.map(|player| sum(player, &|action| action.luck));
    let loss = Player::BOTH.map(|player| sum(player, &|action| action.loss));
    let result = match game.end {
        End::Won(player) => of_light(player, 1.0),
        _ => {
            let mut replay = Replay::new(&game.ruleset, game.start);
            for action in &game.actions {
                replay.play(action.roll, action.mv).expect("a legal action");
            }
            of_light(replay.to_roll(), advisor.value(replay.position())?)
        }
    };
    let accounted = start + luck[0] - loss[0] - luck[1] + loss[1];
    let steps = actions.len() as f64 + 1.0;
    // Each step compares a value with the mean of others, both off by the certificate at most; adding rounds.
    let rounding = steps * 16.0 * f64::EPSILON;
    let most_rest =
        advisor.table().certificate().map(|certificate| 2.0 * steps * certificate + rounding);
    Ok(Ledger { start, luck, loss, result, rest: result - accounted, most_rest })
}
