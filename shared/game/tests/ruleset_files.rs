//! Ruleset files: what can be written, and that every mistake is reported where it stands, with
//! what to do.

use ziggurat_game::{
    Captures, Dice, DiceError, Overrides, Ruleset, RulesetError, RulesetFileProblem, Square,
};

const POCKET: &str = r#"
name = "pocket"
board = ["*o*", ".o.", "*o*"]
path = [[1, 1], [2, 1], [2, 2], [2, 3], [1, 3]]
dice = { 0 = "1/4", 1 = "1/2", 2 = 0.25 }
pieces = 3
safe_rosettes = true
rosettes_grant_rolls = true
captures_grant_rolls = false
"#;

fn pocket() -> Ruleset {
    Ruleset::from_toml(POCKET, "pocket.toml").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_file_can_spell_everything_out() {
    let pocket = pocket();
    assert_eq!(pocket.name(), "pocket");
    assert_eq!(pocket.board().squares().len(), 7);
    assert_eq!(pocket.path().len(), 5);
    assert_eq!(pocket.parts().rosettes.len(), 4);
    assert_eq!(pocket.dice(), &"0:1/4,1:1/2,2:1/4".parse::<Dice>().unwrap());
    assert_eq!(pocket.captures(), Captures::Any);
    assert!(pocket.is_rosette(1) && pocket.is_rosette(5) && !pocket.is_rosette(3));
    assert_eq!(Ruleset::from_toml(&pocket.to_toml(), "").unwrap(), pocket);
}

#[test]
fn a_file_can_extend_a_built_in_ruleset() {
    let text = "extends = \"blitz\"\npieces = 3\ncaptures = \"same-lap\"";
    let quick = Ruleset::from_toml(text, "games/quick one.toml").unwrap();
    let blitz = Ruleset::builtin("blitz").unwrap();
    assert_eq!(quick.name(), "quick-one");
    assert_eq!((quick.pieces(), quick.captures()), (3, Captures::SameLap));
    assert_eq!(quick.path(), blitz.path());
    assert_eq!(quick.dice(), blitz.dice());
    assert!(quick.captures_grant_rolls() && !quick.safe_rosettes());
}

#[test]
fn rosettes_printed_on_the_board_count_only_where_a_path_goes() {
    let text = "extends = \"finkel\"\npath = [[2, 1], [2, 2], [2, 3], [2, 4]]";
    let straight = Ruleset::from_toml(text, "straight.toml").unwrap();
    assert_eq!(straight.parts().rosettes, [Square::new(2, 4)].into());
    assert!(straight.private_squares().is_empty());
}

#[test]
fn listed_rosettes_replace_the_printed_ones() {
    let text = "extends = \"finkel\"\nrosettes = [[2, 1]]";
    let ruleset = Ruleset::from_toml(text, "one.toml").unwrap();
    assert_eq!(ruleset.parts().rosettes, [Square::new(2, 1)].into());
    assert!(ruleset.is_rosette(5) && !ruleset.is_rosette(8));
}

/// A ruleset file that extends finkel by these lines.
fn finkel_with(lines: &str) -> Ruleset {
    Ruleset::from_toml(&format!("extends = \"finkel\"\n{lines}"), "x.toml").unwrap()
}

fn squares(list: &[(u8, u8)]) -> std::collections::BTreeSet<Square> {
    list.iter().map(|&square| square.into()).collect()
}

#[test]
fn lists_say_which_squares_are_safe_and_which_grant_rolls() {
    let ruleset = finkel_with("safe = [[2, 4], [2, 6]]\nrolls_again = [[2, 4], [2, 8]]");
    let path = || 1..=ruleset.path().len();
    assert_eq!(path().filter(|&at| ruleset.is_safe(at)).collect::<Vec<_>>(), [8, 10]);
    assert_eq!(path().filter(|&at| ruleset.is_roll_granted_on(at)).collect::<Vec<_>>(), [8, 12]);
    assert_eq!(ruleset.safe_squares(), squares(&[(2, 4), (2, 6)]));
    assert_eq!(ruleset.squares_that_grant_rolls(), squares(&[(2, 4), (2, 8)]));
    // A list needs no flag beside it, and one that says the same of the rosettes is no contradiction.
    let text = POCKET.replace("safe_rosettes = true", "safe = [[2, 2]]");
    let only_the_middle = Ruleset::from_toml(&text, "x.toml").unwrap();
    assert!(only_the_middle.is_safe(3) && !only_the_middle.is_safe(1));
    let text = text.replace("safe =", "safe_rosettes = false\nsafe =");
    assert_eq!(Ruleset::from_toml(&text, "x.toml").unwrap(), only_the_middle);
}

#[test]
fn rosettes_with_their_flags_are_the_lists_that_are_left_out() {
    let finkel = Ruleset::builtin("finkel").unwrap();
    let all = "[[1, 1], [3, 1], [2, 4], [1, 7], [3, 7]]";
    let named = |lines: &str| finkel_with(&format!("name = \"finkel\"\n{lines}"));
    assert_eq!(named(&format!("safe = {all}\nrolls_again = {all}")), finkel);
    assert_eq!(named("safe = []"), named("safe_rosettes = false"));
    assert_eq!(finkel.safe_squares(), finkel.parts().rosettes);
    let none = finkel_with("rosettes_grant_rolls = false");
    assert_eq!(none.squares_that_grant_rolls(), squares(&[]));
    // Texts that were written before there were lists are written like that still.
    let text = finkel.to_toml();
    assert!(
        text.contains("\nsafe_rosettes = true\nrosettes_grant_rolls = true\ncaptures"),
        "{text}"
    );
    let text = finkel_with("safe = [[2, 4]]").to_toml();
    assert!(text.contains("\nsafe = [\n    [2, 4],\n]\nrosettes_grant_rolls = true\n"), "{text}");
}

#[test]
fn flags_on_the_command_line_speak_of_the_rosettes_of_a_list() {
    let ruleset = finkel_with("safe = [[2, 4], [2, 6]]");
    let with = |safe| {
        let change = Overrides { safe_rosettes: Some(safe), ..Overrides::default() };
        ruleset.with(&change).unwrap()
    };
    let rosettes = [(1, 1), (1, 7), (2, 4), (3, 1), (3, 7)];
    assert_eq!(with(true).safe_squares(), squares(&[&rosettes[..], &[(2, 6)]].concat()));
    assert_eq!(with(false).safe_squares(), squares(&[(2, 6)]));
    assert_eq!(with(false).name(), "x-variant");
    // What changes nothing makes no variant.
    assert_eq!(
        with(false)
            .with(&Overrides { safe_rosettes: Some(false), ..Overrides::default() })
            .unwrap(),
        with(false)
    );
}

#[test]
fn a_safe_square_is_safe_on_every_lap() {
    let lap = |captures: &str| {
        let text = format!(
            "extends = \"long-central-backtrack\"\nname = \"x\"\ncaptures = \"{captures}\"\nsafe = [[2, 5]]"
        );
        Ruleset::from_toml(&text, "x.toml").unwrap()
    };
    for ruleset in [lap("any"), lap("same-lap")] {
        let (path, square) = (ruleset.path(), Square::new(2, 5));
        let visits: Vec<_> = path.positions().filter(|&(_, at)| at == square).collect();
        assert_eq!(visits.len(), 2);
        for (at, _) in path.positions() {
            assert_eq!(ruleset.is_safe(at), visits.iter().any(|&(visit, _)| visit == at));
            if ruleset.is_safe(at) {
                assert_eq!(ruleset.capturable_from(at), 0);
            }
        }
    }
}

#[test]
fn binary_dice_show_how_many_of_them_are_marked() {
    use num_rational::Ratio;
    for count in 1..=15_u32 {
        let dice = Dice::named(&format!("binary{count}")).unwrap();
        assert_eq!(dice.rolls().len() as u32, count + 1);
        // All that the dice can show, die by die.
        let mut ways = vec![0; count as usize + 1];
        (0..1_u32 << count).for_each(|shown| ways[shown.count_ones() as usize] += 1);
        for (roll, ways) in dice.rolls().iter().zip(ways) {
            assert_eq!(roll.probability, Ratio::new(ways, 1 << count), "{dice}: {}", roll.value);
        }
        assert_eq!(Dice::explicit(dice.rolls().to_vec()), Ok(dice));
    }
    assert!(
        ["binary0", "binary16", "binary", "binary04"].map(Dice::named).iter().all(Option::is_none)
    );
}

#[test]
fn decimal_probabilities_are_exact() {
    let change = |dice: &str| POCKET.replace(r#"{ 0 = "1/4", 1 = "1/2", 2 = 0.25 }"#, dice);
    let read = |dice: &str| Ruleset::from_toml(&change(dice), "x.toml");
    // As binary fractions, 0.1 + 0.2 + 0.7 is not 1.
    let decimal = read("{ 0 = 0.1, 1 = 0.2, 2 = 0.7 }").unwrap();
    assert_eq!(decimal.dice(), read("{ 0 = \"1/10\", 1 = \"1/5\", 2 = \"7/10\" }").unwrap().dice());
    assert!(read("{ 0 = 0.1, 1 = 0.2, 2 = 0.7000000000000001 }").is_err());
    assert!(read("{ 1 = 1 }").is_ok());
    assert!(read("\"d4\"").is_ok());
}

/// A change to [`POCKET`], the place of the error, and what its message must contain: what is
/// wrong and what would be right.
type Mistake<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

#[test]
fn every_mistake_is_reported_at_its_place_with_a_remedy() {
    let dice = r#"{ 0 = "1/4", 1 = "1/2", 2 = 0.25 }"#;
    let dice_line = &format!("dice = {dice}");
    let long_path = format!("[{}]", "[2, 1], [2, 2], ".repeat(31));
    let four_bytes = format!("\"{}\"", "𐎀".repeat(64));
    let high_board = format!("[{}]", r#"".o.", "#.repeat(61));
    let board = r#"["*o*", ".o.", "*o*"]"#;
    let mistakes: &[Mistake] = &[
        // the text
        ("pieces = 3", "pieces = ", "6:10", &["not TOML", "key = value"]),
        ("pieces = 3", "pieces = 3\npieces = 4", "7:1", &["not TOML", "duplicate key"]),
        // keys
        ("pieces", "peices", "6:1", &["`peices`", "did you mean `pieces`?"]),
        ("safe_rosettes", "safe-rosettes", "7:1", &["did you mean `safe_rosettes`?"]),
        ("pieces = 3", "colour = \"red\"", "6:1", &["`colour`", "there are: name, extends, board"]),
        ("pieces = 3", "", "1:1", &["`pieces` is missing", "pieces = 7", "extends"]),
        ("safe_rosettes = true", "", "1:1", &["`safe_rosettes` is missing"]),
        // kinds of values
        ("pieces = 3", "pieces = \"3\"", "6:10", &["`pieces`", "the text \"3\"", "pieces = 7"]),
        ("safe_rosettes = true", "safe_rosettes = 1", "7:17", &["the number 1", "= true"]),
        ("name = \"pocket\"", "name = 3", "2:8", &["`name`", "the number 3"]),
        (dice, "[0.5, 0.5]", "5:8", &["`dice`", "this list", "dice = { 0"]),
        (dice, "{ 1 = true }", "5:14", &["`dice`", "true"]),
        ("[[1, 1], [2, 1]", "[[1, 1], 2", "4:17", &["not a square", "[column, row]"]),
        ("[2, 2]", "[2, 2, 2]", "4:25", &["not a square", "[column, row]"]),
        ("[2, 2]", "[2, -2]", "4:25", &["not a square", "[column, row]"]),
        // names
        (dice, "\"binray5\"", "5:8", &["`binray5`", "did you mean `binary5`?", "d6-ur"]),
        (dice, "\"binary16\"", "5:8", &["`binary16`", "binary15, binary3-zero-is-four"]),
        ("[\"*o*\", \".o.\", \"*o*\"]", "\"Standard\"", "3:9", &["did you mean `standard`?"]),
        ("pieces = 3", "pieces = 3\nextends = \"chess\"", "7:11", &["`chess`", "finkel, masters"]),
        ("pieces = 3", "pieces = 3\ncaptures = \"none\"", "7:12", &["`none`", "any, same-lap"]),
        ("\"pocket\"", "\"-x\"", "2:8", &["`-x`", "no `-` first"]),
        ("\"pocket\"", &four_bytes, "2:8", &["at most 200 bytes"]),
        ("\"pocket\"", "\"a/b\"", "2:8", &["`a/b`", "letters, digits"]),
        ("\"pocket\"", "\"\"", "2:8", &["``", "letters, digits"]),
        // texts of more than one line, and what a terminal obeys
        ("\"pocket\"", r#""a\nb""#, "2:8", &[r"`a\nb`"]),
        (dice, r#""a\nb""#, "5:8", &[r"`a\nb`"]),
        (dice, r#"{ "\u001b[31mred" = 1 }"#, "5:10", &[r"`\u{1b}[31mred`"]),
        (dice, r#"{ 1 = "\u001b[31mred" }"#, "5:14", &[r"`\u{1b}[31mred`"]),
        ("pieces = 3", r#"pieces = "3\n""#, "6:10", &[r#"the text "3\n""#]),
        ("\".o.\"", r#"".o\n""#, "3:17", &[r"`.o\n`"]),
        (board, r#""*o*\n.o.""#, "3:9", &[r#"the text "*o*\n.o.""#, r#"board = ["*o*", "#]),
        // the board
        ("\".o.\"", "\".x.\"", "3:17", &["`.x.`", "`*` a rosette"]),
        ("\".o.\"", "\".o\"", "3:17", &["`.o`", "three characters"]),
        ("\".o.\"", "\".oo\"", "3:17", &["(3,2)", "(1,2)", "add the one or leave out the other"]),
        ("[\"*o*\", \".o.\", \"*o*\"]", "[]", "3:9", &["no squares", "draw it"]),
        ("[\"*o*\", \".o.\", \"*o*\"]", &high_board, "3:430", &["(1,61)", "1 to 60"]),
        // the path
        ("[[1, 1], [2, 1], [2, 2], [2, 3], [1, 3]]", "[]", "4:8", &["no squares", "[[1, 4]"]),
        ("[[1, 1], [2, 1], [2, 2], [2, 3], [1, 3]]", &long_path, "4:8", &["62", "at most 60"]),
        ("[2, 2]", "[1, 2]", "4:25", &["path position 3", "(1,2)", "not on the board"]),
        ("[1, 3]", "[4, 3]", "4:41", &["path position 5", "(4,3)", "not on the board"]),
        ("[2, 2], ", "", "4:25", &["jumps from (2,1)", "to (2,3)", "neighbouring"]),
        ("[2, 2]", "[2, 1]", "4:25", &["2 and 3 are both (2,1)", "another square"]),
        ("[[1, 1], [2, 1]", "\"simple-long\", [[2, 1]", "4:21", &["not TOML"]),
        // lists of squares
        ("safe_rosettes = true", "safe = [2, 4]", "7:9", &["not a square", "[column, row]"]),
        ("safe_rosettes = true", "safe = true", "7:8", &["`safe` cannot be true", "= [[2, 4]]"]),
        ("safe_rosettes = true", "safe = [[2, 2], [1, 2]]", "7:17", &["(1,2) in `safe`", "path"]),
        (
            "safe_rosettes = true",
            "safe = [[2, 2], [1, 1]]",
            "7:17",
            &["(1,1) is in `safe`", "(3,1) is not", "add the one or leave out the other"],
        ),
        (
            "rosettes_grant_rolls = true",
            "rolls_again = [[2, 3], [3, 3]]",
            "8:24",
            &["(3,3) is in `rolls_again`", "(1,3) is not"],
        ),
        (
            "safe_rosettes = true",
            "safe_rosettes = true\nsafe = [[2, 2]]",
            "7:17",
            &["`safe_rosettes = true`", "the rosette (1,1) is not in `safe`", "leave out"],
        ),
        (
            "rosettes_grant_rolls = true",
            "rosettes_grant_rolls = false\nrolls_again = [[1, 1], [3, 1]]",
            "8:24",
            &["`rosettes_grant_rolls = false`", "the rosette (1,1) is in `rolls_again`"],
        ),
        // rosettes
        ("pieces = 3", "pieces = 3\nrosettes = [[2, 2]]", "7:12", &["already drawn", "leave out"]),
        ("\".o.\"", "\".o.\", \"...\"", "4:33", &["(2,3)", "not on the board"]),
        // pieces
        ("pieces = 3", "pieces = 0", "6:10", &["0 pieces", "1 to 15"]),
        ("pieces = 3", "pieces = 16", "6:10", &["16 pieces", "1 to 15"]),
        ("pieces = 3", "pieces = -1", "6:10", &["-1 pieces", "1 to 15"]),
        ("pieces = 3", "pieces = 3000", "6:10", &["3000 pieces", "1 to 15"]),
        // dice
        (dice, "{ 0 = \"1/4\", 1 = \"1/2\" }", "5:8", &["sum to 3/4", "exactly 1"]),
        (dice, "{ 0 = \"3/4\", 1 = \"1/2\" }", "5:8", &["sum to 5/4", "exactly 1"]),
        (dice, "{ 1 = 0.333, 2 = 0.667, 3 = 0.001 }", "5:8", &["sum to 1001/1000"]),
        (dice, "{ 0 = 1 }", "5:8", &["only roll 0", "roll of 1"]),
        (dice, "{ 2 = 1 }", "5:8", &["never roll 1", "roll of 1"]),
        (dice, "{ 1 = \"1/2\", 16 = \"1/2\" }", "5:21", &["16", "0 to 15"]),
        (dice, "{ 1 = \"1/2\", -1 = \"1/2\" }", "5:21", &["`-1`", "0 to 15"]),
        (dice, "{ 1.5 = 1 }", "5:10", &["`1.5`", "whole number"]),
        (dice_line, "[dice]\n1 = 1", "7:1", &["`pieces` belongs to the dice", "[dice]"]),
        (dice, "{ 1 = \"1/0\" }", "5:14", &["`1/0`", "3/8"]),
        (dice, "{ 1 = \"half\", 2 = 0.5 }", "5:14", &["`half`", "3/8"]),
        (dice, "{ 1 = -0.5, 2 = 1.5 }", "5:14", &["`-0.5`", "from 0 to 1"]),
        (dice, "{ 1 = 1.5 }", "5:14", &["`1.5`", "from 0 to 1"]),
        (dice, "{ 1 = 0.0000000000000000000001 }", "5:14", &["too many digits"]),
        (dice, "{ 1 = 0.3333333333333333333333 }", "5:14", &["too many digits"]),
        (dice, "{ 1 = \"1/99999999999999999999\" }", "5:14", &["too many digits"]),
        (dice, "{ 1 = \"99999999999999999999\" }", "5:14", &["from 0 to 1"]),
        (dice, "{ 1 = \"\" }", "5:14", &["from 0 to 1"]),
    ];
    let mut wrong = Vec::new();
    for (from, to, place, message) in mistakes {
        assert!(POCKET.contains(from), "{from}");
        let error = match Ruleset::from_toml(&POCKET.replacen(from, to, 1), "my/pocket.toml") {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        let place = format!("my/pocket.toml:{place}: ");
        if !error.starts_with(&place) || !message.iter().all(|part| error.contains(part)) {
            wrong.push(format!("{from} -> {to}\n  expected {place}{message:?}\n  got {error}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rosettes_off_the_paths_or_without_their_mirror_image_are_reported() {
    let read = |rosettes: &str, board: &str| {
        let text = POCKET.replace("[\"*o*\", \".o.\", \"*o*\"]", board);
        let text = text.replace("pieces = 3", &format!("pieces = 3\nrosettes = {rosettes}"));
        let error = Ruleset::from_toml(&text, "x.toml").unwrap_err();
        (error.line, error.column, error.problem)
    };
    let wrong = RulesetFileProblem::Ruleset;
    let wide = r#"["ooo", "ooo", "ooo"]"#;
    let off_path = |x, y| wrong(RulesetError::RosetteOffPath { square: Square::new(x, y) });
    assert_eq!(read("[[2, 2], [1, 2], [3, 2]]", wide), (7, 21, off_path(1, 2)));
    assert_eq!(read("[[2, 2], [9, 200]]", wide), (7, 21, off_path(9, 200)));
    let square = Square::new(1, 1);
    assert_eq!(
        read("[[1, 1]]", wide),
        (7, 13, wrong(RulesetError::RosettesNotSymmetric { square }))
    );
    // Drawn ones are reported where they are drawn.
    let drawn = POCKET.replace("[\"*o*\", \".o.\", \"*o*\"]", r#"["*o*", "*o*", "*o*"]"#);
    let error = Ruleset::from_toml(&drawn, "x.toml").unwrap_err();
    assert_eq!((error.line, error.column, error.problem), (3, 17, off_path(1, 2)));
}

#[test]
fn zeros_at_the_end_of_a_decimal_are_no_digits_too_many() {
    let text = POCKET.replace("0.25", "0.25000000000000000000000000");
    assert_eq!(Ruleset::from_toml(&text, "pocket.toml").unwrap(), pocket());
    for one in ["1", "1.", "1.00000000000000000000", "01.0"] {
        assert!(format!("0:.0,1:{one}").parse::<Dice>().is_ok(), "{one}");
    }
}

#[test]
fn bytes_that_are_no_text_are_reported_at_their_place() {
    let error = Ruleset::from_toml_bytes(b"pieces = 3\nname = \"\xff\"", "x.toml").unwrap_err();
    assert_eq!(error.problem, RulesetFileProblem::NotUtf8);
    assert_eq!((error.line, error.column), (2, 9));
    assert!(Ruleset::from_toml_bytes(POCKET.as_bytes(), "x.toml").is_ok());
}

#[test]
fn a_byte_order_mark_and_line_ends_of_other_systems_move_nothing() {
    let marked = format!("\u{feff}{}", POCKET.trim_start().replace('\n', "\r\n"));
    assert_eq!(Ruleset::from_toml(&marked, "pocket.toml").unwrap(), pocket());
    assert_eq!(Ruleset::from_toml_bytes(marked.as_bytes(), "pocket.toml").unwrap(), pocket());
    for (text, line, column) in [
        ("\u{feff}peices = 3\r\n", 1, 1),
        ("\u{feff}pieces = x\r\n", 1, 10),
        ("\u{feff}name = \"a\"\r\npeices = 3\r\n", 2, 1),
        ("\u{feff}extends = \"finkel\"\r\n\r\npieces = \"3\"", 3, 10),
    ] {
        let whole = Ruleset::from_toml(text, "x.toml").unwrap_err();
        assert_eq!((whole.line, whole.column), (line, column), "{text:?}: {whole}");
        assert_eq!(Ruleset::from_toml_bytes(text.as_bytes(), "x.toml").unwrap_err(), whole);
    }
    let error = Ruleset::from_toml_bytes(b"\xef\xbb\xbfname = \"\xff\"", "x.toml").unwrap_err();
    assert_eq!((error.line, error.column), (1, 9));
}

#[test]
fn jumps_along_a_column_are_legal_only_over_squares_the_board_does_not_have() {
    // Every two-lap track jumps over the notch; the same step is illegal where squares are.
    let double = Ruleset::builtin("double-short").unwrap();
    let (from, to) = (Square::new(1, 7), Square::new(1, 4));
    assert!(double.path().squares().windows(2).any(|step| step == [from, to]));
    let filled = format!("extends = \"double-short\"\nboard = [{}]", r#""ooo", "#.repeat(8));
    let error = Ruleset::from_toml(&filled, "filled.toml").unwrap_err();
    let jump = RulesetError::PathJumps { at: 15, from, to };
    assert_eq!(error.problem, RulesetFileProblem::Ruleset(jump));
}

#[test]
fn a_file_whose_name_is_none_for_a_ruleset_is_to_have_one_in_it() {
    for file in [".toml", "-x.toml", &format!("{}.toml", "a".repeat(65))] {
        let error = Ruleset::from_toml("extends = \"finkel\"", file).unwrap_err().to_string();
        assert!(error.contains("the name of the file: add name = \"my-game\""), "{error}");
    }
}

#[test]
fn the_longest_names_have_variants() {
    for letter in ["a", "ä", "字"] {
        let text = format!("name = \"{}\"\nextends = \"finkel\"", letter.repeat(64));
        let long = Ruleset::from_toml(&text, "long.toml").unwrap();
        let risky = Overrides { safe_rosettes: Some(false), ..Overrides::default() };
        let variant = long.with(&risky).unwrap();
        assert!(variant.name().starts_with(letter) && variant.name().ends_with("-variant"));
    }
}

#[test]
fn overrides_are_checked_like_files() {
    let finkel = Ruleset::builtin("finkel").unwrap();
    let pieces = |pieces| finkel.with(&Overrides { pieces: Some(pieces), ..Overrides::default() });
    assert_eq!(pieces(0), Err(RulesetError::Pieces { pieces: 0 }));
    assert_eq!(pieces(16), Err(RulesetError::Pieces { pieces: 16 }));
    assert_eq!(pieces(15).unwrap().pieces(), 15);
    assert_eq!(finkel.with(&Overrides::default()).unwrap(), finkel);
    let all = finkel.with(&Overrides {
        pieces: Some(2),
        dice: Dice::named("d4"),
        safe_rosettes: Some(false),
        rosettes_grant_rolls: Some(false),
        captures_grant_rolls: Some(true),
        captures: Some(Captures::SameLap),
    });
    let all = all.unwrap();
    assert_eq!((all.pieces(), all.dice().name(), all.captures()), (2, "d4", Captures::SameLap));
    assert!(!all.safe_rosettes() && !all.rosettes_grant_rolls() && all.captures_grant_rolls());
    assert_eq!(Ruleset::from_toml(&all.to_toml(), "").unwrap(), all);
}

#[test]
fn dice_typed_on_a_command_line_are_checked_like_files() {
    let parse = |text: &str| text.parse::<Dice>();
    assert_eq!(parse("d4"), Ok(Dice::named("d4").unwrap()));
    assert_eq!(parse("1:1/4,2:1/4,3:1/4,4:0.25"), parse("d4"));
    assert_eq!(parse("0:1/3, 1:2/3").unwrap().to_string(), "0:1/3,1:2/3");
    assert_eq!(parse("0:1/2,1:1/2").unwrap().to_string(), "binary1");
    assert_eq!(parse("1:1/2,1:1/2"), Err(DiceError::Twice { value: 1 }));
    assert_eq!(parse("1:1/2,half"), Err(DiceError::Roll { text: "half".to_owned() }));
    let unknown = parse("binery4").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `binary4`?"), "{unknown}");
    let fine = parse("0:1/18446744073709551557,1:1/18446744073709551533");
    assert_eq!(fine, Err(DiceError::TooFine));
}

#[test]
fn an_unknown_ruleset_is_answered_with_the_nearest() {
    let nearest = |name| Ruleset::find(name).unwrap_err().nearest().map(str::to_owned);
    assert_eq!(nearest("finkle"), Some("finkel".to_owned()));
    assert_eq!(nearest("Masters"), Some("masters".to_owned()));
    assert_eq!(nearest("double-shrot"), Some("double-short".to_owned()));
    assert_eq!(nearest("backgammon"), None);
}
