//! Routes: the effect of a move on all blocks of a slab.
//!
//! Whether the inner squares allow a move, which inner squares it leads to and which rows, is the same
//! for every slab whose outer squares leave the same pieces: it is written down once, as lists of
//! rows. It remains to be found for a slab which moves its outer squares allow, and where they lead.

use ziggurat_encoding::shared::Budgets;
use ziggurat_game::PathPosition;

use crate::moves::{
    dense::DenseSlab,
    layout::Layout,
    lists::{RowList, TransposedBlock, ValueList, Within},
};

/// The effect of a move on the blocks of a slab.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Where the turn passes: rows of the slab in which the mover just moved, by the number of the list.
    pub rows: Option<u32>,
    /// Whether these are all rows of the slab but for its columns.
    pub covers_all_rows: bool,
    /// Where the turn passes: columns of that slab as rows, by the number of their list.
    pub columns: Option<u32>,
    /// Where the turn passes: single values of that slab, by the number of their list.
    pub picked: Option<u32>,
    /// Where the mover rolls again: single values of the slab in which the other player just moved.
    pub single: Option<u32>,
    /// Where the mover rolls again: blocks of that slab, by the number of their list.
    pub transposed: Option<u32>,
}

impl Route {
    /// Whether the turn may pass.
    #[inline(always)]
    pub fn passes_turn(&self) -> bool {
        self.rows.is_some() || self.columns.is_some() || self.picked.is_some()
    }

    /// Whether the mover may roll again.
    #[inline(always)]
    pub fn rolls_again(&self) -> bool {
        self.single.is_some() || self.transposed.is_some()
    }
}

/// The layouts and routes of a ruleset.
#[derive(Debug)]
pub struct Routes {
    /// By the pieces that the outer squares leave.
    pub(super) layouts: Vec<Layout>,
    /// By these: rows of `own`, from the stored slab.
    pub(super) own: Vec<RowList>,
    /// By these: moves within the slab that are not within a block.
    pub(super) within: Vec<Within>,
    /// By these, if slabs are dense.
    pub(super) dense: Vec<DenseSlab>,
    /// Whether a move within a slab rolls again.
    pub rolls_again_within: bool,
    /// By these, roll, start, and whether a piece on an outer square is captured.
    pub(super) routes: Vec<Option<Route>>,
    /// By these and roll: all rows of the slab but for its columns, and these, from the same slab.
    pub(super) whole: Vec<[u32; 2]>,
    pub(super) lists: Vec<RowList>,
    pub(super) values: Vec<ValueList>,
    pub(super) blocks: Vec<Vec<TransposedBlock>>,
    pub(super) budgets: usize,
    pub(super) rolls: usize,
    pub(super) starts: usize,
}

impl Routes {
    #[inline(always)]
    pub(super) fn row(&self, (own, opponent): Budgets) -> usize {
        own as usize * self.budgets + opponent as usize
    }

    /// The layout of slabs whose outer squares leave these pieces.
    #[inline(always)]
    pub fn layout(&self, budgets: Budgets) -> &Layout {
        &self.layouts[self.row(budgets)]
    }

    /// The rows of `own`, from the stored slab.
    #[inline(always)]
    pub fn own(&self, budgets: Budgets) -> &RowList {
        &self.own[self.row(budgets)]
    }

    /// The moves within the slab.
    #[inline(always)]
    pub fn within(&self, budgets: Budgets) -> &Within {
        &self.within[self.row(budgets)]
    }

    /// All rows of the slab for a roll but for its columns, and these, from the same slab.
    #[inline(always)]
    pub fn whole(&self, budgets: Budgets, roll: usize) -> [&RowList; 2] {
        self.whole[self.row(budgets) * self.rolls + roll].map(|list| self.list(list))
    }

    /// The route of the move of a roll from a path position, if there is one.
    #[inline(always)]
    pub fn of_move(
        &self,
        budgets: Budgets,
        roll: usize,
        from: PathPosition,
        captures: bool,
    ) -> Option<&Route> {
        let row = (self.row(budgets) * self.rolls + roll) * self.starts + from as usize;
        self.routes[row * 2 + usize::from(captures)].as_ref()
    }

    /// A list of rows, by its number.
    #[inline(always)]
    pub fn list(&self, number: u32) -> &RowList {
        &self.lists[number as usize]
    }

    /// A list of single values, by its number.
    #[inline(always)]
    pub fn values(&self, number: u32) -> &ValueList {
        &self.values[number as usize]
    }

    /// How many values of a source a route needs where the turn passes.
    pub fn passing_source_reach(&self, route: &Route) -> usize {
        let rows = [route.rows, route.columns].into_iter().flatten();
        let values = route.picked.map_or(0, |list| self.values(list).extent().source_reach());
        rows.map(|list| self.list(list).extent().source_reach()).fold(values, usize::max)
    }

    /// How many values of a source a route needs where the mover rolls again.
    pub fn extra_roll_source_reach(&self, route: &Route) -> usize {
        let single = route.single.map_or(0, |list| self.values(list).extent().source_reach());
        let transposed = route.transposed.map_or(&[][..], |list| self.blocks(list));
        let ends = transposed.iter().map(|b| b.from + b.source_rows * b.block.columns);
        ends.fold(single, usize::max)
    }

    /// A slab, if slabs are dense.
    #[inline(always)]
    pub fn dense(&self, budgets: Budgets) -> Option<&DenseSlab> {
        self.dense.get(self.row(budgets))
    }

    /// A list of blocks to be transposed, by its number.
    #[inline(always)]
    pub fn blocks(&self, number: u32) -> &[TransposedBlock] {
        &self.blocks[number as usize]
    }

    pub(super) fn add(&mut self, list: RowList) -> u32 {
        self.lists.push(list);
        self.lists.len() as u32 - 1
    }

    pub(super) fn fits(&self, (own, opponent): Budgets) -> bool {
        (own as usize) < self.budgets && (opponent as usize) < self.budgets
    }
}
