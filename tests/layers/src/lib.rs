//! The imports of the workspace, as the code has them: between modules of a crate ([`Modules`]), and between crates
//! ([`Crates`]).
//!
//! An import is a path of a `use`, or any other path that begins with `crate`, `super`, `self`, a child module or a name that
//! is imported. Where a module gives out what another defines (`pub use`), the import leads to the one that defines it, and
//! the module that gives it out does not import it. Tests (`#[cfg(test)]`) are left out: they may look at anything.

mod crates;
mod graph;
mod modules;
mod paths;

pub use crates::{Crate, Crates};
pub use graph::Graph;
pub use modules::Modules;
