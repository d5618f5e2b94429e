//! RGN, the Royal Game Notation.
//!
//! ```text
//! [StartTime "2026-11-28T09:24:04.775Z"]
//!
//! 1. A@A1 * A@A2 / C@C2
//! 2. A2B1 / 3 --
//! ```
//!
//! First metadata, a line each: a key and a value. Then turns, light's with the number of the round, dark's with a slash. An
//! action is a move, from square to square, where `A@` is the hand and `A+` the goal; `x` after it captures, ` *` ends on a
//! rosette, `#` wins. A roll that leaves no move is written with ` --`. The rolls of moves are left out: the path tells them,
//! and where it tells two (which takes dice that show more than four) the roll is written before the move.
//!
//! Of metadata `Rules` and `Pieces` say by which rules the game was played, `Result` that a player resigned or left:
//! `resigned-light`, `abandoned-dark`, `abandoned`.

use ziggurat_game::{Move, Ruleset, Square};

use crate::{
    Action, End, Game, NotExpressible, Place, Player, RecordError, Replay, Rules, Start,
    error::quoted,
    game::move_name,
    rules::{infer, with_pieces},
    tokens::{Token, Tokens},
};

/// The key that names the rules.
const RULES: &str = "Rules";

/// The key that says how many pieces a player has, where that is not as usual.
const PIECES: &str = "Pieces";

/// The key that says how a game ended that nobody won.
const RESULT: &str = "Result";

/// Reads a game.
///
/// # Errors
/// If the text is no RGN, or an action is not legal.
pub fn read(text: &str, rules: Rules<'_>) -> Result<Game, RecordError> {
    let (metadata, turns) = read_metadata(text)?;
    let said = |key: &str| metadata.iter().find(|it| it.key == key);
    let read = |ruleset: &Ruleset| {
        let mut game = Game::new(ruleset.clone());
        game.metadata = metadata.iter().map(|it| (it.key.to_owned(), it.value.clone())).collect();
        let result = said(RESULT).map(|it| (it.place, read_result(&it.value)));
        Reader { replay: Replay::new(ruleset, Start::USUAL), tokens: turns.clone(), game }
            .read(result)
    };
    let named = match said(RULES) {
        Some(entry) => Some(named_rules(entry, said(PIECES))?),
        None => None,
    };
    match (rules, named) {
        (Rules::Known(ruleset), Some(named)) if named.name() != ruleset.name() => {
            let place = said(RULES).map_or(Place::START, |it| it.place);
            let problem = format!(
                "the game was played by the rules of {}, and was to be read by those of {}",
                named.name(),
                ruleset.name()
            );
            Err(RecordError::new(place, problem))
        }
        (Rules::Known(ruleset), _) => read(ruleset),
        (Rules::Infer, Some(named)) => read(&named),
        (Rules::Infer, None) => infer(text.trim_end().ends_with('#'), read),
    }
}

/// A line of metadata.
struct Entry<'t> {
    key: &'t str,
    value: String,
    place: Place,
}

/// The rules that the metadata name.
fn named_rules(rules: &Entry<'_>, pieces: Option<&Entry<'_>>) -> Result<Ruleset, RecordError> {
    let ruleset = Ruleset::find(&rules.value)
        .map_err(|error| RecordError::new(rules.place, error.to_string()))?;
    let Some(pieces) = pieces else { return Ok(ruleset) };
    let changed = pieces.value.parse().ok().and_then(|count| with_pieces(&ruleset, count));
    changed.ok_or_else(|| {
        let read = quoted(&pieces.value);
        let most = Ruleset::MAX_PIECES;
        let problem = format!("{read} is not a number of pieces; write one from 1 to {most}");
        RecordError::new(pieces.place, problem)
    })
}

/// How a game ended that nobody won.
fn read_result(value: &str) -> Option<End> {
    let players = Player::BOTH.into_iter();
    let left = |player: Player| End::Abandoned { by: Some(player), reason: None };
    let mut ends = players.flat_map(|player| {
        [
            (format!("resigned-{player}"), End::Resigned(player)),
            (format!("abandoned-{player}"), left(player)),
        ]
    });
    let abandoned = ("abandoned".to_owned(), End::Abandoned { by: None, reason: None });
    ends.find(|(name, _)| name == value)
        .or_else(|| (value == abandoned.0).then_some(abandoned))
        .map(|(_, end)| end)
}

