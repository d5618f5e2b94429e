//! Transposition: values stored by the opponent's rows, as rows of the mover.
//!
//! Values are transposed in squares of as many rows as a group has lanes, and negated on the way: they are then those
//! of the other player. The largest of several negated values is the smallest one negated, so several sources are
//! transposed at once.
#![expect(unsafe_code)]

use crate::{
    moves::layout::Block,
    simd::{
        value::{Group, Value, groups},
        vector::{Instructions, LANES, Vector, for_each_lane},
    },
};

/// Calls a function for constant numbers of groups per row of both matrices, 0 standing for any other.
macro_rules! with_constant_strides {
    ($strides:expr, $function:ident::<_ $(, $constant:ident)*>($($argument:expr),* $(,)?)) => {
        match $strides {
            (1, 1) => $function::<T, I, 1, 1 $(, $constant)*>($($argument),*),
            (1, 2) => $function::<T, I, 1, 2 $(, $constant)*>($($argument),*),
            (2, 1) => $function::<T, I, 2, 1 $(, $constant)*>($($argument),*),
            (2, 2) => $function::<T, I, 2, 2 $(, $constant)*>($($argument),*),
            _ => $function::<T, I, 0, 0 $(, $constant)*>($($argument),*),
        }
    };
}

/// Sets `rows` rows to the transposed least of the sources, blocks of the other orientation: `columns`
/// rows of `source_stride` values. Rows are padded to whole squares.
#[inline(always)]
pub fn set<T: Value, I: Instructions, const SOURCES: usize>(
    instructions: I,
    sources: [&[T]; SOURCES],
    source_stride: usize,
    to: &mut [T::Group],
    size: (usize, usize),
) {
    transpose_sources::<T, I, SOURCES, false>(instructions, sources, source_stride, to, size);
}

/// Takes the larger of `rows` rows and the transposed least of the sources, as [`set`] does.
#[inline(always)]
pub fn raise<T: Value, I: Instructions, const SOURCES: usize>(
    instructions: I,
    sources: [&[T]; SOURCES],
    source_stride: usize,
    to: &mut [T::Group],
    size: (usize, usize),
) {
    transpose_sources::<T, I, SOURCES, true>(instructions, sources, source_stride, to, size);
}

/// How many values of a source [`set`] and [`raise`] need to transpose whole squares.
#[inline(always)]
pub fn reach(source_stride: usize, (rows, columns): (usize, usize)) -> usize {
    (groups(columns) * LANES - 1) * source_stride + groups(rows) * LANES
}

#[inline(always)]
fn transpose_sources<T: Value, I: Instructions, const SOURCES: usize, const RAISE: bool>(
    instructions: I,
    sources: [&[T]; SOURCES],
    source_stride: usize,
    to: &mut [T::Group],
    (rows, columns): (usize, usize),
) {
    if source_stride == 1 {
        return transpose_row::<T, I, SOURCES, RAISE>(sources, to, columns);
    }
    let strides = (groups(rows), groups(columns));
    let (square_rows, stride) = strides;
    assert!(rows > 0 && columns > 0 && rows <= source_stride);
    assert!(to.len() >= square_rows * LANES * stride);
    let needed = reach(source_stride, (rows, columns));
    if sources.iter().any(|source| source.len() < needed) {
        debug_assert!(RAISE || SOURCES == 1, "each would be set over the one before");
        for source in sources {
            transpose_one_by_one::<T, RAISE>(source, source_stride, to, (rows, columns));
        }
        return;
    }
    if SOURCES > 1 && !RAISE {
        // Rare: worth no variants of their own.
        let general = transpose_source_squares::<T, I, 0, 0, SOURCES, RAISE>;
        return general(instructions, sources, source_stride, to, strides);
    }
    with_constant_strides!(
        strides,
        transpose_source_squares::<_, SOURCES, RAISE>(
            instructions,
            sources,
            source_stride,
            to,
            strides
        )
    );
}

#[inline(always)]
fn transpose_source_squares<
    T: Value,
    I: Instructions,
    const SQUARE_ROWS: usize,
    const STRIDE: usize,
    const SOURCES: usize,
    const RAISE: bool,
>(
    instructions: I,
    sources: [&[T]; SOURCES],
    source_stride: usize,
    to: &mut [T::Group],
    (square_rows, stride): (usize, usize),
) {
    let (square_rows, stride) =
        if STRIDE == 0 { (square_rows, stride) } else { (SQUARE_ROWS, STRIDE) };
    let to: *mut T::Group = to.as_mut_ptr();
    for g in 0..stride {
        for square_row in 0..square_rows {
            // SAFETY: whole squares can be read and written, as `transpose_sources` has checked.
            unsafe {
                let from = square_row * LANES + g * LANES * source_stride;
                let to = to.add(square_row * LANES * stride + g);
                let rows =
                    for_each_lane!(i => least::<T, I, SOURCES>(&sources, from + i * source_stride));
                if STRIDE == 0 {
                    for row in LANES..2 * LANES {
                        for source in sources {
                            let ahead = source.as_ptr().wrapping_add(from + row * source_stride);
                            instructions.prefetch(ahead.cast());
                        }
                    }
                }
                put_square::<T, I, RAISE>(&T::Vector::<I>::transposed(rows), to, stride);
            }
        }
    }
}

