//! Folders are layers: each may use those before it in its list, and there are import cycles neither between files nor
//! between folders.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::{Imports, Module, imports};
use crate::{forbid, sources};

/// The order of the layers in a folder, the lowest first. It is defined only here.
const LAYERS: [(&str, &str, &[&str]); 5] = [
    (
        "toolway",
        "",
        &[
            "ground",
            "transport",
            "store",
            "schema",
            "agent",
            "server",
            "client",
            "hub",
            "in_process",
            "auth",
            "gateway",
            "testing",
            "fuzzing",
        ],
    ),
    (
        "toolway",
        "server",
        &[
            "failure",
            "respond",
            "call",
            "handler",
            "ask",
            "changes",
            "catalog",
            "admission",
            "observe",
            "execute",
            "handshake",
            "stateless",
            "build",
            "pipe",
            "http",
        ],
    ),
    (
        "toolway",
        "client",
        &[
            "record",
            "notifications",
            "answer",
            "wire",
            "stateless",
            "handshake",
            "pipe",
            "process",
            "http",
            "oauth",
            "connect",
            "calls",
        ],
    ),
    (
        "toolway-protocol",
        "",
        &[
            "version",
            "json",
            "wire",
            "oauth",
            "uri_template",
            "capability",
            "method",
            "meta",
            "jsonrpc",
            "types",
            "messages",
            "http",
            "era",
        ],
    ),
    ("toolway-schema", "", &["terms", "texts", "model", "check", "author", "dialects"]),
];

/// The crates that are checked.
const CRATES: [&str; 7] = [
    "toolway",
    "toolway-cli",
    "toolway-macros",
    "toolway-protocol",
    "toolway-redis",
    "toolway-schema",
    "toolway-store",
];

/// Layers of `toolway` that must not use each other.
const STRANGERS: [&str; 2] = ["server", "client"];

/// Front pages that define the central type of their folder, and so are in cycles with it: everything that uses the
/// type is part of it. They are left out of the graph; every other front page counts as a normal file.
const FRONT_PAGES: [(&str, &str, &str); 1] = [(
    "toolway",
    "server",
    "`Server` holds one of everything, and everything that runs in a call can reach it",
)];

/// Remaining cycles within a folder, with the reason.
const CIRCLES: [(&str, &[&str], &str); 2] = [
    (
        "toolway",
        &["server/call/layer/call", "server/call/layer/service", "server/call/layer/stack"],
        "a call carries the layers that it has yet to pass, and each of them takes the call",
    ),
    (
        "toolway",
        &["agent/failure", "agent/output"],
        "an output may be a failure, and a failure is told as an output",
    ),
];

fn graph(crate_name: &str) -> Imports {
    let folder = format!("crates/{crate_name}/src");
    let files: Vec<(String, String)> = sources(&[&folder])
        .into_iter()
        .map(|source| {
            (source.path.trim_start_matches(&folder).trim_start_matches('/').to_owned(), source.text)
        })
        .collect();
    let mut graph = imports(&files);
    let exempt: BTreeSet<Module> = FRONT_PAGES
        .iter()
        .filter(|(name, ..)| *name == crate_name)
        .map(|(_, page, _)| page.split('/').map(str::to_owned).collect())
        .chain([Vec::new()])
        .collect();
    graph.retain(|module, _| !exempt.contains(module));
    for used in graph.values_mut() {
        used.retain(|module| !exempt.contains(module));
    }
    graph
}

/// Returns the imports from a layer to one above it, by the order of the folder that contains both.
fn upward(graph: &Imports, folder: &str, order: &[&str]) -> Vec<String> {
    let folder: Module = folder.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let layer = |module: &Module| {
        let name = module.strip_prefix(folder.as_slice())?.first()?;
        order.iter().position(|layer| layer == name)
    };
    let mut broken = Vec::new();
    for (from, used) in graph {
        for to in used {
            if let (Some(low), Some(high)) = (layer(from), layer(to))
                && low < high
            {
                broken.push(format!("{} uses {}", from.join("/"), to.join("/")));
            }
        }
    }
    broken
}

/// Returns every set of more than one node that all reach each other.
fn circles<N: Ord + Clone>(graph: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
    let reach = |start: &N| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start.clone()];
        while let Some(node) = open.pop() {
            for next in graph.get(&node).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&N, BTreeSet<N>> = graph.keys().map(|node| (node, reach(node))).collect();
    let mut found: BTreeSet<BTreeSet<N>> = BTreeSet::new();
    for (node, reached_from) in &reached {
        let circle: BTreeSet<N> = reached_from
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(node)))
            .cloned()
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

/// Returns the same graph between folders.
fn folders(graph: &Imports) -> BTreeMap<Module, BTreeSet<Module>> {
    let folder = |module: &Module| {
        // A front page belongs to its own folder.
        let is_page = graph.keys().any(|other| other.len() > module.len() && other.starts_with(module));
        if is_page { module.clone() } else { module[..module.len().saturating_sub(1)].to_vec() }
    };
    let mut between: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (from, used) in graph {
        let here = folder(from);
        // A front page that lists the content of its folder does not use it.
        let others =
            used.iter().filter(|to| !to.starts_with(from)).map(folder).filter(|there| *there != here);
        between.entry(here.clone()).or_default().extend(others);
    }
    between
}

