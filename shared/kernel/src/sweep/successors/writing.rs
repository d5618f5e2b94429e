//! How the successor table of a unit is written down.

use std::array;

use ziggurat_encoding::Shard;

use crate::{
    moves::{dense::DenseSlab, layout::Block, lists::RowMove, routes::Routes},
    shards::ranges::ranges,
    simd::{address::Address, value::Value, vector::LANES},
    sweep::{
        context::Context,
        order::{SlabPair, for_each_pair_of_slabs},
        slab::{Slab, Successors},
        sources::{Location, OwnRanges, arrays as stored},
        successors::{
            table::{Kept, ROLLS, Stage, SuccessorTable, arrays},
            turns::Turns,
        },
        view::PASSES,
    },
};

/// The most rolls above 0.
const MOST_ROLLS: usize = ROLLS[ROLLS.len() - 1];

impl SuccessorTable {
    /// Writes down that of a unit; `None` if it would be too large.
    pub fn write_down<'t, T: Value>(
        context: &Context<'t, T>,
        part: &Shard,
        is_tail: bool,
        slabs: &mut SlabPair<'t>,
    ) -> Option<Self> {
        let lens = ranges(part, context.last()).map(|range| range.map_or(0, |(_, own)| own.len()));
        let mut writer = Writer {
            routes: &context.tables.routes,
            rolls: context.chances.len(),
            second: lens[0],
            turns: Turns::new(lens.iter().sum()),
            best: Default::default(),
            pairs: Vec::new(),
            successors: Vec::new(),
            table: Self { stages: vec![Stage::default()], ..Self::default() },
        };
        let most_bytes = Self::most_bytes(part, is_tail) as usize;
        let locator = OwnRanges { part, last: context.last() };
        for_each_pair_of_slabs(context, part, &locator, slabs, |slabs, is_one| {
            for _ in 0..Self::rounds(is_tail) {
                if writer.table.bytes() <= most_bytes {
                    writer.add(slabs, is_one);
                }
            }
        });
        writer.end_stage();
        let mut table = writer.table;
        table.counts.shrink_to_fit();
        table.addresses.shrink_to_fit();
        for address in &table.addresses {
            let end = &mut table.ends[address.array()];
            *end = (address.place() + 1).max(*end);
        }
        (table.bytes() <= most_bytes).then_some(table)
    }
}

/// A pair of positions.
struct Pair {
    turn: u32,
    /// How often both are passed over.
    passes: u8,
    /// For either position and each roll, how many successors it has.
    counts: [[u8; MOST_ROLLS]; 2],
    /// Where they are written.
    addresses: [Address; 2],
    /// Where their successors start.
    start: usize,
}

struct Writer<'t> {
    routes: &'t Routes,
    rolls: usize,
    /// The length of the first range of the unit, after which the values of the second one are counted.
    second: usize,
    turns: Turns,
    /// By slab, roll and place, the successors.
    best: [Vec<Vec<Address>>; 2],
    /// The pairs of the stage, and their successors.
    pairs: Vec<Pair>,
    successors: Vec<Address>,
    table: SuccessorTable,
}

/// A slab whose successors are looked for.
struct Side<'a, 't> {
    slab: &'a Slab<'t>,
    dense: &'t DenseSlab,
    block: &'t Block,
    /// Where its swap is.
    swapped: Location,
}

impl<'t> Writer<'t> {
    /// Adds a pair of slabs.
    fn add(&mut self, slabs: &SlabPair<'t>, is_one: bool) {
        let routes = self.routes;
        let len = routes.layout(slabs[0].budgets).block(0).columns;
        if slabs.iter().any(|slab| reads_own_values(slab, slabs, len)) {
            self.end_stage();
            let kept = slabs
                .each_ref()
                .map(|slab| slab.own)
                .map(|own| Kept { array: own.array, values: own.start..own.start + len });
            self.table.stages.push(Stage { kept: kept.into(), groups: 0 });
        }
        let sides = [(&slabs[0], &slabs[1]), (&slabs[1], &slabs[0])].map(|(slab, swapped)| Side {
            slab,
            dense: routes.dense(slab.budgets).expect("slabs are dense"),
            block: routes.layout(slab.budgets).block(0),
            swapped: swapped.own,
        });
        for (best, side) in self.best.iter_mut().zip(&sides) {
            best.resize_with(best.len().max(len * self.rolls), Vec::new);
            best[..len * self.rolls].iter_mut().for_each(Vec::clear);
            find_elsewhere(best, routes, side, slabs);
            find_within(best, side);
        }
        let [first, second] = &sides;
        for p in first.dense.order.iter().map(|&p| p as usize) {
            let q = first.dense.values[p].swapped as usize;
            if !is_one || p >= q {
                // A position that is its own swap is both of the pair: half as many passes go as often over it.
                let passes = if is_one && p == q { PASSES / 2 } else { PASSES };
                self.add_pair(passes as u8, [(first.slab, p), (second.slab, q)], len);
            }
        }
    }

