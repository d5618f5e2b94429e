//! The records of `tests/data/games`.

use ziggurat_game::{Overrides, Ruleset};

/// Every game: its name, its RGN, its JSON.
pub fn records() -> Vec<(String, String, String)> {
    let games = "../../tests/data/games";
    let mut names: Vec<String> = std::fs::read_dir(games)
        .unwrap()
        .filter_map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".rgn").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 10);
    let read = |name: &str, ending: &str| {
        std::fs::read_to_string(format!("{games}/{name}.{ending}")).unwrap()
    };
    names.into_iter().map(|name| (name.clone(), read(&name, "rgn"), read(&name, "json"))).collect()
}

/// The ruleset of a game, as the name of its record says.
pub fn ruleset_of(record: &str) -> Ruleset {
    let name = record.split('-').next().unwrap();
    let (name, pieces) = match name.strip_suffix('2') {
        Some(name) => (name, Some(2)),
        None => (name, None),
    };
    Ruleset::builtin(name).unwrap().with(&Overrides { pieces, ..Overrides::default() }).unwrap()
}
