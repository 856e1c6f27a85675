//! Do the sources of all crates follow the rules of the project?

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod english;
mod features;
mod imports;
mod layers;
mod manifests;
mod paths;

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A source file of the library crates: its path from the workspace's root, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Returns the lines of code with their numbers, without comments and without the file's own tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines
            .take_while(|(_, line)| *line != "#[cfg(test)]")
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(folders: &[&str]) -> Vec<Source> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<Source>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push(Source { path: relative, text: std::fs::read_to_string(&path).unwrap() });
            }
        }
    }
    let mut found = Vec::new();
    for folder in folders {
        walk(&root(), &root().join(folder), &mut found);
    }
    assert!(!found.is_empty());
    found
}

const LIBRARY: [&str; 5] = [
    "crates/toolway-protocol/src",
    "crates/toolway-schema/src",
    "crates/toolway/src",
    "crates/toolway-macros/src",
    "crates/toolway-cli/src",
];

/// Fails with every line that breaks a rule.
fn forbid(rule: &str, broken: impl IntoIterator<Item = String>) {
    let mut all = String::new();
    for place in broken {
        writeln!(all, "  {place}").unwrap();
    }
    assert!(all.is_empty(), "{rule}:\n{all}");
}

#[test]
fn revisions_are_named_in_the_era_files_only() {
    let allowed = |path: &str| {
        path.contains("toolway-protocol/src/version/")
            || path.ends_with("src/method.rs")
            || path.contains("toolway-protocol/src/era/")
            || path.contains("/handshake")
            || path.contains("/stateless")
    };
    let names =
        ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "V2024", "V2025", "V2026"];
    let mut broken = Vec::new();
    for source in sources(&LIBRARY).iter().filter(|source| !allowed(&source.path)) {
        for (number, line) in source.code() {
            if names.iter().any(|name| line.contains(name)) {
                broken.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    forbid("no revision is named outside the era files, version/ and method.rs", broken);
}

#[test]
fn sessions_are_a_word_of_the_handshake_files() {
    let allowed = |path: &str| {
        path.contains("handshake")
            || path.ends_with("resume.rs")
            || path.ends_with("legacy_sse.rs")
            || path.contains("server/pipe/")
            // The service only stores them.
            || path.ends_with("http/service.rs")
            // Sessions are counted like everything that peers use.
            || path.ends_with("ground/budget.rs")
            || path.ends_with("observe/usage.rs")
    };
    let mut broken = Vec::new();
    for source in sources(&["crates/toolway/src"]).iter().filter(|source| !allowed(&source.path)) {
        for (number, line) in source.code() {
            if line.contains("Session") || line.contains("mcp-session-id") {
                broken.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    forbid(
        "sessions occur on paths named handshake, in resume.rs, legacy_sse.rs, server/pipe/, http/service.rs, observe/usage.rs and ground/budget.rs only",
        broken,
    );
}

#[test]
fn features_switch_whole_modules() {
    let mut broken = Vec::new();
    for source in &sources(&LIBRARY) {
        let lines: Vec<_> = source.code().collect();
        for pair in lines.windows(2) {
            let ((number, line), (_, next)) = (pair[0], pair[1]);
            if !line.contains("cfg(feature")
                && (!line.contains("cfg_attr(") || *line == *"#![cfg_attr(docsrs, feature(doc_cfg))]")
            {
                continue;
            }
            let next = next.trim_start();
            let is_module = ["mod ", "pub mod ", "pub(crate) mod ", "pub use ", "pub(crate) use "]
                .iter()
                .any(|start| next.starts_with(start));
            let is_attribute = next.starts_with("#[");
            if !is_module && !is_attribute {
                broken.push(format!("{}:{number}: {} / {next}", source.path, line.trim()));
            }
        }
    }
    forbid("`cfg(feature)` stands on `mod` and `pub use` only", broken);
}

#[test]
fn the_library_prints_nothing() {
    let mut broken = Vec::new();
    let folders = LIBRARY.iter().filter(|folder| !folder.contains("toolway-cli"));
    for source in &sources(&folders.copied().collect::<Vec<_>>()) {
        for (number, line) in source.code() {
            if ["print!(", "println!(", "eprint!(", "eprintln!(", "dbg!("]
                .iter()
                .any(|name| line.contains(name))
            {
                broken.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    forbid("the library prints nothing: stdout belongs to the protocol, stderr to the program", broken);
}

#[test]
fn processes_are_started_in_one_folder_only() {
    let may =
        |path: &str| path.starts_with("crates/toolway/src/client/process/") || path.ends_with("tests.rs");
    let mut broken = Vec::new();
    for source in sources(&LIBRARY).iter().filter(|source| !may(&source.path)) {
        for (number, line) in source.code() {
            let names = line.contains("tokio::process") || line.contains("process::Command");
            if names || (line.contains("std::process::{") && line.contains("Command")) {
                broken.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    forbid(
        "processes are started in client/process/ only: nothing else can be made to run a program",
        broken,
    );
}

#[test]
fn the_protocol_decodes_by_method_and_never_by_shape() {
    let mut broken = Vec::new();
    for source in &sources(&["crates/toolway-protocol/src"]) {
        for (number, line) in source.code() {
            if line.contains("serde(") && (line.contains("untagged") || line.contains("flatten")) {
                broken.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    forbid("no `serde(untagged)` and no `serde(flatten)` in the protocol", broken);
}

#[test]
fn every_file_says_which_question_it_answers() {
    let broken = sources(&LIBRARY)
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path);
    forbid("a file begins with a paragraph that says what it is for", broken);
}

/// Long files and the reason for each. A reason to talk about a file, not a hard limit.
const LONG: [(&str, &str); 0] = [];

#[test]
fn long_files_have_a_reason() {
    let broken = sources(&LIBRARY).into_iter().filter_map(|source| {
        let lines = source.text.lines().count();
        let has_reason = LONG.iter().any(|(path, _)| *path == source.path);
        (lines > 600 && !has_reason).then(|| format!("{}: {lines} lines", source.path))
    });
    forbid("a file over 600 lines stands in LONG with its reason", broken);
}

#[test]
fn one_call_meets_at_most_nine_types_each_in_its_file() {
    let page = std::fs::read_to_string(root().join("docs/concepts/one-call.md")).unwrap();
    let types: Vec<_> = page.lines().filter_map(type_and_file).collect();
    assert!((1..=9).contains(&types.len()), "{types:?}");
    let is_missing = |(name, path): &&(&str, &str)| {
        let text = std::fs::read_to_string(root().join(path)).unwrap_or_default();
        let defines = |kind: &str| {
            text.lines().any(|line| {
                let rest = line.trim_start().strip_prefix(kind).and_then(|rest| rest.strip_prefix(name));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(', '<', ';']))
            })
        };
        !["pub struct ", "pub enum ", "pub(crate) struct "].into_iter().any(defines)
    };
    let missing = types.iter().filter(is_missing);
    forbid("types that are not in the file that one-call.md names", missing.map(|row| format!("{row:?}")));
}

/// Returns the type and the file of a row of the table of types.
fn type_and_file(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    cells.next()?.parse::<u8>().ok()?;
    let mut code = || cells.next()?.strip_prefix('`')?.strip_suffix('`');
    Some((code()?, code()?))
}
