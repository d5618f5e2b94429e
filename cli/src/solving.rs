//! Solving from beginning to end: what is announced, the progress, the table and the report. `solve` and
//! `resume` share it.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use ziggurat_advice::{Advisor, Bound};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_kernel::{
    Arrays, Column, Event, Found, Part, Precision, Settings, Simd, SolveError, StepStore,
    StepStoreError, Summary, Surroundings, TierStatistics as Made, slow_rolls, solve,
};
use ziggurat_table::{AnyTable, Compression, Existing, ValueType};

use crate::{
    advice,
    failure::{Exit, Failure},
    format::Format,
    interrupt,
    needs::{Needs, memory},
    output::{bound, bytes, count, duration, game, note, percent, print, print_json, short, typed},
    program_name,
    progress::Progress,
    resources, showcase,
    writing::{Writing, WrittenDown, resume_with},
};

/// What rounding may come to, in steps between chances near 1, where supersteps have gone as far as they can.
const ROUNDING: f64 = 16.0;

/// Somebody who takes note of what becomes of a solve.
pub trait Witness: Sync {
    /// Something happened.
    fn sees(&self, event: &Event);

    /// A step was written down, which began at a moment.
    fn saved(&self, tier: Tier, since: Instant);

    /// A tier is solved.
    fn solved(&self, tier: Tier, made: &Made);

    /// It ended, with a failure if not all is well.
    fn ended(&self, failure: Option<&Failure>);
}

/// A store whose writes have a witness.
struct Witnessed<'a> {
    store: &'a dyn StepStore,
    witness: &'a dyn Witness,
}

impl StepStore for Witnessed<'_> {
    fn find(&self, step: Tier) -> Result<Found, StepStoreError> {
        self.store.find(step)
    }

    fn load(&self, step: Tier, parts: Vec<Part<'_>>) -> Result<(), StepStoreError> {
        self.store.load(step, parts)
    }

    fn handed_on(&self, step: Tier) -> Result<Option<f64>, StepStoreError> {
        self.store.handed_on(step)
    }

    fn is_due(&self, unwritten: Duration, last: Duration) -> bool {
        self.store.is_due(unwritten, last)
    }

    fn save(
        &self,
        step: Tier,
        found: &Found,
        parts: Vec<Part<'_>>,
        kept: &[Column],
    ) -> Result<(), StepStoreError> {
        let since = Instant::now();
        self.store.save(step, found, parts, kept)?;
        self.witness.saved(step, since);
        Ok(())
    }

    fn forget(&self, step: Tier, error: &StepStoreError) -> Result<(), StepStoreError> {
        self.store.forget(step, error)
    }
}

/// A solve about to begin, or to go on.
pub struct Solving<'a> {
    /// The ranking of the ruleset.
    pub encoding: &'a Encoding,
    /// How it is solved.
    pub settings: &'a Settings,
    /// The vector instructions.
    pub simd: Simd,
    /// What that takes.
    pub needs: &'a Needs,
    /// Where its arrays go.
    pub arrays: Arrays,
    /// The memory that the user allows it, in bytes.
    pub allowed: Option<u64>,
    /// Where it is written down.
    pub job: Option<&'a dyn WrittenDown>,
    /// Who takes note of it.
    pub witness: Option<&'a dyn Witness>,
    /// The table to write.
    pub out: &'a Path,
    /// Whether it may replace a file.
    pub existing: Existing,
    /// The type of its values.
    pub value_type: ValueType,
    /// How they are packed.
    pub compression: Compression,
    /// Whether machines read what is printed.
    pub json: bool,
}

/// Solves what has been [announced](announce), writes the table, and says what came of it.
///
/// # Errors
/// If anything goes wrong, or the values cannot be proven to be as good as asked for.
pub fn solve_and_report(solving: &Solving<'_>) -> Result<Exit, Failure> {
    let Solving { settings, out, json, .. } = *solving;
    let started = Instant::now();
    let solved = solve_into(solving);
    if let Some(witness) = solving.witness {
        witness.ended(solved.as_ref().err());
    }
    let (summary, swept) = solved?;
    let seconds = started.elapsed().as_secs_f64();
    let advisor = Advisor::open(out)?;
    let table = advisor.table();
    let told = if json {
        print_json(&result_json(table, &summary, solving, seconds)?)
    } else {
        print(&report(&advisor, &summary, solving, swept as f64 / seconds.max(1e-9), seconds)?)
    };
    told.map_err(|failure| although_complete(failure, out))?;
    check_proven("the table is complete", table_bound(&summary), settings)?;
    Ok(Exit::Success)
}

