//! The tables of a ruleset that the kernel works with.

use ziggurat_encoding::Encoding;

use crate::moves::{occupancy::Occupancies, private::PrivateMoves, routes::Routes, rules::Rules};

/// The tables of a ruleset that the kernel works with.
#[derive(Debug)]
pub struct Tables {
    /// The moves, sorted by the squares they touch.
    pub rules: Rules,
    /// Who stands where, by shared configuration.
    pub occupancies: Occupancies,
    /// The effects of moves on the blocks of a slab.
    pub routes: Routes,
    /// The moves within a block by k, the most pieces its rows have.
    pub private: Vec<PrivateMoves>,
    /// Path positions on private and inner squares, and the hand.
    pub inner_from: u64,
    /// For each configuration of the inner squares the one that the other player sees.
    pub inner_swapped: Vec<u16>,
}

impl Tables {
    /// The tables of an encoding's ruleset.
    pub fn new(encoding: &Encoding) -> Self {
        let shared = encoding.shared();
        let private_from = encoding.private().positions() | 1;
        let inner_squares = shared.outer_squares()..shared.squares();
        let configurations = 0..shared.inner_pieces().len() as u16;
        let inner_positions = inner_squares
            .flat_map(|square| &encoding.geometry().shared[square].own)
            .fold(0, |mask, at| mask | 1 << at);
        let rules = Rules::new(encoding);
        let occupancies = Occupancies::new(encoding);
        Self {
            routes: Routes::new(encoding, &rules, &occupancies),
            private: (0..=encoding.ruleset().pieces())
                .map(|k| PrivateMoves::new(encoding, &rules, k))
                .collect(),
            rules,
            occupancies,
            inner_from: private_from | inner_positions,
            inner_swapped: configurations.map(|x| shared.inner_swapped(x)).collect(),
        }
    }
}
