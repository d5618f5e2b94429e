//! Accounts of games by solved tables.

#[path = "../../advice/tests/common/mod.rs"]
mod common;

use common::{advisor, tables};
use ziggurat_advice::{Advisor, Policy, SeededDice};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_records::{Action, End, Game, Player, Replay, Rules, read};
use ziggurat_review::{LuckMark, MoveMark, Review, page, review, table, text, to_json};
use ziggurat_table::{Compression, ValueType};

/// A record of `tests/data/games`.
fn record(name: &str, ruleset: &Ruleset) -> Game {
    let bytes = std::fs::read(format!("../../tests/data/games/{name}")).unwrap();
    read(&bytes, Rules::Known(ruleset)).unwrap()
}

/// A game of two policies, of at most so many rolls.
fn played(advisor: &Advisor, policies: [Policy; 2], seed: u64, most: usize) -> Game {
    let mut game = Game::new(advisor.ruleset().clone());
    let mut dice = SeededDice::new(seed);
    let mut replay = Replay::new(advisor.ruleset(), game.start);
    while game.actions.len() < most && replay.winner().is_none() {
        let by = replay.to_roll();
        let roll = dice.roll(advisor.ruleset());
        let advice = advisor.advice(replay.position(), roll).unwrap();
        let mv =
            policies[by as usize].choose(advisor.ruleset(), &advice, &mut dice).map(|it| it.mv);
        replay.play(roll.value, mv).unwrap();
        game.actions.push(Action { by, roll: roll.value, mv, time: None });
    }
    game.end = replay.winner().map_or(End::Unfinished, End::Won);
    game
}

/// The ledger closes: to what the table proves, and to 1e-9.
fn assert_closed(review: &Review) {
    let ledger = &review.ledger;
    let sum = ledger.start + ledger.luck[0] - ledger.loss[0] - ledger.luck[1] + ledger.loss[1];
    assert!((sum + ledger.rest - ledger.result).abs() < 1e-12, "{ledger:?}");
    assert!(ledger.rest.abs() <= ledger.most_rest.unwrap(), "{ledger:?}");
    assert!(ledger.rest.abs() < 1e-9, "{ledger:?}");
    let light = review.actions.iter().filter(|it| it.by == Player::Light);
    let luck: f64 = light.map(|it| it.luck).sum();
    assert!((luck - review.totals[0].luck).abs() < 1e-12);
}

#[test]
fn both_notations_of_a_game_have_the_same_account_and_it_closes() {
    let (_directory, advisor) = advisor("finkel");
    for name in ["finkel2-0", "finkel2-1"] {
        let [rgn, json] = ["rgn", "json"]
            .map(|ending| record(&format!("{name}.{ending}"), advisor.ruleset()))
            .map(|game| review(game, &advisor).unwrap());
        assert_eq!(to_json(&rgn), to_json(&json));
        assert_eq!(text(&rgn), text(&json));
        assert_closed(&rgn);
        assert!(rgn.ledger.result == 1.0 || rgn.ledger.result == 0.0);
    }
}

#[test]
fn the_account_of_every_game_closes_finished_or_not() {
    let (_directory, advisor) = advisor("finkel");
    for seed in 0..20 {
        for most in [0, 1, 7, 30, 10_000] {
            let policies = [Policy::ALL[seed as usize % Policy::ALL.len()].clone(), Policy::Random];
            assert_closed(&review(played(&advisor, policies, seed, most), &advisor).unwrap());
        }
    }
}

#[test]
fn the_account_of_a_coarse_table_closes_to_what_that_proves() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = [ValueType::Percent16, ValueType::F32].map(|it| (it, Compression::Zstd));
    for path in tables(directory.path(), "finkel", &kinds) {
        let advisor = Advisor::open(&path).unwrap();
        let game = record("finkel2-1.rgn", advisor.ruleset());
        let ledger = review(game, &advisor).unwrap().ledger;
        assert!(ledger.rest.abs() <= ledger.most_rest.unwrap(), "{ledger:?}");
    }
}

