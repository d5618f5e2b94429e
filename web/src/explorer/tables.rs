//! The tables that are served.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde_json::{Value, json};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_advice::Advisor;
use ziggurat_game::{Ruleset, Square};
use ziggurat_records::Player;
use ziggurat_review::board_json;
use ziggurat_table::{AnyTable, TableError};

/// A table that is served.
pub struct Served {
    /// Its name in addresses: that of its file without the ending.
    pub name: String,
    /// The open table.
    pub advisor: Advisor,
    /// The tag of all answers from it.
    pub tag: String,
    /// The checksum of the file; a `.rgu` file has none.
    checksum: Option<u64>,
}

/// Why a table is not served.
#[derive(Debug, Error)]
pub enum ServedError {
    /// It cannot be opened.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Two files have the same name.
    #[error("{} and {} would both be served as `{name}`; rename one of them", .first.display(), .second.display())]
    SameName {
        /// The name.
        name: String,
        /// The first file.
        first: PathBuf,
        /// The second file.
        second: PathBuf,
    },
}

/// Opens tables under the names of their files. `memory`, in bytes, is divided among them for parts that are kept unpacked.
///
/// # Errors
/// If one cannot be opened, or two have the same name.
pub fn open(files: &[PathBuf], memory: u64) -> Result<Vec<Served>, ServedError> {
    let each = memory / files.len().max(1) as u64;
    let mut tables: Vec<Served> = Vec::new();
    for file in files {
        let table = Served::open(file, each)?;
        if let Some(other) = tables.iter().find(|other| other.name == table.name) {
            let first = other.advisor.table().path().to_owned();
            return Err(ServedError::SameName { name: table.name, first, second: file.clone() });
        }
        tables.push(table);
    }
    Ok(tables)
}

impl Served {
    fn open(file: &Path, memory: u64) -> Result<Self, TableError> {
        let mut table = AnyTable::open(file)?;
        table.keep_unpacked(memory);
        let advisor = Advisor::new(table);
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let checksum = match advisor.table() {
            AnyTable::Zgt(table) => Some(table.checksum()),
            AnyTable::Rgu(_) => None,
        };
        let content = checksum.unwrap_or_else(|| version_of(file));
        // Another program may answer in other words.
        let tag = format!("\"{content:016x}-{}\"", env!("CARGO_PKG_VERSION"));
        Ok(Self { name, advisor, tag, checksum })
    }

    /// What is known of the table, and what a page has to know to draw its board and to throw its dice.
    pub fn describe(&self) -> Value {
        let table = self.advisor.table();
        let ruleset = table.ruleset();
        let format = match table {
            AnyTable::Zgt(_) => "zgt",
            AnyTable::Rgu(_) => "rgu",
        };
        let rolls = ruleset.dice().rolls().iter();
        let rolls = rolls.map(|roll| json!({"roll": roll.value, "probability": roll.chance()}));
        json!({
            "name": self.name,
            "ruleset": ruleset.name(),
            "pieces": ruleset.pieces(),
            "positions": table.encoding().undecided(),
            "format": format,
            "values": table.value_type().to_string(),
            "certificate": table.certificate(),
            "bound": self.bound(),
            "checksum": self.checksum.map(|checksum| format!("{checksum:016x}")),
            "rules": rules(ruleset),
            "rolls": rolls.collect::<Vec<_>>(),
            "board": board(ruleset),
        })
    }

    /// How far values may be from the true ones, in percentage points, whether that is proven, and how many decimals of a
    /// chance in percent are right.
    pub fn bound(&self) -> Value {
        let bound = self.advisor.bound();
        json!({
            "points": bound.distance() * 100.0,
            "proven": bound.is_proven(),
            "decimals": bound.decimals(),
        })
    }
}

/// What a file without a checksum is told from its other versions by.
fn version_of(file: &Path) -> u64 {
    let metadata = fs::metadata(file).ok();
    let changed = metadata.as_ref().and_then(|it| it.modified().ok());
    let changed = changed.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let bytes = metadata.map_or(0, |it| it.len());
    let parts = [u128::from(bytes), changed.map_or(0, |it| it.as_nanos())];
    xxh3_64(&parts.map(u128::to_le_bytes).concat())
}

/// The rules in words, as `rulesets show` has them under the board.
fn rules(ruleset: &Ruleset) -> String {
    let text = ruleset.draw();
    // A blank line ends the board.
    text.split_once("\n\n").map_or("", |(_, rules)| rules).to_owned()
}

/// The squares, their marks, and the paths of both players over them.
fn board(ruleset: &Ruleset) -> Value {
    let mut board = board_json(ruleset);
    let names = |squares: &mut dyn Iterator<Item = Square>| {
        squares.map(|square| square.name()).collect::<Vec<_>>()
    };
    board["safe"] = names(&mut ruleset.safe_squares().into_iter()).into();
    board["rolls_again"] = names(&mut ruleset.squares_that_grant_rolls().into_iter()).into();
    for player in Player::BOTH {
        let path = ruleset.path().squares().iter();
        let path = names(&mut path.map(|&square| player.square(square)));
        board["paths"][player.to_string()] = path.into();
    }
    board
}
