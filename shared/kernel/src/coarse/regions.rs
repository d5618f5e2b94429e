//! Regions of the path, and basis functions of the number of pieces that each player has in each.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Place, Tier};
use ziggurat_game::{PathPosition, Position, Side};
use ziggurat_planning::basis::{basis_len, region_starts};

use crate::{
    moves::occupancy::bits,
    shards::ranges::Orientation,
    simd::{dispatch::Simd, value::Value},
};

/// The regions of a ruleset's path, and the *features* of a player's pieces: how many there are in each region but
/// the first.
#[derive(Debug)]
pub struct Regions<'a> {
    encoding: &'a Encoding,
    /// Of the step, by orientation.
    tiers: Vec<Tier>,
    /// For each path position, 0 for the hand, the weight of a piece there in the code of a player's features.
    weights: Vec<u64>,
    /// How many regions there are but the first.
    regions: usize,
    /// The features, those with fewer pieces first: the regions that have pieces, the second one being 0, with how
    /// many.
    features: Vec<Vec<(usize, f64)>>,
    /// How many features there are of at most so many pieces.
    counts: Vec<usize>,
    /// For each code of pieces on shared squares its place in `rows`.
    shared: HashMap<u64, usize>,
    /// For each of them and each private configuration the features of both.
    rows: Vec<Vec<u32>>,
}

impl<'a> Regions<'a> {
    /// Those of the step of a tier.
    pub fn new(encoding: &'a Encoding, tier: Tier) -> Self {
        let pieces = tier.just_moved.max(tier.to_move);
        let region_starts = region_starts(encoding);
        let base = u64::from(pieces) + 1;
        let weight = |at: PathPosition| match region_starts.partition_point(|&start| start <= at) {
            0 => 0,
            region => base.pow(region as u32 - 1),
        };
        let weights: Vec<u64> = (0..=encoding.ruleset().path().len()).map(weight).collect();
        let private = encoding.private();
        let private_codes: Vec<u64> = (0..private.count(pieces) as usize)
            .map(|rank| code(&weights, private.mask(rank)))
            .collect();
        let shared_codes = sums(&shared_weights(encoding, &weights), pieces);
        let counts_of = |code: u64| -> Vec<u8> {
            let count = |region: usize| (code / base.pow(region as u32) % base) as u8;
            (0..region_starts.len()).map(count).collect()
        };
        let distinct: BTreeSet<u64> = private_codes.iter().copied().collect();
        let of_both: BTreeSet<u64> = shared_codes
            .iter()
            .flat_map(|shared| distinct.iter().map(move |private| shared + private))
            .collect();
        let mut features: Vec<(u8, Vec<u8>, u64)> = of_both
            .into_iter()
            .map(|code| {
                let counts = counts_of(code);
                (counts.iter().sum(), counts, code)
            })
            .filter(|&(all, ..)| all <= pieces)
            .collect();
        features.sort_unstable();
        let numbers: HashMap<u64, u32> =
            features.iter().zip(0..).map(|(&(.., code), number)| (code, number)).collect();
        let row = |shared: &u64| {
            // Where there would be too many pieces, no position asks.
            let number = |private: &u64| numbers.get(&(shared + private)).copied().unwrap_or(0);
            private_codes.iter().map(number).collect()
        };
        let up_to = |pieces| features.partition_point(|&(all, ..)| all <= pieces);
        Self {
            encoding,
            tiers: tier.both().collect(),
            rows: shared_codes.iter().map(row).collect(),
            shared: shared_codes.into_iter().zip(0..).collect(),
            weights,
            counts: (0..=pieces).map(up_to).collect(),
            regions: region_starts.len(),
            features: features.into_iter().map(|(_, counts, _)| occupied(&counts)).collect(),
        }
    }

    /// The numbers of pieces that the functions of an orientation depend on: those of the player who just moved, then
    /// the other's.
    fn variables(&self) -> usize {
        2 * self.regions
    }

    /// How many functions the step has: each is 0 in the other orientation.
    pub fn functions(&self) -> usize {
        self.tiers.len() * basis_len(self.variables())
    }

    /// For each private configuration of a player with pieces on these shared squares the features of all of them.
    fn row(&self, mask: u64) -> &[u32] {
        &self.rows[self.shared[&code(&self.weights, mask)]]
    }

    /// The features of a position, that of the player who just moved first.
    pub fn of(&self, position: &Position) -> [u32; 2] {
        let private = self.encoding.private();
        [&position.opponent, &position.own].map(|side: &Side| {
            let rank = private.rank(side.board).expect("at most one piece stands on a square");
            self.row(side.board & !private.positions())[rank]
        })
    }

    /// Visits the functions that are not 0 for two features in an orientation, with their values.
    #[inline(always)]
    pub fn for_each_function(
        &self,
        orientation: Orientation,
        features: [u32; 2],
        mut visit: impl FnMut(usize, f64),
    ) {
        let variables = self.variables();
        let first = orientation.index() * basis_len(variables);
        let [own, opponent] = features.map(|number| &self.features[number as usize]);
        // The variables that are not 0, ascending.
        let variable = |k: usize| match own.get(k) {
            Some(&of_own) => of_own,
            None => {
                let (region, count) = opponent[k - own.len()];
                (self.regions + region, count)
            }
        };
        visit(first, 1.0);
        for k in 0..own.len() + opponent.len() {
            let (i, one) = variable(k);
            visit(first + 1 + i, one);
            for (j, other) in (0..=k).map(variable) {
                visit(first + 1 + variables + i * (i + 1) / 2 + j, one * other);
            }
        }
    }

