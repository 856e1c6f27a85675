//! Which names are public, and did a change add or remove one unnoticed?
//!
//! Each library has a file `public-api.txt` with one line for each public item. A change of the public API is a change
//! of that file, which a reviewer sees. The step also limits how many names a reader meets first, and refuses a public
//! name with two meanings.
//!
//! The list is made from rustdoc's JSON, whose format depends on the compiler. The oldest supported Rust writes it, so
//! that every machine gets the same list; `RUSTC_BOOTSTRAP` lets a stable compiler write this format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::publish::{OldestRust, install_oldest_rust};
use crate::run::{self, Result};
use crate::steps::StepSuccess;
use crate::workspace::Workspace;

/// The libraries with a public API.
const LIBRARIES: [&str; 5] =
    ["toolway-protocol", "toolway-schema", "toolway-store", "toolway-redis", "toolway"];

/// The maximum numbers of public names in modules of `toolway`.
const LIMITS: [(&str, usize); 3] = [("toolway::prelude", 15), ("toolway", 35), ("toolway::server", 60)];

/// Whether the lists are compared or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Compare,
    Bless,
}

/// `cargo xtask surface`.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<StepSuccess> {
    let version = match install_oldest_rust(workspace)? {
        OldestRust::Installed(version) => version,
        OldestRust::Missing(why) => return Ok(StepSuccess::Skipped(why)),
    };
    let mut differences = Vec::new();
    for library in LIBRARIES {
        let json = rustdoc_json(workspace, &version, library)?;
        if library == "toolway" {
            let text = fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))?;
            let docs = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", json.display()))?;
            check_names(&docs)?;
        }
        let list = list(json)?;
        let path = workspace.root.join("crates").join(library).join("public-api.txt");
        if mode == Mode::Bless {
            fs::write(&path, &list).map_err(|error| format!("{}: {error}", path.display()))?;
            continue;
        }
        let old = fs::read_to_string(&path).unwrap_or_default();
        differences.extend(compare(&old, &list).into_iter().map(|line| format!("{library}: {line}")));
    }
    if differences.is_empty() {
        return Ok(StepSuccess::Passed);
    }
    for line in &differences {
        println!("   {line}");
    }
    Err(format!(
        "the public API differs from `public-api.txt` in {} lines; if that is intended, `cargo xtask surface --bless` writes the files",
        differences.len()
    ))
}

/// Documents one library and returns the path of the JSON.
fn rustdoc_json(workspace: &Workspace, version: &str, library: &str) -> Result<PathBuf> {
    let target = workspace.target.join("oldest-rust");
    let mut command = std::process::Command::new("rustup");
    command
        .current_dir(&workspace.root)
        .args(["run", version, "cargo", "rustdoc", "--quiet", "--lib", "--all-features", "-p", library])
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target);
    run::check_success(&mut command)?;
    Ok(target.join("doc").join(format!("{}.json", library.replace('-', "_"))))
}

/// Returns the public items, one per line, without implementations that the compiler adds.
fn list(json: PathBuf) -> Result<String> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .sorted(true)
        .build()
        .map_err(|error| format!("the public API cannot be read: {error}"))?;
    let mut lines: Vec<String> = api.items().map(|item| format!("{item}\n")).collect();
    lines.dedup();
    Ok(lines.concat())
}

/// Returns the lines that are only in one of the lists, marked with `-` and `+`.
fn compare(old: &str, new: &str) -> Vec<String> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
    let removed = old.difference(&new).map(|line| format!("- {line}"));
    let added = new.difference(&old).map(|line| format!("+ {line}"));
    removed.chain(added).collect()
}

/// Checks the limits, and that each public name means one thing.
fn check_names(docs: &Value) -> Result {
    let mut names = Names { docs, modules: BTreeMap::new() };
    names.collect(&docs["root"], "toolway")?;
    for (module, limit) in LIMITS {
        let found = names.modules.get(module).map_or(0, BTreeMap::len);
        println!("   {module}: {found} names, at most {limit}");
        if found == 0 || found > limit {
            return Err(format!("`{module}` has {found} public names; it must have 1 to {limit}"));
        }
    }
    let twice = names.with_two_meanings();
    if twice.is_empty() {
        Ok(())
    } else {
        Err(format!("public names with two meanings: {}", twice.join(", ")))
    }
}

