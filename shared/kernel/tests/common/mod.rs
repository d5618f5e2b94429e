//! Solved games for the tests: rulesets to solve, and the values of all their tiers.

#![allow(dead_code)] // no test file uses all of it

pub mod endless;
pub mod team;

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{
    Board, Captures, Dice, Overrides, Path, Position, Ruleset, RulesetParts, Square,
};
use ziggurat_kernel::{
    Cancelled, Precision, Settings, Simd, Summary, Surroundings, TierStatistics, TierValues, solve,
};

/// A built-in ruleset with `pieces` pieces.
pub fn builtin(name: &str, pieces: u8) -> Ruleset {
    let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
    Ruleset::builtin(name).expect("a built-in").with(&overrides).expect("any number of pieces")
}

/// All built-in rulesets with `pieces` pieces, without those that have the rules of another.
pub fn builtins(pieces: u8) -> Vec<Ruleset> {
    let mut all: Vec<Ruleset> = Vec::new();
    for name in Ruleset::builtin_names() {
        let ruleset = builtin(name, pieces);
        let nameless = |ruleset: &Ruleset| RulesetParts {
            name: "nameless".to_owned(),
            ..ruleset.parts().clone()
        };
        if !all.iter().any(|known| nameless(known) == nameless(&ruleset)) {
            all.push(ruleset);
        }
    }
    all
}

/// The seventeen tracks with the rules of finkel.
pub fn tracks(pieces: u8) -> Vec<Ruleset> {
    let tracks: Vec<_> = Path::names().map(|track| builtin(track, pieces)).collect();
    assert_eq!(tracks.len(), 17);
    tracks
}

/// A ruleset of one's own on the standard board: some squares, and the rosettes among them
/// (with their mirror images). One piece, four binary dice, every flag off.
pub fn own_made(name: &str, path: &[(u8, u8)], rosettes: &[(u8, u8)]) -> Ruleset {
    let squares = |list: &[(u8, u8)]| list.iter().map(|&xy| Square::from(xy)).collect::<Vec<_>>();
    let rosettes: BTreeSet<_> =
        squares(rosettes).into_iter().flat_map(|square| [square, square.mirror()]).collect();
    Ruleset::new(RulesetParts {
        name: name.to_owned(),
        board: Board::named("standard").unwrap(),
        path: Path::new(squares(path)),
        rosettes,
        dice: Dice::named("binary4").unwrap(),
        pieces: 1,
        safe_rosettes: false,
        rosettes_grant_rolls: false,
        captures_grant_rolls: false,
        captures: Captures::Any,
        safe: None,
        rolls_again: None,
    })
    .unwrap()
}

/// A ruleset with lists in place of its rosettes: the squares of the path positions whose bits are set are safe,
/// and grant rolls.
pub fn listed(ruleset: &Ruleset, safe: u64, rolls_again: u64) -> Ruleset {
    let squares = |bits: u64| {
        let marked = ruleset.path().positions().filter(move |(at, _)| bits >> at & 1 == 1);
        Some(marked.flat_map(|(_, square)| [square, square.mirror()]).collect())
    };
    let (safe, rolls_again) = (squares(safe), squares(rolls_again));
    Ruleset::new(RulesetParts { safe, rolls_again, ..ruleset.parts().clone() }).unwrap()
}

/// The rule flags of a ruleset.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    pub safe_rosettes: bool,
    pub rosettes_grant_rolls: bool,
    pub captures_grant_rolls: bool,
    pub captures: Captures,
}

impl Flags {
    /// Every combination of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..16).map(|bits| {
            let flag = |bit: u8| bits >> bit & 1 == 1;
            Self {
                safe_rosettes: flag(0),
                rosettes_grant_rolls: flag(1),
                captures_grant_rolls: flag(2),
                captures: if flag(3) { Captures::SameLap } else { Captures::Any },
            }
        })
    }

    /// A ruleset with these flags, other dice, and `pieces` pieces.
    pub fn on(self, ruleset: &Ruleset, dice: &Dice, pieces: u8) -> Ruleset {
        let overrides = Overrides {
            pieces: Some(pieces),
            dice: Some(dice.clone()),
            safe_rosettes: Some(self.safe_rosettes),
            rosettes_grant_rolls: Some(self.rosettes_grant_rolls),
            captures_grant_rolls: Some(self.captures_grant_rolls),
            captures: Some(self.captures),
        };
        ruleset.with(&overrides).unwrap()
    }
}

/// Whether a path visits a square more than once, so that laps matter.
pub fn has_laps(ruleset: &Ruleset) -> bool {
    ruleset.path().positions().any(|(at, _)| ruleset.path().lap(at) > 1)
}

/// A solve to the floor of the precision, without a proof, on one thread, in shards of the default
/// size.
pub fn settings(precision: Precision) -> Settings {
    let tolerance = match precision {
        Precision::F32 => 1e-7,
        Precision::F64 => 1e-15,
    };
    Settings { tolerance, certified: false, threads: 1, ..Settings::new(precision) }
}

/// A solved ruleset: the stored values of every tier.
pub struct Solved {
    pub encoding: Encoding,
    pub summary: Summary,
    /// By tier, in index order, the chances of the player who just moved, less one half. 32-bit values are
    /// widened, which changes none of them.
    pub tiers: BTreeMap<Tier, Vec<f64>>,
}

impl Solved {
    /// Solves a ruleset.
    pub fn new(ruleset: &Ruleset, settings: &Settings) -> Self {
        Self::on(Simd::best(), ruleset, settings)
    }

    /// Solves a ruleset with these vector instructions.
    pub fn on(simd: Simd, ruleset: &Ruleset, settings: &Settings) -> Self {
        let encoding = Encoding::new(ruleset).unwrap();
        let mut tiers = BTreeMap::new();
        let mut keep = |tier: Tier, _: TierStatistics, values: TierValues<'_>| {
            let values = match values {
                TierValues::F32(values) => values.iter().map(|&value| value.into()).collect(),
                TierValues::F64(values) => values.to_vec(),
            };
            let twice = tiers.insert(tier, values);
            assert!(twice.is_none(), "tier {tier} is stored once");
            Ok(())
        };
        let summary = solve(
            &encoding,
            settings,
            Surroundings { simd, ..Surroundings::in_memory(&Cancelled::new(false)) },
            &mut |_| {},
            &mut keep,
        )
        .unwrap();
        Self { encoding, summary, tiers }
    }

    /// The chance of the player to move.
    pub fn value(&self, position: &Position) -> f64 {
        let index = self.encoding.rank(position);
        0.5 - self.tiers[&index.tier][index.offset as usize]
    }

    /// The bits of every value, tier by tier.
    pub fn bits(&self) -> Vec<u64> {
        self.tiers.values().flatten().map(|value| value.to_bits()).collect()
    }

    /// All values, tier by tier.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.tiers.values().flatten().copied()
    }
}

/// How a failed claim calls a ruleset: everything that tells it from others.
pub fn describe(ruleset: &Ruleset) -> String {
    format!(
        "{} with {} pieces, {}, safe squares {:?}, squares that grant rolls {:?}, captures grant rolls {}, \
         captures {}",
        ruleset.name(),
        ruleset.pieces(),
        ruleset.dice(),
        ruleset.safe_squares(),
        ruleset.squares_that_grant_rolls(),
        ruleset.captures_grant_rolls(),
        ruleset.captures(),
    )
}
