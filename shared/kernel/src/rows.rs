//! The innermost loops: whole rows of values, a group at a time.
//!
//! A matrix in scratch memory has rows padded to whole groups and as many rows as its transpose needs;
//! a stored block has neither. Rows of stored blocks are read in whole groups all the same: what
//! is read beyond the end of a row lands in the padding of a scratch row, where nobody looks at it.
//!
//! Each function checks once that everything it will touch is there, and then runs without checks.
#![expect(unsafe_code)]

use crate::{
    simd::Instructions,
    value::{Group, Value, groups},
};

/// Rows in stored values, from the first one on.
#[derive(Clone, Copy)]
pub struct StoredRows<'a, T> {
    /// The values, and padding.
    pub values: &'a [T],
    /// Values from row to row.
    pub stride: usize,
}

impl<T: Value> StoredRows<'_, T> {
    /// Whether `rows` rows of `stride` groups can be read.
    #[inline(always)]
    fn holds(&self, rows: usize, stride: usize) -> bool {
        rows == 0 || self.values.len() >= (rows - 1) * self.stride + stride * T::LANES
    }
}

/// Calls a function of a constant number of groups per row, 0 standing for any other.
macro_rules! with_constant_stride {
    ($stride:expr, $function:ident::<_ $(, $constant:literal)*>($($argument:expr),* $(,)?)) => {
        match $stride {
            1 => $function::<T, 1 $(, $constant)*>($($argument),*),
            2 => $function::<T, 2 $(, $constant)*>($($argument),*),
            3 => $function::<T, 3 $(, $constant)*>($($argument),*),
            4 => $function::<T, 4 $(, $constant)*>($($argument),*),
            _ => $function::<T, 0 $(, $constant)*>($($argument),*),
        }
    };
}

/// Sets the rows of `best` to the largest of 1 to 4 sources' rows.
#[inline(always)]
pub fn largest<T: Value>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    sources: &[StoredRows<'_, T>],
) {
    match *sources {
        [a] => with_constant_stride!(stride, largest_of::<_, 1>(best, rows, stride, [a])),
        [a, b] => with_constant_stride!(stride, largest_of::<_, 2>(best, rows, stride, [a, b])),
        [a, b, c] => {
            with_constant_stride!(stride, largest_of::<_, 3>(best, rows, stride, [a, b, c]));
        }
        [a, b, c, d] => {
            with_constant_stride!(stride, largest_of::<_, 4>(best, rows, stride, [a, b, c, d]));
        }
        _ => unreachable!("sources come in ones to fours"),
    }
}

#[inline(always)]
fn largest_of<T: Value, const STRIDE: usize, const SOURCES: usize>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    sources: [StoredRows<'_, T>; SOURCES],
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    assert!(best.len() >= rows * stride);
    assert!(sources.iter().all(|source| source.holds(rows, stride)));
    for p in 0..rows {
        for g in 0..stride {
            // SAFETY: p < rows and g < stride, so the group is one of those that `holds` and the
            // length of `best` were checked for.
            unsafe {
                let read = |s: &StoredRows<'_, T>| {
                    T::Group::read(s.values.as_ptr().add(p * s.stride + g * T::LANES))
                };
                let mut top = read(&sources[0]);
                for source in &sources[1..] {
                    top = top.larger(read(source));
                }
                *best.get_unchecked_mut(p * stride + g) = top;
            }
        }
    }
}

/// Takes the larger of `best` and a source, row by row.
#[inline(always)]
pub fn raise<T: Value>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    source: StoredRows<'_, T>,
) {
    with_constant_stride!(stride, raise_rows::<_>(best, rows, stride, source));
}

#[inline(always)]
fn raise_rows<T: Value, const STRIDE: usize>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    source: StoredRows<'_, T>,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    assert!(best.len() >= rows * stride && source.holds(rows, stride));
    for p in 0..rows {
        for g in 0..stride {
            // SAFETY: p < rows and g < stride, as checked above for `best` and `source`.
            unsafe {
                let offered =
                    T::Group::read(source.values.as_ptr().add(p * source.stride + g * T::LANES));
                let best = best.get_unchecked_mut(p * stride + g);
                *best = best.larger(offered);
            }
        }
    }
}

/// Takes for each pair (p, p') the larger of row p of `best` and row p' of a source that has
/// `source_rows` rows. The pairs ascend by p, and every p' is below `source_rows`.
#[inline(always)]
pub fn raise_mapped<T: Value>(
    best: &mut [T::Group],
    stride: usize,
    pairs: &[(u32, u32)],
    source: StoredRows<'_, T>,
    source_rows: usize,
) {
    with_constant_stride!(stride, raise_mapped_rows::<_>(best, stride, pairs, source, source_rows));
}

