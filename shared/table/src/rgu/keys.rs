//! The keys of an `.rgu` file: which positions it holds and in which order.
//!
//! A key is a string of fields, the most significant first: light's hand, dark's hand, light's
//! safe squares, the war code in segments, dark's safe squares. Light is the player to move. The
//! order of the keys is the lexicographic order of the fields, so the place of a key among all
//! keys (its *ordinal*) is a sum of one table entry per field: the number of keys that agree in
//! the fields before it and are smaller in this one. That number depends on the fields before
//! it only through the pieces they leave to either player.
//!
//! So nothing is searched: [`Keys::ordinal`] says where the value of a position is, and
//! [`Keys::for_each`] lists keys in file order without sorting.

use ziggurat_game::{PathPosition, Position, Ruleset, Side, Square};

use super::{
    format::MAX_PIECES,
    settings::{GameSettings, NotExpressible},
    smaller::{Left, Smaller},
    war::{Segment, path_masks},
};

/// War squares per segment at most.
const MAX_SEGMENT_SQUARES: usize = 8;
/// Segments that a packed [`Fields`] holds at most.
const MAX_SEGMENTS: usize = 3;
/// Bits per field of a packed [`Fields`]: 3^8 war strings, 2^16 safe masks.
const FIELD_BITS: usize = 16;
/// The bits of a key that are its map; the rest is stored.
const MAP_SHIFT: u32 = 32;

/// What one piece adds to the fields of a key: the safe mask in the lowest [`FIELD_BITS`] bits,
/// then the base-3 number of each segment. Sums over pieces do not carry.
#[derive(Clone, Copy, Default)]
struct Fields(u64);

impl Fields {
    fn new(slot: usize, amount: u64) -> Self {
        Self(amount << (slot * FIELD_BITS))
    }

    fn get(self, slot: usize) -> usize {
        (self.0 >> (slot * FIELD_BITS)) as usize & ((1 << FIELD_BITS) - 1)
    }
}

/// How the war code numbers its strings. The order of the keys is the same in all layouts, so a position has the same
/// ordinal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyLayout {
    /// Only those that the game's pieces can form.
    Current,
    /// All that seven pieces can form, as in early 2024.
    Early2024,
}

/// Consecutive keys that agree in both hands and light's safe squares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    light_hand: u8,
    dark_hand: u8,
    light_safe: u16,
    /// The ordinal of the first key.
    pub first: u64,
    /// The number of keys.
    pub len: u64,
}

/// The keys of the `.rgu` file of a ruleset.
pub struct Keys {
    settings: GameSettings,
    pieces: u8,
    segment_bits: u32,
    /// Path masks of light's safe masks, by mask; the same of dark's, since the paths mirror.
    light_safe: Vec<u64>,
    dark_safe: Vec<u64>,
    segments: Vec<Segment>,
    light_fields: Vec<Fields>,
    dark_fields: Vec<Fields>,
    /// By light hand, dark hand and light safe mask.
    runs: Vec<Run>,
    smaller_war: Vec<Smaller>,
    smaller_dark_safe: Smaller,
    map_lens: Vec<u64>,
}

/// The fields of light's and dark's pieces, by path position of their owner: those of the safe squares, bit by bit, and
/// those of the segments of war squares, digit by digit.
fn fields(
    path_len: PathPosition,
    [light_safe, dark_safe]: [&[PathPosition]; 2],
    war: &[&[(PathPosition, PathPosition)]],
) -> [Vec<Fields>; 2] {
    let mut light_fields = vec![Fields::default(); path_len as usize + 1];
    let mut dark_fields = light_fields.clone();
    for (bit, (&light, &dark)) in light_safe.iter().zip(dark_safe).enumerate() {
        light_fields[light as usize] = Fields::new(0, 1 << bit);
        dark_fields[dark as usize] = Fields::new(0, 1 << bit);
    }
    for (segment, squares) in war.iter().enumerate() {
        let mut weight = 1;
        for &(light, dark) in squares.iter().rev() {
            light_fields[light as usize] = Fields::new(1 + segment, 2 * weight);
            dark_fields[dark as usize] = Fields::new(1 + segment, weight);
            weight *= 3;
        }
    }
    [light_fields, dark_fields]
}

/// How many keys are smaller: by the code of each segment of war squares, and by dark's mask of so many.
fn smaller(segments: &[Segment], dark_masks: usize) -> (Vec<Smaller>, Smaller) {
    let of_dark_safe = Smaller::new(dark_masks, |left, mask| {
        let after = left.without(0, (mask as u32).count_ones() as u8);
        u32::from(after.is_some_and(|left| !left.dark_needed))
    });
    let mut of_war: Vec<Smaller> = Vec::new();
    for segment in segments.iter().rev() {
        let next = of_war.last().unwrap_or(&of_dark_safe);
        let count = |left: Left, code: usize| {
            let string = &segment.strings[code];
            left.without(string.light_count, string.dark_count).map_or(0, |left| next.all(left))
        };
        let smaller = Smaller::new(segment.strings.len(), count);
        of_war.push(smaller);
    }
    of_war.reverse();
    (of_war, of_dark_safe)
}