    /// The values of a sum of functions for all features of both players in an orientation: a row for each of the
    /// player who just moved, of all of the other's.
    pub fn table(&self, orientation: Orientation, multiples: &[f64]) -> Vec<f32> {
        let tier = self.tiers[orientation.index()];
        let all = |pieces: u8| 0..self.counts[pieces as usize] as u32;
        let of_pair = |own: u32, opponent: u32| {
            let mut sum = 0.0;
            let add = |function: usize, value: f64| sum += multiples[function] * value;
            self.for_each_function(orientation, [own, opponent], add);
            sum as f32
        };
        let row = |own: u32| all(tier.to_move).map(|opponent| of_pair(own, opponent)).collect();
        let rows: Vec<Vec<f32>> = all(tier.just_moved).into_par_iter().map(row).collect();
        rows.concat()
    }

    /// The most bytes that they take, with the tables of a correction.
    pub fn bytes(&self) -> u64 {
        let count = |pieces: u8| self.counts[pieces as usize];
        let table = |tier: &Tier| count(tier.just_moved) * count(tier.to_move) * size_of::<f32>();
        let tables: usize = self.tiers.iter().map(table).sum();
        let of_row =
            |row: &Vec<u32>| row.len() * size_of::<u32>() + size_of::<(Vec<u32>, u64, usize)>();
        let rows: usize = self.rows.iter().map(of_row).sum();
        let feature = |regions: &Vec<_>| 64 + size_of_val(&regions[..]);
        let features: usize = self.features.iter().map(feature).sum();
        (tables + 2 * rows + features) as u64
    }

    /// Adds a [table](Self::table) to the values in some places of an orientation, which remain between a loss and a
    /// win.
    pub fn add<T: Value>(
        &self,
        orientation: Orientation,
        places: Range<usize>,
        values: &mut [T],
        table: &[f32],
        simd: Simd,
    ) {
        let tier = self.tiers[orientation.index()];
        let (shared, private) = (self.encoding.shared(), self.encoding.private());
        let width = self.counts[tier.to_move as usize];
        // The entries of the table for a row of a block.
        let mut steps = Vec::new();
        let (mut rest, mut at) = (values, places.start as u64);
        while !rest.is_empty() {
            let (w, within) = shared.locate(tier, at);
            let (own, opponent) = self.encoding.shared().masks(&w);
            let features = |pieces: u8, mask: u64| {
                let count = private.count(pieces - mask.count_ones() as u8);
                &self.row(mask)[..count as usize]
            };
            let rows = features(tier.just_moved, own);
            let columns = features(tier.to_move, opponent);
            let mut steps_of = None;
            let (first, mut column) =
                (within as usize / columns.len(), within as usize % columns.len());
            for &row in &rows[first..] {
                if rest.is_empty() {
                    break;
                }
                if steps_of != Some(row) {
                    steps_of = Some(row);
                    let table = &table[row as usize * width..][..width];
                    steps.clear();
                    steps.extend(columns.iter().map(|&column| table[column as usize]));
                }
                let len = rest.len().min(columns.len() - column);
                let values = rest.split_off_mut(..len).expect("it is no longer");
                let steps = &steps[column..][..len];
                simd.compute(
                    #[inline(always)]
                    || {
                        for (value, &step) in values.iter_mut().zip(steps) {
                            *value = value.moved_by(step);
                        }
                    },
                );
                (at, column) = (at + len as u64, 0);
            }
        }
    }
}

/// The weights of pieces on shared squares in the code of a player's features.
fn shared_weights(encoding: &Encoding, weights: &[u64]) -> Vec<u64> {
    let places = &encoding.geometry().own_place;
    let is_shared = |&at: &usize| matches!(places[at], Place::Shared { .. });
    let mut all: Vec<u64> = (1..places.len()).filter(is_shared).map(|at| weights[at]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// All sums of at most so many numbers, ascending.
fn sums(numbers: &[u64], most: u8) -> Vec<u64> {
    let mut all = vec![0];
    for _ in 0..most {
        let longer: Vec<u64> =
            all.iter().flat_map(|sum| numbers.iter().map(move |number| sum + number)).collect();
        all.extend(longer);
        all.sort_unstable();
        all.dedup();
    }
    all
}

/// Of the numbers of pieces in regions, those that are not 0.
fn occupied(counts: &[u8]) -> Vec<(usize, f64)> {
    let all = counts.iter().map(|&count| f64::from(count)).enumerate();
    all.filter(|&(_, count)| count > 0.0).collect()
}

/// The number of pieces in each region but the first, as the digits of a number.
fn code(weights: &[u64], mask: u64) -> u64 {
    bits(mask).map(|at| weights[at as usize]).sum()
}
