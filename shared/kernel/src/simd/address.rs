//! Addresses: values here and there in a few arrays, gathered into a group.
//!
//! An address is one number of 32 bits, so a list of them takes little memory. Eight at a time say where the values of
//! a group are.
#![expect(unsafe_code)]

use std::ops::Sub;

/// A value of one of [`ARRAYS`] arrays, as it is or as the other player's. The lowest bits are its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Address(u32);

/// How many arrays addresses know.
pub const ARRAYS: usize = 8;

/// The bits of an address that are a place.
pub const PLACE_BITS: u32 = 28;

/// Set in an address whose value is read negated.
const NEGATED: u32 = 1 << 31;

impl Address {
    /// The value at a place of an array.
    ///
    /// # Panics
    /// If there is no such array, or the place is too large.
    pub fn new(array: usize, place: usize) -> Self {
        assert!(array < ARRAYS && place >> PLACE_BITS == 0);
        Self((array as u32) << PLACE_BITS | place as u32)
    }

    /// The same place, read as the other player's value if wanted.
    pub fn negated_if(self, negated: bool) -> Self {
        if negated { Self(self.0 | NEGATED) } else { self }
    }

    /// Which array.
    #[inline(always)]
    pub fn array(self) -> usize {
        (self.0 >> PLACE_BITS) as usize % ARRAYS
    }

    /// Where in it.
    #[inline(always)]
    pub fn place(self) -> usize {
        self.0 as usize & ((1 << PLACE_BITS) - 1)
    }

    /// Whether it is read negated.
    #[inline(always)]
    pub fn is_negated(self) -> bool {
        self.0 & NEGATED != 0
    }
}

/// Where the arrays are that addresses name.
#[derive(Clone, Copy, Debug)]
pub struct Arrays<T>(pub [*const T; ARRAYS]);

impl<T: Copy + Default + Sub<Output = T>> Arrays<T> {
    /// The values at so many addresses, one by one.
    ///
    /// # Safety
    /// As many addresses must be readable, and the arrays have their places.
    #[inline(always)]
    pub unsafe fn values<const LANES: usize>(&self, at: *const Address) -> [T; LANES] {
        let mut values = [T::default(); LANES];
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: the caller promises it.
            let (address, read) = unsafe {
                let address = *at.add(i);
                (address, *self.0[address.array()].add(address.place()))
            };
            *value = if address.is_negated() { T::default() - read } else { read };
        }
        values
    }
}
