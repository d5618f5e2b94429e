//! What file systems and limits of a process differ in, for all who write files.
//!
//! A file system may lack hard links, flags of a rename, syncs of a directory or the number of free bytes: FAT, exFAT,
//! SMB and many in user space do. Work that could be finished without them does not fail for want of them.
//!
//! | module | knows |
//! | --- | --- |
//! | `publish` | giving a finished file its name |
//! | `sync` | bringing files and names to the disk |
//! | `space` | free bytes, and what a file system is called |
//! | `limits` | what a process may have no more of |
//! | `size` | numbers of bytes as a person says them |

mod limits;
mod publish;
mod size;
mod space;
mod sync;

pub use limits::{Limit, file_size_limit, open_files_limit};
pub use publish::publish;
pub use size::size;
pub use space::{file_system, free_bytes};
pub use sync::{is_lacking, make_dir, sync, sync_dir};
