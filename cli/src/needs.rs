//! What a solve needs of memory and disk, and where its arrays go: in memory if they fit what it may
//! take, else in files in the directory of the job.

use std::path::Path;

use ziggurat_encoding::Encoding;
use ziggurat_files::Limit;
use ziggurat_kernel::{
    Arrays, Batch, CycleSlot, Memory, Plan, Precision, Settings, Step, VECTORS, base_memory_bytes,
    plan,
};
use ziggurat_table::{Compression, ValueType};

use crate::{
    failure::{Explain, Failure},
    output::{bytes, game},
    resources,
};

/// The type of values that keeps all digits of a precision.
pub fn value_type_of(precision: Precision) -> ValueType {
    match precision {
        Precision::F32 => ValueType::F32,
        Precision::F64 => ValueType::F64,
    }
}

/// Bytes of a position, compressed, in hundredths: as measured on solved games, rounded up.
fn compressed_hundredths(stored: ValueType) -> u128 {
    match stored {
        ValueType::Percent16 => 200,
        ValueType::F32 => 350,
        ValueType::F64 => 720,
    }
}

/// Disk for what a job writes down besides values.
const STORE_BYTES: u64 = 4 << 20;

/// What a file of the store takes besides what is in it, with the rest of its last block.
const FILE_BYTES: u128 = 8 << 10;

/// A shard has a range for each orientation, and each column of it is a file. Of two checkpoints these are the columns: values
/// and quanta in both, and the vectors.
const FILES_OF_SHARD: u128 = 2 * (2 + 2 + VECTORS_OF_TWO);

/// Vectors of changes in two checkpoints that follow each other, of which one is light.
const VECTORS_OF_TWO: u128 = (VECTORS - 1 + CycleSlot::FIRST.vector()) as u128;

/// What a solve needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Needs {
    /// The work, as a sentence begins.
    what: String,
    /// Its steps.
    pub plan: Plan,
    /// Threads it runs on.
    pub threads: usize,
    /// Memory, with all its arrays there and the tables that only save time.
    pub memory_bytes: u64,
    /// Memory, with all its arrays and nothing besides.
    pub sparing_memory_bytes: u64,
    /// The least memory: with arrays in files, unless they take less than what is mapped of files.
    pub least_memory_bytes: u64,
    /// Disk for the table.
    pub table_bytes: u64,
    /// Disk in the directory of a job, with arrays in files, while each batch of steps is solved.
    in_directory: Vec<Disk>,
}

/// Disk that a solve takes at a moment, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Disk {
    /// For the table so far.
    pub table_bytes: u64,
    /// For what a job writes down.
    pub store_bytes: u64,
    /// For arrays in files.
    pub scratch_bytes: u64,
}

impl Disk {
    /// All of it.
    pub fn bytes(self) -> u64 {
        self.table_bytes.saturating_add(self.store_bytes).saturating_add(self.scratch_bytes)
    }
}

impl Needs {
    /// What solving `encoding`'s ruleset takes.
    pub fn of(
        encoding: &Encoding,
        settings: &Settings,
        value_type: ValueType,
        compression: Compression,
    ) -> Self {
        let plan = plan(encoding, settings);
        let threads = settings.thread_count();
        let base = base_memory_bytes(threads);
        let ruleset = encoding.ruleset();
        let table_bytes = table_bytes(encoding, value_type, compression);
        let in_directory = in_directory(&plan, settings.precision, table_bytes);
        Self {
            what: format!("solving {}", game(ruleset)),
            threads,
            memory_bytes: plan.memory.peak_bytes + base,
            sparing_memory_bytes: plan.memory.sparing_bytes + base,
            least_memory_bytes: plan.memory.least_bytes(base),
            table_bytes,
            in_directory,
            plan,
        }
    }

    /// The most memory that it takes then.
    pub fn memory_in(&self, arrays: Arrays) -> u64 {
        match arrays {
            Arrays::InMemory => self.memory_bytes,
            Arrays::Sparing | Arrays::ByPage => self.sparing_memory_bytes,
            Arrays::InFiles { budget } => budget,
        }
    }

    /// Disk for a solve with a directory, when it takes most.
    pub fn disk(&self, arrays: Arrays) -> Disk {
        let in_files = arrays.are_in_files();
        let moments = self.in_directory.iter().map(|&disk| Disk {
            scratch_bytes: if in_files { disk.scratch_bytes } else { 0 },
            ..disk
        });
        moments.max_by_key(|disk| disk.bytes()).unwrap_or_default()
    }

