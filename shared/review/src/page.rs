//! The account as one page of HTML to step through: nothing in it comes from the network.

use serde_json::{Value, json};
use ziggurat_game::{Position, Square};
use ziggurat_records::Player;

use crate::{Review, json::to_json};

/// The page around the account.
const PAGE: &str = include_str!("page/page.html");
/// How it looks.
const STYLE: &str = include_str!("page/page.css");
/// What draws it and listens to the keyboard.
const SCRIPT: &str = include_str!("page/page.js");

/// A page with the graph of chances, the board, and all actions of a game.
pub fn page(review: &Review, title: &str) -> String {
    let mut account = to_json(review);
    account["title"] = title.into();
    account["board"] = board(review);
    account["states"] = states(review).into();
    // A text in a script ends at `</script`, and comments in it begin with `<!--`: no `<` is left.
    let account = account.to_string().replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let parts = [
        ("{{title}}", title.as_str()),
        ("{{style}}", STYLE),
        ("{{script}}", SCRIPT),
        ("{{account}}", &account),
    ];
    let mut page = String::new();
    let mut rest = PAGE;
    // Placeholders stand in this order, and none is looked for in what was put in.
    for (placeholder, text) in parts {
        let (before, after) = rest.split_once(placeholder).expect("a placeholder of the page");
        page += before;
        page += text;
        rest = after;
    }
    page + rest
}

/// The squares of the board, and the rosettes among them.
fn board(review: &Review) -> Value {
    let ruleset = &review.game.ruleset;
    let list = |squares: &mut dyn Iterator<Item = Square>| {
        squares.map(|square| square.name()).collect::<Vec<_>>()
    };
    json!({
        "squares": list(&mut ruleset.board().squares().iter().copied()),
        "rosettes": list(&mut ruleset.parts().rosettes.iter().copied()),
        "rows": ruleset.board().rows(),
    })
}

/// The pieces before every action and after the last one.
fn states(review: &Review) -> Vec<Value> {
    let of = |position: &Position, player: Player| state(review, position, player);
    let before = review.actions.iter().map(|action| of(&action.position, action.by));
    let after = review.actions.last().map(|last| {
        let moved = last.mv.and_then(|mv| last.advice.of(mv));
        moved.map_or_else(
            || of(&last.position, last.by),
            |valued| of(&valued.outcome.position, last.by),
        )
    });
    before.chain(after).collect()
}

/// The pieces of both players, in a position seen by one of them.
fn state(review: &Review, position: &Position, seen_by: Player) -> Value {
    let ruleset = &review.game.ruleset;
    let mut state = json!({});
    for (player, side) in [(seen_by, &position.own), (seen_by.other(), &position.opponent)] {
        let squares = side.positions().map(|at| player.square(ruleset.path().square(at)).name());
        state[player.to_string()] = json!({
            "squares": squares.collect::<Vec<_>>(),
            "hand": side.in_hand(ruleset.pieces()),
            "scored": side.scored,
        });
    }
    state
}
