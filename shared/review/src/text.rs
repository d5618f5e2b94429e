//! The account for a terminal.

use std::fmt::Write;

use ziggurat_game::Ruleset;
use ziggurat_records::{End, Game, Player, move_name};

use crate::{Ledger, Review, Reviewed, Totals};

/// The moves that are shown with their boards, and the rolls that are named, for each player.
const KEY_ACTIONS: usize = 3;

/// The account of a game: its actions, what the players did, the ledger, and the moves that lost most.
pub fn text(review: &Review) -> String {
    let mut text = format!("{}\n\n{}\n", headline(&review.game), actions(review));
    text += &totals(&review.totals);
    text += &format!("\n{}\n", ledger(&review.ledger));
    for player in Player::BOTH {
        text += &worst_moves(review, player);
    }
    for player in Player::BOTH {
        text += &luckiest_rolls(review, player);
    }
    text
}

/// Several games, a line each, and what the players did in all of them.
pub fn table(reviews: &[(String, Review)]) -> String {
    let mut rows = vec![row([
        "game",
        "end",
        "rolls",
        "light luck",
        "loses",
        "PR",
        "dark luck",
        "loses",
        "PR",
    ])];
    let mut sums = [Totals::default(); 2];
    for (name, review) in reviews {
        let mut line = vec![name.clone(), end(&review.game.end), review.actions.len().to_string()];
        for (totals, sum) in review.totals.iter().zip(&mut sums) {
            *sum += *totals;
            line.extend([signed(totals.luck), points(totals.loss), rating(totals)]);
        }
        rows.push(line);
    }
    format!("{}\n{}", columns(&rows), totals(&sums))
}

/// The rules and the end of a game.
fn headline(game: &Game) -> String {
    let pieces = game.ruleset.pieces();
    let plural = if pieces == 1 { "" } else { "s" };
    format!(
        "{}, {pieces} piece{plural}; {} rolls; {}",
        game.ruleset.name(),
        game.actions.len(),
        end(&game.end)
    )
}

/// The end of a game in words.
fn end(end: &End) -> String {
    match end {
        End::Unfinished => "not finished".to_owned(),
        End::Won(player) => format!("{player} won"),
        End::Resigned(player) => format!("{player} resigned"),
        End::Abandoned { by: Some(player), .. } => format!("{player} left"),
        End::Abandoned { by: None, .. } => "abandoned".to_owned(),
    }
}

/// A line for each action: the chance before it, the roll and its luck, the move and what it lost.
fn actions(review: &Review) -> String {
    let mut rows =
        vec![row(["", "player", "chance", "roll", "luck", "", "move", "loses", "", "better"])];
    for (number, action) in review.actions.iter().enumerate() {
        rows.push(vec![
            format!("{}", number + 1),
            action.by.to_string(),
            format!("{:.2} %", action.chance * 100.0),
            action.advice.roll.value.to_string(),
            signed(action.luck),
            action.luck_mark().map_or("", |mark| mark.sign()).to_owned(),
            moved(&review.game.ruleset, action),
            action.better.map_or(String::new(), |_| points(action.loss)),
            action.move_mark().map_or("", |mark| mark.sign()).to_owned(),
            action
                .better
                .map_or(String::new(), |mv| move_name(&review.game.ruleset, action.by, mv)),
        ]);
    }
    columns(&rows)
}

/// The move of an action, or `--`.
pub(crate) fn moved(ruleset: &Ruleset, action: &Reviewed) -> String {
    action.mv.map_or_else(|| "--".to_owned(), |mv| move_name(ruleset, action.by, mv))
}

/// What the two players did.
fn totals(both: &[Totals; 2]) -> String {
    let mut rows = vec![row(["", "rolls", "luck", "decisions", "right", "loss", "PR"])];
    for (player, totals) in Player::BOTH.into_iter().zip(both) {
        let accuracy = totals.accuracy();
        rows.push(vec![
            player.to_string(),
            totals.rolls.to_string(),
            signed(totals.luck),
            totals.decisions.to_string(),
            accuracy.map_or_else(|| "--".to_owned(), |it| format!("{:.1} %", it * 100.0)),
            points(totals.loss),
            rating(totals),
        ]);
    }
    columns(&rows)
}

