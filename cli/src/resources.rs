//! How much memory and disk there is, to refuse work that would not fit before it begins; and sizes and
//! times as they are typed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::process::{Resource, Rlimit};
use signal_hook::consts::SIGXFSZ;
pub use ziggurat_files::{file_size_limit, free_bytes};

/// Bytes of memory this process can still take: what the system has available, or less if a
/// control group (v1 or v2), as containers have, limits it, or the process has a limit of its own (`ulimit -v`,
/// `ulimit -d`). `None` where the system does not say.
pub fn available_memory_bytes() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| entry_bytes(&text, "MemAvailable:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group_available_bytes(&groups, Path::new("/sys/fs/cgroup"));
    let own = |resource, taken: &str| {
        let limit = rustix::process::getrlimit(resource).current?;
        Some(limit.saturating_sub(own_entry_bytes(taken).unwrap_or(0)))
    };
    let (addresses, data) = (own(Resource::As, "VmSize:"), own(Resource::Data, "VmData:"));
    [system, group, addresses, data].into_iter().flatten().min()
}

/// Lets this process open as many files as it ever may: a store keeps hundreds open, and some systems begin with 256.
pub fn raise_open_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // As many as before, if the system does not want to.
    let _ = rustix::process::setrlimit(
        Resource::Nofile,
        Rlimit { current: limit.maximum, maximum: limit.maximum },
    );
}

/// Lets the limit of the size of files (`ulimit -f`) be an error of who writes, and not the end of the process.
pub fn outlive_file_size_limit() {
    // Who takes the signal, whatever comes of it, gets the error.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The part of the processor time a process may take (`ulimit -t`) that is left for ending cleanly, and the most seconds of it.
const TIME_TO_END: (u64, u64) = (4, 30);

/// Lets this process be asked to end (SIGXCPU) before it is killed where both limits of its processor time are the same, as
/// `ulimit -t` sets them.
pub fn leave_processor_time_to_end() {
    let limit = rustix::process::getrlimit(Resource::Cpu);
    if let Some(current) = time_before_end(limit) {
        let _ =
            rustix::process::setrlimit(Resource::Cpu, Rlimit { current: Some(current), ..limit });
    }
}

/// The seconds of processor time after which a process is to end, if it would be killed without a word.
fn time_before_end(limit: Rlimit) -> Option<u64> {
    let ((part, most), maximum) = (TIME_TO_END, limit.maximum?);
    let before = maximum.saturating_sub((maximum / part).clamp(1, most)).max(1);
    limit.current.is_none_or(|current| current > before).then_some(before)
}

/// The most memory this process has held, `VmHWM` of `/proc/self/status`, in bytes.
pub fn peak_memory_bytes() -> Option<u64> {
    own_entry_bytes("VmHWM:")
}

/// An entry of `/proc/self/status`, in bytes.
fn own_entry_bytes(name: &str) -> Option<u64> {
    entry_bytes(&fs::read_to_string("/proc/self/status").ok()?, name)
}

/// The nearest directory there is on the way to one that may have to be made.
pub fn existing_directory(directory: &Path) -> &Path {
    let there = directory.ancestors().find(|at| at.is_dir());
    there.filter(|at| *at != Path::new("")).unwrap_or(Path::new("."))
}

/// Whether two directories are on the same disk.
pub fn same_disk(one: &Path, other: &Path) -> bool {
    let device = |path| rustix::fs::stat(path).map(|stat| stat.st_dev).ok();
    device(one) == device(other)
}

/// The directory a file is in or will be in.
pub fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// An entry of a file like `/proc/meminfo`, in bytes.
fn entry_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The tightest of the limits of this process's control groups and those above them, less what
/// is used; `groups` is the text of `/proc/self/cgroup`, `root` where the groups are mounted.
fn group_available_bytes(groups: &str, root: &Path) -> Option<u64> {
    let mut tightest = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (mount, names) = match controllers {
            "" => (root.to_owned(), &V2),
            v1 if v1.split(',').any(|name| name == "memory") => (root.join("memory"), &V1),
            _ => continue,
        };
        // Inside a container the path may be that of the host; the mount itself is the group then.
        let inside = mount.join(path.trim_start_matches('/'));
        for group in inside.ancestors().take_while(|group| group.starts_with(&mount)) {
            if let Some(bytes) = names.available_bytes(group) {
                tightest = Some(tightest.map_or(bytes, |least: u64| least.min(bytes)));
            }
        }
    }
    tightest
}

