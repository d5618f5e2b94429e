//! Small games for tests.

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};

/// A built-in game with so many pieces.
pub fn encoding(game: &str, pieces: u8) -> Encoding {
    let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
    Encoding::new(&Ruleset::builtin(game).unwrap().with(&overrides).unwrap()).unwrap()
}

/// A built-in game with as many pieces as a tier has of one player.
pub fn encoding_of(game: &str, tier: Tier) -> Encoding {
    encoding(game, tier.just_moved.max(tier.to_move))
}
