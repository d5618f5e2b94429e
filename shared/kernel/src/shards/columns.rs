//! The typed arrays of a step as they are written down: columns, and the parts of them that shards have.

use std::ops::Range;

use bytemuck::Pod;
use ziggurat_planning::columns::Column;

/// Numbers of a type.
#[derive(PartialEq, Debug)]
pub enum Data<'a> {
    /// 32-bit floating point.
    F32(&'a mut [f32]),
    /// 64-bit floating point.
    F64(&'a mut [f64]),
    /// Signed bytes.
    I8(&'a mut [i8]),
    /// 16-bit integers.
    U16(&'a mut [u16]),
}

impl Data<'_> {
    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.bytes().len() / self.width()
    }

    /// How many bytes a number has.
    pub fn width(&self) -> usize {
        match self {
            Self::F32(_) => 4,
            Self::F64(_) => 8,
            Self::I8(_) => 1,
            Self::U16(_) => 2,
        }
    }

    /// The numbers as they are in memory.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::F64(values) => bytemuck::cast_slice(values),
            Self::I8(values) => bytemuck::cast_slice(values),
            Self::U16(values) => bytemuck::cast_slice(values),
        }
    }

    /// The numbers as they are in memory.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice_mut(values),
            Self::F64(values) => bytemuck::cast_slice_mut(values),
            Self::I8(values) => bytemuck::cast_slice_mut(values),
            Self::U16(values) => bytemuck::cast_slice_mut(values),
        }
    }

    /// Lets all of the numbers be `read`, but takes those at some places alone, which are in order. Unless these are all,
    /// they are read into room of their own: nothing is written at other places.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read_at<E>(
        &mut self,
        places: &[Range<usize>],
        read: impl FnOnce(Data<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (width, len) = (self.width(), self.bytes().len());
        if matches!(places, [all] if all.len() * width == len) {
            return read(self.again());
        }
        let mut room = vec![0_u64; len.div_ceil(size_of::<u64>())];
        let room = &mut bytemuck::cast_slice_mut::<_, u8>(&mut room)[..len];
        read(match self {
            Self::F32(_) => Data::F32(bytemuck::cast_slice_mut(room)),
            Self::F64(_) => Data::F64(bytemuck::cast_slice_mut(room)),
            Self::I8(_) => Data::I8(bytemuck::cast_slice_mut(room)),
            Self::U16(_) => Data::U16(bytemuck::cast_slice_mut(room)),
        })?;
        for place in places {
            let bytes = place.start * width..place.end * width;
            self.bytes_mut()[bytes.clone()].copy_from_slice(&room[bytes]);
        }
        Ok(())
    }

    /// The same room once more.
    pub fn again(&mut self) -> Data<'_> {
        match self {
            Self::F32(values) => Data::F32(values),
            Self::F64(values) => Data::F64(values),
            Self::I8(values) => Data::I8(values),
            Self::U16(values) => Data::U16(values),
        }
    }
}

/// A part of an array of a step: that of a range of a shard.
#[derive(Debug)]
pub struct Part<'a> {
    /// Which array.
    pub column: Column,
    /// The shard's place among those of the step.
    pub shard: u32,
    /// Which of the shard's ranges.
    pub range: u8,
    /// The numbers, or the room for them.
    pub data: Data<'a>,
}

/// A type of numbers that columns have.
pub trait Number: Pod {
    /// Numbers of this type.
    fn data(numbers: &mut [Self]) -> Data<'_>;
}

macro_rules! number {
    ($type:ty, $data:ident) => {
        impl Number for $type {
            fn data(numbers: &mut [Self]) -> Data<'_> {
                Data::$data(numbers)
            }
        }
    };
}

number!(f32, F32);
number!(f64, F64);
number!(i8, I8);
number!(u16, U16);

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    #[test]
    fn only_numbers_at_places_are_taken() {
        let read = |data: Data<'_>| -> Result<(), ()> {
            let Data::F64(numbers) = data else { panic!("they are of another type") };
            (0..).zip(numbers).for_each(|(i, number)| *number = f64::from(i));
            Ok(())
        };
        let mut numbers = [9.0; 7];
        Data::F64(&mut numbers).read_at(&[1..3, 5..6], read).unwrap();
        assert_eq!(numbers, [9.0, 1.0, 2.0, 9.0, 9.0, 5.0, 9.0]);
        let all = slice::from_ref(&(0..7));
        Data::F64(&mut numbers).read_at(all, read).unwrap();
        assert_eq!(numbers, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        Data::F64(&mut numbers).read_at(all, |_| Err(())).unwrap_err();
    }
}
