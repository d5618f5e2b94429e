//! The candidates of a step, and how long they are valid.

use std::sync::RwLock;

use ziggurat_encoding::Shard;
use ziggurat_planning::waves::UnitIndex;

/// Candidates are written down once a superstep has changed nothing by more than this.
const RECORDED_BELOW: f64 = 1.0 / 8192.0;

/// The same in `f32` where a step goes on in `f64`: 16 times the change of the last superstep in `f32`. Candidates of
/// an earlier one are used a few times only, and come up to a larger margin than is needed then.
const RECORDED_BELOW_IN_F32: f64 = 1.0 / 131_072.0;

/// The margin of candidates, as a multiple of the largest change of the superstep before.
const MARGIN: f64 = 32.0;

/// How much more than the superstep before the next one may change a value meanwhile.
const RESERVE: f64 = 4.0;

/// The most bytes a list of candidates has for each value of its unit.
const MOST_BYTES: u64 = 4;

/// The rounding error of `f32`.
const ROUNDING: f64 = f32::EPSILON as f64;

/// The candidates of a step's units.
#[derive(Debug, Default)]
pub struct CandidateLists {
    of_units: Vec<RwLock<CandidateList>>,
    /// They are written down once a superstep has changed nothing by more than this.
    recorded_below: f64,
    /// Candidates may be worse than the best by so much.
    margin: f64,
    /// How far values are from where they were then, at most.
    drift: f64,
    /// How much the next superstep is expected to change values, at most; nothing is known before the first.
    expected: Option<f64>,
}

/// The candidates of a unit.
#[derive(Debug, Default)]
pub struct CandidateList {
    /// For each pair of slabs two words that say how many follow for it, then those; none if it has no candidates.
    words: Vec<u16>,
    /// Whether it was too long to be kept.
    is_too_long: bool,
}

/// The moves that a superstep goes through.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SweepMode {
    /// It goes through all moves.
    All,
    /// It goes through all, and writes down those within a margin of the best.
    Record(f64),
    /// It goes through the candidates.
    Candidates,
}

impl CandidateLists {
    /// Room for those of so many units.
    pub fn new(units: usize) -> Self {
        let of_units = (0..units).map(|_| RwLock::default()).collect();
        Self { of_units, recorded_below: RECORDED_BELOW, ..Self::default() }
    }

    /// The same for supersteps in `f32` whose result is to go on from in `f64`.
    pub fn for_widening(mut self) -> Self {
        self.recorded_below = RECORDED_BELOW_IN_F32;
        self
    }

    /// Whether there is room for none.
    pub fn is_empty(&self) -> bool {
        self.of_units.is_empty()
    }

    /// The most bytes that those of a step of so many positions take.
    pub fn bytes(positions: u64) -> u64 {
        MOST_BYTES * positions
    }

    /// Whether the candidates are valid for the next superstep.
    pub fn are_valid(&self) -> bool {
        let most = |expected| 2.0 * (self.drift + RESERVE * expected);
        self.expected.is_some_and(|expected| most(expected) <= self.margin)
    }

    /// Whether they are valid for an interval sweep whose bounds are at most so far from the values. Values that
    /// were computed in `f32` have rounding errors that bounds have not.
    pub fn are_valid_for_intervals(&self, distance: f64) -> bool {
        let most =
            |expected| 2.0 * (self.drift + RESERVE * expected + distance + RESERVE * ROUNDING);
        self.expected.is_some_and(|expected| most(expected) <= self.margin)
    }

    /// The mode of the next superstep.
    pub fn next(&mut self) -> SweepMode {
        let Some(expected) = self.expected.filter(|_| !self.is_empty()) else {
            return SweepMode::All;
        };
        if self.are_valid() {
            return SweepMode::Candidates;
        }
        if expected > self.recorded_below {
            return SweepMode::All;
        }
        (self.margin, self.drift) = (MARGIN * expected, 0.0);
        SweepMode::Record(self.margin)
    }

    /// That of a unit, if there are any.
    pub fn of(&self, unit: UnitIndex) -> Option<&RwLock<CandidateList>> {
        self.of_units.get(unit.0)
    }

    /// How many words there are that are not 0, as those are of pairs of slabs without a list of candidates.
    #[cfg(test)]
    pub fn words(&self) -> usize {
        let count = |words: &[u16]| words.iter().filter(|&&word| word != 0).count();
        self.of_units.iter().map(|list| count(&list.read().unwrap().words)).sum()
    }

    /// A superstep has changed values by at most so much.
    pub fn swept(&mut self, most: f64) {
        self.expected = Some(most);
        self.drift += most;
    }

    /// An extrapolation has.
    pub fn extrapolated(&mut self, most: f64) {
        // The next superstep makes the changes that it would have made without, and those that follow from this.
        self.expected = self.expected.map(|expected| expected + 2.0 * most);
        self.drift += most;
    }

    /// Values that were computed in `f32` go on in `f64`.
    pub fn widened(&mut self) {
        self.recorded_below = RECORDED_BELOW;
        self.drift += ROUNDING;
    }
}

/// The place of a unit's sweep in its list of candidates, from one pair of slabs to the next.
pub enum Cursor<'a> {
    /// Nothing.
    None,
    /// Writes it down, with a margin, as long as it has no more than so many words.
    Record(f64, Vec<u16>, usize),
    /// Goes through it: this is the rest.
    Take(&'a [u16]),
}

