//! `ziggurat table verify`: whether the values of a table are those of optimal play.

use std::path::PathBuf;

use serde_json::json;
use ziggurat_kernel::{Certifier, PROGRAM_MEMORY_BYTES, USELESS_BOUND};
use ziggurat_table::{AnyTable, Identities, Verification, verify, verify_bytes};

use super::proof::{Proof, prove};
use crate::{
    failure::{Exit, Explain, Failure},
    needs::check_available,
    output::{bound, count, grouped, pieces, points, print, print_json, short},
    progress::watched,
};

/// Verify a table against its checksums and against the rules of the game
///
/// Every value must be what Bellman's equation makes of the values of the next positions. Ends
/// with exit code 1 if one is not, if the file is damaged, or if what it claims cannot be proven.
/// That all are is no proof: values may be further from the true ones than they are from the equation, in long games much
/// further. --certificate proves how far they are.
/// Of values that were rounded to a coarser type after they were proven, less can be proven than the file claims; that is told.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The table, .zgt or .rgu
    file: PathBuf,

    /// Verify about this many positions, spread evenly, instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,

    /// Prove too, from the file alone, how far the values are from the true ones at the most
    #[arg(long)]
    certificate: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let table = AnyTable::open(&args.file)?;
    let file = args.file.display();
    check_memory(&table, args)?;
    watched(&format!("Reading {file}"), args.json, |tell| table.verify_file(tell))?;
    let title = format!("Verifying the values of {file}");
    let found = watched(&title, args.json, |tell| verify(&table, args.sample, tell))?;
    let proof = match args.certificate {
        true => Some(watched(&format!("Proving {file}"), args.json, |tell| prove(&table, tell))?),
        false => None,
    };
    let is_proven = proof.as_ref().is_none_or(|proof| proof.refused.is_none());
    let holds = found.holds() && is_proven;
    let at = found.at.map(|at| table.ruleset().format_position(&at));
    if args.json {
        print_json(&json!({
            "holds": holds,
            "shown": shown(&table, proof.as_ref()).name(),
            "undetected_error": undetected(&table, &found),
            "positions": found.positions,
            "checked": found.checked,
            "largest_violation_points": found.largest_violation * 100.0,
            "position": at,
            "tolerance_points": found.tolerance * 100.0,
            "beyond_tolerance": found.beyond_tolerance,
            "won": identities_json(&found.won),
            "symmetric": identities_json(&found.symmetric),
            "proof": proof.map(|proof| json!({
                "proven": proof.refused.is_none(),
                "bound": proof.refused.is_none().then_some(proof.bound),
                "claimed": table.certificate(),
                "refused_tier": proof.refused.map(|tier| tier.to_string()),
            })),
        }))?;
    } else {
        print(&text(&table, &found, at.as_deref(), proof.as_ref()))?;
    }
    Ok(if holds { Exit::Success } else { Exit::Failed })
}

/// Refuses what does not fit memory.
fn check_memory(table: &AnyTable, args: &Args) -> Result<(), Failure> {
    let file = args.file.display();
    let bytes = |sample| PROGRAM_MEMORY_BYTES + verify_bytes(table, sample);
    check_available(&format!("verifying {file}"), bytes(args.sample))
        .or_help(elsewhere(args.sample, |sample| {
            check_available("verifying a part", bytes(Some(sample))).is_ok()
        }))?;
    if args.certificate {
        let peak_bytes = Certifier::peak_memory_bytes(table.encoding(), 0);
        let bytes = PROGRAM_MEMORY_BYTES + peak_bytes + table.held_bytes();
        check_available(&format!("proving what is in {file}"), bytes)
            .or_help("leave --certificate out, or prove it on a machine with more memory")?;
    }
    Ok(())
}

/// What to do where there is no memory for a sample, or for all: a smaller one, if that fits.
fn elsewhere(sample: Option<u64>, fits: impl Fn(u64) -> bool) -> String {
    let smaller = (1..=6).rev().map(|power| 10_u64.pow(power));
    let smaller = smaller.filter(|&part| sample.is_none_or(|sample| part < sample));
    match smaller.into_iter().find(|&part| fits(part)) {
        Some(part) => {
            let what = if sample.is_some() { "a smaller part" } else { "a part" };
            format!(
                "verify {what} of it, such as --sample {part}, or all of it on a machine with more memory"
            )
        }
        None => "verify it on a machine with more memory".to_owned(),
    }
}

