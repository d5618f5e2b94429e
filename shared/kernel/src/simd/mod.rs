//! Registers of values, and the instruction sets that the kernel is compiled for.

pub mod address;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod dispatch;
mod portable;
pub mod value;
pub mod vector;
