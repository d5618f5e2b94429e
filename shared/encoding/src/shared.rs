//! Shared configurations and the offsets of their blocks.
//!
//! The block of a shared configuration w with a own and b opponent pieces has
//! C(n-a) x C(m-b) values in tier (n, m). Its offset is the sum of the sizes of all smaller w with
//! a <= n, b <= m. The shared squares are split into *chunks* of a few squares, most significant
//! first; the offset is then a sum of one table entry per chunk,
//!
//! ```text
//! offset(w) = sum over chunks c of  T_c[n_c][m_c][w_c],
//! T_c[n][m][x] = sum over y < x that fit of  Z_{c+1}(n - a(y), m - b(y)),
//! Z_c(n, m)    = sum over all y that fit of  Z_{c+1}(n - a(y), m - b(y)),
//! Z_last(n, m) = C(n) C(m),
//! ```
//!
//! with n_c, m_c what the chunks before c leave of n and m. `Z_0(n, m)` is the length of the tier.
//!
//! The last chunk, the *inner* squares, is closed under exchanging the players, and small: all
//! blocks that agree on the other, *outer* squares are a *slab*, a contiguous range of Z_inner(n, m)
//! values whose layout depends on (n, m) alone, the pieces the outer squares leave. What does not
//! depend on the inner squares is worked out once per slab.

use crate::{EncodingError, Occupant, PrivateConfigurations, Tier, geometry::Geometry};

/// The most chunks there may be.
pub const MAX_CHUNKS: usize = 16;

/// A chunk has at most this many configurations, unless a single square has more.
const CHUNK_CONFIGURATIONS: usize = 256;

/// The inner squares have at most this many configurations, for each of which there are tables.
const INNER_CONFIGURATIONS: usize = 4096;

/// A slab whose blocks all were those of players with half their pieces left would have at most this many
/// positions, unless a single block has more.
const SLAB_POSITIONS: u64 = 24 << 10;

/// Slabs of the largest tier with fewer positions on average than this are small, as long as the inner squares have no
/// more configurations than that. With the least, what is worked out per slab costs more than its values. With more,
/// larger slabs still read less of each other, which is worth it while the lists of their inner squares are few.
const SMALL_SLABS: [(f64, usize); 2] = [(1000.0, 32), (100.0, 32 << 10)];

/// How many pieces are left for the squares that follow, (own, opponent).
pub type Budgets = (u8, u8);

/// How far pieces are along their paths: bit 2p is set if an own piece is on path position p, bit 2p + 1 if one of the
/// opponent is. A move from one shared square to another that captures nothing makes it larger.
pub type Advance = u128;

/// A shared configuration: the value of each chunk, most significant first, unused ones 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SharedConfiguration(pub [u16; MAX_CHUNKS]);

impl SharedConfiguration {
    /// Puts the pieces of another one on squares that are empty here.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        for (value, more) in self.0.iter_mut().zip(other.0) {
            *value += more;
        }
    }
}

/// A few consecutive shared squares.
#[derive(Clone, Debug)]
struct Chunk {
    /// The squares' places in the order.
    squares: std::ops::Range<usize>,
    /// How many configurations it has.
    configurations: usize,
    /// (own, opponent) pieces of each configuration.
    pieces: Vec<(u8, u8)>,
    /// The pieces of each configuration as masks of their owners' path positions, (own, opponent).
    masks: Vec<(u64, u64)>,
    /// What each configuration adds to the swapped shared configuration.
    swapped: Vec<SharedConfiguration>,
    /// What each configuration adds to the advance.
    advance: Vec<Advance>,
    /// T_c by \[own budget]\[opponent budget]\[configuration].
    offsets: Vec<u64>,
}

