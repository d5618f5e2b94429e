//! Random play of every built-in ruleset: moves are those of a second, naive reading of the
//! rules, and positions stay positions.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ziggurat_game::{
    Captures, Move, Overrides, Path, Position, Ruleset, RulesetParts, Side, Square,
};

/// The rules once more, piece by piece and square by square: the moves for a roll, each with the
/// position after it (seen by the player who moved) and whether that player rolls again.
fn naive_moves(ruleset: &Ruleset, position: &Position, roll: u8) -> Vec<(Move, Position, bool)> {
    let path: &Path = ruleset.path();
    let home = path.len() + 1;
    let own: Vec<u8> = position.own.positions().collect();
    let opponent: Vec<u8> = position.opponent.positions().collect();
    let in_hand = usize::from(ruleset.pieces() - position.own.scored) > own.len();
    let mut moves = Vec::new();
    for from in in_hand.then_some(0).into_iter().chain(own.iter().copied()) {
        let to = from + roll;
        if roll == 0 || to > home {
            continue;
        }
        let mut after = *position;
        after.own = Side::new(own.iter().copied().filter(|&at| at != from), position.own.scored);
        if to == home {
            after.own.scored += 1;
            moves.push((Move { from, to }, after, false));
            continue;
        }
        let target: Square = path.square(to);
        if own.iter().any(|&at| at != from && path.square(at) == target) {
            continue;
        }
        let parts = ruleset.parts();
        let rosette = parts.rosettes.contains(&target);
        let marked = |flag: bool, listed: &Option<BTreeSet<Square>>| match listed {
            Some(listed) => listed.contains(&target),
            None => flag && rosette,
        };
        let safe = marked(parts.safe_rosettes, &parts.safe);
        let rolls_again = marked(parts.rosettes_grant_rolls, &parts.rolls_again);
        let met = opponent.iter().copied().find(|&at| path.square(at).mirror() == target);
        if let Some(met) = met {
            let other_lap = path.lap(met) != path.lap(to);
            if safe || other_lap && ruleset.captures() == Captures::SameLap {
                continue;
            }
        }
        after.own = Side::new(after.own.positions().chain([to]), after.own.scored);
        let left = opponent.iter().copied().filter(|&at| Some(at) != met);
        after.opponent = Side::new(left, position.opponent.scored);
        let again = rolls_again || met.is_some() && ruleset.captures_grant_rolls();
        moves.push((Move { from, to }, after, again));
    }
    moves
}

/// Some squares of the path of a ruleset, each with its mirror image: those of the bits that are set.
fn some_squares(ruleset: &Ruleset, bits: u64) -> BTreeSet<Square> {
    let marked = ruleset.path().positions().filter(|(at, _)| bits >> at & 1 == 1);
    marked.flat_map(|(_, square)| [square, square.mirror()]).collect()
}

fn any_ruleset() -> impl Strategy<Value = Ruleset> {
    let names: Vec<_> = Ruleset::builtin_names().collect();
    let flags = proptest::array::uniform4(any::<bool>());
    let lists = proptest::array::uniform2(proptest::option::of(any::<u64>()));
    let builtins = proptest::sample::select(names);
    (builtins, 1..=Ruleset::MAX_PIECES, flags, lists, any::<bool>()).prop_map(
        |(name, pieces, [safe, rosettes, captures, same_lap], [safe_on, again_on], as_it_is)| {
            let builtin = Ruleset::builtin(name).expect("a built-in ruleset");
            let overrides = Overrides {
                pieces: Some(pieces),
                safe_rosettes: Some(safe),
                rosettes_grant_rolls: Some(rosettes),
                captures_grant_rolls: Some(captures),
                captures: same_lap.then_some(Captures::SameLap),
                ..Overrides::default()
            };
            if as_it_is {
                return builtin;
            }
            let ruleset = builtin.with(&overrides).expect("valid changes");
            Ruleset::new(RulesetParts {
                safe: safe_on.map(|bits| some_squares(&ruleset, bits)),
                rolls_again: again_on.map(|bits| some_squares(&ruleset, bits)),
                ..ruleset.parts().clone()
            })
            .expect("squares of the path")
        },
    )
}

