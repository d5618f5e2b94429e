//! Which vector instructions the kernel runs on. The results are the same for all of them: no
//! operation is fused or reassociated.

use pulp::{Arch, NullaryFnOnce};

/// A choice of vector instructions that this machine has.
#[derive(Clone, Copy, Debug)]
pub struct Simd(Arch);

impl Simd {
    /// The best this machine has.
    pub fn best() -> Self {
        Self(Arch::new())
    }

    /// Runs an operation compiled for these instructions.
    #[inline(always)]
    pub fn run<F: NullaryFnOnce>(self, operation: F) -> F::Output {
        self.0.dispatch(operation)
    }
}
