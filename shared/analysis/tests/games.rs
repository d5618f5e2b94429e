//! What is said of games, against games that are played, and against itself.

mod common;

use common::{oracle, ruleset, solved};
use ziggurat_advice::{Advisor, Policy, SeededDice};
use ziggurat_analysis::{Account, Analyst, Games};
use ziggurat_encoding::Index;
use ziggurat_game::Position;
use ziggurat_table::unheard;

fn account(advisor: &Advisor, policies: [&Policy; 2]) -> (Vec<Games>, Account) {
    let analyst = Analyst::new(advisor);
    let games = analyst.games(policies, &unheard).unwrap().to_vec();
    let longest = games.iter().map(|games| games.longest).fold(0.0, f64::max);
    let account = analyst.account(policies, longest, &unheard).unwrap();
    (games, account)
}

#[test]
fn as_many_positions_occur_as_the_oracle_says_and_visits_add_up_to_rolls() {
    for figures in oracle() {
        let (_directory, advisor) = solved(&ruleset(&figures.track, figures.pieces));
        let perfect = &Policy::Perfect;
        let (games, account) = account(&advisor, [perfect, perfect]);
        assert_eq!(account.reached as f64, figures.get("reached", 0), "{}", figures.track);
        let [player] = account.players.as_slice() else { panic!("one policy") };
        let rolls = games[0].rolls.mean;
        assert!((player.rolls - rolls.value).abs() <= account.error + rolls.error());
        assert!(account.error < 1e-9, "{}", account.error);
        let moves = games[0].moves.mean;
        let moved = player.rolls - player.passes;
        assert!((moved - moves.value).abs() <= 2.0 * account.error + moves.error());
        assert!(player.decisions.regret.abs() <= 1e-10);
    }
}

#[test]
fn what_a_policy_loses_is_the_sum_of_its_regrets() {
    let (_directory, advisor) = solved(&ruleset("finkel", 2));
    let value = advisor.value(&Position::start()).unwrap();
    for policy in [Policy::Random, Policy::Rearmost, Policy::Greedy] {
        let (games, account) = account(&advisor, [&policy, &Policy::Perfect]);
        // The mean over who begins of the chance of the policy, which is one half for the perfect player.
        let chance = (games[0].chance.value + 1.0 - games[1].chance.value) / 2.0;
        let [of_policy, of_perfect] = account.players.as_slice() else { panic!("two policies") };
        assert!((0.5 - chance - of_policy.decisions.regret).abs() < 1e-10, "{policy}");
        assert!(of_perfect.decisions.regret.abs() < 1e-10);
        assert!(of_policy.decisions.largest_regret > 0.01);
        assert!(games[0].chance.value < value);
        // Nobody does better against it than the best response, and that is better than the perfect player.
        let [best, against] = Analyst::new(&advisor).best_response(&policy, &unheard).unwrap();
        assert!(best.chance.value > games[1].chance.value + 1e-6);
        assert!(against.chance.value < games[0].chance.value - 1e-6);
    }
}

#[test]
fn chances_alone_are_those_of_games_and_the_true_ones_lie_within_both_bounds() {
    for (track, pieces) in [("finkel", 2), ("blitz", 2), ("murray", 1), ("double-short", 1)] {
        let (_directory, advisor) = solved(&ruleset(track, pieces));
        let analyst = Analyst::new(&advisor);
        for policies in [
            [Policy::Random, Policy::Perfect],
            [Policy::Greedy, Policy::Random],
            [Policy::Perfect, Policy::Gain],
        ] {
            let policies = policies.each_ref();
            let games = analyst.games(policies, &unheard).unwrap();
            let chances = analyst.chances(policies, &unheard).unwrap();
            for (games, chance) in games.iter().zip(chances) {
                assert!(chance.error() < 1e-10, "{chance:?}");
                let off = (games.chance.value - chance.value).abs();
                assert!(off <= games.chance.error() + chance.error(), "{chance:?}, {games:?}");
            }
        }
    }
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let (_directory, advisor) = solved(&ruleset("blitz", 2));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (games, account) = account(&advisor, [&Policy::Random, &Policy::Greedy]);
            (games, account, Analyst::new(&advisor).perfect(&unheard).unwrap())
        })
    };
    assert_eq!(on(1), on(3));
}