/// What the files of a control group are called.
struct GroupFiles {
    /// The tightest counts. Beyond `memory.high` the kernel does not refuse memory, but lets nobody get on.
    limits: &'static [&'static str],
    usage: &'static str,
    /// What the kernel takes back before it refuses memory, in `memory.stat`: the file cache, however often it was used,
    /// and its own caches. Files in memory file systems are not among it, since they are counted elsewhere.
    reclaimable: &'static [&'static str],
}

const V1: GroupFiles = GroupFiles {
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    reclaimable: &["total_inactive_file", "total_active_file"],
};

const V2: GroupFiles = GroupFiles {
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    reclaimable: &["inactive_file", "active_file", "slab_reclaimable"],
};

impl GroupFiles {
    /// `None` for a group without a limit.
    fn available_bytes(&self, group: &Path) -> Option<u64> {
        let number = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(|limit| number(group.join(limit))).min()?;
        let usage = number(group.join(self.usage))?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let entries = stat.lines().filter_map(|line| line.split_once(' '));
        let reclaimable = entries.filter(|(name, _)| self.reclaimable.contains(name));
        let reclaimable: u64 = reclaimable.filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).sum();
        Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
    }
}

/// Parses a size such as `6GiB`, `6Gi`, `500 MB` or `1000000`, in bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write for example 6GiB, 6Gi, 500MB or 1000000");
    let Some((number, unit, "")) = quantity(text) else { return Err(wrong()) };
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "ki" | "kib" => 1 << 10,
        "m" | "mb" => 1_000_000,
        "mi" | "mib" => 1 << 20,
        "g" | "gb" => 1_000_000_000,
        "gi" | "gib" => 1 << 30,
        "t" | "tb" => 1_000_000_000_000,
        "ti" | "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    Ok((number * unit as f64) as u64)
}

/// Parses a time such as `90s`, `10min`, `1h30m` or `1d`: units from the longest to the shortest. A number alone is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write for example 90s, 10min, 1h30m or 1d");
    let (mut rest, mut seconds, mut last_unit) = (text, 0.0, f64::INFINITY);
    loop {
        let (number, unit, after) = quantity(rest).ok_or_else(wrong)?;
        let unit = match unit {
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            "" if rest == text => 1.0,
            _ => return Err(wrong()),
        };
        if unit >= last_unit {
            return Err(wrong());
        }
        (seconds, last_unit, rest) = (seconds + number * unit, unit, after);
        if rest.is_empty() {
            return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
        }
    }
}

/// Parses the speed of a network such as `10Gbit`, `10Gbit/s` or `100Mbit`, in bytes per second.
pub fn parse_bandwidth(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a bandwidth; write for example 10Gbit or 100Mbit");
    let Some((number, unit, "")) = quantity(text) else { return Err(wrong()) };
    let unit = match unit.strip_suffix("/s").unwrap_or(unit).to_ascii_lowercase().as_str() {
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        "tbit" => 1e12,
        _ => return Err(wrong()),
    };
    let bytes = number * unit / 8.0;
    if bytes >= 1.0 { Ok(bytes) } else { Err(wrong()) }
}

