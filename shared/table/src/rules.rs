//! Whether two rulesets are the same game.

use ziggurat_game::{Path, Ruleset};

use crate::{
    TableError,
    squares::{is_safe, squares_where},
};

/// Compares everything that decides the value of a position: not the names, and nothing that
/// makes no difference in these rulesets.
///
/// # Errors
/// The first property in which they differ.
pub(crate) fn same_game(left: &Ruleset, right: &Ruleset) -> Result<(), TableError> {
    let properties = |ruleset: &Ruleset| {
        let path = ruleset.path();
        let revisits = path.positions().any(|(at, _)| path.lap(at) > 1);
        let captures =
            if revisits { format!("{:?}", ruleset.captures()) } else { "any".to_owned() };
        [
            ("pieces", ruleset.pieces().to_string()),
            ("path", squares(path)),
            ("dice", rolls(ruleset)),
            ("safe squares", squares_where(ruleset, |at| is_safe(ruleset, at))),
            ("squares granting rolls", squares_where(ruleset, |at| ruleset.is_roll_granted_on(at))),
            ("captures granting rolls", ruleset.captures_grant_rolls().to_string()),
            ("captures", captures),
        ]
    };
    for ((property, left), (_, right)) in properties(left).into_iter().zip(properties(right)) {
        if left != right {
            return Err(TableError::DifferentRulesets { property, left, right });
        }
    }
    Ok(())
}

fn squares(path: &Path) -> String {
    match path.name() {
        Some(name) => name.to_owned(),
        None => path.squares().iter().map(ToString::to_string).collect(),
    }
}

fn rolls(ruleset: &Ruleset) -> String {
    let roll = |roll: &ziggurat_game::Roll| format!("{}: {}", roll.value, roll.probability);
    ruleset.dice().rolls().iter().map(roll).collect::<Vec<_>>().join(", ")
}