/// The metadata, and the turns after them.
fn read_metadata(text: &str) -> Result<(Vec<Entry<'_>>, Tokens<'_>), RecordError> {
    let mut entries = Vec::new();
    let mut rest = text;
    let mut line = 1;
    loop {
        let (this, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = this.trim();
        if trimmed.starts_with('[') {
            entries.push(read_entry(this.trim_end(), line)?);
        } else if !trimmed.is_empty() || rest.is_empty() {
            return Ok((entries, Tokens::new(rest, Place { line, column: 1 })));
        }
        rest = after;
        line += 1;
    }
}

/// A line such as `[Key value]` or `[Key "any value"]`.
fn read_entry(text: &str, line: usize) -> Result<Entry<'_>, RecordError> {
    let indent = text.len() - text.trim_start().len();
    let place = |bytes: usize| Place { line, column: 1 + text[..bytes].chars().count() };
    let wrong = |at: usize, what: &str| {
        let read = quoted(&text[at..]);
        RecordError::new(place(at), format!("{read} {what}"))
    };
    let start = indent + 1;
    let key = text[start..].split([' ', ']']).next().unwrap_or_default();
    if !key.starts_with(|c: char| c.is_ascii_alphabetic())
        || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        let what = "does not begin with a key; write a line such as [StartTime \"12:00\"]";
        return Err(wrong(indent, what));
    }
    let at = start + key.len();
    let Some(inner) = text[at..].strip_suffix(']') else {
        return Err(wrong(indent, "does not end in `]`"));
    };
    let Some(value) = inner.strip_prefix(' ') else {
        return Err(wrong(indent, "has no value; write a line such as [Rules finkel]"));
    };
    let value = match value.strip_prefix('"') {
        Some(rest) => unescape(rest)
            .ok_or_else(|| wrong(at + 1, "is not a value in double quotes, with \\\" for one"))?,
        None if is_bare(value) => value.to_owned(),
        None => return Err(wrong(at + 1, "is not a value; write it in double quotes")),
    };
    Ok(Entry { key, value, place: place(indent) })
}

