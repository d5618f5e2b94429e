//! Ends of the process for which libraries have no error: no memory, no thread, or a bug.
//!
//! A program is not asked what to do where there is no memory, and libraries that start threads take it for a bug that
//! there are none. Both are limits of the process that whoever started it can raise, so it ends with an error that says so, and
//! takes its unfinished files along. What a solve with a directory had written down is as after a power failure.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    io::{self, Write},
    panic::PanicHookInfo,
    ptr,
};

use signal_hook::{consts::SIGABRT, low_level};
use ziggurat_table::abandon_outputs_at_once;

use crate::{
    failure::{Exit, Failure, MORE_THREADS},
    output::note,
};

/// What a user reads, all of it constant, since there is no memory to make it of.
const NO_MEMORY: &str = "\
error: there is no more memory for this process (ulimit -v, ulimit -d, or what the system has)
help: raise that limit, or let the process take less (--memory SIZE, --threads N, --precision f32); a solve with a \
directory can be resumed
";
const NO_THREADS: &str = "\
error: there are no more threads for this process (ulimit -u, the limit of its control group, or memory for their stacks)
help: raise that limit, or take fewer (--threads N); a solve with a directory can be resumed
";

/// A thread that the system does not start, where that is an error.
pub fn no_threads(error: io::Error) -> Failure {
    Failure::refused(format!("the system starts no more threads for this process: {error}"))
        .help(MORE_THREADS)
}

/// The stack of a thread of a library in C++, as systems usually have it.
const STACK_BYTES: usize = 8 << 20;

/// The memory of the system.
struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

#[expect(unsafe_code)]
// SAFETY: all is done by the allocator of the system, with what the caller has promised.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        there_is(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        there_is(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        there_is(unsafe { System.realloc(at, layout, size) })
    }
}

#[inline]
fn there_is(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end(NO_MEMORY);
    }
    memory
}

/// Ends the process where it stands.
#[cold]
fn end(said: &str) -> ! {
    abandon_outputs_at_once();
    let _ = io::stderr().write_all(said.as_bytes());
    low_level::exit(Exit::Refused as i32)
}

/// What happens where the program finds a bug in itself.
pub fn on_panic(bug: &PanicHookInfo<'_>) {
    let text = bug.to_string();
    if is_want_of_threads(&text) {
        end(NO_THREADS);
    }
    note!("error: this is a bug in ziggurat: {text}");
    note!("help: please report it, with the command you typed");
}

/// Says why the process ends where a library in C++ aborts it since it gets no thread, as RocksDB does.
pub fn explain_aborts() {
    let explain = || {
        if !threads_can_start() {
            end(NO_THREADS);
        }
    };
    #[expect(unsafe_code)]
    // SAFETY: it makes system calls alone, and so does `end`.
    let _ = unsafe { low_level::register(SIGABRT, explain) };
}

/// Whether there is memory for the stack of a thread, and the system starts another process for this one: limits of threads
/// are about processes as well.
#[expect(unsafe_code)]
fn threads_can_start() -> bool {
    // SAFETY: nothing is mapped over, what is mapped is not used, and the child, which has its own copy of the memory, ends with
    // its first call.
    unsafe {
        let (anywhere, flags) = (ptr::null_mut(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        if libc::mmap(anywhere, STACK_BYTES, protection, flags, -1, 0) == libc::MAP_FAILED {
            return false;
        }
        match libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
            -1 => false,
            0 => libc::_exit(0),
            child => {
                libc::waitpid(child as libc::pid_t, ptr::null_mut(), 0);
                true
            }
        }
    }
}

/// Whether a library gave up since the system starts no thread.
fn is_want_of_threads(text: &str) -> bool {
    let is_about_threads = ["thread", "Thread"].iter().any(|word| text.contains(word));
    // As the standard library shows errors of the system, with and without their fields.
    is_about_threads && ["os error 11)", "code: 11,"].iter().any(|error| text.contains(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_be_started_is_no_bug() {
        for text in [
            "panicked at x.rs:1:1:\nfailed to spawn thread: Os { code: 11, kind: WouldBlock, \
             message: \"Resource temporarily unavailable\" }",
            "panicked at x.rs:1:1:\nOS can't spawn worker thread: Resource temporarily unavailable (os error 11)",
        ] {
            assert!(is_want_of_threads(text));
        }
        for text in [
            "panicked at x.rs:1:1:\nindex out of bounds: the len is 11 but the index is 11",
            "panicked at x.rs:1:1:\nthread 11 has no shards",
            "panicked at x.rs:1:1:\ncannot read: Resource temporarily unavailable (os error 11)",
        ] {
            assert!(!is_want_of_threads(text));
        }
    }
}
