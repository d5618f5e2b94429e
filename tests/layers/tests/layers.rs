//! What modules and crates of the workspace import.

use std::{collections::BTreeMap, path::Path};

use ziggurat_layers::{Crates, Graph, Modules};

/// The folders of the kernel, from the lowest to the highest. Imports lead down.
const KERNEL: [&str; 11] = [
    "simd",
    "memory",
    "moves",
    "shards",
    "delta",
    "sweep",
    "halo",
    "coarse",
    "certificate",
    "superstep",
    "solver",
];

/// The workspace.
fn crates() -> Crates {
    Crates::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))).unwrap()
}

/// What the modules of a crate import, once for each of its roots.
fn imports_of(name: &str) -> Vec<Graph> {
    let crates = crates();
    let roots = &crates.iter().find(|one| one.name == name).expect("a crate").roots;
    roots.iter().map(|root| Modules::read(root).unwrap().imports()).collect()
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for one in crates().iter() {
        let graphs = imports_of(&one.name);
        // The kernel and what plans for it have none at all, their folders among them.
        let is_strict = ["ziggurat-kernel", "ziggurat-planning"].contains(&&*one.name);
        let circles = graphs.iter().flat_map(|graph| {
            if is_strict { graph.circles() } else { graph.between_folders().circles() }
        });
        let circles: Vec<_> = circles.collect();
        found.extend(circles.into_iter().map(|line| format!("{}: {line}", one.name)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn imports_of_the_kernel_lead_down() {
    for graph in imports_of("ziggurat-kernel") {
        let upward = graph.upward(&KERNEL);
        assert!(upward.is_empty(), "imports lead up:\n{}", upward.join("\n"));
    }
}

#[test]
fn an_import_that_leads_up_is_found() {
    let modules = |of_simd: &'static str| {
        Modules::from_texts([
            ("", "mod simd; mod sweep;"),
            ("simd", "pub mod value; pub mod vector;"),
            ("simd/vector", "pub const LANES: usize = 8;"),
            ("simd/value", of_simd),
            ("sweep", "mod rows; pub use rows::set;"),
            ("sweep/rows", "use crate::simd::{value::Value, vector::LANES}; pub fn set() {}"),
        ])
    };
    let layers = ["simd", "sweep"];
    let down =
        modules("use super::vector::LANES; #[cfg(test)] mod tests { use crate::sweep::set; }");
    assert!(down.imports().circles().is_empty() && down.imports().upward(&layers).is_empty());
    let found = ["simd/value imports sweep/rows, which is above it"];
    for up in [
        "use crate::sweep::set;",
        "use super::super::sweep::{self};\nfn f() { sweep::set() }",
        "fn f() { crate::sweep::rows::set() }",
        "fn f() { assert!(crate::sweep::set() == ()) }",
    ] {
        let graph = modules(up).imports();
        let upward = graph.upward(&layers);
        assert!(upward.iter().any(|line| line == found[0]), "{up}: {upward:?}");
        assert_eq!(graph.circles().len(), 2, "{up}: {:?}", graph.circles());
    }
}

#[test]
fn crates_depend_on_nothing_that_they_must_not() {
    let of_values = ["ziggurat-kernel", "rayon", "tokio"];
    let rules: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("ziggurat-planning", &of_values[..]),
        ("ziggurat-rpc", &["ziggurat-kernel"]),
        ("ziggurat-coordinator", &["ziggurat-kernel"]),
        ("ziggurat-analysis", &["ziggurat-kernel", "tokio"]),
        ("ziggurat-web", &["ziggurat-kernel", "ziggurat-store"]),
        ("ziggurat-kernel", &["ziggurat-rpc", "ziggurat-table", "ziggurat-store", "tokio"]),
    ]);
    let forbidden = crates().forbidden(&rules);
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
    let planted = BTreeMap::from([("ziggurat-kernel", &["ziggurat-game"][..])]);
    assert_eq!(crates().forbidden(&planted), ["ziggurat-kernel depends on ziggurat-game"]);
}

#[test]
fn planning_needs_no_more_than_the_ranking() {
    let crates = crates();
    let planning = crates.iter().find(|one| one.name == "ziggurat-planning").unwrap();
    assert_eq!(planning.dependencies, ["serde", "ziggurat-encoding", "ziggurat-game"]);
}
