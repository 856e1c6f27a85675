//! Are comments and documents written in plain technical English?
//!
//! The rules are those of the standard library's docs: the subject of a sentence is a noun of the field, an item's doc begins with a
//! verb in the third person or a noun phrase, and "is not an X" takes the place of "is no X".

use std::path::Path;

use super::{LIBRARY, forbid, root, sources};

/// Subjects that say nothing about who acts: name the client, the caller, the handler, the operator instead.
const WORDS: [&str; 5] = ["somebody", "nobody", "anybody", "everybody", "whoever"];
/// Phrases with a plainer one: "is not a", "resume" or "reconnect to", "leave out".
const PHRASES: [&str; 3] = ["is no ", "come back to", "leave away"];
/// What may follow "is no ".
const AFTER_IS_NO: [&str; 3] = ["longer", "more ", "less "];
/// The doc of an item of the library describes the item, and asks nothing. The head of a file may ask. In examples and tests, such
/// docs are descriptions for models.
const HEADS: [&str; 4] = ["What", "Who", "Whose", "Whether"];

const SOURCES: [&str; 6] = ["crates", "examples", "bench/src", "conformance/src", "interop/src", "xtask/src"];
const DOCUMENTS: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples/README.md"];

/// Lines that have to break a rule: the path, and a part of the line. Descriptions for models and users, names of tests, and texts
/// of errors are data.
const ALLOWED: [(&str, &str); 14] = [
    ("crates/toolway/tests/tidy/english.rs", ""),
    ("crates/toolway-cli/src/demo.rs", "Who is greeted"),
    ("crates/toolway-cli/src/files/mod.rs", "/// What"),
    ("crates/toolway-cli/src/files/mod.rs", "/// Whether"),
    ("crates/toolway-cli/src/files/sandboxed_dir.rs", "What it is."),
    ("crates/toolway-protocol/src/jsonrpc/parse.rs", "that is no notification"),
    ("crates/toolway/src/schema/generate_tests.rs", "What it is called."),
    ("crates/toolway/src/server/call/memory_record.rs", "MemoryError::Nobody"),
    ("docs/advisories.md", ".rs::"),
    ("docs/design/guards.md", ".rs::"),
    ("docs/features.md", ".rs::"),
    ("docs/scoreboard.md", ".rs::"),
    ("docs/scoreboard.md", "`run "),
    ("docs/troubleshooting.md", "###"),
];

#[test]
fn comments_and_documents_are_in_plain_english() {
    let mut broken = Vec::new();
    for source in sources(&SOURCES).iter().filter(|source| !source.path.contains("/tests/ui/")) {
        let is_library = LIBRARY.iter().any(|folder| source.path.starts_with(folder));
        let mut is_doc_before = false;
        for (index, line) in source.text.lines().enumerate() {
            let comment = comment_of(line);
            let is_doc = is_library && line.trim_start().starts_with("///");
            let mistake = comment
                .and_then(|comment| mistake_in(comment, is_doc && !is_doc_before))
                .filter(|_| !is_allowed(&source.path, line));
            is_doc_before = is_doc;
            broken.extend(
                mistake.map(|mistake| format!("{}:{}: {mistake}: {}", source.path, index + 1, line.trim())),
            );
        }
    }
    for (path, text) in documents() {
        let mut is_code = false;
        for (index, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            let mistake = mistake_in(line, false).filter(|_| !is_code && !is_allowed(&path, line));
            broken.extend(mistake.map(|mistake| format!("{path}:{}: {mistake}: {}", index + 1, line.trim())));
        }
    }
    forbid("comments and documents are in plain English (CONTRIBUTING.md, \"Style\")", broken);
}

#[test]
fn each_rule_of_english_can_fail() {
    let is_wrong = |line: &str, is_head| mistake_in(comment_of(line).unwrap(), is_head).is_some();
    assert!(is_wrong("    // Nobody waits.", false));
    assert!(is_wrong("let a = 1; // it is no tool", false));
    assert!(!is_wrong("// it is no longer open", false));
    assert!(!is_wrong("// there is no session", false));
    assert!(is_wrong("/// Whether it is open.", true));
    assert!(!is_wrong("/// Returns true if it is open.", true));
    assert!(!is_wrong("/// Whether it is open.", false), "only the first line of a doc is its head");
    assert!(comment_of(r#"let url = "http://example.com/is no tool";"#).is_none());
}

/// The comment of a line. A `//` inside of a string is preceded by a quote or a colon.
fn comment_of(line: &str) -> Option<&str> {
    line.match_indices("//")
        .find(|(at, _)| !line[..*at].ends_with([':', '"', '\'']))
        .map(|(at, _)| &line[at..])
}

/// The rule that a text breaks.
fn mistake_in(text: &str, is_head: bool) -> Option<String> {
    let lower = text.to_lowercase();
    let words = || lower.split(|letter: char| !letter.is_alphabetic());
    if let Some(word) = WORDS.iter().find(|word| words().any(|found| found == **word)) {
        return Some(format!("\"{word}\""));
    }
    for phrase in PHRASES {
        let is_meant = |(at, found): (usize, &str)| {
            let (before, rest) = (&lower[..at], &lower[at + found.len()..]);
            let is_fine = before.ends_with("there ") || AFTER_IS_NO.iter().any(|fine| rest.starts_with(fine));
            !before.ends_with(char::is_alphabetic) && !is_fine
        };
        if lower.match_indices(phrase).any(is_meant) {
            return Some(format!("\"{phrase}\""));
        }
    }
    let head = text.trim_start_matches('/').trim_start().split(|letter: char| !letter.is_alphabetic()).next();
    let head = head.filter(|head| is_head && HEADS.contains(head))?;
    Some(format!("the doc of an item begins with \"{head}\""))
}

fn is_allowed(path: &str, line: &str) -> bool {
    ALLOWED.iter().any(|(allowed, part)| *allowed == path && line.contains(part))
}

/// Documents that readers meet, with their paths.
fn documents() -> Vec<(String, String)> {
    fn walk(path: &Path, found: &mut Vec<(String, String)>) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let relative = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            found.push((relative, std::fs::read_to_string(path).unwrap()));
        }
    }
    let mut found = Vec::new();
    for document in DOCUMENTS {
        walk(&root().join(document), &mut found);
    }
    found
}
