//! Which message is this, when it is too long to be kept?
//!
//! A message above the size limit is thrown away while it streams by. An answer to it still needs its id, and some writers put
//! the id last. So the bytes pass through a small reader that follows the grammar of JSON as far as it must: it knows where the
//! members of the outermost object begin and end, and keeps nothing but the id.

use super::Id;
use super::parse::read_id;
use crate::json::scan::unescape;

/// The most bytes that are kept of a key or an id, quotes and escapes included. A longer id is not read.
const MAX_KEPT: usize = 4 << 10;

/// The kind of a message that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skimmed {
    /// A request with this id.
    Request(Id),
    /// A notification.
    Notification,
    /// The reply to the request with this id.
    Reply(Id),
    /// None of these, or more than one of them: a batch, an id that cannot be read or comes twice, text that is not JSON.
    Unknown,
}

/// Finds out what a message is while its bytes pass, in a fixed amount of memory.
///
/// The values of other members are not checked: the message is refused whatever it holds.
///
/// ```
/// use toolway_protocol::jsonrpc::{Skimmed, Skimmer};
///
/// let mut skimmer = Skimmer::default();
/// for piece in [r#"{"method":"tools/call","params":{"id":"#, r#"1},"jsonrpc":"2.0","i"#, r#"d":7}"#] {
///     skimmer.push(piece.as_bytes());
/// }
/// assert_eq!(skimmer.finish(), Skimmed::Request(7.into()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Skimmer {
    place: Place,
    /// Relative to a string, which may be a key or stand anywhere in a value.
    text: Text,
    /// How many objects and arrays of a value are open.
    nested: usize,
    /// The bytes that are being read, if they are wanted: a key, or the value of `id`.
    kept: Vec<u8>,
    /// Whether the value that is read is that of `id`.
    is_id: bool,
    id: Found,
    has_method: bool,
    has_outcome: bool,
}

/// Where in the outermost object the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Start,
    /// Before the first key, or the end of an empty object.
    First,
    /// Before a key that must come.
    Next,
    Key,
    Colon,
    Before,
    Value,
    /// Before a comma or the end.
    After,
    End,
    /// This is not an object.
    Broken,
}

/// Where the next byte stands, seen from a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Inside, after a backslash.
    Escaped,
}

#[derive(Debug, Clone, Default)]
enum Found {
    #[default]
    Nothing,
    Id(Id),
    /// It comes twice, or is not an id.
    Useless,
}

