//! Recording candidates.

use crate::{
    moves::{
        layout::Block,
        lists::{RowMove, TransposedBlock},
        routes::Route,
    },
    simd::{
        value::{Group, Value},
        vector::{Instructions, LANES, Operation, Vector},
    },
    sweep::{
        context::Context,
        elimination::format::{Head, Kind},
        pair::UnitValues,
        rows::{self, read, read_group, write_group},
        scratch::Scratch,
        slab::Slab,
        sources::{Location, ValueArrays},
        transpose,
        view::{View, groups_of, views},
    },
};

/// A threshold that no value reaches.
const OUT_OF_REACH: f64 = 2.0;

/// Writes down the candidates of a pair of slabs, two of them, that has just been swept: scratch memory is as the sweep
/// left it.
pub struct RecordCandidates<'a, 'l, 'c, T: Value> {
    /// The working memory.
    pub scratch: &'a mut Scratch<T>,
    /// The values of the unit, and those that it reads.
    pub values: &'a UnitValues<'a, 'l, 'c, T>,
    /// The slab and its swap.
    pub slabs: &'a [Slab<'c>; 2],
    /// How much worse than the best a candidate may be.
    pub margin: T,
    /// The words they are added to. Nothing is added if lists are so long that their rows have no numbers.
    pub words: &'a mut Vec<u16>,
}

impl<T: Value> Operation for RecordCandidates<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, values, slabs, margin, words } = self;
        let context = values.context;
        let start = words.len();
        let Scratch { slabs: scratch, transposed, .. } = scratch;
        let starts = [0, groups_of(context, &slabs[0])];
        let blocks = || views(context, slabs, starts).flat_map(|pair| [pair.0, pair.1]);
        for view in blocks() {
            lower::<T, I>(context, &view, scratch, margin);
        }
        let sources = values.arrays();
        let mut recorder = Recorder { instructions, context, words, is_whole: true };
        for (slab, start) in slabs.iter().zip(starts) {
            let thresholds = &scratch[start..][..groups_of(context, slab)];
            recorder.slab(&sources, slab, thresholds, transposed);
        }
        for view in blocks() {
            recorder.within(&view, &scratch[view.slab..]);
        }
        if !recorder.is_whole {
            words.truncate(start);
        }
    }
}

/// Lowers the best of a block, moves within it counted, by the margin.
#[inline(always)]
fn lower<T: Value, I: Instructions>(
    context: &Context<'_, T>,
    view: &View<'_>,
    scratch: &mut [T::Group],
    margin: T,
) {
    let View { block, slab, .. } = view;
    let slab = &mut scratch[*slab..];
    let (rolls, stride) = (context.chances.len(), block.stride);
    let inner = &context.tables.private[view.left(context).0 as usize];
    let (mut rest, width) = if block.is_column {
        let (moves, width) = inner.column(block.rows, rolls);
        (moves, Some(width))
    } else {
        (inner.counted(block.rows, rolls), None)
    };
    for (p, roll) in (0..block.rows).rev().flat_map(|p| (0..rolls).map(move |roll| (p, roll))) {
        let width = match width {
            Some(width) => width,
            None => rest.split_off_first().map_or(0, |&width| width as usize),
        };
        let moves = rest.split_off(..width);
        let moves = moves.expect("moves for every row and roll").iter().map(|&at| at as usize);
        if block.is_column {
            let slab = rows::values_of::<T>(slab);
            let best = block.best(roll) * LANES + p;
            slab[best] =
                moves.fold(slab[best], |best, at| best.larger(slab[block.at * LANES + at]));
        } else {
            for g in 0..stride {
                let best = block.best(roll) + p * stride + g;
                let mut top = read_group::<T, I>(&slab[best]);
                for at in moves.clone() {
                    top = top.larger(read_group::<T, I>(&slab[block.at + at * stride + g]));
                }
                write_group::<T, I>(top, &mut slab[best]);
            }
        }
    }
    for best in slab[block.best(0)..block.best(rolls)].iter_mut() {
        let lowered = read_group::<T, I>(best).plus(T::Vector::<I>::splat(margin.negated()));
        write_group::<T, I>(lowered, best);
    }
    // The values beyond the columns are nobody's.
    let (lines, len) = block.lines();
    let slab = rows::values_of::<T>(slab);
    for (roll, line) in (0..rolls).flat_map(|roll| (0..lines).map(move |line| (roll, line))) {
        let start = (block.best(roll) + line * block.stride) * LANES;
        slab[start + len..start + block.stride * LANES].fill(T::from_f64(OUT_OF_REACH));
    }
}

