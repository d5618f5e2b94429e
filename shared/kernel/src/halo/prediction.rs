//! Linear prediction: numbers in a row are sent as their differences from a prediction by those before them.
//!
//! Positions next to each other change alike. So a change is foretold from the two before it, by the predictor that
//! suits the strip best, and the remainder takes fewer bits (as in Shorten, Robinson 1994, and FLAC, for sound).

use bytemuck::Pod;

/// Prediction begins anew after so many numbers: several rows are restored side by side, since each
/// number waits for the one before it.
const ROW: usize = 512;

/// How many rows are restored side by side.
const ROWS: usize = 4;

/// A predictor is chosen by so many numbers in a row, out of every [`OF_SO_MANY`].
const SAMPLE: usize = 128;
const OF_SO_MANY: usize = 8 * SAMPLE;

/// Numbers to predict: integers that wrap around.
pub trait Number: Pod {
    /// The number.
    fn wide(self) -> i32;
    /// A number, without its higher bits.
    fn wrapped(number: i32) -> Self;
}

impl Number for i8 {
    fn wide(self) -> i32 {
        self.into()
    }

    fn wrapped(number: i32) -> Self {
        number as Self
    }
}

impl Number for i16 {
    fn wide(self) -> i32 {
        self.into()
    }

    fn wrapped(number: i32) -> Self {
        number as Self
    }
}

/// How many predictors there are.
const PREDICTORS: usize = 5;

/// Foretells a number as `A` quarters of the last one and `B` of the one before it, together.
struct Linear<const A: i32, const B: i32>;

/// The functions of a predictor; one of its own for each, since they are short.
struct Does<N> {
    left: fn(&[N], &mut [N]),
    restore: fn(&mut [N]),
    bits_left: fn(&[N]) -> u32,
}

impl<const A: i32, const B: i32> Linear<A, B> {
    const fn does<N: Number>() -> Does<N> {
        Does { left: Self::left, restore: Self::restore, bits_left: Self::bits_left }
    }

    #[inline(always)]
    fn next<N: Number>(last: N, before: N) -> i32 {
        (A * last.wide() + B * before.wide() + 2) >> 2
    }

    #[inline(always)]
    fn without<N: Number>(number: N, last: N, before: N) -> N {
        N::wrapped(number.wide() - Self::next(last, before))
    }

    fn left<N: Number>(numbers: &[N], left: &mut [N]) {
        let zero = N::zeroed();
        for (row, left) in numbers.chunks(ROW).zip(left.chunks_mut(ROW)) {
            left[0] = Self::without(row[0], zero, zero);
            if row.len() > 1 {
                left[1] = Self::without(row[1], row[0], zero);
                let before = row[1..].iter().zip(row);
                for ((left, &number), (&last, &before)) in
                    left[2..].iter_mut().zip(&row[2..]).zip(before)
                {
                    *left = Self::without(number, last, before);
                }
            }
        }
    }

    fn restore<N: Number>(numbers: &mut [N]) {
        for rows in numbers.chunks_mut(ROWS * ROW) {
            let mut before = [[N::zeroed(); 2]; ROWS];
            // Of the last rows, there may be less.
            let together = rows.len().saturating_sub((ROWS - 1) * ROW);
            for i in 0..together {
                for (row, before) in before.iter_mut().enumerate() {
                    Self::add(&mut rows[row * ROW + i], before);
                }
            }
            for (row, before) in rows.chunks_mut(ROW).zip(&mut before) {
                row[together..].iter_mut().for_each(|number| Self::add(number, before));
            }
        }
    }

    /// Restores a number from its remainder and the two before it.
    #[inline(always)]
    fn add<N: Number>(number: &mut N, [last, before]: &mut [N; 2]) {
        *number = N::wrapped(number.wide() + Self::next(*last, *before));
        (*last, *before) = (*number, *last);
    }

    /// About how many bits are left of numbers, in some unit.
    fn bits_left<N: Number>(numbers: &[N]) -> u32 {
        let before = numbers.iter().skip(1).zip(numbers);
        let left = numbers.iter().skip(2).zip(before).map(|(&number, (&last, &before))| {
            let left = Self::without(number, last, before).wide();
            // The bits of a floating-point number are nearly its logarithm (Mitchell 1962).
            (1.0 + left.abs() as f32).to_bits() >> 16
        });
        left.sum()
    }
}

/// A way to foretell numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predictor(u8);

impl Predictor {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..PREDICTORS as u8).map(Self)
    }

    fn does<N: Number>(self) -> Does<N> {
        let all: [Does<N>; PREDICTORS] = [
            Linear::<0, 0>::does(),
            Linear::<2, 0>::does(),
            Linear::<4, 0>::does(),
            Linear::<2, 1>::does(),
            Linear::<3, 1>::does(),
        ];
        all.into_iter().nth(self.0.into()).expect("a predictor that there is")
    }

    /// The predictor with a code, if there is one.
    pub fn with_code(code: u8) -> Option<Self> {
        Self::all().nth(code.into())
    }

    /// Its code on the wire.
    pub fn code(self) -> u8 {
        self.0
    }

    /// The one that leaves least of some numbers.
    pub fn best<N: Number>(numbers: &[N]) -> Self {
        let left = |predictor: &Self| -> u32 {
            let samples = numbers.chunks(OF_SO_MANY).map(|all| &all[..SAMPLE.min(all.len())]);
            samples.map(predictor.does().bits_left).sum()
        };
        Self::all().min_by_key(left).expect("there are some")
    }

    /// The remainders of numbers.
    pub fn left<N: Number>(self, numbers: &[N], left: &mut [N]) {
        (self.does().left)(numbers, left);
    }

    /// The numbers, in the place of their remainders.
    pub fn restore<N: Number>(self, numbers: &mut [N]) {
        (self.does().restore)(numbers);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn come_back<N: Number + PartialEq + std::fmt::Debug>(numbers: &[N]) {
        for predictor in Predictor::all() {
            let mut left = vec![N::zeroed(); numbers.len()];
            predictor.left(numbers, &mut left);
            predictor.restore(&mut left);
            assert_eq!(left, numbers);
        }
    }

    proptest! {
        #[test]
        fn all_numbers_come_back(
            bytes in prop::collection::vec(any::<i8>(), 0..3 * ROW * ROWS),
            words in prop::collection::vec(any::<i16>(), 0..2 * ROW),
        ) {
            come_back(&bytes);
            come_back(&words);
        }
    }

    #[test]
    fn what_changes_slowly_leaves_little() {
        let slow: Vec<i8> =
            (0..2000).map(|i| (100.0 * f64::from(i).mul_add(0.01, 0.3).sin()) as i8).collect();
        let mut left = vec![0; slow.len()];
        let best = Predictor::best(&slow);
        best.left(&slow, &mut left);
        let sum = |numbers: &[i8]| numbers.iter().map(|&n| i32::from(n).abs()).sum::<i32>();
        assert!(sum(&left) * 20 < sum(&slow));
        let noise: Vec<i8> =
            (0..2000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as i8).collect();
        assert_eq!(Predictor::best(&noise), Predictor(0));
    }

    #[test]
    fn codes_are_of_predictors() {
        assert!(Predictor::all().all(|one| Predictor::with_code(one.code()) == Some(one)));
        assert_eq!(Predictor::with_code(PREDICTORS as u8), None);
    }
}