    /// Where the arrays go if the process may take `budget` bytes of memory (all there is, unless it is given), of which
    /// so many are `available` (as many as it may take, where nothing says), and the job has a directory or not.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn arrange(
        &self,
        budget: Option<u64>,
        available: Option<u64>,
        has_directory: bool,
    ) -> Result<Arrays, Failure> {
        let Some(allowed) = [budget, available].into_iter().flatten().min() else {
            return Ok(Arrays::InMemory);
        };
        if self.memory_bytes <= allowed {
            return Ok(Arrays::InMemory);
        }
        if self.sparing_memory_bytes <= allowed {
            return Ok(Arrays::Sparing);
        }
        let is_allowed = budget == Some(allowed);
        let refuse = |needed: u64| {
            let limit = if is_allowed {
                format!("--memory allows {}", bytes(allowed))
            } else {
                format!("{} is available", bytes(allowed))
            };
            Failure::refused(format!("{} takes {} of memory; {limit}", self.what, bytes(needed)))
        };
        let least = self.least_memory_bytes;
        let enough = if is_allowed {
            format!("allow {} (--memory {}MiB)", bytes(least), least.div_ceil(1 << 20))
        } else {
            format!("run it where {} is available", bytes(least))
        };
        if !has_directory && least < self.sparing_memory_bytes {
            let and_more = if allowed < least { format!(", and {enough}") } else { String::new() };
            return Err(refuse(self.sparing_memory_bytes).help(format!(
                "give the solve a directory (--dir DIR): what does not fit will be there, about {}{and_more}; \
                 or try fewer pieces (--pieces N) or half the digits (--precision f32)",
                bytes(self.disk(Arrays::InFiles { budget: least }).bytes())
            )));
        }
        if allowed < least || !has_directory {
            return Err(refuse(least).help(format!(
                "{enough}, take fewer threads (--threads N), or try fewer pieces (--pieces N)"
            )));
        }
        // The page cache needs room, too, of what is available.
        let budget = if is_allowed { allowed } else { (allowed / 4 * 3).max(least) };
        Ok(Arrays::InFiles { budget })
    }

    /// Refuses what the disks have no room for, and files larger than this process may write. So many bytes are in the
    /// directory already.
    ///
    /// # Errors
    /// If there is too little room, or the limit is too small.
    pub fn check_disk(
        &self,
        arrays: Arrays,
        dir: Option<&Path>,
        out: &Path,
        there: u64,
    ) -> Result<(), Failure> {
        check_file_size(&self.what, self.table_bytes)?;
        let mut wanted = vec![(resources::directory_of(out), self.table_bytes)];
        if let Some(dir) = dir.map(resources::existing_directory) {
            let in_dir = (dir, self.disk(arrays).bytes().saturating_sub(there));
            match resources::same_disk(dir, wanted[0].0) {
                true => wanted[0] = in_dir, // the table has another name then, and no other place
                false => wanted.push(in_dir),
            }
        }
        wanted.into_iter().try_for_each(|(directory, needed)| {
            check_free(&self.what, directory, needed).or_help(
                "try a smaller type of values (--value-type percent16), or another place (--out FILE, --dir DIR)",
            )
        })
    }
}

/// Disk in the directory of a job while each batch of steps is solved: the table so far, the values that it and later ones
/// read, two checkpoints of each of its steps, and arrays in files. When the table gets a batch, the checkpoints are gone, which
/// take more.
fn in_directory(plan: &Plan, precision: Precision, table_bytes: u64) -> Vec<Disk> {
    let compressed = compressed_hundredths(value_type_of(precision));
    // There is room for a checkpoint if it does not shrink.
    let largest = 101 * (precision.bytes() as u128 + VECTORS_OF_TWO) + 1;
    let positions = |steps: &[Step]| steps.iter().map(|step| u128::from(step.positions)).sum();
    let of_step = |step: &Step, hundredths: u128, files: u128| {
        let bytes = u128::from(step.positions) * hundredths / 100;
        bytes + step.shards as u128 * files * FILE_BYTES
    };
    let mut solved: u128 = 0;
    let moment = |Batch { steps, file_bytes }: &Batch| {
        let (before, rest) = plan.steps.split_at(steps.start);
        let batch: u128 = positions(&rest[..steps.len()]);
        let is_read = |step: &&Step| {
            let mut read = rest.iter().flat_map(|step| step.tier.reads());
            read.any(|tier| tier.first_of_step() == step.tier)
        };
        let read = before.iter().filter(is_read).map(|step| of_step(step, compressed, 2));
        let under_way = rest[..steps.len()].iter();
        let under_way = under_way.map(|step| of_step(step, compressed + largest, FILES_OF_SHARD));
        let stored: u128 = read.chain(under_way).sum();
        let table = u128::from(table_bytes) * solved / u128::from(plan.positions.max(1));
        solved += batch;
        let bytes = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
        Disk {
            table_bytes: bytes(table),
            store_bytes: bytes(stored).saturating_add(STORE_BYTES),
            scratch_bytes: *file_bytes,
        }
    };
    plan.batches.iter().map(moment).collect()
}

