//! How much faster a solve is on more cores and machines: the [model](ziggurat_planning::model) as text and JSON.

use std::time::Duration;

use serde_json::{Value, json};
use ziggurat_encoding::Encoding;
use ziggurat_kernel::{Settings, base_memory_bytes, plan, thread_count};
use ziggurat_planning::model::{Link, Prediction, SAMPLES, SolveModel, Team};

use crate::{
    job::threads,
    output::{bytes, columns, count, duration},
    resources,
};

/// A worker is worth having while it adds so much of the speed of one alone.
const GAIN: f64 = 0.25;

/// The most workers that are looked at.
const MOST_WORKERS: usize = 1024;

/// The machines a solve would have.
#[derive(clap::Args, Debug)]
pub struct ScaleArgs {
    /// Cores of the machine, or of each worker: print how much faster they are than one; 0 is as many as there are here
    #[arg(long, value_name = "N", value_parser = threads())]
    cores: Option<usize>,

    /// Workers of a cluster, 1 to 1024: print what they give, send and need
    #[arg(long, value_name = "N", value_parser = workers())]
    workers: Option<usize>,

    /// What each worker sends, and receives, in a second
    #[arg(
        long, value_name = "RATE", default_value = "10Gbit", requires = "workers",
        value_parser = resources::parse_bandwidth
    )]
    bandwidth: f64,

    /// How long a message takes from one worker to another and back
    #[arg(
        long, value_name = "TIME", default_value = "200us", requires = "workers",
        value_parser = resources::parse_duration
    )]
    latency: Duration,

    /// Nanoseconds of a position in a superstep on one core, as `bench` prints them [default: 13.7]
    #[arg(long, value_name = "NS", value_parser = parse_nanoseconds)]
    superstep_nanoseconds: Option<f64>,
}

fn workers() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=MOST_WORKERS as u64)
}

fn parse_nanoseconds(text: &str) -> Result<f64, String> {
    let nanoseconds = text.parse().ok().filter(|ns| (0.01..=1e6).contains(ns));
    nanoseconds.ok_or_else(|| format!("`{text}` is not a number of nanoseconds such as 13.7"))
}

impl ScaleArgs {
    /// What the model says, if it was asked.
    pub fn scale(&self, encoding: &Encoding, settings: &Settings) -> Option<Scale> {
        if self.cores.is_none() && self.workers.is_none() {
            return None;
        }
        let cores = thread_count(self.cores.unwrap_or(0));
        let samples = if self.workers.is_some() { SAMPLES } else { 0 };
        let mut model = SolveModel::new(encoding, settings, samples);
        if let Some(nanoseconds) = self.superstep_nanoseconds {
            model.costs = model.costs.with_superstep_nanoseconds(nanoseconds);
        }
        let link = Link {
            bytes_per_second: self.bandwidth,
            round_trip_seconds: self.latency.as_secs_f64(),
        };
        let one_core = model.predict(&Team::alone(1));
        let of_cores = up_to(cores).map(|cores| (cores, model.predict(&Team::alone(cores))));
        let of_cores = of_cores.collect();
        let workers = self.workers.map(|workers| {
            let team = |members| Team { members, cores, link };
            let settings = Settings { threads: cores, ..settings.clone() };
            Workers {
                by_count: up_to(workers).map(|n| (n, model.predict(&team(n)))).collect(),
                worth_having: model.worth_having(&team(1), MOST_WORKERS, GAIN),
                fixed_bytes: plan(encoding, &settings).memory.scratch_bytes
                    + base_memory_bytes(cores),
                link,
            }
        });
        Some(Scale { one_core, cores, of_cores, workers })
    }
}

/// 1, 2, 4 and so on, and the last.
fn up_to(last: usize) -> impl Iterator<Item = usize> {
    let powers = (0..).map(|power| 1 << power).take_while(move |&number| number < last);
    powers.chain([last])
}

/// What cores and workers give.
pub struct Scale {
    one_core: Prediction,
    cores: usize,
    of_cores: Vec<(usize, Prediction)>,
    workers: Option<Workers>,
}

/// What workers give.
struct Workers {
    by_count: Vec<(usize, Prediction)>,
    worth_having: usize,
    /// Memory of a worker beside its arrays.
    fixed_bytes: u64,
    link: Link,
}

/// How many times as fast as one core: supersteps, proofs (if there are any), all.
struct SpeedUp {
    supersteps: f64,
    proofs: Option<f64>,
    all: f64,
}

