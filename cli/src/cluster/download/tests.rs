//! Tables of a job that pretenders have solved.

use std::{
    fs,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tempfile::TempDir;
use ziggurat_rpc::Security;
use ziggurat_table::{AnyTable, TableWriter, TierStatistics};

use super::*;
use crate::cluster::fake::{Cluster, JOB, Solved, Worker};

const HASTE: Patience =
    Patience { rounds: 3, pause: Duration::from_millis(20), silence: Duration::from_secs(5) };

/// A cluster whose job is solved, and the table as `solve` would have written it.
struct Setting {
    cluster: Cluster,
    solved: Arc<Solved>,
    directory: TempDir,
    table: Vec<u8>,
}

impl Setting {
    fn new() -> Self {
        let solved = Arc::new(Solved::finkel());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("solve.zgt");
        let (encoding, compression) = (&solved.encoding, Compression::default());
        let mut writer =
            TableWriter::create(&path, Existing::Keep, encoding, ValueType::F64, compression)
                .unwrap();
        for &(tier, made) in &solved.statistics {
            let statistics = TierStatistics {
                supersteps: made.supersteps,
                residual: Some(made.residual),
                certificate: made.certificate.map(|certificate| certificate.bound),
            };
            writer.write_tier(tier, statistics, &solved.values[&tier]).unwrap();
        }
        writer.finish().unwrap();
        let table = fs::read(&path).unwrap();
        Self { cluster: Cluster::start(), solved, directory, table }
    }

    /// As many workers, among whom the shards are shared out.
    fn workers(&self, count: usize) -> Vec<Arc<Worker>> {
        let workers: Vec<_> = (0..count).map(|_| Worker::new(&self.solved)).collect();
        let addresses: Vec<_> = workers.iter().map(|worker| self.cluster.add(worker)).collect();
        self.locate(&addresses, false);
        workers
    }

    fn locate(&self, addresses: &[String], stored: bool) {
        *self.cluster.coordinates.located.lock().unwrap() = self.solved.located(addresses, stored);
    }

    fn out(&self) -> PathBuf {
        self.directory.path().join("export.zgt")
    }

    fn export(&self, format: Format, stops: bool) -> Result<(), Failure> {
        self.export_verifying(Extent::Sample, format, stops)
    }

    fn export_verifying(&self, verify: Extent, format: Format, stops: bool) -> Result<(), Failure> {
        let coordinator = Coordinator::at(&self.cluster.address, Security::Open)?;
        let download = Download::locate(&coordinator, JOB)?;
        let wanted = Wanted {
            out: &self.out(),
            existing: Existing::Keep,
            format,
            value_type: download.value_type(),
            compression: Compression::default(),
            verify,
            json: true,
        };
        download.write_with(wanted, &stops.into(), HASTE)
    }

    /// The files there are beside the table of the solve.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.directory.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "solve.zgt").collect();
        names.sort();
        names
    }

    fn is_exported(&self) {
        assert_eq!(self.files(), ["export.zgt"]);
        assert!(fs::read(self.out()).unwrap() == self.table, "the tables differ");
    }
}

fn asked(workers: &[Arc<Worker>]) -> usize {
    workers.iter().map(|worker| worker.asked.load(Ordering::Relaxed) as usize).sum()
}

#[test]
fn the_table_of_a_job_has_the_bytes_of_that_of_a_solve() {
    let setting = Setting::new();
    let workers = setting.workers(3);
    setting.export(Format::Zgt, false).unwrap();
    setting.is_exported();
    assert_eq!(asked(&workers), setting.solved.ranges());
    assert!(workers.iter().all(|worker| worker.asked.load(Ordering::Relaxed) > 0));
}

#[test]
fn other_formats_are_those_of_the_table() {
    let setting = Setting::new();
    setting.workers(1);
    setting.export(Format::Rgu, false).unwrap();
    assert_eq!(setting.files(), ["export.zgt"]);
    let expected = setting.directory.path().join("expected.rgu");
    let table = AnyTable::open(&setting.directory.path().join("solve.zgt")).unwrap();
    table.export_rgu(&expected, Existing::Keep, ValueType::F64, &ziggurat_table::unheard).unwrap();
    assert!(fs::read(setting.out()).unwrap() == fs::read(expected).unwrap());
}

#[test]
fn what_was_fetched_before_an_interruption_is_not_fetched_again() {
    let setting = Setting::new();
    let workers = setting.workers(1);
    workers[0].willing.store(10, Ordering::Relaxed);
    let failure = setting.export(Format::Zgt, false).unwrap_err();
    assert_eq!(failure.exit, Exit::Failed);
    let report = failure.report();
    assert!(
        report.contains("worker worker-0 at 127.0.0.1:")
            && report.contains("about to end")
            && report.contains("help: start the workers"),
        "{report}"
    );
    assert_eq!(setting.files(), ["export.zgt.part"]);

    workers[0].willing.store(i64::MAX, Ordering::Relaxed);
    workers[0].asked.store(0, Ordering::Relaxed);
    setting.export(Format::Zgt, false).unwrap();
    setting.is_exported();
    assert!(setting.solved.ranges() > 30, "there are too few ranges for this test");
    assert!(asked(&workers) <= setting.solved.ranges() - 10 + AT_A_TIME);
    assert!(asked(&workers) >= setting.solved.ranges() - 10);
}

