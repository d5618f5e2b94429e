//! Features of the position after a move, as the player who moved sees it.

use ziggurat_game::{Move, Outcome, PathPosition, Position, Ruleset, Side};

/// A feature by its name.
pub(super) type Feature = (&'static str, fn(&Ruleset, Move, &Outcome) -> f64);

/// All of them. How far a piece has come is its path position, one more than the path has squares if it has scored.
pub(super) const FEATURES: [Feature; 12] = [
    // How far the own pieces have come, all of them together.
    ("advancement", |ruleset, _, outcome| advancement(ruleset, &outcome.position.own)),
    // The same of the opponent's.
    ("opponent_advancement", |ruleset, _, outcome| {
        advancement(ruleset, &outcome.position.opponent)
    }),
    // Own pieces that have scored.
    ("scored", |_, _, outcome| outcome.position.own.scored.into()),
    // Own pieces on the board.
    ("on_board", |_, _, outcome| outcome.position.own.on_board().into()),
    // Own pieces on rosettes.
    ("on_rosettes", |ruleset, _, outcome| count(outcome, |at| ruleset.is_rosette(at))),
    // Own pieces on rosettes that both players come by.
    ("centre", |ruleset, _, outcome| {
        count(outcome, |at| ruleset.is_rosette(at) && ruleset.opponent_on_square_of(at) != 0)
    }),
    // Own pieces on squares of both players that are not safe.
    ("in_reach", |ruleset, _, outcome| {
        count(outcome, |at| !ruleset.is_safe(at) && ruleset.opponent_on_square_of(at) != 0)
    }),
    // For each own piece how far it has come, times the probability that the opponent's next roll can capture it.
    ("exposure", |ruleset, _, outcome| at_risk(ruleset, &outcome.position.swap())),
    // For each of the opponent's pieces how far it has come, times the probability that the own next roll can capture it.
    ("threats", |ruleset, _, outcome| at_risk(ruleset, &outcome.position)),
    // How far the captured piece had come, 0 if none was captured.
    ("captured", |_, _, outcome| captured(outcome)),
    // 1 if the move grants another roll.
    ("rolls_again", |_, _, outcome| u8::from(outcome.rolls_again).into()),
    // Where the piece that moved comes from: 0 is the hand.
    ("from", |_, mv, _| mv.from.into()),
];

/// Advancement + attack - risk: see [`super::Policy::Gain`].
pub(super) fn gain(ruleset: &Ruleset, mv: Move, outcome: &Outcome) -> f64 {
    let risk = if outcome.rolls_again { 0.0 } else { at_risk(ruleset, &outcome.position.swap()) };
    f64::from(mv.to - mv.from) + captured(outcome) - risk
}

fn advancement(ruleset: &Ruleset, side: &Side) -> f64 {
    let scored = f64::from(side.scored) * f64::from(ruleset.path().len() + 1);
    side.positions().map(f64::from).sum::<f64>() + scored
}

fn count(outcome: &Outcome, wanted: impl Fn(PathPosition) -> bool) -> f64 {
    outcome.position.own.positions().filter(|&at| wanted(at)).count() as f64
}

fn captured(outcome: &Outcome) -> f64 {
    outcome.captured.map_or(0.0, f64::from)
}

/// For each piece of the player who is not to move how far it has come, times the probability that the next roll can capture it.
fn at_risk(ruleset: &Ruleset, position: &Position) -> f64 {
    let of_roll = |roll: u8| {
        let captured =
            ruleset.moves(position, roll).filter_map(|mv| ruleset.apply(position, mv).captured);
        let pieces = captured.fold(0_u64, |pieces, at| pieces | 1 << at);
        Side { board: pieces, scored: 0 }.positions().map(f64::from).sum::<f64>()
    };
    let rolls = ruleset.dice().rolls().iter();
    rolls.map(|roll| roll.chance() * of_roll(roll.value)).sum()
}