impl Scale {
    fn speed_up(&self, of: &Prediction) -> SpeedUp {
        let one = &self.one_core;
        SpeedUp {
            supersteps: one.supersteps / of.supersteps,
            proofs: (one.proofs > 0.0).then(|| one.proofs / of.proofs),
            all: one.seconds() / of.seconds(),
        }
    }

    fn cells(&self, of: &Prediction, cores: usize) -> Vec<String> {
        let SpeedUp { supersteps, proofs, all } = self.speed_up(of);
        let proofs = proofs.map_or_else(|| "-".to_owned(), |proofs| format!("{proofs:.1}"));
        let efficiency = format!("{:.0} %", 100.0 * all / cores as f64);
        vec![format!("{supersteps:.1}"), proofs, format!("{all:.1}"), efficiency]
    }

    /// For a person.
    pub fn text(&self) -> String {
        let header = ["supersteps", "proofs", "together", "efficiency"].map(str::to_owned);
        let mut rows = vec![[vec!["  faster than one core".to_owned()], header.to_vec()].concat()];
        for (cores, predicted) in &self.of_cores {
            let name = format!("  {}", count(*cores as u64, "core"));
            rows.push([vec![name], self.cells(predicted, *cores)].concat());
        }
        let mut text = format!("\n{}", columns(&rows));
        let Some(workers) = &self.workers else { return text };
        rows.truncate(1);
        rows[0].extend(["sent", "memory", "disk"].map(str::to_owned));
        for (number, predicted) in &workers.by_count {
            let name = format!("  {}", count(*number as u64, "worker"));
            let cells = self.cells(predicted, number * self.cores);
            let needs = [
                predicted.superstep_bytes / *number as f64,
                workers.memory_bytes(predicted),
                predicted.disk_bytes,
            ];
            rows.push([vec![name], cells, needs.map(|need| bytes(need as u64)).to_vec()].concat());
        }
        text += &format!(
            "\nWorkers of {} each, {:.3} Gbit/s, {:.3} ms there and back\n{}",
            count(self.cores as u64, "core"),
            workers.link.bytes_per_second * 8e-9,
            workers.link.round_trip_seconds * 1e3,
            columns(&rows),
        );
        let (number, last) = workers.by_count.last().expect("there is a worker");
        text += "\nsent: by a worker in a superstep of the largest step; memory, disk: of a worker, without the table\n";
        text += "Halos are counted at the least, so more is sent, memory is larger and teams are slower\n";
        if last.halo_per_position > 0.0 {
            text += &format!(
                "With {number} a position is sent to {:.1} others on average, or more; a checkpoint takes {}\n",
                last.halo_per_position,
                duration(last.checkpoint),
            );
        }
        text + &match workers.worth_having {
            MOST_WORKERS => format!("{MOST_WORKERS} workers are worth having, or more\n"),
            worth => format!(
                "{} worth having: one more adds less than {} % of the speed of one alone\n",
                if worth == 1 { "1 worker is".to_owned() } else { format!("{worth} workers are") },
                100.0 * GAIN,
            ),
        }
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let speeds = |of: &Prediction, cores: usize| {
            let SpeedUp { supersteps, proofs, all } = self.speed_up(of);
            json!({
                "supersteps": supersteps, "proofs": proofs, "together": all,
                "efficiency": all / cores as f64,
            })
        };
        let by_cores = self.of_cores.iter().map(
            |(cores, predicted)| json!({ "cores": cores, "speed_up": speeds(predicted, *cores) }),
        );
        let by_cores: Vec<_> = by_cores.collect();
        let workers = self.workers.as_ref().map(|workers| {
            let by_count = workers.by_count.iter().map(|(number, predicted)| {
                json!({
                    "workers": number,
                    "speed_up": speeds(predicted, number * self.cores),
                    "superstep_bytes": predicted.superstep_bytes / *number as f64,
                    "halo_per_position": predicted.halo_per_position,
                    "checkpoint_seconds": predicted.checkpoint,
                    "memory_bytes": workers.memory_bytes(predicted) as u64,
                    "disk_bytes": predicted.disk_bytes as u64,
                })
            });
            json!({
                "cores": self.cores,
                "bytes_per_second": workers.link.bytes_per_second,
                "round_trip_seconds": workers.link.round_trip_seconds,
                "worth_having": workers.worth_having,
                "gain": GAIN,
                "by_workers": by_count.collect::<Vec<_>>(),
            })
        });
        json!({ "by_cores": by_cores, "cluster": workers })
    }
}

impl Workers {
    fn memory_bytes(&self, predicted: &Prediction) -> f64 {
        predicted.array_bytes + self.fixed_bytes as f64
    }
}
