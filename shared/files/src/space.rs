//! Free space, and what a file system is called.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// Bytes that an ordinary user can still write to the disk of an existing file or directory; `None` where the file
/// system does not tell, as some in user space do not.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    // One that has no blocks at all does not count them.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// What the file system of an existing file or directory is called, such as `ext4` or `nfs4`, if the system tells.
pub fn file_system(path: &Path) -> Option<String> {
    let mounts = fs::read("/proc/self/mountinfo").ok()?;
    file_system_in(&mounts, &path.canonicalize().ok()?)
}

/// The same for a real path, by the text of `/proc/self/mountinfo`. Of several file systems mounted at the same place, the last is seen.
fn file_system_in(mounts: &[u8], path: &Path) -> Option<String> {
    let mount = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let point = unescaped(fields.get(4)?);
        let separator = fields.iter().position(|field| *field == b"-")?;
        let kind = String::from_utf8_lossy(fields.get(separator + 1)?).into_owned();
        path.starts_with(&point).then(|| (point.as_os_str().len(), kind))
    };
    let mounts = mounts.split(|&byte| byte == b'\n').filter_map(mount);
    mounts.max_by_key(|&(length, _)| length).map(|(_, kind)| kind)
}

/// A name in which blanks and the like are written as `\040`.
fn unescaped(name: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| first == b'\\');
        let code = octal.and_then(|octal| u8::from_str_radix(str::from_utf8(octal).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_says_what_is_free_on_it() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert_eq!(free_bytes(&dir.path().join("none")), None);
        // Counts no blocks.
        assert_eq!(free_bytes(Path::new("/proc/self")), None);
    }

    #[test]
    fn file_systems_are_told_by_where_they_are_mounted() {
        let mounts = b"\
            22 1 254:1 / / rw,relatime - ext4 /dev/vda rw\n\
            30 22 0:26 / /mnt/a\\040b rw shared:1 - exfat /dev/sdb1 rw\n\
            31 22 0:27 / /mnt rw - tmpfs none rw\n\
            32 22 0:28 / /mnt rw - fuse.rclone remote rw\n";
        let of = |path: &str| file_system_in(mounts, Path::new(path)).unwrap();
        assert_eq!(of("/home/job"), "ext4");
        assert_eq!(of("/mnt/a b/c"), "exfat");
        assert_eq!(of("/mnt/c"), "fuse.rclone");
        assert_eq!(of("/mnta"), "ext4");
        assert_eq!(file_system_in(b"", Path::new("/")), None);
    }

    #[test]
    fn this_system_says_what_its_file_systems_are() {
        assert_eq!(file_system(Path::new("/proc/self")).as_deref(), Some("proc"));
    }
}
