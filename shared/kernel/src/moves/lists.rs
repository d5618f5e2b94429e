//! Lists of rows: which row of a slab in scratch memory meets which row of a stored slab.
//!
//! A move does the same to every slab that has the same pieces left, so the rows it leads from and
//! to are written down once. A sweep then only runs down a list, row after row, with nothing
//! to decide but how long a row is; rows of the same length stand together.

use std::ops::Range;

use crate::{
    moves::layout::Block,
    simd::{value::groups, vector::LANES},
};

/// A row to read, and the row it is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowMove {
    /// The row it is taken into: the group in scratch memory it starts at.
    pub to: u32,
    /// The row that is taken: the value of the source it starts at, or the group.
    pub from: u32,
}

impl RowMove {
    /// A row move; both places are small, since a slab is.
    pub fn new(to: usize, from: usize) -> Self {
        let narrow = |at| u32::try_from(at).expect("a slab has fewer than 2^32 values");
        Self { to: narrow(to), from: narrow(from) }
    }
}

/// Rows of one length.
#[derive(Clone, Debug)]
pub struct Run {
    /// Groups per row.
    pub stride: usize,
    /// Which of the list.
    pub rows: Range<usize>,
}

/// A list of rows.
#[derive(Clone, Debug, Default)]
pub struct RowList {
    runs: Vec<Run>,
    rows: Vec<RowMove>,
    extent: Extent,
}

/// The memory that a list needs.
#[derive(Clone, Debug, Default)]
pub struct Extent {
    /// Places in a source, no nearer to each other than a line of memory is long: for lines of a group, and for lines
    /// of two.
    lines: [Vec<u32>; 2],
    reach: usize,
    source_reach: usize,
}

impl Extent {
    /// One place of the source for each line of memory that is needed (of lists of rows, for short ones).
    #[inline(always)]
    pub fn lines<T>(&self) -> &[u32] {
        &self.lines[usize::from(line_values::<T>() > LANES)]
    }

    /// The groups of scratch memory that the list needs, or the values if it is of these.
    #[inline(always)]
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// The values of a source that the list needs.
    #[inline(always)]
    pub fn source_reach(&self) -> usize {
        self.source_reach
    }

    /// The lines of these values of a source.
    fn lines_of(ranges: impl Iterator<Item = Range<u32>>) -> [Vec<u32>; 2] {
        let mut ranges: Vec<Range<u32>> = ranges.collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let of_length = |line: usize| {
            let mut next = 0;
            let mut places = Vec::new();
            for range in &ranges {
                places.extend((range.start.max(next)..range.end).step_by(line));
                next = places.last().map_or(0, |&last| last + line as u32);
            }
            places
        };
        [LANES, 2 * LANES].map(of_length)
    }
}

/// How many values a line of memory has.
#[inline(always)]
pub const fn line_values<T>() -> usize {
    64 / size_of::<T>()
}

impl RowList {
    /// The list of these rows, each with its length in groups.
    pub fn new(mut rows: Vec<(usize, RowMove)>) -> Self {
        rows.sort_by_key(|&(stride, _)| stride);
        let mut this = Self::default();
        for (stride, row) in rows {
            let at = this.rows.len();
            match this.runs.last_mut() {
                Some(run) if run.stride == stride => run.rows.end = at + 1,
                _ => this.runs.push(Run { stride, rows: at..at + 1 }),
            }
            this.extent.reach = this.extent.reach.max(row.to as usize + stride);
            let end = row.from as usize + stride * LANES;
            this.extent.source_reach = this.extent.source_reach.max(end);
            this.rows.push(row);
        }
        let short = this.runs().filter(|&(stride, _)| stride <= LONG_ROW);
        this.extent.lines = Extent::lines_of(short.flat_map(|(stride, rows)| {
            rows.iter().map(move |row| row.from..row.from + (stride * LANES) as u32)
        }));
        this
    }

    /// The runs of rows of one length. All groups of their `to` rows are before
    /// [`Extent::reach`], all values of their `from` rows, in whole groups, before [`Extent::source_reach`].
    #[inline(always)]
    pub fn runs(&self) -> impl Iterator<Item = (usize, &[RowMove])> {
        self.runs.iter().map(|run| (run.stride, &self.rows[run.rows.clone()]))
    }

    /// A run of rows of one length.
    #[inline(always)]
    pub fn run(&self, number: usize) -> (usize, &[RowMove]) {
        let run = &self.runs[number];
        (run.stride, &self.rows[run.rows.clone()])
    }

