//! Which vector instructions the kernel runs on.
//!
//! The kernel is written once, over groups of 32 bytes; for each instruction set it is compiled
//! again. Additions, multiplications and maxima keep their order and nothing is fused, so the
//! results are bit-identical for all of them. Only the transposition of a square of groups, which
//! computes nothing, is written with an instruction set in mind.

use pulp::NullaryFnOnce;
use thiserror::Error;

/// A choice of vector instructions that this machine has.
#[derive(Clone, Copy, Debug)]
pub struct Simd(Level);

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

    /// Runs an operation compiled for these instructions.
    #[inline(always)]
    pub(crate) fn run<F: Operation>(self, operation: F) {
        match self.0 {
            Level::Portable => operation.run(Portable),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(v3) => v3.vectorize(On { operation, instructions: Avx(v3) }),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(v4) => v4.vectorize(On { operation, instructions: Avx(*v4) }),
        }
    }
}

/// Something to be compiled for every instruction set; its code must be inlined into `run`.
pub(crate) trait Operation {
    /// Does it.
    fn run<I: Instructions>(self, instructions: I);
}

struct On<F, I> {
    operation: F,
    instructions: I,
}

impl<F: Operation, I: Instructions> NullaryFnOnce for On<F, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.operation.run(self.instructions);
    }
}

/// What is written with an instruction set in mind.
pub(crate) trait Instructions: Copy {
    /// The transpose of 4 x 4 values.
    fn transpose_f64(self, rows: [[f64; 4]; 4]) -> [[f64; 4]; 4];
    /// The transpose of 8 x 8 values.
    fn transpose_f32(self, rows: [[f32; 8]; 8]) -> [[f32; 8]; 8];
}

/// Whatever the target has always.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn transpose_f64(self, rows: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        std::array::from_fn(|j| std::array::from_fn(|i| rows[i][j]))
    }

    #[inline(always)]
    fn transpose_f32(self, rows: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
        std::array::from_fn(|j| std::array::from_fn(|i| rows[i][j]))
    }
}

/// AVX2 or more.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx(pulp::x86::V3);

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx {
    #[inline(always)]
    fn transpose_f64(self, rows: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        let avx = self.0.avx;
        let [a, b, c, d] = rows.map(pulp::cast);
        let (ab0, ab1) = (avx._mm256_unpacklo_pd(a, b), avx._mm256_unpackhi_pd(a, b));
        let (cd0, cd1) = (avx._mm256_unpacklo_pd(c, d), avx._mm256_unpackhi_pd(c, d));
        [
            avx._mm256_permute2f128_pd::<0x20>(ab0, cd0),
            avx._mm256_permute2f128_pd::<0x20>(ab1, cd1),
            avx._mm256_permute2f128_pd::<0x31>(ab0, cd0),
            avx._mm256_permute2f128_pd::<0x31>(ab1, cd1),
        ]
        .map(pulp::cast)
    }

    #[inline(always)]
    fn transpose_f32(self, rows: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
        let avx = self.0.avx;
        let [a, b, c, d, e, f, g, h] = rows.map(pulp::cast);
        // 4 x 4 squares within the halves of the rows ...
        let quad = |a, b, c, d| {
            let (ab0, ab1) = (avx._mm256_unpacklo_ps(a, b), avx._mm256_unpackhi_ps(a, b));
            let (cd0, cd1) = (avx._mm256_unpacklo_ps(c, d), avx._mm256_unpackhi_ps(c, d));
            [
                avx._mm256_shuffle_ps::<0x44>(ab0, cd0),
                avx._mm256_shuffle_ps::<0xee>(ab0, cd0),
                avx._mm256_shuffle_ps::<0x44>(ab1, cd1),
                avx._mm256_shuffle_ps::<0xee>(ab1, cd1),
            ]
        };
        let (top, bottom) = (quad(a, b, c, d), quad(e, f, g, h));
        // ... and the halves themselves.
        let low = |i: usize| avx._mm256_permute2f128_ps::<0x20>(top[i], bottom[i]);
        let high = |i: usize| avx._mm256_permute2f128_ps::<0x31>(top[i], bottom[i]);
        [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)].map(pulp::cast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Transpose;

    impl Operation for Transpose {
        fn run<I: Instructions>(self, instructions: I) {
            let rows: [[f64; 4]; 4] =
                std::array::from_fn(|i| std::array::from_fn(|j| (10 * i + j) as f64));
            assert_eq!(instructions.transpose_f64(rows), Portable.transpose_f64(rows));
            assert_eq!(instructions.transpose_f64(rows)[1][3], 31.0);
            let rows: [[f32; 8]; 8] =
                std::array::from_fn(|i| std::array::from_fn(|j| (10 * i + j) as f32));
            assert_eq!(instructions.transpose_f32(rows), Portable.transpose_f32(rows));
            assert_eq!(instructions.transpose_f32(rows)[2][7], 72.0);
        }
    }

    #[test]
    fn all_instruction_sets_transpose() {
        for simd in Simd::all() {
            simd.run(Transpose);
            assert_eq!(Simd::named(simd.name()).unwrap().name(), simd.name());
        }
        assert!(Simd::named("mmx").unwrap_err().to_string().contains("portable"));
    }
}
