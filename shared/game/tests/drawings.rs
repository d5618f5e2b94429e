//! What rulesets and positions look like.

use ziggurat_game::Ruleset;

fn builtin(name: &str) -> Ruleset {
    Ruleset::builtin(name).unwrap_or_else(|| panic!("no ruleset {name}"))
}

#[test]
fn a_ruleset_shows_both_paths_the_rosettes_and_the_rules() {
    let expected = "
        1        2        3        4        5        6        7        8
    ┌────────┬────────┬────────┬────────┐                 ┌────────┬────────┐
  3 │ ○ 4  ✿ │ ○ 3    │ ○ 2    │ ○ 1    │                 │ ○ 14 ✿ │ ○ 13   │
    ├────────┼────────┼────────┼────────┼────────┬────────┼────────┼────────┤
  2 │ ○ 5    │ ○ 6    │ ○ 7    │ ○ 8  ✿ │ ○ 9    │ ○ 10   │ ○ 11   │ ○ 12   │
    │ ● 5    │ ● 6    │ ● 7    │ ● 8    │ ● 9    │ ● 10   │ ● 11   │ ● 12   │
    ├────────┼────────┼────────┼────────┼────────┴────────┼────────┼────────┤
  1 │ ● 4  ✿ │ ● 3    │ ● 2    │ ● 1    │                 │ ● 14 ✿ │ ● 13   │
    └────────┴────────┴────────┴────────┘                 └────────┴────────┘

  pieces            7 each, ● near, ○ far
  dice              binary4 (0: 1/16, 1: 1/4, 2: 3/8, 3: 1/4, 4: 1/16)
  path              14 squares (single-short)
  shared            8  (2,1) (2,2) (2,3) (2,4) (2,5) (2,6) (2,7) (2,8)
  private           6  (1,4) (1,3) (1,2) (1,1) (1,8) (1,7)
  rosettes          5  (1,1) (1,7) (2,4) (3,1) (3,7)
  safe from capture pieces on rosettes
  roll again after  a move that ends on a rosette
";
    assert_eq!(format!("\n{}", builtin("finkel").draw()), expected);
}

#[test]
fn a_path_with_laps_shows_every_visit_of_a_square() {
    let expected = "
          1           2           3           4           5           6           7           8
    ┌───────────┬───────────┬───────────┬───────────┐                       ┌───────────┬───────────┐
  3 │ ○ 4     ✿ │ ○ 3       │ ○ 2       │ ○ 1       │                       │ ○ 12 32 ✿ │ ○ 13 31   │
    │ ● 20      │ ● 19      │ ● 18      │ ● 17      │                       │ ● 16 28   │ ● 15 29   │
    ├───────────┼───────────┼───────────┼───────────┼───────────┬───────────┼───────────┼───────────┤
  2 │ ○ 5 21    │ ○ 6 22    │ ○ 7 23    │ ○ 8 24  ✿ │ ○ 9 25    │ ○ 10 26   │ ○ 11 27   │ ○ 14 30   │
    │ ● 5 21    │ ● 6 22    │ ● 7 23    │ ● 8 24    │ ● 9 25    │ ● 10 26   │ ● 11 27   │ ● 14 30   │
    ├───────────┼───────────┼───────────┼───────────┼───────────┴───────────┼───────────┼───────────┤
  1 │ ○ 20    ✿ │ ○ 19      │ ○ 18      │ ○ 17      │                       │ ○ 16 28 ✿ │ ○ 15 29   │
    │ ● 4       │ ● 3       │ ● 2       │ ● 1       │                       │ ● 12 32   │ ● 13 31   │
    └───────────┴───────────┴───────────┴───────────┘                       └───────────┴───────────┘

  pieces            7 each, ● near, ○ far
  dice              binary4 (0: 1/16, 1: 1/4, 2: 3/8, 3: 1/4, 4: 1/16)
  path              32 squares (twisted-long)
  shared            20 (1,4) (1,3) (1,2) (1,1) (2,1) (2,2) (2,3) (2,4) (2,5) (2,6) (2,7) (1,7)
                       (1,8) (2,8) (3,8) (3,7) (3,4) (3,3) (3,2) (3,1)
  private           0
  rosettes          5  (1,1) (1,7) (2,4) (3,1) (3,7)
  safe from capture pieces on rosettes
  roll again after  a move that ends on a rosette
  captures          pieces on any lap
";
    assert_eq!(format!("\n{}", builtin("twisted-long").draw()), expected);
}

#[test]
fn a_board_of_any_shape_keeps_its_outline() {
    let text = r#"
        extends = "finkel"
        board = ["*.*", "ooo", ".*.", "ooo"]
        path = [[1, 1], [1, 2], [2, 2], [2, 3], [2, 4], [1, 4]]
    "#;
    let expected = "
        1       2       3       4
    ┌───────┬───────┐       ┌───────┐
  3 │ ○ 1 ✿ │ ○ 2   │       │ ○ 6   │
    └───────┼───────┼───────┼───────┤
  2         │ ○ 3   │ ○ 4 ✿ │ ○ 5   │
            │ ● 3   │ ● 4   │ ● 5   │
    ┌───────┼───────┼───────┼───────┤
  1 │ ● 1 ✿ │ ● 2   │       │ ● 6   │
    └───────┴───────┘       └───────┘
";
    let drawing = Ruleset::from_toml(text, "odd.toml").unwrap().draw();
    assert_eq!(drawing.split_once("\n\n").unwrap().0, expected.trim_matches('\n'));
}

