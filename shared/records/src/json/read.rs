//! Reading the JSON notation.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de};
use serde_json::Number;
use ziggurat_game::{Move, Position, Ruleset, Side};

use super::{scan::place_of, settings::Settings};
use crate::{
    Action, End, Game, Place, Player, RecordError, Replay, Rules, Start, error::quoted,
    game::move_name, rgn::legal_moves, rules::are_the_same,
};

/// The version of the notation.
pub(super) const VERSION: u64 = 2;

/// A record as it is written.
#[derive(Deserialize)]
struct Record {
    notation_version: u64,
    #[serde(default)]
    metadata: Metadata,
    settings: Settings,
    initial_state: InitialState,
    states: Vec<State>,
}

/// The metadata, in their order.
#[derive(Default)]
struct Metadata(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut metadata = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    metadata.push(entry);
                }
                Ok(Metadata(metadata))
            }
        }
        from.deserialize_map(Visitor)
    }
}

#[derive(Deserialize)]
struct InitialState {
    board: Board,
    players: Players,
    #[serde(default)]
    turn: Option<Turn>,
}

#[derive(Deserialize)]
struct Board {
    /// By square.
    pieces: BTreeMap<String, Piece>,
}

/// The path position of a piece, negative for dark.
type Piece = i16;

#[derive(Deserialize)]
struct Players {
    #[serde(rename = "L")]
    light: PlayerState,
    #[serde(rename = "D")]
    dark: PlayerState,
}

#[derive(Deserialize)]
struct PlayerState {
    /// In hand.
    pieces: u8,
    score: u8,
}

#[derive(Clone, Copy, Deserialize)]
enum Turn {
    #[serde(rename = "L")]
    Light,
    #[serde(rename = "D")]
    Dark,
}

impl From<Turn> for Player {
    fn from(turn: Turn) -> Self {
        match turn {
            Turn::Light => Self::Light,
            Turn::Dark => Self::Dark,
        }
    }
}

