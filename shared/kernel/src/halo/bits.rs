//! Bit packing: bytes that are small numbers, in as few bits as the largest of a block takes.
//!
//! A block is 64 bytes, as eight rows of eight. Of each column the bits follow each other: number after number, as many
//! bits as the block's *width*. So all columns are shifted at once, and nothing depends on what stands before (the
//! vertical layout of Lemire and Boytsov, "Decoding billions of integers per second through vectorization", 2015). The
//! widths of all blocks come first, half a byte each.

/// A row of a block.
type Word = u64;

/// Numbers of a row.
const ROW: usize = size_of::<Word>();

/// Rows of a block.
const ROWS: usize = 8;

/// Numbers of a block.
const BLOCK: usize = ROWS * ROW;

/// The lowest bit of each byte of a word.
const ONES: Word = Word::MAX / 0xff;

/// The lowest bits of each byte of a word.
const fn lowest(bits: usize) -> Word {
    ONES * ((1 << bits) - 1)
}

/// Packs numbers.
pub fn pack(numbers: &[u8], packed: &mut Vec<u8>) {
    let widths_at = packed.len();
    packed.resize(widths_at + widths_len(numbers.len()), 0);
    for (i, block) in numbers.chunks(BLOCK).enumerate() {
        let mut bytes = [0; BLOCK];
        bytes[..block.len()].copy_from_slice(block);
        let rows: [Word; ROWS] = bytemuck::cast(bytes);
        let any = rows.iter().fold(0, |any, row| any | row).to_ne_bytes();
        let width = 8 - any.iter().fold(0, |any, byte| any | byte).leading_zeros() as usize;
        packed[widths_at + i / 2] |= (width as u8) << (i % 2 * 4);
        let words = match width {
            0 => continue,
            1 => pack_rows::<1>(&rows),
            2 => pack_rows::<2>(&rows),
            3 => pack_rows::<3>(&rows),
            4 => pack_rows::<4>(&rows),
            5 => pack_rows::<5>(&rows),
            6 => pack_rows::<6>(&rows),
            7 => pack_rows::<7>(&rows),
            _ => pack_rows::<8>(&rows),
        };
        packed.extend_from_slice(&bytemuck::bytes_of(&words)[..block_len(block.len(), width)]);
    }
}

/// Takes so many packed numbers from the front of bytes; nothing if there are fewer bytes, or widths that are none.
pub fn split_off<'a>(bytes: &mut &'a [u8], numbers: usize) -> Option<&'a [u8]> {
    let widths = bytes.get(..widths_len(numbers))?;
    let mut len = widths.len();
    for (i, numbers) in blocks(numbers).enumerate() {
        let width = width_of(widths, i);
        if width > 8 {
            return None;
        }
        len += block_len(numbers, width);
    }
    bytes.split_off(..len)
}

/// Unpacks numbers that [were split off](split_off).
pub fn unpack(packed: &[u8], numbers: &mut [u8]) {
    let (widths, mut packed) = packed.split_at(widths_len(numbers.len()));
    for (i, block) in numbers.chunks_mut(BLOCK).enumerate() {
        let width = width_of(widths, i);
        let (from, rest) = packed.split_at(block_len(block.len(), width));
        packed = rest;
        let mut words = [0 as Word; ROWS];
        bytemuck::bytes_of_mut(&mut words)[..from.len()].copy_from_slice(from);
        let rows = match width {
            0 => [0; ROWS],
            1 => unpack_rows::<1>(&words),
            2 => unpack_rows::<2>(&words),
            3 => unpack_rows::<3>(&words),
            4 => unpack_rows::<4>(&words),
            5 => unpack_rows::<5>(&words),
            6 => unpack_rows::<6>(&words),
            7 => unpack_rows::<7>(&words),
            _ => words,
        };
        block.copy_from_slice(&bytemuck::bytes_of(&rows)[..block.len()]);
    }
}

