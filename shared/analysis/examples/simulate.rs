//! Plays games with random dice, and says how long they are and what a random choice would lose in their decisions: an
//! experiment beside `analyse`. The players are perfect, or choose at random.
//!
//! ```sh
//! cargo run --release -p ziggurat-analysis --example simulate -- finkel-7.zgt perfect 1000000
//! ```

use std::{collections::BTreeMap, error::Error, path::Path};

use rayon::prelude::*;
use ziggurat_advice::SeededDice;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::{Outcome, Position, Ruleset};
use ziggurat_table::AnyTable;

/// So many games are played with dice of one seed.
const GAMES: u64 = 10_000;

/// All values of a table in memory.
struct Players<'a> {
    encoding: &'a Encoding,
    ruleset: &'a Ruleset,
    values: BTreeMap<Tier, Vec<f64>>,
    are_perfect: bool,
}

impl Players<'_> {
    /// The chance of the player to move.
    fn chance(&self, position: &Position) -> f64 {
        let Index { tier, offset } = self.encoding.rank(position);
        self.values[&tier][offset as usize]
    }

    /// The chance of the player who moves, after it.
    fn worth(&self, outcome: &Outcome) -> f64 {
        match outcome.won {
            true => 1.0,
            false if outcome.rolls_again => self.chance(&outcome.next()),
            false => 1.0 - self.chance(&outcome.next()),
        }
    }

    /// Plays a game.
    fn play(&self, dice: &mut SeededDice) -> Game {
        let mut position = Position::start();
        let mut game = Game::default();
        let mut choices: Vec<(f64, Outcome)> = Vec::new();
        loop {
            game.rolls += 1.0;
            let roll = dice.roll(self.ruleset);
            let outcomes = self.ruleset.moves(&position, roll.value);
            let outcomes = outcomes.map(|mv| self.ruleset.apply(&position, mv));
            choices.clear();
            choices.extend(outcomes.map(|outcome| (self.worth(&outcome), outcome)));
            let best = choices.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
            let Some((most, mut outcome)) = best else {
                position = position.swap();
                continue;
            };
            if choices.len() > 1 {
                let worth: f64 = choices.iter().map(|(worth, _)| worth).sum();
                game.regret += most - worth / choices.len() as f64;
                game.decisions += 1.0;
            }
            if !self.are_perfect {
                outcome = choices[(dice.next_bits() % choices.len() as u64) as usize].1;
            }
            if outcome.won {
                return game;
            }
            position = outcome.next();
        }
    }
}

/// What happened in a game.
#[derive(Default)]
struct Game {
    rolls: f64,
    /// Rolls with more than one legal move, and what a random choice would lose in all of them.
    decisions: f64,
    regret: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, players, games] = &arguments[..] else {
        return Err("usage: simulate TABLE perfect|random GAMES".into());
    };
    let are_perfect = match &players[..] {
        "perfect" => true,
        "random" => false,
        _ => return Err("players are perfect or random".into()),
    };
    let table = AnyTable::open(Path::new(file))?;
    let encoding = table.encoding();
    let mut values = BTreeMap::new();
    for tier in encoding.tiers() {
        // A table has the chance of the player who just moved, less one half.
        let stored = table.read_tier(tier)?;
        values.insert(tier, stored.into_iter().map(|stored| 0.5 - stored).collect());
    }
    let players = Players { encoding, ruleset: encoding.ruleset(), values, are_perfect };
    println!("chance {:.10} %", 100.0 * players.chance(&Position::start()));
    let parts = games.parse::<u64>()?.div_ceil(GAMES);
    let sums = (0..parts).into_par_iter().map(|seed| {
        let mut dice = SeededDice::new(seed << 32);
        let games = (0..GAMES).map(|_| players.play(&mut dice));
        let sums = games.map(|it| [it.rolls, it.rolls * it.rolls, it.decisions, it.regret]);
        sums.fold([0.0; 4], add)
    });
    let [rolls, squares, decisions, regret] =
        sums.collect::<Vec<_>>().into_iter().fold([0.0; 4], add);
    let count = (parts * GAMES) as f64;
    let mean = rolls / count;
    let deviation = (squares / count - mean * mean).sqrt();
    let error = deviation / count.sqrt();
    println!("{count} games: {mean:.6} rolls, standard error {error:.6}, deviation {deviation:.6}");
    println!("a random choice would lose {:.4} points of a decision", 100.0 * regret / decisions);
    Ok(())
}

fn add(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|i| a[i] + b[i])
}
