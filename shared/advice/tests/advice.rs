//! Advice from solved tables.

mod common;

use std::path::Path;

use common::{advisor, tables};
use ziggurat_advice::{Advisor, Bound, Policy, Puzzle, ValuedMove, Wanted};
use ziggurat_encoding::Index;
use ziggurat_game::{Move, Position};
use ziggurat_table::{AnyTable, Compression, Existing, TableError, ValueType, unheard};

/// Every undecided position of a table's ruleset.
fn positions(advisor: &Advisor) -> Vec<Position> {
    let encoding = advisor.table().encoding();
    let all = encoding.tiers().into_iter().flat_map(|tier| {
        (0..encoding.tier_len(tier)).map(move |offset| encoding.unrank(Index { tier, offset }))
    });
    all.collect()
}

#[test]
fn a_roll_is_worth_its_best_move_and_luck_is_zero_on_average() {
    let (_directory, advisor) = advisor("finkel");
    let ruleset = advisor.ruleset();
    assert!(advisor.bound().is_proven());
    let most = advisor.bound().distance();
    let positions = positions(&advisor);
    for outlook in advisor.outlooks(&positions).unwrap() {
        assert!((outlook.mean() - outlook.chance).abs() <= 2.0 * most, "{outlook:?}");
        let luck = outlook.rolls.iter().map(|it| it.roll.chance() * outlook.luck(it));
        assert!(luck.sum::<f64>().abs() < 1e-15);
        for advice in &outlook.rolls {
            let mut legal: Vec<Move> = advice.moves.iter().map(|it| it.mv).collect();
            legal.sort();
            let expected: Vec<Move> = ruleset.moves(&outlook.position, advice.roll.value).collect();
            assert_eq!(legal, expected);
            assert!(advice.moves.iter().all(|it| it.chance <= advice.chance));
            assert!(advice.moves.is_sorted_by_key(|it| it.place));
        }
    }
}

#[test]
fn a_coarse_table_orders_moves_as_a_fine_one_or_calls_them_tied() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = ValueType::ALL.map(|value_type| (value_type, Compression::Zstd));
    let paths = tables(directory.path(), "finkel", &kinds);
    let [percent16, f32, f64] = [0, 1, 2].map(|at: usize| Advisor::open(&paths[at]).unwrap());
    let all = positions(&f64);
    let fine = f64.outlooks(&all).unwrap();
    let mut ties = 0;
    for coarse in [&percent16, &f32] {
        for (coarse, fine) in coarse.outlooks(&all).unwrap().iter().zip(&fine) {
            for (coarse, fine) in coarse.rolls.iter().zip(&fine.rolls) {
                let chance = |it: &ValuedMove| fine.of(it.mv).unwrap().chance;
                for (at, this) in coarse.moves.iter().enumerate() {
                    let before = coarse.moves[..at].iter().filter(|it| it.place < this.place);
                    let better = before.map(chance).fold(f64::NEG_INFINITY, f64::max);
                    assert!(this.place == 1 || better > chance(this), "{coarse:?} {fine:?}");
                    let same = |it: &&ValuedMove| it.place == this.place && it.mv != this.mv;
                    assert_eq!(coarse.moves.iter().any(|it| same(&it)), this.tied);
                    let first = coarse.moves[..at].iter().rfind(same);
                    assert!(first.is_none_or(|it| it.mv < this.mv), "{coarse:?}");
                    ties += usize::from(this.tied);
                }
            }
        }
    }
    assert!(ties > 0);
}

#[test]
fn moves_that_rounding_made_equal_are_tied_in_the_order_of_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = ValueType::ALL.map(|value_type| (value_type, Compression::Zstd));
    let paths = tables(directory.path(), "finkel", &kinds);
    // Their chances are 5e-7 apart, which the two finer types tell.
    for (path, places) in paths.iter().zip([[1, 1], [1, 2], [1, 2]]) {
        let advisor = Advisor::open(path).unwrap();
        let position = advisor.ruleset().parse_position("5,6/9,14").unwrap();
        let outlook = advisor.outlook(&position).unwrap();
        let moves = &outlook.advice(3).unwrap().moves;
        let order: Vec<(u8, usize)> = moves.iter().map(|it| (it.mv.from, it.place)).collect();
        assert_eq!(order, [(5, places[0]), (6, places[1])], "{}", path.display());
    }
}

#[test]
fn many_look_ups_give_the_values_of_single_ones_in_every_kind_of_table() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = Compression::ALL.map(|(_, compression)| (ValueType::F64, compression));
    let mut paths = tables(directory.path(), "finkel", &kinds);
    let rgu = directory.path().join("finkel.rgu");
    let table = AnyTable::open(&paths[0]).unwrap();
    table.export_rgu(&rgu, Existing::Keep, ValueType::F64, &unheard).unwrap();
    paths.push(rgu);
    for path in &paths {
        let advisor = Advisor::open(path).unwrap();
        let mut asked: Vec<Position> = positions(&advisor).into_iter().step_by(11).collect();
        // In no order, and decided ones among them.
        asked.sort_by_key(|position| position.own.board.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        asked.insert(5, advisor.ruleset().parse_position("-+2/4").unwrap());
        asked.insert(9, asked[5].swap());
        let many = advisor.values(&asked).unwrap();
        assert_eq!(many[5], 1.0);
        assert_eq!(many[9], 0.0);
        for (position, value) in asked.iter().zip(many) {
            assert_eq!(advisor.value(position).unwrap(), value, "{}", path.display());
        }
    }
}