/// Writes down the moves that come up to the thresholds.
struct Recorder<'a, 'c, T, I> {
    instructions: I,
    context: &'a Context<'c, T>,
    words: &'a mut Vec<u16>,
    /// Whether all could be written down.
    is_whole: bool,
}

impl<T: Value, I: Instructions> Recorder<'_, '_, T, I> {
    /// Writes down a run, if there is anything in it.
    #[inline(always)]
    fn run(&mut self, head: Head, numbers: impl IntoIterator<Item = usize>) {
        let start = self.words.len();
        self.words.extend([0; Head::WORDS]);
        for number in numbers {
            self.is_whole &= number <= usize::from(u16::MAX);
            self.words.push(number as u16);
        }
        match self.words.len() - start - Head::WORDS {
            0 if head.kind != Kind::End => self.words.truncate(start),
            len => match (Head { len, ..head }).pack() {
                Some(words) => self.words[start..][..Head::WORDS].copy_from_slice(&words),
                None => self.is_whole = false,
            },
        }
    }

    /// Writes down the candidates of a slab, whose thresholds are in place of the best.
    #[inline(always)]
    fn slab(
        &mut self,
        sources: &ValueArrays<'_, T>,
        slab: &Slab<'_>,
        thresholds: &[T::Group],
        transposed: &mut [T::Group],
    ) {
        let routes = &self.context.tables.routes;
        // The rows that a run has set; runs that follow raise them.
        let mut is_set = vec![false; thresholds.len()];
        for (roll, successors) in slab.successors.iter().enumerate() {
            let head = |kind, successor| Head { kind, roll, successor, ..Head::END };
            let raised_blocks = self.blocks(
                sources,
                (roll, &successors.extra_roll),
                thresholds,
                transposed,
                &mut is_set,
            );
            for (successor, (location, route)) in successors.passing().enumerate() {
                let source = sources.at(*location);
                let of_rows = route.rows.map(|list| (list, Kind::SetRows, Kind::RaiseRows));
                let of_columns =
                    route.columns.map(|list| (list, Kind::SetColumns, Kind::RaiseColumns));
                for (list, setting, raising) in of_rows.into_iter().chain(of_columns) {
                    let heads = [head(setting, successor), head(raising, successor)];
                    self.rows(heads, list, source, thresholds, &mut is_set);
                }
            }
            let whole = routes.whole(slab.budgets, roll);
            for (kind, all) in [Kind::FillRows, Kind::FillColumns].into_iter().zip(whole) {
                for (run, (_, rows)) in all.runs().enumerate() {
                    let is_unset = |&number: &usize| !is_set[rows[number].to as usize];
                    self.run(Head { run, ..head(kind, 0) }, (0..rows.len()).filter(is_unset));
                }
            }
            for (successor, (location, route)) in successors.passing().enumerate() {
                let head = head(Kind::Picked, successor);
                self.values(head, route.picked, sources.at(*location), thresholds);
            }
            for (successor, (location, route)) in successors.extra_roll.iter().enumerate() {
                let head = head(Kind::Single, successor);
                self.values(head, route.single, sources.at(*location), thresholds);
            }
            for blocks in raised_blocks.chunk_by(|a, b| a.0 == b.0) {
                let numbers = blocks.iter().map(|&(_, number)| number);
                self.run(head(Kind::RaiseTransposed, blocks[0].0), numbers);
            }
        }
        self.run(Head::END, []);
    }

    /// Writes down blocks that set rows; returns those that are to raise rows, each with its successor.
    #[inline(always)]
    fn blocks(
        &mut self,
        sources: &ValueArrays<'_, T>,
        (roll, extra_roll): (usize, &[(Location, &Route)]),
        thresholds: &[T::Group],
        transposed: &mut [T::Group],
        is_set: &mut [bool],
    ) -> Vec<(usize, usize)> {
        let routes = &self.context.tables.routes;
        let (mut set, mut raised) = (Vec::new(), Vec::new());
        for (successor, (location, route)) in extra_roll.iter().enumerate() {
            let blocks = route.transposed.map_or(&[][..], |list| routes.blocks(list));
            for (number, block) in blocks.iter().enumerate() {
                if !self.may_be_best(block, sources.at(*location), thresholds, transposed) {
                    continue;
                }
                let Block { rows, stride, .. } = block.block;
                if block.pairs.is_empty() && !is_set[block.to] {
                    (0..rows).for_each(|p| is_set[block.to + p * stride] = true);
                    set.push(number);
                } else {
                    raised.push((successor, number));
                }
            }
            let head = Head { kind: Kind::SetTransposed, roll, successor, ..Head::END };
            self.run(head, set.drain(..));
        }
        raised
    }

