//! The rules, one claim at a time. Positions are written in the notation of
//! `ziggurat_game::notation`.

use ziggurat_game::{Captures, Move, Outcome, Overrides, Position, Ruleset};

fn builtin(name: &str) -> Ruleset {
    Ruleset::builtin(name).unwrap_or_else(|| panic!("no ruleset {name}"))
}

fn position(ruleset: &Ruleset, text: &str) -> Position {
    ruleset.parse_position(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The legal moves as (from, to).
fn moves(ruleset: &Ruleset, text: &str, roll: u8) -> Vec<(u8, u8)> {
    ruleset.moves(&position(ruleset, text), roll).map(|mv| (mv.from, mv.to)).collect()
}

/// What a move that must be legal leads to, as the player who moved sees it.
fn play(ruleset: &Ruleset, text: &str, from: u8, to: u8) -> (String, Outcome) {
    assert!(moves(ruleset, text, to - from).contains(&(from, to)), "{text}: no {from} to {to}");
    let outcome = ruleset.apply(&position(ruleset, text), Move { from, to });
    (ruleset.format_position(&outcome.position), outcome)
}

#[test]
fn a_game_begins_with_a_piece_entering() {
    let finkel = builtin("finkel");
    assert_eq!(moves(&finkel, "start", 0), []);
    for roll in 1..=4 {
        assert_eq!(moves(&finkel, "start", roll), [(0, roll)]);
    }
}

#[test]
fn every_own_piece_may_move_and_one_may_enter() {
    let finkel = builtin("finkel");
    assert_eq!(moves(&finkel, "1,5,9/-", 2), [(0, 2), (1, 3), (5, 7), (9, 11)]);
    // With no piece in hand none enters.
    assert_eq!(moves(&finkel, "1,5,9+4/-", 2), [(1, 3), (5, 7), (9, 11)]);
}

#[test]
fn a_move_may_not_end_on_an_own_piece() {
    let finkel = builtin("finkel");
    assert_eq!(moves(&finkel, "2,4/-", 2), [(4, 6)]);
    assert_eq!(moves(&finkel, "1/-", 1), [(1, 2)]);
}

#[test]
fn a_piece_scores_by_an_exact_roll_only() {
    let finkel = builtin("finkel");
    assert_eq!(moves(&finkel, "12,14+5/-", 1), [(12, 13), (14, 15)]);
    assert_eq!(moves(&finkel, "12,14+5/-", 3), [(12, 15)]);
    assert_eq!(moves(&finkel, "12,14+5/-", 4), []);
    let (after, outcome) = play(&finkel, "12,14+5/-", 14, 15);
    assert_eq!(after, "12+6/-");
    assert!(!outcome.won && !outcome.rolls_again && outcome.captured.is_none());
}

#[test]
fn scoring_the_last_piece_wins_and_nobody_rolls_again() {
    let blitz = builtin("blitz");
    let (after, outcome) = play(&blitz, "15+4/3", 15, 17);
    assert_eq!(after, "-+5/3");
    assert!(outcome.won && !outcome.rolls_again);
}

#[test]
fn ending_on_an_opponent_piece_sends_it_back_to_hand() {
    let finkel = builtin("finkel");
    let (after, outcome) = play(&finkel, "4/6,13", 4, 6);
    assert_eq!(after, "6/13");
    assert_eq!(outcome.captured, Some(6));
    assert!(!outcome.rolls_again);
    assert_eq!(finkel.format_position(&outcome.next()), "13/6");
    assert_eq!(outcome.position.opponent.in_hand(finkel.pieces()), 6);
}

#[test]
fn a_capture_grants_another_roll_only_where_it_is_ruled_so() {
    assert!(play(&builtin("blitz"), "4/6", 4, 6).1.rolls_again);
    assert!(!play(&builtin("masters"), "4/6", 4, 6).1.rolls_again);
}

#[test]
fn pieces_on_private_squares_do_not_meet() {
    let finkel = builtin("finkel");
    for at in [1, 2, 3, 4, 13, 14] {
        let text = format!("{}/{at}", if at == 1 { "-".to_owned() } else { (at - 1).to_string() });
        let (after, outcome) = play(&finkel, &text, at - 1, at);
        assert_eq!((after, outcome.captured), (format!("{at}/{at}"), None));
    }
}

#[test]
fn a_safe_rosette_blocks_and_any_other_square_does_not() {
    let finkel = builtin("finkel");
    assert_eq!(moves(&finkel, "4+6/8", 4), []);
    assert_eq!(moves(&finkel, "4+6/7", 3), [(4, 7)]);
    let unsafe_rosettes =
        finkel.with(&Overrides { safe_rosettes: Some(false), ..Overrides::default() }).unwrap();
    let (after, outcome) = play(&unsafe_rosettes, "4+6/8", 4, 8);
    assert_eq!((after.as_str(), outcome.captured), ("8+6/-", Some(8)));
}

#[test]
fn a_rosette_grants_another_roll_only_where_it_is_ruled_so() {
    let finkel = builtin("finkel");
    for (text, from, to) in [("start", 0, 4), ("4/-", 4, 8), ("13/-", 13, 14)] {
        let (after, outcome) = play(&finkel, text, from, to);
        assert!(outcome.rolls_again);
        assert_eq!(finkel.format_position(&outcome.next()), after);
    }
    assert!(!play(&finkel, "start", 0, 3).1.rolls_again);
    let none =
        finkel.with(&Overrides { rosettes_grant_rolls: Some(false), ..Overrides::default() });
    assert!(!play(&none.unwrap(), "start", 0, 4).1.rolls_again);
}

#[test]
fn a_move_on_a_later_lap_may_not_end_on_an_own_piece_of_an_earlier_one() {
    // Path positions 1 and 15 are the same square.
    let double = builtin("double-short");
    assert_eq!(moves(&double, "1,14+5/-", 1), [(1, 2)]);
    assert_eq!(moves(&double, "2,14+5/-", 1), [(2, 3), (14, 15)]);
    // And the other way round: a piece may not enter below one on its second lap.
    assert_eq!(moves(&double, "15/-", 1), [(15, 16)]);
}

#[test]
fn a_piece_may_move_to_a_later_lap_of_its_own_square() {
    // Path positions 11 and 15 are the same square.
    let backtrack = builtin("short-backtrack");
    assert_eq!(moves(&backtrack, "11+6/-", 4), [(11, 15)]);
    assert_eq!(play(&backtrack, "11+6/-", 11, 15).0, "15+6/-");
    // Another piece of its own would be in the way.
    assert_eq!(moves(&backtrack, "12+5/-", 3), [(0, 3), (12, 15)]);
    assert!(backtrack.parse_position("11,15/-").is_err());
}

#[test]
fn captures_across_laps_follow_the_ruleset() {
    // Path positions 10 and 18 are the same square.
    let any = builtin("skiriuk");
    let same_lap =
        any.with(&Overrides { captures: Some(Captures::SameLap), ..Overrides::default() }).unwrap();
    assert_eq!(play(&any, "9/18", 9, 10).1.captured, Some(18));
    assert_eq!(play(&any, "17/10", 17, 18).1.captured, Some(10));
    assert_eq!(moves(&same_lap, "9+6/18", 1), []);
    assert_eq!(moves(&same_lap, "17+6/10", 1), []);
    for ruleset in [any, same_lap] {
        assert_eq!(play(&ruleset, "9/10", 9, 10).1.captured, Some(10));
        assert_eq!(play(&ruleset, "17/18", 17, 18).1.captured, Some(18));
    }
}

#[test]
fn a_piece_on_the_other_players_side_is_met_there() {
    // Path position 17 of a twisted track is the opponent's path position 1.
    let twisted = builtin("twisted-long");
    let (after, outcome) = play(&twisted, "16/1", 16, 17);
    assert_eq!((after.as_str(), outcome.captured), ("17/-", Some(1)));
    // A safe rosette is safe there too: path position 20 is the opponent's path position 4.
    assert_eq!(moves(&twisted, "16+6/4", 4), []);
}

#[test]
fn choices_of_a_tiny_game_are_those_counted_by_hand() {
    // One piece each, two private squares, rolls of 1 and 2: of the three places a piece can
    // be, only the last square has a roll (2) without a move.
    let text = r#"
        name = "tiny"
        board = ["o.o", "o.o"]
        path = [[1, 1], [1, 2]]
        dice = { 1 = 0.5, 2 = 0.5 }
        pieces = 1
        safe_rosettes = false
        rosettes_grant_rolls = false
        captures_grant_rolls = false
    "#;
    let tiny = Ruleset::from_toml(text, "tiny.toml").unwrap();
    let mut histogram = [0; 3];
    for own in ["-", "1", "2"] {
        for opponent in ["-", "1", "2"] {
            for roll in [1, 2] {
                histogram[moves(&tiny, &format!("{own}/{opponent}"), roll).len()] += 1;
            }
        }
    }
    assert_eq!(histogram, [3, 15, 0]);
    // A roll longer than the whole path moves nothing.
    assert_eq!(moves(&tiny, "start", 4), []);
}
