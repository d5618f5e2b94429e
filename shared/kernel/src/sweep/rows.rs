//! The innermost loops: whole rows of values, a group at a time.
//!
//! A slab in scratch memory has rows padded to whole groups, and matrices of as many rows as their
//! transposes need; a stored slab has neither. Rows of stored slabs are read in whole groups all the
//! same: values that are read beyond the end of a row land in the padding of a scratch row, where nobody
//! looks at it.
//!
//! Each function checks once that everything it will touch is there, and then runs without checks.
#![expect(unsafe_code)]

use std::ops::Range;

use crate::{
    moves::lists::{Extent, RowList, RowMove, ValueList, line_values},
    simd::{
        value::{Group, Value},
        vector::{Instructions, LANES, Vector},
    },
    sweep::sources::ValueReader,
};

/// Calls a function of a constant number of groups per row, 0 standing for any other.
macro_rules! with_constant_stride {
    ($stride:expr, $function:ident::<_ $(, $constant:tt)*>($($argument:expr),* $(,)?)) => {
        match $stride {
            1 => $function::<T, I, 1 $(, $constant)*>($($argument),*),
            2 => $function::<T, I, 2 $(, $constant)*>($($argument),*),
            _ => $function::<T, I, 0 $(, $constant)*>($($argument),*),
        }
    };
}

/// Asks for the memory of so many values of a source.
#[inline(always)]
pub fn ask_all<T: Value, I: Instructions>(
    instructions: I,
    source: impl ValueReader<T>,
    places: Range<usize>,
) {
    for at in places.step_by(line_values::<T>()) {
        source.ask(instructions, at);
    }
}

/// Asks for the memory of a source that a list needs, but for long rows: these are asked for while others are taken, so
/// that the cache holds them until then.
#[inline(always)]
pub fn ask<T: Value, I: Instructions>(instructions: I, list: &Extent, source: impl ValueReader<T>) {
    for &at in list.lines::<T>() {
        source.ask(instructions, at as usize);
    }
}

/// While a long row is taken, the memory of the row so many further down the list is asked for.
const ROWS_AHEAD: usize = 4;

/// Asks for the memory of the row that follows [`ROWS_AHEAD`] rows later, if rows are long.
#[inline(always)]
fn ask_ahead<T: Value, I: Instructions, const STRIDE: usize>(
    instructions: I,
    stride: usize,
    (rows, i): (&[RowMove], usize),
    source: impl ValueReader<T>,
) {
    if STRIDE == 0
        && let Some(row) = rows.get(i + ROWS_AHEAD)
    {
        ask_row(instructions, stride, *row, source);
    }
}

/// Asks for the memory of a row.
#[inline(always)]
fn ask_row<T: Value, I: Instructions>(
    instructions: I,
    stride: usize,
    row: RowMove,
    source: impl ValueReader<T>,
) {
    let from = row.from as usize;
    ask_all(instructions, source, from..from + stride * LANES);
}

/// Sets the rows of a list to a value.
#[inline(always)]
pub fn fill<T: Value>(slab: &mut [T::Group], list: &RowList, value: T) {
    for (stride, rows) in list.runs() {
        fill_each::<T>(slab, stride, rows.iter(), value);
    }
}

/// Sets rows of so many groups to a value; short ones, which most are, without a loop.
#[inline(always)]
fn fill_each<'a, T: Value>(
    slab: &mut [T::Group],
    stride: usize,
    rows: impl Iterator<Item = &'a RowMove>,
    value: T,
) {
    let group = T::Group::splat(value);
    let to = rows.map(|row| row.to as usize);
    match stride {
        1 => to.for_each(|to| slab[to] = group),
        2 => to.for_each(|to| slab[to..][..2].fill(group)),
        _ => to.for_each(|to| slab[to..][..stride].fill(group)),
    }
}

/// Sets the rows of lists that all have the same ones to the largest of their sources' rows.
#[inline(always)]
pub fn set<T: Value, I: Instructions, S: ValueReader<T>, const N: usize>(
    instructions: I,
    slab: &mut [T::Group],
    sources: [(&RowList, S); N],
) {
    assert!(sources.iter().all(|(list, source)| source.has(list.extent().source_reach())));
    assert!(slab.len() >= sources[0].0.extent().reach());
    for (stride, rows) in RowList::runs_together(sources.map(|(list, _)| list)) {
        let sources = sources.map(|(_, source)| source);
        let of_stride = (stride, rows);
        with_constant_stride!(stride, set_rows::<_, S, N>(instructions, slab, of_stride, sources));
    }
}