impl Chunk {
    /// The chunk of these squares, without its offsets.
    fn new(
        geometry: &Geometry,
        bases: &[usize],
        weights: &[(usize, u16)],
        squares: std::ops::Range<usize>,
    ) -> Self {
        let configurations: usize = squares.clone().map(|square| bases[square]).product();
        let mut digits = vec![0u8; squares.len()];
        let mut chunk = Self {
            squares: squares.clone(),
            configurations,
            pieces: Vec::with_capacity(configurations),
            masks: Vec::with_capacity(configurations),
            swapped: Vec::with_capacity(configurations),
            advance: Vec::with_capacity(configurations),
            offsets: Vec::new(),
        };
        for _ in 0..configurations {
            let (mut advance, mut mask) = (0, (0_u64, 0_u64));
            let mut swapped = SharedConfiguration::default();
            for (&digit, at) in digits.iter().zip(squares.clone()) {
                let square = &geometry.shared[at];
                let (mirror, weight) = weights[square.mirror];
                swapped.0[mirror] += weight * u16::from(square.swapped(digit));
                match square.occupant(digit) {
                    None => {}
                    Some(Occupant::Own(at)) => {
                        mask.0 |= 1 << at;
                        advance |= 1 << (2 * at);
                    }
                    Some(Occupant::Opponent(at)) => {
                        mask.1 |= 1 << at;
                        advance |= 2 << (2 * at);
                    }
                }
            }
            chunk.pieces.push((mask.0.count_ones() as u8, mask.1.count_ones() as u8));
            chunk.masks.push(mask);
            chunk.swapped.push(swapped);
            chunk.advance.push(advance);
            increment(&mut digits, &bases[squares.clone()]);
        }
        chunk
    }
}

/// T_c and Z_c of a chunk, from the pieces of its configurations and Z_(c+1), by \[own budget]\[opponent budget].
fn offsets_and_sizes(
    pieces: &[(u8, u8)],
    after: &[u128],
    budgets: usize,
) -> (Vec<u128>, Vec<u128>) {
    let mut totals = vec![0u128; budgets * budgets];
    let mut offsets = Vec::with_capacity(budgets * budgets * pieces.len());
    for (nm, total) in totals.iter_mut().enumerate() {
        let (n, m) = (nm / budgets, nm % budgets);
        for &(own, opponent) in pieces {
            offsets.push(*total);
            let (own, opponent) = (own as usize, opponent as usize);
            if own <= n && opponent <= m {
                *total = total.saturating_add(after[(n - own) * budgets + m - opponent]);
            }
        }
    }
    (offsets, totals)
}

/// The ranking of shared configurations, for up to `pieces` pieces per player.
#[derive(Clone, Debug)]
pub struct SharedRanking {
    chunks: Vec<Chunk>,
    /// For each shared square its chunk and its weight there.
    weights: Vec<(usize, u16)>,
    bases: Vec<u8>,
    /// Z_c by \[own budget]\[opponent budget], for c in 0..=chunks.
    sizes: Vec<Vec<u64>>,
    /// How many slabs the outer chunks from one on have, the last of these for none, by \[own budget]\[opponent budget].
    slabs: Vec<Vec<u64>>,
    budgets: usize,
}

impl SharedRanking {
    /// The ranking for a geometry.
    ///
    /// # Errors
    /// If a tier has more positions than a `u64` counts, or there are more than
    /// [`MAX_CHUNKS`] chunks.
    pub fn new(
        geometry: &Geometry,
        private: &PrivateConfigurations,
        pieces: u8,
    ) -> Result<Self, EncodingError> {
        let bases: Vec<usize> = geometry.shared.iter().map(|square| square.base()).collect();
        let inner = first_inner_square(geometry, private, &bases, pieces);
        let mut ranges = cut_into_chunks(&bases[..inner]);
        ranges.push(inner..bases.len());
        if ranges.len() > MAX_CHUNKS {
            return Err(EncodingError::TooManySharedSquares { squares: bases.len() });
        }
        let mut weights = vec![(0, 0); bases.len()];
        for (chunk, range) in ranges.iter().enumerate() {
            let mut weight = 1;
            for square in range.clone().rev() {
                weights[square] = (chunk, weight as u16);
                weight *= bases[square];
            }
        }
        let budgets = pieces as usize + 1;
        let count = |k: usize| u128::from(private.count(k as u8));
        let mut sizes = vec![
            (0..budgets * budgets)
                .map(|nm| count(nm / budgets) * count(nm % budgets))
                .collect::<Vec<u128>>(),
        ];
        let mut chunks = Vec::new();
        for range in ranges.into_iter().rev() {
            let after = sizes.last().expect("there is the innermost size");
            let mut chunk = Chunk::new(geometry, &bases, &weights, range);
            let (offsets, totals) = offsets_and_sizes(&chunk.pieces, after, budgets);
            chunk.offsets = narrow(&offsets)?;
            sizes.push(totals);
            chunks.push(chunk);
        }
        chunks.reverse();
        sizes.reverse();
        let sizes = sizes.iter().map(|of_chunk| narrow(of_chunk)).collect::<Result<_, _>>()?;
        let bases = bases.into_iter().map(|base| base as u8).collect();
        let slabs = count_slabs(&chunks, budgets);
        Ok(Self { chunks, weights, bases, sizes, slabs, budgets })
    }

