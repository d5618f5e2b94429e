//! `ziggurat play`: a game against a policy, in the terminal.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use clap::ValueEnum;
use ziggurat_advice::{Advice, Advisor, Policy, SeededDice};
use ziggurat_game::{Move, Roll, Ruleset};
use ziggurat_records::{Action, End, Game, Player, Replay, json, move_name, rgn};
use ziggurat_review::{review, text};

use crate::{
    failure::{Exit, Explain, Failure},
    interrupt::{NOTICE, flag_on_interrupt},
    output::{game, print, typed, write_whole},
    program_name,
};

/// Play a game in the terminal, against the perfect player or a rule of thumb
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat play finkel-7.zgt\n\
\x20 ziggurat play finkel-7.zgt --side dark --against greedy --seed 7 --chances\n\
\x20 ziggurat play finkel-7.zgt --dice enter")]
pub struct Args {
    /// The table of the rules to play by, .zgt or .rgu
    file: PathBuf,

    /// The side you play
    #[arg(long, value_name = "SIDE", default_value = "light")]
    side: Side,

    /// Who plays the other: perfect, gain, greedy, furthest, rearmost or random
    #[arg(long, value_name = "NAME", default_value_t)]
    against: Policy,

    /// Who throws the dice: the program, or you, entering what real ones show
    #[arg(long, value_name = "WHO", default_value = "throw")]
    dice: Thrown,

    /// The seed of the dice; another each time if there is none
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Show the chance of every move
    #[arg(long)]
    chances: bool,

    /// Where the record goes, .rgn or .json; default: RULESET-PIECES-SEED.rgn
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// The side of the person.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Side {
    Light,
    Dark,
}

/// Who throws the dice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Thrown {
    Throw,
    Enter,
}

/// More decimals of a chance in percent are no help to somebody who plays.
const MOST_DECIMALS: usize = 2;

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let advisor = Advisor::open(&args.file)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = args.seed.unwrap_or(since.as_millis() as u64 % 1_000_000_000);
    let file = args.record.clone().unwrap_or_else(|| {
        let ruleset = advisor.ruleset();
        PathBuf::from(format!("{}-{}-{seed}.rgn", ruleset.name(), ruleset.pieces()))
    });
    if file.exists() {
        return Err(Failure::bad_input(format!("{} already exists", file.display()))
            .help("name another file: --record FILE"));
    }
    let mut table = Table {
        advisor: &advisor,
        person: if args.side == Side::Light { Player::Light } else { Player::Dark },
        args,
        keyboard: Keyboard::listen()?,
        dice: SeededDice::new(seed),
        policy_dice: SeededDice::new(!seed),
        game: new_game(&advisor, &args.against),
        chances: args.chances,
        pending: None,
    };
    print(&format!(
        "{}; you are {}, the {} player is {}; the seed of the dice is {seed}.\n{HELP}",
        game(advisor.ruleset()),
        table.person,
        args.against,
        table.person.other(),
    ))?;
    table.play()?;
    table.finish(&file)
}

const HELP: &str = "\
Type the number of a move, or its squares (A4A2), or:
  hint   the best move            chances   show or hide the chances
  undo   back to your last move   quit      end the game, and keep the record
";

fn new_game(advisor: &Advisor, against: &Policy) -> Game {
    let ruleset = advisor.ruleset().clone();
    let mut metadata = vec![("Opponent".to_owned(), against.name().to_owned())];
    // A name that is not built in says nothing to a reader.
    if let Some(usual) = Ruleset::builtin(ruleset.name()) {
        metadata.push(("Rules".to_owned(), ruleset.name().to_owned()));
        if usual.pieces() != ruleset.pieces() {
            metadata.push(("Pieces".to_owned(), ruleset.pieces().to_string()));
        }
    }
    Game { metadata, ..Game::new(ruleset) }
}

/// A game that is being played.
struct Table<'a> {
    advisor: &'a Advisor,
    args: &'a Args,
    keyboard: Keyboard,
    person: Player,
    dice: SeededDice,
    policy_dice: SeededDice,
    game: Game,
    chances: bool,
    /// A roll that is to be answered again, after an undo.
    pending: Option<Roll>,
}

/// What the person wants.
enum Wish {
    Move(Move),
    Undo,
    Quit,
}