/// The least of the sources, at a place of each.
///
/// # Safety
/// A group must be readable there.
#[inline(always)]
unsafe fn least<T: Value, I: Instructions, const SOURCES: usize>(
    sources: &[&[T]; SOURCES],
    at: usize,
) -> T::Vector<I> {
    // SAFETY: the caller promises it.
    unsafe {
        let mut least = T::Vector::<I>::read(sources[0].as_ptr().add(at));
        for source in &sources[1..] {
            least = least.smaller(T::Vector::<I>::read(source.as_ptr().add(at)));
        }
        least
    }
}

/// Puts the negated values of a transposed square where they belong.
///
/// # Safety
/// The rows of the square must be readable and writable, `stride` groups from one to the next.
#[inline(always)]
unsafe fn put_square<T: Value, I: Instructions, const RAISE: bool>(
    square: &[T::Vector<I>; LANES],
    to: *mut T::Group,
    stride: usize,
) {
    for (i, vector) in square.iter().enumerate() {
        // SAFETY: the caller promises it.
        unsafe {
            let to: *mut T = to.add(i * stride).cast();
            let vector = vector.negated();
            if RAISE { T::Vector::<I>::read(to).larger(vector) } else { vector }.write(to);
        }
    }
}

/// [`transpose_sources`] for sources that are one column, and so are one row, too.
#[inline(always)]
fn transpose_row<T: Value, I: Instructions, const SOURCES: usize, const RAISE: bool>(
    sources: [&[T]; SOURCES],
    to: &mut [T::Group],
    len: usize,
) {
    assert!(sources.iter().all(|source| source.len() >= groups(len) * LANES));
    for (i, to) in to[..groups(len)].iter_mut().enumerate() {
        let to: *mut T = std::ptr::from_mut(to).cast();
        // SAFETY: all are whole groups, as asserted.
        unsafe {
            let offered = least::<T, I, SOURCES>(&sources, i * LANES).negated();
            if RAISE { T::Vector::<I>::read(to).larger(offered) } else { offered }.write(to);
        }
    }
}

/// [`transpose_sources`] for a block so close to the end of an array that no whole squares can be read.
#[inline(never)]
fn transpose_one_by_one<T: Value, const RAISE: bool>(
    source: &[T],
    source_stride: usize,
    to: &mut [T::Group],
    (rows, columns): (usize, usize),
) {
    let stride = groups(columns);
    for p in 0..rows {
        for q in 0..columns {
            let value = source[q * source_stride + p].negated();
            let to = &mut to[p * stride + q / LANES].lanes_mut()[q % LANES];
            *to = if RAISE { to.larger(value) } else { value };
        }
    }
}

/// Writes a block's scratch matrix at `from`, transposed and negated, to the one at `to`. They
/// do not overlap.
#[inline(always)]
pub fn transpose_negated<T: Value, I: Instructions>(
    scratch: &mut [T::Group],
    block: &Block,
    from: usize,
    to: usize,
) {
    let area = if block.is_flat() { block.stride } else { block.area() };
    assert!(scratch.len() >= from.max(to) + area && from.abs_diff(to) >= area);
    let first: *mut T::Group = scratch.as_mut_ptr();
    // SAFETY: both matrices have `area` groups, at least one, within the slice.
    let (from, to) = unsafe { (first.add(from).cast_const(), first.add(to)) };
    if block.is_flat() {
        for i in 0..area {
            // SAFETY: as just said.
            unsafe { T::Vector::<I>::read(from.add(i).cast()).negated().write(to.add(i).cast()) };
        }
        return;
    }
    let strides = (block.stride, groups(block.rows));
    assert!(area == strides.0 * LANES * strides.1);
    // SAFETY: both matrices have so many groups.
    unsafe { with_constant_strides!(strides, transpose_squares::<_>(from, to, strides)) }
}

/// Transposes squares and negates them.
///
/// # Safety
/// Both matrices must have the product of the strides in squares.
#[inline(always)]
unsafe fn transpose_squares<
    T: Value,
    I: Instructions,
    const STRIDE: usize,
    const TO_STRIDE: usize,
>(
    from: *const T::Group,
    to: *mut T::Group,
    (stride, to_stride): (usize, usize),
) {
    let (stride, to_stride) = if STRIDE == 0 { (stride, to_stride) } else { (STRIDE, TO_STRIDE) };
    for square_row in 0..to_stride {
        for g in 0..stride {
            // SAFETY: the rows that are read are below to_stride * LANES, and those that are written
            // below stride * LANES.
            unsafe {
                let from = from.add(square_row * LANES * stride + g);
                let to = to.add(g * LANES * to_stride + square_row);
                let rows = for_each_lane!(i => T::Vector::<I>::read(from.add(i * stride).cast()));
                let square = T::Vector::<I>::transposed(rows);
                put_square::<T, I, false>(&square, to, to_stride);
            }
        }
    }
}

/// Takes for each pair (p, p') the larger of row p of `best` and row p' of `transposed`, both of
/// `stride` groups per row.
#[inline(always)]
pub fn raise_pairs<T: Value, I: Instructions>(
    best: &mut [T::Group],
    stride: usize,
    pairs: &[(u32, u32)],
    transposed: &[T::Group],
) {
    for &(p, after) in pairs {
        let best = &mut best[p as usize * stride..][..stride];
        let transposed = &transposed[after as usize * stride..][..stride];
        for (best, transposed) in best.iter_mut().zip(transposed) {
            let best: *mut T = std::ptr::from_mut(best).cast();
            // SAFETY: both are groups.
            unsafe {
                let offered = T::Vector::<I>::read(std::ptr::from_ref(transposed).cast());
                T::Vector::<I>::read(best).larger(offered).write(best);
            }
        }
    }
}
