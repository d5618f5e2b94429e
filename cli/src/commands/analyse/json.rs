//! The same for machines.

use serde_json::{Value, json};
use ziggurat_advice::{Advisor, Policy};
use ziggurat_analysis::{Bounded, Decisions, GAP_BINS, Games, Player, Spread};

use super::{Findings, text};

/// The chances alone, as those in [`of`].
pub(super) fn of_chances(
    [first, second]: &[Policy; 2],
    [begins, answers]: [Bounded; 2],
    all_decisions: &Decisions,
    advisor: &Advisor,
) -> Value {
    json!({
        "ruleset": advisor.ruleset().name(),
        "pieces": advisor.ruleset().pieces(),
        "certificate": advisor.table().certificate(),
        "policy": first.name(),
        "against": second.name(),
        "percent_if_it_begins": percent(begins),
        "percent_if_it_answers": percent(text::other(answers)),
        "positions": advisor.table().encoding().undecided(),
        "all_decisions": decisions(all_decisions),
    })
}

pub(super) fn of(findings: &Findings, advisor: &Advisor) -> Value {
    let ruleset = advisor.ruleset();
    let [first, second] = &findings.policies;
    let [begins, answers] = &findings.games;
    let account = &findings.account;
    let mut document = json!({
        "ruleset": ruleset.name(),
        "pieces": ruleset.pieces(),
        "certificate": advisor.table().certificate(),
        "policy": first.name(),
        "against": second.name(),
        "begins": games(begins),
        "answers": games(answers),
        "percent_if_it_begins": percent(begins.chance),
        "percent_if_it_answers": percent(text::other(answers.chance)),
        "positions": advisor.table().encoding().undecided(),
        "positions_that_occur": account.reached,
        "error": account.error,
        "players": account.players.iter().map(|it| player(it, advisor)).collect::<Vec<_>>(),
        "gap_bins_points": GAP_BINS,
        "hardest": account.hardest.iter().map(|hard| json!({
            "position": ruleset.format_position(&hard.position),
            "roll": hard.roll,
            "gap_points": 100.0 * hard.gap,
            "visits": hard.visits,
        })).collect::<Vec<_>>(),
    });
    if let Some(perfect) = &findings.perfect {
        document["ties"] = perfect.ties.into();
        document["longer"] = games(&perfect.longest);
    }
    if let Some(distribution) = &findings.distribution {
        document["distribution"] = json!({
            "probabilities": distribution.probabilities,
            "rest": distribution.rest,
        });
    }
    let tree = text::game_tree(findings, advisor);
    document["complexity"] = json!({
        "state_space_log10": (advisor.table().encoding().states() as f64).log10(),
        "ways": tree.ways,
        "rolls_of_dice": tree.rolls_of_dice,
        "rolls": tree.length,
        "game_tree_log10": tree.log10,
    });
    if let Some([best, against]) = &findings.best_response {
        document["best_response"] = json!({
            "percent_if_it_begins": percent(best.chance),
            "percent_if_it_answers": percent(text::other(against.chance)),
            "begins": games(best),
            "answers": games(against),
        });
    }
    document
}

fn bounded(it: Bounded) -> Value {
    json!({ "value": it.value, "low": it.low, "high": it.high })
}

fn percent(it: Bounded) -> Value {
    bounded(Bounded { value: 100.0 * it.value, low: 100.0 * it.low, high: 100.0 * it.high })
}

fn games(games: &Games) -> Value {
    let spread = |spread: Spread| json!({ "mean": bounded(spread.mean), "deviation": bounded(spread.deviation) });
    json!({
        "rolls": spread(games.rolls),
        "turns": spread(games.turns),
        "moves": spread(games.moves),
        "first_player_percent": percent(games.chance),
        "longest_rolls": games.longest,
    })
}

fn player(player: &Player, advisor: &Advisor) -> Value {
    let (roll, game) = text::luck(player, advisor);
    json!({
        "rolls": player.rolls,
        "passes": player.passes,
        "captures": player.captures,
        "extra_rolls": player.extra_rolls,
        "lead_changes": player.lead_changes,
        "luck_of_a_roll_points": 100.0 * roll.value,
        "luck_of_a_game_points": 100.0 * game.value,
        "luck": player.luck.as_slice(),
        "decisions": decisions(&player.decisions),
        "all_decisions": decisions(&player.all),
    })
}

fn decisions(it: &Decisions) -> Value {
    let mean = |sum: f64| if it.weight > 0.0 { sum / it.weight } else { 0.0 };
    json!({
        "weight": it.weight,
        "choices": mean(it.choices),
        "free": mean(it.free),
        "hard": mean(it.hard),
        "gaps": it.gaps.map(mean),
        "regret_points": 100.0 * mean(it.regret),
        "largest_regret_points": 100.0 * it.largest_regret,
    })
}