#[inline(always)]
fn set_rows<T: Value, I: Instructions, const STRIDE: usize, S: ValueReader<T>, const N: usize>(
    instructions: I,
    slab: &mut [T::Group],
    (stride, rows): (usize, [&[RowMove]; N]),
    sources: [S; N],
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let to: *mut T::Group = slab.as_mut_ptr();
    let rows = rows.map(|of_source| &of_source[..rows[0].len()]);
    for (i, row) in rows[0].iter().enumerate() {
        let to_row = row.to as usize;
        for k in 0..N {
            ask_ahead::<T, I, STRIDE>(instructions, stride, (rows[k], i), sources[k]);
        }
        let from: [usize; N] = std::array::from_fn(|k| rows[k][i].from as usize);
        for g in 0..stride {
            // SAFETY: the reach of the lists, which `set` has checked, is beyond all their rows, and
            // their `to` rows are those of the first.
            unsafe {
                let mut top = sources[0].group::<I>(from[0] + g * LANES);
                for k in 1..N {
                    top = top.larger(sources[k].group::<I>(from[k] + g * LANES));
                }
                top.write(to.add(to_row + g).cast());
            }
        }
    }
}

/// Takes the larger of the rows of a list and a source's.
#[inline(always)]
pub fn raise<T: Value, I: Instructions>(
    instructions: I,
    slab: &mut [T::Group],
    list: &RowList,
    source: impl ValueReader<T>,
) {
    assert!(slab.len() >= list.extent().reach() && source.has(list.extent().source_reach()));
    for (stride, rows) in list.runs() {
        with_constant_stride!(stride, raise_rows::<_, _>(instructions, slab, stride, rows, source));
    }
}

/// Asks for the memory of some rows of a run, of so many groups, or, with none, of some single values of a list.
#[inline(always)]
pub fn ask_some<T: Value, I: Instructions>(
    instructions: I,
    (stride, rows): (usize, &[RowMove]),
    which: &[u16],
    source: impl ValueReader<T>,
) {
    for &number in which {
        let from = rows[number as usize].from as usize;
        source.ask(instructions, from);
        for groups in 1..=stride {
            source.ask(instructions, from + groups * LANES - 1);
        }
    }
}

/// Sets some rows of a run of a list to a value.
#[inline(always)]
pub fn fill_some<T: Value>(
    slab: &mut [T::Group],
    (list, run): (&RowList, usize),
    which: &[u16],
    value: T,
) {
    let (stride, rows) = list.run(run);
    fill_each::<T>(slab, stride, which.iter().map(|&number| &rows[number as usize]), value);
}

/// Sets some rows of a run of a list to a source's, or if they are to be `RAISED`, to the larger of both.
#[inline(always)]
pub fn take_some<T: Value, I: Instructions, const RAISED: bool>(
    slab: &mut [T::Group],
    (list, run): (&RowList, usize),
    which: &[u16],
    source: impl ValueReader<T>,
) {
    assert!(slab.len() >= list.extent().reach() && source.has(list.extent().source_reach()));
    let (stride, rows) = list.run(run);
    let rows = (rows, which);
    with_constant_stride!(stride, take_some_rows::<_, RAISED, _>(slab, stride, rows, source));
}

#[inline(always)]
fn take_some_rows<
    T: Value,
    I: Instructions,
    const STRIDE: usize,
    const RAISED: bool,
    S: ValueReader<T>,
>(
    slab: &mut [T::Group],
    stride: usize,
    (rows, which): (&[RowMove], &[u16]),
    source: S,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let to: *mut T::Group = slab.as_mut_ptr();
    for &number in which {
        let row = rows[number as usize];
        for g in 0..stride {
            // SAFETY: the reach of the list, which `take_some` has checked, is beyond all its rows.
            unsafe {
                let offered = source.group::<I>(row.from as usize + g * LANES);
                let to = to.add(row.to as usize + g);
                if RAISED { raise_group::<T, I>(to, offered) } else { offered.write(to.cast()) }
            }
        }
    }
}