/// Whether a value is written without quotes.
fn is_bare(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

/// A value after its opening quote, up to the closing one, which is the last character.
fn unescape(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(value),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                'r' => '\r',
                c @ ('"' | '\\') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
}

fn escape(value: &str) -> String {
    let value = value.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", value.replace('\n', r"\n").replace('\r', r"\r"))
}

/// A game that is being read.
struct Reader<'t, 'r> {
    tokens: Tokens<'t>,
    replay: Replay<'r>,
    game: Game,
}

impl Reader<'_, '_> {
    /// Reads all turns.
    fn read(mut self, result: Option<(Place, Option<End>)>) -> Result<Game, RecordError> {
        let turns = self.read_turns();
        turns.map_err(|error| RecordError { actions: self.game.actions.len(), ..error })?;
        self.game.end = match (self.replay.winner(), result) {
            (Some(winner), None) => End::Won(winner),
            (None, Some((_, Some(end)))) => end,
            (None, None) => End::Unfinished,
            (Some(_), Some((place, _))) => {
                let problem = "the game is won; leave out how else it ended";
                return Err(RecordError::new(place, problem));
            }
            (None, Some((place, None))) => {
                let problem = "this is no end of a game; write resigned-light, resigned-dark, abandoned-light, abandoned-dark or abandoned";
                return Err(RecordError::new(place, problem));
            }
        };
        Ok(self.game)
    }

    fn read_turns(&mut self) -> Result<(), RecordError> {
        let mut round = 1;
        while self.tokens.peek().is_some() && self.replay.winner().is_none() {
            self.expect(&format!("{round}."), "the number of light's round")?;
            // A game that dark begins.
            let is_darks = self.game.actions.is_empty()
                && self.tokens.peek().is_some_and(|token| token.text == "/");
            if is_darks {
                self.game.start.first = Player::Dark;
                self.replay = Replay::new(self.replay.ruleset(), self.game.start);
            } else {
                self.read_turn(Player::Light)?;
            }
            if self.tokens.peek().is_some() && self.replay.winner().is_none() {
                self.expect("/", "the beginning of dark's turn")?;
                self.read_turn(Player::Dark)?;
            }
            round += 1;
        }
        match self.tokens.next() {
            None => Ok(()),
            Some(token) => {
                let read = quoted(token.text);
                Err(RecordError::new(token.place, format!("{read} comes after the game was won")))
            }
        }
    }

    /// Reads the actions of a player up to where the turn passes, the game is won, or the text ends.
    fn read_turn(&mut self, player: Player) -> Result<(), RecordError> {
        loop {
            self.read_action()?;
            let goes_on = self.replay.winner().is_none() && self.replay.to_roll() == player;
            if !goes_on || self.tokens.peek().is_none() {
                return Ok(());
            }
        }
    }

    fn expect(&mut self, word: &str, what: &str) -> Result<(), RecordError> {
        match self.tokens.next() {
            Some(token) if token.text == word => Ok(()),
            Some(Token { text, place }) => {
                let read = quoted(text);
                let problem = format!("read {read}, where `{word}` is expected, {what}");
                Err(RecordError::new(place, problem))
            }
            None => self.ends_before(what),
        }
    }

    fn ends_before<T>(&self, what: &str) -> Result<T, RecordError> {
        Err(RecordError::new(self.tokens.place(), format!("the record ends before {what}")))
    }

    fn read_action(&mut self) -> Result<(), RecordError> {
        let player = self.replay.to_roll();
        let Some(token) = self.tokens.next() else {
            return self.ends_before(&format!("a move of {player}"));
        };
        if !token.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.read_move(token, None);
        }
        let roll = token.text.parse().ok().filter(|&roll| self.replay.has_roll(roll));
        let Some(roll) = roll else {
            let read = quoted(token.text);
            let problem = format!("{read} is no roll of the dice; rolls are {}", self.rolls());
            return Err(RecordError::new(token.place, problem));
        };
        match self.tokens.next() {
            Some(pass) if pass.text == "--" => self.pass(token.place, roll),
            Some(mv) => self.read_move(mv, Some(roll)),
            None => self.ends_before("`--` or a move"),
        }
    }

    fn pass(&mut self, place: Place, roll: u8) -> Result<(), RecordError> {
        if self.play(roll, None) {
            return Ok(());
        }
        let problem = format!(
            "`{roll} --` passes, where moving is compulsory; legal are {}",
            self.legal(Some(roll))
        );
        Err(RecordError::new(place, problem))
    }

    /// Reads a move of which the first word was read, and its marks.
    fn read_move(&mut self, token: Token<'_>, roll: Option<u8>) -> Result<(), RecordError> {
        let (ruleset, player) = (self.replay.ruleset(), self.replay.to_roll());
        let wrong = |problem: String| RecordError::new(token.place, problem);
        let read = quoted(token.text);
        let (named, wins) = strip(token.text, '#');
        let (named, captures) = strip(named, 'x');
        let fitting: Vec<(u8, Move)> = self
            .rolls_with_moves()
            .into_iter()
            .filter(|(known, _)| roll.is_none_or(|roll| roll == *known))
            .filter(|(_, mv)| move_name(ruleset, player, *mv) == named)
            .collect();
        let (roll, mv) = match fitting[..] {
            [only] => only,
            [] => {
                let what = if is_move(named) { "is not legal" } else { "is not a move" };
                let legal = self.legal(roll);
                let problem = format!("{read} {what} for {player} here; legal are {legal}");
                return Err(wrong(problem));
            }
            _ => {
                let rolls: Vec<String> = fitting.iter().map(|(roll, _)| roll.to_string()).collect();
                let problem = format!(
                    "{read} fits the rolls {}, on different visits of the square; write the roll before the move",
                    rolls.join(" and ")
                );
                return Err(wrong(problem));
            }
        };
        let outcome = ruleset.apply(self.replay.position(), mv);
        match (captures, outcome.captured.is_some()) {
            (true, false) => {
                return Err(wrong(format!("{read} captures nothing; leave out the `x`")));
            }
            (false, true) => return Err(wrong(format!("{read} captures; write `x` after it"))),
            _ => {}
        }
        match (wins, outcome.won) {
            (true, false) => return Err(wrong(format!("{read} does not win; leave out the `#`"))),
            (false, true) => return Err(wrong(format!("{read} wins; write `#` after it"))),
            _ => {}
        }
        let star = self.tokens.peek().filter(|token| token.text == "*");
        match (star, ends_on_rosette(ruleset, mv)) {
            (Some(star), false) => {
                let problem = format!("{read} does not end on a rosette; leave out the `*`");
                return Err(RecordError::new(star.place, problem));
            }
            (None, true) => {
                return Err(wrong(format!("{read} ends on a rosette; write ` *` after it")));
            }
            _ => {}
        }
        star.and_then(|_| self.tokens.next());
        self.play(roll, Some(mv));
        Ok(())
    }

    /// Plays a legal action.
    fn play(&mut self, roll: u8, mv: Option<Move>) -> bool {
        let played = self.replay.play(roll, mv);
        if let Ok(turn) = played {
            self.game.actions.push(Action { by: turn.by, roll, mv, time: None });
        }
        played.is_ok()
    }

    /// Every roll with its legal moves.
    fn rolls_with_moves(&self) -> Vec<(u8, Move)> {
        rolls_with_moves(&self.replay)
    }

    /// The legal moves by roll, as an error lists them.
    fn legal(&self, only: Option<u8>) -> String {
        legal_moves(&self.replay, only)
    }

    fn rolls(&self) -> String {
        let rolls = self.replay.ruleset().dice().rolls().iter();
        rolls.map(|roll| roll.value.to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// Every roll with its legal moves.
fn rolls_with_moves(replay: &Replay<'_>) -> Vec<(u8, Move)> {
    let rolls = replay.ruleset().dice().rolls().iter().map(|roll| roll.value);
    rolls.flat_map(|roll| replay.moves(roll).into_iter().map(move |mv| (roll, mv))).collect()
}

/// The legal moves by roll, as an error lists them: `1: A@A4, A2A1; 2: A@A3; 0: --`.
pub(crate) fn legal_moves(replay: &Replay<'_>, only: Option<u8>) -> String {
    let rolls = replay.ruleset().dice().rolls().iter().map(|roll| roll.value);
    let rolls = rolls.filter(|roll| only.is_none_or(|only| only == *roll)).map(|roll| {
        let names = replay.moves(roll).into_iter();
        let names = names.map(|mv| move_name(replay.ruleset(), replay.to_roll(), mv));
        let names: Vec<String> = names.collect();
        let moves = if names.is_empty() { "--".to_owned() } else { names.join(", ") };
        format!("{roll}: {moves}")
    });
    rolls.collect::<Vec<_>>().join("; ")
}

/// A text without a mark at its end, and whether that was there.
fn strip(text: &str, mark: char) -> (&str, bool) {
    text.strip_suffix(mark).map_or((text, false), |text| (text, true))
}

/// Whether a text has the form of a move, legal or not.
fn is_move(text: &str) -> bool {
    let is_end = |text: &str, off_board: char| {
        let mut characters = text.chars();
        let column = characters.next();
        Square::parse(text).is_some()
            || column.is_some_and(|c| ('A'..='C').contains(&c))
                && characters.next() == Some(off_board)
                && characters.next().is_none()
    };
    let middle = (1..text.len()).filter(|&at| text.is_char_boundary(at));
    middle.into_iter().any(|at| is_end(&text[..at], '@') && is_end(&text[at..], '+'))
}

fn ends_on_rosette(ruleset: &Ruleset, mv: Move) -> bool {
    mv.to <= ruleset.path().len() && ruleset.is_rosette(mv.to)
}

/// Writes a game: metadata, an empty line, and a line for each round.
///
/// # Errors
/// If the game does not start as usual, or its metadata have a key that RGN does not allow.
pub fn write(game: &Game) -> Result<String, NotExpressible> {
    let refuse = |what: String| NotExpressible { notation: "RGN", what };
    if game.start.position != Start::USUAL.position {
        return Err(refuse("a game that begins with pieces on the board".to_owned()));
    }
    let result = match &game.end {
        End::Unfinished | End::Won(_) => None,
        End::Resigned(player) => Some(format!("resigned-{player}")),
        End::Abandoned { by: Some(player), .. } => Some(format!("abandoned-{player}")),
        End::Abandoned { by: None, .. } => Some("abandoned".to_owned()),
    };
    let result = result.filter(|_| game.said(RESULT).is_none());
    let result = result.map(|result| (RESULT.to_owned(), result));
    let mut text = String::new();
    for (key, value) in game.metadata.iter().chain(&result) {
        if !key.starts_with(|c: char| c.is_ascii_alphabetic())
            || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            return Err(refuse(format!("metadata under the key {}", quoted(key))));
        }
        let value = if is_bare(value) { value.clone() } else { escape(value) };
        text += &format!("[{key} {value}]\n");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text += &write_turns(game);
    Ok(text)
}

fn write_turns(game: &Game) -> String {
    let mut replay = Replay::new(&game.ruleset, game.start);
    let mut text = String::new();
    let mut round = 0;
    let mut before = None;
    for action in &game.actions {
        if before != Some(action.by) {
            if action.by == Player::Light || before.is_none() {
                round += 1;
                text += &format!("{}{round}.", if round > 1 { "\n" } else { "" });
            }
            text += if action.by == Player::Dark { " /" } else { "" };
        }
        before = Some(action.by);
        text += &format!(" {}", write_action(&replay, action));
        replay.play(action.roll, action.mv).expect("a legal action");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn write_action(replay: &Replay<'_>, action: &Action) -> String {
    let ruleset = replay.ruleset();
    let Some(mv) = action.mv else { return format!("{} --", action.roll) };
    let name = move_name(ruleset, action.by, mv);
    let outcome = ruleset.apply(replay.position(), mv);
    let same_name = |(_, other): &&(u8, Move)| move_name(ruleset, action.by, *other) == name;
    let is_ambiguous = rolls_with_moves(replay).iter().filter(same_name).count() > 1;
    let mut text = if is_ambiguous { format!("{} {name}", action.roll) } else { name };
    text += if outcome.captured.is_some() { "x" } else { "" };
    text += if ends_on_rosette(ruleset, mv) { " *" } else { "" };
    text += if outcome.won { "#" } else { "" };
    text
}
