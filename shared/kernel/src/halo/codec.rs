//! The halo on the wire: the changes between two barriers, as bytes.
//!
//! A payload is sent in parts, so that threads pack and unpack several at a time, and the first are on their way while
//! others are made. A part is a list of *strips* of at most [`STRIP`] numbers: first a byte for each, its *head*, then
//! the data of one after the other. There are three kinds:
//!
//! * The changes of values, in quanta ([`encode`](crate::delta::encoding::encode)), of a byte each. A head of n is a
//!   quantum of 2^-n; a head of 128 + n says that it is this, but nothing changed, and nothing follows.
//! * The changes of a proof's offsets, of as many bytes each as the head says, 0, 1 or 2, all first (lower)
//!   bytes before all second ones. The offsets of both bounds change alike, so a strip of lower bounds comes
//!   before one of how much more the upper bounds changed.
//! * Values as they are, as many bytes each as the head says, the lowest first.
//!
//! Changes are sent as remainders of their [prediction](crate::halo::prediction), folded to numbers without a sign,
//! in [few bits](crate::halo::bits). The data of offsets begin with a byte that says how many zero bits all changes end
//! in, which are not sent.

use bytemuck::Pod;
use thiserror::Error;
use ziggurat_planning::quanta::{exponent_of, quantum};

use crate::{
    delta::encoding::change,
    halo::{
        bits,
        prediction::{remainders, restore},
    },
    shards::ranges::PIECE,
    simd::{dispatch::Simd, value::Value},
};

/// The most values of a strip.
pub const STRIP: usize = 2 << 10;

const _: () = assert!(PIECE.is_multiple_of(STRIP));

/// The bit of the head of changes that says that there are none.
const NOTHING: u8 = 1 << 7;

/// A part of a payload is not as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("what came for a barrier does not fit what it is for")]
pub struct WrongPart;

/// The contents of the strips of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Changes of values.
    Changes,
    /// Changes of offsets.
    Offsets,
    /// Values of so many bytes.
    Values(usize),
}

/// The most bytes that the packs of a strip take for each number, if a short strip counts as one of [`SHORT`].
pub const MOST_BYTES: usize = 9;
pub const SHORT: usize = 64;

const _: () = assert!(8 * SHORT < MOST_BYTES * SHORT);
const _: () = assert!(2 * (2 + 2 * bits::most_bytes(SHORT)) <= MOST_BYTES * SHORT);

/// The strips of a part while it is made.
#[derive(Default)]
pub struct Packed {
    heads: Vec<u8>,
    data: Vec<u8>,
}

impl Packed {
    /// The part.
    pub fn into_part(self) -> Vec<u8> {
        let Self { mut heads, data } = self;
        heads.extend(data);
        heads
    }

    /// Adds the strips of another one.
    pub fn append(&mut self, other: Self) {
        self.heads.extend(other.heads);
        self.data.extend(other.data);
    }

    /// Adds a strip of changes of values, in quanta of a power of two.
    pub fn push_changes(&mut self, changes: &[i8], quantum: f32) {
        let head = -exponent_of(quantum.into()) as u8;
        if changes.iter().all(|&change| change == 0) {
            self.heads.push(NOTHING | head);
        } else {
            self.heads.push(head);
            let mut left = [0; STRIP];
            let left = &mut left[..changes.len()];
            remainders(changes, left);
            left.iter_mut().for_each(|left| *left = (*left << 1) ^ (*left >> 7));
            bits::pack(bytemuck::cast_slice(left), &mut self.data);
        }
    }

    /// Adds the two strips of the changes of the offsets of lower and upper bounds.
    pub fn push_offsets(&mut self, new: [&[u16]; 2], old: [&[u16]; 2]) {
        let (mut lower, mut beyond) = ([0_i16; STRIP], [0_i16; STRIP]);
        let len = new[0].len();
        let change = |end: usize, i: usize| new[end][i].wrapping_sub(old[end][i]) as i16;
        for i in 0..len {
            lower[i] = change(0, i);
            beyond[i] = change(1, i).wrapping_sub(lower[i]);
        }
        self.push(&mut lower[..len]);
        self.push(&mut beyond[..len]);
    }

