//! The working memory of a thread that sweeps units.

use ziggurat_encoding::Encoding;

use crate::{
    moves::layout::Layout,
    simd::{
        value::{Group, Value, groups},
        vector::LANES,
    },
    sweep::order::SlabPair,
};

/// What a thread keeps from unit to unit.
pub struct Room<'t, T: Value> {
    /// The pair of slabs that it is at.
    pub slabs: SlabPair<'t>,
    /// Where that is computed.
    pub scratch: Scratch<T>,
}

impl<T: Value> Room<'_, T> {
    /// Room for the slabs of an encoding's ruleset.
    pub fn new(encoding: &Encoding) -> Self {
        Self { slabs: SlabPair::default(), scratch: Scratch::new(encoding) }
    }
}

/// Working memory for the largest pair of slabs.
pub struct Scratch<T: Value> {
    /// A slab and its swap, one after the other, as [`Layout`] describes them.
    pub slabs: Vec<T::Group>,
    /// A block transposed to the mover's rows.
    pub transposed: Vec<T::Group>,
}

impl<T: Value> Scratch<T> {
    /// Working memory for the slabs of an encoding's ruleset.
    pub fn new(encoding: &Encoding) -> Self {
        let (slabs, transposed) = Self::sizes(encoding);
        let filled = |groups| vec![T::Group::splat(T::WIN); groups];
        Self { slabs: filled(slabs), transposed: filled(transposed) }
    }

    /// The size in bytes of [`Scratch::new`]'s memory.
    pub fn bytes(encoding: &Encoding) -> u64 {
        let (slabs, transposed) = Self::sizes(encoding);
        ((slabs + transposed) * size_of::<T::Group>()) as u64
    }

    fn sizes(encoding: &Encoding) -> (usize, usize) {
        let pieces = encoding.ruleset().pieces();
        let rolls = encoding.ruleset().dice().rolls().iter().filter(|roll| roll.value > 0).count();
        let side = groups(encoding.private().count(pieces) as usize);
        let slab = Layout::new(encoding, (pieces, pieces), rolls).groups;
        (2 * slab, side * LANES * side)
    }
}
