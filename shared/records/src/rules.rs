//! By which rules a record was played that does not say so.

use ziggurat_game::{Overrides, Ruleset, RulesetParts};

use crate::{Game, Place, RecordError};

/// The rules of a record.
#[derive(Clone, Copy, Debug)]
pub enum Rules<'r> {
    /// These.
    Known(&'r Ruleset),
    /// Those that the record names, or else the built-in ones by which it can have been played.
    Infer,
}

/// Whether two rulesets differ in their names at most.
pub(crate) fn are_the_same(a: &Ruleset, b: &Ruleset) -> bool {
    a.parts() == &RulesetParts { name: a.name().to_owned(), ..b.parts().clone() }
}

/// A ruleset with another number of pieces.
pub(crate) fn with_pieces(ruleset: &Ruleset, pieces: u8) -> Option<Ruleset> {
    ruleset.with(&Overrides { pieces: Some(pieces), ..Overrides::default() }).ok()
}

/// Reads a game by the only rules by which it can have been played. One that is won was won with any number of pieces;
/// others were played with as many as these rules are usually played with.
///
/// # Errors
/// If no built-in rules fit (the error is that of those that fit longest), or several.
pub(crate) fn infer(
    is_won: bool,
    read: impl Fn(&Ruleset) -> Result<Game, RecordError>,
) -> Result<Game, RecordError> {
    let mut fitting: Vec<Game> = Vec::new();
    let mut nearest: Option<RecordError> = None;
    for usual in Ruleset::builtin_names().filter_map(Ruleset::builtin) {
        let counts = if is_won { 1..=Ruleset::MAX_PIECES } else { usual.pieces()..=usual.pieces() };
        for ruleset in counts.filter_map(|pieces| with_pieces(&usual, pieces)) {
            match read(&ruleset) {
                Ok(game) => {
                    if !fitting.iter().any(|known| are_the_same(&known.ruleset, &ruleset)) {
                        fitting.push(game);
                    }
                }
                Err(error) if nearest.as_ref().is_none_or(|it| error.actions > it.actions) => {
                    nearest = Some(error);
                }
                Err(_) => {}
            }
        }
    }
    if fitting.len() > 1 {
        let names: Vec<&str> = fitting.iter().map(|game| game.ruleset.name()).collect();
        let problem = format!(
            "the game can have been played by the rules of {}; say which, such as [Rules {}]",
            names.join(", "),
            names[0]
        );
        return Err(RecordError::new(Place::START, problem));
    }
    fitting.pop().map_or_else(|| Err(nearest.expect("rules that do not fit")), Ok)
}