#[test]
fn damage_is_found_by_look_ups_of_every_kind_of_table() {
    for (_, compression) in Compression::ALL {
        let directory = tempfile::tempdir().unwrap();
        let kind = [(ValueType::F64, compression)];
        let path = &tables(directory.path(), "finkel", &kind)[0];
        let mut bytes = std::fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
        let advisor = Advisor::open(path).unwrap();
        let many = advisor.values(&positions(&advisor)).unwrap_err();
        assert!(matches!(many, TableError::Damaged { .. }), "{many}");
    }
}

#[test]
fn unproven_chances_have_no_ten_decimals() {
    let path = Path::new("../../tests/data/finkel2-f64.rgu");
    let advisor = Advisor::open(path).unwrap();
    assert!(matches!(advisor.bound(), Bound::Unproven(distance) if distance >= 5e-7));
    let shown = advisor.bound().percent(advisor.value(&Position::start()).unwrap());
    assert_eq!(shown.split_once('.').unwrap().1.len(), "1234 %".len(), "{shown}");
}

#[test]
fn decided_positions_and_others_have_no_moves() {
    let (_directory, advisor) = advisor("finkel");
    let won = advisor.ruleset().parse_position("-+2/-").unwrap();
    let error = advisor.outlook(&won).unwrap_err().to_string();
    assert!(error.contains("`-+2/-` is decided"), "{error}");
    let both = Position { own: won.own, opponent: won.own };
    assert!(advisor.outlook(&both).is_err());
}

#[test]
fn in_the_main_line_nobody_is_lucky_and_somebody_wins() {
    let (_directory, advisor) = advisor("finkel");
    let line = advisor.main_line(&Position::start(), 1000).unwrap();
    assert!(line.won, "{line:?}");
    assert_eq!(line.steps[0].position, Position::start());
    for (step, next) in line.steps.iter().zip(&line.steps[1..]) {
        let after = match step.answer {
            Some(valued) => valued.outcome.next(),
            None => step.position.swap(),
        };
        assert_eq!(after, next.position);
        assert!(line.steps.iter().filter(|it| it.position == next.position).count() <= 2);
        assert!(step.luck.abs() < 0.3, "{step:?}");
    }
    let short = advisor.main_line(&Position::start(), 3).unwrap();
    assert_eq!((short.steps.len(), short.won), (3, false));
}

/// `tests/data/finkel7-moves.tsv`, by the table that `FINKEL_7` names: it takes a minute to solve.
#[test]
#[ignore = "needs a table of finkel with 7 pieces, named by FINKEL_7"]
fn published_values_of_moves_are_met() {
    let table = std::env::var_os("FINKEL_7").expect("FINKEL_7 names a table");
    let advisor = Advisor::open(Path::new(&table)).unwrap();
    let text = std::fs::read_to_string("../../tests/data/finkel7-moves.tsv").unwrap();
    let mut compared = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let position = advisor.ruleset().parse_position(cells[0]).unwrap();
        let outlook = advisor.outlook(&position).unwrap();
        let advice = outlook.advice(cells[1].parse().unwrap()).unwrap();
        let chance = match cells[2] {
            "pass" => advice.chance,
            from => {
                let from: u8 = from.parse().unwrap();
                advice.moves.iter().find(|it| it.mv.from == from).unwrap().chance
            }
        };
        let published: f64 = cells[3].parse().unwrap();
        assert!((chance * 100.0 - published).abs() <= 0.01, "{line}: {chance}");
        compared += 1;
    }
    assert!(compared > 100, "{compared} values");
}

#[test]
fn puzzles_are_decisions_that_a_rule_of_thumb_gets_wrong() {
    let (_directory, advisor) = advisor("finkel");
    let wanted = Wanted { seed: 1, count: 4, gap: 0.01, thumb: Policy::Greedy, games: 200 };
    let puzzles = advisor.puzzles(&wanted).unwrap();
    assert_eq!(puzzles.len(), 4);
    for puzzle in &puzzles {
        let [best, second, ..] = &puzzle.advice.moves[..] else { panic!("{puzzle:?}") };
        assert!(best.chance - second.chance > wanted.gap);
        assert!(puzzle.thumb.mv != best.mv && puzzle.loss() > wanted.gap);
    }
    let again = advisor.puzzles(&wanted).unwrap();
    let positions = |puzzles: &[Puzzle]| puzzles.iter().map(|it| it.position).collect::<Vec<_>>();
    assert_eq!(positions(&again), positions(&puzzles));
}
