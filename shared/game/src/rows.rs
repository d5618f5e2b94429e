//! Positions drawn in rows, in the manner of chess: `4xx2/8/4xx2 l 7 0 7 0`.
//!
//! The three columns of the board, dark's first, each from row 1 on: `l` and `d` are pieces of light and dark, a number is so many
//! empty squares, `x` none on the board. Then who is to roll, `l` or `d`, and the pieces of light in hand and scored, and those
//! of dark. A drawing with light's column first is read as well, if only that is a position. The path positions of pieces on
//! squares that a path visits more than once cannot be told from it.

pub use crate::notation::RowsProblem;
use crate::{Board, NotationProblem, Position, Ruleset, Side, Square, legal::Player};

/// The pieces of light and dark, by the squares they are on.
type Pieces = [Vec<Square>; 2];

impl Ruleset {
    /// Reads a position drawn in rows; `None` if the text does not look like one.
    pub(crate) fn parse_rows(&self, text: &str) -> Option<Result<Position, NotationProblem>> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [rows, turn, counts @ ..] = &words[..] else { return None };
        let columns: Vec<&str> = rows.split('/').collect();
        let [first, middle, last] = columns[..] else { return None };
        if counts.len() != 4 {
            return None;
        }
        let with = |dark, light| self.position_of_rows([light, middle, dark], turn, counts);
        Some(match (with(first, last), with(last, first)) {
            (Ok(dark_first), Ok(light_first)) if dark_first != light_first => {
                Err(RowsProblem::Ambiguous.into())
            }
            (Ok(position), _) | (Err(_), Ok(position)) => Ok(position),
            (Err(problem), Err(_)) => Err(problem),
        })
    }

    /// The position of columns A, B and C as they are drawn.
    fn position_of_rows(
        &self,
        columns: [&str; 3],
        turn: &str,
        counts: &[&str],
    ) -> Result<Position, NotationProblem> {
        let mut pieces = Pieces::default();
        for (x, column) in (1..).zip(columns) {
            read_column(self.board(), x, column, &mut pieces)?;
        }
        let pieces_in_all = self.pieces();
        let wrong = || NotationProblem::from(RowsProblem::Counts { pieces: pieces_in_all });
        let count = |at: usize| counts[at].parse::<u8>().map_err(|_| wrong());
        let mut sides = [Side::default(); 2];
        for (number, side) in sides.iter_mut().enumerate() {
            side.scored = count(2 * number + 1)?;
            for &square in &pieces[number] {
                // Light is at column A, as the player to move is.
                let player = [Player::Own, Player::Opponent][number];
                side.board |= 1 << self.visit(player, square)?;
            }
            let in_all = u32::from(count(2 * number)?) + u32::from(side.scored);
            if in_all + side.board.count_ones() != pieces_in_all.into() {
                return Err(wrong());
            }
        }
        let [light, dark] = sides;
        let position = match turn.to_ascii_lowercase().as_str() {
            "l" => Position { own: light, opponent: dark },
            "d" => Position { own: dark, opponent: light },
            _ => return Err(RowsProblem::Turn { found: turn.to_owned() }.into()),
        };
        self.check_position(&position)?;
        Ok(position)
    }
}

/// Reads a column of the board as it is drawn.
fn read_column(board: &Board, x: u8, column: &str, pieces: &mut Pieces) -> Result<(), RowsProblem> {
    let misfit = || RowsProblem::Column {
        column: column.to_owned(),
        name: Square::new(x, 1).column(),
        expected: empty_column(board, x),
    };
    let mut y = 1_u8;
    let mut number = None;
    // A line end ends the last number.
    for letter in column.chars().chain(['\n']) {
        if let Some(digit) = letter.to_digit(10) {
            number =
                Some(number.unwrap_or(0) * 10 + digit).filter(|it| *it <= Board::MAX_ROWS.into());
            if number.is_none() {
                return Err(misfit());
            }
            continue;
        }
        for _ in 0..number.take().unwrap_or(0) {
            if !board.has(Square::new(x, y)) {
                return Err(misfit());
            }
            y += 1;
        }
        let square = Square::new(x, y);
        match letter.to_ascii_lowercase() {
            '\n' => break,
            'x' if !board.has(square) => {}
            'l' if board.has(square) => pieces[0].push(square),
            'd' if board.has(square) => pieces[1].push(square),
            'x' | 'l' | 'd' => return Err(misfit()),
            found => return Err(RowsProblem::Letter { found }),
        }
        y += 1;
        if y > board.rows() + 1 {
            return Err(misfit());
        }
    }
    if y == board.rows() + 1 { Ok(()) } else { Err(misfit()) }
}

/// A column without pieces.
fn empty_column(board: &Board, x: u8) -> String {
    let squares: Vec<bool> = (1..=board.rows()).map(|y| board.has(Square::new(x, y))).collect();
    let drawn = squares.chunk_by(|a, b| a == b).map(|run| match run[0] {
        true => run.len().to_string(),
        false => "x".repeat(run.len()),
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let finkel = Ruleset::builtin("finkel").unwrap();
        let position = finkel.parse_position(text);
        position.map(|it| finkel.format_position(&it)).map_err(|error| error.problem.to_string())
    }

    #[test]
    fn drawn_positions_are_those_of_the_squares() {
        for (text, position) in [
            ("4xx2/8/4xx2 l 7 0 7 0", "-/-"),
            ("4xx2/8/4xx2 d 7 0 7 0", "-/-"),
            ("4xx2/3l4/l3xx2 l 4 1 7 0", "4,8+1/-"),
            ("4xx2/3l4/l3xx2 d 4 1 7 0", "-/4,8+1"),
            ("1d2xx2/3l3d/l3xx2 l 4 1 5 0", "4,8+1/3,12"),
            // Light's column first: only so are the pieces on their own columns.
            ("l3xx2/3l3d/1d2xx2 l 4 1 5 0", "4,8+1/3,12"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(position), "{text}");
        }
    }

    #[test]
    fn what_is_drawn_wrong_is_said() {
        for (text, part) in [
            ("4xx2/8/4xx2 l 7 0 7 1", "each player has 7 in all"),
            ("4xx2/8/4xx2 l 7 0 seven 0", "each player has 7 in all"),
            ("4xx2/8/4xx2 w 7 0 7 0", "`w` is no player"),
            ("4xx2/9/4xx2 l 7 0 7 0", "`9` does not fit the board: its column B has 8"),
            ("4xx2/7/4xx2 l 7 0 7 0", "`7` does not fit the board"),
            ("8/8/4xx2 l 7 0 7 0", "its column C has 4xx2"),
            ("4xx2/3k4/4xx2 l 7 0 7 0", "`k` is neither a piece"),
            ("4xx2/99999999999/4xx2 l 7 0 7 0", "does not fit the board"),
            ("4xx2/8/4xx2", "`4xx2` is not a path position"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
