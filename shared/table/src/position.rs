//! Positions that somebody asks about: whether the ruleset has them, and whether they are decided.

use std::ops::Range;

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Position, Ruleset, Side};

use crate::TableError;

/// How a game that is over ended for the player to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
    /// The player to move has scored all pieces.
    Won,
    /// The other player has.
    Lost,
}

/// Whether a position is decided.
///
/// # Errors
/// If the ruleset has no such position.
pub(crate) fn check(ruleset: &Ruleset, position: &Position) -> Result<Option<Decided>, TableError> {
    ruleset.check_position(position).map_err(|error| TableError::NotAPosition {
        ruleset: ruleset.name().to_owned(),
        why: error.to_string(),
    })?;
    let done = |side: &Side| side.scored == ruleset.pieces();
    Ok(match (done(&position.own), done(&position.opponent)) {
        (true, _) => Some(Decided::Won),
        (_, true) => Some(Decided::Lost),
        _ => None,
    })
}

/// Refuses offsets that a tier does not have.
///
/// # Errors
/// If the ruleset has no such tier, or the tier no such offsets.
pub(crate) fn check_range(
    encoding: &Encoding,
    tier: Tier,
    offsets: &Range<u64>,
) -> Result<(), TableError> {
    let ruleset = || encoding.ruleset().name().to_owned();
    let pieces = 1..=encoding.ruleset().pieces();
    if !pieces.contains(&tier.just_moved) || !pieces.contains(&tier.to_move) {
        return Err(TableError::NoSuchTier { ruleset: ruleset(), tier });
    }
    let length = encoding.tier_len(tier);
    if offsets.start > offsets.end || offsets.end > length {
        let why = format!("tier {tier} has offsets 0..{length}, not {offsets:?}");
        return Err(TableError::NotAPosition { ruleset: ruleset(), why });
    }
    Ok(())
}
