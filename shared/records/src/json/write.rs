//! Writing the JSON notation.

use serde_json::{Map, Number, Value, json};
use ziggurat_game::{Move, Ruleset};

use super::{read::VERSION, settings::Settings};
use crate::{Action, End, Game, NotExpressible, Player, Replay};

/// Writes a game on one line, with a line break at its end.
///
/// # Errors
/// If the notation has no words for the rules.
pub fn write(game: &Game) -> Result<String, NotExpressible> {
    Ok(format!("{}\n", to_value(game)?))
}

/// A game as a value.
///
/// # Errors
/// As [`write()`].
pub fn to_value(game: &Game) -> Result<Value, NotExpressible> {
    let settings = serde_json::to_value(Settings::of(&game.ruleset)?);
    let metadata: Map<String, Value> =
        game.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    Ok(json!({
        "notation_version": VERSION,
        "metadata": metadata,
        "settings": settings.expect("settings are plain"),
        "initial_state": initial_state(game),
        "states": states(game),
    }))
}

fn letter(player: Player) -> &'static str {
    match player {
        Player::Light => "L",
        Player::Dark => "D",
    }
}

/// A path position as a piece of a player.
fn piece(player: Player, at: u8) -> i16 {
    if player == Player::Light { at.into() } else { -i16::from(at) }
}

fn initial_state(game: &Game) -> Value {
    let (first, ruleset) = (game.start.first, &game.ruleset);
    let sides = [(first, game.start.position.own), (first.other(), game.start.position.opponent)];
    let mut pieces = Map::new();
    let mut players = Map::new();
    for (player, side) in sides {
        for at in side.positions() {
            let square = player.square(ruleset.path().square(at)).name();
            pieces.insert(square, piece(player, at).into());
        }
        let state = json!({"pieces": side.in_hand(ruleset.pieces()), "score": side.scored});
        players.insert(letter(player).to_owned(), state);
    }
    json!({
        "board": {"pieces": pieces},
        "players": players,
        "type": "wait4roll",
        "time": 0,
        "turn": letter(first),
    })
}

fn states(game: &Game) -> Vec<Value> {
    let mut replay = Replay::new(&game.ruleset, game.start);
    let mut states = Vec::with_capacity(game.actions.len() + 1);
    for action in &game.actions {
        states.push(timed(state(&replay, action), &action.time));
        replay.play(action.roll, action.mv).expect("a legal action");
    }
    let end = match &game.end {
        End::Unfinished => json!({"type": "wait4roll", "turn": letter(replay.to_roll())}),
        End::Won(player) => json!({"type": "win", "winner": letter(*player)}),
        End::Resigned(player) => json!({"type": "resigned", "player": letter(*player)}),
        End::Abandoned { by, reason } => {
            let mut end = json!({"type": "abandoned"});
            if let Some(player) = by {
                end["player"] = letter(*player).into();
            }
            if let Some(reason) = reason {
                end["reason"] = reason.clone().into();
            }
            end
        }
    };
    states.push(timed(end, &game.end_time));
    states
}

fn timed(mut state: Value, time: &Option<Number>) -> Value {
    if let Some(time) = time {
        state["time"] = time.clone().into();
    }
    state
}

fn state(replay: &Replay<'_>, action: &Action) -> Value {
    let (turn, roll) = (letter(action.by), json!({"value": action.roll}));
    match action.mv {
        None => json!({"type": "roll", "turn": turn, "roll": roll, "moves": []}),
        Some(mv) => {
            let mv = written(replay.ruleset(), replay, mv);
            json!({"type": "move", "turn": turn, "roll": roll, "move": mv})
        }
    }
}

fn written(ruleset: &Ruleset, replay: &Replay<'_>, mv: Move) -> Value {
    let player = replay.to_roll();
    let mut written = Map::new();
    let mut put = |key: &str, player: Player, at: u8| {
        written.insert(key.to_owned(), piece(player, at).into());
    };
    if mv.from > 0 {
        put("src", player, mv.from);
    }
    if mv.to <= ruleset.path().len() {
        put("dest", player, mv.to);
    }
    if let Some(at) = ruleset.apply(replay.position(), mv).captured {
        put("captured", player.other(), at);
    }
    written.into()
}