#[derive(Deserialize)]
struct State {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    time: Option<Number>,
    #[serde(default)]
    turn: Option<Turn>,
    #[serde(default)]
    roll: Option<Roll>,
    #[serde(default, rename = "move")]
    mv: Option<WrittenMove>,
    #[serde(default)]
    moves: Option<Vec<WrittenMove>>,
    #[serde(default)]
    player: Option<Turn>,
    #[serde(default)]
    winner: Option<Turn>,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Roll {
    value: u8,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct WrittenMove {
    #[serde(default)]
    src: Option<Piece>,
    #[serde(default)]
    dest: Option<Piece>,
    #[serde(default)]
    captured: Option<Piece>,
}

/// Reads a game.
///
/// # Errors
/// If the text is not JSON or not of this notation, or an action is not legal.
pub fn read(text: &str, rules: Rules<'_>) -> Result<Game, RecordError> {
    let record: Record = serde_json::from_str(text).map_err(|error| {
        let place = Place { line: error.line().max(1), column: error.column().max(1) };
        let shown = error.to_string();
        let shown = shown.split(" at line ").next().unwrap_or_default().to_owned();
        RecordError::new(place, shown)
    })?;
    let at = |key: &str, problem: String| RecordError::new(place_of(text, key, None), problem);
    if record.notation_version != VERSION {
        let found = record.notation_version;
        let problem =
            format!("`notation_version` is {found}; this program reads version {VERSION}");
        return Err(at("notation_version", problem));
    }
    let said = record.settings.ruleset().map_err(|problem| at("settings", problem))?;
    let ruleset = match rules {
        Rules::Known(known) if !are_the_same(known, &said) => {
            let game = |it: &Ruleset| format!("{} with {} pieces", it.name(), it.pieces());
            let (said, known) = (game(&said), game(known));
            let problem = format!(
                "the game was played by the rules of {said}, and was to be read by those of {known}"
            );
            return Err(at("settings", problem));
        }
        Rules::Known(known) => known.clone(),
        Rules::Infer => said,
    };
    let start =
        start(&ruleset, &record.initial_state).map_err(|problem| at("initial_state", problem))?;
    let mut game = Game { metadata: record.metadata.0, start, ..Game::new(ruleset.clone()) };
    let mut reader =
        Reader { replay: Replay::new(&ruleset, start), game: &mut game, announced: None };
    for (index, state) in record.states.iter().enumerate() {
        reader.read(state).map_err(|problem| RecordError {
            place: place_of(text, "states", Some(index)),
            problem: format!("state {}: {problem}", index + 1),
            actions: reader.game.actions.len(),
        })?;
    }
    if let (Some(winner), End::Unfinished) = (reader.replay.winner(), &reader.game.end) {
        let problem = format!("the states end without one of type `win`, where {winner} has won");
        return Err(at("states", problem));
    }
    Ok(game)
}

/// The position at the start.
fn start(ruleset: &Ruleset, state: &InitialState) -> Result<Start, String> {
    let mut sides =
        [&state.players.light, &state.players.dark].map(|player| Side::new([], player.score));
    for (square, &piece) in &state.board.pieces {
        let at = u8::try_from(piece.unsigned_abs()).ok();
        let at = at.filter(|at| (1..=ruleset.path().len()).contains(at));
        let at = at.ok_or_else(|| {
            format!("the piece {piece} on {} is on no path position", quoted(square))
        })?;
        let side = &mut sides[usize::from(piece < 0)];
        if side.has(at) {
            return Err(format!("the piece {piece} is on the board twice"));
        }
        side.board |= 1 << at;
    }
    let [light, dark] = sides;
    let first = state.turn.map_or(Player::Light, Player::from);
    let position = Position { own: light, opponent: dark };
    ruleset.check_position(&position).map_err(|error| error.to_string())?;
    for (player, state, side) in
        [("light", &state.players.light, &light), ("dark", &state.players.dark, &dark)]
    {
        let in_hand = side.in_hand(ruleset.pieces());
        if state.pieces != in_hand {
            let found = state.pieces;
            return Err(format!("{player} has {found} pieces in hand, where {in_hand} are left"));
        }
    }
    if [light, dark].iter().any(|side| side.scored == ruleset.pieces()) {
        return Err("the game is over before it begins".to_owned());
    }
    let position = if first == Player::Light { position } else { position.swap() };
    Ok(Start { first, position })
}

/// A game whose states are being read.
struct Reader<'g> {
    replay: Replay<'g>,
    game: &'g mut Game,
    /// A roll that a state of its own announced, and that a move answers next.
    announced: Option<u8>,
}

impl Reader<'_> {
    fn read(&mut self, state: &State) -> Result<(), String> {
        let player = self.replay.to_roll();
        let is_won = self.replay.winner().is_some();
        if self.game.end != End::Unfinished {
            return self.after_the_end(state);
        }
        if is_won && state.kind != "win" {
            return Err(format!("type is {}, where {player} has won", quoted(&state.kind)));
        }
        match state.kind.as_str() {
            "roll" => {
                self.check_turn(state)?;
                let roll = self.roll(state)?;
                self.check_listed(state, roll)?;
                if self.announced.is_some() {
                    return Err("a roll follows a roll that has legal moves".to_owned());
                }
                if self.replay.moves(roll).is_empty() {
                    self.play(state, roll, None)
                } else {
                    self.announced = Some(roll);
                    Ok(())
                }
            }
            "move" => {
                self.check_turn(state)?;
                let roll = self.roll(state)?;
                if self.announced.is_some_and(|announced| announced != roll) {
                    return Err(format!("the move answers a roll of {roll}, which was another"));
                }
                self.announced = None;
                let mv = self.read_move(state, roll)?;
                self.play(state, roll, Some(mv))
            }
            "wait4roll" | "wait4move" => self.check_turn(state),
            "win" => {
                let winner = self.named(state.winner, "winner")?;
                if self.replay.winner() != Some(winner) {
                    return Err(format!("{winner} has not won: pieces are left"));
                }
                self.end(state, End::Won(winner));
                Ok(())
            }
            "resigned" => {
                let player = self.named(state.player, "player")?;
                self.end(state, End::Resigned(player));
                Ok(())
            }
            "abandoned" => {
                let (by, reason) = (state.player.map(Player::from), state.reason.clone());
                self.end(state, End::Abandoned { by, reason });
                Ok(())
            }
            other => Err(format!(
                "type is {}; known are roll, move, wait4roll, wait4move, resigned, abandoned and win",
                quoted(other)
            )),
        }
    }

