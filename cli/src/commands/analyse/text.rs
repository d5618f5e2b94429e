//! A page of results.

use ziggurat_advice::{Advisor, Policy};
use ziggurat_analysis::{
    Bounded, Decisions, FREE_POINTS, GAP_BINS, Games, HARD_POINTS, Player, Spread,
};

use super::Findings;
use crate::output::{bound, columns, game, grouped};

/// As many decimals as are right, at most ten.
fn decimals(error: f64) -> usize {
    (0.01 - error.max(1e-10).log10()).floor().clamp(0.0, 10.0) as usize
}

/// A number with its bound: `209.810273 ± 1.0e-8`.
fn number(it: Bounded) -> String {
    let error = it.error();
    format!("{:.*} ± {}", decimals(error), it.value, bound(error))
}

/// A chance in percent with its bound, in percentage points.
fn percent(it: Bounded) -> String {
    let scaled = |x: f64| 100.0 * x;
    let it = Bounded { value: scaled(it.value), low: scaled(it.low), high: scaled(it.high) };
    let error = it.error();
    format!("{:.*} % ± {}", decimals(error), it.value, bound(error))
}

/// A difference of two chances with its bound: `5.98 ± 1.0e-8 points`.
fn in_points(it: Bounded) -> String {
    let scaled = |x: f64| 100.0 * x;
    let it = Bounded { value: scaled(it.value), low: scaled(it.low), high: scaled(it.high) };
    format!("{} points", number(it))
}

pub(super) fn of(findings: &Findings, advisor: &Advisor) -> String {
    let ruleset = advisor.ruleset();
    let [first, second] = &findings.policies;
    let mut text = format!("{}: {first} against {second}\n", game(ruleset));
    text += &chances(findings);
    text += &lengths(findings);
    text += &happenings(findings, advisor);
    text += &decisions(findings, advisor);
    text += &complexity(findings, advisor);
    text += &hardest(findings, advisor);
    text
}

/// A heading, and lines below it.
fn section(title: &str, rows: Vec<Vec<String>>) -> String {
    format!("\n{title}\n{}", columns(&rows))
}

fn row(what: impl Into<String>, value: impl Into<String>) -> Vec<String> {
    vec![format!("  {}", what.into()), value.into()]
}

/// The chances alone.
pub(super) fn of_chances(
    policies: &[Policy; 2],
    chances: [Bounded; 2],
    all_decisions: &Decisions,
    advisor: &Advisor,
) -> String {
    let [first, second] = policies;
    let heading = format!("{}: {first} against {second}\n", game(advisor.ruleset()));
    let regret = regret_over_all(first, all_decisions, advisor);
    heading + &section(CHANCES, rows_of_chances(policies, chances)) + &section(REGRET, vec![regret])
}

const CHANCES: &str = "Chance of winning";

fn rows_of_chances(
    [first, second]: &[Policy; 2],
    [begins, answers]: [Bounded; 2],
) -> Vec<Vec<String>> {
    if first == second {
        return vec![row("the player who begins", percent(begins))];
    }
    vec![
        row(format!("{first}, if it begins"), percent(begins)),
        row(format!("{first}, if {second} begins"), percent(other(answers))),
    ]
}

fn chances(findings: &Findings) -> String {
    let first = &findings.policies[0];
    let chances = findings.games.map(|games| games.chance);
    let mut rows = rows_of_chances(&findings.policies, chances);
    if let Some([best, against]) = &findings.best_response {
        let title = format!("{first}, if it begins against the best response");
        rows.push(row(title, percent(against.chance)));
        let title = format!("{first}, if the best response begins");
        rows.push(row(title, percent(other(best.chance))));
    }
    section(CHANCES, rows)
}

/// The chance of the other player.
pub(super) fn other(chance: Bounded) -> Bounded {
    Bounded { value: 1.0 - chance.value, low: 1.0 - chance.high, high: 1.0 - chance.low }
}