    /// Writes down the rows of a list that set rows, and those that raise them.
    #[inline(always)]
    fn rows(
        &mut self,
        [setting, raising]: [Head; 2],
        list: u32,
        source: &[T],
        thresholds: &[T::Group],
        is_set: &mut [bool],
    ) {
        let (mut set, mut raised) = (Vec::new(), Vec::new());
        for (run, (stride, rows)) in self.context.tables.routes.list(list).runs().enumerate() {
            for (number, row) in rows.iter().enumerate() {
                let mut may_be_best = false;
                for g in 0..stride {
                    let offered = &source[row.from as usize + g * LANES..][..LANES];
                    let threshold = read_group::<T, I>(&thresholds[row.to as usize + g]);
                    may_be_best |= read::<T, I>(offered).reaches(threshold);
                }
                if may_be_best {
                    let is_set = &mut is_set[row.to as usize];
                    if *is_set { &mut raised } else { &mut set }.push(number);
                    *is_set = true;
                }
            }
            self.run(Head { run, ..setting }, set.drain(..));
            self.run(Head { run, ..raising }, raised.drain(..));
        }
    }

    /// Writes down single values of a list.
    #[inline(always)]
    fn values(&mut self, head: Head, list: Option<u32>, source: &[T], thresholds: &[T::Group]) {
        let Some(list) = list else { return };
        let values = self.context.tables.routes.values(list).values();
        let may_be_best = |&number: &usize| {
            let RowMove { to, from } = values[number];
            let offered = source[from as usize];
            let offered = if head.kind == Kind::Single { offered.negated() } else { offered };
            offered >= value::<T>(thresholds, to)
        };
        self.run(head, (0..values.len()).filter(may_be_best));
    }

    /// Whether any row of a block that is to be transposed may be best.
    #[inline(always)]
    fn may_be_best(
        &self,
        block: &TransposedBlock,
        source: &[T],
        thresholds: &[T::Group],
        transposed: &mut [T::Group],
    ) -> bool {
        let Block { rows, columns, stride, .. } = block.block;
        let size = (block.source_rows, columns);
        let source = [&source[block.from..]];
        transpose::set::<T, I, 1>(self.instructions, source, block.source_rows, transposed, size);
        let mut may_be_best = false;
        if block.pairs.is_empty() {
            let thresholds = &thresholds[block.to..];
            may_be_best = any_reaches::<T, I>(&transposed[..rows * stride], thresholds);
        }
        for &(p, after) in &block.pairs {
            let offered = &transposed[after as usize * stride..][..stride];
            let thresholds = &thresholds[block.to + p as usize * stride..];
            may_be_best |= any_reaches::<T, I>(offered, thresholds);
        }
        may_be_best
    }

    /// Writes down the candidates of a block among others of its slab.
    #[inline(always)]
    fn within(&mut self, view: &View<'_>, slab: &[T::Group]) {
        let [rows, values] = self.context.tables.routes.within(view.budgets).of(view.x);
        let start = self.words.len();
        self.words.extend([0; 2]);
        for (number, row) in rows.iter().enumerate() {
            let offered = &slab[row.from as usize..][..view.block.stride];
            if any_reaches::<T, I>(offered, &slab[row.to as usize..]) {
                self.words.push(number as u16);
            }
        }
        let end_of_rows = self.words.len();
        for (number, &RowMove { to, from }) in values.iter().enumerate() {
            if value::<T>(slab, from) >= value::<T>(slab, to) {
                self.words.push(number as u16);
            }
        }
        self.is_whole &= rows.len().max(values.len()) <= usize::from(u16::MAX);
        let counts = [end_of_rows - start - 2, self.words.len() - end_of_rows];
        self.words[start..][..2].copy_from_slice(&counts.map(|count| count as u16));
    }
}

/// Whether anything offered, group by group, comes up to the thresholds.
#[inline(always)]
fn any_reaches<T: Value, I: Instructions>(offered: &[T::Group], thresholds: &[T::Group]) -> bool {
    let mut any = false;
    for (offered, threshold) in offered.iter().zip(thresholds) {
        any |= read_group::<T, I>(offered).reaches(read_group::<T, I>(threshold));
    }
    any
}

/// A single value of scratch memory.
#[inline(always)]
fn value<T: Value>(scratch: &[T::Group], at: u32) -> T {
    scratch[at as usize / LANES].lanes()[at as usize % LANES]
}