#[inline(always)]
fn raise_rows<T: Value, I: Instructions, const STRIDE: usize, S: ValueReader<T>>(
    instructions: I,
    slab: &mut [T::Group],
    stride: usize,
    rows: &[RowMove],
    source: S,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let to: *mut T::Group = slab.as_mut_ptr();
    for (i, &RowMove { to: to_row, from }) in rows.iter().enumerate() {
        let (to_row, from) = (to_row as usize, from as usize);
        ask_ahead::<T, I, STRIDE>(instructions, stride, (rows, i), source);
        for g in 0..stride {
            // SAFETY: the reach of the list, which `raise` has checked, is beyond all its rows.
            unsafe {
                let offered = source.group::<I>(from + g * LANES);
                raise_group::<T, I>(to.add(to_row + g), offered);
            }
        }
    }
}

/// Takes the larger of a group and another.
///
/// # Safety
/// The group must be readable and writable.
#[inline(always)]
unsafe fn raise_group<T: Value, I: Instructions>(group: *mut T::Group, offered: T::Vector<I>) {
    let group: *mut T = group.cast();
    // SAFETY: the caller promises it.
    unsafe { T::Vector::<I>::read(group).larger(offered).write(group) }
}

/// A group of values.
///
/// # Panics
/// If it is not one.
#[inline(always)]
pub fn read<T: Value, I: Instructions>(values: &[T]) -> T::Vector<I> {
    assert!(values.len() == LANES);
    // SAFETY: as asserted.
    unsafe { T::Vector::<I>::read(values.as_ptr()) }
}

/// A group of scratch memory.
#[inline(always)]
pub fn read_group<T: Value, I: Instructions>(group: &T::Group) -> T::Vector<I> {
    // SAFETY: it is one.
    unsafe { T::Vector::<I>::read(std::ptr::from_ref(group).cast()) }
}

/// Writes a group of scratch memory.
#[inline(always)]
pub fn write_group<T: Value, I: Instructions>(vector: T::Vector<I>, group: &mut T::Group) {
    // SAFETY: it is one.
    unsafe { vector.write(std::ptr::from_mut(group).cast()) }
}

/// The values of groups, one after the other, to be read.
#[inline(always)]
pub fn values_in<T: Value>(groups: &[T::Group]) -> &[T] {
    // SAFETY: a group is an array of `LANES` values and nothing else.
    unsafe { std::slice::from_raw_parts(groups.as_ptr().cast(), groups.len() * LANES) }
}

/// The values of groups, one after the other.
#[inline(always)]
pub fn values_of<T: Value>(groups: &mut [T::Group]) -> &mut [T] {
    let len = groups.len() * LANES;
    // SAFETY: a group is an array of `LANES` values and nothing else.
    unsafe { std::slice::from_raw_parts_mut(groups.as_mut_ptr().cast(), len) }
}

/// Sets the single values of a list to a value.
#[inline(always)]
pub fn fill_values<T: Value>(slab: &mut [T::Group], list: &ValueList, value: T) {
    let slab = values_of::<T>(slab);
    list.values().iter().for_each(|row| slab[row.to as usize] = value);
}

/// Takes the larger of the single values of a list and a source's, or if they are `NEGATED`, the
/// negated ones of the source's.
#[inline(always)]
pub fn raise_values<T: Value, const NEGATED: bool>(
    slab: &mut [T::Group],
    list: &ValueList,
    source: impl ValueReader<T>,
) {
    raise_each::<T, NEGATED>(slab, list, list.values().iter(), source);
}

/// Does the same with some values of the list.
#[inline(always)]
pub fn raise_some_values<T: Value, const NEGATED: bool>(
    slab: &mut [T::Group],
    list: &ValueList,
    which: &[u16],
    source: impl ValueReader<T>,
) {
    let values = which.iter().map(|&number| &list.values()[number as usize]);
    raise_each::<T, NEGATED>(slab, list, values, source);
}

