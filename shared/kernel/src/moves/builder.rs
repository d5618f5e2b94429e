//! How the routes of a ruleset are worked out.

use std::{collections::HashMap, hash::Hash};

use ziggurat_encoding::{Encoding, shared::Budgets};
use ziggurat_planning::basis::is_dense;

use crate::{
    moves::{
        dense::{self, DenseSlab},
        layout::{Block, Layout},
        lists::{RowList, RowMove, TransposedBlock, ValueList, Within},
        occupancy::Occupancies,
        routes::{Route, Routes},
        rules::{BlockMove, End, Rows, Rules},
    },
    simd::vector::LANES,
};

impl Routes {
    /// The layouts and routes of an encoding's ruleset.
    pub fn new(encoding: &Encoding, rules: &Rules, occupancies: &Occupancies) -> Self {
        let pieces = encoding.ruleset().pieces();
        let rolls = rules.rolls.len();
        let all = || (0..=pieces).flat_map(|own| (0..=pieces).map(move |opponent| (own, opponent)));
        let layouts: Vec<_> = all().map(|b| Layout::new(encoding, b, rolls)).collect();
        let own = layouts.iter().map(|layout| rows_of(layout, |_| true, Block::own)).collect();
        let mut this = Self {
            layouts,
            own,
            within: Vec::new(),
            dense: Vec::new(),
            rolls_again_within: false,
            routes: Vec::new(),
            whole: Vec::new(),
            blocks: Vec::new(),
            lists: Vec::new(),
            values: Vec::new(),
            budgets: pieces as usize + 1,
            rolls,
            starts: encoding.geometry().own_place.len(),
        };
        let mut builder = Builder { encoding, rules, occupancies, known: HashMap::new() };
        for budgets in all() {
            for roll in 0..rolls {
                let whole = [false, true].map(|columns| {
                    let wanted = |block: &Block| block.is_column == columns;
                    let list = rows_of(this.layout(budgets), wanted, |block| block.best(roll));
                    this.add(list)
                });
                this.whole.push(whole);
            }
            match is_dense(encoding) {
                true => builder.add_dense(&mut this, budgets),
                false => builder.add_within(&mut this, budgets),
            }
            for (roll, moves) in rules.rolls.iter().enumerate() {
                for mv in &moves.moves {
                    for captures in [false, true] {
                        let mv = mv.as_ref().filter(|mv| !mv.stays_in_slab());
                        let route =
                            mv.and_then(|mv| builder.route(&mut this, budgets, roll, mv, captures));
                        this.routes.push(route);
                    }
                }
            }
        }
        this
    }
}

/// All rows of the wanted blocks of a slab, into the matrix that `to` names.
pub fn rows_of(
    layout: &Layout,
    wanted: impl Fn(&Block) -> bool,
    to: impl Fn(&Block) -> usize,
) -> RowList {
    let mut rows = Vec::new();
    for block in layout.blocks.iter().filter(|block| wanted(block)) {
        let (lines, len) = block.lines();
        for line in 0..lines {
            let row = RowMove::new(to(block) + line * block.stride, block.start + line * len);
            rows.push((block.stride, row));
        }
    }
    RowList::new(rows)
}

/// Whether these rows of a block are all of them, each from the same one.
pub fn are_same(pairs: &[(u32, u32)], block: &Block) -> bool {
    pairs.len() == block.rows && pairs.iter().all(|(p, after)| p == after)
}

/// The effect of a move on a configuration of the inner squares.
pub struct InnerStep {
    x: u16,
    after: u16,
    captures: bool,
}

/// A list of a route: moves that touch outer squares only have the same wherever the pieces before and after and the
/// roll are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ListOf {
    Rows,
    Columns,
    Picked,
    Single,
    Transposed,
}

/// The pieces before and after, and the roll.
type Key = (Budgets, Budgets, usize);

/// The lists of a route while it is worked out.
#[derive(Default)]
struct Draft {
    rows: Vec<(usize, RowMove)>,
    columns: Vec<(usize, RowMove)>,
    picked: Vec<RowMove>,
    single: Vec<RowMove>,
    transposed: Vec<TransposedBlock>,
}

