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
    /// Asks for the memory of the first rows. What follows comes by itself once they are read.
    #[inline(always)]
    pub fn prefetch<I: Instructions>(&self, instructions: I, rows: usize) {
        const LINE: usize = 64;
        const MOST_BYTES: usize = 32 * LINE;
        let start = self.values.as_ptr().cast::<u8>();
        let bytes = (rows * self.stride * size_of::<T>()).min(MOST_BYTES);
        let mut at = 0;
        while at < bytes {
            instructions.prefetch(start.wrapping_add(at));
            at += LINE;
        }
    }
}

/// Calls a function of a constant number of groups per row, 0 standing for any other.
macro_rules! with_constant_stride {
    ($stride:expr, $function:ident::<_ $(, $constant:literal)*>($($argument:expr),* $(,)?)) => {
        match $stride {
            1 => $function::<T, I, 1 $(, $constant)*>($($argument),*),
            2 => $function::<T, I, 2 $(, $constant)*>($($argument),*),
                _ => $function::<T, I, 0 $(, $constant)*>($($argument),*),
        }
    };
}

/// Sets the rows of `best` to the largest of the sources' rows.
#[inline(always)]
pub fn largest<T: Value, I: Instructions, const SOURCES: usize>(
    best: &mut [T::Group],
    rows: usize,
    stride: usize,
    sources: [StoredRows<'_, T>; SOURCES],
) {
    match stride {
        1 => largest_of::<T, I, 1, SOURCES>(best, rows, stride, sources),
        2 => largest_of::<T, I, 2, SOURCES>(best, rows, stride, sources),
        _ => largest_of::<T, I, 0, SOURCES>(best, rows, stride, sources),
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
    if !source.holds(stride * T::LANES, square_rows) {
        return turn_one_by_one(source, to, rows, columns, turned);
    }
    match turned {
        Turned::Set => turn_squares::<T, I, true>(source, to, square_rows * T::LANES, stride),
        Turned::Raise => turn_squares::<T, I, false>(source, to, rows, stride),
    }
}

/// [`turn`] for a block so close to the end of an array that no whole squares can be read.
#[inline(never)]
fn turn_one_by_one<T: Value>(
    source: StoredRows<'_, T>,
    to: &mut [T::Group],
    rows: usize,
    columns: usize,
    turned: Turned,
) {
    let stride = groups::<T>(columns);
    for p in 0..rows {
        for q in 0..columns {
            let value = T::ONE.minus(source.values[q * source.stride + p]);
            let to = &mut to[p * stride + q / T::LANES].lanes_mut()[q % T::LANES];
            *to = if turned == Turned::Set { value } else { to.larger(value) };
        }
    }
}

/// Turns whole squares into `rows` rows of `stride` groups.
#[inline(always)]
fn turn_squares<T: Value, I: Instructions, const SET: bool>(
    source: StoredRows<'_, T>,
    to: &mut [T::Group],
    rows: usize,
    stride: usize,
) {
    for square_row in 0..groups::<T>(rows) {
        let rows = rows - square_row * T::LANES;
        // SAFETY: `turn` has checked that whole squares can be read and written.
        unsafe {
            let mut from = source.values.as_ptr().add(square_row * T::LANES);
            let to = to.as_mut_ptr().add(square_row * T::LANES * stride);
            for g in 0..stride {
                let square = T::Vector::<I>::read_transposed(|i| from.add(i * source.stride));
                put::<T, I, SET>(&square, to.add(g), stride, rows);
                from = from.add(T::LANES * source.stride);
            }
        }
    }
}

/// Puts the complements of a turned square where they belong, raising only the first `rows` rows
/// unless they are `SET`.
///
/// # Safety
/// The rows of the square must be writable, `stride` groups from one to the next.
#[inline(always)]
unsafe fn put<T: Value, I: Instructions, const SET: bool>(
    square: &<T::Vector<I> as Vector<T>>::Square,
    to: *mut T::Group,
    stride: usize,
    rows: usize,
) {
    let square = square.as_ref();
    let mut at: *mut T = to.cast();
    if SET || rows >= square.len() {
        for vector in square {
            // SAFETY: the caller promises that the rows are writable; they are groups of values.
            unsafe {
                let vector = vector.complement();
                if SET { vector } else { T::Vector::<I>::read(at).larger(vector) }.write(at);
                at = at.add(stride * T::LANES);
            }
        }
    } else {
        for vector in &square[..rows] {
            // SAFETY: as above.
            unsafe {
                T::Vector::<I>::read(at).larger(vector.complement()).write(at);
                at = at.add(stride * T::LANES);
            }
        }
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
    largest::<T, I, 1>(to, rows, stride, [source]);
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
    let mut left = len;
    let mut from: *const T = from.as_ptr().cast();
    let mut to = values.as_mut_ptr();
    for _ in 0..rows {
        for g in 0..stride {
            let at = g * T::LANES;
            // SAFETY: `left` values of the block are still to be written, from `to` on. What a group
            // writes beyond its row is written again with the rows that follow.
            unsafe {
                let vector = T::Vector::<I>::read(from.add(at));
                if at + T::LANES <= left {
                    vector.write(to.add(at));
                } else {
                    vector.write_first(to.add(at), left - at);
                }
            }
        }
        left -= columns;
        // SAFETY: the next row, or the end of the last one.
        unsafe {
            from = from.add(stride * T::LANES);
            to = to.add(columns);
        }
    }
}