/// The ledger from light's side. Its lines add up as they are printed: each is the difference of two rounded sums.
fn ledger(ledger: &Ledger) -> String {
    let mut sum = ledger.start;
    let mut text = format!("  {:>8.2} %  light's chance at the start\n", rounded(sum));
    for (what, amount) in [
        ("light's luck", ledger.luck[0]),
        ("lost by light's moves", -ledger.loss[0]),
        ("dark's luck", -ledger.luck[1]),
        ("lost by dark's moves", ledger.loss[1]),
    ] {
        let before = rounded(sum);
        sum += amount;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:>+8.2}    {what}", rounded(sum) - before + 0.0);
    }
    let _ = write!(
        text,
        "  {:>8.2} %  light's chance at the end; left over: {:.1e} points",
        rounded(ledger.result),
        ledger.rest.abs() * 100.0
    );
    if let Some(most) = ledger.most_rest {
        let _ = write!(text, " (at most {:.1e})", most * 100.0);
    }
    text
}

/// A probability in percent, to two decimals.
fn rounded(probability: f64) -> f64 {
    (probability * 10_000.0).round() / 100.0
}

/// The moves of a player that lost most, each with the board.
fn worst_moves(review: &Review, player: Player) -> String {
    let ruleset = &review.game.ruleset;
    let mut worst: Vec<(usize, &Reviewed)> = review
        .actions
        .iter()
        .enumerate()
        .filter(|(_, action)| action.by == player && action.better.is_some())
        .collect();
    worst.sort_by(|a, b| b.1.loss.total_cmp(&a.1.loss));
    let mut text = String::new();
    for (number, action) in worst.into_iter().take(KEY_ACTIONS) {
        let better = action.better.map_or(String::new(), |mv| move_name(ruleset, player, mv));
        let _ = write!(
            text,
            "\n{}. {player} moved {}{} with a roll of {}, which lost {} points; better was {better}\n{}\n{}",
            number + 1,
            moved(ruleset, action),
            action.move_mark().map_or("", |mark| mark.sign()),
            action.advice.roll.value,
            points(action.loss),
            ruleset.format_position(&action.position),
            ruleset.draw_position(&action.position),
        );
    }
    text
}

/// The luckiest rolls of a player, on a line.
fn luckiest_rolls(review: &Review, player: Player) -> String {
    let mut lucky: Vec<(usize, &Reviewed)> = review
        .actions
        .iter()
        .enumerate()
        .filter(|(_, action)| action.by == player && action.luck > 0.0)
        .collect();
    lucky.sort_by(|a, b| b.1.luck.total_cmp(&a.1.luck));
    let rolls: Vec<String> = lucky
        .into_iter()
        .take(KEY_ACTIONS)
        .map(|(number, action)| {
            format!("{}. a {} ({})", number + 1, action.advice.roll.value, signed(action.luck))
        })
        .collect();
    if rolls.is_empty() {
        String::new()
    } else {
        format!("\nLuckiest rolls of {player}: {}\n", rolls.join(", "))
    }
}

/// Percentage points to two decimals.
fn points(probability: f64) -> String {
    format!("{:.2}", rounded(probability) + 0.0)
}

/// Percentage points to two decimals, with their sign.
fn signed(probability: f64) -> String {
    format!("{:+.2}", rounded(probability) + 0.0)
}

fn rating(totals: &Totals) -> String {
    totals.rating().map_or_else(|| "--".to_owned(), |rating| format!("{rating:.2}"))
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Lines of cells with the columns aligned: numbers to the right.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|it| it.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            let is_number =
                cell.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) && cell != "--";
            let _ = if is_number {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
