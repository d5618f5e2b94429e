//! The outline of a board, framed cell by cell.

use crate::{Board, Square};

/// What stands in a square's cell, line by line.
type Cells<'c> = &'c dyn Fn(Square) -> Vec<String>;

/// Frames a board that lies on its side: row 1 is at the left, column 3 at the top. A cell is
/// `width` characters wide inside and as high as the highest of its column of the board.
/// With `coordinates`, rows are numbered above and columns at the left.
pub(crate) fn frame(board: &Board, width: usize, coordinates: bool, cells: Cells<'_>) -> String {
    let rows = board.rows();
    let has = |x: u8, y: u8| board.has(Square::new(x, y));
    let margin = |label: &str| if coordinates { format!(" {label:>2} ") } else { "  ".to_owned() };
    let mut lines = Vec::new();
    if coordinates {
        let numbers = (1..=rows).map(|y| format!("{y:^width$} "));
        lines.push(format!("{} {}", margin(""), numbers.collect::<String>()));
    }
    // Column 4 does not exist: its lower edge is the upper edge of column 3.
    for x in (0..=3u8).rev() {
        let edge = |y: u8| has(x, y) || has(x + 1, y);
        let edges = (1..=rows + 1).map(|y| {
            let up = has(x + 1, y - 1) || has(x + 1, y);
            let down = has(x, y - 1) || has(x, y);
            let line = if edge(y) { "─" } else { " " };
            format!("{}{}", corner(up, edge(y), down, edge(y - 1)), line.repeat(width))
        });
        lines.push(format!("{}{}", margin(""), edges.collect::<String>()));
        let contents: Vec<Vec<String>> = (1..=rows)
            .map(|y| if has(x, y) { cells(Square::new(x, y)) } else { Vec::new() })
            .collect();
        let height = contents.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..if x > 0 { height.max(1) } else { 0 } {
            let label = if line == 0 { x.to_string() } else { String::new() };
            let mut drawn = margin(&label);
            for y in 1..=rows + 1 {
                let content = contents.get(usize::from(y) - 1).and_then(|cell| cell.get(line));
                drawn.push(if has(x, y - 1) || has(x, y) { '│' } else { ' ' });
                drawn.push_str(&format!("{:<width$}", content.map_or("", String::as_str)));
            }
            lines.push(drawn);
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The box-drawing character with lines in these directions.
fn corner(up: bool, right: bool, down: bool, left: bool) -> char {
    match (up, right, down, left) {
        (false, false, false, false) => ' ',
        (false, true, true, false) => '┌',
        (false, false, true, true) => '┐',
        (true, true, false, false) => '└',
        (true, false, false, true) => '┘',
        (true, true, true, false) => '├',
        (true, false, true, true) => '┤',
        (false, true, true, true) => '┬',
        (true, true, false, true) => '┴',
        (true, true, true, true) => '┼',
        (_, false, _, false) => '│',
        (false, _, false, _) => '─',
    }
}