pub struct Builder<'a> {
    encoding: &'a Encoding,
    rules: &'a Rules,
    occupancies: &'a Occupancies,
    /// The numbers of lists of moves that touch outer squares only.
    known: HashMap<(ListOf, Key), u32>,
}

impl Builder<'_> {
    /// The effects of a move on the inner squares, wherever they allow it.
    fn inner_steps(&self, budgets: Budgets, mv: &BlockMove) -> Vec<InnerStep> {
        let shared = self.encoding.shared();
        let fits = |(own, opponent): Budgets| own <= budgets.0 && opponent <= budgets.1;
        let fitting = (0..).zip(shared.inner_pieces()).filter(|&(_, &pieces)| fits(pieces));
        let step = |x: u16| {
            let occupancy = &self.occupancies.inner()[x as usize];
            let mut after = x;
            if let Some(left) = mv.leaves
                && let Some(inner) = left.inner
            {
                if occupancy.own >> mv.from & 1 == 0 {
                    return None;
                }
                after -= inner.weight * u16::from(left.digit);
            }
            let mut captures = false;
            if let End::Shared(reached) = mv.end
                && let Some(inner) = reached.inner
            {
                if occupancy.blocked >> mv.to & 1 == 1 && !mv.same_square {
                    return None;
                }
                captures = occupancy.captures >> mv.to & 1 == 1;
                let mut w = ziggurat_encoding::SharedConfiguration::default();
                w.0[shared.inner_chunk()] = x;
                let before = if captures { shared.digit(&w, reached.square) } else { 0 };
                after += inner.weight * u16::from(reached.digit);
                after -= inner.weight * u16::from(before);
            }
            Some(InnerStep { x, after, captures })
        };
        fitting.filter_map(|(x, _)| step(x)).collect()
    }

    /// Which rows of a block lead to which, for a player with at most `k` private pieces.
    fn pairs(mv: &BlockMove, k: u8, rows: usize) -> Vec<(u32, u32)> {
        match &mv.rows {
            Rows::Same => (0..rows as u32).map(|p| (p, p)).collect(),
            Rows::SameWithHand { counts } => {
                (0..counts[k as usize] as u32).map(|p| (p, p)).collect()
            }
            Rows::Mapped(map) => map.up_to(k).to_vec(),
        }
    }

    fn rolls_again(&self, mv: &BlockMove, captures: bool) -> bool {
        mv.rosette || captures && self.rules.captures_grant_rolls
    }

    /// Adds the moves within slabs with these pieces left that lead to other blocks.
    fn add_within(&self, routes: &mut Routes, budgets: Budgets) {
        let layout = routes.layout(budgets);
        let mut of_block = vec![(Vec::new(), Vec::new()); layout.by_inner.len()];
        let mut rolls_again_within = false;
        for (roll, moves) in self.rules.rolls.iter().enumerate() {
            for mv in moves.moves.iter().flatten().filter(|mv| mv.stays_in_slab()) {
                for InnerStep { x, after, captures } in self.inner_steps(budgets, mv) {
                    let (block, Some(source)) = (layout.block(x), &layout.by_inner[after as usize])
                    else {
                        continue; // needs a piece that there is not
                    };
                    let again = self.rolls_again(mv, captures);
                    rolls_again_within |= again;
                    let matrix = if again { source.value() } else { source.own() };
                    let k = budgets.0 - self.encoding.shared().inner_pieces()[x as usize].0;
                    let best = block.best(roll);
                    let pairs = Self::pairs(mv, k, block.rows);
                    assert!(pairs.iter().all(|&(_, after)| (after as usize) < source.rows));
                    let (rows, values) = &mut of_block[x as usize];
                    if !block.is_column {
                        assert!(!source.is_column && block.stride <= source.stride);
                        rows.extend(pairs.into_iter().map(|(p, after)| {
                            let from = matrix + after as usize * source.stride;
                            RowMove::new(best + p as usize * block.stride, from)
                        }));
                    } else if source.is_column && are_same(&pairs, block) {
                        rows.push(RowMove::new(best, matrix));
                    } else {
                        let row = if source.is_column { 1 } else { source.stride * LANES };
                        values.extend(pairs.into_iter().map(|(p, after)| {
                            let from = matrix * LANES + after as usize * row;
                            RowMove::new(best * LANES + p as usize, from)
                        }));
                    }
                }
            }
        }
        let mut within = Within::default();
        for (block, (rows, values)) in layout.by_inner.iter().zip(of_block) {
            within.push(block.as_ref(), rows, values);
        }
        routes.rolls_again_within |= rolls_again_within;
        routes.within.push(within);
    }

    /// The pieces that the outer squares leave after a move; `None` if a player has too many.
    fn budgets_after(
        &self,
        routes: &Routes,
        (own, opponent): Budgets,
        mv: &BlockMove,
        captures: bool,
    ) -> Option<Budgets> {
        let leaves_outer = mv.leaves.is_some_and(|left| left.inner.is_none());
        let reaches_outer = match mv.end {
            End::Shared(reached) => reached.inner.is_none(),
            End::Scored => true,
            End::Private => false,
        };
        let own = (own + u8::from(leaves_outer)).checked_sub(u8::from(reaches_outer))?;
        let after = (own, opponent + u8::from(captures));
        routes.fits(after).then_some(after)
    }

    fn route(
        &mut self,
        routes: &mut Routes,
        budgets: Budgets,
        roll: usize,
        mv: &BlockMove,
        outer_captures: bool,
    ) -> Option<Route> {
        let after = self.budgets_after(routes, budgets, mv, outer_captures)?;
        let is_dense = is_dense(self.encoding);
        let touches_outer_only = mv.touches_outer_only();
        let same_slab = after == budgets && !self.rolls_again(mv, outer_captures);
        if is_dense && touches_outer_only && same_slab {
            let [whole, _] = routes.whole[routes.row(budgets) * self.rules.rolls.len() + roll];
            return Some(Route { rows: Some(whole), covers_all_rows: true, ..Route::default() });
        }
        let mut draft = Draft::default();
        for step in self.inner_steps(budgets, mv) {
            let again = self.rolls_again(mv, outer_captures || step.captures);
            match is_dense {
                true => self.add_value(&mut draft, routes, [budgets, after], roll, &step, again),
                false => {
                    self.add_block(&mut draft, routes, [budgets, after], (roll, mv), &step, again);
                }
            }
        }
        let covers_all_rows = touches_outer_only && !draft.rows.is_empty();
        let key = touches_outer_only.then_some((budgets, after, roll));
        let route = Route { covers_all_rows, ..self.lists(routes, draft, key) };
        (route.passes_turn() || route.rolls_again()).then_some(route)
    }

    /// Adds the rows of a block that lead to those of another.
    fn add_block(
        &self,
        draft: &mut Draft,
        routes: &Routes,
        [budgets, after]: [Budgets; 2],
        (roll, mv): (usize, &BlockMove),
        step: &InnerStep,
        again: bool,
    ) {
        let shared = self.encoding.shared();
        let reached = &routes.layout(after).by_inner[step.after as usize];
        let (block, Some(source)) = (routes.layout(budgets).block(step.x), reached) else {
            return; // needs a piece that there is not
        };
        let k = budgets.0 - shared.inner_pieces()[step.x as usize].0;
        let pairs = Self::pairs(mv, k, block.rows);
        if pairs.is_empty() {
            return;
        }
        let in_range =
            |&(p, after): &(u32, u32)| (p as usize) < block.rows && (after as usize) < source.rows;
        assert!(pairs.iter().all(in_range) && block.columns <= source.columns);
        let best = block.best(roll);
        let value = |p: u32| best * LANES + p as usize;
        if !again {
            let from = |after: u32| source.start + after as usize * source.columns;
            if !block.is_column {
                let row = |&(p, after): &(u32, u32)| {
                    (block.stride, RowMove::new(best + p as usize * block.stride, from(after)))
                };
                draft.rows.extend(pairs.iter().map(row));
            } else if source.is_column && are_same(&pairs, block) {
                draft.columns.push((block.stride, RowMove::new(best, source.start)));
            } else {
                let single = pairs.iter().map(|&(p, after)| RowMove::new(value(p), from(after)));
                draft.picked.extend(single);
            }
            return;
        }
        let source = routes.layout((after.1, after.0)).block(shared.inner_swapped(step.after));
        if block.is_column {
            // The other player has one configuration, with no piece on private squares: the first.
            let from = |after: u32| source.start + after as usize;
            let single = pairs.iter().map(|&(p, after)| RowMove::new(value(p), from(after)));
            draft.single.extend(single);
            return;
        }
        draft.transposed.push(TransposedBlock {
            to: best,
            block: *block,
            from: source.start,
            source_rows: source.columns,
            pairs: if let Rows::Same = mv.rows { Vec::new() } else { pairs },
        });
    }

    /// Adds the value of a dense slab that leads to another.
    fn add_value(
        &self,
        draft: &mut Draft,
        routes: &Routes,
        [budgets, after]: [Budgets; 2],
        roll: usize,
        step: &InnerStep,
        again: bool,
    ) {
        let place = |budgets, x| dense::place(self.encoding, budgets, x);
        let (Some(to), Some(from)) = (place(budgets, step.x), place(after, step.after)) else {
            return; // needs a piece that there is not
        };
        let to = routes.layout(budgets).block(0).best(roll) * LANES + to;
        if again {
            let swapped = self.encoding.shared().inner_swapped(step.after);
            let from = place((after.1, after.0), swapped);
            let from = from.expect("the swapped value fits as well");
            draft.single.push(RowMove::new(to, from));
        } else {
            draft.picked.push(RowMove::new(to, from));
        }
    }

    /// Adds the lists of a route that have something in them, or finds them.
    fn lists(&mut self, routes: &mut Routes, draft: Draft, key: Option<Key>) -> Route {
        let Draft { rows, columns, picked, single, mut transposed } = draft;
        let known = &mut self.known;
        let Routes { lists, values, blocks, .. } = routes;
        let mut add = |of, rows: Vec<_>| {
            find_or_add(known, key.map(|key| (of, key)), lists, rows, RowList::new)
        };
        let (rows, columns) = (add(ListOf::Rows, rows), add(ListOf::Columns, columns));
        let mut add = |of, single: Vec<_>| {
            find_or_add(known, key.map(|key| (of, key)), values, single, ValueList::new)
        };
        let (picked, single) = (add(ListOf::Picked, picked), add(ListOf::Single, single));
        // Blocks of one shape follow each other: so the processor predicts their branches.
        transposed.sort_by_key(|block| (block.block.stride, block.block.padded_rows));
        let key = key.map(|key| (ListOf::Transposed, key));
        let transposed = find_or_add(known, key, blocks, transposed, |blocks| blocks);
        Route { rows, columns, picked, single, transposed, covers_all_rows: false }
    }

    /// Adds the dense slabs with these pieces left.
    fn add_dense(&self, routes: &mut Routes, budgets: Budgets) {
        let block = *routes.layout(budgets).block(0);
        let place = |x| dense::place(self.encoding, budgets, x);
        let mut of_value = vec![Vec::new(); self.encoding.shared().inner_pieces().len()];
        for (roll, moves) in self.rules.rolls.iter().enumerate() {
            for mv in moves.moves.iter().flatten().filter(|mv| mv.stays_in_slab()) {
                for step in self.inner_steps(budgets, mv) {
                    let (Some(to), Some(after)) = (place(step.x), place(step.after)) else {
                        continue; // needs a piece that there is not
                    };
                    let again = self.rolls_again(mv, step.captures);
                    routes.rolls_again_within |= again;
                    let from = if again { block.value() } else { block.own() };
                    of_value[step.x as usize]
                        .push(RowMove::new(block.best(roll) * LANES + to, from * LANES + after));
                }
            }
        }
        routes.dense.push(DenseSlab::new(self.encoding, budgets, of_value));
    }
}

/// The number of the list with some moves, if there are any: that of a known one with the same key, or of a new one.
fn find_or_add<K: Eq + Hash, M, L>(
    known: &mut HashMap<K, u32>,
    key: Option<K>,
    lists: &mut Vec<L>,
    moves: Vec<M>,
    list_of: impl FnOnce(Vec<M>) -> L,
) -> Option<u32> {
    if moves.is_empty() {
        return None;
    }
    if let Some(&list) = key.as_ref().and_then(|key| known.get(key)) {
        return Some(list);
    }
    let list = lists.len() as u32;
    lists.push(list_of(moves));
    known.extend(key.map(|key| (key, list)));
    Some(list)
}