impl<'a> Cursor<'a> {
    /// The start of the list of a unit, if it has one.
    pub fn begin(list: Option<&'a CandidateList>, lists: SweepMode, part: &Shard) -> Self {
        match (list, lists) {
            (Some(CandidateList { is_too_long: false, .. }), SweepMode::Record(margin)) => {
                let most = (MOST_BYTES * part.len()) as usize / size_of::<u16>();
                Self::Record(margin, Vec::with_capacity(most), most)
            }
            (Some(list), SweepMode::Candidates) => Self::Take(&list.words),
            _ => Self::None,
        }
    }

    /// The candidates of the next pair of slabs, if it has one.
    pub fn take(&mut self) -> Option<&'a [u16]> {
        let Self::Take(rest) = self else { return None };
        let (&[low, high], after) = rest.split_first_chunk()?;
        let (words, rest_after) = after.split_at(usize::from(high) << 16 | usize::from(low));
        *rest = rest_after;
        (!words.is_empty()).then_some(words)
    }

    /// Lets the candidates of the next pair of slabs be written down, if that is to be done.
    pub fn record(&mut self, write: impl FnOnce(f64, &mut Vec<u16>)) {
        let Self::Record(margin, words, most) = self else { return };
        if words.len() <= *most {
            let start = words.len();
            words.extend([0; 2]);
            write(*margin, words);
            let len = words.len() - start - 2;
            words[start..][..2].copy_from_slice(&[len as u16, (len >> 16) as u16]);
        }
    }

    /// The list that was written down.
    pub fn end(self) -> Option<CandidateList> {
        let Self::Record(_, mut words, most) = self else { return None };
        let is_too_long = words.len() > most;
        if is_too_long {
            words.clear();
        }
        words.shrink_to_fit();
        Some(CandidateList { words, is_too_long })
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::{Encoding, Tier};
    use ziggurat_game::Ruleset;

    use super::*;

    #[test]
    fn shortlists_are_written_down_once_and_hold_while_values_drift_little() {
        let mut lists = CandidateLists::new(1);
        assert_eq!(lists.next(), SweepMode::All);
        for residual in [0.5, 1e-2, 1e-3] {
            lists.swept(residual);
            assert_eq!(lists.next(), SweepMode::All);
        }
        lists.swept(1e-4);
        assert_eq!(lists.next(), SweepMode::Record(MARGIN * 1e-4));
        let mut residual = 1e-4;
        for _ in 0..100 {
            lists.swept(residual);
            assert_eq!(lists.next(), SweepMode::Candidates);
            residual /= 2.0;
        }
        // The margin is 3.2e-3, and values have drifted by 2e-4 since.
        assert!(lists.are_valid_for_intervals(1.2e-3) && !lists.are_valid_for_intervals(1.4e-3));
        // An extrapolation that leads far away.
        lists.extrapolated(2e-3);
        assert_eq!(lists.next(), SweepMode::All);
        lists.swept(3e-5);
        assert_eq!(lists.next(), SweepMode::Record(MARGIN * 3e-5));
        lists.swept(1e-6);
        assert_eq!(lists.next(), SweepMode::Candidates);
    }

    #[test]
    fn where_values_are_to_be_widened_they_are_written_down_just_before_and_then_hold() {
        let mut lists = CandidateLists::new(1).for_widening();
        for residual in [1e-4, 1e-5] {
            lists.swept(residual);
            assert_eq!(lists.next(), SweepMode::All);
        }
        lists.swept(1e-6);
        assert_eq!(lists.next(), SweepMode::Record(MARGIN * 1e-6));
        lists.swept(3e-7);
        lists.widened();
        assert_eq!(lists.next(), SweepMode::Candidates);
    }

    #[test]
    fn without_room_there_are_none() {
        let mut lists = CandidateLists::new(0);
        lists.swept(1e-6);
        assert_eq!(lists.next(), SweepMode::All);
        assert!(!lists.are_valid_for_intervals(0.0));
    }

    #[test]
    fn a_shortlist_that_is_too_long_is_not_kept() {
        let encoding = Encoding::new(&Ruleset::builtin("finkel").unwrap()).unwrap();
        let shard = &encoding.shards(Tier::new(3, 3), u64::MAX)[0];
        let most = (MOST_BYTES * shard.len()) as usize / 2;
        let recorded = |long: usize| {
            let empty = CandidateList::default();
            let mut cursor = Cursor::begin(Some(&empty), SweepMode::Record(0.1), shard);
            for len in [70_000, 0, long] {
                cursor.record(|_, words| words.extend((0..len).map(|i| i as u16)));
            }
            cursor.end().unwrap()
        };
        let kept = recorded(3);
        let mut cursor = Cursor::begin(Some(&kept), SweepMode::Candidates, shard);
        assert_eq!(cursor.take().map(<[u16]>::len), Some(70_000));
        assert_eq!((cursor.take(), cursor.take()), (None, Some(&[0, 1, 2][..])));
        assert_eq!(cursor.take(), None);

        let dropped = recorded(most);
        let mut cursor = Cursor::begin(Some(&dropped), SweepMode::Candidates, shard);
        assert_eq!(cursor.take(), None);
        assert!(matches!(
            Cursor::begin(Some(&dropped), SweepMode::Record(0.1), shard),
            Cursor::None
        ));
    }
}
