//! Linear prediction: numbers in a row are sent as their differences from a prediction by those before them.
//!
//! Positions next to each other change alike. So a change is predicted by the two before it, as half of the last one
//! and a quarter of the one before, and the remainder takes fewer bits (as in Shorten, Robinson 1994, and FLAC, for
//! sound).

use bytemuck::Pod;

/// Numbers are in so many rows, of which each is predicted by itself: they are restored side by side, since each number
/// waits for the one before it.
const ROWS: usize = 4;

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

/// The number that follows the last one and the one before it, as it is predicted.
#[inline(always)]
fn predicted<N: Number>(last: N, before: N) -> i32 {
    (2 * last.wide() + before.wide() + 2) >> 2
}

/// The length of rows; the last ones may have less.
fn row_of(numbers: usize) -> usize {
    numbers.div_ceil(ROWS).max(1)
}

/// The remainders of numbers.
pub fn remainders<N: Number>(numbers: &[N], remainders: &mut [N]) {
    let row = row_of(numbers.len());
    for (row, remainders) in numbers.chunks(row).zip(remainders.chunks_mut(row)) {
        let [mut last, mut before] = [N::zeroed(); 2];
        for (&number, remainder) in row.iter().zip(remainders) {
            *remainder = N::wrapped(number.wide() - predicted(last, before));
            (last, before) = (number, last);
        }
    }
}

/// The numbers, in the place of their remainders.
pub fn restore<N: Number>(numbers: &mut [N]) {
    let mut rows = numbers.chunks_mut(row_of(numbers.len()));
    let mut next = || rows.next().unwrap_or_default();
    let (one, two, three, four) = (next(), next(), next(), next());
    let mut before = [[N::zeroed(); 2]; ROWS];
    let [a, b, c, d] = &mut before;
    let together = four.len();
    let (first, one) = one.split_at_mut(together);
    let (second, two) = two.split_at_mut(together);
    let (third, three) = three.split_at_mut(together);
    for (((one, two), three), four) in first.iter_mut().zip(second).zip(third).zip(four) {
        add(one, a);
        add(two, b);
        add(three, c);
        add(four, d);
    }
    for (row, before) in [one, two, three].into_iter().zip(&mut before) {
        row.iter_mut().for_each(|number| add(number, before));
    }
}

/// Restores a number from its remainder and the two before it.
#[inline(always)]
fn add<N: Number>(number: &mut N, [last, before]: &mut [N; 2]) {
    *number = N::wrapped(number.wide() + predicted(*last, *before));
    (*last, *before) = (*number, *last);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn come_back<N: Number + PartialEq + std::fmt::Debug>(numbers: &[N]) {
        let mut left = vec![N::zeroed(); numbers.len()];
        remainders(numbers, &mut left);
        restore(&mut left);
        assert_eq!(left, numbers);
    }

    proptest! {
        #[test]
        fn all_numbers_come_back(
            bytes in prop::collection::vec(any::<i8>(), 0..4000),
            words in prop::collection::vec(any::<i16>(), 0..1000),
        ) {
            come_back(&bytes);
            come_back(&words);
        }
    }

    #[test]
    fn slow_changes_leave_small_remainders() {
        let slow: Vec<i8> =
            (0..2000).map(|i| (100.0 * f64::from(i).mul_add(0.01, 0.3).sin()) as i8).collect();
        let mut left = vec![0; slow.len()];
        remainders(&slow, &mut left);
        let sum = |numbers: &[i8]| numbers.iter().map(|&n| i32::from(n).abs()).sum::<i32>();
        assert!(sum(&left) * 3 < sum(&slow));
    }
}
