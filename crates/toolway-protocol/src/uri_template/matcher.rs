//! Which values does a URI contain?
//!
//! Each byte is examined a fixed number of times, and a parameter's name once for each variable of the query. Matching
//! needs neither recursion nor backtracking. Values are decoded after the URI is split, so an encoded delimiter never
//! moves a boundary. Then each value is checked: a URI with a value that could leave its path segment, such as `..`, is
//! not a match.

use super::parts::Modifier;
use super::percent::{AllowedCharacters, decode, decode_fully, normalize};
use super::plan::{Capture, CaptureKind, NamedSlot, Plan, Section, Slot, Token};
use super::values::Value;

/// The state of a match.
#[derive(Default)]
pub(super) struct Matcher {
    /// The number of bytes and names examined.
    pub(super) steps: usize,
    /// Variables by their index in the template, with their values.
    pub(super) found: Vec<(usize, Value)>,
}

/// The consequence of a missing variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingVariable {
    Allowed,
    NoMatch,
}

impl Matcher {
    pub(super) fn match_uri(&mut self, plan: &Plan, uri: &str) -> Option<()> {
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
        self.match_section(&plan.path, path)?;
        match (&plan.query, query) {
            (None, None) => {}
            (None, Some(query)) => self.match_named(&plan.named, query, '&', MissingVariable::Allowed)?,
            (Some(_), None) => return None,
            (Some(section), Some(query)) => {
                let named = query.match_indices('&').nth(plan.ampersands).filter(|_| !plan.named.is_empty());
                let (fixed, named) = match named {
                    Some((at, _)) => (&query[..at], Some(&query[at + 1..])),
                    None => (query, None),
                };
                self.match_section(section, fixed)?;
                if let Some(named) = named {
                    self.match_named(&plan.named, named, '&', MissingVariable::Allowed)?;
                }
            }
        }
        if let Some(section) = &plan.fragment {
            self.match_section(section, fragment)?;
        }
        self.found.sort_by_key(|(variable, _)| *variable);
        Some(())
    }

    fn match_section(&mut self, section: &Section, text: &str) -> Option<()> {
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
                    self.match_capture(capture, &rest[..end])?;
                    rest = behind;
                }
            }
        }
        for token in after.iter().rev() {
            match (token, open.take()) {
                // All parameters are required, so their number tells where they begin.
                (Token::Capture(Capture { kind: CaptureKind::Parameters(named), .. }), _) => {
                    self.steps += rest.len();
                    let (end, _) = rest.rmatch_indices(';').nth(named.len() - 1)?;
                    self.steps -= end;
                    self.match_named(named, &rest[end + 1..], ';', MissingVariable::NoMatch)?;
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
                    self.match_capture(capture, &rest[end + literal.len()..])?;
                    rest = &rest[..end];
                }
            }
        }
        self.match_capture(middle, rest)
    }

    fn match_capture(&mut self, capture: &Capture, raw: &str) -> Option<()> {
        self.steps += raw.len();
        if raw.is_empty() || raw.contains(capture.stops) {
            return None;
        }
        match &capture.kind {
            CaptureKind::Text(slot) => {
                let text = self.decode_value(*slot, raw)?;
                self.found.push((slot.variable, Value::Text(text)));
            }
            CaptureKind::List(slot, separator) => {
                let items = raw.split(*separator).map(|item| match item {
                    "" => None,
                    item => self.decode_value(*slot, item),
                });
                let items = items.collect::<Option<_>>()?;
                self.found.push((slot.variable, Value::List(items)));
            }
            CaptureKind::Parameters(named) => self.match_named(named, raw, ';', MissingVariable::NoMatch)?,
        }
        Some(())
    }

    /// Matches `name=value` pairs, or bare names for empty values, in any order.
    fn match_named(
        &mut self,
        named: &[NamedSlot],
        text: &str,
        separator: char,
        absence: MissingVariable,
    ) -> Option<()> {
        self.steps += text.len();
        if text.contains(['/', '?', '#']) {
            return None;
        }
        let first = self.found.len();
        for pair in text.split(separator) {
            self.steps += 2 * named.len();
            let (name, raw) = pair.split_once('=').unwrap_or((pair, ""));
            let NamedSlot { slot, .. } = named.iter().find(|named| named.name == name)?;
            let value = self.decode_value(*slot, raw)?;
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
        let is_complete = absence == MissingVariable::Allowed || self.found.len() - first == named.len();
        is_complete.then_some(())
    }

    /// Decodes and checks one value.
    fn decode_value(&mut self, slot: Slot, raw: &str) -> Option<String> {
        self.steps += 3 * raw.len();
        let value = decode(raw)?;
        let stays = match slot.allowed_characters {
            AllowedCharacters::Unreserved => {
                !matches!(&*value, "." | "..") && !value.contains(['/', '\\', '\0'])
            }
            // The value may be inserted into another URI or decoded again, so the check looks at the fully decoded
            // value.
            AllowedCharacters::Reserved => {
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
