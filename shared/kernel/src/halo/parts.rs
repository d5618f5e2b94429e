//! The parts of payloads: which strips go together, known to those who send them and to those who receive them.

use std::{collections::HashMap, iter::repeat_n, ops::Range};

use ziggurat_planning::waves::{UnitIndex, Wave};

use crate::halo::{
    codec::{MOST_BYTES, SHORT, STRIP},
    partition::{HaloStrip, MemberIndex},
};

/// The most values of a part, of which a short strip counts as one of [`SHORT`].
pub const PART: usize = 48 * STRIP;

/// The most bytes a part has.
pub const PART_BYTES: usize = 1 << 20;

const _: () = assert!(PART * MOST_BYTES <= PART_BYTES);

/// Strips that go to a member, or come from it, at once.
#[derive(Debug)]
pub struct Part<'a> {
    pub member: MemberIndex,
    /// Its place in the payload.
    pub number: u32,
    /// In the order of values.
    pub strips: Vec<&'a HaloStrip>,
}

impl Part<'_> {
    /// The lengths of the packs of its strips, of which each has so many.
    pub fn lengths(&self, packs: usize) -> Vec<usize> {
        self.strips.iter().flat_map(|strip| repeat_n(strip.values.len(), packs)).collect()
    }

    /// How many values it has.
    pub fn values(&self) -> u64 {
        self.strips.iter().map(|strip| strip.values.len() as u64).sum()
    }
}

/// The payload of a member that has these strips.
pub fn payload<'a>(
    member: MemberIndex,
    strips: impl IntoIterator<Item = &'a HaloStrip>,
) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut values = 0;
    for strip in strips {
        values += strip.values.len().max(SHORT);
        match parts.last_mut().filter(|_| values <= PART) {
            Some(part) => part.strips.push(strip),
            None => {
                values = strip.values.len().max(SHORT);
                parts.push(Part { member, number: parts.len() as u32, strips: vec![strip] });
            }
        }
    }
    parts
}

/// What the members send each other of the units of a wave: what this one sends, and what it receives, member by member.
#[derive(Debug, Default)]
pub struct WaveParts<'a> {
    pub sends: Vec<Part<'a>>,
    pub receives: Vec<Part<'a>>,
    /// The pieces of the parts that each of the own units fills.
    pub of_units: HashMap<UnitIndex, Vec<Piece>>,
    /// How many pieces each part that is sent has.
    pub pieces: Vec<usize>,
}

/// Strips of one unit that follow each other in a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The part.
    pub part: usize,
    /// Its place among the pieces of the part.
    pub place: usize,
    /// Which strips of it.
    pub strips: Range<usize>,
}

/// What members send each other at the end of each wave; by member, the strips that this one sends and receives.
pub fn parts_by_wave<'a>(
    waves: &[Wave],
    units: usize,
    [sends, receives]: [&'a [Vec<HaloStrip>]; 2],
) -> Vec<WaveParts<'a>> {
    let mut wave_of = vec![0; units];
    for (i, wave) in waves.iter().enumerate() {
        wave.iter().for_each(|unit| wave_of[unit.0] = i);
    }
    let by_wave = |by_member: &'a [Vec<HaloStrip>]| {
        let mut parts: Vec<Vec<Part<'a>>> = waves.iter().map(|_| Vec::new()).collect();
        for (member, strips) in (0..).map(MemberIndex).zip(by_member) {
            let mut of_waves = vec![Vec::new(); waves.len()];
            strips.iter().for_each(|strip| of_waves[wave_of[strip.unit.0]].push(strip));
            for (parts, strips) in parts.iter_mut().zip(of_waves) {
                parts.extend(payload(member, strips));
            }
        }
        parts
    };
    let both = by_wave(sends).into_iter().zip(by_wave(receives));
    both.map(|(sends, receives)| {
        let (mut of_units, mut pieces) = (HashMap::<_, Vec<_>>::new(), Vec::new());
        for (part, Part { strips, .. }) in sends.iter().enumerate() {
            let (mut place, mut start) = (0, 0);
            for of_unit in strips.chunk_by(|one, next| one.unit == next.unit) {
                let strips = start..start + of_unit.len();
                start = strips.end;
                of_units.entry(of_unit[0].unit).or_default().push(Piece { part, place, strips });
                place += 1;
            }
            pieces.push(place);
        }
        WaveParts { sends, receives, of_units, pieces }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shards::ranges::Orientation;

    fn strip(unit: usize, start: usize) -> HaloStrip {
        let (unit, orientation) = (UnitIndex(unit), Orientation::FIRST);
        HaloStrip { unit, range: 0, start: 0, orientation, values: start..start + STRIP }
    }

    #[test]
    fn a_part_has_no_more_values_than_fit_it() {
        let strips: Vec<_> = (0..100).map(|i| strip(0, i * STRIP)).collect();
        let parts = payload(MemberIndex(2), &strips);
        let lengths: Vec<_> = parts.iter().map(|part| part.strips.len()).collect();
        assert_eq!(lengths, [48, 48, 4]);
        assert!(parts.iter().map(|part| part.number).eq(0..3));
        assert!(parts.iter().flat_map(|part| &part.strips).copied().eq(&strips));
    }

    #[test]
    fn units_fill_the_parts_of_their_wave() {
        let waves = [vec![UnitIndex(1), UnitIndex(3)], vec![UnitIndex(0), UnitIndex(2)]];
        let strips = [0, 1, 1, 2, 3, 1].into_iter().enumerate();
        let sends: Vec<_> = strips.map(|(i, unit)| strip(unit, i * STRIP)).collect();
        let [sends, receives] = [sends, vec![strip(2, 100 * STRIP)]].map(|strips| [vec![], strips]);
        let parts = parts_by_wave(&waves, 4, [&sends, &receives]);
        let [first, second] = &parts[..] else { panic!("two waves") };
        let units =
            |part: &Part<'_>| part.strips.iter().map(|strip| strip.unit.0).collect::<Vec<_>>();
        assert_eq!(first.sends.iter().map(units).collect::<Vec<_>>(), [[1, 1, 3, 1]]);
        assert_eq!(second.sends.iter().map(units).collect::<Vec<_>>(), [[0, 2]]);
        assert_eq!((first.receives.len(), second.receives.len()), (0, 1));
        assert_eq!(second.receives[0].member, MemberIndex(1));
        let piece = |place, strips| Piece { part: 0, place, strips };
        assert_eq!(first.of_units[&UnitIndex(1)], [piece(0, 0..2), piece(2, 3..4)]);
        assert_eq!(first.of_units[&UnitIndex(3)], [piece(1, 2..3)]);
        assert_eq!((&first.pieces[..], first.of_units.len()), (&[3][..], 2));
    }
}