/// That a report cannot be written is no reason to write the file again that it is about.
pub fn although_complete(failure: Failure, file: &Path) -> Failure {
    let look = match Format::of_file(file) {
        Some(Format::Parquet) => String::new(),
        _ => format!("; look at it: {} table info {}", program_name(), typed(file)),
    };
    failure.help(format!("{} is complete{look}", file.display()))
}

/// Fails where less is `proven` than was asked for; `complete` says what there is nevertheless.
///
/// # Errors
/// If so.
pub fn check_proven(
    complete: &str,
    proven: Option<f64>,
    settings: &Settings,
) -> Result<(), Failure> {
    let &Settings { tolerance, certified, precision, .. } = settings;
    let (message, help) = match proven {
        _ if !certified => return Ok(()),
        Some(proven) if proven <= tolerance * (1.0 + 1e-9) => return Ok(()),
        Some(proven) => {
            let finer = match precision {
                Precision::F32 => ", or for --precision f64",
                Precision::F64 => "",
            };
            (
                format!("its values are proven to {} only, not to {tolerance:e}", bound(proven)),
                format!(
                    "rounding and the length of the game allow no less; ask for a larger --tolerance{finer}"
                ),
            )
        }
        None => (
            "nothing is proven of some of its values".to_owned(),
            "a proof needs a game that ends soon enough; look at the ruleset".to_owned(),
        ),
    };
    Err(Failure::of(Exit::Failed, format!("{complete}, but {message}")).help(help))
}

/// Refuses to write a table under the name of another format.
///
/// # Errors
/// If the name ends like that of another format.
pub fn check_name(out: &Path) -> Result<(), Failure> {
    match Format::of_file(out) {
        None | Some(Format::Zgt) => Ok(()),
        Some(format) => {
            let (ending, program) = (format.ending(), program_name());
            let (table, out) = (typed(&out.with_extension("zgt")), typed(out));
            Err(Failure::bad_input(format!("a solve writes a .zgt table, not a .{ending} file"))
                .help(format!("say --out {table}, then: {program} export {table} {out}")))
        }
    }
}

/// What is proven of all values; `None` if nothing is.
fn table_bound(summary: &Summary) -> Option<f64> {
    let bounds = summary.tiers.iter().map(|(_, made)| Some(made.certificate?.bound));
    bounds.reduce(|largest, bound| Some(largest?.max(bound?))).flatten()
}

/// The largest estimate of an error, which is no less than what rounding may come to: changes that have stopped say nothing of it.
/// In slow games the errors of all levels add up. `None` if nothing is known of the error.
fn estimate(summary: &Summary, solving: &Solving<'_>) -> Option<f64> {
    let epsilon = match solving.settings.precision {
        Precision::F32 => f64::from(f32::EPSILON),
        Precision::F64 => f64::EPSILON,
    };
    let mut of_level = BTreeMap::new();
    for (tier, made) in &summary.tiers {
        let estimate = of_level.entry(tier.level()).or_insert(0.0_f64);
        *estimate = estimate.max(made.error_estimate);
    }
    let estimates = of_level.into_values();
    let estimate = match slow_rolls(solving.encoding.ruleset()) {
        Some(_) => estimates.sum(),
        None => estimates.fold(0.0, f64::max),
    };
    Some(estimate.max(ROUNDING * epsilon)).filter(|&estimate| estimate < KNOWS_NOTHING)
}

/// The largest change of the last superstep of any step.
fn residual(summary: &Summary) -> f64 {
    summary.tiers.iter().map(|(_, made)| made.residual).fold(0.0, f64::max)
}

/// That a chance is estimated to be no further from the true one than this says nothing of it.
const KNOWS_NOTHING: f64 = 0.5;

