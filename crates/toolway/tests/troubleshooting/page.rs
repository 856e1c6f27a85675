//! Which errors does `docs/troubleshooting.md` contain?
//!
//! Every heading of the third level is an error, and so is every line of a block that is marked as `text`.

use std::path::Path;

/// The errors of the page, in its order; `…` stands for the variable parts.
pub(crate) fn messages() -> Vec<String> {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md"))
            .unwrap();
    let mut found = Vec::new();
    let mut block = None;
    for line in page.lines() {
        match (block, line) {
            (None, line) if line.starts_with("```") => block = Some(line == "```text"),
            (Some(_), "```") => block = None,
            (Some(true), message) => found.push(message.to_owned()),
            (Some(false), _) => {}
            (None, line) => {
                found.extend(line.strip_prefix("### ").map(|code| code_span(code).to_owned()));
            }
        }
    }
    assert!(found.len() > 100, "the page has messages");
    found
}

/// Returns the text in a code span, which may be marked with two backticks and spaces.
fn code_span(code: &str) -> &str {
    let inside = code.trim_matches('`');
    assert_ne!(inside, code, "a heading is an error as it is said, in backticks: {code}");
    if !code.starts_with("``") {
        return inside;
    }
    let inside = code.strip_prefix("``").unwrap().strip_suffix("``").expect("two backticks at both ends");
    inside.trim()
}

/// Returns whether a text matches a message of the page, with anything for its `…`.
pub(crate) fn says(message: &str, text: &str) -> bool {
    let Some((first, holes)) = message.split_once('…') else { return message == text };
    let (middle, last) = holes.rsplit_once('…').unwrap_or(("", holes));
    let inside = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    let in_order = |rest, part| str::split_once(rest, part).map(|(_, rest)| rest);
    inside.is_some_and(|rest| {
        middle
            .split('…')
            .try_fold(rest, |rest, part| if part.is_empty() { Some(rest) } else { in_order(rest, part) })
            .is_some()
    })
}
