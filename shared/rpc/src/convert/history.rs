//! Histories of jobs. What a coordinator tells of one is for people: what cannot be in it is left out.

use ziggurat_history::{Curve, Event, Events, History, Kind, Series, Spent, Work, Worked};

use crate::proto::{HistoryReply, JobEvent, Points, StepCurve, WorkerTime};

impl From<&History> for HistoryReply {
    fn from(history: &History) -> Self {
        let History { events, steps, work, planned_memory_bytes } = history;
        let curve = |(step, curve): (&String, &Curve)| StepCurve {
            step: step.clone(),
            f32: Some((&curve.f32).into()),
            f64: Some((&curve.f64).into()),
            proof: Some((&curve.proof).into()),
        };
        let worker = |(name, worked): (&String, &Worked)| {
            let slices = |of: fn(&Spent) -> f32| worked.slices.iter().map(of).collect();
            WorkerTime {
                name: name.clone(),
                memory_bytes: worked.memory_bytes,
                peak_resident_bytes: worked.peak_resident_bytes,
                sweeping: slices(|spent| spent.sweeping),
                waiting: slices(|spent| spent.waiting),
                exchanging: slices(|spent| spent.exchanging),
                saving: slices(|spent| spent.saving),
                positions: slices(|spent| spent.positions),
                bytes: slices(|spent| spent.bytes),
            }
        };
        Self {
            events: events.iter().cloned().map(Into::into).collect(),
            event_count: events.count(),
            steps: steps.iter().map(curve).collect(),
            begin: work.begin,
            width: work.width,
            workers: work.workers.iter().map(worker).collect(),
            planned_memory_bytes: *planned_memory_bytes,
        }
    }
}

impl From<HistoryReply> for History {
    fn from(reply: HistoryReply) -> Self {
        let events = reply.events.into_iter().filter_map(event);
        let curve = |StepCurve { step, f32, f64, proof }: StepCurve| {
            let series = |points: Option<Points>| Series::from(points.unwrap_or_default());
            (step, Curve { f32: series(f32), f64: series(f64), proof: series(proof) })
        };
        let worker = |mut time: WorkerTime| {
            let slice = |i: usize| {
                let of = |numbers: &Vec<f32>| numbers.get(i).copied().unwrap_or(0.0);
                Spent {
                    sweeping: of(&time.sweeping),
                    waiting: of(&time.waiting),
                    exchanging: of(&time.exchanging),
                    saving: of(&time.saving),
                    positions: of(&time.positions),
                    bytes: of(&time.bytes),
                }
            };
            let worked = Worked {
                memory_bytes: time.memory_bytes,
                peak_resident_bytes: time.peak_resident_bytes,
                slices: (0..time.sweeping.len()).map(slice).collect(),
            };
            (std::mem::take(&mut time.name), worked)
        };
        Self {
            events: Events::from_parts(reply.event_count, events),
            steps: reply.steps.into_iter().map(curve).collect(),
            work: Work {
                begin: reply.begin,
                width: reply.width,
                workers: reply.workers.into_iter().map(worker).collect(),
            },
            planned_memory_bytes: reply.planned_memory_bytes,
        }
    }
}

impl From<Event> for JobEvent {
    fn from(event: Event) -> Self {
        let Event { number, at, kind, text, step, attempt, epoch, worker, by } = event;
        let [step, worker, by] = [step, worker, by].map(Option::unwrap_or_default);
        Self { number, at, kind: kind.name().to_owned(), text, step, attempt, epoch, worker, by }
    }
}

/// An event; `None` for one of a kind that this program does not know.
fn event(event: JobEvent) -> Option<Event> {
    let JobEvent { number, at, kind, text, step, attempt, epoch, worker, by } = event;
    let [step, worker, by] = [step, worker, by].map(|text| Some(text).filter(|t| !t.is_empty()));
    let kind = Kind::named(&kind)?;
    Some(Event { number, at, kind, text, step, attempt, epoch, worker, by })
}

impl From<&Series> for Points {
    fn from(series: &Series) -> Self {
        let (number, value) = series.points().iter().copied().unzip();
        Self { number, value }
    }
}

impl From<Points> for Series {
    fn from(points: Points) -> Self {
        Self::from_points(points.number.into_iter().zip(points.value))
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_history::Phase;

    use super::*;

    #[test]
    fn a_history_is_the_same_on_the_other_side() {
        let mut history = History { planned_memory_bytes: 7, ..History::default() };
        let event = Event::new(1.5, Kind::Cancelled, "job 1 cancelled");
        history.tell(Event { by: Some("127.0.0.1".to_owned()), ..event });
        let event = Event::new(2.5, Kind::Failure, "worker one failed");
        let (step, worker) = (Some("5-4".to_owned()), Some("one".to_owned()));
        history.tell(Event { step, worker, attempt: 3, epoch: 2, ..event });
        for superstep in 1..=500 {
            let phase = if superstep < 300 { Phase::F32 } else { Phase::F64 };
            history.superstep("5-4", phase, superstep, 0.9_f64.powi(superstep as i32));
        }
        history.interval_sweep("5-4", 1, 1e-12);
        let spent = Spent { sweeping: 2.0, positions: 9.0, ..Spent::default() };
        history.spend("one", 2.0, 5.0, spent);
        history.work.resides("one", 7, 9);
        let told = HistoryReply::from(&history);
        assert_eq!(History::from(told.clone()), history);
        let mut newer = told;
        newer.events[0].kind = "something new".to_owned();
        assert_eq!(History::from(newer).events.iter().count(), 1);
    }
}
