//! The innermost loops: whole rows of values, a group at a time.
//!
//! A matrix in scratch memory has rows padded to whole groups and as many rows as its transpose needs;
//! a stored block has neither. Rows of stored blocks are read in whole groups all the same: what
//! is read beyond the end of a row lands in the padding of a scratch row, where nobody looks at it.
//!
//! Each function checks once that everything it will touch is there, and then runs without checks.
#![expect(unsafe_code)]

use crate::{
    value::{Group, Value, groups},
    vector::{Instructions, Vector},
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

impl<T: Value> StoredRows<'_, T> {
    /// Asks for the memory before the first row, as much as `rows` rows are: inner squares are swept
    /// in descending order, so the next block's rows are most likely there.
    #[inline(always)]
    pub fn prefetch_before<I: Instructions>(&self, instructions: I, rows: usize) {
        const LINE: usize = 64;
        const MOST_LINES: usize = 16;
        let start = self.values.as_ptr().cast::<u8>();
        let bytes = (rows * self.stride * size_of::<T>()).min(MOST_LINES * LINE);
        let mut at = 0;
        while at < bytes {
            at += LINE;
            instructions.prefetch(start.wrapping_sub(at));
        }
    }
}

/// Calls a function of a constant number of groups per row, 0 standing for any other.
macro_rules! with_constant_stride {
    ($stride:expr, $function:ident::<_ $(, $constant:literal)*>($($argument:expr),* $(,)?)) => {
        match $stride {
            1 => $function::<T, I, 1 $(, $constant)*>($($argument),*),
            2 => $function::<T, I, 2 $(, $constant)*>($($argument),*),
            3 => $function::<T, I, 3 $(, $constant)*>($($argument),*),
            4 => $function::<T, I, 4 $(, $constant)*>($($argument),*),
            _ => $function::<T, I, 0 $(, $constant)*>($($argument),*),
        }
    };
}

/// Sets the rows of `best` to the largest of 1 to 4 sources' rows.
#[inline(always)]
pub fn largest<T: Value, I: Instructions>(
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
fn largest_of<T: Value, I: Instructions, const STRIDE: usize, const SOURCES: usize>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    sources: [StoredRows<'_, T>; SOURCES],
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    assert!(best.len() >= rows * stride);
    assert!(sources.iter().all(|source| source.holds(rows, stride)));
    let best = best.as_mut_ptr();
    for p in 0..rows {
        for g in 0..stride {
            // SAFETY: p < rows and g < stride, so the group is one of those that `holds` and the
            // length of `best` were checked for.
            unsafe {
                let read = |s: &StoredRows<'_, T>| {
                    T::Vector::<I>::read(s.values.as_ptr().add(p * s.stride + g * T::LANES))
                };
                let mut top = read(&sources[0]);
                for source in &sources[1..] {
                    top = top.larger(read(source));
                }
                top.write(best.add(p * stride + g).cast());
            }
        }
    }
}

/// Takes the larger of a group and the values at an address.
///
/// # Safety
/// Both must be readable, and the group writable.
#[inline(always)]
unsafe fn raise_group<T: Value, I: Instructions>(best: *mut T::Group, from: *const T) {
    let best: *mut T = best.cast();
    // SAFETY: the caller promises it.
    unsafe { T::Vector::<I>::read(best).larger(T::Vector::<I>::read(from)).write(best) }
}

/// Takes the larger of `best` and a source, row by row.
#[inline(always)]
pub fn raise<T: Value, I: Instructions>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    source: StoredRows<'_, T>,
) {
    with_constant_stride!(stride, raise_rows::<_>(best, rows, stride, source));
}

#[inline(always)]
fn raise_rows<T: Value, I: Instructions, const STRIDE: usize>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    source: StoredRows<'_, T>,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    assert!(best.len() >= rows * stride && source.holds(rows, stride));
    let best = best.as_mut_ptr();
    for p in 0..rows {
        for g in 0..stride {
            // SAFETY: p < rows and g < stride, as checked above for `best` and `source`.
            unsafe {
                let from = source.values.as_ptr().add(p * source.stride + g * T::LANES);
                raise_group::<T, I>(best.add(p * stride + g), from);
            }
        }
    }
}