    /// A player who resigned has lost: that may be said, nothing else.
    fn after_the_end(&self, state: &State) -> Result<(), String> {
        let winner = state.winner.map(Player::from);
        match self.game.end {
            End::Resigned(player) if state.kind == "win" && winner == Some(player.other()) => {
                Ok(())
            }
            _ => Err("it comes after the game ended".to_owned()),
        }
    }

    fn end(&mut self, state: &State, end: End) {
        self.game.end = end;
        self.game.end_time.clone_from(&state.time);
    }

    fn check_turn(&self, state: &State) -> Result<(), String> {
        let turn = self.named(state.turn, "turn")?;
        let player = self.replay.to_roll();
        if turn == player { Ok(()) } else { Err(format!("it is {player}'s turn, not {turn}'s")) }
    }

    fn named(&self, player: Option<Turn>, member: &str) -> Result<Player, String> {
        player.map(Player::from).ok_or_else(|| format!("it has no member `{member}`, L or D"))
    }

    fn roll(&self, state: &State) -> Result<u8, String> {
        let Some(Roll { value }) = state.roll else {
            return Err("it has no member `roll` with a `value`".to_owned());
        };
        if self.replay.has_roll(value) {
            Ok(value)
        } else {
            Err(format!("the dice never show {value}"))
        }
    }

    /// The moves that a state lists, where it does, are those that are legal.
    fn check_listed(&self, state: &State, roll: u8) -> Result<(), String> {
        let Some(listed) = &state.moves else { return Ok(()) };
        let legal = self.replay.moves(roll);
        let mut expected: Vec<WrittenMove> = legal.iter().map(|&mv| self.written(mv)).collect();
        let mut listed = listed.clone();
        expected.sort();
        listed.sort();
        if listed == expected {
            return Ok(());
        }
        let legal = legal_moves(&self.replay, Some(roll));
        Err(format!("it lists other moves than are legal: {legal}"))
    }

    /// How a legal move is written.
    fn written(&self, mv: Move) -> WrittenMove {
        let player = self.replay.to_roll();
        let sign = |player: Player| if player == Player::Light { 1 } else { -1 };
        let len = self.replay.ruleset().path().len();
        let captured = self.replay.ruleset().apply(self.replay.position(), mv).captured;
        WrittenMove {
            src: (mv.from > 0).then(|| sign(player) * Piece::from(mv.from)),
            dest: (mv.to <= len).then(|| sign(player) * Piece::from(mv.to)),
            captured: captured.map(|at| sign(player.other()) * Piece::from(at)),
        }
    }

    fn read_move(&self, state: &State, roll: u8) -> Result<Move, String> {
        let Some(read) = &state.mv else { return Err("it has no member `move`".to_owned()) };
        let legal = self.replay.moves(roll);
        if let Some(&mv) = legal.iter().find(|&&mv| self.written(mv) == *read) {
            return Ok(mv);
        }
        let player = self.replay.to_roll();
        let but_for_captures = |mv: &&Move| {
            let written = self.written(**mv);
            (written.src, written.dest) == (read.src, read.dest)
        };
        let number = |piece: Option<Piece>| piece.map_or("null".to_owned(), |it| it.to_string());
        if let Some(&mv) = legal.iter().find(but_for_captures) {
            let name = move_name(self.replay.ruleset(), player, mv);
            let (found, captured) = (number(read.captured), number(self.written(mv).captured));
            return Err(format!("{name} has `captured` {found}, where it captures {captured}"));
        }
        Err(format!(
            "the move from {} to {} is not legal for {player} with a roll of {roll}; legal are {}",
            number(read.src),
            number(read.dest),
            legal_moves(&self.replay, Some(roll))
        ))
    }

    fn play(&mut self, state: &State, roll: u8, mv: Option<Move>) -> Result<(), String> {
        let by = self.replay.to_roll();
        self.replay.play(roll, mv).map_err(|_| "it is not legal".to_owned())?;
        self.game.actions.push(Action { by, roll, mv, time: state.time.clone() });
        Ok(())
    }
}