/// Every position of a random game with the roll made in it.
fn random_game(ruleset: &Ruleset, rolls: &[(u8, usize)]) -> Vec<(Position, u8)> {
    let mut position = Position::start();
    let mut game = Vec::new();
    for &(roll, choice) in rolls {
        game.push((position, roll));
        let moves: Vec<_> = ruleset.moves(&position, roll).collect();
        position = match moves.get(choice % moves.len().max(1)) {
            None => position.swap(),
            Some(&mv) => {
                let outcome = ruleset.apply(&position, mv);
                if outcome.won {
                    break;
                }
                outcome.next()
            }
        };
    }
    game
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moves_and_outcomes_are_those_of_a_naive_reading_of_the_rules(
        ruleset in any_ruleset(),
        rolls in proptest::collection::vec((0..=6u8, any::<usize>()), 0..400),
    ) {
        for (position, roll) in random_game(&ruleset, &rolls) {
            let found: Vec<_> = ruleset
                .moves(&position, roll)
                .map(|mv| (mv, ruleset.apply(&position, mv)))
                .map(|(mv, outcome)| (mv, outcome.position, outcome.rolls_again))
                .collect();
            prop_assert_eq!(found, naive_moves(&ruleset, &position, roll));
        }
    }

    #[test]
    fn random_play_stays_in_positions_and_loses_no_piece(
        ruleset in any_ruleset(),
        rolls in proptest::collection::vec((0..=6u8, any::<usize>()), 0..400),
    ) {
        let pieces = ruleset.pieces();
        for (position, roll) in random_game(&ruleset, &rolls) {
            prop_assert_eq!(ruleset.check_position(&position), Ok(()));
            for mv in ruleset.moves(&position, roll) {
                let after = ruleset.apply(&position, mv);
                prop_assert_eq!(ruleset.check_position(&after.position), Ok(()));
                let left = |side: Side| side.in_hand(pieces) + side.on_board();
                let (own, opponent) = (after.position.own, after.position.opponent);
                let scores = u8::from(mv.to > ruleset.path().len());
                prop_assert_eq!(left(own) + scores, left(position.own));
                prop_assert_eq!(left(opponent), left(position.opponent));
                let captured = u8::from(after.captured.is_some());
                prop_assert_eq!(opponent.on_board() + captured, position.opponent.on_board());
                prop_assert_eq!(after.won, left(own) == 0);
            }
        }
    }

    #[test]
    fn every_position_reads_back_as_it_is_written(
        ruleset in any_ruleset(),
        rolls in proptest::collection::vec((0..=6u8, any::<usize>()), 0..400),
    ) {
        for (position, _) in random_game(&ruleset, &rolls) {
            let text = ruleset.format_position(&position);
            prop_assert_eq!(ruleset.parse_position(&text), Ok(position), "{}", text);
            // Spaces and the order of the pieces do not matter.
            let spaced = text.replace(',', " , ").replace('/', " / ");
            prop_assert_eq!(ruleset.parse_position(&spaced), Ok(position));
        }
    }

    #[test]
    fn every_ruleset_reads_back_as_it_is_written(ruleset in any_ruleset()) {
        let text = ruleset.to_toml();
        let read = Ruleset::from_toml(&text, "").unwrap();
        prop_assert_eq!(read.to_toml(), text);
        prop_assert_eq!(read, ruleset);
    }

    #[test]
    fn every_text_that_is_read_is_a_position(
        ruleset in any_ruleset(),
        text in "(-|[0-9]{1,2}(,[0-9]{1,2}){0,3})(\\+[0-9])?/(-|[0-9]{1,2}(,[0-9]{1,2}){0,3})",
    ) {
        if let Ok(position) = ruleset.parse_position(&text) {
            prop_assert_eq!(ruleset.check_position(&position), Ok(()));
            prop_assert_eq!(ruleset.parse_position(&ruleset.format_position(&position)), Ok(position));
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic(
        ruleset in any_ruleset(),
        text in "\\PC*",
        at in any::<proptest::sample::Index>(),
        length in 0..12usize,
    ) {
        let _ = ruleset.parse_position(&text);
        let _ = text.parse::<ziggurat_game::Dice>();
        // A ruleset file with some of it overwritten.
        let file = ruleset.to_toml();
        let at = at.index(file.len());
        let rest = file.get(at + length..).unwrap_or_default();
        let _ = Ruleset::from_toml(&format!("{}{text}{rest}", &file[..at]), &text);
        let _ = Ruleset::from_toml(&format!("{}{rest}", &file[..at]), "");
    }
}
