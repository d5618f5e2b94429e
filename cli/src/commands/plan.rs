//! `ziggurat plan`: what a solve would do and need, without doing it.

use serde_json::json;
use ziggurat_encoding::Encoding;
use ziggurat_kernel::{Plan, plan};

use crate::{
    failure::{Exit, Failure},
    job::JobArgs,
    output::{bytes, columns, grouped, print, print_json},
};

/// Print the steps of a solve, and the memory and disk it would take
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let encoding = args.job.encoding()?;
    let plan = plan(&encoding, &args.job.settings());
    let (memory, disk) = (args.job.memory_bytes(&plan), args.job.table_bytes(&encoding));
    if args.json {
        print_json(&json!({
            "ruleset": encoding.ruleset().name(),
            "pieces": encoding.ruleset().pieces(),
            "positions": plan.positions,
            "memory_bytes": memory,
            "disk_bytes": disk,
            "steps": plan.steps.iter().map(|step| json!({
                "tier": step.tier.to_string(), "positions": step.positions, "shards": step.shards,
            })).collect::<Vec<_>>(),
        }))?;
    } else {
        print(&text(&encoding, &plan, memory, disk))?;
    }
    Ok(Exit::Success)
}

fn text(encoding: &Encoding, plan: &Plan, memory: u64, disk: u64) -> String {
    let mut rows = vec![["  step", "tiers", "positions", "shards"].map(str::to_owned).to_vec()];
    rows.extend(plan.steps.iter().enumerate().map(|(i, step)| {
        let (tier, swap) = (step.tier, step.tier.swap());
        let tiers = if tier == swap { tier.to_string() } else { format!("{tier}, {swap}") };
        vec![format!("  {}", i + 1), tiers, grouped(step.positions), grouped(step.shards as u128)]
    }));
    format!(
        "{} with {} pieces: {} undecided positions in {} steps\n\n{}\n\
         At most {} of memory, about {} on disk\n",
        encoding.ruleset().name(),
        encoding.ruleset().pieces(),
        grouped(plan.positions),
        plan.steps.len(),
        columns(&rows),
        bytes(memory),
        bytes(disk),
    )
}
