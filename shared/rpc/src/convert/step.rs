//! Steps, precisions and columns.

use ziggurat_encoding::Tier;
use ziggurat_planning::{Column, CycleSlot, DIFFERENCES, Precision, VECTORS};

use super::WireError;
use crate::proto::{self, column};

/// The most pieces of a player.
const MOST_PIECES: u32 = 15;

impl From<Tier> for proto::Step {
    /// The step of its first tier.
    fn from(tier: Tier) -> Self {
        Self { just_moved: tier.just_moved.into(), to_move: tier.to_move.into() }
    }
}

impl TryFrom<proto::Step> for Tier {
    type Error = WireError;

    fn try_from(step: proto::Step) -> Result<Self, WireError> {
        let proto::Step { just_moved, to_move } = step;
        if to_move == 0 || to_move > just_moved || just_moved > MOST_PIECES {
            let problem = format_args!("{just_moved}-{to_move} is not the first tier of a step");
            return Err(WireError::new("step", problem));
        }
        Ok(Self::new(just_moved as u8, to_move as u8))
    }
}

impl From<Precision> for proto::Precision {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self::F32,
            Precision::F64 => Self::F64,
        }
    }
}

impl TryFrom<proto::Precision> for Precision {
    type Error = WireError;

    fn try_from(precision: proto::Precision) -> Result<Self, WireError> {
        match precision {
            proto::Precision::F32 => Ok(Self::F32),
            proto::Precision::F64 => Ok(Self::F64),
            proto::Precision::Unspecified => Err(WireError::new("precision", "is missing")),
        }
    }
}

/// The precision of a message's field, which is a bare number.
///
/// # Errors
/// If the number stands for none.
pub fn precision(number: i32) -> Result<Precision, WireError> {
    proto::Precision::try_from(number)
        .map_err(|_| WireError::new("precision", format_args!("{number} stands for none")))?
        .try_into()
}

impl From<Column> for proto::Column {
    fn from(column: Column) -> Self {
        let unit = proto::Unit {};
        let column = match column {
            Column::Values => column::Column::Values(unit),
            Column::Vector(i) => column::Column::Vector(i.into()),
            Column::Units => column::Column::Units(unit),
            Column::Lower => column::Column::Lower(unit),
            Column::Upper => column::Column::Upper(unit),
        };
        Self { column: Some(column) }
    }
}

impl TryFrom<proto::Column> for Column {
    type Error = WireError;

    fn try_from(column: proto::Column) -> Result<Self, WireError> {
        match column.column {
            Some(column::Column::Values(_)) => Ok(Self::Values),
            Some(column::Column::Vector(i)) if (i as usize) < VECTORS => Ok(Self::Vector(i as u8)),
            Some(column::Column::Vector(i)) => {
                Err(WireError::new("column.vector", format_args!("there is no vector {i}")))
            }
            Some(column::Column::Units(_)) => Ok(Self::Units),
            Some(column::Column::Lower(_)) => Ok(Self::Lower),
            Some(column::Column::Upper(_)) => Ok(Self::Upper),
            None => Err(WireError::new("column", "is missing")),
        }
    }
}

/// The place of a superstep in its cycle.
pub(super) fn slot(number: u32, field: &'static str) -> Result<CycleSlot, WireError> {
    let slot = CycleSlot::new(number as usize);
    slot.ok_or_else(|| WireError::new(field, format_args!("{number} is not below {DIFFERENCES}")))
}

/// How many vectors are to be remembered: never that of the last superstep of a cycle.
pub(super) fn vectors(number: u32, field: &'static str) -> Result<usize, WireError> {
    below(VECTORS, number, field)
}

fn below(end: usize, number: u32, field: &'static str) -> Result<usize, WireError> {
    let number = number as usize;
    let problem = || WireError::new(field, format_args!("{number} is not below {end}"));
    (number < end).then_some(number).ok_or_else(problem)
}