    /// Adds a pair of positions of slabs of so many.
    fn add_pair(&mut self, passes: u8, pair: [(&Slab<'t>, usize); 2], len: usize) {
        let start = self.successors.len();
        let mut counts = [[0; MOST_ROLLS]; 2];
        for ((best, counts), (_, place)) in self.best.iter().zip(&mut counts).zip(pair) {
            for (roll, count) in counts[..self.rolls].iter_mut().enumerate() {
                let best = &best[roll * len + place];
                *count = u8::try_from(best.len()).expect("a player has at most 15 pieces");
                self.successors.extend(best);
            }
        }
        let addresses = pair.map(|(slab, place)| address_in(slab.own, place));
        let own = |address: &Address| match address.array() {
            stored::LIVE => Some(address.place()),
            array if array == stored::LIVE + 1 => Some(self.second + address.place()),
            _ => None,
        };
        let reads = self.successors[start..].iter().filter_map(own);
        let turn = self.turns.next(reads, addresses.iter().filter_map(own));
        self.pairs.push(Pair { turn, passes, counts, addresses, start });
    }

    /// Puts the pairs of a stage into groups: of each turn those with as many successors together.
    fn end_stage(&mut self) {
        let Self { pairs, successors, table, .. } = self;
        pairs.sort_by_key(|pair| (pair.turn, pair.passes, pair.counts));
        let stage = table.stages.last_mut().expect("there is a first stage");
        for of_turn in pairs.chunk_by(|a, b| (a.turn, a.passes) == (b.turn, b.passes)) {
            for group in of_turn.chunks(LANES) {
                stage.groups += 1;
                table.counts.push(group[0].passes);
                // Lanes without a pair do what the last one does.
                let lanes: [&Pair; LANES] = array::from_fn(|i| &group[i.min(group.len() - 1)]);
                let mut starts = lanes.map(|pair| pair.start);
                for i in 0..2 {
                    table.addresses.extend(lanes.map(|pair| pair.addresses[i]));
                }
                for (i, roll) in (0..2).flat_map(|i| (0..self.rolls).map(move |roll| (i, roll))) {
                    let counts = lanes.map(|pair| usize::from(pair.counts[i][roll]));
                    let most = counts.into_iter().max().unwrap_or(0);
                    table.counts.push(most as u8);
                    for k in 0..most {
                        table.addresses.extend(array::from_fn::<_, LANES, _>(|lane| {
                            match k < counts[lane] {
                                true => successors[starts[lane] + k],
                                false => Address::new(arrays::CONSTANTS, arrays::NONE),
                            }
                        }));
                    }
                    starts.iter_mut().zip(counts).for_each(|(start, count)| *start += count);
                }
            }
        }
        pairs.clear();
        successors.clear();
    }
}

/// Adds the successors of a slab in other slabs.
fn find_elsewhere(
    best: &mut [Vec<Address>],
    routes: &Routes,
    Side { slab, block, .. }: &Side<'_, '_>,
    slabs: &SlabPair<'_>,
) {
    let len = block.columns;
    let values_of = |list: Option<u32>| list.map_or(&[][..], |list| routes.values(list).values());
    for (roll, successors) in slab.successors.iter().enumerate() {
        let best = &mut best[roll * len..][..len];
        let place = |row: &RowMove| row.to as usize - block.best(roll) * LANES;
        for &(location, route) in successors.passing() {
            let location = before(location, slabs, len);
            if route.rows.is_some() {
                // It is of all rows, which are one.
                best.iter_mut().zip(0..).for_each(|(best, at)| best.push(address_in(location, at)));
            }
            for row in values_of(route.picked) {
                best[place(row)].push(address_in(location, row.from as usize));
            }
        }
        for &(location, route) in &successors.extra_roll {
            let location = before(location, slabs, len);
            for row in values_of(route.single) {
                let address = address_in(location, row.from as usize);
                best[place(row)].push(address.negated_if(true));
            }
        }
        for route in &successors.wins {
            let win = || vec![Address::new(arrays::CONSTANTS, arrays::WIN)];
            if route.rows.is_some() {
                best.iter_mut().for_each(|best| *best = win());
            }
            values_of(route.picked).iter().for_each(|row| best[place(row)] = win());
        }
    }
}

/// Adds the successors of a slab within it.
fn find_within(best: &mut [Vec<Address>], side: &Side<'_, '_>) {
    let Side { slab, dense, block, swapped } = side;
    let stride = block.stride * LANES;
    for row in (0..block.columns).flat_map(|place| dense.moves(place)) {
        let to = row.to as usize - block.best(0) * LANES;
        let from = row.from as usize;
        let address = match from.checked_sub(block.own() * LANES) {
            Some(after) => address_in(slab.own, after),
            // The value of the mover, which is that of the other player in the swapped slab.
            None => {
                let after = dense.values[from - block.value() * LANES].swapped;
                address_in(*swapped, after as usize).negated_if(true)
            }
        };
        best[to / stride * block.columns + to % stride].push(address);
    }
}

/// Whether a slab of a pair reads values of the pair by moves that leave it.
fn reads_own_values(slab: &Slab<'_>, slabs: &SlabPair<'_>, len: usize) -> bool {
    let any = |successors: &Successors<'_>| {
        let mut all = successors.passing().chain(&successors.extra_roll);
        all.any(|&(location, _)| before(location, slabs, len).array == arrays::BEFORE)
    };
    slab.successors.iter().any(any)
}

/// Where the values of a slab are found while a pair of slabs is swept: if it is of the pair, those of before, which
/// are kept.
fn before(location: Location, slabs: &SlabPair<'_>, len: usize) -> Location {
    let same = |slab: &Slab<'_>| slab.own == location;
    match slabs.iter().position(same) {
        Some(i) => Location { array: arrays::BEFORE, start: i * len },
        None => location,
    }
}

fn address_in(location: Location, place: usize) -> Address {
    Address::new(location.array, location.start + place)
}
