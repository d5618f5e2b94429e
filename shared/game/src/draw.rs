//! Boards as text: a ruleset with the paths of both players, a position with its pieces.
//!
//! The board lies on its side: rows run from left to right, the near player's own column (1) is
//! at the bottom, the far player's (3) at the top.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Captures, Position, Ruleset, Side, Square, frame::frame, path::PathPosition};

/// The mark of a rosette; where a ruleset lists squares, of a square that is safe and grants another roll.
const ROSETTE: char = '✿';

/// The mark of a listed square that is safe and grants no roll.
const SAFE: char = '◆';

/// The mark of a listed square that grants another roll and is not safe.
const ROLLS_AGAIN: char = '↻';

/// Where the words under a board begin.
const INDENT: usize = 20;

/// How the pieces of a player are drawn.
struct Pieces {
    /// Those on their first visit of a square, and the player in general.
    first_lap: char,
    /// Those on a later lap.
    later_lap: char,
}

/// The near player, in a position the player to move.
const NEAR: Pieces = Pieces { first_lap: '●', later_lap: '◉' };

/// The far player, in a position the opponent.
const FAR: Pieces = Pieces { first_lap: '○', later_lap: '◎' };

impl Ruleset {
    /// The board with the path positions of both players on every square and the rosettes, and
    /// under it the rules. Lines end with a line feed.
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// print!("{}", Ruleset::builtin("finkel").unwrap().draw());
    /// ```
    pub fn draw(&self) -> String {
        let visits = |square: Square| -> Vec<PathPosition> {
            let visits = self.path().positions().filter(|&(_, visited)| visited == square);
            visits.map(|(at, _)| at).collect()
        };
        let number = |mark: char, visits: Vec<PathPosition>| {
            let numbers: Vec<String> = visits.iter().map(PathPosition::to_string).collect();
            (!visits.is_empty()).then(|| format!("{mark} {}", numbers.join(" ")))
        };
        let widest = self.path().squares().iter().map(|&square| number(' ', visits(square)));
        let text = widest.flatten().map(|numbers| numbers.len()).max().unwrap_or(0);
        let marks = self.marks();
        let cell = |square: Square| {
            let far = number(FAR.first_lap, visits(square.mirror()));
            let near = number(NEAR.first_lap, visits(square));
            let mut lines: Vec<String> = far.into_iter().chain(near).collect();
            if let Some(mark) = marks(square) {
                // A marked square is on a path, so there is a line.
                lines[0] = format!("{:<text$} {mark}", lines[0]);
            }
            lines.iter().map(|line| format!(" {line}")).collect()
        };
        let board = frame(self.board(), text + 4, true, &cell);
        let rules = self.rules().into_iter().map(|(what, rule)| {
            let line = format!("  {what:<width$}{rule}", width = INDENT - 2);
            line.trim_end().to_owned() + "\n"
        });
        format!("{board}\n{}", rules.collect::<String>())
    }

    /// The marks of squares: of the rosettes where these and their flags say which squares are safe and which grant
    /// rolls, otherwise of what a square does.
    fn marks(&self) -> impl Fn(Square) -> Option<char> + use<> {
        let rosettes = self.marks_are_rosettes().then(|| self.parts().rosettes.clone());
        let (safe, rolls_again) = (self.safe_squares(), self.squares_that_grant_rolls());
        move |square| match &rosettes {
            Some(rosettes) => rosettes.contains(&square).then_some(ROSETTE),
            None => match (safe.contains(&square), rolls_again.contains(&square)) {
                (true, true) => Some(ROSETTE),
                (true, false) => Some(SAFE),
                (false, true) => Some(ROLLS_AGAIN),
                (false, false) => None,
            },
        }
    }

    /// What the marks say, where they are not those of rosettes.
    fn legend(&self) -> Option<String> {
        (!self.marks_are_rosettes())
            .then(|| format!("{ROSETTE} safe, rolls again; {SAFE} safe; {ROLLS_AGAIN} rolls again"))
    }