/// Takes for each pair (p, p') the larger of row p of `best` and row p' of a source that has
/// `source_rows` rows. The pairs ascend by p, and every p' is below `source_rows`.
#[inline(always)]
pub fn raise_mapped<T: Value, I: Instructions>(
    best: &mut [T::Group],
    stride: usize,
    pairs: &[(u32, u32)],
    source: StoredRows<'_, T>,
    source_rows: usize,
) {
    with_constant_stride!(stride, raise_mapped_rows::<_>(best, stride, pairs, source, source_rows));
}

#[inline(always)]
fn raise_mapped_rows<T: Value, I: Instructions, const STRIDE: usize>(
    best: &mut [T::Group],
    stride: usize,
    pairs: &[(u32, u32)],
    source: StoredRows<'_, T>,
    source_rows: usize,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let rows = pairs.last().map_or(0, |&(p, _)| p as usize + 1);
    assert!(best.len() >= rows * stride && source.holds(source_rows, stride));
    let best = best.as_mut_ptr();
    for &(p, after) in pairs {
        debug_assert!((p as usize) < rows && (after as usize) < source_rows);
        for g in 0..stride {
            // SAFETY: p < rows since the pairs ascend, and after < source_rows by the contract of
            // the row maps (asserted above in debug builds, and when the maps are made).
            unsafe {
                let at = after as usize * source.stride + g * T::LANES;
                let from = source.values.as_ptr().add(at);
                raise_group::<T, I>(best.add(p as usize * stride + g), from);
            }
        }
    }
}

/// What happens to a turned block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turned {
    /// It becomes the rows.
    Set,
    /// The rows take the larger of it and themselves.
    Raise,
}

/// Turns a stored block of the other orientation, `columns` rows of `source.stride` values, into
/// `rows` rows of the complements. With [`Turned::Set`] whole squares are written: the rows are
/// padded.
#[inline(always)]
pub fn turn<T: Value, I: Instructions>(
    source: StoredRows<'_, T>,
    to: &mut [T::Group],
    rows: usize,
    columns: usize,
    turned: Turned,
) {
    let (stride, square_rows) = (groups::<T>(columns), groups::<T>(rows));
    if rows == 0 {
        return;
    }
    assert!(columns > 0 && source.holds(columns, square_rows));
    assert!(to.len() >= square_rows * T::LANES * stride);
    match turned {
        Turned::Set => turn_squares::<T, I>(source, to, rows, columns, Turned::Set),
        Turned::Raise => turn_squares::<T, I>(source, to, rows, columns, Turned::Raise),
    }
}

#[inline(always)]
fn turn_squares<T: Value, I: Instructions>(
    source: StoredRows<'_, T>,
    to: &mut [T::Group],
    rows: usize,
    columns: usize,
    turned: Turned,
) {
    let (stride, square_rows) = (groups::<T>(columns), groups::<T>(rows));
    let whole = columns / T::LANES;
    for square_row in 0..square_rows {
        let rows = rows - square_row * T::LANES;
        // SAFETY: square_row is below square_rows, and the rows that are read below `columns`, as
        // `turn` has checked; so are the rows that are written.
        unsafe {
            let from = source.values.as_ptr().add(square_row * T::LANES);
            let to = to.as_mut_ptr().add(square_row * T::LANES * stride);
            for g in 0..whole {
                let from = from.add(g * T::LANES * source.stride);
                let square = T::Vector::<I>::read_transposed(|i| from.add(i * source.stride));
                put::<T, I>(&square, to.add(g), stride, rows, turned);
            }
            if whole < stride {
                let last = (columns - 1) * source.stride;
                let from = |i: usize| from.add(((whole * T::LANES + i) * source.stride).min(last));
                let square = T::Vector::<I>::read_transposed(from);
                put::<T, I>(&square, to.add(whole), stride, rows, turned);
            }
        }
    }
}

