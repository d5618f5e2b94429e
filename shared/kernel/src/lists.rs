//! Lists of rows: which row of a slab in scratch memory meets which row of a stored slab.
//!
//! A move does the same to every slab that has the same pieces left, so the rows it leads from and
//! to are written down once. A sweep then only runs down a list, row after row, with nothing
//! to decide but how long a row is; rows of the same length stand together.

use std::ops::Range;

use crate::{layout::Block, value::LANES};

/// A row to take, and what to do with it.
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
    reach: usize,
    source_reach: usize,
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
            this.reach = this.reach.max(row.to as usize + stride);
            this.source_reach = this.source_reach.max(row.from as usize + stride * LANES);
            this.rows.push(row);
        }
        this
    }

    /// The runs of rows of one length. All groups of their `to` rows are before
    /// [`RowList::reach`], all values of their `from` rows, in whole groups, before
    /// [`RowList::source_reach`].
    #[inline(always)]
    pub fn runs(&self) -> impl Iterator<Item = (usize, &[RowMove])> {
        self.runs.iter().map(|run| (run.stride, &self.rows[run.rows.clone()]))
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

    /// How many groups of scratch memory the list needs.
    #[inline(always)]
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// How many values of a source the list needs.
    #[inline(always)]
    pub fn source_reach(&self) -> usize {
        self.source_reach
    }
}

/// A list of single values: `to` and `from` are values of scratch memory and of the source.
#[derive(Clone, Debug, Default)]
pub struct ValueList {
    values: Vec<RowMove>,
    /// Of every group of values of the source the first that is taken.
    touched: Vec<u32>,
    reach: usize,
    source_reach: usize,
}

impl ValueList {
    /// The list of these values.
    pub fn new(values: Vec<RowMove>) -> Self {
        let mut touched: Vec<u32> = values.iter().map(|value| value.from).collect();
        touched.sort_unstable();
        touched.dedup_by_key(|at| *at / LANES as u32);
        let end = |at: &dyn Fn(&RowMove) -> u32| {
            values.iter().map(|value| at(value) as usize + 1).max().unwrap_or(0)
        };
        let (reach, source_reach) = (end(&|value| value.to), end(&|value| value.from));
        Self { values, touched, reach, source_reach }
    }

    /// The values. All their `to` are before [`ValueList::reach`], all their `from` before
    /// [`ValueList::source_reach`].
    #[inline(always)]
    pub fn values(&self) -> &[RowMove] {
        &self.values
    }

    /// Of every group of values of the source the first that is taken.
    #[inline(always)]
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// How many values of scratch memory the list needs.
    #[inline(always)]
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// How many values of a source the list needs.
    #[inline(always)]
    pub fn source_reach(&self) -> usize {
        self.source_reach
    }
}

/// Rows within a slab in scratch memory, by block: `from` is a group there too.
#[derive(Clone, Debug, Default)]
pub struct Within {
    blocks: Vec<Range<usize>>,
    rows: Vec<RowMove>,
    end: usize,
}

impl Within {
    /// Adds the rows of the next block, all as long as the block's.
    pub fn push(&mut self, block: Option<&Block>, rows: Vec<RowMove>) {
        let start = self.rows.len();
        self.rows.extend(rows);
        let stride = block.map_or(0, |block| block.stride);
        let reach = |row: &RowMove| row.to.max(row.from) as usize + stride;
        self.end = self.rows[start..].iter().map(reach).fold(self.end, usize::max);
        self.blocks.push(start..self.rows.len());
    }

    /// The rows of a block. All their groups are before [`Within::end`].
    #[inline(always)]
    pub fn of(&self, x: u16) -> &[RowMove] {
        &self.rows[self.blocks[x as usize].clone()]
    }

    /// How many groups the rows need.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.end
    }
}

/// A block to be turned: stored in the other orientation, its rows are the mover's columns.
#[derive(Clone, Debug)]
pub struct TurnedBlock {
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
