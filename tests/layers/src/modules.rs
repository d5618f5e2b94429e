//! The modules of a crate, and which imports which.

use std::{collections::BTreeMap, fs, io, path::Path};

use crate::{
    Graph,
    paths::{Paths, Segments},
};

/// Paths that lead through so many modules that give out what they import from each other lead nowhere.
const MOST_STEPS: usize = 16;

/// The modules of a crate, by their paths; that of the crate itself is empty.
#[derive(Debug)]
pub struct Modules(BTreeMap<Segments, Paths>);

impl Modules {
    /// Reads all modules of a crate, beginning with its `lib.rs` or `main.rs`.
    ///
    /// # Errors
    /// If a file cannot be read.
    ///
    /// # Panics
    /// If a file is not Rust.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut this = Self(BTreeMap::new());
        let dir = root.parent().expect("a file is in a folder");
        this.read_module(root, dir, Segments::new())?;
        Ok(this)
    }

    /// Modules that are given as their paths, separated by `/`, and their texts, for tests.
    ///
    /// # Panics
    /// If a text is not Rust.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let module = |(path, text): (&str, &str)| {
            let path = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
            (path.collect(), Paths::of(&syn::parse_file(text).expect("the text is Rust")))
        };
        Self(texts.into_iter().map(module).collect())
    }

    fn read_module(&mut self, file: &Path, dir: &Path, path: Segments) -> io::Result<()> {
        let text = fs::read_to_string(file)?;
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let paths = Paths::of(&parsed);
        for child in &paths.children {
            let (alone, with_children) = (dir.join(format!("{child}.rs")), dir.join(child));
            let file = if alone.exists() { alone } else { with_children.join("mod.rs") };
            let mut path = path.clone();
            path.push(child.clone());
            self.read_module(&file, &with_children, path)?;
        }
        self.0.insert(path, paths);
        Ok(())
    }

    /// Which modules import which, by their paths, separated by `/`.
    pub fn imports(&self) -> Graph {
        let mut graph = Graph::default();
        for (module, paths) in &self.0 {
            let names = paths.names();
            let imported = paths.uses.iter().map(|one| (one.path.clone(), one.is_given_out));
            let others = paths.others.iter().map(|path| {
                // The name of an import stands for its path.
                let path = match names.get(&*path[0]) {
                    Some(import) => import.iter().chain(&path[1..]).cloned().collect(),
                    None => path.clone(),
                };
                (path, false)
            });
            for (path, is_given_out) in imported.chain(others) {
                let Some(path) = self.absolute(module, &path) else { continue };
                let to = self.defining(path, MOST_STEPS);
                // What a folder gives out of its own it does not use.
                if !(is_given_out && to.starts_with(module)) {
                    graph.add(&module.join("/"), &to.join("/"));
                }
            }
        }
        graph
    }

    /// A path from the crate on, if it is in the crate.
    fn absolute(&self, module: &Segments, path: &[String]) -> Option<Segments> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let first = path.first()?;
        let mut base = match &**first {
            "crate" => return Some(path[1..].to_vec()),
            "self" => return Some(module.iter().chain(&path[1..]).cloned().collect()),
            "super" => module[..module.len().checked_sub(supers)?].to_vec(),
            _ => {
                let mut child = module.clone();
                child.push(first.clone());
                self.0.contains_key(&child).then(|| module.clone())?
            }
        };
        base.extend_from_slice(&path[supers..]);
        Some(base)
    }

    /// The module that defines what a path from the crate on leads to.
    fn defining(&self, path: Segments, steps: usize) -> Segments {
        let ends = (0..=path.len()).rev();
        let module = ends.map(|end| &path[..end]).find(|module| self.0.contains_key(*module));
        let module = module.expect("the crate itself is a module").to_vec();
        let (Some(item), Some(steps)) = (path.get(module.len()), steps.checked_sub(1)) else {
            return module;
        };
        let given_out = self.0[&module].uses.iter().filter(|one| one.is_given_out);
        let Some(import) = given_out.into_iter().find(|one| one.name == *item) else {
            return module;
        };
        match self.absolute(&module, &import.path) {
            Some(mut target) => {
                target.extend_from_slice(&path[module.len() + 1..]);
                self.defining(target, steps)
            }
            None => module,
        }
    }
}