#[test]
fn a_perfect_player_loses_nothing_and_any_other_something() {
    let (_directory, advisor) = advisor("finkel");
    let game = played(&advisor, [Policy::Perfect, Policy::Rearmost], 3, 10_000);
    let account = review(game, &advisor).unwrap();
    let [light, dark] = account.totals;
    assert_eq!((light.accuracy(), light.decisions), (Some(1.0), light.right));
    assert!(light.loss < 1e-10 && light.rating().unwrap() < 1e-7, "{light:?}");
    assert!(dark.accuracy().unwrap() < 1.0 && dark.loss > 0.01, "{dark:?}");
    let mean = 100.0 * dark.loss / dark.decisions as f64;
    assert!((dark.rating().unwrap() - 10.0 * mean).abs() < 1e-12);
    for action in &account.actions {
        assert_eq!(action.better.is_some(), action.loss > 1e-10, "{action:?}");
    }
}

#[test]
fn rolls_and_moves_are_marked_by_what_they_are_worth() {
    for (loss, mark) in [
        (0.004, None),
        (0.006, Some(MoveMark::Dubious)),
        (0.016, Some(MoveMark::Mistake)),
        (0.041, Some(MoveMark::Blunder)),
    ] {
        assert_eq!(MoveMark::of(loss), mark);
    }
    for (luck, mark) in [
        (-0.5, None),
        (0.039, None),
        (0.041, Some(LuckMark::Lucky)),
        (0.071, Some(LuckMark::VeryLucky)),
    ] {
        assert_eq!(LuckMark::of(luck), mark);
    }
    assert_eq!(
        [MoveMark::Dubious, MoveMark::Mistake, MoveMark::Blunder].map(MoveMark::sign),
        ["?!", "?", "??"]
    );
    assert_eq!([LuckMark::Lucky, LuckMark::VeryLucky].map(LuckMark::sign), ["!", "!!"]);
}

#[test]
fn the_ledger_adds_up_as_it_is_printed() {
    let (_directory, advisor) = advisor("finkel");
    for seed in 0..50 {
        let game = played(&advisor, [Policy::Random, Policy::Random], seed, 10_000);
        let printed = text(&review(game, &advisor).unwrap());
        let ledger = printed.lines().skip_while(|line| !line.contains("chance at the start"));
        let hundredths: Vec<i64> = ledger
            .take(6)
            .map(|line| {
                let number = line.split_whitespace().next().unwrap();
                (number.parse::<f64>().unwrap() * 100.0).round() as i64
            })
            .collect();
        assert_eq!(hundredths[..5].iter().sum::<i64>(), hundredths[5], "{printed}");
        assert!(hundredths[5] == 0 || hundredths[5] == 10_000, "{printed}");
    }
}

#[test]
fn several_games_are_a_line_each_and_their_sums() {
    let (_directory, advisor) = advisor("finkel");
    let reviews = ["finkel2-0.rgn", "finkel2-1.rgn"]
        .map(|name| (name.to_owned(), review(record(name, advisor.ruleset()), &advisor).unwrap()));
    let printed = table(&reviews);
    assert_eq!(printed.lines().filter(|line| line.contains(".rgn")).count(), 2, "{printed}");
    let rolls: usize = reviews.iter().map(|(_, it)| it.totals[1].rolls).sum();
    let dark = printed.lines().last().unwrap();
    assert_eq!(dark.split_whitespace().nth(1), Some(rolls.to_string().as_str()), "{printed}");
}

#[test]
fn a_page_is_one_file_and_texts_in_it_are_no_markup() {
    let (_directory, advisor) = advisor("finkel");
    let mut game = record("finkel2-0.rgn", advisor.ruleset());
    let hostile = "</script><script>alert(1)</script><!-- {{account}} &amp; \u{202e}";
    game.metadata.push(("Name".to_owned(), hostile.to_owned()));
    let page = page(&review(game, &advisor).unwrap(), hostile);
    assert_eq!(page.matches("<script").count(), 3, "{page}");
    assert_eq!(page.matches("</script>").count(), 3);
    assert!(!page.contains("<!--") && page.contains("default-src 'none'"));
    for elsewhere in ["src=", "@import", "fetch(", "XMLHttpRequest", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    let addresses = page.matches("http").count();
    // The name of SVG, which nobody fetches, and the policy that forbids the rest.
    assert_eq!(addresses, 1 + page.matches("http-equiv").count());
}

#[test]
fn a_game_by_other_rules_has_no_account() {
    let (_directory, advisor) = advisor("finkel");
    let pieces = Overrides { pieces: Some(3), ..Overrides::default() };
    let game = Game::new(advisor.ruleset().with(&pieces).unwrap());
    let error = review(game, &advisor).unwrap_err().to_string();
    assert!(error.contains("finkel with 3 pieces") && error.contains("finkel with 2"), "{error}");
}
