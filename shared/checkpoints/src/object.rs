//! What is in an object: numbers, packed, under a checksum.
//!
//! ```text
//! 0   magic               "zigckpt", and the version of this layout, 1
//! 8   checksum            u64   xxh3 of what follows, seeded by the object's name
//! 16  width               u64   bytes of a number: 1, 2, 4 or 8
//! 24  length              u64   bytes of all numbers
//! 32  for every MiB of numbers, or what is left:
//!         length          u32   of what follows
//!         numbers, byte-shuffled and zstd-compressed
//! ```
//!
//! All little-endian.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use ziggurat_packing::{pack, unpack};
use ziggurat_store::PAGE_BYTES;

const MAGIC: &[u8; 8] = b"zigckpt\x01";
const CHECKSUM_AT: usize = MAGIC.len();
const CHECKED_FROM: usize = 16;
const HEADER_BYTES: usize = 32;

/// The object of that name with these numbers.
pub(crate) fn encode(name: &str, width: usize, numbers: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut object = Vec::with_capacity(HEADER_BYTES + numbers.len());
    object.extend_from_slice(MAGIC);
    object.extend_from_slice(&[0; 8]);
    object.extend_from_slice(&(width as u64).to_le_bytes());
    object.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
    for chunk in numbers.chunks(PAGE_BYTES) {
        let start = object.len();
        object.extend_from_slice(&[0; 4]);
        pack(chunk, width, &mut object)?;
        let length = (object.len() - start - 4) as u32;
        object[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
    let checksum = checksum(name, &object);
    object[CHECKSUM_AT..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    Ok(object)
}

/// The numbers of the object of that name. An error says what is wrong with it.
pub(crate) fn decode(name: &str, width: usize, object: &[u8]) -> Result<Vec<u8>, String> {
    let Some((header, mut rest)) = object.split_at_checked(HEADER_BYTES) else {
        return Err(format!("it has {} bytes, less than its header", object.len()));
    };
    if header[..CHECKSUM_AT] != *MAGIC {
        return Err("it does not begin as a checkpoint of this version does".to_owned());
    }
    if header[CHECKSUM_AT..CHECKED_FROM] != checksum(name, object).to_le_bytes() {
        return Err("its checksum does not match".to_owned());
    }
    let word = |at: usize| header[at..].first_chunk().copied().map(u64::from_le_bytes);
    if word(16) != Some(width as u64) {
        return Err(format!("its numbers have {} bytes, not {width}", header[16]));
    }
    let length = word(24).and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
    // What the header says is believed as far as the contents bear it out.
    let mut numbers = Vec::with_capacity(length.min(8 * object.len()));
    while numbers.len() < length {
        let (packed, after) = first_packed(rest).ok_or("it ends too early")?;
        let start = numbers.len();
        numbers.resize(length.min(start + PAGE_BYTES), 0);
        unpack(packed, width, &mut numbers[start..])?;
        rest = after;
    }
    if rest.is_empty() { Ok(numbers) } else { Err("there is more after its end".to_owned()) }
}

fn first_packed(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The checksum of an object that has at least a header.
fn checksum(name: &str, object: &[u8]) -> u64 {
    xxh3_64_with_seed(&object[CHECKED_FROM..], xxh3_64(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const NAME: &str = "babylon/17/5-4/8/0-3-0";

    proptest! {
        #[test]
        fn numbers_come_back(
            mut numbers in vec(any::<u8>(), 0..5000),
            width in prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)],
        ) {
            numbers.truncate(numbers.len() / width * width);
            let object = encode(NAME, width, &numbers).unwrap();
            prop_assert_eq!(decode(NAME, width, &object), Ok(numbers));
        }

        #[test]
        fn any_flipped_bit_is_noticed(numbers in vec(any::<u8>(), 0..300), bit: usize) {
            let mut object = encode(NAME, 1, &numbers).unwrap();
            let bit = bit % (object.len() * 8);
            object[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(NAME, 1, &object).is_err(), "bit {bit}");
        }

        #[test]
        fn any_truncation_is_noticed(numbers in vec(any::<u8>(), 0..300), length: usize) {
            let object = encode(NAME, 1, &numbers).unwrap();
            prop_assert!(decode(NAME, 1, &object[..length % object.len()]).is_err());
        }

        #[test]
        fn garbage_is_refused_whatever_it_is(mut garbage in vec(any::<u8>(), 0..300)) {
            prop_assert!(decode(NAME, 8, &garbage).is_err());
            // Even by somebody who knows how checksums are made.
            if garbage.len() >= HEADER_BYTES {
                garbage[..8].copy_from_slice(MAGIC);
                let checksum = checksum(NAME, &garbage);
                garbage[CHECKSUM_AT..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
                prop_assert!(decode(NAME, 8, &garbage).is_err());
            }
        }
    }

    #[test]
    fn more_than_a_page_comes_back() {
        let numbers: Vec<u8> = (0..PAGE_BYTES as u32 * 5 / 8).flat_map(u32::to_le_bytes).collect();
        let object = encode(NAME, 4, &numbers).unwrap();
        assert!(object.len() < numbers.len() / 2);
        assert!(decode(NAME, 4, &object).unwrap() == numbers);
    }

    #[test]
    fn another_name_width_or_tail_is_noticed() {
        let object = encode(NAME, 8, &[1; 80]).unwrap();
        assert!(decode("babylon/17/5-4/8/0-3-1", 8, &object).is_err());
        let wrong = decode(NAME, 4, &object).unwrap_err();
        assert_eq!(wrong, "its numbers have 8 bytes, not 4");
        let longer = [object, vec![0]].concat();
        assert!(decode(NAME, 8, &longer).is_err());
    }
}
