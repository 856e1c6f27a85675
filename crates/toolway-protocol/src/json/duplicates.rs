//! Which key does an object have twice?

use std::borrow::Cow;
use std::collections::HashSet;

use super::escape::unescape;
use super::scan::{Limits, MAX_DEPTH, ScanError, Scanner, ValueKind};

/// A key that its object has twice.
#[derive(Debug)]
pub(crate) struct Duplicate {
    /// The position of the colon behind the second of the two keys.
    pub(crate) position: u32,
    /// The path of the key: `params.arguments.list[2].name`.
    pub(crate) path: String,
}

/// Finds the outermost object of a well-formed text that has a key twice. The text begins at `start`.
#[cold]
#[inline(never)]
pub(crate) fn find_duplicate(text: &str, start: usize) -> Option<Box<Duplicate>> {
    let mut scanner = Scanner::new(text, Limits { depth: MAX_DEPTH, nodes: u32::MAX });
    let mut search = DuplicateSearch { start, path: Vec::new(), found: None };
    // The text was scanned before, with lower limits.
    let _ = search.value(&mut scanner);
    search.found
}

struct DuplicateSearch<'a> {
    start: usize,
    path: Vec<Step<'a>>,
    found: Option<Box<Duplicate>>,
}

enum Step<'a> {
    Member(Cow<'a, str>),
    Item(usize),
}

impl<'a> DuplicateSearch<'a> {
    fn value(&mut self, scanner: &mut Scanner<'a>) -> Result<(), ScanError> {
        match scanner.peek()? {
            ValueKind::Object => self.object(scanner),
            ValueKind::Array => {
                let mut index = 0;
                let walk = scanner.array(|scanner| {
                    self.path.push(Step::Item(index));
                    index += 1;
                    self.value(scanner)?;
                    self.path.pop();
                    Ok(())
                });
                walk.map(drop)
            }
            _ => scanner.skip_value().map(drop),
        }
    }

    fn object(&mut self, scanner: &mut Scanner<'a>) -> Result<(), ScanError> {
        // The hasher has a random seed: a peer may choose hundreds of thousands of keys.
        let mut known = HashSet::new();
        let mut duplicate = None;
        scanner.members(|scanner, quoted, is_escaped| {
            let key = content(quoted, is_escaped);
            let is_new = known.insert(key.clone());
            self.path.push(Step::Member(key));
            if !is_new && duplicate.is_none() {
                duplicate = Some(Box::new(self.describe(scanner)));
            }
            self.value(scanner)?;
            self.path.pop();
            Ok(())
        })?;
        // This object ends after the objects inside it.
        if duplicate.is_some() {
            self.found = duplicate;
        }
        Ok(())
    }

    fn describe(&self, scanner: &Scanner<'_>) -> Duplicate {
        let colon = u32::try_from(self.start + scanner.position() - 1);
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) if path.is_empty() => path.push_str(name),
                Step::Member(name) => path.extend([".", name]),
                Step::Item(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        // A peer may send megabytes as a key.
        if let Some((end, _)) = path.char_indices().nth(MAX_PATH) {
            path.truncate(end);
            path.push('…');
        }
        Duplicate { position: colon.expect("frames are capped far below 4 GiB"), path }
    }
}

/// Returns the content of a key: `"\u0061"` is the key `a`. Half of a surrogate pair has no content but itself.
fn content(quoted: &str, is_escaped: bool) -> Cow<'_, str> {
    let unescaped = if is_escaped { unescape(quoted.as_bytes()) } else { None };
    unescaped.unwrap_or(Cow::Borrowed(&quoted[1..quoted.len() - 1]))
}

/// The maximum number of characters of a path in an error.
const MAX_PATH: usize = 200;
