//! Which ruleset a command is about: a built-in by name or a file, with single rules overridden
//! on the command line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{ArgGroup, Args, builder::TypedValueParser};
use ziggurat_game::{Captures, Dice, Overrides, Position, Ruleset};

use crate::{
    failure::{Explain, Failure},
    suggested,
};

/// The arguments that choose a ruleset.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("which").required(true).multiple(true))]
pub struct Selection {
    /// Name of a built-in ruleset (see `ziggurat rulesets list`)
    #[arg(value_name = "RULESET", group = "which", value_parser = suggested::RULESETS, hide_possible_values = true)]
    pub name: Option<String>,

    /// Read the ruleset from a TOML file instead
    #[arg(long = "ruleset", value_name = "FILE", conflicts_with = "name", group = "which")]
    pub file: Option<PathBuf>,

    /// Pieces per player, 1 to 15
    #[arg(long, value_name = "N", help_heading = "Rules")]
    pub pieces: Option<u8>,

    /// Dice: binary1 to binary15, binary3-zero-is-four, d4 or d6-ur; or every roll with its probability,
    /// such as 0:1/4,1:1/2,2:1/4
    #[arg(long, value_name = "DICE", value_parser = suggested::DICE, hide_possible_values = true, help_heading = "Rules")]
    pub dice: Option<String>,

    /// Whether a piece on a rosette cannot be captured (other safe squares stay as they are)
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no(), hide_possible_values = true, help_heading = "Rules")]
    pub safe_rosettes: Option<bool>,

    /// Whether ending a move on a rosette grants another roll (other squares stay as they are)
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no(), hide_possible_values = true, help_heading = "Rules")]
    pub rosettes_grant_rolls: Option<bool>,

    /// Whether a capture grants another roll
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no(), hide_possible_values = true, help_heading = "Rules")]
    pub captures_grant_rolls: Option<bool>,

    /// What a piece may capture on a path that visits squares twice: any or same-lap
    #[arg(long, value_name = "LAPS", value_parser = captures(), hide_possible_values = true, help_heading = "Rules")]
    pub captures: Option<Captures>,
}

impl Selection {
    /// The ruleset that was asked for.
    pub fn ruleset(&self) -> Result<Ruleset, Failure> {
        let ruleset = match (&self.file, &self.name) {
            (Some(file), _) => read(file)?,
            (None, name) => Ruleset::find(name.as_deref().unwrap_or_default())
                .or_bad_input()
                .or_help("a ruleset of your own goes into a TOML file: --ruleset FILE")?,
        };
        let dice = self.dice.as_deref().map(str::parse::<Dice>).transpose().or_bad_input()?;
        let overrides = Overrides {
            pieces: self.pieces,
            dice,
            safe_rosettes: self.safe_rosettes,
            rosettes_grant_rolls: self.rosettes_grant_rolls,
            captures_grant_rolls: self.captures_grant_rolls,
            captures: self.captures,
        };
        ruleset.with(&overrides).or_bad_input()
    }
}

fn yes_or_no() -> impl TypedValueParser<Value = bool> {
    suggested::YES_OR_NO.try_map(|text| parse_yes_or_no(&text))
}

fn captures() -> impl TypedValueParser<Value = Captures> {
    suggested::CAPTURES.try_map(|text| text.parse())
}

fn parse_yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "on" | "1" => Ok(true),
        "no" | "n" | "false" | "off" | "0" => Ok(false),
        _ => Err("write yes or no".to_owned()),
    }
}

/// A ruleset from a file.
pub fn read(file: &Path) -> Result<Ruleset, Failure> {
    let shown = file.display().to_string();
    let bytes =
        fs::read(file).context(format!("cannot read the ruleset file {shown}")).or_bad_input()?;
    Ruleset::from_toml_bytes(&bytes, &shown).or_bad_input()
}

/// A position that a player can move in.
///
/// # Errors
/// If it is none, or the game is over there.
pub fn undecided(ruleset: &Ruleset, text: &str) -> Result<Position, Failure> {
    let position = ruleset.parse_position(text)?;
    if [position.own, position.opponent].iter().any(|side| side.scored == ruleset.pieces()) {
        return Err(Failure::bad_input(format!("`{text}` is decided: nobody can move any more"))
            .help("leave both players a piece that is not scored"));
    }
    Ok(position)
}