    fn push(&mut self, changes: &mut [i16]) {
        if changes.iter().all(|&change| change == 0) {
            return self.heads.push(0);
        }
        let zeros = zeros_of(changes);
        changes.iter_mut().for_each(|change| *change >>= zeros);
        let mut left = [0; STRIP];
        let left = &mut left[..changes.len()];
        remainders(changes, left);
        self.data.push(zeros as u8);
        left.iter_mut().for_each(|left| *left = (*left << 1) ^ (*left >> 15));
        let bytes = if left.iter().all(|&left| left as u16 <= 0xff) { 1 } else { 2 };
        self.heads.push(bytes);
        for byte in 0..u32::from(bytes) {
            let mut numbers = [0; STRIP];
            let numbers = &mut numbers[..left.len()];
            numbers.iter_mut().zip(&*left).for_each(|(to, &left)| *to = (left >> (8 * byte)) as u8);
            bits::pack(numbers, &mut self.data);
        }
    }

    /// Adds a strip of values.
    pub fn push_values<T: Value>(&mut self, values: &[T]) {
        self.heads.push(size_of::<T>() as u8);
        self.data.extend_from_slice(bytemuck::cast_slice(values));
    }
}

/// How many of the lowest bits are 0 in all of some numbers.
fn zeros_of(numbers: &[i16]) -> u32 {
    numbers.iter().fold(0, |all, number| all | number).trailing_zeros().min(15)
}

/// A strip of a part.
#[derive(Clone, Copy, Debug)]
pub struct PackedStrip<'a> {
    head: u8,
    /// How many bits that are 0 follow each number.
    zeros: u8,
    /// The bytes of values, or the first bytes of numbers, packed; nothing if these are 0.
    data: &'a [u8],
    /// The second bytes, if any.
    high: &'a [u8],
    len: usize,
}

/// The strips of a part, if their lengths are these.
///
/// # Errors
/// If the part is longer or shorter, or has impossible heads.
pub fn strips<'a>(
    part: &'a [u8],
    lengths: &[usize],
    content: Content,
) -> Result<Vec<PackedStrip<'a>>, WrongPart> {
    let (heads, mut data) = part.split_at_checked(lengths.len()).ok_or(WrongPart)?;
    let strips = heads.iter().zip(lengths).map(|(&head, &len)| {
        let mut strip = PackedStrip { head, zeros: 0, data: &[], high: &[], len };
        match (content, head) {
            (Content::Changes, 129..=254) | (Content::Offsets, 0) => {}
            (Content::Changes, 1..=126) => {
                strip.data = bits::split_off(&mut data, len).ok_or(WrongPart)?
            }
            (Content::Offsets, 1..=2) => {
                let zeros = data.split_off_first().copied().filter(|&zeros| zeros < 16);
                strip.zeros = zeros.ok_or(WrongPart)?;
                strip.data = bits::split_off(&mut data, len).ok_or(WrongPart)?;
                if head == 2 {
                    strip.high = bits::split_off(&mut data, len).ok_or(WrongPart)?;
                }
            }
            (Content::Values(bytes), _) if usize::from(head) == bytes => {
                strip.data = data.split_off(..bytes * len).ok_or(WrongPart)?;
            }
            _ => return Err(WrongPart),
        }
        Ok(strip)
    });
    let strips = strips.collect::<Result<_, _>>()?;
    if data.is_empty() { Ok(strips) } else { Err(WrongPart) }
}

