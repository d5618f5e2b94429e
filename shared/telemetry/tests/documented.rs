//! `docs/METRICS.md` and what is exported name the same metrics, of the same types, with the same labels.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use prometheus_client::encoding::text;
use ziggurat_telemetry::{
    CoordinatorMetrics, ExplorerMetrics, FailureKind, JobState, Registry, Route, WorkerMetrics,
};

const PAGE: &str = include_str!("../../../docs/METRICS.md");
const STEP: (u64, (u8, u8)) = (17, (5, 4));

/// A metric's type and labels.
type Metric = (String, BTreeSet<String>);

/// Gives every metric something to export. A metric that is added must be added here, or this does not
/// compile.
fn fill_coordinator(metrics: &CoordinatorMetrics) {
    let CoordinatorMetrics {
        residual,
        supersteps,
        interval_sweeps,
        swept_positions,
        halo_positions,
        exchanged_positions,
        exchanged,
        jobs,
        orders_waiting,
        workers_connected,
        lease_age,
        worker_memory_resident,
        worker_memory_budget,
        worker_disk_free,
        checkpoint_age,
        build_info: _, // is always there
        checkpoint,
        certificate_expiry,
        failures,
    } = metrics;
    residual.of(STEP).set(1e-9);
    supersteps.of(STEP).inc();
    interval_sweeps.of(STEP).inc();
    swept_positions.of(STEP.0).inc();
    halo_positions.of(STEP).set(1);
    exchanged_positions.of(STEP.0).inc();
    exchanged.of(STEP.0).inc();
    jobs.of(JobState::Running).set(1);
    orders_waiting.set(1);
    workers_connected.set(1);
    lease_age.of("here").renew();
    worker_memory_resident.of("here").set(1);
    worker_memory_budget.of("here").set(1);
    worker_disk_free.of("here").set(1);
    checkpoint_age.of(STEP.0).set(1.5);
    checkpoint.observe(1.0);
    certificate_expiry.of(Path::new("north.pem")).set(1);
    failures.of(FailureKind::Damage).inc();
}

fn fill_worker(metrics: &WorkerMetrics) {
    let WorkerMetrics {
        residual,
        supersteps,
        interval_sweeps,
        swept_positions,
        halo_positions,
        sent_positions,
        sent,
        received,
        barrier_wait,
        exchanging,
        disk_free,
        build_info: _, // is always there
        orders_waiting,
        halo_parts_to_send,
        halo_parts_to_apply,
        connected,
        lease_age,
        memory_resident,
        memory_budget,
        store_read,
        store_written,
        checkpoint_store_read,
        checkpoint_store_written,
        save,
        certificate_expiry,
        failures,
    } = metrics;
    residual.of(STEP).set(1e-9);
    for counter in [supersteps, interval_sweeps, swept_positions] {
        counter.of(STEP).inc();
    }
    halo_positions.of(STEP).set(1);
    for counter in [sent_positions, sent, received] {
        counter.of(STEP.0).inc();
    }
    for counter in [barrier_wait, exchanging] {
        counter.of(STEP.0).inc_by(1.5);
    }
    for gauge in [orders_waiting, halo_parts_to_send, halo_parts_to_apply, connected] {
        gauge.set(1);
    }
    lease_age.renew();
    for gauge in [memory_resident, memory_budget, disk_free] {
        gauge.set(1);
    }
    for counter in [store_read, store_written, checkpoint_store_read, checkpoint_store_written] {
        counter.inc();
    }
    save.observe(1.0);
    certificate_expiry.of(Path::new("north.pem")).set(1);
    failures.of(FailureKind::Damage).inc();
}

fn fill_explorer(metrics: &ExplorerMetrics) {
    let ExplorerMetrics { requests, request, positions } = metrics;
    for route in Route::ALL {
        requests.of((route, 200)).inc();
    }
    request.observe(0.001);
    positions.inc();
}

fn exported(registry: &Registry) -> String {
    let mut page = String::new();
    text::encode(&mut page, registry).unwrap();
    page
}

/// All services' metrics, each with something in it.
fn all() -> String {
    let mut registry = Registry::default();
    fill_coordinator(&CoordinatorMetrics::new(&mut registry));
    fill_worker(&WorkerMetrics::new(&mut registry));
    fill_explorer(&ExplorerMetrics::new(&mut registry));
    exported(&registry)
}