impl Keys {
    /// The keys for a ruleset, as they are laid out today.
    ///
    /// # Errors
    /// If the format cannot express the ruleset: the first property that it cannot.
    pub fn new(ruleset: &Ruleset) -> Result<Self, NotExpressible> {
        Self::laid_out(ruleset, KeyLayout::Current)
    }

    /// The keys for a ruleset in some layout.
    ///
    /// # Errors
    /// As [`Keys::new`].
    pub fn laid_out(ruleset: &Ruleset, layout: KeyLayout) -> Result<Self, NotExpressible> {
        let settings = GameSettings::of(ruleset)?;
        let pieces = ruleset.pieces();
        let path = ruleset.path();
        let number = |square: Square| (square.y, square.x);
        let mut squares: Vec<(PathPosition, Square)> = path.positions().collect();
        squares.sort_by_key(|&(_, square)| number(square));
        let dark_at = |square: Square| {
            path.positions().find(|&(_, s)| s.mirror() == square).map(|(at, _)| at)
        };

        let light_safe: Vec<PathPosition> =
            squares.iter().filter(|&&(_, s)| dark_at(s).is_none()).map(|&(at, _)| at).collect();
        let mut dark_safe = light_safe.clone();
        dark_safe.sort_by_key(|&at| number(path.square(at).mirror()));
        let war: Vec<(PathPosition, PathPosition)> =
            squares.iter().filter_map(|&(at, s)| Some((at, dark_at(s)?))).collect();

        let segment_count = match war.len().div_ceil(MAX_SEGMENT_SQUARES) {
            0 | 1 => 1,
            more => more.max(2),
        };
        assert!(segment_count <= MAX_SEGMENTS, "a named board has at most 24 war squares");
        let segment_squares = war.len().div_ceil(segment_count);
        let most = match layout {
            KeyLayout::Current => pieces,
            KeyLayout::Early2024 => MAX_PIECES,
        };
        let segments: Vec<Segment> =
            war.chunks(segment_squares).map(|squares| Segment::new(squares, most)).collect();
        let largest_code = segments.iter().map(|s| s.strings.len() - 1).max().unwrap_or(0);
        let segment_bits = (1..).find(|&b| largest_code <= 1 << b).unwrap_or(1);
        assert!(largest_code < 1 << segment_bits, "codes must not run into the next field");

        let war: Vec<&[(PathPosition, PathPosition)]> = war.chunks(segment_squares).collect();
        let [light_fields, dark_fields] = fields(path.len(), [&light_safe, &dark_safe], &war);

        let dark_safe = path_masks(&dark_safe);
        let (smaller_war, smaller_dark_safe) = smaller(&segments, dark_safe.len());
        let mut keys = Self {
            settings,
            pieces,
            segment_bits,
            light_safe: path_masks(&light_safe),
            dark_safe,
            segments,
            light_fields,
            dark_fields,
            runs: Vec::new(),
            smaller_war,
            smaller_dark_safe,
            map_lens: Vec::new(),
        };
        keys.lay_out_runs();
        Ok(keys)
    }

    /// Fills `runs` and `map_lens`, which follow from the other fields.
    fn lay_out_runs(&mut self) {
        let mut first = 0;
        for light_hand in 0..=self.pieces {
            for dark_hand in 0..=self.pieces {
                for light_safe in 0..self.light_safe.len() as u16 {
                    let mut run = Run { light_hand, dark_hand, light_safe, first, len: 0 };
                    run.len =
                        self.left(&run).map_or(0, |left| self.smaller_war[0].all(left).into());
                    first += run.len;
                    self.runs.push(run);
                    if run.len > 0 {
                        let map = (self.run_key(&run) >> MAP_SHIFT) as usize;
                        self.map_lens.resize(map + 1, 0);
                        self.map_lens[map] += run.len;
                    }
                }
            }
        }
    }

    /// What the file says about the game.
    pub fn settings(&self) -> &GameSettings {
        &self.settings
    }

    /// The number of keys of each map.
    pub fn map_lens(&self) -> &[u64] {
        &self.map_lens
    }

    /// The number of keys.
    pub fn count(&self) -> u64 {
        self.map_lens.iter().sum()
    }