    /// The rules in words, each with what it is about.
    fn rules(&self) -> Vec<(&'static str, String)> {
        let path = self.path();
        let rolls = self.dice().rolls().iter();
        let rolls = rolls.map(|roll| format!("{}: {}", roll.value, roll.probability));
        let listed =
            |squares: &BTreeSet<Square>| list(&squares.iter().copied().collect::<Vec<_>>());
        let again = match &self.parts().rolls_again {
            Some(squares) => {
                Some(format!("a move that ends on these squares\n{}", listed(squares)))
            }
            None if self.rosettes_grant_rolls() => Some("a move that ends on a rosette".to_owned()),
            None => None,
        };
        let again = match (again, self.captures_grant_rolls()) {
            (None, true) => "a capture".to_owned(),
            (None, false) => "none".to_owned(),
            (Some(again), false) => again,
            (Some(again), true) => match again.split_once('\n') {
                Some((move_, squares)) => format!("a capture, and {move_}\n{squares}"),
                None => format!("{again}, and a capture"),
            },
        };
        let safe = match &self.parts().safe {
            Some(squares) => format!("pieces on these squares\n{}", listed(squares)),
            None if self.safe_rosettes() => "pieces on rosettes".to_owned(),
            None => "none".to_owned(),
        };
        let indented = format!("\n{:INDENT$}", "");
        let mut rules = vec![
            (
                "pieces",
                format!("{} each, {} near, {} far", self.pieces(), NEAR.first_lap, FAR.first_lap),
            ),
            ("dice", format!("{} ({})", self.dice().name(), rolls.collect::<Vec<_>>().join(", "))),
            ("path", format!("{} squares ({})", path.len(), path.name().unwrap_or("explicit"))),
            ("shared", list(&self.shared_squares())),
            ("private", list(&self.private_squares())),
            ("rosettes", list(&self.parts().rosettes.iter().copied().collect::<Vec<_>>())),
            ("safe from capture", safe.replacen('\n', &indented, 1)),
            ("roll again after", again.replacen('\n', &indented, 1)),
        ];
        rules.extend(self.legend().map(|legend| ("marks", legend)));
        if path.positions().any(|(at, _)| path.lap(at) > 1) {
            let captures = match self.captures() {
                Captures::Any => "pieces on any lap",
                Captures::SameLap => "pieces on the same lap; others block the square",
            };
            rules.push(("captures", captures.to_owned()));
        }
        rules
    }

    /// The board with the pieces of a position, each with its path position, the player to move
    /// near (●) and the opponent far (○), and what they have in hand and scored. Lines end with a
    /// line feed.
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// let finkel = Ruleset::builtin("finkel").unwrap();
    /// let position = finkel.parse_position("4,8+1/3,12").unwrap();
    /// print!("{}", finkel.draw_position(&position));
    /// ```
    pub fn draw_position(&self, position: &Position) -> String {
        let own = self.pieces_by_square(&position.own, &NEAR, |square| square);
        let opponent = self.pieces_by_square(&position.opponent, &FAR, Square::mirror);
        let marks = self.marks();
        let cell = |square: Square| {
            let piece = own.get(&square).or_else(|| opponent.get(&square));
            vec![match (piece, marks(square)) {
                (Some(piece), Some(mark)) => format!(" {piece:<3}{mark}"),
                (Some(piece), None) => format!(" {piece}"),
                (None, Some(mark)) => format!("  {mark}"),
                (None, None) => String::new(),
            }]
        };
        let mut drawing = self.draw_side("opponent", &FAR, &position.opponent);
        drawing += &frame(self.board(), 5, false, &cell);
        drawing += &self.draw_side("own", &NEAR, &position.own);
        let later =
            |pieces: &BTreeMap<_, String>, mark| pieces.values().any(|p| p.starts_with(mark));
        if later(&own, NEAR.later_lap) || later(&opponent, FAR.later_lap) {
            drawing += &format!("  {} {} on a later lap\n", NEAR.later_lap, FAR.later_lap);
        }
        drawing.extend(self.legend().map(|legend| format!("  {legend}\n")));
        drawing
    }

    /// The pieces of a side as they are drawn, by the squares they stand on.
    fn pieces_by_square(
        &self,
        side: &Side,
        marks: &Pieces,
        seen: impl Fn(Square) -> Square,
    ) -> BTreeMap<Square, String> {
        let drawn = side.positions().map(|at| {
            let first = self.path().lap(at) == 1;
            let mark = if first { marks.first_lap } else { marks.later_lap };
            (seen(self.path().square(at)), format!("{mark}{at}"))
        });
        drawn.collect()
    }

    /// A player and the pieces that are not on the board.
    fn draw_side(&self, player: &str, marks: &Pieces, side: &Side) -> String {
        let (hand, scored) = (side.in_hand(self.pieces()), side.scored);
        format!("  {} {player:<10} {hand:>2} in hand  {scored:>2} scored\n", marks.first_lap)
    }
}

/// How many squares, and which, a dozen to a line.
fn list(squares: &[Square]) -> String {
    let lines = squares.chunks(12).map(|line| {
        let squares: Vec<String> = line.iter().map(Square::to_string).collect();
        squares.join(" ")
    });
    let lines: Vec<String> = lines.collect();
    format!("{:<3}{}", squares.len(), lines.join(&format!("\n{:INDENT$}   ", "")))
}
