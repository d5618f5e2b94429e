//! `ziggurat count`: how large a ruleset is, and how many choices its players have.

use serde_json::json;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Ruleset;
use ziggurat_table::ValueType;

use crate::{
    choices::{self, Choices},
    failure::{Exit, Explain, Failure},
    output::{bytes, columns, game, grouped, print, print_json},
    selection::Selection,
};

/// Count the positions of a ruleset, by tier, and the bytes their values take
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Count also the legal choices for every arrangement and roll
    #[arg(long)]
    choices: bool,

    /// Show also the complexity of the game next to that of others
    #[arg(long)]
    complexity: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Games with the powers of ten of their state space and their game tree: Allis, "Searching for Solutions in Games and Artificial
/// Intelligence" (1994), section 6.3; of backgammon as it is usually cited, the state space after Tesauro (1992).
const OTHER_GAMES: [(&str, u32, u32); 6] = [
    ("nine men's morris", 10, 50),
    ("connect four", 14, 21),
    ("backgammon", 20, 144),
    ("checkers", 21, 31),
    ("chess", 46, 123),
    ("go", 172, 360),
];

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let ruleset = args.selection.ruleset()?;
    let encoding = Encoding::new(&ruleset).or_bad_input()?;
    let tiers: Vec<(Tier, u64)> =
        encoding.tiers().into_iter().map(|tier| (tier, encoding.tier_len(tier))).collect();
    let choices = args.choices.then(|| choices::count(&ruleset));
    if args.json {
        let mut document = as_json(&encoding, &tiers, choices.as_ref());
        if args.complexity {
            document["state_space_log10"] = json!((encoding.states() as f64).log10());
        }
        print_json(&document)?;
    } else {
        print(&as_text(&ruleset, &encoding, &tiers, choices.as_ref()))?;
        if args.complexity {
            print(&complexity_text(&encoding))?;
        }
    }
    Ok(Exit::Success)
}

fn as_text(
    ruleset: &Ruleset,
    encoding: &Encoding,
    tiers: &[(Tier, u64)],
    choices: Option<&Choices>,
) -> String {
    let mut text = format!("{}\n\n", game(ruleset));
    text += &tier_grid(ruleset.pieces(), tiers);
    let (states, undecided) = (encoding.states(), encoding.undecided());
    text += "\nPositions\n";
    text += &columns(&[
        vec!["  in all".into(), grouped(states)],
        vec!["  undecided".into(), grouped(undecided)],
        vec!["  decided".into(), grouped(states - undecided)],
    ]);
    text += &format!("  state-space complexity 10^{:.2}\n", (states as f64).log10());
    text += "\nBytes of the undecided positions' values, uncompressed\n";
    let size = |of: ValueType| vec![format!("  {of}"), bytes(value_bytes(undecided, of))];
    let sizes: Vec<Vec<String>> = ValueType::ALL.into_iter().map(size).collect();
    text += &columns(&sizes);
    if let Some(choices) = choices {
        text += &choices_text(choices);
    }
    text
}

/// The sizes of the tiers as a square of pieces left: just moved down, to move across.
fn tier_grid(pieces: u8, tiers: &[(Tier, u64)]) -> String {
    let size = |tier: Tier| {
        let found = tiers.iter().find(|(known, _)| *known == tier);
        found.map_or(String::new(), |(_, len)| grouped(*len))
    };
    let mut rows = vec![
        std::iter::once("  left".to_owned()).chain((1..=pieces).map(|m| m.to_string())).collect(),
    ];
    for n in 1..=pieces {
        let sizes = (1..=pieces).map(|m| size(Tier::new(n, m)));
        rows.push(std::iter::once(format!("  {n}")).chain(sizes).collect());
    }
    format!(
        "Undecided positions by tier: pieces left of the player who just moved (down) and of the\n\
         player to move (across)\n{}",
        columns(&rows)
    )
}

fn complexity_text(encoding: &Encoding) -> String {
    let power = |of: String| format!("10^{of}");
    let mut rows = vec![
        vec!["  ".to_owned(), "state space".into(), "game tree".into()],
        vec![
            format!("  {}", game(encoding.ruleset())),
            power(format!("{:.2}", (encoding.states() as f64).log10())),
            String::new(),
        ],
    ];
    rows.extend(OTHER_GAMES.map(|(name, states, tree)| {
        vec![format!("  {name}"), power(states.to_string()), power(tree.to_string())]
    }));
    format!(
        "\nComplexity, next to what Allis (1994) and Tesauro (1992) say of other games\n{}  \
         The game tree of perfect play takes a solved table: `ziggurat analyse FILE` has it.\n",
        columns(&rows)
    )
}

fn choices_text(choices: &Choices) -> String {
    let histogram = choices.histogram();
    let total = histogram.iter().sum::<u128>().max(1) as f64;
    let rows: Vec<Vec<String>> = histogram
        .iter()
        .enumerate()
        .map(|(k, &count)| {
            vec![format!("  {k}"), grouped(count), format!("{:.4} %", count as f64 / total * 100.0)]
        })
        .collect();
    format!(
        "\n(arrangement, roll) pairs by number of legal choices; every decided arrangement counts\n\
         once, without a choice\n{}  {:.4} choices on average where there is one\n",
        columns(&rows),
        choices.mean_branching()
    )
}

fn as_json(
    encoding: &Encoding,
    tiers: &[(Tier, u64)],
    choices: Option<&Choices>,
) -> serde_json::Value {
    let ruleset = encoding.ruleset();
    let undecided = encoding.undecided();
    let mut document = json!({
        "ruleset": ruleset.name(),
        "pieces": ruleset.pieces(),
        "positions": undecided,
        "positions_in_all": encoding.states(),
        "tiers": tiers.iter().map(|(tier, len)| json!({
            "tier": tier.to_string(), "just_moved": tier.just_moved, "to_move": tier.to_move, "positions": len,
        })).collect::<Vec<_>>(),
        "value_bytes": ValueType::ALL.into_iter()
            .map(|of| (of.to_string(), json!(value_bytes(undecided, of))))
            .collect::<serde_json::Map<_, _>>(),
    });
    if let Some(choices) = choices {
        document["choices"] = json!(choices.histogram());
        document["mean_branching"] = json!(choices.mean_branching());
    }
    document
}

/// Bytes of so many values.
fn value_bytes(positions: u64, value_type: ValueType) -> u128 {
    u128::from(positions) * value_type.bytes() as u128
}