fn text(table: &AnyTable, found: &Verification, at: Option<&str>, proof: Option<&Proof>) -> String {
    let identities = |identities: &Identities, what: &str| {
        let Identities { checked, largest_violation, beyond_tolerance } = *identities;
        format!(
            "{}; largest violation {}, {} beyond the tolerance",
            count(checked, what),
            points(largest_violation),
            grouped(beyond_tolerance),
        )
    };
    let place = at.map_or(String::new(), |at| format!(", at {at}"));
    let file = match table {
        AnyTable::Zgt(_) => "undamaged",
        AnyTable::Rgu(_) => "of the right length and in order; an .rgu file has no checksums",
    };
    let lines = [
        ("file", file.to_owned()),
        (
            "equation",
            format!(
                "{} of {} undecided positions; largest violation {}{place}; {} beyond the tolerance",
                grouped(found.checked),
                grouped(found.positions),
                points(found.largest_violation),
                grouped(found.beyond_tolerance),
            ),
        ),
        ("won", identities(&found.won, "position")),
        ("symmetric", identities(&found.symmetric, "position")),
        (
            "tolerance",
            format!(
                "{}, from the type of the values and what is claimed to be proven of them, or their residual",
                points(found.tolerance)
            ),
        ),
    ];
    let mut text = format!(
        "{}: {}, {}\n",
        table.path().display(),
        table.ruleset().name(),
        pieces(table.ruleset())
    );
    for (what, value) in lines {
        text += &format!("  {what:<10} {value}\n");
    }
    if let Some(proof) = proof {
        text += &format!("  {:<10} {proof}\n", "proof");
    }
    text += &match (shown(table, proof), proof) {
        _ if !found.holds() => "The table is wrong.\n".to_owned(),
        (_, Some(Proof { refused: Some(_), .. })) if table.certificate().is_some() => {
            "The values satisfy the equation, but what the table claims is not proven.\n".to_owned()
        }
        (_, Some(Proof { refused: Some(_), .. })) => {
            "The values satisfy the equation, but nothing useful could be proven of them.\n"
                .to_owned()
        }
        (Shown::Bound, _) => "The table holds: that was proven from its values.\n".to_owned(),
        (Shown::Claim, _) => format!(
            "The table holds: its values satisfy the equation as closely as the {} that it claims to be proven allows.\n\
             That was not proven again; --certificate does.\n",
            bound(table.certificate().unwrap_or(1.0)),
        ),
        (Shown::Equation, _) => equation_holds(table, found),
    };
    text
}

/// What verifying has shown of the values if nothing contradicts them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// How far they are from the true ones, by a proof.
    Bound,
    /// That they satisfy the equation as closely as what the file claims to be proven of them allows.
    Claim,
    /// That they satisfy the equation as closely as their type and the residual allow, and nothing of how far they are from the
    /// true ones.
    Equation,
}

impl Shown {
    fn name(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Claim => "claim",
            Self::Equation => "equation",
        }
    }
}

fn shown(table: &AnyTable, proof: Option<&Proof>) -> Shown {
    match proof {
        Some(Proof { refused: None, .. }) => Shown::Bound,
        _ if table.certificate().is_some() => Shown::Claim,
        _ => Shown::Equation,
    }
}

/// About how far values may be from the true ones that satisfy the equation as closely as was asked of these: what is allowed of a
/// roll adds up over the rolls of a piece, and over the levels. `None` if they may be anything.
fn undetected(table: &AnyTable, found: &Verification) -> Option<f64> {
    let ruleset = table.ruleset();
    let levels = 2.0 * f64::from(ruleset.pieces()) - 1.0;
    let error = found.tolerance * ruleset.rolls_to_score() * levels;
    Some(error).filter(|error| *error < USELESS_BOUND)
}

fn equation_holds(table: &AnyTable, found: &Verification) -> String {
    let shown = match undetected(table, found) {
        Some(error) => format!(
            "That is no proof: about {} between them and the true ones would not show.",
            points(error)
        ),
        None => format!(
            "That shows nothing: a piece needs some {} rolls to score, so that values far from the true ones satisfy it as closely.",
            short(table.ruleset().rolls_to_score())
        ),
    };
    format!(
        "Nothing contradicts the table: its values satisfy the equation to within the tolerance.\n{shown}\n\
         --certificate proves how far they are from the true ones, if that can be proven.\n"
    )
}

fn identities_json(identities: &Identities) -> serde_json::Value {
    json!({
        "checked": identities.checked,
        "largest_violation_points": identities.largest_violation * 100.0,
        "beyond_tolerance": identities.beyond_tolerance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_advised_that_is_smaller_and_fits() {
        let fits_up_to = |most| move |sample| sample <= most;
        assert!(elsewhere(None, fits_up_to(u64::MAX)).contains("--sample 1000000,"));
        assert!(elsewhere(None, fits_up_to(20_000)).contains("--sample 10000,"));
        let said = elsewhere(Some(1_000_000), fits_up_to(500_000));
        assert!(said.contains("a smaller part of it, such as --sample 100000,"), "{said}");
        for nothing_fits in [elsewhere(Some(10), |_| true), elsewhere(None, |_| false)] {
            assert_eq!(nothing_fits, "verify it on a machine with more memory");
        }
    }
}