#[inline(always)]
fn raise_mapped_rows<T: Value, const STRIDE: usize>(
    best: &mut [T::Group],
    stride: usize,
    pairs: &[(u32, u32)],
    source: StoredRows<'_, T>,
    source_rows: usize,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let rows = pairs.last().map_or(0, |&(p, _)| p as usize + 1);
    assert!(best.len() >= rows * stride && source.holds(source_rows, stride));
    for &(p, after) in pairs {
        debug_assert!((p as usize) < rows && (after as usize) < source_rows);
        for g in 0..stride {
            // SAFETY: p < rows since the pairs ascend, and after < source_rows by the contract of
            // the row maps (asserted above in debug builds, and when the maps are made).
            unsafe {
                let at = after as usize * source.stride + g * T::LANES;
                let offered = T::Group::read(source.values.as_ptr().add(at));
                let best = best.get_unchecked_mut(p as usize * stride + g);
                *best = best.larger(offered);
            }
        }
    }
}

/// Turns a stored block of the other orientation, `columns` rows of `source.stride` values, into
/// rows of the complements, and hands them out: `row(p, g, group)` for p below `rows`, padded.
#[inline(always)]
pub fn turn<T: Value, I: Instructions>(
    instructions: I,
    source: StoredRows<'_, T>,
    rows: usize,
    columns: usize,
    mut give: impl FnMut(usize, usize, T::Group),
) {
    let square_rows = groups::<T>(rows);
    assert!(rows > 0 && columns > 0 && source.holds(columns, square_rows));
    for square_row in 0..square_rows {
        for g in 0..groups::<T>(columns) {
            let mut square = T::Group::splat(T::ONE).square();
            for (i, group) in square.as_mut().iter_mut().enumerate() {
                let q = (g * T::LANES + i).min(columns - 1);
                // SAFETY: q < columns and square_row < square_rows, as checked above.
                *group = unsafe {
                    T::Group::read(
                        source.values.as_ptr().add(q * source.stride + square_row * T::LANES),
                    )
                };
            }
            let turned = T::Group::transpose(instructions, &square);
            for (j, group) in turned.as_ref().iter().enumerate() {
                give(square_row * T::LANES + j, g, group.complement());
            }
        }
    }
}

/// Writes the complement of a scratch matrix of `rows` x `columns` values, transposed. Both
/// matrices have whole squares of groups.
#[inline(always)]
pub fn transpose_complement<T: Value, I: Instructions>(
    instructions: I,
    from: &[T::Group],
    rows: usize,
    columns: usize,
    to: &mut [T::Group],
) {
    let (stride, to_stride) = (groups::<T>(columns), groups::<T>(rows));
    assert!(from.len() >= to_stride * T::LANES * stride);
    assert!(to.len() >= stride * T::LANES * to_stride);
    for square_row in 0..to_stride {
        for g in 0..stride {
            let mut square = T::Group::splat(T::ONE).square();
            for (i, group) in square.as_mut().iter_mut().enumerate() {
                // SAFETY: the row is below to_stride * LANES, as checked above.
                *group = unsafe { *from.get_unchecked((square_row * T::LANES + i) * stride + g) };
            }
            let turned = T::Group::transpose(instructions, &square);
            for (j, group) in turned.as_ref().iter().enumerate() {
                // SAFETY: the row is below stride * LANES, as checked above.
                unsafe {
                    *to.get_unchecked_mut((g * T::LANES + j) * to_stride + square_row) =
                        group.complement();
                }
            }
        }
    }
}

/// Reads a stored block into scratch rows.
#[inline(always)]
pub fn load<T: Value>(to: &mut [T::Group], rows: usize, columns: usize, values: &[T]) {
    let stride = groups::<T>(columns);
    let source = StoredRows { values, stride: columns };
    with_constant_stride!(stride, largest_of::<_, 1>(to, rows, stride, [source]));
}

/// Writes scratch rows to where a block is stored, and nothing beyond the block.
#[inline(always)]
pub fn store<T: Value>(from: &[T::Group], rows: usize, columns: usize, values: &mut [T]) {
    let stride = groups::<T>(columns);
    let len = rows * columns;
    assert!(from.len() >= rows * stride && values.len() >= len);
    for p in 0..rows {
        let end = p * columns + stride * T::LANES;
        if end <= len {
            for g in 0..stride {
                // SAFETY: the group ends at or before `end`, within the block. What it writes
                // beyond its row is written again with the rows that follow.
                unsafe {
                    let group = *from.get_unchecked(p * stride + g);
                    group.write(values.as_mut_ptr().add(p * columns + g * T::LANES));
                }
            }
        } else {
            let row = &mut values[p * columns..(p + 1) * columns];
            for (part, group) in row.chunks_mut(T::LANES).zip(&from[p * stride..]) {
                part.copy_from_slice(&group.lanes()[..part.len()]);
            }
        }
    }
}
