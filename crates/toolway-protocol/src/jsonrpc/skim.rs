//! Which message is this, if it is too long to be kept?
//!
//! A message above the size limit is discarded while it streams in. The error reply still needs the id of the message,
//! and some peers write the id last. So the bytes pass through a small reader that follows as much of the JSON grammar
//! as it needs: it knows where the members of the outermost object begin and end, and keeps only the id.

use super::Id;
use super::parse::read_id;
use crate::json::scan::unescape;

/// The maximum number of bytes kept of a key or an id, including quotes and escapes. A longer id is not read.
const MAX_KEPT: usize = 4 << 10;

/// The kind of a discarded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skimmed {
    /// A request with this id.
    Request(Id),
    /// A notification.
    Notification,
    /// The reply to the request with this id.
    Reply(Id),
    /// The kind is unclear: a batch, an id that is unreadable or occurs twice, or text that is not JSON.
    Unknown,
}

/// Determines the kind of a message from its bytes as they arrive, in a fixed amount of memory.
///
/// The values of other members are not checked, because the message is refused in any case.
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
    /// The position relative to a string, which may be a key or part of a value.
    text: Text,
    /// The number of open objects and arrays inside the value.
    nested: usize,
    /// The bytes of the current key, or of the value of `id`.
    kept: Vec<u8>,
    /// `true` if the current value is that of `id`.
    is_id: bool,
    id: Found,
    has_method: bool,
    has_outcome: bool,
}

/// The position of the next byte in the outermost object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Start,
    /// Before the first key, or the end of an empty object.
    First,
    /// Before a required key.
    Next,
    Key,
    Colon,
    Before,
    Value,
    /// Before a comma or the end.
    After,
    End,
    /// The text is not a valid object.
    Broken,
}

/// The position of the next byte relative to a string.
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
    /// The id occurs twice, or is not valid.
    Useless,
}

impl Skimmer {
    /// Reads the next piece of the message.
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
                // Fast path: most of a long message is one long string.
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

    /// Returns the kind of the message, after its last byte.
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

    /// Reads a byte of a key or a value.
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
            // These bytes end a number or a literal, which has no terminator of its own.
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

    /// Feeds the text in pieces of every size. The result must not depend on how the text is split.
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
