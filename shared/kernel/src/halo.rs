//! The halo on the wire: what changed between two barriers, as small integers.
//!
//! Published values are multiples of a [`Grid`]'s unit, before a barrier and after it, so what changed is
//! an integer. The integers of a strip of at most [`STRIP`] values take as many bytes each as the largest
//! needs, 0, 1, 2, 4 or 8, and all first bytes come before all second ones; a payload is
//! the widths of its strips, a byte each, and then their integers.

use thiserror::Error;

use crate::{grid::Grid, value::Value};

/// The most values of a strip.
pub const STRIP: usize = 2 << 10;

/// A payload is not as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the payload of a barrier does not fit what it is for")]
pub struct WrongPayload;

/// Added to an integer below 2^51, this leaves it in the lowest bits: 1.5 * 2^52.
const INTEGERS: f64 = 6_755_399_441_055_744.0;

/// Grids as coarse as this have multiples below 2^51.
const COARSE: i32 = -50;

/// The strips of a payload while it is made.
#[derive(Default)]
pub struct Packed {
    widths: Vec<u8>,
    data: Vec<u8>,
}

impl Packed {
    /// Adds strips.
    pub fn extend(&mut self, more: Self) {
        self.widths.extend(more.widths);
        self.data.extend(more.data);
    }

    /// The payload.
    pub fn into_payload(self) -> Vec<u8> {
        let Self { mut widths, data } = self;
        widths.extend(data);
        widths
    }

    /// Adds a strip of values that are published on a grid in place of old ones.
    pub fn push_values<T: Value>(&mut self, new: &[T], old: &[T], grid: Grid) {
        let per_unit = 1.0 / grid.unit();
        let mut changes = [0_i64; STRIP];
        let pairs = changes.iter_mut().zip(new.iter().zip(old));
        if grid.exponent() >= COARSE {
            let bits = |value: T| (value.to_f64() * per_unit + INTEGERS).to_bits() as i64;
            pairs.for_each(|(change, (&new, &old))| *change = bits(new) - bits(old));
        } else {
            let units = |value: T| (grid.round(value.to_f64()) * per_unit) as i64;
            pairs.for_each(|(change, (&new, &old))| *change = units(new) - units(old));
        }
        self.push(&changes[..new.len()]);
    }

    /// Adds a strip of distances.
    pub fn push_distances(&mut self, new: &[u16], old: &[u16]) {
        let mut changes = [0_i64; STRIP];
        for (change, (&new, &old)) in changes.iter_mut().zip(new.iter().zip(old)) {
            *change = i64::from(new) - i64::from(old);
        }
        self.push(&changes[..new.len()]);
    }

    fn push(&mut self, changes: &[i64]) {
        // The magnitudes, twice: the lowest bit is for the sign.
        let all = changes.iter().fold(0, |all, &change| all | (change ^ (change >> 63)) << 1);
        let width = match all.leading_zeros() {
            64 if changes.iter().all(|&change| change == 0) => 0,
            56.. => 1,
            48.. => 2,
            32.. => 4,
            _ => 8,
        };
        self.widths.push(width);
        for byte in 0..u32::from(width) {
            self.data.extend(changes.iter().map(|&change| (change >> (8 * byte)) as u8));
        }
    }
}

/// The most bytes a payload of strips of these lengths has.
pub fn largest_payload(lengths: &[usize]) -> usize {
    lengths.iter().map(|len| 1 + 8 * len).sum()
}

/// A strip of a payload.
#[derive(Clone, Copy, Debug)]
pub struct PackedStrip<'a> {
    data: &'a [u8],
    len: usize,
}

/// The strips of a payload, if their lengths are these.
///
/// # Errors
/// If the payload is longer or shorter, or has impossible widths.
pub fn strips<'a>(
    payload: &'a [u8],
    lengths: &[usize],
) -> Result<Vec<PackedStrip<'a>>, WrongPayload> {
    let (widths, mut data) = payload.split_at_checked(lengths.len()).ok_or(WrongPayload)?;
    let strips = widths.iter().zip(lengths).map(|(&width, &len)| {
        let is_width = matches!(width, 0 | 1 | 2 | 4 | 8);
        let bytes = usize::from(width) * len;
        let own = data.split_off(..bytes).filter(|_| is_width).ok_or(WrongPayload)?;
        Ok(PackedStrip { data: own, len })
    });
    let strips = strips.collect::<Result<_, _>>()?;
    if data.is_empty() { Ok(strips) } else { Err(WrongPayload) }
}

