//! `ziggurat table diff`: how far two tables of one ruleset are apart.

use std::path::PathBuf;

use serde_json::json;
use ziggurat_table::{AnyTable, Diff, Differences, diff};

use crate::{
    failure::{Exit, Failure},
    output::{columns, grouped, percent, pieces, points, print, print_json},
    progress::watched,
};

/// Compare two tables of one ruleset, whatever their formats and types of values
///
/// Ends with exit code 1 if a difference is larger than the tolerance.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A table, .zgt or .rgu
    #[arg(value_name = "A")]
    left: PathBuf,

    /// The table to compare it with
    #[arg(value_name = "B")]
    right: PathBuf,

    /// The largest difference that counts as none, in percentage points [default: what the
    /// coarser type of values can tell apart, or what is proven of both leaves room for]
    #[arg(long, value_name = "POINTS", value_parser = points_of)]
    tolerance: Option<f64>,

    /// List every tier
    #[arg(long)]
    tiers: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let (left, right) = (AnyTable::open(&args.left)?, AnyTable::open(&args.right)?);
    let title = format!("Comparing {} with {}", args.left.display(), args.right.display());
    let diff = watched(&title, args.json, |tell| diff(&left, &right, tell))?;
    let coarser = left.quantum().max(right.quantum());
    let proven = [&left, &right].map(|table| table.certificate().unwrap_or(0.0)).iter().sum();
    let tolerance = args.tolerance.map_or(coarser.max(proven), |points| points / 100.0);
    let same = diff.total.largest <= tolerance;
    let chances = match &diff.at {
        Some(at) => Some((left.value(at)?, right.value(at)?)),
        None => None,
    };
    let at = diff.at.map(|at| left.ruleset().format_position(&at));
    if args.json {
        print_json(&json!({
            "same": same,
            "tolerance_points": tolerance * 100.0,
            "compared": diff.total.compared,
            "equal": diff.total.equal,
            "largest_points": diff.total.largest * 100.0,
            "mean_points": diff.total.mean() * 100.0,
            "position": at,
            "left_percent": chances.map(|(left, _)| left * 100.0),
            "right_percent": chances.map(|(_, right)| right * 100.0),
            "tiers": diff.tiers.iter().map(|(tier, differences)| json!({
                "tier": tier.to_string(),
                "compared": differences.compared,
                "equal": differences.equal,
                "largest_points": differences.largest * 100.0,
                "mean_points": differences.mean() * 100.0,
            })).collect::<Vec<_>>(),
        }))?;
    } else {
        let place = at.zip(chances).map_or(String::new(), |(at, (left, right))| {
            // As many digits as tell them apart.
            let apart = (left - right).abs() / 10.0;
            format!(", at {at}: {} against {}", percent(left, apart), percent(right, apart))
        });
        print(&text(args, &left, &diff, tolerance, &place, same))?;
    }
    Ok(if same { Exit::Success } else { Exit::Failed })
}

fn text(
    args: &Args,
    left: &AnyTable,
    diff: &Diff,
    tolerance: f64,
    place: &str,
    same: bool,
) -> String {
    let Differences { compared, equal, largest, .. } = diff.total;
    let mut text = format!(
        "{} against {}: {}, {}\n",
        args.left.display(),
        args.right.display(),
        left.ruleset().name(),
        pieces(left.ruleset())
    );
    let lines = [
        (
            "compared",
            format!("{} undecided positions, {} of them equal", grouped(compared), grouped(equal)),
        ),
        ("largest", format!("{}{place}", points(largest))),
        ("mean", points(diff.total.mean())),
        ("tolerance", points(tolerance)),
    ];
    for (what, value) in lines {
        text += &format!("  {what:<10} {value}\n");
    }
    if args.tiers {
        let mut rows = vec![
            ["  tier", "compared", "equal", "largest points", "mean points"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(diff.tiers.iter().map(|(tier, differences)| {
            vec![
                format!("  {tier}"),
                grouped(differences.compared),
                grouped(differences.equal),
                format!("{:.1e}", differences.largest * 100.0),
                format!("{:.1e}", differences.mean() * 100.0),
            ]
        }));
        text += &format!("\n{}\n", columns(&rows));
    }
    text += if same { "The tables agree.\n" } else { "The tables differ.\n" };
    text
}

fn points_of(text: &str) -> Result<f64, String> {
    let points: f64 = text.parse().map_err(|_| "write a number such as 1e-11".to_owned())?;
    if points.is_finite() && points >= 0.0 {
        Ok(points)
    } else {
        Err("write a number from 0 up, such as 1e-11".to_owned())
    }
}