/// Rolls of each of so many games between perfect players, and who won, by moves that are looked up once.
fn simulate(advisor: &Advisor, games: u64) -> (Vec<u32>, u64) {
    let encoding = advisor.table().encoding();
    let ruleset = advisor.ruleset();
    let rolls = ruleset.dice().rolls().len();
    let tiers = encoding.tiers();
    let mut next = Vec::new();
    for &tier in &tiers {
        let positions: Vec<Position> = (0..encoding.tier_len(tier))
            .map(|offset| encoding.unrank(Index { tier, offset }))
            .collect();
        let of_tier: Vec<Option<(Position, bool)>> = advisor
            .outlooks(&positions)
            .unwrap()
            .iter()
            .flat_map(|outlook| {
                outlook.rolls.iter().map(|advice| match advice.best() {
                    Some(best) if best.outcome.won => None,
                    Some(best) => Some((best.outcome.next(), !best.outcome.rolls_again)),
                    None => Some((outlook.position.swap(), true)),
                })
            })
            .collect();
        next.push(of_tier);
    }
    let firsts: Vec<usize> = tiers
        .iter()
        .scan(0, |next, tier| {
            Some(std::mem::replace(next, *next + encoding.tier_len(*tier) as usize))
        })
        .collect();
    let number = |position: &Position| {
        let Index { tier, offset } = encoding.rank(position);
        firsts[tiers.iter().position(|known| *known == tier).unwrap()] + offset as usize
    };
    let next: Vec<Option<(usize, bool)>> = next
        .concat()
        .into_iter()
        .map(|next| next.map(|(position, passes)| (number(&position), passes)))
        .collect();
    let start = number(&Position::start());
    let mut dice = SeededDice::new(2024);
    let (mut lengths, mut won) = (Vec::new(), 0);
    for _ in 0..games {
        let (mut at, mut is_first, mut length) = (start, true, 0);
        loop {
            length += 1;
            let roll = usize::from(dice.roll(ruleset).value);
            match next[at * rolls + roll] {
                Some((next, passes)) => (at, is_first) = (next, is_first != passes),
                None => break,
            }
        }
        lengths.push(length);
        won += u64::from(is_first);
    }
    (lengths, won)
}

#[test]
fn a_million_games_are_as_long_as_is_said() {
    let (_directory, advisor) = solved(&ruleset("finkel", 3));
    let perfect = Analyst::new(&advisor).perfect(&unheard).unwrap().shortest;
    let games = 1_000_000;
    let (lengths, won) = simulate(&advisor, games);
    let count = games as f64;
    let deviation = perfect.rolls.deviation.value;
    let mean = lengths.iter().map(|&it| f64::from(it)).sum::<f64>() / count;
    assert!((mean - perfect.rolls.mean.value).abs() < 4.0 * deviation / count.sqrt());
    let squares = lengths.iter().map(|&it| (f64::from(it) - mean).powi(2));
    let (second, fourth) = squares.fold((0.0, 0.0), |(a, b), it| (a + it, b + it * it));
    let (second, fourth) = (second / count, fourth / count);
    let error = ((fourth - second * second) / count).sqrt();
    assert!((second - deviation * deviation).abs() < 4.0 * error);
    let chance = perfect.chance.value;
    let error = (chance * (1.0 - chance) / count).sqrt();
    assert!((won as f64 / count - chance).abs() < 4.0 * error);
}

#[test]
fn the_distribution_of_lengths_has_the_expected_length_and_adds_up() {
    for (name, policies) in [
        ("finkel", [Policy::Perfect, Policy::Perfect]),
        ("blitz", [Policy::Random, Policy::Greedy]),
    ] {
        let (_directory, advisor) = solved(&ruleset(name, 2));
        let analyst = Analyst::new(&advisor);
        let [first, second] = policies.each_ref();
        let games = analyst.games([first, second], &unheard).unwrap();
        let expected = (games[0].rolls.mean.value + games[1].rolls.mean.value) / 2.0;
        let distribution = analyst.distribution([first, second], &unheard).unwrap();
        let sum: f64 = distribution.probabilities.iter().sum();
        assert!((sum - 1.0).abs() < 1e-11, "{sum}");
        assert!((distribution.mean() / expected - 1.0).abs() < 1e-9, "{name} {expected}");
        let [some, half, most] = [0.05, 0.5, 0.95].map(|it| distribution.quantile(it).unwrap());
        assert!(some < half && half < most && (half as f64 / expected - 1.0).abs() < 0.1);
    }
}