/// The most bytes that so many numbers take.
pub const fn most_bytes(numbers: usize) -> usize {
    widths_len(numbers) + numbers.next_multiple_of(ROW)
}

const fn widths_len(numbers: usize) -> usize {
    numbers.div_ceil(BLOCK).div_ceil(2)
}

fn width_of(widths: &[u8], block: usize) -> usize {
    usize::from(widths[block / 2] >> (block % 2 * 4) & 0xf)
}

/// How many numbers each block has.
fn blocks(numbers: usize) -> impl Iterator<Item = usize> {
    (0..numbers).step_by(BLOCK).map(move |start| (numbers - start).min(BLOCK))
}

/// The bytes of a block, of which the last one may have fewer rows.
const fn block_len(numbers: usize, width: usize) -> usize {
    (numbers.div_ceil(ROW) * width).div_ceil(8) * ROW
}

/// Packs a block, of which each row has numbers of so many bits, into as many words. Only within bytes are bits moved, so
/// the order of bytes in a word does not matter.
#[inline(always)]
fn pack_rows<const WIDTH: usize>(rows: &[Word; ROWS]) -> [Word; ROWS] {
    let mut words = [0; ROWS];
    for (i, row) in rows.iter().enumerate() {
        let (word, bit) = (i * WIDTH / 8, i * WIDTH % 8);
        let here = if WIDTH < 8 - bit { WIDTH } else { 8 - bit };
        words[word] |= (row & lowest(here)) << bit;
        if here < WIDTH {
            words[word + 1] |= row >> here & lowest(WIDTH - here);
        }
    }
    words
}

/// The rows of a packed block.
#[inline(always)]
fn unpack_rows<const WIDTH: usize>(words: &[Word; ROWS]) -> [Word; ROWS] {
    let mut rows = [0; ROWS];
    for (i, row) in rows.iter_mut().enumerate() {
        let (word, bit) = (i * WIDTH / 8, i * WIDTH % 8);
        let here = if WIDTH < 8 - bit { WIDTH } else { 8 - bit };
        *row = words[word] >> bit & lowest(here);
        if here < WIDTH {
            *row |= (words[word + 1] & lowest(WIDTH - here)) << here;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in prop::collection::vec((any::<u8>(), 0..8_u32), 0..400),
            shift in 0..8_u32,
            behind in prop::collection::vec(any::<u8>(), 0..3),
        ) {
            let numbers: Vec<u8> = numbers.iter().map(|&(number, by)| number >> by.max(shift)).collect();
            let mut packed = vec![7];
            pack(&numbers, &mut packed);
            prop_assert!(packed.len() <= 1 + most_bytes(numbers.len()));
            packed.extend(&behind);
            let mut rest = &packed[1..];
            let own = split_off(&mut rest, numbers.len()).unwrap();
            prop_assert_eq!(rest, &behind);
            let mut read = vec![9; numbers.len()];
            unpack(own, &mut read);
            prop_assert_eq!(read, numbers);
        }

        #[test]
        fn too_few_bytes_and_wrong_widths_are_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            numbers in 0..300_usize,
        ) {
            let mut rest = &bytes[..];
            let Some(own) = split_off(&mut rest, numbers) else { return Ok(()) };
            prop_assert_eq!(own.len() + rest.len(), bytes.len());
            unpack(own, &mut vec![0; numbers]);
        }
    }

    #[test]
    fn numbers_take_the_bits_of_the_largest_of_their_block() {
        const MANY: usize = 2048;
        let packed_len = |numbers: &[u8]| {
            let mut packed = Vec::new();
            pack(numbers, &mut packed);
            packed.len()
        };
        let widths = MANY / BLOCK / 2;
        assert_eq!(packed_len(&[0; MANY]), widths);
        assert_eq!(packed_len(&[5; MANY]), widths + MANY * 3 / 8);
        assert_eq!(packed_len(&[200; MANY]), most_bytes(MANY));
        assert_eq!(packed_len(&[1]), 1 + ROW);
    }
}
