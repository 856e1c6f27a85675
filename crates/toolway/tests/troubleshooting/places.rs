//! Where in an error of the page are the words of a literal?

use std::ops::Range;

/// Returns the places of a literal's words in a message: its parts in order, with anything between them.
pub(crate) fn places(literal: &str, message: &str) -> Option<Vec<Range<usize>>> {
    let parts: Vec<_> = literal.split('…').map(str::trim).filter(|part| !part.is_empty()).collect();
    let first = parts.first()?;
    let mut from = 0;
    while let Some(at) = message[from..].find(first) {
        let start = from + at;
        if let Some(found) = in_order(&parts, message, start) {
            return Some(found);
        }
        from = start + message[start..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

fn in_order(parts: &[&str], message: &str, start: usize) -> Option<Vec<Range<usize>>> {
    let mut from = start;
    let mut found = Vec::new();
    for part in parts {
        let at = message[from..]
            .match_indices(part)
            .map(|(at, _)| from + at)
            .find(|at| is_whole(message, *at, part))?;
        found.push(at..at + part.len());
        from = at + part.len();
    }
    (found.first()?.start == start).then_some(found)
}

/// Returns whether a part consists of whole words.
fn is_whole(message: &str, at: usize, part: &str) -> bool {
    let word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let begins = !(word(part.chars().next()) && word(message[..at].chars().next_back()));
    begins && !(word(part.chars().next_back()) && word(message[at + part.len()..].chars().next()))
}
