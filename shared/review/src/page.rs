//! The account as one page of HTML to step through: nothing in it comes from the network.

use crate::{
    Review,
    json::to_json,
    steps::{board_json, steps_json},
};

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
    account["board"] = board_json(&review.game.ruleset);
    account["states"] = steps_json(review).into();
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