fn lengths(findings: &Findings) -> String {
    let mut rows = vec![vec!["  ".into(), "expected".into(), "standard deviation".into()]];
    let mut add = |which: &str, games: &Games| {
        let spreads: [(&str, Spread); 3] =
            [("rolls", games.rolls), ("turns", games.turns), ("moves", games.moves)];
        for (what, spread) in spreads {
            let cells = [format!("  {what}{which}"), number(spread.mean), number(spread.deviation)];
            rows.push(cells.to_vec());
        }
    };
    let [first, second] = &findings.policies;
    match &findings.perfect {
        Some(perfect) if perfect.shortest == perfect.longest => add("", &perfect.shortest),
        Some(perfect) => {
            add(", ties towards shorter games", &perfect.shortest);
            add(", ties towards longer games", &perfect.longest);
        }
        None if findings.are_same() => add("", &findings.games[0]),
        None => {
            add(&format!(", {first} begins"), &findings.games[0]);
            add(&format!(", {second} begins"), &findings.games[1]);
        }
    }
    let mut text = section("Length of a game", rows);
    if let Some(distribution) = &findings.distribution {
        let quantile = |share: f64| distribution.quantile(share).map(|it| grouped(it as u64));
        let shares = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
        let rows = shares.map(|share| {
            let within = quantile(share).unwrap_or_else(|| "not known".to_owned());
            row(format!("{:.0} % of games end within", 100.0 * share), format!("{within} rolls"))
        });
        text += &columns(&rows);
    }
    if let Some(perfect) = &findings.perfect {
        let ties = perfect.ties;
        text += &match ties {
            0 => "  no moves are tied for the best\n".to_owned(),
            _ => {
                format!("  moves are tied for the best in {} positions and rolls\n", grouped(ties))
            }
        };
    }
    text
}

fn happenings(findings: &Findings, advisor: &Advisor) -> String {
    let account = &findings.account;
    let player = account.together();
    let expected =
        |what: &str, value: f64| row(what, number(Bounded::within(value, account.error)));
    let undecided = advisor.table().encoding().undecided();
    let mut rows = vec![
        row(
            "positions that occur",
            format!("{} of {}", grouped(account.reached), grouped(undecided)),
        ),
        expected("decisions (more than one legal move)", player.decisions.weight),
        expected("captures", player.captures),
        expected("moves that grant another roll", player.extra_rolls),
        expected("passes", player.passes),
        expected("changes of the lead", player.lead_changes),
    ];
    let (deviation, total) = luck(&player, advisor);
    rows.push(row("luck of a roll, standard deviation", in_points(deviation)));
    rows.push(row("luck of a game, standard deviation", in_points(total)));
    section("In a game, on average", rows)
}

/// The standard deviations of the luck of a roll and of a game.
pub(super) fn luck(player: &Player, advisor: &Advisor) -> (Bounded, Bounded) {
    let certificate = advisor.bound().distance();
    let deviation = |squares: f64, of: f64| {
        let value = (squares / of).sqrt();
        // A difference of two chances is off by no more than twice what one is.
        let error = 4.0 * certificate * (player.rolls / of).sqrt() + 1e-12 * value;
        Bounded::within(value, error)
    };
    (deviation(player.luck_squares, player.rolls), deviation(player.luck_squares, 1.0))
}

/// A share of decisions, or a mean over them, of which each adds no more than `most`.
pub(super) fn mean(findings: &Findings, of: &Decisions, sum: f64, most: f64) -> Bounded {
    if of.weight == 0.0 {
        return Bounded::within(0.0, 0.0);
    }
    let value = sum / of.weight;
    Bounded::within(value, findings.account.error * (most + value.abs()) / of.weight)
}

const REGRET: &str = "Regret of a decision";

/// A regret, which is off by what the table may be, too.
fn regret_points(it: Bounded, advisor: &Advisor) -> String {
    in_points(Bounded::within(it.value, it.error() + 2.0 * advisor.bound().distance()))
}

