//! Counting the keys that are smaller in one field, given what the fields before it leave.

use super::format::MAX_PIECES;

/// What the fields before one leave to it: pieces of light, pieces of dark, and whether dark
/// still needs a piece (with none anywhere, dark would have scored them all).
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub(super) light: u8,
    pub(super) dark: u8,
    pub(super) dark_needed: bool,
}

impl Left {
    const COUNT: usize = (MAX_PIECES as usize + 1) * (MAX_PIECES as usize + 1) * 2;

    fn number(self) -> usize {
        let pieces = self.light as usize * (MAX_PIECES as usize + 1) + self.dark as usize;
        pieces * 2 + usize::from(self.dark_needed)
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(|number| Self {
            light: (number / 2 / (MAX_PIECES as usize + 1)) as u8,
            dark: (number / 2 % (MAX_PIECES as usize + 1)) as u8,
            dark_needed: number % 2 == 1,
        })
    }

    /// What is left after a field with this many pieces, `None` if it has too many.
    pub(super) fn without(self, light: u8, dark: u8) -> Option<Self> {
        Some(Self {
            light: self.light.checked_sub(light)?,
            dark: self.dark.checked_sub(dark)?,
            dark_needed: self.dark_needed && dark == 0,
        })
    }
}

/// For every [`Left`] and every value of a field, the number of keys with a smaller value; one
/// more entry at the end for all of them.
pub(super) struct Smaller {
    stride: usize,
    entries: Vec<u32>,
}

impl Smaller {
    /// `count(left, value)` is the number of keys with this value of the field.
    pub(super) fn new(values: usize, count: impl Fn(Left, usize) -> u32) -> Self {
        let stride = values + 1;
        let mut entries = Vec::with_capacity(Left::COUNT * stride);
        for left in Left::all() {
            let mut sum = 0;
            entries.push(sum);
            for value in 0..values {
                sum += count(left, value);
                entries.push(sum);
            }
        }
        Self { stride, entries }
    }

    /// The number of keys with a value below `value`.
    pub(super) fn than(&self, left: Left, value: usize) -> u32 {
        self.entries[left.number() * self.stride + value]
    }

    /// The number of keys with any value.
    pub(super) fn all(&self, left: Left) -> u32 {
        self.than(left, self.stride - 1)
    }
}
