//! Which module uses which? Read from the tokens of all files of a crate.
//!
//! Counts the paths of `use`, and all other paths in the code that begin with `crate`, `super`, `self` or a child
//! module. A name that a front page re-exports leads to the file that defines it. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module, by the names from the crate's root to it; each is one file.
pub(crate) type Module = Vec<String>;

/// The modules that each module uses.
pub(crate) type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Resolves the imports of a crate. Each file is its path from `src`, and its text.
pub(crate) fn imports(files: &[(String, String)]) -> Imports {
    let files: Vec<(Module, Paths)> = files
        .iter()
        .filter(|(path, _)| !path.ends_with("tests.rs"))
        .map(|(path, text)| {
            let tokens = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
            let mut paths = Paths::default();
            paths.walk(tokens, &[]);
            (module_of(path), paths)
        })
        .collect();
    let known: BTreeMap<&Module, &Paths> = files.iter().map(|(module, paths)| (module, paths)).collect();
    let resolver = Resolver { known: &known };
    files
        .iter()
        .map(|(module, paths)| {
            let used = paths.used.iter().filter_map(|path| resolver.resolve(module, path, 0));
            (module.clone(), used.filter(|used| used != module).collect())
        })
        .collect()
}

fn module_of(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        names.pop();
    }
    names
}

/// The paths in a file.
#[derive(Default)]
struct Paths {
    used: BTreeSet<Vec<String>>,
    /// Name → path, of everything that `use` imports here.
    brought: BTreeMap<String, Vec<String>>,
}

impl Paths {
    /// Collects the paths in `tokens`. `inside` are the modules within the file that enclose the tokens.
    fn walk(&mut self, tokens: TokenStream, inside: &[String]) {
        let mut tokens = tokens.into_iter().peekable();
        let mut is_test = false;
        let mut before = String::new();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    if before == "#" {
                        is_test |= group.stream().to_string() == "cfg (test)";
                    } else if group.delimiter() != Delimiter::Brace || !is_test {
                        self.walk(group.stream(), inside);
                    } else {
                        is_test = false;
                    }
                    before.clear();
                }
                TokenTree::Ident(name) => {
                    let name = name.to_string();
                    match name.as_str() {
                        "use" if !is_test => self.tree(&mut tokens, &[], inside),
                        "mod" if !is_test => {
                            let Some(TokenTree::Ident(module)) = tokens.next() else { continue };
                            if let Some(TokenTree::Group(body)) = tokens.peek() {
                                let inside = [inside, &[module.to_string()]].concat();
                                self.walk(body.stream(), &inside);
                                tokens.next();
                            }
                        }
                        _ if before != "::" && !is_test => self.path(name.clone(), &mut tokens, inside),
                        _ => {}
                    }
                    before = name;
                }
                TokenTree::Punct(mark) => {
                    is_test &= mark.as_char() != ';';
                    before = if before == ":" && mark.as_char() == ':' {
                        "::".to_owned()
                    } else {
                        mark.to_string()
                    };
                }
                TokenTree::Literal(_) => before.clear(),
            }
        }
    }

    /// Reads a path in code, such as `super::text::cut(…)`.
    fn path(&mut self, first: String, tokens: &mut Peekable<IntoIter>, inside: &[String]) {
        let mut names = vec![first];
        while separator(tokens) {
            match tokens.peek() {
                Some(TokenTree::Ident(name)) => {
                    names.push(name.to_string());
                    tokens.next();
                }
                _ => break,
            }
        }
        if names.len() > 1 {
            self.used.insert(outside(names, inside));
        }
    }

    /// Reads the tree between `use` and `;`, or between braces in it.
    fn tree(&mut self, tokens: &mut Peekable<IntoIter>, prefix: &[String], inside: &[String]) {
        let mut names = prefix.to_vec();
        let mut alias = None;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(name) if name == "as" => alias = tokens.next().map(|name| name.to_string()),
                TokenTree::Ident(name) => names.push(name.to_string()),
                TokenTree::Group(group) => {
                    let mut inner = group.stream().into_iter().peekable();
                    while inner.peek().is_some() {
                        self.tree(&mut inner, &names, inside);
                    }
                    names.clear();
                }
                TokenTree::Punct(mark) if [';', ','].contains(&mark.as_char()) => break,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        if names.last().is_some_and(|last| last == "self") {
            names.pop();
        }
        if let Some(last) = names.last().cloned() {
            let path = outside(names, inside);
            self.brought.insert(alias.unwrap_or(last), path.clone());
            self.used.insert(path);
        }
    }
}

/// Consumes `::`, if it is next.
fn separator(tokens: &mut Peekable<IntoIter>) -> bool {
    let is_colon =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    if !is_colon(tokens.peek()) {
        return false;
    }
    let mut ahead = tokens.clone();
    ahead.next();
    if !is_colon(ahead.peek()) {
        return false;
    }
    tokens.next();
    tokens.next();
    true
}

/// Converts a path in a module within the file to the path as seen from the file itself.
fn outside(mut names: Vec<String>, inside: &[String]) -> Vec<String> {
    let ups = names.iter().take_while(|name| *name == "super").count().min(inside.len());
    if ups > 0 {
        names.drain(..ups);
        if names.first().is_none_or(|first| first != "super") {
            names.insert(0, "self".to_owned());
        }
    }
    names
}

struct Resolver<'f> {
    known: &'f BTreeMap<&'f Module, &'f Paths>,
}

impl Resolver<'_> {
    /// Returns the file that a path in `module` leads to; `None` if that is not in this crate.
    fn resolve(&self, module: &Module, path: &[String], depth: u8) -> Option<Module> {
        let mut here = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                here.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    here.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                if !self.known.contains_key(&child) {
                    return None;
                }
            }
        }
        while let Some(name) = rest.first() {
            let child = [here.as_slice(), std::slice::from_ref(name)].concat();
            if !self.known.contains_key(&child) {
                break;
            }
            here = child;
            rest = &rest[1..];
        }
        let paths = self.known.get(&here)?;
        // Follows a re-export.
        if let Some(further) = rest.first().and_then(|name| paths.brought.get(name))
            && here != *module
            && depth < 8
            && let Some(found) = self.resolve(&here, &[further.as_slice(), &rest[1..]].concat(), depth + 1)
        {
            return Some(found);
        }
        Some(here)
    }
}
