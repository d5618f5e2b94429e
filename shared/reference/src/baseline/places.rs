//! Where the value of a position is.

use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::{Position, Ruleset};

use super::indices;

/// The last place there may be: the bits of a successor that are a place.
pub(super) const LAST_PLACE: u32 = (1 << 30) - 1;

/// The places of the values of some tiers, from 0, and behind them one for the won position.
pub(super) struct Places {
    /// The tiers, and where their positions begin if they are put one tier after the other.
    begins: Vec<(Tier, u64)>,
    /// The place of each of these positions, unless they are just put like that.
    permuted: Option<Vec<u32>>,
    won: u32,
}

impl Places {
    /// One tier after the other, each in the order of its indices. `None` if there are more
    /// than a successor can refer to.
    pub(super) fn dense<'t>(
        encoding: &Encoding,
        tiers: impl Iterator<Item = &'t Tier>,
    ) -> Option<Self> {
        let mut end = 0;
        let mut begins = Vec::new();
        for &tier in tiers {
            begins.push((tier, end));
            end += encoding.tier_len(tier);
        }
        let won = u32::try_from(end).ok().filter(|&won| won <= LAST_PLACE)?;
        Some(Self { begins, permuted: None, won })
    }

    /// All positions of the game, in the order of their keys. `None` if there are more than
    /// a successor can refer to.
    pub(super) fn by_key(encoding: &Encoding) -> Option<Self> {
        let tiers = encoding.tiers();
        let dense = Self::dense(encoding, tiers.iter())?;
        let mut by_key: Vec<(u64, u32)> = tiers
            .iter()
            .flat_map(|&tier| indices(encoding, tier))
            .zip(0..)
            .map(|(index, at)| (key(encoding.ruleset(), &encoding.unrank(index)), at))
            .collect();
        by_key.sort_unstable();
        let mut permuted = vec![0; by_key.len()];
        for (&(_, at), place) in by_key.iter().zip(0..) {
            permuted[at as usize] = place;
        }
        Some(Self { permuted: Some(permuted), ..dense })
    }

    /// The place of a position's value.
    ///
    /// # Panics
    /// If its tier has none.
    pub(super) fn place(&self, index: Index) -> u32 {
        let (_, begin) =
            self.begins.iter().find(|(tier, _)| *tier == index.tier).expect("the tier has places");
        let at = begin + index.offset;
        self.permuted.as_ref().map_or(at as u32, |permuted| permuted[at as usize])
    }

    /// The place of the value of the won position, behind all others.
    pub(super) fn won(&self) -> u32 {
        self.won
    }
}

/// A number that orders positions as the keys of the `.rgu` format do: by the pieces in hand,
/// then the mover's private squares, then the shared squares (own before opponent, first on the
/// path first), then the opponent's private squares. On paths of more than 28 squares, by what
/// fits of this.
fn key(ruleset: &Ruleset, position: &Position) -> u64 {
    let Position { own, opponent } = position;
    let pieces = ruleset.pieces();
    let (mut own_private, mut shared, mut opponent_private) = (0_u128, 0_u128, 0_u128);
    let (mut private_bits, mut shared_bits) = (0, 0);
    for (at, _) in ruleset.path().positions() {
        let (own, opponent) = (u128::from(own.has(at)), u128::from(opponent.has(at)));
        if ruleset.opponent_on_square_of(at) == 0 {
            own_private = own_private << 1 | own;
            opponent_private = opponent_private << 1 | opponent;
            private_bits += 1;
        } else {
            shared = shared << 2 | own << 1 | opponent;
            shared_bits += 2;
        }
    }
    let hands = u128::from(own.in_hand(pieces)) << 4 | u128::from(opponent.in_hand(pieces));
    let key = ((hands << private_bits | own_private) << shared_bits | shared) << private_bits
        | opponent_private;
    let bits: u32 = 8 + 2 * private_bits + shared_bits;
    (key >> bits.saturating_sub(64)) as u64
}