    /// The runs that have keys, in file order.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.runs.iter().copied().filter(|run| run.len > 0)
    }

    /// The key of a position in which the opponent ("dark") has pieces left.
    pub fn key(&self, position: &Position) -> u64 {
        let (run, fields) = self.fields(position);
        let war = self.segments.iter().enumerate().fold(0, |war, (i, segment)| {
            war << self.segment_bits | u64::from(segment.code_of[fields.get(1 + i)])
        });
        self.run_key(run) | war << self.dark_safe_bits() | self.dark_safe_of(position) as u64
    }

    /// The place of a position among all keys, `None` if the opponent ("dark") has scored all
    /// pieces: those positions have no key.
    pub fn ordinal(&self, position: &Position) -> Option<u64> {
        if position.opponent.scored >= self.pieces {
            return None;
        }
        let (run, fields) = self.fields(position);
        let mut left = self.left(run)?;
        let mut ordinal = run.first;
        for (i, (segment, smaller)) in self.segments.iter().zip(&self.smaller_war).enumerate() {
            let code = segment.code_of[fields.get(1 + i)] as usize;
            ordinal += u64::from(smaller.than(left, code));
            let string = &segment.strings[code];
            left = left.without(string.light_count, string.dark_count)?;
        }
        let dark_safe = self.dark_safe_of(position);
        Some(ordinal + u64::from(self.smaller_dark_safe.than(left, dark_safe)))
    }

    /// Calls `visit` with every key of a run and its position, in file order.
    pub fn for_each(&self, run: &Run, mut visit: impl FnMut(u64, &Position)) {
        if let Some(left) = self.left(run) {
            self.walk(run, left, &mut visit);
        }
    }

    /// Calls `visit` with every position that the player to move ("light") has won.
    pub fn for_each_won(&self, mut visit: impl FnMut(&Position)) {
        for run in self.runs().filter(|run| run.light_hand == 0 && run.light_safe == 0) {
            if let Some(left) = self.left(&run) {
                self.walk(&run, Left { light: 0, ..left }, &mut |_, position| visit(position));
            }
        }
    }

    /// Walks the keys of a run whose later fields fit `left`.
    fn walk(&self, run: &Run, left: Left, visit: &mut impl FnMut(u64, &Position)) {
        let light = self.light_safe[run.light_safe as usize];
        let key = self.run_key(run) >> self.dark_safe_bits() >> self.war_bits();
        self.walk_war(0, key, left, (light, 0), (run.light_hand, run.dark_hand), visit);
    }

    fn walk_war(
        &self,
        segment: usize,
        key: u64,
        left: Left,
        (light, dark): (u64, u64),
        hands: (u8, u8),
        visit: &mut impl FnMut(u64, &Position),
    ) {
        if let Some(Segment { strings, .. }) = self.segments.get(segment) {
            for (code, string) in strings.iter().enumerate() {
                if let Some(left) = left.without(string.light_count, string.dark_count) {
                    let key = key << self.segment_bits | code as u64;
                    let masks = (light | string.light, dark | string.dark);
                    self.walk_war(segment + 1, key, left, masks, hands, visit);
                }
            }
            return;
        }
        let side = |board: u64, hand: u8| Side {
            board,
            scored: self.pieces - hand - board.count_ones() as u8,
        };
        let own = side(light, hands.0);
        for (mask, safe) in self.dark_safe.iter().enumerate() {
            if left.without(0, safe.count_ones() as u8).is_some_and(|left| !left.dark_needed) {
                let opponent = side(dark | safe, hands.1);
                let key = key << self.dark_safe_bits() | mask as u64;
                visit(key, &Position { own, opponent });
            }
        }
    }

    /// The pieces a run leaves to the war squares and dark's safe squares; `None` if the run
    /// itself has too many.
    fn left(&self, run: &Run) -> Option<Left> {
        let left = Left {
            light: self.pieces - run.light_hand,
            dark: self.pieces - run.dark_hand,
            dark_needed: run.dark_hand == 0,
        };
        Some(Left { light: left.light.checked_sub(run.light_safe.count_ones() as u8)?, ..left })
    }

    /// The run of a position and its packed safe mask of light and war strings.
    fn fields(&self, position: &Position) -> (&Run, Fields) {
        let light: u64 = position.own.positions().map(|at| self.light_fields[at as usize].0).sum();
        let dark: u64 =
            position.opponent.positions().map(|at| self.dark_fields[at as usize].0).sum();
        let light_safe = Fields(light).get(0);
        let war = !((1 << FIELD_BITS) - 1);
        let hands = position.own.in_hand(self.pieces) as usize * (self.pieces as usize + 1)
            + position.opponent.in_hand(self.pieces) as usize;
        (
            &self.runs[hands * self.light_safe.len() + light_safe],
            Fields((light & war) + (dark & war)),
        )
    }

    fn dark_safe_of(&self, position: &Position) -> usize {
        let dark = position.opponent.positions().map(|at| self.dark_fields[at as usize].0).sum();
        Fields(dark).get(0)
    }

    /// The fields that make a run, in their place in the key.
    fn run_key(&self, run: &Run) -> u64 {
        let hands = u64::from(run.light_hand) << 3 | u64::from(run.dark_hand);
        let light_safe_bits = self.light_safe.len().trailing_zeros();
        let key = hands << light_safe_bits | u64::from(run.light_safe);
        key << self.war_bits() << self.dark_safe_bits()
    }

    fn war_bits(&self) -> u32 {
        self.segments.len() as u32 * self.segment_bits
    }

    fn dark_safe_bits(&self) -> u32 {
        self.dark_safe.len().trailing_zeros()
    }
}