/// Says what is going to happen and what it takes, before it begins, and before there is a job in the directory it is to be in.
///
/// # Errors
/// If that cannot be written.
pub fn announce(solving: &Solving<'_>, dir: Option<&Path>) -> Result<(), Failure> {
    let Solving { encoding, needs, arrays, out, json, .. } = *solving;
    let ruleset = encoding.ruleset();
    let available = resources::available_memory_bytes();
    let memory_bytes = needs.memory_in(arrays);
    let disk_bytes = dir.map_or(needs.table_bytes, |_| needs.disk(arrays).bytes());
    if json {
        return print_json(&json!({
            "event": "planned",
            "ruleset": ruleset.name(),
            "pieces": ruleset.pieces(),
            "positions": needs.plan.positions,
            "steps": needs.plan.steps.len(),
            "memory_bytes": memory_bytes,
            "memory_available_bytes": available,
            "arrays": if arrays.are_in_files() { "files" } else { "memory" },
            "disk_bytes": disk_bytes,
            "disk_free_bytes": resources::free_bytes(resources::directory_of(out)),
            "file": out.to_string_lossy(),
            "dir": dir.map(Path::to_string_lossy),
        }));
    }
    let memory = match (solving.allowed, available) {
        (Some(allowed), _) => format!(" of {} allowed", bytes(allowed)),
        (None, Some(available)) => format!(" of {} available", bytes(available)),
        (None, None) => String::new(),
    };
    note!(
        "Solving {}: {} in {}.\n\
         Memory: at most {}{memory}. Disk: about {}, for {}{}.",
        game(ruleset),
        count(needs.plan.positions, "undecided position"),
        count(needs.plan.steps.len() as u64, "step"),
        bytes(memory_bytes),
        bytes(disk_bytes),
        out.display(),
        dir.map_or(String::new(), |dir| format!(" and {}", dir.display())),
    );
    if arrays.are_in_files() {
        note!(
            "In memory alone it would take {}: what does not fit is in {} while it is swept.",
            bytes(needs.sparing_memory_bytes),
            dir.map_or_else(String::new, |dir| dir.display().to_string()),
        );
    }
    Ok(())
}

/// Solves into a table that gets its name when it is complete. Whatever goes wrong before leaves no
/// file behind but those of the job. Returns how many positions this process has swept, too.
fn solve_into(solving: &Solving<'_>) -> Result<(Summary, u64), Failure> {
    let Solving { encoding, settings, simd, needs, arrays, job, out, existing, .. } = *solving;
    let interrupted = interrupt::flag_on_interrupt()?;
    let (value_type, compression) = (solving.value_type, solving.compression);
    let mut writing = Writing::begin(encoding, out, existing, value_type, compression, job)?;
    let mut progress = Progress::new(&needs.plan, encoding.ruleset(), settings, solving.json);
    let scratch = job.map(WrittenDown::scratch).unwrap_or_default();
    let memory = memory(arrays, needs.threads, &scratch)?;
    let step_store = job.map(|job| job as &dyn StepStore);
    let witnessed = step_store.zip(solving.witness);
    let witnessed = witnessed.map(|(store, witness)| Witnessed { store, witness });
    let step_store = witnessed.as_ref().map(|store| store as &dyn StepStore).or(step_store);
    let mut swept = 0;
    let result = solve(
        encoding,
        settings,
        Surroundings { cancelled: interrupted, memory: &memory, simd, step_store },
        &mut |event| {
            if let Event::Superstep { swept_positions, .. } = event {
                swept = swept_positions;
            }
            if let Some(witness) = solving.witness {
                witness.sees(&event);
            }
            progress.tell(event);
        },
        &mut |tier, made, values| {
            if let Some(witness) = solving.witness {
                witness.solved(tier, &made);
            }
            writing.write_tier(tier, &made, values).map_err(Into::into)
        },
    );
    drop(progress); // clears the drawing
    for damage in job.map(WrittenDown::take_forgotten).unwrap_or_default() {
        note!("Damaged: {damage}");
    }
    let summary = match (result, job) {
        (Err(SolveError::Cancelled), Some(job)) => {
            let message = "interrupted; what was solved is written down";
            return Err(Failure::of(Exit::Interrupted, message)
                .help(format!("go on: {}", resume_with(job))));
        }
        (Err(SolveError::Cancelled), None) => {
            return Err(Failure::of(Exit::Interrupted, interrupt::INTERRUPTED));
        }
        (other, Some(job)) => {
            other.map_err(|error| Failure::from(error).and_help(go_on_with(job)))?
        }
        (other, None) => other?,
    };
    // Of steps that others have solved, too.
    let solved =
        solving.witness.into_iter().flat_map(|it| summary.tiers.iter().map(move |of| (it, of)));
    solved.for_each(|(witness, (tier, made))| witness.solved(*tier, made));
    writing.finish(out, existing).map_err(|failure| match job {
        Some(job) => failure.and_help(go_on_with(job)),
        None => failure,
    })?;
    Ok((summary, swept))
}

/// Whether a file is in a directory or in one of those in it.
fn is_within(file: &Path, directory: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path);
    matches!((real(file), real(directory)), (Ok(file), Ok(directory)) if file.starts_with(&directory))
}

/// What to do about what has stopped a job.
fn go_on_with(job: &dyn WrittenDown) -> String {
    format!("when that is put right, go on: {}", resume_with(job))
}