/// The first number of a text such as `1.5 kB` or `1h30m`, its unit, and what comes after.
fn quantity(text: &str) -> Option<(f64, &str, &str)> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, rest) = text.split_at(text.find(|c| !is_of_number(c)).unwrap_or(text.len()));
    let (unit, after) = rest.split_at(rest.find(is_of_number).unwrap_or(rest.len()));
    Some((number.parse().ok()?, unit.trim(), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn meminfo_is_read_in_kibibytes() {
        let text = "MemTotal:  200 kB\nMemAvailable:   100 kB\n";
        assert_eq!(entry_bytes(text, "MemAvailable:"), Some(102_400));
        assert_eq!(entry_bytes("MemTotal: 1 kB\n", "MemAvailable:"), None);
    }

    #[test]
    fn a_process_is_asked_to_end_before_it_is_killed() {
        let limit = |current, maximum| Rlimit { current, maximum };
        assert_eq!(time_before_end(limit(None, None)), None);
        assert_eq!(time_before_end(limit(Some(5), Some(100))), None);
        assert_eq!(time_before_end(limit(Some(100), Some(100))), Some(75));
        assert_eq!(time_before_end(limit(None, Some(1000))), Some(970));
        assert_eq!(time_before_end(limit(Some(2), Some(2))), Some(1));
        assert_eq!(time_before_end(limit(Some(1), Some(1))), None);
        assert_eq!(time_before_end(limit(Some(0), Some(0))), None);
    }

    #[test]
    fn the_tightest_group_of_version_2_counts() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        write(at("outer/memory.max"), "1000\n");
        write(at("outer/memory.current"), "700\n");
        write(at("outer/memory.stat"), "anon 400\ninactive_file 300\n");
        write(at("outer/inner/memory.max"), "max\n");
        write(at("outer/inner/memory.current"), "100\n");
        assert_eq!(group_available_bytes("0::/outer/inner\n", root.path()), Some(600));
        assert_eq!(group_available_bytes("0::/elsewhere\n", root.path()), None);
    }

    #[test]
    fn a_group_of_version_1_seen_from_inside_a_container_counts() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join("memory").join(name);
        write(at("memory.limit_in_bytes"), "5000\n");
        write(at("memory.usage_in_bytes"), "1000\n");
        let groups = "7:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n";
        assert_eq!(group_available_bytes(groups, root.path()), Some(4000));
        // Those without `total_` are of the group alone, not of those in it.
        let stat = "inactive_file 7\nactive_file 7\nrss 100\ntotal_inactive_file 300\ntotal_active_file 500\n";
        write(at("memory.stat"), stat);
        assert_eq!(group_available_bytes(groups, root.path()), Some(4800));
    }

    #[test]
    fn a_file_cache_in_use_is_taken_back_too() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join("group").join(name);
        let available = || group_available_bytes("0::/group\n", root.path());
        write(at("memory.max"), "600000000\n");
        write(at("memory.current"), "480000000\n");
        // `file` counts `shmem` as well, which can go nowhere.
        let stat = "anon 10000000\nfile 465000000\nshmem 20000000\ninactive_file 3000000\n\
                    active_file 442000000\nslab_reclaimable 1000000\nslab_unreclaimable 4000000\n";
        write(at("memory.stat"), stat);
        assert_eq!(available(), Some(566_000_000));
        write(at("memory.high"), "max\n");
        assert_eq!(available(), Some(566_000_000));
    }

    #[test]
    fn memory_beyond_which_a_group_is_slowed_down_is_not_available() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join("group").join(name);
        let available = || group_available_bytes("0::/group\n", root.path());
        write(at("memory.max"), "max\n");
        write(at("memory.current"), "300\n");
        assert_eq!(available(), None);
        write(at("memory.high"), "700\n");
        assert_eq!(available(), Some(400));
        write(at("memory.max"), "1000\n");
        assert_eq!(available(), Some(400));
        write(at("memory.max"), "500\n");
        assert_eq!(available(), Some(200));
        write(at("memory.current"), "900\n");
        assert_eq!(available(), Some(0));
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, bytes) in [
            ("6GiB", 6 << 30),
            ("6Gi", 6 << 30),
            ("512mi", 512 << 20),
            ("2Ki", 2048),
            ("1Ti", 1 << 40),
            ("1.5 kB", 1500),
            ("1G", 1_000_000_000),
            ("42", 42),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "six", "6 elephants", "6Gi5", "6GiB 5", "Gi", "6i", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bandwidths_are_read_in_bits() {
        for (text, bytes) in
            [("10Gbit", 1.25e9), ("10 gbit/s", 1.25e9), ("100Mbit", 1.25e7), ("64kbit/s", 8e3)]
        {
            assert_eq!(parse_bandwidth(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "fast", "10", "0Gbit", "10GB", "1Gbit/min", "-1Gbit", "1e400Gbit"] {
            assert!(parse_bandwidth(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_read_with_their_units() {
        for (text, milliseconds) in [
            ("90s", 90_000),
            ("90", 90_000),
            ("1.5min", 90_000),
            ("2 h", 7_200_000),
            ("20ms", 20),
            ("1d", 86_400_000),
            ("1h30m", 5_400_000),
            ("1d 2h 3min 4s 5ms", 93_784_005),
            ("2000us", 2),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for wrong in ["", "soon", "3 weeks", "1h30", "30m1h", "1h1h", "h", "1hh", "1e400d", "-1s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_disk_of_a_plain_file_name_is_that_of_the_current_directory() {
        assert_eq!(directory_of(Path::new("a.zgt")), Path::new("."));
        assert_eq!(directory_of(Path::new("/tmp/a.zgt")), Path::new("/tmp"));
        assert!(free_bytes(directory_of(Path::new("a.zgt"))).unwrap() > 0);
    }
}
