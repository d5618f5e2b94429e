//! Packing: numbers shuffled and compressed. So they are in the pages of the store, the frames of tables, in checkpoints, and
//! between workers.

mod shuffle;

use std::{
    cell::RefCell,
    io::{self, Seek},
};

use shuffle::{shuffle, unshuffle};

/// The fastest level: what is left after shuffling is noise that no level shrinks.
const ZSTD_LEVEL: i32 = 1;

thread_local! {
    /// A compressor has a megabyte of tables, too much to make anew for every page.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    /// Shuffled numbers on their way in or out.
    static SHUFFLED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Appends numbers of `width` bytes each (1, 2, 4 or 8), packed. Every thread keeps as much memory as the most
/// numbers it packed at a time take, so pack them by the mebibyte.
///
/// # Errors
///
/// If there is no memory for the compressor.
pub fn pack(numbers: &[u8], width: usize, packed: &mut Vec<u8>) -> io::Result<()> {
    packed.reserve(zstd::zstd_safe::compress_bound(numbers.len()));
    let mut end = io::Cursor::new(packed);
    end.seek(io::SeekFrom::End(0))?;
    SHUFFLED.with_borrow_mut(|shuffled| {
        shuffled.resize(numbers.len(), 0);
        shuffle(numbers, width, shuffled);
        COMPRESSOR.with_borrow_mut(|compressor| {
            let compressor = match compressor {
                Some(compressor) => compressor,
                None => compressor.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
            };
            compressor.compress_to_buffer(shuffled, &mut end)
        })
    })?;
    Ok(())
}

/// Undoes [`pack`]: `numbers` has as many bytes as were packed.
///
/// # Errors
///
/// Says what is wrong with `packed`.
pub fn unpack(packed: &[u8], width: usize, numbers: &mut [u8]) -> Result<(), String> {
    SHUFFLED.with_borrow_mut(|shuffled| {
        shuffled.resize(numbers.len(), 0);
        let length = zstd::bulk::decompress_to_buffer(packed, shuffled)
            .map_err(|error| error.to_string())?;
        if length != numbers.len() {
            return Err(format!("it holds {length} bytes of values, not {}", numbers.len()));
        }
        unshuffle(shuffled, width, numbers);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_numbers_come_back_in_their_length_only(
            numbers in proptest::collection::vec(any::<u64>(), 1..500),
            width in prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)],
            before in proptest::collection::vec(any::<u8>(), 0..9),
        ) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let mut packed = before.clone();
            pack(&bytes, width, &mut packed).unwrap();
            prop_assert_eq!(&packed[..before.len()], &before[..]);
            let packed = &packed[before.len()..];
            let mut back = vec![0; bytes.len()];
            unpack(packed, width, &mut back).unwrap();
            prop_assert_eq!(&back, &bytes);
            for length in [bytes.len() - 8, bytes.len() + 8] {
                prop_assert!(unpack(packed, width, &mut vec![0; length]).is_err());
            }
        }
    }
}
