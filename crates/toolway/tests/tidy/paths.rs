//! Do the documents and the tables of modules name files and folders that exist?
//!
//! A path in ARCHITECTURE.md or CONTRIBUTING.md is a code span with a known ending. It starts at the root, `crates/`,
//! `crates/toolway/`, `crates/toolway/src/`, a folder that the same section names, or a folder of a path that is
//! earlier in the same line. A path in the table at the head of a source file starts at the folder of that file.

use std::path::Path;

use super::{forbid, root, sources};

const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];
const SOURCES: [&str; 6] = ["crates", "examples", "bench/src", "conformance/src", "interop/src", "xtask/src"];

/// The folders that every path of a document may start at.
const BASES: [&str; 4] = ["", "crates/", "crates/toolway/", "crates/toolway/src/"];
/// The endings of paths in documents. A folder ends with a slash.
const ENDINGS: [&str; 8] = [".rs", ".toml", ".md", ".txt", ".json", ".py", ".mjs", "/"];
/// The endings of paths in the tables of modules. Other endings occur there in names of files that users write.
const ENDINGS_IN_TABLES: [&str; 2] = [".rs", "/"];
/// Names that stand for many files.
const ANY_FOLDER: [&str; 1] = ["mod.rs"];

#[test]
fn documents_name_paths_that_exist() {
    let mut broken = Vec::new();
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        let missing = missing_paths(&text, exists);
        broken.extend(missing.into_iter().map(|(line, path)| format!("{document}:{line}: `{path}`")));
        let links = links_in(&text).into_iter().filter(|link| !root().join(link).exists());
        broken.extend(links.map(|link| format!("{document}: link to {link}")));
    }
    forbid("ARCHITECTURE.md and CONTRIBUTING.md name files and folders that exist", broken);
}

#[test]
fn tables_of_modules_name_paths_that_exist() {
    let mut broken = Vec::new();
    for source in sources(&SOURCES) {
        let path = root().join(&source.path);
        let folder = path.parent().unwrap();
        // A row may mention a folder beside its own.
        let is_here = |named: &str| {
            [Some(folder), folder.parent()].into_iter().flatten().any(|at| at.join(named).exists())
        };
        for (index, line) in source.text.lines().enumerate().filter(|(_, line)| line.starts_with("//! |")) {
            let missing = paths_in(line, &ENDINGS_IN_TABLES).into_iter().filter(|named| !is_here(named));
            broken.extend(missing.map(|named| format!("{}:{}: `{named}`", source.path, index + 1)));
        }
    }
    forbid("the table at the head of a file names files and folders that exist", broken);
}

#[test]
fn a_path_that_does_not_exist_is_found() {
    let known = ["crates/toolway/src/server/", "crates/toolway/src/server/run.rs", "xtask/src/deep.rs"];
    let missing = |text: &str| missing_paths(text, |path| known.contains(&path));
    for right in [
        "`toolway/src/server/run.rs`, `server/run.rs`, `xtask/src/deep.rs`",
        "the files are in `server/`:\n\n| 1 | `run.rs` |",
        "`server/run.rs` over `run.rs`",
        "`xtask/src/{deep,deep}.rs` and every `mod.rs`",
        "```\n`lost.rs`\n```",
        "`tools/call`, `cargo xtask deep`, `DIR/<revision>/schema.json`, `/health/`",
    ] {
        assert!(missing(right).is_empty(), "{right}");
    }
    for (wrong, line, path) in [
        ("`run.rs`", 1_usize, "run.rs"),
        ("in `server/`\n# Another section\n`run.rs`", 3, "run.rs"),
        ("`server/`\n`server/lost/`", 2, "server/lost/"),
        ("`xtask/src/{deep,lost}.rs`", 1, "xtask/src/lost.rs"),
    ] {
        assert_eq!(missing(wrong), [(line, path.to_owned())], "{wrong}");
    }
    assert!(exists("crates/toolway/tests/tidy/*.rs") && !exists("crates/toolway/tests/tidy/*.toml"));
    assert_eq!(links_in("[a](b.md#c), [d](https://e.f) and [g](#h)"), ["b.md"]);
}

/// Returns the paths of a document that do not exist, with the numbers of their lines.
fn missing_paths(text: &str, exists: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let mut missing = Vec::new();
    let mut section: Vec<String> = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if line.starts_with('#') {
            section.clear();
        }
        let paths = if is_code { Vec::new() } else { paths_in(line, &ENDINGS) };
        let mut earlier: Vec<String> = Vec::new();
        for path in paths {
            let bases = BASES.into_iter().chain(earlier.iter().chain(&section).map(String::as_str));
            let found = bases.map(|base| format!("{base}{path}")).find(|path| exists(path));
            match found {
                Some(found) => {
                    earlier.extend(found.match_indices('/').map(|(at, _)| found[..=at].to_owned()));
                    section.extend(found.ends_with('/').then_some(found));
                }
                None => missing.push((index + 1, path)),
            }
        }
    }
    missing
}

/// Returns the paths among the code spans of a line. `a/{b,c}.rs` is two paths.
pub(super) fn paths_in(line: &str, endings: &[&str]) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-./{},*".contains(letter);
    let is_path = |span: &&str| {
        endings.iter().any(|ending| span.ends_with(ending))
            && span.chars().all(is_part)
            && !span.starts_with('/')
            && !ANY_FOLDER.contains(span)
    };
    code_spans(line).filter(is_path).flat_map(expand).collect()
}

/// Returns the code spans of a line.
pub(super) fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn expand(span: &str) -> Vec<String> {
    let braces = span.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?)));
    match braces {
        Some((start, (names, end))) => names.split(',').map(|name| format!("{start}{name}{end}")).collect(),
        None => vec![span.to_owned()],
    }
}

/// Returns the targets of the links to other files of the repository, without their anchors.
fn links_in(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// Returns whether a path from the root leads to a file or, if it ends with a slash, to a folder. A `*` in the name of a
/// file stands for any text.
fn exists(path: &str) -> bool {
    let full = root().join(path);
    match path.rsplit_once('*') {
        Some((_, ending)) => full.parent().is_some_and(|folder| has_file(folder, ending)),
        None if path.ends_with('/') => full.is_dir(),
        None => full.is_file(),
    }
}

fn has_file(folder: &Path, ending: &str) -> bool {
    let mut files = folder.read_dir().into_iter().flatten().flatten();
    files.any(|file| file.file_name().to_string_lossy().ends_with(ending))
}
