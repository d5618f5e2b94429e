//! The paths in a source file.

use std::collections::HashMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, File, Item, ItemMod, ItemUse, Macro, Path, UseTree, Visibility,
    visit::{self, Visit},
};

/// A path as it is written, without what follows a generic argument.
pub type Segments = Vec<String>;

/// What a file says of others.
#[derive(Default, Debug)]
pub struct Paths {
    /// What it imports, by the name that this has in the file, `*` for all; and whether it gives it out.
    pub uses: Vec<Use>,
    /// All other paths of more than one name.
    pub others: Vec<Segments>,
    /// The modules that are in files of their own, but for those of tests.
    pub children: Vec<String>,
}

/// An import.
#[derive(Debug)]
pub struct Use {
    pub name: String,
    pub path: Segments,
    pub is_given_out: bool,
}

impl Paths {
    /// Reads a file.
    pub fn of(file: &File) -> Self {
        let mut this = Self::default();
        this.visit_file(file);
        this
    }

    /// What names stand for.
    pub fn names(&self) -> HashMap<&str, &Segments> {
        self.uses.iter().map(|one| (&*one.name, &one.path)).collect()
    }

    fn add_uses(&mut self, tree: &UseTree, prefix: &Segments, is_given_out: bool) {
        let with = |name: &dyn ToString| {
            let mut path = prefix.clone();
            path.push(name.to_string());
            path
        };
        let (name, path) = match tree {
            UseTree::Path(path) => {
                return self.add_uses(&path.tree, &with(&path.ident), is_given_out);
            }
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.add_uses(tree, prefix, is_given_out));
            }
            UseTree::Name(name) if name.ident == "self" => {
                (prefix.last().cloned().unwrap_or_default(), prefix.clone())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(name) if name.ident == "self" => {
                (name.rename.to_string(), prefix.clone())
            }
            UseTree::Rename(name) => (name.rename.to_string(), with(&name.ident)),
            UseTree::Glob(_) => ("*".to_owned(), with(&"*")),
        };
        self.uses.push(Use { name, path, is_given_out });
    }

    /// Paths in what a macro is given, which is not parsed.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = Segments::new();
        let mut separators = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if path.is_empty() || separators == 2 => {
                    path.push(name.to_string());
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => {
                    separators += 1;
                    continue;
                }
                other => {
                    self.others.push(std::mem::take(&mut path));
                    match other {
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
            separators = 0;
        }
        self.others.push(path);
        self.others.retain(|path| path.len() > 1);
    }
}

/// Whether something is for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |path: &Path| path.is_ident("test");
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Path>().is_ok_and(|of| is_test(&of))
    })
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_none() {
            self.children.push(item.ident.to_string());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_given_out = !matches!(item.vis, Visibility::Inherited);
        self.add_uses(&item.tree, &Segments::new(), is_given_out);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.others.push(path.segments.iter().map(|one| one.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.add_tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }
}
