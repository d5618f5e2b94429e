//! `ziggurat status`: how far a solve in a directory is, from what it wrote down last.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ziggurat_worker::{Progress, progress_of};

use crate::{
    failure::{Exit, Explain, Failure},
    output::{bytes, columns, duration, grouped, print, print_json},
    solving::holds_no_solve,
};

/// Print how far a solve in a directory is, whether it is running or not
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The directory of the solve
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let progress = progress_of(&args.dir)
        .context(format!("cannot read the progress of {}", args.dir.display()))
        .or_help("resume the solve: it writes it again")?;
    let Some(progress) = progress else {
        return Err(holds_no_solve(&args.dir));
    };
    if args.json {
        print_json(&progress)?
    } else {
        print(&text(&progress))?
    }
    Ok(Exit::Success)
}

fn text(progress: &Progress) -> String {
    let header = ["  step", "tiers", "positions", "shards", "supersteps", "residual", "proven"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(progress.steps.iter().enumerate().map(|(i, step)| {
        let (supersteps, residual) = step.statistics.map_or_else(Default::default, |made| {
            (made.supersteps.to_string(), format!("{:.1e}", made.residual))
        });
        let proven = step.statistics.and_then(|made| made.certificate);
        let proven = match proven {
            Some(certificate) => format!("{:.1e}", certificate.bound),
            None if step.solved => "solved".to_owned(),
            None => String::new(),
        };
        vec![
            format!("  {}", i + 1),
            step.tier.clone(),
            grouped(step.positions),
            grouped(step.shards as u128),
            supersteps,
            residual,
            proven,
        ]
    }));
    let solved = progress.steps.iter().filter(|step| step.solved).count();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format!(
        "{} of {} steps are solved, {} of {} positions\n\n{}\n\
         {} on disk, {:.2} bytes per value; {:.3} bytes written per byte of values\n\
         Written down {} ago by process {}, for {}\n",
        solved,
        progress.steps.len(),
        grouped(progress.positions_solved),
        grouped(progress.positions),
        columns(&rows),
        bytes(progress.disk_bytes),
        progress.bytes_per_value,
        progress.write_amplification,
        duration(now.as_secs().saturating_sub(progress.written) as f64),
        progress.process,
        progress.job.out.display(),
    )
}