    /// The runs of several lists that have the same `to` rows.
    ///
    /// # Panics
    /// If they have not the same number of rows.
    #[inline(always)]
    pub fn runs_together<const N: usize>(
        lists: [&Self; N],
    ) -> impl Iterator<Item = (usize, [&[RowMove]; N])> {
        assert!(lists.iter().all(|list| list.rows.len() == lists[0].rows.len()));
        let runs = lists[0].runs.iter();
        runs.map(move |run| (run.stride, lists.map(|list| &list.rows[run.rows.clone()])))
    }

    /// The memory that the list needs.
    #[inline(always)]
    pub fn extent(&self) -> &Extent {
        &self.extent
    }
}

/// A list of single values: `to` and `from` are values of scratch memory and of the source.
#[derive(Clone, Debug, Default)]
pub struct ValueList {
    values: Vec<RowMove>,
    extent: Extent,
}

impl ValueList {
    /// The list of these values.
    pub fn new(values: Vec<RowMove>) -> Self {
        let lines = Extent::lines_of(values.iter().map(|value| value.from..value.from + 1));
        let end = |at: &dyn Fn(&RowMove) -> u32| {
            values.iter().map(|value| at(value) as usize + 1).max().unwrap_or(0)
        };
        let (reach, source_reach) = (end(&|value| value.to), end(&|value| value.from));
        Self { values, extent: Extent { lines, reach, source_reach } }
    }

    /// The values. All their `to` are before [`Extent::reach`], all their `from` before
    /// [`Extent::source_reach`].
    #[inline(always)]
    pub fn values(&self) -> &[RowMove] {
        &self.values
    }

    /// The memory that the list needs.
    #[inline(always)]
    pub fn extent(&self) -> &Extent {
        &self.extent
    }
}

/// The moves between blocks of a slab in scratch memory: whole rows, `from` being a group there too, and
/// single values, both their places being values there.
#[derive(Clone, Debug, Default)]
pub struct Within {
    blocks: Vec<[Range<usize>; 2]>,
    rows: Vec<RowMove>,
    values: Vec<RowMove>,
    end: usize,
}

impl Within {
    /// Adds the moves of the next block: rows, all as long as its own, and values.
    pub fn push(&mut self, block: Option<&Block>, rows: Vec<RowMove>, values: Vec<RowMove>) {
        let stride = block.map_or(0, |block| block.stride);
        let reach = |row: &RowMove, len: usize| row.to.max(row.from) as usize + len;
        let rows_end = rows.iter().map(|row| reach(row, stride));
        let values_end = values.iter().map(|value| groups(reach(value, 1)));
        self.end = rows_end.chain(values_end).fold(self.end, usize::max);
        let start = [self.rows.len(), self.values.len()];
        self.rows.extend(rows);
        self.values.extend(values);
        self.blocks.push([start[0]..self.rows.len(), start[1]..self.values.len()]);
    }

    /// The moves of a block: rows, and single values. All their groups are before [`Within::end`].
    #[inline(always)]
    pub fn of(&self, x: u16) -> [&[RowMove]; 2] {
        let [rows, values] = &self.blocks[x as usize];
        [&self.rows[rows.clone()], &self.values[values.clone()]]
    }

    /// How many groups they need.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.end
    }
}

/// A block to be transposed: stored in the other orientation, its rows are the mover's columns.
#[derive(Clone, Debug)]
pub struct TransposedBlock {
    /// Where the values go: the first row for the roll.
    pub to: usize,
    /// The block they go to.
    pub block: Block,
    /// Where the block starts in the source.
    pub from: usize,
    /// Rows it has for the mover: the values from one column to the next.
    pub source_rows: usize,
    /// Which of these the mover's rows lead to; none if each leads to itself.
    pub pairs: Vec<(u32, u32)>,
}

/// Rows of more groups are long.
pub const LONG_ROW: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_needed_is_named_once() {
        // Five rows of five values, read in groups of eight; one far away; one value.
        let lines =
            Extent::lines_of([0..8, 5..13, 10..18, 15..23, 20..28, 100..108, 60..61].into_iter());
        let extent = Extent { lines, ..Extent::default() };
        assert_eq!(extent.lines::<f64>(), [0, 8, 16, 24, 60, 100]);
        assert_eq!(extent.lines::<f32>(), [0, 16, 60, 100]);
    }
}
