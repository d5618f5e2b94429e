//! Games, and how they are replayed.

use std::fmt;

use serde_json::Number;
use ziggurat_game::{Move, Outcome, Position, Ruleset, Side, Square};

/// A player: light sits at column A and is the near player of the ruleset, dark at column C.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Player {
    /// The near player.
    Light,
    /// The far player.
    Dark,
}

impl Player {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Light, Self::Dark];

    /// The other player.
    pub const fn other(self) -> Self {
        match self {
            Self::Light => Self::Dark,
            Self::Dark => Self::Light,
        }
    }

    /// A square of this player's path as it lies on the board, or one of the board as this player sees it.
    pub fn square(self, square: Square) -> Square {
        match self {
            Self::Light => square,
            Self::Dark => square.mirror(),
        }
    }
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Light => "light",
            Self::Dark => "dark",
        })
    }
}

/// A roll and the answer to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Who rolled.
    pub by: Player,
    /// The roll.
    pub roll: u8,
    /// The move; `None` if the roll left none.
    pub mv: Option<Move>,
    /// When, in milliseconds since the start, where the record says so.
    pub time: Option<Number>,
}

/// How a game ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Not yet.
    Unfinished,
    /// The last action won it for the player who made it.
    Won(Player),
    /// A player gave up.
    Resigned(Player),
    /// The game was broken off, by a player if it was one.
    Abandoned {
        /// The player who left.
        by: Option<Player>,
        /// Why, as the record says.
        reason: Option<String>,
    },
}

/// Where a game starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Who rolls first.
    pub first: Player,
    /// The position, seen by that player.
    pub position: Position,
}

impl Start {
    /// All pieces in hand, and light to roll.
    pub const USUAL: Self = Self {
        first: Player::Light,
        position: Position {
            own: Side { board: 0, scored: 0 },
            opponent: Side { board: 0, scored: 0 },
        },
    };
}

/// A game: by these rules it can have been played.
#[derive(Clone, PartialEq, Debug)]
pub struct Game {
    /// The rules.
    pub ruleset: Ruleset,
    /// What the record says besides, such as `StartTime`, in its order.
    pub metadata: Vec<(String, String)>,
    /// Where it starts.
    pub start: Start,
    /// The rolls and the answers to them.
    pub actions: Vec<Action>,
    /// How it ended.
    pub end: End,
    /// When it ended, in milliseconds since the start, where the record says so.
    pub end_time: Option<Number>,
}

impl Game {
    /// A game of which nothing was played yet.
    pub fn new(ruleset: Ruleset) -> Self {
        Self {
            ruleset,
            metadata: Vec::new(),
            start: Start::USUAL,
            actions: Vec::new(),
            end: End::Unfinished,
            end_time: None,
        }
    }

    /// What the record says of a key.
    pub fn said(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The actions with the positions before them and what they led to.
    ///
    /// # Panics
    /// If an action is not legal. Games that were read, or made by [`Replay`], have none.
    pub fn turns(&self) -> Vec<Turn> {
        let mut replay = Replay::new(&self.ruleset, self.start);
        let play = |action: &Action| replay.play(action.roll, action.mv).expect("a legal action");
        self.actions.iter().map(play).collect()
    }
}

/// An action and where it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Who rolled.
    pub by: Player,
    /// The position before, seen by that player.
    pub position: Position,
    /// The roll.
    pub roll: u8,
    /// The move and what it led to; `None` if the roll left none.
    pub moved: Option<(Move, Outcome)>,
}

/// A game as far as it was played.
#[derive(Clone, Debug)]
pub struct Replay<'r> {
    ruleset: &'r Ruleset,
    to_roll: Player,
    position: Position,
    winner: Option<Player>,
}

/// An action that the rules do not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Illegal;

impl<'r> Replay<'r> {
    /// A game before its first action.
    pub fn new(ruleset: &'r Ruleset, start: Start) -> Self {
        Self { ruleset, to_roll: start.first, position: start.position, winner: None }
    }

    /// The rules.
    pub fn ruleset(&self) -> &'r Ruleset {
        self.ruleset
    }

    /// Who rolls next, or has won.
    pub fn to_roll(&self) -> Player {
        self.to_roll
    }

    /// The position, seen by that player.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Who has won.
    pub fn winner(&self) -> Option<Player> {
        self.winner
    }

    /// Whether the dice can show a roll.
    pub fn has_roll(&self, roll: u8) -> bool {
        self.ruleset.dice().rolls().iter().any(|known| known.value == roll)
    }

    /// The legal moves for a roll.
    pub fn moves(&self, roll: u8) -> Vec<Move> {
        if self.winner.is_some() {
            return Vec::new();
        }
        self.ruleset.moves(&self.position, roll).collect()
    }

    /// Plays an action: a legal move, or `None` where there is none.
    ///
    /// # Errors
    /// If the dice have no such roll, the move is not legal, there is a legal move where none is made, or the game is won.
    pub fn play(&mut self, roll: u8, mv: Option<Move>) -> Result<Turn, Illegal> {
        let legal = self.moves(roll);
        let is_legal = mv.map_or(legal.is_empty(), |mv| legal.contains(&mv));
        if self.winner.is_some() || !self.has_roll(roll) || !is_legal {
            return Err(Illegal);
        }
        let (by, position) = (self.to_roll, self.position);
        let moved = mv.map(|mv| (mv, self.ruleset.apply(&position, mv)));
        match moved {
            Some((_, outcome)) if outcome.won => {
                self.position = outcome.position;
                self.winner = Some(by);
            }
            Some((_, outcome)) => {
                self.position = outcome.next();
                self.to_roll = if outcome.rolls_again { by } else { by.other() };
            }
            None => (self.position, self.to_roll) = (position.swap(), by.other()),
        }
        Ok(Turn { by, position, roll, moved })
    }
}

/// A move of a player by the names of its squares, as in RGN without its marks: `A4A2`, `A@A4` enters, `A7A+` scores.
pub fn move_name(ruleset: &Ruleset, by: Player, mv: Move) -> String {
    let path = ruleset.path();
    let name = |at| by.square(path.square(at)).name();
    // A piece that leaves the middle column goes to its player's side of the board.
    let column = |at| match path.square(at) {
        Square { x: 2, y } => by.square(Square::new(1, y)).column(),
        square => by.square(square).column(),
    };
    let from = if mv.from == 0 { format!("{}@", column(1)) } else { name(mv.from) };
    let to = if mv.to > path.len() { format!("{}+", column(path.len())) } else { name(mv.to) };
    from + &to
}