    /// The number of values of a tier; 1 more than nothing even where a player has no pieces left.
    pub fn tier_len(&self, tier: Tier) -> u64 {
        self.sizes[0][self.at(tier)]
    }

    /// How many chunks there are, at least one; the last has the inner squares. The entries of a [`SharedConfiguration`] beyond are 0.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// How many configurations a chunk has.
    pub fn configurations(&self, chunk: usize) -> usize {
        self.chunks[chunk].configurations
    }

    /// The number of shared squares.
    pub fn squares(&self) -> usize {
        self.weights.len()
    }

    /// The pieces on the shared squares as masks of their owners' path positions, (own, opponent).
    #[inline]
    pub fn masks(&self, w: &SharedConfiguration) -> (u64, u64) {
        let mut all = (0, 0);
        for (chunk, &x) in self.chunks.iter().zip(&w.0) {
            let (own, opponent) = chunk.masks[x as usize];
            all.0 |= own;
            all.1 |= opponent;
        }
        all
    }

    /// The digit of a shared square.
    #[inline]
    pub fn digit(&self, w: &SharedConfiguration, square: usize) -> u8 {
        let (chunk, weight) = self.weights[square];
        (w.0[chunk] / weight % u16::from(self.bases[square])) as u8
    }

    /// Changes the digit of a shared square from `from` to `to`.
    #[inline]
    pub fn change(&self, w: &mut SharedConfiguration, square: usize, from: u8, to: u8) {
        let (chunk, weight) = self.weights[square];
        w.0[chunk] = w.0[chunk] + weight * u16::from(to) - weight * u16::from(from);
    }

    /// What a digit of a shared square adds to a configuration in which the square is empty.
    pub fn with_digit(&self, square: usize, digit: u8) -> SharedConfiguration {
        let mut w = SharedConfiguration::default();
        self.change(&mut w, square, 0, digit);
        w
    }

    /// The same squares as the other player sees them.
    #[inline]
    pub fn swap(&self, w: &SharedConfiguration) -> SharedConfiguration {
        let mut sum = SharedConfiguration::default();
        for (chunk, &x) in self.chunks.iter().zip(&w.0) {
            sum.add(&chunk.swapped[x as usize]);
        }
        sum
    }

    /// How far the pieces on shared squares are.
    #[inline]
    pub fn advance(&self, w: &SharedConfiguration) -> Advance {
        self.chunks.iter().zip(&w.0).map(|(chunk, &x)| chunk.advance[x as usize]).sum()
    }

    /// Where the block of a configuration starts in a tier. The configuration must fit: no more
    /// pieces than the tier has.
    #[inline]
    pub fn offset(&self, tier: Tier, w: &SharedConfiguration) -> u64 {
        let (mut own, mut opponent) = (tier.just_moved as usize, tier.to_move as usize);
        let mut offset = 0;
        for (chunk, &x) in self.chunks.iter().zip(&w.0) {
            let row = own * self.budgets + opponent;
            offset += chunk.offsets[row * chunk.configurations + x as usize];
            let (a, b) = chunk.pieces[x as usize];
            own -= a as usize;
            opponent -= b as usize;
        }
        offset
    }

