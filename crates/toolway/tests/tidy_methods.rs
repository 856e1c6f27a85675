//! Does a new method reach every place that has to decide about it? No `match` may hide it behind a catch-all arm.
//!
//! The table in `toolway-protocol/src/method.rs` makes the enums below. Where a `match` names one of their variants, it has to name
//! all of them, so that a new row is an error of the compiler at each such place. `if let`, `let … else` and `matches!` are for
//! questions about one variant. Clippy's `wildcard_enum_match_arm` asks the same of every enum there is, which is noise.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use toolway_protocol::Method;

#[test]
fn no_match_on_what_the_method_table_makes_has_a_catch_all_arm() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut broken = Vec::new();
    for folder in ["crates", "xtask", "conformance", "interop", "bench/src"] {
        walk(&root.join(folder), &mut |path, text| {
            broken.extend(hidden(text).into_iter().map(|line| format!("{}:{line}", path.display())));
        });
    }
    assert!(broken.is_empty(), "name all variants, or use `if let`:\n{}", broken.join("\n"));
}

#[test]
fn the_client_can_send_every_request_that_a_server_answers() {
    let mut client = String::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/client"), &mut |_, text| client.push_str(text));
    let is_sent = |method: &&Method| {
        // Lists are made by a macro that is given the name alone.
        [format!("Request::{method:?}("), format!(", {method:?},")].iter().any(|part| client.contains(part))
    };
    let answered = Method::ALL.iter().filter(|method| method.offered_by().is_some());
    let unsent: Vec<_> = answered.filter(|method| !is_sent(method)).collect();
    assert!(unsent.is_empty(), "a request that the client cannot send: {unsent:?}");
}

#[test]
fn a_catch_all_arm_is_found() {
    let sample = "match method {\n    Method::Ping => 1,\n    Method::Listen | Method::Complete => 2,\n    _ => 3,\n}\n";
    assert_eq!(hidden(sample), [4]);
    for (from, to, is_hidden) in [
        ("_ =>", "other =>", true),
        ("_ =>", "_ if late() =>", true),
        ("Method::", "Request::", true),
        ("Method::", "http::", false),
        ("_ =>", "Method::Ping =>", false),
        ("_ =>", "}\nmatch other {\n    _ =>", false),
    ] {
        assert_eq!(!hidden(&sample.replace(from, to)).is_empty(), is_hidden, "{to}");
    }
}

/// The enums that come from the table beside those whose variants are methods, and the ones inside of them.
const OTHERS: [(&str, &[&str]); 5] = [
    ("Outcome", &["Complete", "NeedInput"]),
    ("Elicit", &["Form", "Url"]),
    ("Reference", &["Prompt", "Resource"]),
    (
        "Reply",
        &[
            "Tools",
            "Resources",
            "ResourceTemplates",
            "Prompts",
            "ToolCalled",
            "ResourceRead",
            "PromptFilled",
            "Completed",
            "Custom",
            "Done",
        ],
    ),
    ("Method", &["Other"]),
];

/// Whether a pattern names a variant. Other enums have the same names (`http::Method`), but not the same variants.
fn names_a_variant(pattern: &str) -> bool {
    let has = |name: &str, variant: &str| {
        let path = format!("{name}::{variant}");
        pattern.match_indices(&path).any(|(at, _)| {
            let is_part = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
            !is_part(pattern[at + path.len()..].chars().next()) && !is_part(pattern[..at].chars().next_back())
        })
    };
    let is_method = |name| Method::ALL.iter().any(|method| has(name, &format!("{method:?}")));
    ["Method", "Request", "Notification", "InputRequest", "InputResponse"].into_iter().any(is_method)
        || has("Request", "Other")
        || OTHERS.iter().any(|(name, variants)| variants.iter().any(|variant| has(name, variant)))
}

/// The lines with an arm that takes everything, beside one that names a variant. It relies on rustfmt: the arms of a `match`
/// begin in the same column, and everything inside of them further right.
fn hidden(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let is_catch_all = |line: &str| {
        let pattern = line.trim_start().split([' ', '@']).next().unwrap_or_default();
        let is_name = pattern.starts_with(|first: char| first.is_lowercase() || first == '_')
            && pattern.chars().all(|char| char.is_alphanumeric() || char == '_');
        let rest = line.trim_start().strip_prefix(pattern).unwrap_or_default();
        is_name && (rest.starts_with(" =>") || (rest.starts_with(" if ") && rest.contains(" =>")))
    };
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_catch_all(line)) {
        let deep = depth(line);
        let is_inside = |other: &&&str| other.trim().is_empty() || depth(other) >= deep;
        let before = lines[..at].iter().rev().take_while(is_inside);
        let after = lines[at + 1..].iter().take_while(is_inside);
        let mut arms = before.chain(after).filter(|other| depth(other) == deep);
        // A comment is not an arm, and a guard or what stands behind `=>` is not a pattern.
        if arms.any(|arm| {
            !arm.trim_start().starts_with("//")
                && names_a_variant(
                    arm.split(" =>").next().and_then(|arm| arm.split(" if ").next()).unwrap_or_default(),
                )
        }) {
            found.push(at + 1);
        }
    }
    found
}

fn walk(folder: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // A test or an example may be about a few variants.
            if !["target", "tests", "examples"].iter().any(|name| path.ends_with(name)) {
                walk(&path, look);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