/// Refuses work that writes about so many bytes in a directory whose disk has fewer free. What a file system does not
/// tell is no reason to refuse.
///
/// # Errors
/// If it has.
pub fn check_free(what: &str, directory: &Path, needed: u64) -> Result<(), Failure> {
    match resources::free_bytes(directory) {
        Some(free) if free < needed => Err(Failure::refused(format!(
            "{what} takes about {} of disk; {} is free in {}",
            bytes(needed),
            bytes(free),
            directory.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses work that writes a file of about so many bytes where this process may write none as large.
///
/// # Errors
/// If so.
pub fn check_file_size(what: &str, needed: u64) -> Result<(), Failure> {
    match resources::file_size_limit() {
        Some(limit) if limit < needed => Err(Failure::refused(format!(
            "{what} takes a file of about {}; {}",
            bytes(needed),
            Limit::FileSize
        ))
        .help(Limit::FileSize.remedy())),
        _ => Ok(()),
    }
}

/// Refuses work that takes so many bytes if they are not available.
///
/// # Errors
/// If they are not.
pub fn check_available(what: &str, needed: u64) -> Result<(), Failure> {
    match resources::available_memory_bytes() {
        Some(available) if available < needed => Err(Failure::refused(format!(
            "{what} takes {} of memory; {} is available",
            bytes(needed),
            bytes(available)
        ))),
        _ => Ok(()),
    }
}

/// Memory for the arrays of a solve on so many threads; files are in `scratch`.
///
/// # Errors
/// If files cannot be made there.
pub fn memory(arrays: Arrays, threads: usize, scratch: &Path) -> Result<Memory, Failure> {
    Memory::new(arrays, scratch, threads)
        .context(format!("cannot keep arrays in {}", scratch.display()))
}

/// About how many bytes a table will have. Compressed values take as much as measured on solved
/// games, rounded up: see `docs/TABLES.md`.
pub fn table_bytes(encoding: &Encoding, value_type: ValueType, compression: Compression) -> u64 {
    let positions = u128::from(encoding.undecided());
    let hundredths = match compression {
        Compression::Raw => 100 * value_type.bytes() as u128,
        Compression::Zstd => compressed_hundredths(value_type),
    };
    u64::try_from(positions * hundredths / 100 + 4096).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    const MIB: u64 = 1 << 20;

    /// What a solve needs that takes so much memory, at least.
    fn needing(sparing_memory_bytes: u64, least_memory_bytes: u64) -> Needs {
        let (steps, batches, memory) = Default::default();
        Needs {
            what: "solving it".to_owned(),
            plan: Plan { steps, batches, positions: 0, memory },
            threads: 1,
            memory_bytes: sparing_memory_bytes,
            sparing_memory_bytes,
            least_memory_bytes,
            table_bytes: 0,
            in_directory: Vec::new(),
        }
    }

    #[test]
    fn tables_that_only_save_time_are_left_out_where_there_is_no_room_for_them() {
        let needs = Needs { memory_bytes: 2000 * MIB, ..needing(900 * MIB, 300 * MIB) };
        for (allowed, arrays) in
            [(2000, Arrays::InMemory), (1999, Arrays::Sparing), (900, Arrays::Sparing)]
        {
            assert_eq!(needs.arrange(Some(allowed * MIB), None, false).unwrap(), arrays);
            assert!(needs.memory_in(arrays) <= allowed * MIB);
        }
        let said = needs.arrange(Some(899 * MIB), None, false).unwrap_err().report();
        assert!(said.contains("takes 944 MB of memory"), "{said}");
        assert_eq!(needs.memory_in(needs.arrange(Some(899 * MIB), None, true).unwrap()), 899 * MIB);
    }

    #[test]
    fn arrays_go_where_there_is_room_for_them() {
        let needs = needing(900 * MIB, 300 * MIB);
        let refused = |failure: Failure| {
            assert_eq!(failure.exit, Exit::Refused);
            failure.report()
        };
        let arranged = |budget: u64, has_directory| {
            needs.arrange(Some(budget), Some(2000 * MIB), has_directory).map_err(refused)
        };
        for has_directory in [false, true] {
            assert_eq!(arranged(900 * MIB, has_directory), Ok(Arrays::InMemory));
            let said = arranged(300 * MIB - 1, has_directory).unwrap_err();
            assert!(said.contains("--memory 300MiB"), "{said}");
        }
        for budget in [900 * MIB - 1, 300 * MIB] {
            assert_eq!(arranged(budget, true), Ok(Arrays::InFiles { budget }));
            let said = arranged(budget, false).unwrap_err();
            assert!(said.contains("--dir DIR") && !said.contains("--memory 300MiB"), "{said}");
        }
        // To be allowed more than there is does not make it more.
        for budget in [None, Some(900 * MIB)] {
            let here = |available, has_directory| {
                needs.arrange(budget, Some(available), has_directory).map_err(refused)
            };
            assert_eq!(here(900 * MIB, false), Ok(Arrays::InMemory));
            let said = here(899 * MIB, false).unwrap_err();
            assert!(said.contains("943 MB is available") && !said.contains("allows"), "{said}");
            assert_eq!(here(800 * MIB, true), Ok(Arrays::InFiles { budget: 600 * MIB }));
            assert_eq!(here(300 * MIB, true), Ok(Arrays::InFiles { budget: 300 * MIB }));
            assert!(here(300 * MIB - 1, true).is_err());
            assert_eq!(needs.arrange(budget, None, false).unwrap(), Arrays::InMemory);
        }
        let none_smaller = needing(300 * MIB, 300 * MIB);
        let said = none_smaller.arrange(Some(MIB), None, false).unwrap_err().report();
        assert!(said.contains("--memory 300MiB") && !said.contains("--dir"), "{said}");
    }

    #[test]
    fn what_goes_to_one_disk_has_to_fit_it_together() {
        let dir = tempfile::tempdir().unwrap();
        let most = resources::free_bytes(dir.path()).unwrap() / 4 * 3;
        let out = dir.path().join("table.zgt");
        let arrays = Arrays::InFiles { budget: 0 };
        let fits = |[table_bytes, store_bytes, scratch_bytes]: [u64; 3], arrays, has_directory| {
            let in_directory = vec![Disk { table_bytes, store_bytes, scratch_bytes }];
            let needs = Needs { table_bytes, in_directory, ..needing(0, 0) };
            let job = dir.path().join("some/job");
            let (dir, there) = (Some(&*job).filter(|_| has_directory), 0);
            needs.check_disk(arrays, dir, &out, there).map_err(|failure| failure.exit)
        };
        let refused = Err(Exit::Refused);
        assert_eq!(fits([most, 0, 0], arrays, true), Ok(()));
        assert_eq!(fits([most, most, 0], arrays, true), refused);
        assert_eq!(fits([most, 0, most], arrays, true), refused);
        assert_eq!(fits([0, most, most], arrays, true), refused);
        assert_eq!(fits([0, most, most], Arrays::InMemory, true), Ok(()));
        assert_eq!(fits([most, most, most], arrays, false), Ok(()));
        assert_eq!(fits([2 * most, 0, 0], arrays, false), refused);
    }

    #[test]
    fn the_disk_of_a_solve_is_that_of_the_moment_at_which_it_takes_most() {
        let disk = |table_bytes, store_bytes, scratch_bytes| Disk {
            table_bytes,
            store_bytes,
            scratch_bytes,
        };
        let moments = vec![disk(1, 2, 9), disk(4, 5, 1), disk(9, 1, 1)];
        let needs = Needs { in_directory: moments, ..needing(0, 0) };
        assert_eq!(needs.disk(Arrays::InFiles { budget: 0 }), disk(1, 2, 9));
        assert_eq!(needs.disk(Arrays::InMemory), disk(9, 1, 0));
    }

    #[test]
    fn what_is_not_available_is_refused() {
        assert!(check_available("nothing", 0).is_ok());
        let refused = check_available("proving x.zgt", 1 << 60).unwrap_err();
        assert_eq!(refused.exit, Exit::Refused);
        let said = refused.report();
        assert!(said.starts_with("error: proving x.zgt takes 1.15 EB of memory; "), "{said}");
    }
}