fn regret_over_all(policy: &Policy, all: &Decisions, advisor: &Advisor) -> Vec<String> {
    let mean = all.regret / all.weight.max(f64::MIN_POSITIVE);
    let mean = Bounded::within(mean, 1e-12 * mean);
    row(format!("{policy}, mean over all positions"), regret_points(mean, advisor))
}

fn decisions(findings: &Findings, advisor: &Advisor) -> String {
    let together = findings.account.together();
    let most = f64::from(advisor.ruleset().pieces());
    let occur = &together.decisions;
    let share = |sum: f64| mean(findings, occur, sum, 1.0);
    let mut rows = vec![
        row("legal moves", number(mean(findings, occur, occur.choices, most))),
        row(format!("free: all moves within {FREE_POINTS} points"), percent(share(occur.free))),
        row(
            format!("hard: second best {HARD_POINTS} point behind or more"),
            percent(share(occur.hard)),
        ),
    ];
    let mut from = 0.0;
    for (end, weight) in GAP_BINS.into_iter().zip(occur.gaps) {
        let bin = if from == 0.0 {
            format!("second best up to {end} points behind")
        } else {
            format!("{from} to {end} points")
        };
        rows.push(row(bin, percent(share(weight))));
        from = end;
    }
    let mut text = section("Decisions, as they occur", rows);
    let mut rows = Vec::new();
    for (player, policy) in findings.account.players.iter().zip(&findings.policies) {
        let points = |it: Bounded| regret_points(it, advisor);
        let regret = mean(findings, &player.decisions, player.decisions.regret, 1.0);
        rows.push(row(format!("{policy}, mean as they occur"), points(regret)));
        let largest = Bounded::within(player.decisions.largest_regret, 0.0);
        rows.push(row(format!("{policy}, largest that occurs"), points(largest)));
        rows.push(regret_over_all(policy, &player.all, advisor));
    }
    text += &section(REGRET, rows);
    text
}

/// The complexities of the game, where both players are perfect.
fn complexity(findings: &Findings, advisor: &Advisor) -> String {
    if findings.perfect.is_none() {
        return String::new();
    }
    let tree = game_tree(findings, advisor);
    let states = advisor.table().encoding().states() as f64;
    let rows = vec![
        row("state space", format!("10^{:.2}", states.log10())),
        row(
            "game tree",
            format!(
                "10^{:.1}: ({:.3} ways to go on x {} rolls of the dice) to the power of {:.2} rolls",
                tree.log10, tree.ways, tree.rolls_of_dice, tree.length
            ),
        ),
    ];
    section("Complexity", rows)
}

/// (b c)^N: how many ways to go on there are after a roll, as they occur, how many rolls the dice have, and how many rolls a game.
pub(super) struct GameTree {
    pub ways: f64,
    pub rolls_of_dice: usize,
    pub length: f64,
    pub log10: f64,
}

pub(super) fn game_tree(findings: &Findings, advisor: &Advisor) -> GameTree {
    let player = findings.account.together();
    let rolls_of_dice = advisor.ruleset().dice().rolls().len();
    let ways = player.ways / player.rolls;
    let length = player.rolls;
    let log10 = length * (ways * rolls_of_dice as f64).log10();
    GameTree { ways, rolls_of_dice, length, log10 }
}

fn hardest(findings: &Findings, advisor: &Advisor) -> String {
    let certificate = advisor.bound().distance();
    let ruleset = advisor.ruleset();
    let mut rows = vec![vec![
        "  position".to_owned(),
        "roll".to_owned(),
        "second best behind by".to_owned(),
        "in a game".to_owned(),
    ]];
    for hard in &findings.account.hardest {
        let gap = Bounded::within(hard.gap, 2.0 * certificate);
        rows.push(vec![
            format!("  {}", ruleset.format_position(&hard.position)),
            hard.roll.to_string(),
            in_points(gap),
            format!("{:.2e}", hard.visits),
        ]);
    }
    if rows.len() == 1 {
        return String::new();
    }
    section("The hardest decisions that occur", rows)
}