/// The end of a solve for a person: the chance, some positions, what to try next.
fn report(
    advisor: &Advisor,
    summary: &Summary,
    solving: &Solving<'_>,
    rate: f64,
    seconds: f64,
) -> Result<String, Failure> {
    let Solving { out, job, .. } = *solving;
    let table = advisor.table();
    let ruleset = table.ruleset();
    let size = fs::metadata(out).map_or(0, |file| file.len());
    let mut text = format!(
        "\nSolved {} in {}, sweeping {} positions per second{}.\n\n\
         The first player wins {}\n",
        game(ruleset),
        duration(seconds),
        short(rate),
        resources::peak_memory_bytes()
            .map_or(String::new(), |peak| format!(", peak memory {}", bytes(peak))),
        percent(
            summary.first_player_wins,
            table_bound(summary).unwrap_or_else(|| {
                estimate(summary, solving).unwrap_or(1.0).max(Bound::of(table).distance())
            }),
        ),
    );
    text += &match (table_bound(summary), table.certificate()) {
        (Some(proven), Some(stored)) if stored > proven => format!(
            "Proven: no chance in the table is further than {} from the true one ({} before rounding to {})\n",
            bound(stored),
            bound(proven),
            table.value_type(),
        ),
        (Some(proven), _) => {
            format!("Proven: no chance is further than {} from the true one\n", bound(proven))
        }
        (None, _) if solving.settings.certified => "Not proven\n".to_owned(),
        (None, _) => not_proven(summary, solving),
    };
    let decisions = showcase::decisions(advisor)?;
    if !decisions.is_empty() {
        text += "\nFrom a game between two perfect players:\n";
    }
    for decision in &decisions {
        text += &format!(
            "\n{}\n{}\n\n{}\n{}",
            decision.title,
            ruleset.format_position(&decision.position),
            ruleset.draw_position(&decision.position),
            advice::text(&decision.advice, advisor),
        );
    }
    let position = decisions.last().map(|last| &last.position);
    let position = position.map_or_else(|| "start".to_owned(), |at| ruleset.format_position(at));
    text += &format!(
        "\nThe table is in {} ({}). Try next:\n\n  {} best {} {position}\n",
        out.display(),
        bytes(size),
        program_name(),
        typed(out),
    );
    // Not if whoever removes it would remove the table with it.
    if let Some(job) = job.filter(|job| !is_within(out, job.dir())) {
        text += &format!("\n{} is no longer needed.\n", job.dir().display());
    }
    Ok(text)
}

/// What is said of values of which nothing is proven, and was not to be.
fn not_proven(summary: &Summary, solving: &Solving<'_>) -> String {
    let Solving { settings, encoding, .. } = *solving;
    let residual = format!(
        "The last supersteps changed no chance by more than {} (the residual, which is no error).",
        bound(residual(summary)),
    );
    let rolls = slow_rolls(encoding.ruleset());
    let slow = rolls.map_or_else(String::new, |rolls| {
        format!(" A piece needs some {} rolls to score.", short(rolls))
    });
    let Some(estimate) = estimate(summary, solving) else {
        return format!(
            "Not proven: how far chances are from the true ones is unknown\n{residual}{slow}\n"
        );
    };
    let why = match rolls {
        _ if estimate <= settings.tolerance => "",
        None => "; rounding allows no less",
        Some(_) => "; rounding and the length of the game allow no less",
    };
    format!(
        "Not proven: no chance is estimated to be further than {} from the true one{why}\n{residual}{slow}\n",
        bound(estimate),
    )
}

/// The end of a solve for machines.
fn result_json(
    table: &AnyTable,
    summary: &Summary,
    solving: &Solving<'_>,
    seconds: f64,
) -> Result<serde_json::Value, Failure> {
    let bound = table_bound(summary);
    let estimate = if bound.is_none() { estimate(summary, solving) } else { None };
    Ok(json!({
        "event": "solved",
        "ruleset": table.ruleset().name(),
        "pieces": table.ruleset().pieces(),
        "first_player_percent": summary.first_player_wins * 100.0,
        "certificate": bound,
        "residual": residual(summary),
        "error_estimate": estimate,
        "table_certificate": table.certificate(),
        "swept_positions": summary.swept_positions,
        "seconds": seconds,
        "peak_memory_bytes": resources::peak_memory_bytes(),
        "file": table.path().to_string_lossy(),
        "bytes": fs::metadata(table.path())?.len(),
        "tiers": summary.tiers.iter().map(|(tier, made)| json!({
            "tier": tier.to_string(), "supersteps": made.supersteps, "residual": made.residual,
            "certificate": made.certificate.map(|certificate| certificate.bound),
        })).collect::<Vec<_>>(),
    }))
}