    /// The configuration of the block that an offset of a tier lies in, and the offset within
    /// the block.
    pub fn locate(&self, tier: Tier, mut offset: u64) -> (SharedConfiguration, u64) {
        let (mut own, mut opponent) = (tier.just_moved as usize, tier.to_move as usize);
        let mut w = SharedConfiguration::default();
        for (chunk, x) in self.chunks.iter().zip(&mut w.0) {
            let row = own * self.budgets + opponent;
            let table = &chunk.offsets[row * chunk.configurations..][..chunk.configurations];
            // Configurations that do not fit have the offset of the next one that does, so the
            // last with an offset of at most this one fits.
            *x = (table.partition_point(|&start| start <= offset) - 1) as u16;
            offset -= table[*x as usize];
            let (a, b) = chunk.pieces[*x as usize];
            own -= a as usize;
            opponent -= b as usize;
        }
        (w, offset)
    }

    /// Visits the slabs of a tier whose outer squares begin with `prefix` (digits of the most
    /// significant squares) in descending order: the configuration with empty inner squares, and
    /// the (own, opponent) pieces that the outer squares leave.
    pub fn for_each_slab_descending(
        &self,
        tier: Tier,
        prefix: &[u8],
        visit: &mut impl FnMut(&SharedConfiguration, Budgets),
    ) {
        debug_assert!(prefix.len() <= self.outer_squares());
        let mut w = SharedConfiguration::default();
        self.descend(0, (tier.just_moved, tier.to_move), prefix, &mut w, visit);
    }

    fn descend(
        &self,
        chunk: usize,
        (own, opponent): Budgets,
        prefix: &[u8],
        w: &mut SharedConfiguration,
        visit: &mut impl FnMut(&SharedConfiguration, Budgets),
    ) {
        if chunk == self.inner_chunk() {
            return visit(w, (own, opponent));
        }
        let this = &self.chunks[chunk];
        let fixed =
            &prefix[this.squares.start.min(prefix.len())..this.squares.end.min(prefix.len())];
        let first = self.value_of(this.squares.start, fixed);
        let free = this.squares.start + fixed.len()..this.squares.end;
        let count: u16 = self.bases[free].iter().map(|&base| u16::from(base)).product();
        for x in (first..first + count).rev() {
            let (a, b) = this.pieces[x as usize];
            if a <= own && b <= opponent {
                w.0[chunk] = x;
                self.descend(chunk + 1, (own - a, opponent - b), prefix, w, visit);
            }
        }
    }

    /// The place of the inner squares' value in a [`SharedConfiguration`].
    pub fn inner_chunk(&self) -> usize {
        self.chunks.len() - 1
    }

    /// How many of the shared squares, the most significant ones, are outer squares.
    pub fn outer_squares(&self) -> usize {
        self.chunks[self.inner_chunk()].squares.start
    }

    /// The pieces, (own, opponent), of each configuration of the inner squares.
    pub fn inner_pieces(&self) -> &[Budgets] {
        &self.chunks[self.inner_chunk()].pieces
    }

    /// How far the pieces of each configuration of the inner squares are.
    pub fn inner_advance(&self) -> &[Advance] {
        &self.chunks[self.inner_chunk()].advance
    }

    /// The configuration of the inner squares as the other player sees it.
    pub fn inner_swapped(&self, x: u16) -> u16 {
        self.chunks[self.inner_chunk()].swapped[x as usize].0[self.inner_chunk()]
    }

    /// What one more of a digit adds to the value of its chunk.
    pub fn weight(&self, square: usize) -> u16 {
        self.weights[square].1
    }

    /// Where the block of each configuration of the inner squares starts in a slab, for the pieces
    /// that the outer squares leave.
    #[inline]
    pub fn inner_offsets(&self, (own, opponent): Budgets) -> &[u64] {
        let inner = &self.chunks[self.chunks.len() - 1];
        let row = own as usize * self.budgets + opponent as usize;
        &inner.offsets[row * inner.configurations..][..inner.configurations]
    }

