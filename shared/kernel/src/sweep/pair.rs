//! The Bellman operator on a pair of slabs: their successors in other slabs, then their pairs of blocks, those with the
//! pieces furthest along first.
//!
//! It is the same for values and for bounds of intervals (interval iteration is the operator on a pair of vectors): an
//! [`Operand`] says which numbers are read and where the results go.

use ziggurat_encoding::shared::Budgets;

use crate::{
    memory::array::Array,
    moves::layout::Block,
    simd::{
        value::{Group, Value},
        vector::{Instructions, Operation},
    },
    sweep::{
        block::{self, SweepBlocks},
        context::Context,
        elimination::{format::Reader, gather::GatherCandidates},
        gather::{Gather, ask},
        rows,
        scratch::Scratch,
        slab::Slab,
        sources::{Location, ValueArrays, ValueReader, ValueSource, arrays, value_arrays},
        view::{groups_of, views},
    },
};

/// The numbers that a sweep of a unit reads and writes; every result may be `SHIFTED`.
pub trait Operand<T: Value, const SHIFTED: bool> {
    /// The numbers that a slab reads.
    type Source<'s>: ValueSource<T>
    where
        Self: 's;

    /// Those of the first or the second slab of a pair.
    fn source(&self, slab: usize) -> Self::Source<'_>;

    /// The shift of the first mover's results; those of the other are shifted by as much the other way.
    fn shift(&self) -> T;

    /// Takes the results of a block of one of the slabs, which is at a location: rows of scratch memory.
    fn store<I: Instructions>(
        &mut self,
        slab: usize,
        location: Location,
        block: &Block,
        from: &[T::Group],
    );
}

/// The values of a unit.
pub struct UnitValues<'a, 'l, 'c, T> {
    /// The inputs besides the step's own values.
    pub context: &'a Context<'c, T>,
    /// The values of each orientation as of the last barrier.
    pub published: &'a [Array<T>],
    /// The values of the unit, range by range.
    pub live: [&'l mut [T]; 2],
}

impl<T: Value> UnitValues<'_, '_, '_, T> {
    /// The arrays that are read.
    #[inline(always)]
    pub fn arrays(&self) -> ValueArrays<'_, T> {
        value_arrays(self.context, self.published, &self.live)
    }
}

impl<T: Value> Operand<T, false> for UnitValues<'_, '_, '_, T> {
    type Source<'s>
        = ValueArrays<'s, T>
    where
        Self: 's;

    #[inline(always)]
    fn source(&self, _: usize) -> ValueArrays<'_, T> {
        self.arrays()
    }

    #[inline(always)]
    fn shift(&self) -> T {
        T::default()
    }

    #[inline(always)]
    fn store<I: Instructions>(
        &mut self,
        _: usize,
        Location { array, start }: Location,
        block: &Block,
        from: &[T::Group],
    ) {
        let values = &mut self.live[array - arrays::LIVE][start + block.start..];
        rows::store::<T, I>(from, block.stride, block.lines(), values);
    }
}

/// A pair of slabs to sweep, or a slab that is its own swap.
pub struct SweepPair<'a, 'c, T: Value, O, const SHIFTED: bool> {
    /// The working memory.
    pub scratch: &'a mut Scratch<T>,
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// The slab and its swap.
    pub slabs: &'a [Slab<'c>; 2],
    /// Whether they are swept as one.
    pub is_one: bool,
    /// Their candidates, if there are any that are valid.
    pub candidates: Option<&'a [u16]>,
    /// The numbers that are read and written.
    pub operand: &'a mut O,
}

impl<T: Value, O: Operand<T, SHIFTED>, const SHIFTED: bool> Operation
    for SweepPair<'_, '_, T, O, SHIFTED>
{
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, slabs, is_one, candidates, operand } = self;
        let Scratch { slabs: scratch, transposed } = scratch;
        let routes = &context.tables.routes;
        let mut candidates = candidates.map(Reader::new);
        let starts = [0, if is_one { 0 } else { groups_of(context, &slabs[0]) }];
        let different = || (0..if is_one { 1 } else { 2 }).map(|i| (i, &slabs[i], starts[i]));
        // Bounds are made of more memory than is worth asking for ahead.
        if !SHIFTED && candidates.is_none() {
            ask(instructions, context, &operand.source(0), &slabs[0], 0);
        }
        for (i, slab, start) in different() {
            let source = operand.source(i);
            let own = source.values_at(slab.own, false);
            load::<T, I>(instructions, context, own, slab.budgets, &mut scratch[start..]);
        }
        if routes.rolls_again_within {
            for (view, swapped) in views(context, slabs, starts) {
                block::value_from_stored::<T, I>(scratch, &view, &swapped);
                block::value_from_stored::<T, I>(scratch, &swapped, &view);
            }
        }
        for (i, slab, start) in different() {
            let next = (!SHIFTED && i == 0 && !is_one).then_some(&slabs[1]);
            let scratch = &mut scratch[start..][..groups_of(context, slab)];
            let sources = &operand.source(i);
            if let Some(reader) = &mut candidates {
                let gather =
                    GatherCandidates { context, sources, slab, reader, scratch, transposed };
                instructions.call(gather);
            } else {
                instructions.call(Gather { context, sources, slab, next, scratch, transposed });
            }
        }
        instructions.call(SweepBlocks::<T, SHIFTED> {
            context,
            scratch: &mut *scratch,
            slabs,
            starts,
            shift: operand.shift(),
            candidates,
        });
        for (i, slab, start) in different() {
            for block in &routes.layout(slab.budgets).blocks {
                operand.store::<I>(i, slab.own, block, &scratch[start + block.own()..]);
            }
        }
    }
}

/// Reads a slab's own values into scratch memory.
#[inline(always)]
fn load<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    own: impl ValueReader<T>,
    budgets: Budgets,
    scratch: &mut [T::Group],
) {
    let routes = &context.tables.routes;
    for block in &routes.layout(budgets).blocks {
        scratch[block.at..][..block.stride].fill(T::Group::splat(T::NONE));
    }
    rows::set::<T, I, _, 1>(instructions, scratch, [(routes.own(budgets), own)]);
}
