//! Pages: consecutive values, shuffled, compressed and under a checksum.
//!
//! ```text
//! 0   format version      u8
//! 1   value type          u8    bytes of a value: every type has its own width
//! 2   reserved, zero      u16
//! 4   values              u32
//! 8   checksum            u64   xxh3 of what follows, seeded by the key and the bytes before it
//! 16  values, byte-shuffled and zstd-compressed
//! ```
//!
//! The checksum covers the key as well: a page that turns up in another page's place is as wrong as
//! one with a flipped bit.

use std::cell::RefCell;

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};
use ziggurat_packing::{pack, unpack};

use crate::{Value, ValueType, key::PAGE_KEY_BYTES};

/// Version of the layout of a page.
const VERSION: u8 = 1;
pub(crate) const HEADER_BYTES: usize = 16;
const CHECKSUM_AT: usize = 8;

thread_local! {
    /// A page on its way to its file.
    static PAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Hands the page of these values, to be stored under `key`, to `take`.
pub(crate) fn encoded<V: Value, R>(
    key: &[u8; PAGE_KEY_BYTES],
    values: &[V],
    take: impl FnOnce(&[u8]) -> R,
) -> std::io::Result<R> {
    PAGE.with_borrow_mut(|page| encode(key, values, page).map(|()| take(page)))
}

fn encode<V: Value>(
    key: &[u8; PAGE_KEY_BYTES],
    values: &[V],
    page: &mut Vec<u8>,
) -> std::io::Result<()> {
    page.clear();
    page.resize(HEADER_BYTES, 0);
    page[0] = VERSION;
    page[1] = V::TYPE.bytes() as u8;
    page[4..CHECKSUM_AT].copy_from_slice(&(values.len() as u32).to_le_bytes());
    pack(bytemuck::cast_slice(values), V::TYPE.bytes(), page)?;
    let checksum = checksum(key, page);
    page[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// Reads the page stored under `key` into `values`, which are as many as it must hold. An error
/// says what is wrong with it.
pub(crate) fn decode<V: Value>(
    key: &[u8; PAGE_KEY_BYTES],
    page: &[u8],
    values: &mut [V],
) -> Result<(), String> {
    check(key, page, V::TYPE, values.len())?;
    unpack(&page[HEADER_BYTES..], V::TYPE.bytes(), bytemuck::cast_slice_mut(values))
}

/// Whether a page is what was written under `key`, and holds so many values of that type.
pub(crate) fn check(
    key: &[u8; PAGE_KEY_BYTES],
    page: &[u8],
    value_type: ValueType,
    count: usize,
) -> Result<(), String> {
    let Some((header, _)) = page.split_first_chunk::<HEADER_BYTES>() else {
        return Err(format!("it has {} bytes, less than its header", page.len()));
    };
    let (header, stored) = header.split_at(CHECKSUM_AT);
    if checksum(key, page).to_le_bytes() != stored {
        return Err("its checksum does not match".to_owned());
    }
    if header[0] != VERSION {
        return Err(format!("it has version {}, not {VERSION}", header[0]));
    }
    let mut expected = [VERSION, value_type.bytes() as u8, 0, 0, 0, 0, 0, 0];
    expected[4..].copy_from_slice(&(count as u32).to_le_bytes());
    if header != expected {
        return Err(format!("it does not hold {count} values of type {value_type}"));
    }
    Ok(())
}

/// The checksum of a page that has at least a header.
fn checksum(key: &[u8; PAGE_KEY_BYTES], page: &[u8]) -> u64 {
    let mut seed = Xxh3::new();
    seed.update(key);
    seed.update(&page[..CHECKSUM_AT]);
    xxh3_64_with_seed(&page[HEADER_BYTES..], seed.digest())
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    const KEY: &[u8; PAGE_KEY_BYTES] = &[7; PAGE_KEY_BYTES];

    fn encoded<V: Value>(values: &[V]) -> Vec<u8> {
        // Left over from another page.
        let mut page = vec![0xff; 100];
        encode(KEY, values, &mut page).unwrap();
        page
    }

    fn comes_back<V: Value + PartialEq + Debug>(values: &[V]) {
        let page = encoded(values);
        let mut read: Vec<V> = vec![V::zeroed(); values.len()];
        decode(KEY, &page, &mut read).unwrap();
        // Bits, since NaN is not equal to itself.
        assert_eq!(bytemuck::cast_slice::<V, u8>(&read), bytemuck::cast_slice::<V, u8>(values));
    }

    proptest! {
        #[test]
        fn f64_values_come_back(values in vec(prop_oneof![any::<f64>(), 0.0..1.0], 0..3000)) {
            comes_back(&values);
        }

        #[test]
        fn f32_values_come_back(values in vec(prop_oneof![any::<f32>(), 0.0_f32..1.0], 0..3000)) {
            comes_back(&values);
        }

        #[test]
        fn i8_values_come_back(values in vec(any::<i8>(), 0..3000)) {
            comes_back(&values);
        }

        #[test]
        fn u16_values_come_back(values in vec(prop_oneof![any::<u16>(), 0..9_u16], 0..3000)) {
            comes_back(&values);
        }

        #[test]
        fn any_flipped_bit_is_noticed(values in vec(0.0..1.0_f64, 0..200), bit: usize) {
            let mut page = encoded(&values);
            let bit = bit % (page.len() * 8);
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(KEY, &page, &mut values.clone()).is_err(), "bit {bit}");
        }

        #[test]
        fn any_truncation_is_noticed(values in vec(0.0..1.0_f64, 0..200), length: usize) {
            let page = encoded(&values);
            let page = &page[..length % page.len()];
            prop_assert!(decode(KEY, page, &mut values.clone()).is_err());
        }
    }

    #[test]
    fn a_full_page_comes_back() {
        comes_back(&vec![0.25_f64; ValueType::F64.values_per_page()]);
        comes_back(&(0..ValueType::F32.values_per_page()).map(|i| i as f32).collect::<Vec<_>>());
    }

    #[test]
    fn a_page_in_anothers_place_is_noticed() {
        let page = encoded(&[0.5_f64; 10]);
        let mut elsewhere = *KEY;
        elsewhere[PAGE_KEY_BYTES - 1] ^= 1;
        assert!(decode(&elsewhere, &page, &mut [0.0_f64; 10]).is_err());
    }

    #[test]
    fn a_page_of_another_type_or_length_is_noticed() {
        let page = encoded(&[0.5_f64; 10]);
        assert!(decode(KEY, &page, &mut [0.0_f64; 9]).is_err());
        assert!(decode(KEY, &page, &mut [0.0_f32; 10]).is_err());
        assert!(decode(KEY, &page, &mut [0.0_f32; 20]).is_err());
    }
}
