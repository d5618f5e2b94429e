//! Which vector instructions the kernel runs on.
//!
//! The kernel is written once, over groups of 8 values; for each instruction set it is compiled
//! again. Additions, multiplications and maxima keep their order and nothing is fused, so the
//! results are bit-identical for all of them.

use thiserror::Error;

#[cfg(target_arch = "x86_64")]
use crate::simd::{avx2::Avx2, avx512::Avx512};
use crate::simd::{
    portable::Portable,
    vector::{Instructions, Operation},
};

/// A choice of vector instructions that this machine has.
#[derive(Clone, Copy, Debug)]
pub struct Simd(Level);

impl PartialEq for Simd {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

#[derive(Clone, Copy, Debug)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
}

/// Somebody asked for vector instructions by a wrong name, or that this machine does not have.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("no vector instructions {asked:?} on this machine; it has {}", has.join(", "))]
pub struct NoSuchSimd {
    asked: String,
    has: Vec<&'static str>,
}

impl Simd {
    /// All this machine has, the best last.
    pub fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(pulp::x86::V3::try_new().map(Level::Avx2));
            levels.extend(pulp::x86::V4::try_new().map(Level::Avx512));
        }
        levels.into_iter().map(Self).collect()
    }

    /// The best this machine has.
    pub fn best() -> Self {
        Self::all().pop().expect("the portable instructions are everywhere")
    }

    /// The instructions of a name: `portable`, `avx2` or `avx512`.
    ///
    /// # Errors
    /// If this machine does not have them.
    pub fn named(name: &str) -> Result<Self, NoSuchSimd> {
        let all = Self::all();
        all.iter().find(|simd| simd.name() == name).copied().ok_or_else(|| NoSuchSimd {
            asked: name.to_owned(),
            has: all.iter().map(Self::name).collect(),
        })
    }

    /// How the instructions are called.
    pub fn name(&self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512",
        }
    }

    /// Runs a loop over numbers, compiled for these instructions. It must be inlined: `#[inline(always)] || ...`.
    #[inline(always)]
    pub(crate) fn compute<R>(self, work: impl FnOnce() -> R) -> R {
        match self.0 {
            Level::Portable => work(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(v3) => v3.vectorize(work),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(v4) => v4.vectorize(work),
        }
    }

    /// Runs an operation compiled for these instructions.
    #[inline(always)]
    pub(crate) fn run<F: Operation>(self, operation: F) {
        match self.0 {
            Level::Portable => Portable.call(operation),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(v3) => Avx2::new(v3).call(operation),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(v4) => Avx512::new(v4).call(operation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{
        value::Value,
        vector::{LANES, Vector, for_each_lane},
    };

    /// Compares the results of these instructions with those of the portable ones.
    struct Compare;

    #[expect(unsafe_code)]
    fn compare<T: Value, I: Instructions>() {
        let number = |i: usize| T::from_f64((i * i % 97) as f64 / 97.0 - 0.5);
        let rows: Vec<T> = (0..LANES * LANES).map(number).collect();
        let others: Vec<T> = rows.iter().rev().copied().collect();
        let written = |vector: &dyn Fn(*mut T)| {
            let mut out = vec![T::WIN; LANES];
            vector(out.as_mut_ptr());
            out
        };
        // SAFETY: all addresses are of whole groups within the arrays.
        unsafe {
            type V<T, I> = <T as Value>::Vector<I>;
            for row in 0..LANES {
                let at = |values: &[T]| values[row * LANES..].as_ptr();
                let (a, b) = (V::<T, I>::read(at(&rows)), V::<T, I>::read(at(&others)));
                let (c, d) =
                    (V::<T, Portable>::read(at(&rows)), V::<T, Portable>::read(at(&others)));
                let none = (V::<T, I>::splat(T::NONE), V::<T, Portable>::splat(T::NONE));
                let pairs = [
                    (written(&|o| a.smaller(b).write(o)), written(&|o| c.smaller(d).write(o))),
                    (
                        written(&|o| none.0.or_if_none(a).or_if_none(b).write(o)),
                        written(&|o| none.1.or_if_none(c).or_if_none(d).write(o)),
                    ),
                    (written(&|o| a.larger(b).write(o)), written(&|o| c.larger(d).write(o))),
                    (written(&|o| a.times(b).write(o)), written(&|o| c.times(d).write(o))),
                    (written(&|o| a.plus(b).write(o)), written(&|o| c.plus(d).write(o))),
                    (written(&|o| a.negated().write(o)), written(&|o| c.negated().write(o))),
                ];
                for (these, portable) in pairs {
                    assert_eq!(these, portable);
                }
            }
            let read = for_each_lane!(i => V::<T, I>::read(rows[i * LANES..].as_ptr()));
            let square = V::<T, I>::transposed(read);
            for (j, vector) in square.iter().enumerate() {
                let column: Vec<T> = (0..LANES).map(|i| rows[i * LANES + j]).collect();
                assert_eq!(written(&|o| vector.write(o)), column);
            }
        }
    }

    #[expect(unsafe_code)]
    fn compare_conversions<I: Instructions>() {
        let values: [f32; LANES] = std::array::from_fn(|i| (i as f32 + 1.0) / 97.0);
        let numbers: [u16; LANES] = [0, 1, 2, 32_767, 32_768, 32_769, 65_534, 65_535];
        // SAFETY: the arrays are groups.
        let converted = unsafe {
            [I::widened(values.as_ptr()), I::numbers(numbers.as_ptr(), 0x7fff)].map(|vector| {
                let mut out = [0.0; LANES];
                vector.write(out.as_mut_ptr());
                out
            })
        };
        let expected = [0.0, 1.0, 2.0, 32_767.0, 0.0, 1.0, 32_766.0, 32_767.0];
        assert_eq!(converted, [values.map(f64::from), expected]);
    }

    impl Operation for Compare {
        fn run<I: Instructions>(self, _: I) {
            compare::<f64, I>();
            compare::<f32, I>();
            compare_conversions::<I>();
        }
    }

    #[test]
    fn all_instruction_sets_do_the_same() {
        for simd in Simd::all() {
            simd.run(Compare);
            assert_eq!(Simd::named(simd.name()).unwrap().name(), simd.name());
        }
        assert!(Simd::named("mmx").unwrap_err().to_string().contains("portable"));
    }
}
