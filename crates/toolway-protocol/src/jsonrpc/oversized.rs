//! Which message is this, if it is too long to be kept?
//!
//! A message above the size limit is discarded while it streams in. The error reply still needs the id of the message,
//! and some peers write the id last. So the bytes pass through a small reader that follows as much of the JSON grammar
//! as it needs: it knows where the members of the outermost object begin and end, and keeps only the id.

use super::Id;
use super::parse::read_id;
use crate::json::escape::unescape;

/// The maximum number of bytes kept of a key or an id, including quotes and escapes. A longer id is not read.
const MAX_KEPT: usize = 4 << 10;

/// The kind of a discarded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OversizedMessage {
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
/// use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader};
///
/// let mut skimmer = OversizedMessageReader::default();
/// for piece in [r#"{"method":"tools/call","params":{"id":"#, r#"1},"jsonrpc":"2.0","i"#, r#"d":7}"#] {
///     skimmer.push(piece.as_bytes());
/// }
/// assert_eq!(skimmer.finish(), OversizedMessage::Request(7.into()));
/// ```
#[derive(Debug, Clone, Default)]
pub struct OversizedMessageReader {
    position: ObjectPosition,
    /// The position relative to a string, which may be a key or part of a value.
    string_state: StringState,
    /// The number of open objects and arrays inside the value.
    depth: usize,
    /// The bytes of the current key, or of the value of `id`.
    buffer: Vec<u8>,
    /// `true` if the current value is that of `id`.
    is_id: bool,
    id: FoundId,
    has_method: bool,
    has_outcome: bool,
}

/// The position of the next byte in the outermost object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ObjectPosition {
    #[default]
    Start,
    /// Before the first key, or the end of an empty object.
    BeforeFirstKey,
    /// Before a required key.
    BeforeNextKey,
    Key,
    Colon,
    BeforeValue,
    Value,
    /// Before a comma or the end.
    AfterValue,
    End,
    /// The text is not a valid object.
    Broken,
}

/// The position of the next byte relative to a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// Inside, after a backslash.
    Escaped,
}

#[derive(Debug, Clone, Default)]
enum FoundId {
    #[default]
    Nothing,
    Id(Id),
    /// The id occurs twice, or is not valid.
    Invalid,
}