/// The metrics of an OpenMetrics text, under the names that samples have.
fn metrics_of(page: &str) -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::new();
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    for (name, kind) in types.map(|line| line.split_once(' ').unwrap()) {
        let name = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
        // A histogram's buckets have a label of their own, which its sum has not.
        let sample = if kind == "histogram" { format!("{name}_sum") } else { name.clone() };
        let labels = page
            .lines()
            .find_map(|line| {
                let rest = line.strip_prefix(&sample)?;
                match rest.as_bytes()[0] {
                    b' ' => Some(BTreeSet::new()),
                    b'{' => Some(
                        rest[1..rest.find('}')?]
                            .split(',')
                            .map(|label| label.split_once('=').unwrap().0.to_owned())
                            .collect(),
                    ),
                    _ => None,
                }
            })
            .unwrap_or_else(|| panic!("{name} has nothing to export"));
        metrics.insert(name, (kind.to_owned(), labels));
    }
    metrics
}

/// The metrics of the page's tables: name, type, labels, meaning.
fn documented() -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `ziggurat_")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let ["", name, kind, labels, meaning, ""] = cells[..] else { panic!("{line}") };
        assert!(!meaning.is_empty(), "{line}");
        let labels = labels.split(',').map(|label| label.trim().trim_matches('`'));
        let labels = labels.filter(|label| !label.is_empty()).map(str::to_owned).collect();
        let name = name.trim_matches('`').to_owned();
        assert_eq!(metrics.insert(name, (kind.to_owned(), labels)), None, "twice: {line}");
    }
    metrics
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_is_exported() {
    let (documented, exported) = (documented(), metrics_of(&all()));
    let names = |metrics: &BTreeMap<_, _>| metrics.keys().cloned().collect::<BTreeSet<String>>();
    assert_eq!(names(&documented), names(&exported));
    assert_eq!(documented, exported);
}

#[test]
fn every_value_of_a_label_is_documented() {
    let page = all();
    let values = page.lines().filter_map(|line| {
        let labels = ["{state=\"", "{kind=\"", "{route=\""];
        let (_, rest) = labels.iter().find_map(|label| line.split_once(label))?;
        Some(rest.split_once('"').unwrap().0)
    });
    let values: BTreeSet<_> = values.collect();
    assert_eq!(
        values.len(),
        JobState::ALL.len() + FailureKind::ALL.len() - 1 + Route::ALL.len(),
        "{values:?}"
    );
    for value in values {
        assert!(PAGE.contains(&format!("`{value}`")), "{value}");
    }
}

#[test]
fn a_job_that_ended_leaves_nothing() {
    let mut registry = Registry::default();
    let coordinator = CoordinatorMetrics::new(&mut registry);
    let worker = WorkerMetrics::new(&mut registry);
    fill_coordinator(&coordinator);
    fill_worker(&worker);
    let (other, step) = (STEP.0 + 1, (5, 4));
    coordinator.supersteps.of((other, step)).inc();

    assert!(exported(&registry).contains("job=\"17\""));
    coordinator.forget_job(STEP.0);
    worker.forget_jobs(|job| job == STEP.0);
    let page = exported(&registry);
    assert!(!page.contains("job=\"17\""), "{page}");
    let kept = "ziggurat_coordinator_supersteps_total{job=\"18\",step=\"5-4\"} 1\n";
    assert!(page.contains(kept), "{page}");

    // It begins anew.
    coordinator.supersteps.of(STEP).inc();
    assert!(exported(&registry).contains("{job=\"17\",step=\"5-4\"} 1\n"));
}

#[test]
fn a_worker_that_left_leaves_nothing() {
    let mut registry = Registry::default();
    let metrics = CoordinatorMetrics::new(&mut registry);
    fill_coordinator(&metrics);
    metrics.lease_age.of("there").renew();
    metrics.forget_worker("here");
    let page = exported(&registry);
    assert!(!page.contains("worker=\"here\""), "{page}");
    assert!(page.contains("lease_age_seconds{worker=\"there\"} "), "{page}");
}

#[test]
fn names_cannot_break_out_of_their_quotes() {
    let mut registry = Registry::default();
    let metrics = CoordinatorMetrics::new(&mut registry);
    metrics.worker_memory_budget.of("a\"} 1\n\\b").set(2);
    let page = exported(&registry);
    assert!(page.contains("{worker=\"a\\\"} 1\\n\\\\b\"} 2\n"), "{page}");
}

#[test]
fn a_counter_is_raised_to_totals_and_never_falls() {
    let mut registry = Registry::default();
    let metrics = WorkerMetrics::new(&mut registry);
    for (total, expected) in [(5, 5), (9, 9), (7, 9)] {
        ziggurat_telemetry::raise(&metrics.store_read, total);
        assert_eq!(metrics.store_read.get(), expected);
    }
}
