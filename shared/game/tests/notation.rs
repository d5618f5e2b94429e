//! Positions typed by a person: what is read, and what is said about what is not.

use ziggurat_game::{Position, Ruleset, Side};

fn finkel() -> Ruleset {
    Ruleset::builtin("finkel").expect("a built-in ruleset")
}

#[test]
fn positions_are_read_as_documented() {
    let read = |text: &str| finkel().parse_position(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read("start"), Position::start());
    assert_eq!(read("START"), Position::start());
    assert_eq!(read("-/-"), Position::start());
    assert_eq!(
        read("4,8+1/3,12"),
        Position { own: Side::new([4, 8], 1), opponent: Side::new([3, 12], 0) }
    );
    assert_eq!(read(" 8, 4 + 1 / 12,3 "), read("4,8+1/3,12"));
    assert_eq!(read("\t8 ,4+1/12,3\r\n"), read("4,8+1/3,12"));
    assert_eq!(read("\u{feff}4,8+1/3,12\r"), read("4,8+1/3,12"));
    assert_eq!(read("\u{feff}start"), Position::start());
    assert_eq!(read("-+7/-+6"), Position { own: Side::new([], 7), opponent: Side::new([], 6) });
}

#[test]
fn what_is_no_position_is_refused_with_a_remedy() {
    let mistakes: &[(&str, &[&str])] = &[
        ("", &["own/opponent", "4,8+1/3,12", "start"]),
        ("4,8", &["own/opponent"]),
        ("/", &["own/opponent"]),
        ("4/5/6", &["own/opponent"]),
        ("4,,8/-", &["``", "1 to 14", "`-`"]),
        ("x/-", &["`x`", "1 to 14"]),
        ("0/-", &["`0`", "1 to 14"]),
        ("15/-", &["`15`", "1 to 14"]),
        ("999/-", &["`999`", "1 to 14"]),
        ("-1/-", &["`-1`", "1 to 14"]),
        ("4/-,5", &["`-`", "1 to 14"]),
        ("1 2/-", &["`1 2`", "1 to 14"]),
        ("1\u{a0}2/-", &["`1\\u{a0}2`", "1 to 14"]),
        ("1\u{200b}/-", &["`1\\u{200b}`", "1 to 14"]),
        ("4 8/-", &["`4 8`", "commas"]),
        ("s tart", &["own/opponent"]),
        ("4++1/-", &["`+1`", "0 to 7"]),
        ("4+1 0/-", &["`1 0`", "0 to 7"]),
        ("4,4/-", &["path position 4", "twice", "own"]),
        ("-/4,6,4", &["path position 4", "twice", "opponent"]),
        ("4+8/-", &["`8`", "0 to 7"]),
        ("4+/-", &["``", "0 to 7"]),
        ("4+1+1/-", &["`1+1`", "0 to 7"]),
        ("1,2,3,4,5+3/-", &["8 own pieces", "has 7"]),
        ("-/1,2,3,4,5+3", &["8 opponent pieces", "has 7"]),
        ("4,8/8", &["own piece on path position 8", "opponent piece on path position 8", "(2,4)"]),
        ("-+7/-+7", &["both players", "7"]),
    ];
    for (text, message) in mistakes {
        let error = match finkel().parse_position(text) {
            Ok(position) => panic!("{text:?} was read as {position:?}"),
            Err(error) => error.to_string(),
        };
        let shown = text.escape_debug();
        assert!(error.starts_with(&format!("`{shown}` is not a position: ")), "{error}");
        for part in *message {
            assert!(error.contains(part), "{text:?}: no {part:?} in: {error}");
        }
    }
}

#[test]
fn a_square_holds_one_piece_on_whatever_lap() {
    let error = |ruleset: &str, text: &str| {
        let ruleset = Ruleset::builtin(ruleset).expect("a built-in ruleset");
        ruleset.parse_position(text).unwrap_err().to_string()
    };
    let twice = error("skiriuk", "10,18/-");
    assert!(twice.contains("10 and 18, stand on the same square (2,6)"), "{twice}");
    let twice = error("skiriuk", "-/10,18");
    assert!(twice.contains("two opponent pieces"), "{twice}");
    let shared = error("skiriuk", "10/18");
    assert!(shared.contains("opponent piece on path position 18"), "{shared}");
    let twisted = error("twisted-long", "17/1");
    assert!(twisted.contains("the same square (3,4)"), "{twisted}");
}

#[test]
fn pieces_off_the_path_are_found_in_positions_that_were_not_read() {
    let finkel = finkel();
    for at in [0, 15, 63] {
        let position = Position { own: Side::new([at], 0), opponent: Side::default() };
        let error = finkel.check_position(&position).unwrap_err().to_string();
        assert!(
            error.contains(&format!("no position {at}")) && error.contains("1 to 14"),
            "{error}"
        );
    }
    let position = Position { own: Side::new([], 255), opponent: Side::default() };
    assert!(finkel.check_position(&position).is_err());
}