impl OversizedMessageReader {
    /// Reads the next piece of the message.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            if self.position == ObjectPosition::Broken {
                return;
            }
            if !matches!(self.position, ObjectPosition::Key | ObjectPosition::Value) {
                let blank = bytes.iter().position(|byte| !is_space(*byte)).unwrap_or(bytes.len());
                if blank > 0 {
                    bytes = &bytes[blank..];
                    continue;
                }
            }
            if self.string_state == StringState::Inside && !self.is_buffering() {
                // Fast path: most of a long message is one long string.
                let plain = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(bytes.len());
                if plain > 0 {
                    bytes = &bytes[plain..];
                    continue;
                }
            }
            self.push_byte(byte);
            bytes = &bytes[1..];
        }
    }

    /// Returns the kind of the message, after its last byte.
    pub fn finish(self) -> OversizedMessage {
        match (self.position, self.id) {
            (ObjectPosition::End, FoundId::Id(id)) if self.has_method && !self.has_outcome => {
                OversizedMessage::Request(id)
            }
            (ObjectPosition::End, FoundId::Id(id)) if self.has_outcome && !self.has_method => {
                OversizedMessage::Reply(id)
            }
            (ObjectPosition::End, FoundId::Nothing) if self.has_method && !self.has_outcome => {
                OversizedMessage::Notification
            }
            _ => OversizedMessage::Unknown,
        }
    }

    fn is_buffering(&self) -> bool {
        (self.position == ObjectPosition::Key || self.is_id) && self.buffer.len() <= MAX_KEPT
    }

    fn push_byte(&mut self, byte: u8) {
        if matches!(self.position, ObjectPosition::Key | ObjectPosition::Value) {
            return self.push_content(byte);
        }
        self.position = match (self.position, byte) {
            (ObjectPosition::Start, b'{') => ObjectPosition::BeforeFirstKey,
            (ObjectPosition::BeforeFirstKey | ObjectPosition::AfterValue, b'}') => ObjectPosition::End,
            (ObjectPosition::BeforeFirstKey | ObjectPosition::BeforeNextKey, b'"') => {
                self.begin(ObjectPosition::Key, byte);
                return;
            }
            (ObjectPosition::Colon, b':') => ObjectPosition::BeforeValue,
            (ObjectPosition::BeforeValue, b'}' | b']' | b',' | b':') => ObjectPosition::Broken,
            (ObjectPosition::BeforeValue, _) => {
                self.begin(ObjectPosition::Value, byte);
                return;
            }
            (ObjectPosition::AfterValue, b',') => ObjectPosition::BeforeNextKey,
            _ => ObjectPosition::Broken,
        };
    }

    fn begin(&mut self, place: ObjectPosition, byte: u8) {
        self.position = place;
        self.buffer.clear();
        self.push_content(byte);
    }

    /// Reads a byte of a key or a value.
    fn push_content(&mut self, byte: u8) {
        let is_key = self.position == ObjectPosition::Key;
        if self.string_state != StringState::Outside {
            self.buffer_byte(byte);
            self.string_state = match (self.string_state, byte) {
                (StringState::Inside, b'\\') => StringState::Escaped,
                (StringState::Inside, b'"') => StringState::Outside,
                _ => StringState::Inside,
            };
            if self.string_state == StringState::Outside {
                if is_key {
                    self.finish_key();
                } else if self.depth == 0 {
                    self.finish_value(ObjectPosition::AfterValue);
                }
            }
            return;
        }
        match byte {
            b'"' => self.string_state = StringState::Inside,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.buffer_byte(byte);
                    return self.finish_value(ObjectPosition::AfterValue);
                }
            }
            // These bytes end a number or a literal, which has no terminator of its own.
            b',' if self.depth == 0 => return self.finish_value(ObjectPosition::BeforeNextKey),
            b'}' => return self.finish_value(ObjectPosition::End),
            b']' => {
                self.position = ObjectPosition::Broken;
                return;
            }
            _ if is_space(byte) && self.depth == 0 => return self.finish_value(ObjectPosition::AfterValue),
            _ => {}
        }
        self.buffer_byte(byte);
    }

    fn buffer_byte(&mut self, byte: u8) {
        if self.is_buffering() {
            self.buffer.push(byte);
        }
    }

    fn finish_key(&mut self) {
        self.position = ObjectPosition::Colon;
        self.is_id = false;
        match unescape(&self.buffer).as_deref() {
            Some("id") => self.is_id = true,
            Some("method") => self.has_method = true,
            Some("result" | "error") => self.has_outcome = true,
            _ => {}
        }
    }

    fn finish_value(&mut self, place: ObjectPosition) {
        self.position = place;
        if std::mem::take(&mut self.is_id) {
            self.id = match (&self.id, read_id(&self.buffer)) {
                (FoundId::Nothing, Ok(id)) if self.buffer.len() <= MAX_KEPT => FoundId::Id(id),
                _ => FoundId::Invalid,
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
    fn skim(text: &str) -> OversizedMessage {
        let found = |size: usize| {
            let mut skimmer = OversizedMessageReader::default();
            text.as_bytes().chunks(size).for_each(|piece| skimmer.push(piece));
            assert!(skimmer.buffer.len() <= MAX_KEPT + 1);
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
            (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":{}}"#, OversizedMessage::Request(7.into())),
            (
                r#"{"params":{"id":1,"x":[{"id":2}]},"method":"a","id":7}"#,
                OversizedMessage::Request(7.into()),
            ),
            (" { \"id\" : 7 , \"method\" : \"a\" } ", OversizedMessage::Request(7.into())),
            (r#"{"id":"a\"}b\\","method":"id"}"#, OversizedMessage::Request("a\"}b\\".into())),
            (r#"{"\u0069d":-7,"m\u0065thod":"a"}"#, OversizedMessage::Request((-7).into())),
            (r#"{"x":true,"id":7,"method":null}"#, OversizedMessage::Request(7.into())),
            (r#"{"method":"a","params":{"id":7}}"#, OversizedMessage::Notification),
            (r#"{"id":7,"result":{"method":"a"}}"#, OversizedMessage::Reply(7.into())),
            (r#"{"error":{"code":1,"message":"\\"},"id":"7"}"#, OversizedMessage::Reply("7".into())),
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
            assert_eq!(skim(text), OversizedMessage::Unknown, "{text}");
        }
        let long = "x".repeat(MAX_KEPT);
        assert_eq!(skim(&format!(r#"{{"id":"{long}","method":"a"}}"#)), OversizedMessage::Unknown);
        let short = &long[..MAX_KEPT - 2];
        assert_eq!(
            skim(&format!(r#"{{"id":"{short}","method":"a"}}"#)),
            OversizedMessage::Request(short.into())
        );
        assert_eq!(
            skim(&format!(r#"{{"{long}":1,"id":7,"method":"a"}}"#)),
            OversizedMessage::Request(7.into())
        );
    }
}