    /// How many positions a slab has, for the pieces that the outer squares leave.
    pub fn slab_len(&self, (own, opponent): Budgets) -> u64 {
        self.sizes[self.inner_chunk()][own as usize * self.budgets + opponent as usize]
    }

    /// How many slabs of a tier have outer squares that begin with `prefix`.
    pub fn slabs(&self, tier: Tier, prefix: &[u8]) -> u64 {
        let (mut own, mut opponent) = (tier.just_moved, tier.to_move);
        for (c, chunk) in self.chunks[..self.inner_chunk()].iter().enumerate() {
            let fixed =
                &prefix[chunk.squares.start.min(prefix.len())..chunk.squares.end.min(prefix.len())];
            let free = chunk.squares.start + fixed.len()..chunk.squares.end;
            let count: usize = self.bases[free].iter().map(|&base| base as usize).product();
            let first = self.value_of(chunk.squares.start, fixed) as usize;
            if count > 1 {
                let pieces = &chunk.pieces[first..first + count];
                return with_pieces(pieces, (own, opponent), &self.slabs[c + 1], self.budgets);
            }
            let (a, b) = chunk.pieces[first];
            match (own.checked_sub(a), opponent.checked_sub(b)) {
                (Some(rest), Some(others)) => (own, opponent) = (rest, others),
                _ => return 0,
            }
        }
        1
    }

    /// The range of a tier's indices whose configurations begin with `prefix`; empty if the prefix
    /// has more pieces than the tier.
    pub fn prefix_range(&self, tier: Tier, prefix: &[u8]) -> std::ops::Range<u64> {
        let (mut own, mut opponent) = (tier.just_moved as usize, tier.to_move as usize);
        let mut start = 0;
        for (c, chunk) in self.chunks.iter().enumerate() {
            let fixed =
                &prefix[chunk.squares.start.min(prefix.len())..chunk.squares.end.min(prefix.len())];
            let first = self.value_of(chunk.squares.start, fixed) as usize;
            let row = own * self.budgets + opponent;
            let table = &chunk.offsets[row * chunk.configurations..][..chunk.configurations];
            if fixed.len() < chunk.squares.len() {
                let free = chunk.squares.start + fixed.len()..chunk.squares.end;
                let count: usize = self.bases[free].iter().map(|&base| base as usize).product();
                let end = table.get(first + count).copied();
                let end = end.unwrap_or(self.sizes[c][row]);
                return start + table[first]..start + end;
            }
            start += table[first];
            let (a, b) = chunk.pieces[first];
            match (own.checked_sub(a as usize), opponent.checked_sub(b as usize)) {
                (Some(rest), Some(others)) => (own, opponent) = (rest, others),
                _ => return start..start,
            }
        }
        start..start + self.sizes[self.chunks.len()][own * self.budgets + opponent]
    }

    /// The value of a chunk from `square` on whose first digits are `digits` and others 0.
    fn value_of(&self, square: usize, digits: &[u8]) -> u16 {
        let weighted = digits.iter().zip(&self.weights[square.min(self.weights.len())..]);
        weighted.map(|(&digit, &(_, weight))| weight * u16::from(digit)).sum()
    }

    /// How many values the digit of a shared square has.
    pub fn base(&self, square: usize) -> u8 {
        self.bases[square]
    }

    fn at(&self, tier: Tier) -> usize {
        tier.just_moved as usize * self.budgets + tier.to_move as usize
    }
}

/// The sum over the configurations of a chunk that fit of what the pieces they leave are worth.
fn with_pieces(
    pieces: &[(u8, u8)],
    (own, opponent): Budgets,
    after: &[u64],
    budgets: usize,
) -> u64 {
    let of = |&(a, b): &(u8, u8)| {
        let (own, opponent) = (own.checked_sub(a)?, opponent.checked_sub(b)?);
        Some(after[own as usize * budgets + opponent as usize])
    };
    pieces.iter().filter_map(of).fold(0, u64::saturating_add)
}