impl Skimmer {
    /// Takes the next piece of the message.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            if self.place == Place::Broken {
                return;
            }
            if !matches!(self.place, Place::Key | Place::Value) {
                let blank = bytes.iter().position(|byte| !is_space(*byte)).unwrap_or(bytes.len());
                if blank > 0 {
                    bytes = &bytes[blank..];
                    continue;
                }
            }
            if self.text == Text::Inside && !self.keeps() {
                // Most of a long message is one long string.
                let plain = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(bytes.len());
                if plain > 0 {
                    bytes = &bytes[plain..];
                    continue;
                }
            }
            self.take(byte);
            bytes = &bytes[1..];
        }
    }

    /// Tells which kind of message it was, at its end.
    pub fn finish(self) -> Skimmed {
        match (self.place, self.id) {
            (Place::End, Found::Id(id)) if self.has_method && !self.has_outcome => Skimmed::Request(id),
            (Place::End, Found::Id(id)) if self.has_outcome && !self.has_method => Skimmed::Reply(id),
            (Place::End, Found::Nothing) if self.has_method && !self.has_outcome => Skimmed::Notification,
            _ => Skimmed::Unknown,
        }
    }

    fn keeps(&self) -> bool {
        (self.place == Place::Key || self.is_id) && self.kept.len() <= MAX_KEPT
    }

    fn take(&mut self, byte: u8) {
        if matches!(self.place, Place::Key | Place::Value) {
            return self.inside(byte);
        }
        self.place = match (self.place, byte) {
            (Place::Start, b'{') => Place::First,
            (Place::First | Place::After, b'}') => Place::End,
            (Place::First | Place::Next, b'"') => {
                self.begin(Place::Key, byte);
                return;
            }
            (Place::Colon, b':') => Place::Before,
            (Place::Before, b'}' | b']' | b',' | b':') => Place::Broken,
            (Place::Before, _) => {
                self.begin(Place::Value, byte);
                return;
            }
            (Place::After, b',') => Place::Next,
            _ => Place::Broken,
        };
    }

    fn begin(&mut self, place: Place, byte: u8) {
        self.place = place;
        self.kept.clear();
        self.inside(byte);
    }

    /// Takes a byte of a key or a value.
    fn inside(&mut self, byte: u8) {
        let is_key = self.place == Place::Key;
        if self.text != Text::Outside {
            self.keep(byte);
            self.text = match (self.text, byte) {
                (Text::Inside, b'\\') => Text::Escaped,
                (Text::Inside, b'"') => Text::Outside,
                _ => Text::Inside,
            };
            if self.text == Text::Outside {
                if is_key {
                    self.end_of_key();
                } else if self.nested == 0 {
                    self.end_of_value(Place::After);
                }
            }
            return;
        }
        match byte {
            b'"' => self.text = Text::Inside,
            b'{' | b'[' => self.nested += 1,
            b'}' | b']' if self.nested > 0 => {
                self.nested -= 1;
                if self.nested == 0 {
                    self.keep(byte);
                    return self.end_of_value(Place::After);
                }
            }
            // These end a number or a word, which has no end of its own.
            b',' if self.nested == 0 => return self.end_of_value(Place::Next),
            b'}' => return self.end_of_value(Place::End),
            b']' => {
                self.place = Place::Broken;
                return;
            }
            _ if is_space(byte) && self.nested == 0 => return self.end_of_value(Place::After),
            _ => {}
        }
        self.keep(byte);
    }

    fn keep(&mut self, byte: u8) {
        if self.keeps() {
            self.kept.push(byte);
        }
    }

    fn end_of_key(&mut self) {
        self.place = Place::Colon;
        self.is_id = false;
        match unescape(&self.kept).as_deref() {
            Some("id") => self.is_id = true,
            Some("method") => self.has_method = true,
            Some("result" | "error") => self.has_outcome = true,
            _ => {}
        }
    }

    fn end_of_value(&mut self, place: Place) {
        self.place = place;
        if std::mem::take(&mut self.is_id) {
            self.id = match (&self.id, read_id(&self.kept)) {
                (Found::Nothing, Ok(id)) if self.kept.len() <= MAX_KEPT => Found::Id(id),
                _ => Found::Useless,
            };
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the text in pieces of every size; what is found must not depend on how it was cut.
    fn skim(text: &str) -> Skimmed {
        let found = |size: usize| {
            let mut skimmer = Skimmer::default();
            text.as_bytes().chunks(size).for_each(|piece| skimmer.push(piece));
            assert!(skimmer.kept.len() <= MAX_KEPT + 1);
            skimmer.finish()
        };
        let whole = found(text.len().max(1));
        for size in 1..text.len().min(200) {
            assert_eq!(found(size), whole, "{text} cut into {size}");
        }
        whole
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{}}"#, Skimmed::Request(7.into())),
            (r#"{"params":{"id":1,"x":[{"id":2}]},"method":"a","id":7}"#, Skimmed::Request(7.into())),
            (" { \"id\" : 7 , \"method\" : \"a\" } ", Skimmed::Request(7.into())),
            (r#"{"id":"a\"}b\\","method":"id"}"#, Skimmed::Request("a\"}b\\".into())),
            (r#"{"\u0069d":-7,"m\u0065thod":"a"}"#, Skimmed::Request((-7).into())),
            (r#"{"x":true,"id":7,"method":null}"#, Skimmed::Request(7.into())),
            (r#"{"method":"a","params":{"id":7}}"#, Skimmed::Notification),
            (r#"{"id":7,"result":{"method":"a"}}"#, Skimmed::Reply(7.into())),
            (r#"{"error":{"code":1,"message":"\\"},"id":"7"}"#, Skimmed::Reply("7".into())),
        ] {
            assert_eq!(skim(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_doubtful_is_unknown() {
        for text in [
            "",
            "{}",
            r#"{"id":7}"#,
            r#"{"id":7,"method":"a","result":1}"#,
            r#"{"id":7,"method":"a","id":8}"#,
            r#"{"id":7,"method":"a","id":7}"#,
            r#"{"id":null,"method":"a"}"#,
            r#"{"id":7.5,"method":"a"}"#,
            r#"{"id":{"id":7},"method":"a"}"#,
            r#"{"id":[7],"method":"a"}"#,
            r#"{"id":7,"method":"a""#,
            r#"{"id":7,"method":"a"}}"#,
            r#"{"id":7,"method":"a"},"#,
            r#"{"id":7 8,"method":"a"}"#,
            r#"{"id" 7,"method":"a"}"#,
            r#"{"id":7,"method":"a",}"#,
            r#"{"id":,"method":"a"}"#,
            r#"{,"id":7,"method":"a"}"#,
            r#"[{"id":7,"method":"a"}]"#,
            r#"x{"id":7,"method":"a"}"#,
            r#""id":7,"method":"a"}"#,
        ] {
            assert_eq!(skim(text), Skimmed::Unknown, "{text}");
        }
        let long = "x".repeat(MAX_KEPT);
        assert_eq!(skim(&format!(r#"{{"id":"{long}","method":"a"}}"#)), Skimmed::Unknown);
        let short = &long[..MAX_KEPT - 2];
        assert_eq!(skim(&format!(r#"{{"id":"{short}","method":"a"}}"#)), Skimmed::Request(short.into()));
        assert_eq!(skim(&format!(r#"{{"{long}":1,"id":7,"method":"a"}}"#)), Skimmed::Request(7.into()));
    }
}