/// Puts a turned square where it belongs, raising only the first `rows` rows.
///
/// # Safety
/// The rows of the square must be writable, `stride` groups from one to the next.
#[inline(always)]
unsafe fn put<T: Value, I: Instructions>(
    square: &<T::Vector<I> as Vector<T>>::Square,
    to: *mut T::Group,
    stride: usize,
    rows: usize,
    turned: Turned,
) {
    let write = |j: usize, vector: &T::Vector<I>| {
        // SAFETY: the caller promises that the rows are writable; they are groups of values.
        unsafe {
            let to: *mut T = to.add(j * stride).cast();
            let mut vector = vector.complement();
            if turned == Turned::Raise {
                vector = T::Vector::<I>::read(to).larger(vector);
            }
            vector.write(to);
        }
    };
    let square = square.as_ref();
    if turned == Turned::Set || rows >= square.len() {
        square.iter().enumerate().for_each(|(j, group)| write(j, group));
    } else {
        square[..rows].iter().enumerate().for_each(|(j, group)| write(j, group));
    }
}

/// Writes the complement of a scratch matrix of `rows` x `columns` values, transposed. Both
/// matrices have whole squares of groups.
#[inline(always)]
pub fn transpose_complement<T: Value, I: Instructions>(
    from: &[T::Group],
    rows: usize,
    columns: usize,
    to: &mut [T::Group],
) {
    let (stride, to_stride) = (groups::<T>(columns), groups::<T>(rows));
    assert!(from.len() >= to_stride * T::LANES * stride);
    assert!(to.len() >= stride * T::LANES * to_stride);
    let (from, to) = (from.as_ptr(), to.as_mut_ptr());
    for square_row in 0..to_stride {
        for g in 0..stride {
            // SAFETY: the rows that are read are below to_stride * LANES, and those that are written
            // below stride * LANES, as checked above.
            unsafe {
                let from = from.add(square_row * T::LANES * stride + g);
                let to = to.add(g * T::LANES * to_stride + square_row);
                let square = T::Vector::<I>::read_transposed(|i| from.add(i * stride).cast());
                for (j, vector) in square.as_ref().iter().enumerate() {
                    vector.complement().write(to.add(j * to_stride).cast());
                }
            }
        }
    }
}

/// Takes for each pair (p, p') the larger of row p of `best` and row p' of `turned`, a matrix of
/// the same stride with `turned_rows` rows.
#[inline(always)]
pub fn raise_turned<T: Value, I: Instructions>(
    best: &mut [T::Group],
    stride: usize,
    pairs: &[(u32, u32)],
    turned: &[T::Group],
    turned_rows: usize,
) {
    let rows = pairs.last().map_or(0, |&(p, _)| p as usize + 1);
    assert!(best.len() >= rows * stride && turned.len() >= turned_rows * stride);
    let best = best.as_mut_ptr();
    for &(p, after) in pairs {
        debug_assert!((p as usize) < rows && (after as usize) < turned_rows);
        for g in 0..stride {
            // SAFETY: as in `raise_mapped`.
            unsafe {
                let from = turned.as_ptr().add(after as usize * stride + g);
                raise_group::<T, I>(best.add(p as usize * stride + g), from.cast());
            }
        }
    }
}

/// Reads a stored block into scratch rows.
#[inline(always)]
pub fn load<T: Value, I: Instructions>(
    to: &mut [T::Group],
    rows: usize,
    columns: usize,
    values: &[T],
) {
    let stride = groups::<T>(columns);
    let source = StoredRows { values, stride: columns };
    with_constant_stride!(stride, largest_of::<_, 1>(to, rows, stride, [source]));
}

/// Writes scratch rows to where a block is stored, and nothing beyond the block.
#[inline(always)]
pub fn store<T: Value, I: Instructions>(
    from: &[T::Group],
    rows: usize,
    columns: usize,
    values: &mut [T],
) {
    let stride = groups::<T>(columns);
    let len = rows * columns;
    assert!(from.len() >= rows * stride && values.len() >= len);
    for p in 0..rows {
        if p * columns + stride * T::LANES <= len {
            for g in 0..stride {
                // SAFETY: the group ends within the block. What it writes beyond its row is written
                // again with the rows that follow.
                unsafe {
                    let vector = T::Vector::<I>::read(from.as_ptr().add(p * stride + g).cast());
                    vector.write(values.as_mut_ptr().add(p * columns + g * T::LANES));
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