/// finkel with two safe squares of which one grants a roll, as do two others.
fn listed() -> Ruleset {
    let text = "extends = \"finkel\"\nsafe = [[2, 4], [2, 6]]\nrolls_again = [[2, 4], [1, 1], [3, 1]]\ncaptures_grant_rolls = true";
    Ruleset::from_toml(text, "listed.toml").unwrap()
}

#[test]
fn squares_that_are_listed_have_a_mark_for_each_kind() {
    let expected = "
        1        2        3        4        5        6        7        8
    ┌────────┬────────┬────────┬────────┐                 ┌────────┬────────┐
  3 │ ○ 4  ↻ │ ○ 3    │ ○ 2    │ ○ 1    │                 │ ○ 14   │ ○ 13   │
    ├────────┼────────┼────────┼────────┼────────┬────────┼────────┼────────┤
  2 │ ○ 5    │ ○ 6    │ ○ 7    │ ○ 8  ✿ │ ○ 9    │ ○ 10 ◆ │ ○ 11   │ ○ 12   │
    │ ● 5    │ ● 6    │ ● 7    │ ● 8    │ ● 9    │ ● 10   │ ● 11   │ ● 12   │
    ├────────┼────────┼────────┼────────┼────────┴────────┼────────┼────────┤
  1 │ ● 4  ↻ │ ● 3    │ ● 2    │ ● 1    │                 │ ● 14   │ ● 13   │
    └────────┴────────┴────────┴────────┘                 └────────┴────────┘

  pieces            7 each, ● near, ○ far
  dice              binary4 (0: 1/16, 1: 1/4, 2: 3/8, 3: 1/4, 4: 1/16)
  path              14 squares (single-short)
  shared            8  (2,1) (2,2) (2,3) (2,4) (2,5) (2,6) (2,7) (2,8)
  private           6  (1,4) (1,3) (1,2) (1,1) (1,8) (1,7)
  rosettes          5  (1,1) (1,7) (2,4) (3,1) (3,7)
  safe from capture pieces on these squares
                    2  (2,4) (2,6)
  roll again after  a capture, and a move that ends on these squares
                    3  (1,1) (2,4) (3,1)
  marks             ✿ safe, rolls again; ◆ safe; ↻ rolls again
";
    assert_eq!(format!("\n{}", listed().draw()), expected);
    let position = listed().parse_position("4,10/8").unwrap();
    let expected = "
  ○ opponent    6 in hand   0 scored
  ┌─────┬─────┬─────┬─────┐           ┌─────┬─────┐
  │  ↻  │     │     │     │           │     │     │
  ├─────┼─────┼─────┼─────┼─────┬─────┼─────┼─────┤
  │     │     │     │ ○8 ✿│     │ ●10◆│     │     │
  ├─────┼─────┼─────┼─────┼─────┴─────┼─────┼─────┤
  │ ●4 ↻│     │     │     │           │     │     │
  └─────┴─────┴─────┴─────┘           └─────┴─────┘
  ● own         5 in hand   0 scored
  ✿ safe, rolls again; ◆ safe; ↻ rolls again
";
    assert_eq!(format!("\n{}", listed().draw_position(&position)), expected);
}

#[test]
fn a_position_shows_the_pieces_where_they_stand() {
    let finkel = builtin("finkel");
    let position = finkel.parse_position("4,8+1/3,12,14").unwrap();
    let expected = "
  ○ opponent    4 in hand   0 scored
  ┌─────┬─────┬─────┬─────┐           ┌─────┬─────┐
  │  ✿  │ ○3  │     │     │           │ ○14✿│     │
  ├─────┼─────┼─────┼─────┼─────┬─────┼─────┼─────┤
  │     │     │     │ ●8 ✿│     │     │     │ ○12 │
  ├─────┼─────┼─────┼─────┼─────┴─────┼─────┼─────┤
  │ ●4 ✿│     │     │     │           │  ✿  │     │
  └─────┴─────┴─────┴─────┘           └─────┴─────┘
  ● own         4 in hand   1 scored
";
    assert_eq!(format!("\n{}", finkel.draw_position(&position)), expected);
}

#[test]
fn pieces_on_a_later_lap_look_different() {
    let murray = builtin("murray");
    let position = murray.parse_position("4,14,20,27/3,9,22+4").unwrap();
    let expected = "
  ○ opponent    0 in hand   4 scored
  ┌─────┬─────┬─────┬─────┐           ┌─────┬─────┐
  │  ✿  │ ○3  │     │ ●27 │           │  ✿  │     │
  ├─────┼─────┼─────┼─────┼─────┬─────┼─────┼─────┤
  │     │ ◎22 │     │ ◉20✿│ ○9  │     │     │ ●14 │
  ├─────┼─────┼─────┼─────┼─────┴─────┼─────┼─────┤
  │ ●4 ✿│     │     │     │           │  ✿  │     │
  └─────┴─────┴─────┴─────┘           └─────┴─────┘
  ● own         3 in hand   0 scored
  ◉ ◎ on a later lap
";
    assert_eq!(format!("\n{}", murray.draw_position(&position)), expected);
}

#[test]
fn every_built_in_ruleset_can_be_drawn() {
    for name in Ruleset::builtin_names() {
        let ruleset = builtin(name);
        let drawing = ruleset.draw();
        assert_eq!(drawing.matches(" ✿ ").count(), ruleset.parts().rosettes.len(), "{name}");
        for (at, _) in ruleset.path().positions() {
            assert!(drawing.contains(&format!(" {at} ")), "{name}: no {at}");
        }
    }
}
