//! What a sweep of a step reads besides the step's own values.

use ziggurat_encoding::{Encoding, SharedConfiguration, Tier, shared::Budgets};

use crate::{occupancy::Occupancies, rules::Rules, value::Value};

/// The tables of a ruleset that the kernel works with.
#[derive(Debug)]
pub struct Tables {
    /// The moves, sorted by what they touch.
    pub rules: Rules,
    /// Who stands where, by shared configuration.
    pub occupancies: Occupancies,
    /// Path positions on private squares, and the hand.
    pub private_from: u64,
    /// Path positions on private and inner squares, and the hand.
    pub inner_from: u64,
    /// For each configuration of the inner squares the one that the other player sees.
    pub inner_swapped: Vec<u16>,
    /// By the pieces that the outer squares leave, and the configuration of the inner squares.
    inner_blocks: Vec<InnerBlock>,
    /// The numbers of pieces a player may have: one more than the pieces.
    budgets: usize,
    /// For each configuration of the inner squares its digits.
    inner_digits: Vec<u8>,
    inner_squares: usize,
}

impl Tables {
    /// The tables of an encoding's ruleset.
    pub fn new(encoding: &Encoding) -> Self {
        let shared = encoding.shared();
        let private_from = encoding.private().positions() | 1;
        let inner_squares = shared.outer_squares()..shared.squares();
        let configurations = 0..shared.inner_pieces().len() as u16;
        let inner_positions = inner_squares
            .clone()
            .flat_map(|square| &encoding.geometry().shared[square].own)
            .fold(0, |mask, at| mask | 1 << at);
        let digits = |x: u16| {
            let mut w = SharedConfiguration::default();
            w.0[shared.inner_chunk()] = x;
            inner_squares.clone().map(move |square| shared.digit(&w, square))
        };
        Self {
            rules: Rules::new(encoding),
            occupancies: Occupancies::new(encoding),
            private_from,
            inner_from: private_from | inner_positions,
            inner_swapped: configurations.clone().map(|x| shared.inner_swapped(x)).collect(),
            inner_blocks: inner_blocks(encoding),
            budgets: encoding.ruleset().pieces() as usize + 1,
            inner_digits: configurations.flat_map(digits).collect(),
            inner_squares: inner_squares.len(),
        }
    }

    /// Where the blocks of slabs whose outer squares leave these pieces begin, for
    /// [`Tables::inner_block`].
    #[inline(always)]
    pub fn blocks_of(&self, (own, opponent): Budgets) -> u32 {
        let row = own as usize * self.budgets + opponent as usize;
        (row * self.inner_swapped.len()) as u32
    }

    /// A block of a slab, by the inner squares.
    #[inline(always)]
    pub fn inner_block(&self, blocks: u32, x: u16) -> &InnerBlock {
        &self.inner_blocks[blocks as usize + x as usize]
    }

    /// The digit of an inner square, by its place among them.
    #[inline(always)]
    pub fn inner_digit(&self, x: u16, place: usize) -> u8 {
        self.inner_digits[x as usize * self.inner_squares + place]
    }

    /// The most rows or columns a block has.
    pub fn side(encoding: &Encoding) -> usize {
        encoding.private().count(encoding.ruleset().pieces()) as usize
    }
}

/// A block of a slab.
#[derive(Clone, Copy, Default, Debug)]
pub struct InnerBlock {
    /// Where it starts in the slab.
    pub offset: usize,
    /// Its rows: private configurations of the player who just moved. 0 if the inner squares have
    /// more pieces than the outer squares leave.
    pub rows: u32,
    /// Its columns: private configurations of the player to move.
    pub columns: u32,
}

fn inner_blocks(encoding: &Encoding) -> Vec<InnerBlock> {
    let (shared, private) = (encoding.shared(), encoding.private());
    let pieces = encoding.ruleset().pieces();
    let mut blocks = Vec::new();
    for budgets in (0..=pieces).flat_map(|own| (0..=pieces).map(move |opponent| (own, opponent))) {
        let offsets = shared.inner_offsets(budgets);
        for (&(a, b), &offset) in shared.inner_pieces().iter().zip(offsets) {
            let block = match (budgets.0.checked_sub(a), budgets.1.checked_sub(b)) {
                (Some(own), Some(opponent)) => InnerBlock {
                    offset: offset as usize,
                    rows: private.count(own) as u32,
                    columns: private.count(opponent) as u32,
                },
                _ => InnerBlock::default(),
            };
            blocks.push(block);
        }
    }
    blocks
}

/// A step's surroundings: tables, tiers, and the final values of the tiers it reads.
pub struct Context<'a, T> {
    /// The ranking.
    pub encoding: &'a Encoding,
    /// The tables of the ruleset.
    pub tables: &'a Tables,
    /// The probability of a roll of 0.
    pub zero: T,
    /// The probabilities of the rolls above 0.
    pub chances: Vec<T>,
    /// The orientations of the step: one tier if both players have the same pieces left, else
    /// (n, m) and (m, n).
    pub tiers: Vec<Tier>,
    /// For each orientation the final values (padded) of the tier it leads to when the player who
    /// just moved scores a piece; `None` if that wins the game.
    after_scoring: Vec<Option<(Tier, &'a [T])>>,
}

impl<'a, T: Value> Context<'a, T> {
    /// The surroundings of the step of a tier; `finals` gives the padded values of the tiers it
    /// reads.
    pub fn new(
        encoding: &'a Encoding,
        tables: &'a Tables,
        tier: Tier,
        finals: impl Fn(Tier) -> &'a [T],
    ) -> Self {
        let tiers = if tier == tier.swap() { vec![tier] } else { vec![tier, tier.swap()] };
        let after_scoring = tiers
            .iter()
            .map(|tier| {
                let after = Tier::new(tier.just_moved - 1, tier.to_move);
                (after.just_moved > 0).then(|| (after, finals(after)))
            })
            .collect();
        Self {
            encoding,
            tables,
            zero: T::from_f64(tables.rules.zero),
            chances: tables.rules.rolls.iter().map(|roll| T::from_f64(roll.chance)).collect(),
            tiers,
            after_scoring,
        }
    }

    /// The orientation in which the other player just moved.
    #[inline(always)]
    pub fn swapped(&self, orientation: usize) -> usize {
        if self.tiers.len() == 1 { 0 } else { 1 - orientation }
    }

    /// The tier an orientation leads to by scoring; `None` if that wins.
    #[inline(always)]
    pub fn after_scoring(&self, orientation: usize) -> Option<Tier> {
        self.after_scoring[orientation].map(|(tier, _)| tier)
    }

    /// The values of [`Context::after_scoring`]; none if that wins.
    #[inline(always)]
    pub fn finals(&self, orientation: usize) -> &'a [T] {
        self.after_scoring.get(orientation).copied().flatten().map_or(&[], |(_, values)| values)
    }
}