#[test]
fn who_wants_to_stop_is_told_what_is_kept() {
    let setting = Setting::new();
    setting.workers(1)[0].willing.store(5, Ordering::Relaxed);
    let failure = setting.export(Format::Zgt, true).unwrap_err();
    assert_eq!(failure.exit, Exit::Interrupted);
    assert!(failure.report().contains("export.zgt.part"), "{}", failure.report());
}

#[test]
fn a_connection_bears_any_number_of_fetches() {
    let setting = Setting::new();
    let workers = setting.workers(1);
    let coordinator = Coordinator::at(&setting.cluster.address, Security::Open).unwrap();
    let ranges = Download::locate(&coordinator, JOB).unwrap().ranges;
    let reported = Reported::default();
    let patience = Patience { rounds: 1, ..HASTE };
    let fetcher = Fetcher::new(&coordinator, JOB, (&ranges, &reported), patience);
    let range = &ranges.all()[0];
    coordinator.runtime().block_on(async {
        // HTTP/2 has a connection end after 1024 streams that were reset.
        for _ in 0..1200 {
            fetcher.fetch(range).await.unwrap();
        }
    });
    assert_eq!(asked(&workers), 1200);
}

#[test]
fn a_damaged_range_is_fetched_again() {
    let setting = Setting::new();
    let workers = setting.workers(1);
    workers[0].lying.store(2, Ordering::Relaxed);
    setting.export(Format::Zgt, false).unwrap();
    setting.is_exported();
    assert_eq!(asked(&workers), setting.solved.ranges() + 2);
}

#[test]
fn a_range_that_stays_damaged_is_refused() {
    let setting = Setting::new();
    setting.workers(1)[0].lying.store(i64::MAX, Ordering::Relaxed);
    let report = setting.export(Format::Zgt, false).unwrap_err().report();
    assert!(report.contains("does not match its checksum"), "{report}");
    assert_eq!(setting.files(), ["export.zgt.part"]);
}

#[test]
fn values_that_nobody_computed_are_no_table_and_their_worker_is_named() {
    let setting = Setting::new();
    let workers = setting.workers(3);
    workers[1].pretending.store(true, Ordering::Relaxed);
    for verify in [Extent::Sample, Extent::All] {
        let failure = setting.export_verifying(verify, Format::Zgt, false).unwrap_err();
        assert_eq!(failure.exit, Exit::Failed);
        let report = failure.report();
        assert!(
            report.contains("values are wrong") && report.contains("worker worker-1"),
            "{report}"
        );
        // The same command has to fetch them anew.
        assert_eq!(setting.files(), [""; 0]);
    }
    setting.export_verifying(Extent::None, Format::Zgt, false).unwrap();
    assert_eq!(setting.files(), ["export.zgt"]);
    fs::remove_file(setting.out()).unwrap();
    workers[1].pretending.store(false, Ordering::Relaxed);
    setting.export_verifying(Extent::All, Format::Zgt, false).unwrap();
    setting.is_exported();
}

#[test]
fn values_that_are_not_those_that_were_reported_are_refused() {
    let setting = Setting::new();
    let workers = setting.workers(2);
    *setting.cluster.coordinates.checksums.lock().unwrap() = setting.solved.checksums();
    workers[1].pretending.store(true, Ordering::Relaxed);
    let failure = setting.export_verifying(Extent::None, Format::Zgt, false).unwrap_err();
    assert_eq!(failure.exit, Exit::Failed);
    let report = failure.report();
    assert!(report.contains("worker worker-1") && report.contains("not those"), "{report}");
    workers[1].pretending.store(false, Ordering::Relaxed);
    setting.export(Format::Zgt, false).unwrap();
    setting.is_exported();
}

#[test]
fn what_is_in_the_checkpoint_store_can_be_had_from_others() {
    let setting = Setting::new();
    let worker = Worker::new(&setting.solved);
    let nobody = "127.0.0.1:1".to_owned();
    setting.locate(&[setting.cluster.add(&worker), nobody], true);
    setting.export(Format::Zgt, false).unwrap();
    setting.is_exported();
}

#[test]
fn a_part_file_that_was_damaged_is_mended() {
    let setting = Setting::new();
    let workers = setting.workers(1);
    workers[0].willing.store(10, Ordering::Relaxed);
    setting.export(Format::Zgt, false).unwrap_err();
    let part = setting.directory.path().join("export.zgt.part");
    let mut bytes = fs::read(&part).unwrap();
    let first = bytes.len() - setting.solved.encoding.undecided() as usize * 8;
    bytes[first] ^= 1;
    fs::write(&part, bytes).unwrap();
    workers[0].willing.store(i64::MAX, Ordering::Relaxed);
    setting.export(Format::Zgt, false).unwrap();
    setting.is_exported();
}

#[test]
fn the_part_file_of_another_table_is_left_alone() {
    let setting = Setting::new();
    setting.workers(1);
    let part = setting.directory.path().join("export.zgt.part");
    fs::write(&part, b"something else entirely").unwrap();
    let failure = setting.export(Format::Zgt, false).unwrap_err();
    assert_eq!(failure.exit, Exit::BadInput);
    assert!(failure.report().contains("is not part of this table"), "{}", failure.report());
    assert_eq!(fs::read(&part).unwrap(), b"something else entirely");
}

#[test]
fn a_job_that_is_not_there_is_bad_input() {
    let cluster = Cluster::start();
    let coordinator = Coordinator::at(&cluster.address, Security::Open).unwrap();
    let failure = Download::locate(&coordinator, JOB + 1).map(drop).unwrap_err();
    assert_eq!(failure.exit, Exit::BadInput);
    assert!(failure.report().starts_with("error: there is no job 4\nhelp: "));
}
