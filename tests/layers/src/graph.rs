//! A graph of imports, and its circles.

use std::collections::{BTreeMap, BTreeSet};

/// Which names import which.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    /// Notes that one imports the other. What imports itself does not count.
    pub fn add(&mut self, from: &str, to: &str) {
        if from != to {
            self.0.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
    }

    /// All imports: who, and whom.
    pub fn imports(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(from, all)| all.iter().map(move |to| (&**from, &**to)))
    }

    /// The same without what modules import of those inside them: a folder is made of its modules, and may be where they find
    /// what they share.
    pub fn between_folders(&self) -> Self {
        let mut graph = Self::default();
        for (from, to) in self.imports() {
            let is_inside = from.is_empty() || to.starts_with(&format!("{from}/"));
            if !is_inside {
                graph.add(from, to);
            }
        }
        graph
    }

    /// All that can be reached from a name.
    pub fn reached_from(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&str> = self.0.get(from).into_iter().flatten().map(|to| &**to).collect();
        while let Some(name) = next.pop() {
            if reached.insert(name) {
                next.extend(self.0.get(name).into_iter().flatten().map(|to| &**to));
            }
        }
        reached
    }

    /// The imports that are part of a circle, each said in a line.
    pub fn circles(&self) -> Vec<String> {
        let closes = |(from, to): &(&str, &str)| self.reached_from(to).contains(from);
        self.imports().filter(closes).map(|(from, to)| format!("{from} imports {to}")).collect()
    }

    /// The imports that lead up, each said in a line: `layers` are folders from the lowest to the highest.
    ///
    /// # Panics
    /// If something is in none of the layers.
    pub fn upward(&self, layers: &[&str]) -> Vec<String> {
        let layer = |name: &str| {
            let folder = name.split('/').next();
            let place = layers.iter().position(|&layer| Some(layer) == folder);
            place.unwrap_or_else(|| panic!("{name} is in none of the layers {layers:?}"))
        };
        self.imports()
            .filter(|(from, to)| layer(from) < layer(to))
            .map(|(from, to)| format!("{from} imports {to}, which is above it"))
            .collect()
    }
}
