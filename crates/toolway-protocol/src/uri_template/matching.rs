//! Which values does a URI contain?
//!
//! Each byte is examined a fixed number of times, and a parameter's name once for each variable of the query. Matching
//! needs neither recursion nor backtracking. Values are decoded after the URI is split, so an encoded delimiter never
//! moves a boundary. Then each value is checked: a URI with a value that could leave its path segment, such as `..`, is
//! not a match.

use super::parts::Modifier;
use super::percent::{Keep, decode, decode_fully, normalize};
use super::plan::{Capture, Named, Plan, Section, Slot, Takes, Token};
use super::values::Value;

/// The state of a match.
#[derive(Default)]
pub(super) struct Matching {
    /// The number of bytes and names examined.
    pub(super) steps: usize,
    /// Variables by their index in the template, with their values.
    pub(super) found: Vec<(usize, Value)>,
}

/// The consequence of a missing variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absence {
    IsFine,
    IsNoMatch,
}

impl Matching {
    pub(super) fn uri(&mut self, plan: &Plan, uri: &str) -> Option<()> {
        self.steps += uri.len();
        let uri = normalize(uri)?;
        // The factor 3 counts the two splits of the URI and the search for ampersands.
        self.steps += 3 * uri.len();
        let (uri, fragment) = match &plan.fragment {
            Some(_) => uri.split_once('#')?,
            None => (&*uri, ""),
        };
        let has_query = plan.query.is_some() || !plan.named.is_empty();
        let (path, query) = match uri.split_once('?') {
            Some((path, query)) if has_query => (path, Some(query)),
            _ => (uri, None),
        };
        // The path is matched first, because most templates fail there.
        self.section(&plan.path, path)?;
        match (&plan.query, query) {
            (None, None) => {}
            (None, Some(query)) => self.named(&plan.named, query, '&', Absence::IsFine)?,
            (Some(_), None) => return None,
            (Some(section), Some(query)) => {
                let named = query.match_indices('&').nth(plan.ampersands).filter(|_| !plan.named.is_empty());
                let (fixed, named) = match named {
                    Some((at, _)) => (&query[..at], Some(&query[at + 1..])),
                    None => (query, None),
                };
                self.section(section, fixed)?;
                if let Some(named) = named {
                    self.named(&plan.named, named, '&', Absence::IsFine)?;
                }
            }
        }
        if let Some(section) = &plan.fragment {
            self.section(section, fragment)?;
        }
        self.found.sort_by_key(|(variable, _)| *variable);
        Some(())
    }

    fn section(&mut self, section: &Section, text: &str) -> Option<()> {
        let Some(pivot) = section.pivot else {
            self.steps += text.len();
            return match section.tokens.as_slice() {
                [Token::Literal(literal)] => (text == literal).then_some(()),
                _ => text.is_empty().then_some(()),
            };
        };
        let (before, [Token::Capture(middle), after @ ..]) = section.tokens.split_at(pivot) else {
            unreachable!("the pivot is a capture")
        };
        let mut rest = text;
        let mut open = None;
        for token in before {
            match (token, open.take()) {
                (Token::Capture(capture), _) => open = Some(capture),
                (Token::Literal(literal), None) => {
                    self.steps += literal.len().min(rest.len());
                    rest = rest.strip_prefix(literal.as_str())?;
                }
                (Token::Literal(literal), Some(capture)) => {
                    self.steps += rest.len();
                    let end = 1 + rest.get(1..)?.find(literal.as_str())?;
                    let behind = &rest[end + literal.len()..];
                    // A failed search ends the match, so the text before the literal is counted only once.
                    self.steps -= behind.len();
                    self.capture(capture, &rest[..end])?;
                    rest = behind;
                }
            }
        }
        for token in after.iter().rev() {
            match (token, open.take()) {
                // All parameters are required, so their number tells where they begin.
                (Token::Capture(Capture { takes: Takes::Parameters(named), .. }), _) => {
                    self.steps += rest.len();
                    let (end, _) = rest.rmatch_indices(';').nth(named.len() - 1)?;
                    self.steps -= end;
                    self.named(named, &rest[end + 1..], ';', Absence::IsNoMatch)?;
                    rest = &rest[..=end];
                }
                (Token::Capture(capture), _) => open = Some(capture),
                (Token::Literal(literal), None) => {
                    self.steps += literal.len().min(rest.len());
                    rest = rest.strip_suffix(literal.as_str())?;
                }
                (Token::Literal(literal), Some(capture)) => {
                    self.steps += rest.len();
                    let end = rest.get(..rest.len().checked_sub(1)?)?.rfind(literal.as_str())?;
                    self.steps -= end;
                    self.capture(capture, &rest[end + literal.len()..])?;
                    rest = &rest[..end];
                }
            }
        }
        self.capture(middle, rest)
    }

    fn capture(&mut self, capture: &Capture, raw: &str) -> Option<()> {
        self.steps += raw.len();
        if raw.is_empty() || raw.contains(capture.stops) {
            return None;
        }
        match &capture.takes {
            Takes::Text(slot) => {
                let text = self.value(*slot, raw)?;
                self.found.push((slot.variable, Value::Text(text)));
            }
            Takes::List(slot, separator) => {
                let items = raw.split(*separator).map(|item| match item {
                    "" => None,
                    item => self.value(*slot, item),
                });
                let items = items.collect::<Option<_>>()?;
                self.found.push((slot.variable, Value::List(items)));
            }
            Takes::Parameters(named) => self.named(named, raw, ';', Absence::IsNoMatch)?,
        }
        Some(())
    }

    /// Matches `name=value` pairs, or bare names for empty values, in any order.
    fn named(&mut self, named: &[Named], text: &str, separator: char, absence: Absence) -> Option<()> {
        self.steps += text.len();
        if text.contains(['/', '?', '#']) {
            return None;
        }
        let first = self.found.len();
        for pair in text.split(separator) {
            self.steps += 2 * named.len();
            let (name, raw) = pair.split_once('=').unwrap_or((pair, ""));
            let Named { slot, .. } = named.iter().find(|named| named.name == name)?;
            let value = self.value(*slot, raw)?;
            let known = self.found[first..].iter_mut().find(|(variable, _)| *variable == slot.variable);
            match known {
                Some((_, Value::List(items))) => items.push(value),
                Some(_) => return None,
                None if slot.modifier == Modifier::Explode => {
                    self.found.push((slot.variable, Value::List(vec![value])));
                }
                None => self.found.push((slot.variable, Value::Text(value))),
            }
        }
        let is_complete = absence == Absence::IsFine || self.found.len() - first == named.len();
        is_complete.then_some(())
    }

    /// Decodes and checks one value.
    fn value(&mut self, slot: Slot, raw: &str) -> Option<String> {
        self.steps += 3 * raw.len();
        let value = decode(raw)?;
        let stays = match slot.keep {
            Keep::Unreserved => !matches!(&*value, "." | "..") && !value.contains(['/', '\\', '\0']),
            // The value may be inserted into another URI or decoded again, so the check looks at the fully decoded
            // value.
            Keep::Reserved => {
                let bottom = decode_fully(&value);
                !bottom.contains(&0) && bottom.split(|byte| b"/\\?#".contains(byte)).all(|part| part != b"..")
            }
        };
        let fits = match slot.modifier {
            Modifier::Prefix(length) => value.chars().count() <= length,
            Modifier::None | Modifier::Explode => true,
        };
        (stays && fits).then_some(value)
    }
}