/// [`SharedRanking::slabs`] of all chunks.
fn count_slabs(chunks: &[Chunk], budgets: usize) -> Vec<Vec<u64>> {
    let mut slabs = vec![vec![1; budgets * budgets]];
    for chunk in chunks[..chunks.len() - 1].iter().rev() {
        let after = slabs.last().expect("there is the innermost count");
        let left = |nm: usize| ((nm / budgets) as u8, (nm % budgets) as u8);
        let count = |nm| with_pieces(&chunk.pieces, left(nm), after, budgets);
        slabs.push((0..budgets * budgets).map(count).collect());
    }
    slabs.reverse();
    slabs
}

/// The first of the inner squares: the longest end of the order that is closed under exchanging
/// the players, whose chunk is small, and whose slabs are; or longer, until slabs are no longer small.
fn first_inner_square(
    geometry: &Geometry,
    private: &PrivateConfigurations,
    bases: &[usize],
    pieces: u8,
) -> usize {
    let side = private.count(pieces.div_ceil(2));
    let block = side.saturating_mul(side);
    let mut first = bases.len();
    for square in (0..bases.len()).rev().filter(|&square| geometry.is_closed_under_swap(square)) {
        let configurations = bases[square..].iter().fold(1, |all: usize, &b| all.saturating_mul(b));
        let fits = configurations <= INNER_CONFIGURATIONS
            && block.saturating_mul(configurations as u64) <= SLAB_POSITIONS;
        if !fits {
            let average = average_slab(geometry, private, first, pieces);
            let is_small =
                |(positions, most): (f64, usize)| average < positions && configurations <= most;
            if !SMALL_SLABS.into_iter().any(is_small) {
                break;
            }
        }
        first = square;
    }
    first
}

/// How many positions a slab of the largest tier has on average, if the squares before `outer` are the
/// outer ones.
fn average_slab(
    geometry: &Geometry,
    private: &PrivateConfigurations,
    outer: usize,
    pieces: u8,
) -> f64 {
    let budgets = pieces as usize + 1;
    // How many configurations the squares so far have, by own and opponent pieces.
    let mut counts = vec![0.0; budgets * budgets];
    counts[0] = 1.0;
    let mut slabs = 1.0;
    for (place, square) in (1..).zip(&geometry.shared) {
        for at in (1..counts.len()).rev() {
            if at >= budgets {
                counts[at] += square.own.len() as f64 * counts[at - budgets];
            }
            if at % budgets > 0 {
                counts[at] += square.opponent.len() as f64 * counts[at - 1];
            }
        }
        if place == outer {
            slabs = counts.iter().sum();
        }
    }
    let left = |on_squares: usize| private.count(pieces - on_squares as u8) as f64;
    let positions = |at: usize| counts[at] * left(at / budgets) * left(at % budgets);
    (0..counts.len()).map(positions).sum::<f64>() / slabs
}

/// Cuts the squares into the fewest chunks, of about the same number of squares.
fn cut_into_chunks(bases: &[usize]) -> Vec<std::ops::Range<usize>> {
    let greedy = |most: usize| {
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        let mut configurations = 1;
        for (square, &base) in bases.iter().enumerate() {
            match ranges.last_mut() {
                Some(range)
                    if range.len() < most && configurations * base <= CHUNK_CONFIGURATIONS =>
                {
                    range.end += 1;
                    configurations *= base;
                }
                _ => {
                    ranges.push(square..square + 1);
                    configurations = base;
                }
            }
        }
        ranges
    };
    let fewest = greedy(bases.len()).len();
    (1..=bases.len()).map(greedy).find(|ranges| ranges.len() == fewest).unwrap_or_default()
}

/// Adds one to digits, most significant first; wraps around.
fn increment(digits: &mut [u8], bases: &[usize]) {
    for (digit, &base) in digits.iter_mut().zip(bases).rev() {
        *digit += 1;
        if usize::from(*digit) < base {
            return;
        }
        *digit = 0;
    }
}

fn narrow(sums: &[u128]) -> Result<Vec<u64>, EncodingError> {
    sums.iter()
        .map(|&sum| u64::try_from(sum).map_err(|_| EncodingError::TooManyPositions))
        .collect()
}
