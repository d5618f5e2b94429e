//! The crates of the workspace, and which depends on which.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toml::Table;

use crate::Graph;

#[derive(Deserialize)]
struct Root {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    members: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
    #[serde(default)]
    dependencies: Table,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

/// A crate of the workspace.
#[derive(Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its `lib.rs` and `main.rs`, as far as it has them.
    pub roots: Vec<PathBuf>,
    /// What it depends on, but for its tests and for building it.
    pub dependencies: Vec<String>,
}

/// All crates of the workspace.
#[derive(Debug)]
pub struct Crates(Vec<Crate>);

impl Crates {
    /// Reads the workspace in a folder.
    ///
    /// # Errors
    /// If a `Cargo.toml` cannot be read.
    pub fn read(workspace: &Path) -> io::Result<Self> {
        let root: Root = manifest(&workspace.join("Cargo.toml"))?;
        let member = |dir: &PathBuf| {
            let dir = workspace.join(dir);
            let Manifest { package, dependencies } = manifest(&dir.join("Cargo.toml"))?;
            let roots = ["src/lib.rs", "src/main.rs"].map(|file| dir.join(file));
            let roots = roots.into_iter().filter(|file| file.exists()).collect();
            let dependencies = dependencies.keys().cloned().collect();
            Ok(Crate { name: package.name, roots, dependencies })
        };
        root.workspace.members.iter().map(member).collect::<io::Result<_>>().map(Self)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Crate> {
        self.0.iter()
    }

    /// Which depend on which, crates from elsewhere among them.
    pub fn imports(&self) -> Graph {
        let mut graph = Graph::default();
        for one in &self.0 {
            one.dependencies.iter().for_each(|other| graph.add(&one.name, other));
        }
        graph
    }

    /// What crates depend on, directly or not, that they must not depend on, each said in a line.
    pub fn forbidden(&self, rules: &BTreeMap<&str, &[&str]>) -> Vec<String> {
        let graph = self.imports();
        let broken = |(&name, others): (&&str, &&[&str])| {
            let reached = graph.reached_from(name);
            let reached = others.iter().filter(|other| reached.contains(**other));
            reached.map(|other| format!("{name} depends on {other}")).collect::<Vec<_>>()
        };
        rules.iter().flat_map(broken).collect()
    }
}

fn manifest<T: for<'de> Deserialize<'de>>(file: &Path) -> io::Result<T> {
    toml::from_str(&fs::read_to_string(file)?)
        .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
}