/// The public names of each module, with the items behind each name. Modules have no item here: a module may share its
/// name with a function.
struct Names<'a> {
    docs: &'a Value,
    modules: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Names<'_> {
    /// Adds the names of a module and of the modules inside it.
    fn collect(&mut self, module: &Value, path: &str) -> Result {
        let docs = self.docs;
        let items = docs["index"][key(module)]["inner"]["module"]["items"]
            .as_array()
            .ok_or_else(|| format!("rustdoc's JSON has no module `{path}`"))?;
        for id in items {
            let item = &docs["index"][key(id)];
            if item["visibility"] != "public" {
                continue;
            }
            let import = &item["inner"]["use"];
            let (name, target) =
                if import.is_null() { (&item["name"], id) } else { (&import["name"], &import["id"]) };
            let Some(name) = name.as_str().filter(|name| *name != "_") else { continue };
            let items = self.modules.entry(path.to_owned()).or_default().entry(name.to_owned()).or_default();
            if !docs["index"][key(target)]["inner"]["module"].is_null() {
                self.collect(target, &format!("{path}::{name}"))?;
                continue;
            }
            items.insert(match docs["paths"][key(target)]["path"].as_array() {
                Some(segments) => segments.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("::"),
                None => import["source"].as_str().unwrap_or(name).to_owned(),
            });
        }
        Ok(())
    }

    /// Returns the names that stand for different items. A derive macro shares the name of its trait.
    fn with_two_meanings(&self) -> Vec<String> {
        let mut meanings: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, items) in self.modules.values().flatten() {
            let items = items.iter().map(String::as_str).filter(|item| !item.starts_with("toolway_macros::"));
            meanings.entry(name).or_default().extend(items);
        }
        meanings.retain(|_, items| items.len() > 1);
        meanings
            .into_iter()
            .map(|(name, items)| format!("`{name}` ({})", items.into_iter().collect::<Vec<_>>().join(", ")))
            .collect()
    }
}

/// Returns the key of an item in rustdoc's index.
fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{Names, compare};

    fn docs() -> Value {
        json!({
            "root": 0,
            "index": {
                "0": {"visibility": "public", "name": "toolway", "inner": {"module": {"items": [1, 2, 3, 4]}}},
                "1": {"visibility": "public", "name": "server", "inner": {"module": {"items": [5]}}},
                "2": {"visibility": "public", "name": null,
                      "inner": {"use": {"source": "client::Answer", "name": "Answer", "id": 6}}},
                "3": {"visibility": "default", "name": "hidden", "inner": {"module": {"items": []}}},
                "4": {"visibility": "public", "name": null,
                      "inner": {"use": {"source": "server::Offer", "name": "_", "id": 7}}},
                "5": {"visibility": "public", "name": "Answer", "inner": {"struct": {}}},
            },
            "paths": {
                "5": {"path": ["toolway", "server", "Answer"]},
                "6": {"path": ["toolway", "client", "Answer"]},
            },
        })
    }

    #[test]
    fn public_names_are_counted_and_two_meanings_are_found() {
        let docs = docs();
        let mut names = Names { docs: &docs, modules: BTreeMap::new() };
        names.collect(&docs["root"], "toolway").unwrap();
        assert_eq!(names.modules["toolway"].keys().collect::<Vec<_>>(), ["Answer", "server"]);
        assert_eq!(names.modules["toolway::server"].len(), 1);
        assert_eq!(
            names.with_two_meanings(),
            ["`Answer` (toolway::client::Answer, toolway::server::Answer)"]
        );
    }

    #[test]
    fn differences_are_marked() {
        assert_eq!(compare("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
        assert!(compare("a\n", "a\n").is_empty());
    }
}