impl PackedStrip<'_> {
    /// The quantum of the changes.
    pub fn quantum(&self) -> f32 {
        quantum(-i32::from(self.head & !NOTHING))
    }

    /// Changes values, and keeps their changes.
    pub fn change_values<T: Value>(&self, values: &mut [T], changes: &mut [i8], simd: Simd) {
        self.read_changes(changes);
        if !self.data.is_empty() {
            change(values, changes, self.quantum(), simd);
        }
    }

    /// The changes of values.
    pub fn read_changes(&self, changes: &mut [i8]) {
        if self.data.is_empty() {
            return changes.fill(0);
        }
        bits::unpack(self.data, bytemuck::cast_slice_mut(changes));
        changes.iter_mut().for_each(|left| *left = (*left as u8 >> 1) as i8 ^ -(*left & 1));
        restore(changes);
    }

    /// The values.
    pub fn read_values<T: Pod>(&self, values: &mut [T]) {
        bytemuck::cast_slice_mut(values).copy_from_slice(self.data);
    }

    /// Changes offsets; those of the other bound change by `beyond` more.
    pub fn change_offsets(&self, beyond: &Self, [lower, upper]: [&mut [u16]; 2]) {
        let (mut first, mut second) = ([0_i16; STRIP], [0_i16; STRIP]);
        let changes = self.integers(&mut first).iter().zip(beyond.integers(&mut second));
        for ((lower, upper), (&change, &more)) in lower.iter_mut().zip(upper).zip(changes) {
            *lower = lower.wrapping_add_signed(change);
            *upper = upper.wrapping_add_signed(change.wrapping_add(more));
        }
    }

    fn integers<'b>(&self, room: &'b mut [i16; STRIP]) -> &'b [i16] {
        let Self { zeros, data, high, len, .. } = *self;
        let room = &mut room[..len];
        if data.is_empty() {
            return room;
        }
        let mut numbers = [0; STRIP];
        let numbers = &mut numbers[..len];
        bits::unpack(data, numbers);
        room.iter_mut().zip(&*numbers).for_each(|(to, &low)| *to = low.into());
        if !high.is_empty() {
            bits::unpack(high, numbers);
            room.iter_mut().zip(numbers).for_each(|(to, high)| *to |= i16::from(*high) << 8);
        }
        room.iter_mut().for_each(|left| *left = (*left as u16 >> 1) as i16 ^ -(*left & 1));
        restore(room);
        room.iter_mut().for_each(|number| *number <<= zeros);
        room
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::encoding::changed;

    proptest! {
        #[test]
        fn changes_come_back(
            changes in prop::collection::vec(any::<i8>(), 1..STRIP),
            exponent in 6..=106_i32,
        ) {
            let quantum = (-exponent as f32).exp2();
            let mut packed = Packed::default();
            packed.push_changes(&changes, quantum);
            let part = packed.into_part();
            let strips = strips(&part, &[changes.len()], Content::Changes).unwrap();
            let mut read = vec![1; changes.len()];
            let mut values = vec![0.1; changes.len()];
            strips[0].change_values(&mut values, &mut read, Simd::best());
            prop_assert_eq!(&read, &changes);
            let expected: Vec<f64> = changes.iter().map(|&by| changed(0.1, by, quantum)).collect();
            prop_assert_eq!(values, expected);
        }

        #[test]
        fn offsets_come_back(
            ends in prop::collection::vec(any::<[u16; 4]>(), 1..STRIP),
        ) {
            let column = |i: usize| ends.iter().map(|end| end[i]).collect::<Vec<_>>();
            let (mut lower, mut upper) = (column(0), column(1));
            let new = [column(2), column(3)];
            let mut packed = Packed::default();
            packed.push_offsets([&new[0], &new[1]], [&lower, &upper]);
            let part = packed.into_part();
            let strips = strips(&part, &[ends.len(); 2], Content::Offsets).unwrap();
            strips[0].change_offsets(&strips[1], [&mut lower, &mut upper]);
            prop_assert_eq!([lower, upper], new);
        }

        #[test]
        fn values_come_back(values in prop::collection::vec(any::<f64>(), 1..STRIP)) {
            let mut packed = Packed::default();
            packed.push_values(&values);
            let part = packed.into_part();
            let mut read = vec![0.0; values.len()];
            strips(&part, &[values.len()], Content::Values(8)).unwrap()[0].read_values(&mut read);
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&read), bits(&values));
        }

        #[test]
        fn no_part_makes_anything_panic(
            part in prop::collection::vec(any::<u8>(), 0..200),
            lengths in prop::collection::vec(0..20_usize, 0..8),
        ) {
            for content in [Content::Changes, Content::Offsets, Content::Values(4)] {
                let Ok(strips) = strips(&part, &lengths, content) else { continue };
                for (strip, &len) in strips.iter().zip(&lengths) {
                    match content {
                        Content::Changes => {
                            let (mut values, mut changes) = (vec![0.5_f64; len], vec![0; len]);
                            strip.change_values(&mut values, &mut changes, Simd::best());
                        }
                        Content::Offsets => strip
                            .change_offsets(strip, [&mut vec![0; len], &mut vec![7; len]]),
                        Content::Values(_) => strip.read_values(&mut vec![0_f32; len]),
                    }
                }
            }
        }
    }

    #[test]
    fn strips_without_a_change_take_a_byte() {
        let mut packed = Packed::default();
        packed.push_changes(&[0; 100], 0.5);
        packed.push_offsets([&[7; 100]; 2], [&[7; 100]; 2]);
        assert_eq!(packed.into_part(), [NOTHING | 1, 0, 0]);
    }
}