fn shown(circle: &BTreeSet<Module>) -> String {
    circle.iter().map(|module| format!("`{}`", module.join("/"))).collect::<Vec<_>>().join(", ")
}

#[test]
fn nothing_uses_what_is_above_it() {
    for (name, folder, order) in LAYERS {
        forbid(&format!("{name}/{folder} has the order {order:?}"), upward(&graph(name), folder, order));
    }
}

#[test]
fn server_and_client_do_not_use_each_other() {
    let mut broken = Vec::new();
    for (from, used) in graph("toolway") {
        let Some(side) = STRANGERS.iter().position(|side| from.first().is_some_and(|first| first == side))
        else {
            continue;
        };
        let other = STRANGERS[1 - side];
        let across = used.iter().filter(|to| to.first().is_some_and(|first| first == other));
        broken.extend(across.map(|to| format!("{} uses {}", from.join("/"), to.join("/"))));
    }
    forbid("a program may have one side only", broken);
}

#[test]
fn every_folder_has_its_layer() {
    for (name, folder, order) in LAYERS {
        let inside: Module = folder.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let children: BTreeSet<String> = graph(name)
            .keys()
            .filter_map(|module| module.strip_prefix(inside.as_slice())?.first().cloned())
            .collect();
        let is_listed =
            |child: &String| order.contains(&child.as_str()) || NO_LAYERS.contains(&child.as_str());
        forbid(
            &format!("not in the list of layers of {name}/{folder}"),
            children.into_iter().filter(|child| !is_listed(child)),
        );
        assert!(order.len() <= 16, "a folder has at most 16 entries");
    }
}

/// Modules beside layers that are not layers: the messages that the compiler shows where a feature is missing.
const NO_LAYERS: [&str; 1] = ["without_client"];

/// Returns the cycles that a list names for a crate.
fn known(list: &[(&str, &[&str], &str)], crate_name: &str) -> Vec<BTreeSet<Module>> {
    let of_crate = list.iter().filter(|(name, ..)| *name == crate_name);
    let path = |file: &&str| file.split('/').map(str::to_owned).collect();
    of_crate.map(|(_, files, _)| files.iter().map(path).collect()).collect()
}

fn compare(what: &str, found: &[BTreeSet<Module>], known: &[BTreeSet<Module>]) {
    forbid(&format!("circles of {what}"), found.iter().filter(|circle| !known.contains(circle)).map(shown));
    forbid("circles that are no more", known.iter().filter(|circle| !found.contains(circle)).map(shown));
}

#[test]
fn folders_do_not_use_each_other_in_circles() {
    for name in CRATES {
        let found = circles(&folders(&graph(name)));
        compare(&format!("folders in {name}"), &found, &[]);
    }
}

#[test]
fn files_do_not_use_each_other_in_circles() {
    for name in CRATES {
        compare(&format!("files in {name}"), &circles(&graph(name)), &known(&CIRCLES, name));
    }
    assert!(CIRCLES.len() <= 5 && CIRCLES.iter().all(|(_, files, _)| files.len() <= 3));
    assert!(FRONT_PAGES.len() <= 12);
}

/// A small crate, as files.
fn sample(files: &[(&str, &str)]) -> Imports {
    imports(&files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect::<Vec<_>>())
}

#[test]
fn one_import_upward_is_found_however_it_is_written() {
    let low = |text: &str| {
        sample(&[
            ("lib.rs", "mod low; mod high;"),
            ("low/mod.rs", "mod a; mod b; pub(crate) use b::B;"),
            ("low/a.rs", text),
            ("low/b.rs", "pub(crate) struct B;"),
            ("high/mod.rs", "mod page; pub(crate) use page::Page; mod door;"),
            ("high/page.rs", "use crate::low::B; pub(crate) struct Page(B);"),
            ("high/door.rs", ""),
        ])
    };
    let order = ["low", "high"];
    for right in [
        "",
        "use super::B; use std::fmt;",
        "// use crate::high::Page;",
        "fn a() { \"crate::high::Page\"; }",
        "#[cfg(test)] mod tests { use crate::high::Page; }",
        "use crate::low::{self, B};",
    ] {
        assert_eq!(upward(&low(right), "", &order), [""; 0], "{right}");
        assert!(circles(&folders(&low(right))).is_empty(), "{right}");
    }
    for wrong in [
        "use crate::high::Page;",
        "use crate::{high::Page as P, low::B};",
        "use super::super::high::Page;",
        "fn a(_: crate::high::Page) {}",
        "mod inner { fn a(_: super::super::super::high::Page) {} }",
        "macro_rules! a { () => { $crate::high::Page } }",
    ] {
        assert_eq!(upward(&low(wrong), "", &order), ["low/a uses high/page"], "{wrong}");
        assert_eq!(circles(&folders(&low(wrong))).len(), 1, "{wrong}");
    }
    let circle = sample(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")]);
    assert_eq!(circles(&circle).len(), 1);
}
