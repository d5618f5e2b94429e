//! What RocksDB's syncs come to on a file system that has none.
//!
//! RocksDB takes every failed sync for a fault of the disk, also where a file system only says that it cannot sync, as SMB and
//! many in user space say of directories. It has no setting for that, and its own way around, a file system written in
//! C++, is a library of its own. But it syncs by the two functions of the C library, and a program that has
//! functions of these names calls those: they ask the system, and let pass what [`is_lacking`].

#![expect(unsafe_code)]

use std::{
    ffi::{c_int, c_long},
    io,
};

use ziggurat_files::is_lacking;

/// Brings a file or directory to the disk, as `fsync(2)` says, if its file system can.
///
#[unsafe(no_mangle)]
extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: the call takes a number and touches no memory; of one that is no open file it says so.
    unless_lacking(unsafe { libc::syscall(libc::SYS_fsync, file) })
}

/// Brings the bytes of a file to the disk, as `fdatasync(2)` says, if its file system can.
///
#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: as above.
    unless_lacking(unsafe { libc::syscall(libc::SYS_fdatasync, file) })
}

/// The error of the call before is where the C library has it.
fn unless_lacking(returned: c_long) -> c_int {
    if returned == -1 && is_lacking(&io::Error::last_os_error()) { 0 } else { returned as c_int }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::fd::AsRawFd};

    use super::*;

    #[test]
    fn a_file_that_cannot_be_synced_is_let_pass_and_a_wrong_number_is_not() {
        // A pipe has nothing to sync: the system says so, as a file system without syncs does.
        let (_reader, writer) = io::pipe().unwrap();
        assert_eq!((fsync(writer.as_raw_fd()), fdatasync(writer.as_raw_fd())), (0, 0));
        assert_eq!((fsync(-1), fdatasync(-1)), (-1, -1));
        // The standard library calls them, too.
        File::from(std::os::fd::OwnedFd::from(writer)).sync_all().unwrap();
    }
}
