//! The account for machines. Chances are in percent, differences in percentage points.

use serde_json::{Value, json};
use ziggurat_game::Move;
use ziggurat_records::{End, Player, move_name};

use crate::{Review, Reviewed, Totals};

/// How the end of a game is called.
pub(crate) fn end_name(end: &End) -> &'static str {
    match end {
        End::Unfinished => "unfinished",
        End::Won(_) => "won",
        End::Resigned(_) => "resigned",
        End::Abandoned { .. } => "abandoned",
    }
}

/// The player whom an end is about: who won, resigned or left.
pub(crate) fn end_player(end: &End) -> Option<Player> {
    match end {
        End::Unfinished => None,
        End::Won(player) | End::Resigned(player) => Some(*player),
        End::Abandoned { by, .. } => *by,
    }
}

/// The account of a game.
pub fn to_json(review: &Review) -> Value {
    let (game, ledger) = (&review.game, &review.ledger);
    let metadata = game.metadata.iter().map(|(key, value)| json!([key, value]));
    let points = |value: f64| value * 100.0;
    json!({
        "ruleset": game.ruleset.name(),
        "pieces": game.ruleset.pieces(),
        "metadata": metadata.collect::<Vec<_>>(),
        "end": end_name(&game.end),
        "end_player": end_player(&game.end).map(|player| player.to_string()),
        "actions": review.actions.iter().map(|action| action_json(review, action)).collect::<Vec<_>>(),
        "light": totals_json(&review.totals[0]),
        "dark": totals_json(&review.totals[1]),
        "ledger": {
            "start_percent": points(ledger.start),
            "light_luck_points": points(ledger.luck[0]),
            "light_loss_points": points(ledger.loss[0]),
            "dark_luck_points": points(ledger.luck[1]),
            "dark_loss_points": points(ledger.loss[1]),
            "rest_points": points(ledger.rest),
            "most_rest_points": ledger.most_rest.map(points),
            "result_percent": points(ledger.result),
        },
    })
}

/// What a player did.
pub fn totals_json(totals: &Totals) -> Value {
    json!({
        "rolls": totals.rolls,
        "decisions": totals.decisions,
        "right": totals.right,
        "accuracy_percent": totals.accuracy().map(|it| it * 100.0),
        "luck_points": totals.luck * 100.0,
        "loss_points": totals.loss * 100.0,
        "performance_rating": totals.rating(),
    })
}

fn action_json(review: &Review, action: &Reviewed) -> Value {
    let ruleset = &review.game.ruleset;
    let moved = |mv: Move| json!({"from": mv.from, "to": mv.to, "squares": move_name(ruleset, action.by, mv)});
    let moves = action.advice.moves.iter().map(|valued| {
        let mut it = moved(valued.mv);
        it["percent"] = (valued.chance * 100.0).into();
        it["place"] = valued.place.into();
        it
    });
    json!({
        "player": action.by.to_string(),
        "position": ruleset.format_position(&action.position),
        "percent": action.chance * 100.0,
        "roll": action.advice.roll.value,
        "luck_points": action.luck * 100.0,
        "luck_mark": action.luck_mark().map(|mark| mark.sign()),
        "move": action.mv.map(moved),
        "percent_after": action.chance_after * 100.0,
        "loss_points": action.loss * 100.0,
        "move_mark": action.move_mark().map(|mark| mark.sign()),
        "better": action.better.map(moved),
        "moves": moves.collect::<Vec<_>>(),
    })
}