impl PackedStrip<'_> {
    /// Changes values that were published on a grid, or a coarser one.
    pub fn change_values<T: Value>(&self, values: &mut [T], grid: Grid) {
        let (unit, per_unit) = (grid.unit(), 1.0 / grid.unit());
        let mut changes = [0_i64; STRIP];
        let Some(changes) = self.changes(&mut changes) else { return };
        let pairs = values.iter_mut().zip(changes);
        if grid.exponent() >= COARSE {
            pairs.for_each(|(value, &change)| {
                let bits = (value.to_f64() * per_unit + INTEGERS).to_bits();
                let units = f64::from_bits(bits.wrapping_add_signed(change)) - INTEGERS;
                *value = T::from_f64(units * unit);
            });
        } else {
            pairs.for_each(|(value, &change)| {
                let units = (value.to_f64() * per_unit) as i64;
                *value = T::from_f64(units.wrapping_add(change) as f64 * unit);
            });
        }
    }

    /// Changes distances.
    pub fn change_distances(&self, distances: &mut [u16]) {
        let mut changes = [0_i64; STRIP];
        let Some(changes) = self.changes(&mut changes) else { return };
        for (distance, &change) in distances.iter_mut().zip(changes) {
            *distance = distance.wrapping_add(change as u16);
        }
    }

    /// The integers; `None` if all are 0.
    fn changes<'b>(&self, room: &'b mut [i64; STRIP]) -> Option<&'b [i64]> {
        let Self { data, len } = *self;
        let width = data.len().checked_div(len)?;
        let room = &mut room[..len];
        match width {
            0 => return None,
            1 => {
                room.iter_mut()
                    .zip(data)
                    .for_each(|(change, &byte)| *change = i64::from(byte as i8));
            }
            _ => {
                for (i, bytes) in data.chunks_exact(len).enumerate() {
                    let is_last = i + 1 == width;
                    for (change, &byte) in room.iter_mut().zip(bytes) {
                        // The last byte has the sign.
                        let byte = if is_last { i64::from(byte as i8) } else { i64::from(byte) };
                        *change |= byte << (8 * i);
                    }
                }
            }
        }
        Some(room)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn payload_of(old: &[f64], new: &[f64], grid: Grid) -> Vec<u8> {
        let mut packed = Packed::default();
        packed.push_values(new, old, grid);
        packed.into_payload()
    }

    proptest! {
        #[test]
        fn what_changed_comes_back_to_the_last_bit(
            values in prop::collection::vec((0.0..=1.0, -1.0..=1.0), 1..STRIP),
            exponent in -56..=0,
            scale in -60..=0,
        ) {
            let grid = Grid::new(exponent).unwrap();
            let old: Vec<f64> = values.iter().map(|&(old, _)| grid.round(old)).collect();
            let change = |(old, change): &(f64, f64)| old + change * f64::from(scale).exp2();
            let new: Vec<f64> = values.iter().map(|pair| change(pair).clamp(0.0, 1.0)).collect();
            let payload = payload_of(&old, &new, grid);
            let mut read = old.clone();
            strips(&payload, &[old.len()]).unwrap()[0].change_values(&mut read, grid);
            let published = new.iter().map(|&value| grid.round(value).to_bits());
            prop_assert!(read.iter().map(|value| value.to_bits()).eq(published));
        }

        #[test]
        fn distances_come_back(pairs in prop::collection::vec(any::<(u16, u16)>(), 1..STRIP)) {
            let (mut old, new): (Vec<u16>, Vec<u16>) = pairs.into_iter().unzip();
            let mut packed = Packed::default();
            packed.push_distances(&new, &old);
            let payload = packed.into_payload();
            strips(&payload, &[old.len()]).unwrap()[0].change_distances(&mut old);
            prop_assert_eq!(old, new);
        }

        #[test]
        fn no_payload_makes_anything_panic(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            lengths in prop::collection::vec(0..20_usize, 0..8),
        ) {
            if let Ok(strips) = strips(&payload, &lengths) {
                for (strip, &len) in strips.iter().zip(&lengths) {
                    strip.change_values(&mut vec![0.5_f32; len], Grid::FINEST);
                    strip.change_values(&mut vec![0.5_f64; len], Grid::FIRST);
                    strip.change_distances(&mut vec![7; len]);
                }
            }
        }
    }

    #[test]
    fn strips_without_a_change_take_a_byte() {
        assert_eq!(payload_of(&[0.5; 100], &[0.5; 100], Grid::FIRST), [0]);
        let grid = Grid::new(-10).unwrap();
        let new: Vec<f64> = (0..100).map(|i| 0.5 + f64::from(i) / 1024.0).collect();
        assert_eq!(payload_of(&[0.5; 100], &new, grid).len(), 101);
    }
}
