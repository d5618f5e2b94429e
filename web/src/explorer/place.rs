//! Where the text of a position goes wrong.

use ziggurat_game::{
    NotationError, NotationProblem as Problem, Player, PositionError as Pieces, Ruleset,
    without_mark,
};

/// A part of the text of a side: who has it, where it begins, counted in characters from 0, and what it says.
struct Token<'a> {
    player: Player,
    at: usize,
    text: &'a str,
}

/// The character of a text, counted from 1, at which it stops to be a position. It is the first one where no single one is to
/// blame, and the one after the last where something is missing.
pub fn character(ruleset: &Ruleset, error: &NotationError) -> usize {
    let text = error.text.as_str();
    let tokens = tokens(text);
    let of = |is: &dyn Fn(&Token<'_>) -> bool| tokens.iter().find(|it| is(it)).map(|it| it.at);
    let on = |player: Player, at: u8| {
        move |token: &&Token<'_>| token.player == player && visit(ruleset, token) == Some(at)
    };
    let last_on = |player: Player, at: u8| tokens.iter().rev().find(on(player, at)).map(|it| it.at);
    let first_of = |player: Player| of(&|it| it.player == player);
    let found = match &error.problem {
        Problem::Sides => match text.match_indices('/').nth(1) {
            Some((byte, _)) => Some(text[..byte].chars().count()),
            None => Some(without_mark(text).trim_end().chars().count()),
        },
        Problem::Piece { token, .. } | Problem::Scored { token, .. } => of(&|it| it.text == token),
        Problem::NotOnPath { player, name } => {
            of(&|it| it.player == *player && it.text.eq_ignore_ascii_case(name))
        }
        Problem::Visits { name, .. } => of(&|it| it.text.eq_ignore_ascii_case(name)),
        Problem::Doubled { player, at } => last_on(*player, *at),
        Problem::Position(
            Pieces::OffPath { player, .. } | Pieces::TooManyPieces { player, .. },
        ) => first_of(*player),
        Problem::Position(Pieces::SquareTakenTwice { player, second, .. }) => {
            last_on(*player, *second)
        }
        Problem::Position(Pieces::SquareShared { opponent, .. }) => {
            last_on(Player::Opponent, *opponent)
        }
        Problem::Position(Pieces::BothWon { .. }) => first_of(Player::Opponent),
        Problem::Rows(problem) => match problem {
            ziggurat_game::rows::RowsProblem::Letter { found } => {
                text.chars().position(|it| it == *found)
            }
            _ => None,
        },
    };
    found.unwrap_or(0) + 1
}

/// The path position that a token names, if it names one.
fn visit(ruleset: &Ruleset, token: &Token<'_>) -> Option<u8> {
    let alone = match token.player {
        Player::Own => format!("{}/-", token.text),
        Player::Opponent => format!("-/{}", token.text),
    };
    let position = ruleset.parse_position(&alone).ok()?;
    let side = if token.player == Player::Own { position.own } else { position.opponent };
    side.positions().next()
}

/// The parts between the signs of a text.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut player, mut start, mut at) = (Player::Own, 0, 0);
    for (byte, sign) in text.char_indices().chain([(text.len(), '/')]) {
        if !['/', ',', '+'].contains(&sign) {
            continue;
        }
        let part = without_mark(&text[start..byte]);
        let trimmed = part.trim();
        let skipped = text[start..byte].find(trimmed).unwrap_or(0);
        let before = text[start..start + skipped].chars().count();
        tokens.push(Token { player, at: at + before, text: trimmed });
        at += text[start..byte].chars().count() + 1;
        start = (byte + 1).min(text.len());
        if sign == '/' {
            player = Player::Opponent;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_is_where_the_text_goes_wrong() {
        let finkel = Ruleset::builtin("finkel").unwrap();
        for (text, expected) in [
            ("4,x/3", 3),
            ("4,  15/3", 5),
            ("4,8+9/3", 5),
            ("4,8+1/3,", 9),
            ("4,8", 4),
            ("", 1),
            ("4/3/2", 4),
            ("4,8/3,ä,12", 7),
            ("ä,ö/-", 1),
            ("4,5,4/-", 5),
            ("4,B4,8/-", 6),
            ("4/C1/", 5),
            ("C1/-", 1),
            ("8/3,8", 5),
            ("8/1,2,3,4,5,6,7,9", 3),
            ("-+7/-+7", 5),
            ("4xx2/3k4/4xx2 l 7 0 7 0", 7),
            ("4xx2/9/4xx2 l 7 0 7 0", 1),
        ] {
            let error = finkel.parse_position(text).unwrap_err();
            assert_eq!(character(&finkel, &error), expected, "{text}: {error}");
        }
    }
}