impl Table<'_> {
    /// Plays until somebody wins or the person leaves.
    fn play(&mut self) -> Result<(), Failure> {
        let ruleset = self.game.ruleset.clone();
        loop {
            let mut replay = Replay::new(&ruleset, self.game.start);
            for action in &self.game.actions {
                replay.play(action.roll, action.mv).expect("a legal action");
            }
            if let Some(winner) = replay.winner() {
                self.game.end = End::Won(winner);
                let who = if winner == self.person { "You win." } else { "You lose." };
                return print(&format!("\n{who}\n"));
            }
            let by = replay.to_roll();
            let Some(roll) = self.next_roll(by)? else { return self.leave() };
            let advice = self.advisor.advice(replay.position(), roll)?;
            let mv = if advice.moves.is_empty() {
                print(&format!("{} rolled {} and cannot move.\n", self.name(by), roll.value))?;
                None
            } else if by == self.person {
                match self.ask(&replay, &advice)? {
                    Wish::Move(mv) => Some(mv),
                    Wish::Quit => return self.leave(),
                    Wish::Undo => {
                        self.undo(roll)?;
                        continue;
                    }
                }
            } else {
                let chosen = self.args.against.choose(
                    self.advisor.ruleset(),
                    &advice,
                    &mut self.policy_dice,
                );
                let mv = chosen.expect("a legal move").mv;
                let name = move_name(&ruleset, by, mv);
                print(&format!("{} rolled {} and played {name}.\n", self.name(by), roll.value))?;
                Some(mv)
            };
            self.game.actions.push(Action { by, roll: roll.value, mv, time: None });
        }
    }

    fn name(&self, player: Player) -> &'static str {
        match player {
            player if player == self.person => "You",
            Player::Light => "Light",
            Player::Dark => "Dark",
        }
    }

    fn leave(&mut self) -> Result<(), Failure> {
        self.game.end = End::Abandoned { by: Some(self.person), reason: None };
        print("\n")
    }

    /// The next roll; `None` if the person leaves.
    fn next_roll(&mut self, by: Player) -> Result<Option<Roll>, Failure> {
        if let Some(roll) = self.pending.take() {
            return Ok(Some(roll));
        }
        let rolls = self.game.ruleset.dice().rolls().to_vec();
        if self.args.dice == Thrown::Throw {
            return Ok(Some(self.dice.roll(&self.game.ruleset)));
        }
        loop {
            let Some(line) = self.keyboard.line(&format!("{by} rolls: "))? else { return Ok(None) };
            if line == "quit" {
                return Ok(None);
            }
            if let Some(roll) = rolls.iter().find(|roll| line == roll.value.to_string()) {
                return Ok(Some(*roll));
            }
            let known: Vec<String> = rolls.iter().map(|roll| roll.value.to_string()).collect();
            print(&format!("Rolls are {}.\n", known.join(", ")))?;
        }
    }

    /// Takes back everything since the person's last decision, which is to be made again.
    fn undo(&mut self, roll: Roll) -> Result<(), Failure> {
        let last = self.game.actions.iter().rposition(|it| it.by == self.person && it.mv.is_some());
        let Some(last) = last else {
            self.pending = Some(roll);
            return print("There is nothing to take back.\n");
        };
        let again = self.game.actions[last].roll;
        self.game.actions.truncate(last);
        self.pending =
            self.game.ruleset.dice().rolls().iter().find(|roll| roll.value == again).copied();
        Ok(())
    }

    /// Asks the person for a move.
    fn ask(&mut self, replay: &Replay<'_>, advice: &Advice) -> Result<Wish, Failure> {
        let ruleset = replay.ruleset();
        // As they stand on the board, not best first.
        let mut moves: Vec<_> = advice.moves.iter().collect();
        moves.sort_by_key(|it| it.mv);
        let name = |mv: Move| move_name(ruleset, self.person, mv);
        print(&format!("\n{}", ruleset.draw_position(replay.position())))?;
        loop {
            let mut text = format!("You rolled {}.\n", advice.roll.value);
            for (number, valued) in moves.iter().enumerate() {
                let chance = if self.chances {
                    let decimals = self.advisor.bound().decimals().min(MOST_DECIMALS);
                    format!("  {:.decimals$} %", valued.chance * 100.0)
                } else {
                    String::new()
                };
                text += &format!("  {}  {}{chance}\n", number + 1, name(valued.mv));
            }
            print(&text)?;
            let Some(line) = self.keyboard.line("> ")? else { return Ok(Wish::Quit) };
            let number =
                line.parse().ok().and_then(|number: usize| moves.get(number.wrapping_sub(1)));
            let squares = moves.iter().find(|it| name(it.mv).eq_ignore_ascii_case(&line));
            if let Some(valued) = number.or(squares) {
                return Ok(Wish::Move(valued.mv));
            }
            match line.as_str() {
                "hint" => {
                    let best: Vec<String> =
                        advice.best_moves().iter().map(|it| name(it.mv)).collect();
                    print(&format!("Best: {}.\n", best.join(" or ")))?;
                }
                "undo" => return Ok(Wish::Undo),
                "chances" => self.chances = !self.chances,
                "quit" => return Ok(Wish::Quit),
                "" => {}
                _ => print(HELP)?,
            }
        }
    }

    /// Writes the record and offers the review.
    fn finish(self, file: &Path) -> Result<Exit, Failure> {
        let is_json = file.extension().is_some_and(|ending| ending == "json");
        let written = if is_json { json::write(&self.game) } else { rgn::write(&self.game) };
        let record = written.or_bad_input().or_help("write it as .rgn: --record FILE.rgn")?;
        write_whole(file, false, &record)?;
        print(&format!(
            "The record is in {}. Review it: {} review {} --table {}\n",
            file.display(),
            program_name(),
            typed(file),
            typed(&self.args.file)
        ))?;
        if self.keyboard.is_interrupted() {
            return Ok(Exit::Interrupted);
        }
        if let Some(answer) = self.keyboard.line("Show the review now? [y/N] ")?
            && answer.to_lowercase().starts_with('y')
        {
            let account = review(self.game, self.advisor).context("cannot review the game")?;
            print(&text(&account))?;
        }
        Ok(Exit::Success)
    }
}

/// Lines that the person types.
struct Keyboard {
    lines: Receiver<io::Result<String>>,
    interrupted: &'static AtomicBool,
}

impl Keyboard {
    /// Begins to read standard input. From now on a signal ends the game, and the record is kept.
    fn listen() -> Result<Self, Failure> {
        let (sender, lines) = channel();
        // It is not waited for: it may be reading when the game is over.
        thread::spawn(move || io::stdin().lines().try_for_each(|line| sender.send(line)));
        Ok(Self { lines, interrupted: flag_on_interrupt()? })
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// The next line; `None` at the end of the input, or after a signal.
    fn line(&self, prompt: &str) -> Result<Option<String>, Failure> {
        print(prompt)?;
        loop {
            match self.lines.recv_timeout(NOTICE) {
                _ if self.is_interrupted() => return Ok(None),
                Ok(line) => {
                    let line = line.context("cannot read standard input")?;
                    return Ok(Some(line.trim().to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }
}
