//! Who stands where on the shared squares, as masks over the mover's path positions.

use ziggurat_encoding::{Encoding, SharedConfiguration};
use ziggurat_game::PathPosition;

/// The shared squares as the player to move sees them. Bit `t` speaks of path position `t`.
#[derive(Clone, Copy, Default, Debug)]
pub struct Occupancy {
    /// An own piece stands here.
    pub own: u64,
    /// A piece may not end its move here.
    pub blocked: u64,
    /// A piece that ends its move here captures.
    pub captures: u64,
}

/// The occupancy of every chunk configuration.
#[derive(Clone, Debug)]
pub struct Occupancies {
    chunks: Vec<Vec<Occupancy>>,
}

impl Occupancy {
    /// The occupancy of two sets of squares together.
    #[inline(always)]
    pub fn and(self, other: &Self) -> Self {
        Self {
            own: self.own | other.own,
            blocked: self.blocked | other.blocked,
            captures: self.captures | other.captures,
        }
    }
}

impl Occupancies {
    /// The occupancies of an encoding's chunks.
    pub fn new(encoding: &Encoding) -> Self {
        let ruleset = encoding.ruleset();
        let of_configuration = |w: &SharedConfiguration| {
            let (own, opponent) = encoding.shared().masks(w);
            let mut occupancy = Occupancy { own, ..Occupancy::default() };
            for at in 1..=ruleset.path().len() {
                let met = opponent & ruleset.opponent_on_square_of(at);
                let blocks = met & !ruleset.capturable_from(at) != 0;
                if own & ruleset.own_on_square_of(at) != 0 || blocks {
                    occupancy.blocked |= 1 << at;
                } else if met != 0 {
                    occupancy.captures |= 1 << at;
                }
            }
            occupancy
        };
        let chunks = (0..encoding.shared().chunks())
            .map(|chunk| {
                (0..encoding.shared().configurations(chunk))
                    .map(|x| {
                        let mut w = SharedConfiguration::default();
                        w.0[chunk] = x as u16;
                        of_configuration(&w)
                    })
                    .collect()
            })
            .collect();
        Self { chunks }
    }

    /// The occupancy of each configuration of the inner squares, those of others being empty.
    #[inline(always)]
    pub fn inner(&self) -> &[Occupancy] {
        &self.chunks[self.chunks.len() - 1]
    }

    /// The occupancy of a shared configuration.
    #[inline(always)]
    pub fn of(&self, w: &SharedConfiguration) -> Occupancy {
        let parts = self.chunks.iter().zip(&w.0).map(|(chunk, &x)| &chunk[x as usize]);
        parts.fold(Occupancy::default(), Occupancy::and)
    }
}

/// The set bits of a mask.
#[inline(always)]
pub fn bits(mut mask: u64) -> impl Iterator<Item = PathPosition> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as PathPosition;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}
