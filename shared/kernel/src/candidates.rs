//! Candidates: which other blocks offer a mover something, and what.
//!
//! Legality is a question to the shared squares and the roll alone, so it is answered for all the
//! positions of a block at once, by masks over path positions. What is found is written down, and
//! its memory asked for, a block ahead of the arithmetic.

use ziggurat_game::PathPosition;

use crate::{
    block::View,
    context::Context,
    rows::StoredRows,
    slab::{Place, Sources, bits},
    value::Value,
    vector::Instructions,
};

/// A block that a move leads to.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    place: Place,
    stride: u32,
    count: u32,
}

impl Candidate {
    /// The rows of the block, where it is stored as it is.
    #[inline(always)]
    fn rows<'a, T>(&self, sources: &Sources<'a, T>) -> StoredRows<'a, T> {
        StoredRows { values: sources.at(self.place, 0), stride: self.stride as usize }
    }

    /// The block that a mover reads when the turn passes.
    #[inline(always)]
    pub fn own(view: &View<'_>) -> Self {
        Self {
            place: view.slab.own.after(view.offset),
            stride: view.columns as u32,
            count: view.rows as u32,
        }
    }

    /// Where the block is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Values from row to row.
    pub fn stride(&self) -> usize {
        self.stride as usize
    }

    /// How many rows it has for the mover: rows, or columns if it is to be turned.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count as usize
    }
}

/// Where the values of candidates come from.
pub trait Fetch<T: Value> {
    /// Asks for the memory of the first `rows` rows of a candidate.
    fn prefetch<I: Instructions>(&self, instructions: I, candidate: &Candidate, rows: usize);

    /// The rows of candidates: `rows` of them are read, each with as many values as a block has
    /// columns, or more up to a whole group.
    fn plain<const COUNT: usize>(
        &mut self,
        candidates: [&Candidate; COUNT],
        rows: usize,
    ) -> [StoredRows<'_, T>; COUNT];

    /// The rows of a candidate of the other orientation, to be turned: `rows` of them are read.
    fn again(&mut self, candidate: &Candidate, rows: usize) -> StoredRows<'_, T>;
}

impl<T: Value> Fetch<T> for &Sources<'_, T> {
    #[inline(always)]
    fn prefetch<I: Instructions>(&self, instructions: I, candidate: &Candidate, rows: usize) {
        candidate.rows(self).prefetch(instructions, rows);
    }

    #[inline(always)]
    fn plain<const COUNT: usize>(
        &mut self,
        candidates: [&Candidate; COUNT],
        _: usize,
    ) -> [StoredRows<'_, T>; COUNT] {
        candidates.map(|candidate| candidate.rows(self))
    }

    #[inline(always)]
    fn again(&mut self, candidate: &Candidate, _: usize) -> StoredRows<'_, T> {
        candidate.rows(self)
    }
}

/// What a move leads to.
#[derive(Clone, Copy, Debug)]
pub enum Offer {
    /// The turn passes: rows of the mover, who just moved.
    Plain(Candidate),
    /// The mover rolls again: rows of the opponent, to be turned.
    Again(Candidate),
    /// The game is won.
    Win,
}

/// What other blocks offer for a roll: how many of each kind.
#[derive(Clone, Copy, Default, Debug)]
pub struct OfRoll {
    /// Moves of all rows alike after which the turn passes.
    pub plain: u8,
    /// Moves of all rows alike after which the mover rolls again.
    pub again: u8,
    /// Moves that only some rows have, or that lead to other rows.
    pub partial: u8,
    /// Whether a move of all rows wins.
    pub wins: bool,
}

/// What other blocks offer a mover: for each roll in turn, so many of each list.
#[derive(Debug, Default)]
pub struct Candidates {
    /// By roll.
    pub rolls: Vec<OfRoll>,
    /// Of all rows alike, the turn passes.
    pub plain: Vec<Candidate>,
    /// Of all rows alike, the mover rolls again.
    pub again: Vec<Candidate>,
    /// Others, by the path position they start from.
    pub partial: Vec<(PathPosition, Offer)>,
}

impl Candidates {
    /// Finds what other blocks offer, and asks for the memory it is in.
    #[inline(always)]
    pub fn find<T: Value, I: Instructions>(
        &mut self,
        instructions: I,
        context: &Context<'_, T>,
        fetch: &impl Fetch<T>,
        view: &View<'_>,
    ) {
        self.rolls.clear();
        self.plain.clear();
        self.again.clear();
        self.partial.clear();
        let own = view.occupancy.own;
        let private = if view.left.0 > 0 { context.tables.private_from } else { 0 };
        for (index, roll) in context.tables.rules.rolls.iter().enumerate() {
            let open = !(view.occupancy.blocked >> roll.value) | roll.from_same_square;
            let mut of_roll = OfRoll::default();
            for from in bits(own & roll.from_whole & open) {
                match offer(instructions, context, fetch, view, index, from) {
                    Offer::Plain(candidate) => {
                        self.plain.push(candidate);
                        of_roll.plain += 1;
                    }
                    Offer::Again(candidate) => {
                        self.again.push(candidate);
                        of_roll.again += 1;
                    }
                    Offer::Win => of_roll.wins = true,
                }
            }
            for from in bits((own | private) & roll.from_partial & open) {
                let offer = offer(instructions, context, fetch, view, index, from);
                self.partial.push((from, offer));
                of_roll.partial += 1;
            }
            self.rolls.push(of_roll);
        }
    }
}

/// What a legal move offers.
#[inline(always)]
fn offer<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    fetch: &impl Fetch<T>,
    view: &View<'_>,
    roll: usize,
    from: PathPosition,
) -> Offer {
    let tables = context.tables;
    let target = view.slab.target_of_move(roll, from);
    if target.wins {
        return Offer::Win;
    }
    let mut x = view.x.wrapping_add_signed(target.step);
    let mut rolls_again = target.rolls_again;
    if view.occupancy.captures & target.captures_at != 0 {
        let before = tables.inner_digit(view.x, target.place as usize);
        x -= target.weight * u16::from(before);
        rolls_again |= tables.rules.captures_grant_rolls;
    }
    if rolls_again {
        let swapped = tables.inner_swapped[x as usize];
        let block = tables.inner_block(target.again_blocks, swapped);
        let candidate = Candidate {
            place: target.again.after(block.offset),
            stride: block.columns,
            count: block.columns,
        };
        fetch.prefetch(instructions, &candidate, view.columns);
        Offer::Again(candidate)
    } else {
        let block = tables.inner_block(target.plain_blocks, x);
        let candidate = Candidate {
            place: target.plain.after(block.offset),
            stride: block.columns,
            count: block.rows,
        };
        fetch.prefetch(instructions, &candidate, view.rows);
        Offer::Plain(candidate)
    }
}
