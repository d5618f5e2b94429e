//! Blocks and slabs in scratch memory, as a mover sees them.

use ziggurat_encoding::shared::Budgets;

use crate::{
    moves::{
        dense::DenseSlab,
        layout::{Block, Layout},
    },
    simd::value::Value,
    sweep::{context::Context, slab::Slab},
};

/// How often a sweep passes over both blocks of a pair.
pub const PASSES: usize = 2;

/// A block as a mover sees it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The pieces that the outer squares of its slab leave.
    pub budgets: Budgets,
    /// The inner squares.
    pub x: u16,
    /// The block.
    pub block: &'a Block,
    /// Where the slab starts in scratch memory.
    pub slab: usize,
    /// The slab, if it is dense; the block is all of it.
    pub dense: Option<&'a DenseSlab>,
}

/// A slab as a mover sees it.
#[derive(Clone, Copy)]
pub struct SlabView<'a> {
    budgets: Budgets,
    start: usize,
    layout: &'a Layout,
    dense: Option<&'a DenseSlab>,
}

impl<'a> SlabView<'a> {
    /// The slab whose outer squares leave so many pieces, and where it starts in scratch memory.
    #[inline(always)]
    pub fn new<T: Value>(context: &Context<'a, T>, budgets: Budgets, start: usize) -> Self {
        let routes = &context.tables.routes;
        Self { budgets, start, layout: routes.layout(budgets), dense: routes.dense(budgets) }
    }

    /// The block with these inner squares, which the slab's budgets allow.
    #[inline(always)]
    pub fn block(&self, x: u16) -> View<'a> {
        let Self { budgets, start: slab, layout, dense } = *self;
        View { budgets, x, block: layout.block(x), slab, dense }
    }
}

impl View<'_> {
    /// Where the values of the mover are in scratch memory.
    pub fn value(&self) -> usize {
        self.slab + self.block.value()
    }

    /// Where the block is in scratch memory.
    pub fn own(&self) -> usize {
        self.slab + self.block.own()
    }

    /// The pieces that are not on shared squares, (mover, opponent).
    #[inline(always)]
    pub fn left<T: Value>(&self, context: &Context<'_, T>) -> Budgets {
        let (a, b) = context.encoding.shared().inner_pieces()[self.x as usize];
        (self.budgets.0 - a, self.budgets.1 - b)
    }
}

/// The pairs of blocks of two slabs, which start at places of scratch memory, those with the pieces furthest along
/// first.
#[inline(always)]
pub fn views<'t, T: Value>(
    context: &Context<'t, T>,
    slabs: &[Slab<'_>; 2],
    starts: [usize; 2],
) -> impl Iterator<Item = (View<'t>, View<'t>)> {
    let inner_swapped = &context.tables.inner_swapped;
    let [first, second] = slabs;
    let fitting = &context.tables.routes.layout(first.budgets).fitting;
    let first = SlabView::new(context, first.budgets, starts[0]);
    let second = SlabView::new(context, second.budgets, starts[1]);
    fitting.iter().map(move |&x| (first.block(x), second.block(inner_swapped[x as usize])))
}

/// The groups of scratch memory that a slab takes.
#[inline(always)]
pub fn groups_of<T: Value>(context: &Context<'_, T>, slab: &Slab<'_>) -> usize {
    context.tables.routes.layout(slab.budgets).groups
}