/// Does the same with values that are of the list.
#[inline(always)]
fn raise_each<'a, T: Value, const NEGATED: bool>(
    slab: &mut [T::Group],
    list: &ValueList,
    values: impl Iterator<Item = &'a RowMove>,
    source: impl ValueReader<T>,
) {
    let slab = values_of::<T>(slab);
    assert!(slab.len() >= list.extent().reach() && source.has(list.extent().source_reach()));
    for row in values {
        // SAFETY: the reach of the list, checked above, is beyond all its values.
        unsafe {
            let offered = source.value(row.from as usize);
            let offered = if NEGATED { offered.negated() } else { offered };
            let to = slab.get_unchecked_mut(row.to as usize);
            *to = to.larger(offered);
        }
    }
}

/// Takes the larger of rows of a slab and others of it, all of `stride` groups.
/// No group is beyond `end`.
#[inline(always)]
pub fn raise_within<'a, T: Value, I: Instructions>(
    slab: &mut [T::Group],
    stride: usize,
    rows: impl Iterator<Item = &'a RowMove>,
    end: usize,
) {
    assert!(slab.len() >= end);
    with_constant_stride!(stride, raise_rows_within::<_>(slab, stride, rows, end));
}

#[inline(always)]
fn raise_rows_within<'a, T: Value, I: Instructions, const STRIDE: usize>(
    slab: &mut [T::Group],
    stride: usize,
    rows: impl Iterator<Item = &'a RowMove>,
    end: usize,
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let slab: *mut T::Group = slab.as_mut_ptr();
    for &RowMove { to, from } in rows {
        let (to, from) = (to as usize, from as usize);
        debug_assert!(to.max(from) + stride <= end);
        for g in 0..stride {
            // SAFETY: the rows are before `end`, by the contract of `Within`, and that is within
            // the slab, as `raise_within` has checked.
            unsafe {
                let offered = T::Vector::<I>::read(slab.add(from + g).cast());
                raise_group::<T, I>(slab.add(to + g), offered);
            }
        }
    }
}

/// Takes the larger of single values of a slab and others of it. No value is beyond group `end`.
#[inline(always)]
pub fn raise_values_within<'a, T: Value>(
    slab: &mut [T::Group],
    values: impl Iterator<Item = &'a RowMove>,
    end: usize,
) {
    let slab = values_of::<T>(&mut slab[..end]);
    for value in values {
        debug_assert!((value.to.max(value.from) as usize) < slab.len());
        // SAFETY: the values are before `end`, by the contract of `Within`.
        unsafe {
            let offered = *slab.get_unchecked(value.from as usize);
            let to = slab.get_unchecked_mut(value.to as usize);
            *to = to.larger(offered);
        }
    }
}

/// Writes scratch rows to where a block is stored, and nothing beyond the block.
#[inline(always)]
pub fn store<T: Value, I: Instructions>(
    from: &[T::Group],
    stride: usize,
    (rows, columns): (usize, usize),
    values: &mut [T],
) {
    assert!(from.len() >= rows * stride && values.len() >= rows * columns);
    assert!((1..=stride * LANES).contains(&columns));
    with_constant_stride!(stride, store_rows::<_>(from.as_ptr(), stride, (rows, columns), values));
}

/// [`store`] with a constant number of groups per row, or 0: rows in whole groups as long as values of the block
/// follow, then the last ones with care.
#[inline(always)]
fn store_rows<T: Value, I: Instructions, const STRIDE: usize>(
    from: *const T::Group,
    stride: usize,
    (rows, columns): (usize, usize),
    values: &mut [T],
) {
    let stride = if STRIDE == 0 { stride } else { STRIDE };
    let mut from: *const T = from.cast();
    let mut to = values.as_mut_ptr();
    let mut left = rows * columns;
    // SAFETY: `left` values of the block are still to be written, from `to` on, and as many rows to be read as that
    // are, as `store` has checked. Values that a group writes beyond its row are written again with the rows that
    // follow.
    unsafe {
        while left >= stride * LANES {
            for g in 0..stride {
                T::Vector::<I>::read(from.add(g * LANES)).write(to.add(g * LANES));
            }
            left -= columns;
            (from, to) = (from.add(stride * LANES), to.add(columns));
        }
        while left > 0 {
            for g in 0..stride {
                let vector = T::Vector::<I>::read(from.add(g * LANES));
                match left.saturating_sub(g * LANES) {
                    LANES.. => vector.write(to.add(g * LANES)),
                    few => vector.write_first(to.add(g * LANES), few),
                }
            }
            left -= columns;
            (from, to) = (from.add(stride * LANES), to.add(columns));
        }
    }
}
