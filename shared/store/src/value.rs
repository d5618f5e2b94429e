//! Value types: what a shard holds.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(target_endian = "big")]
compile_error!("the store writes values as they lie in memory, which must be little-endian");

/// Bytes of values in a page before compression; the last page of a shard epoch may hold fewer.
pub const PAGE_BYTES: usize = 1 << 20;

/// The type of a shard's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// 8-bit signed integer.
    I8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
}

impl ValueType {
    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Values in a page.
    pub fn values_per_page(self) -> usize {
        PAGE_BYTES / self.bytes()
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A value that can be stored: `f32`, `f64`, `i8` or `u16`.
pub trait Value: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// Its type.
    const TYPE: ValueType;
}

impl Value for i8 {
    const TYPE: ValueType = ValueType::I8;
}

impl Value for u16 {
    const TYPE: ValueType = ValueType::U16;
}

impl Value for f32 {
    const TYPE: ValueType = ValueType::F32;
}

impl Value for f64 {
    const TYPE: ValueType = ValueType::F64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i8 {}
    impl Sealed for u16 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
