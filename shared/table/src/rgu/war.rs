//! The values of a key's fields, as pieces on path positions: strings of war squares and sets of
//! safe squares.

use ziggurat_game::PathPosition;

/// One string of a segment's war squares.
#[derive(Clone, Copy)]
pub(super) struct WarString {
    /// Where light's pieces are, on light's path.
    pub(super) light: u64,
    /// Where dark's pieces are, on dark's path.
    pub(super) dark: u64,
    pub(super) light_count: u8,
    pub(super) dark_count: u8,
}

/// Some consecutive war squares and the strings they may hold, in numeric order.
pub(super) struct Segment {
    pub(super) strings: Vec<WarString>,
    /// The place in `strings` of a base-3 number.
    pub(super) code_of: Vec<u16>,
}

impl Segment {
    /// The strings over some war squares, given as path positions of light and dark, with at
    /// most `pieces` of each.
    pub(super) fn new(squares: &[(PathPosition, PathPosition)], pieces: u8) -> Self {
        let numbers = 3_u32.pow(squares.len() as u32);
        let mut strings = Vec::new();
        let mut code_of = vec![0; numbers as usize];
        for number in 0..numbers {
            let mut string = WarString { light: 0, dark: 0, light_count: 0, dark_count: 0 };
            let mut rest = number;
            for &(light, dark) in squares.iter().rev() {
                match rest % 3 {
                    1 => string.dark |= 1 << dark,
                    2 => string.light |= 1 << light,
                    _ => {}
                }
                rest /= 3;
            }
            string.light_count = string.light.count_ones() as u8;
            string.dark_count = string.dark.count_ones() as u8;
            if string.light_count <= pieces && string.dark_count <= pieces {
                code_of[number as usize] = strings.len() as u16;
                strings.push(string);
            }
        }
        Self { strings, code_of }
    }
}

/// The path mask of every subset of some path positions, bit `i` standing for the `i`-th.
pub(super) fn path_masks(positions: &[PathPosition]) -> Vec<u64> {
    (0..1_u32 << positions.len())
        .map(|subset| {
            let chosen = positions.iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
            chosen.fold(0, |mask, (_, &at)| mask | 1 << at)
        })
        .collect()
}
