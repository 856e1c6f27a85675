//! Which values are in a file, and at which positions?
//!
//! A [`JsonSource`] is the text of a file, and a [`Node`] is one JSON value in it. Values are decoded only on demand,
//! so members keep their order, duplicates are detected, and each value knows its position.

use std::borrow::Cow;
use std::cell::Cell;

use serde::de::Deserialize;
use serde_json::value::RawValue;
use toolway_protocol::RawJson;
use toolway_protocol::json::{self, OrderedMap};

use super::error::{Mistake, SourcePosition};
use super::jsonc::strip_comments;

/// The text of a file.
#[derive(Debug)]
pub(super) struct JsonSource<'t> {
    text: &'t str,
    stripped: Cow<'t, str>,
    /// The last offset whose position was computed, and that position. Most lookups are for a later offset.
    last_position: Cell<(usize, SourcePosition)>,
}

/// A value in a file.
#[derive(Clone, Copy)]
pub(super) struct Node<'s> {
    source: &'s JsonSource<'s>,
    raw: &'s RawValue,
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonType {
    Object,
    List,
    Text,
    Number,
    Bool,
    Null,
}

impl<'t> JsonSource<'t> {
    /// Reads bytes as UTF-8, with or without a byte order mark, and blanks out comments and trailing commas.
    pub(super) fn new(bytes: &'t [u8]) -> Result<Self, Mistake> {
        let wrong = |message: &str| Mistake::of_file(None, message);
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(wrong("the file is UTF-16: save it as UTF-8"));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = str::from_utf8(bytes).map_err(|error| {
            let line = memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() + 1;
            wrong(&format!("the file is not UTF-8 in line {line}: save it as UTF-8"))
        })?;
        let mut source =
            Self { text, stripped: Cow::Borrowed(text), last_position: Cell::new((0, BEGINNING)) };
        source.stripped = strip_comments(text).map_err(|at| {
            Mistake::of_file(Some(source.position(at)), "this comment does not end: close it with `*/`")
        })?;
        Ok(source)
    }

    /// Returns whether the file is empty, apart from comments and white space.
    pub(super) fn is_empty(&self) -> bool {
        self.stripped.trim().is_empty()
    }

    /// Returns the top-level value of the file.
    pub(super) fn root(&self) -> Result<Node<'_>, Mistake> {
        match serde_json::from_str(&self.stripped) {
            Ok(raw) => Ok(Node { source: self, raw }),
            Err(error) => {
                let before: usize =
                    self.stripped.split_inclusive('\n').take(error.line() - 1).map(str::len).sum();
                let place = self.position(before + error.column().saturating_sub(1));
                Err(Mistake::of_file(
                    Some(place),
                    format!("this is not JSON: {}", json::message_without_position(&error)),
                ))
            }
        }
    }

    fn position(&self, at: usize) -> SourcePosition {
        let at = (0..=at.min(self.text.len())).rfind(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        let (mut from, mut place) = self.last_position.get();
        if at < from {
            (from, place) = (0, BEGINNING);
        }
        for letter in self.text[from..at].chars() {
            if letter == '\n' {
                place = SourcePosition { line: place.line + 1, ..BEGINNING };
            } else {
                place.column += 1;
            }
        }
        self.last_position.set((at, place));
        place
    }
}

impl<'s> Node<'s> {
    pub(super) fn position(self) -> SourcePosition {
        self.source.position(self.raw.get().as_ptr().addr() - self.source.stripped.as_ptr().addr())
    }

    pub(super) fn is_null(self) -> bool {
        self.kind() == JsonType::Null
    }

    pub(super) fn is_list(self) -> bool {
        self.kind() == JsonType::List
    }

    pub(super) fn is_object(self) -> bool {
        self.kind() == JsonType::Object
    }

    /// Returns the members of an object, in the order of the file and with duplicates, or what is wrong.
    pub(super) fn members(self) -> Result<Vec<(String, Node<'s>)>, String> {
        self.expect_type(JsonType::Object)?;
        let OrderedMap(members) = self.decode::<OrderedMap<&RawValue>>()?;
        Ok(members.into_iter().map(|(name, raw)| (name, Node { raw, ..self })).collect())
    }

    /// Returns the first member with this name, if the value is an object that has one.
    pub(super) fn member(self, name: &str) -> Option<Node<'s>> {
        self.members().ok()?.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the items of a list.
    pub(super) fn items(self) -> Result<Vec<Node<'s>>, String> {
        self.expect_type(JsonType::List)?;
        let items: Vec<&RawValue> = self.decode()?;
        Ok(items.into_iter().map(|raw| Node { raw, ..self }).collect())
    }

    pub(super) fn text(self) -> Result<String, String> {
        self.expect_type(JsonType::Text)?;
        self.decode()
    }

    /// Returns a string, or a number or boolean as written.
    pub(super) fn scalar(self) -> Result<String, String> {
        match self.kind() {
            JsonType::Number | JsonType::Bool => Ok(self.raw.get().to_owned()),
            _ => self.text(),
        }
    }

    pub(super) fn boolean(self) -> Result<bool, String> {
        self.expect_type(JsonType::Bool)?;
        self.decode()
    }

    /// Returns a number; `None` if the value is not a number.
    pub(super) fn number(self) -> Option<f64> {
        (self.kind() == JsonType::Number).then(|| self.raw.get().parse().ok()).flatten()
    }

    /// Returns the value as written, without comments.
    pub(super) fn raw(self) -> RawJson {
        RawJson::parse(self.raw.get()).expect("a part of valid JSON is valid JSON")
    }

    /// Describes the value that was found instead of the expected one. Strings are not repeated, because they may be
    /// secrets.
    pub(super) fn describe(self) -> String {
        match self.kind() {
            JsonType::Object => "an object".to_owned(),
            JsonType::List => "a list".to_owned(),
            JsonType::Text => "a string".to_owned(),
            JsonType::Number if self.raw.get().len() > MAX_SHOWN_NUMBER => "a number".to_owned(),
            JsonType::Number | JsonType::Bool | JsonType::Null => self.raw.get().to_owned(),
        }
    }

    fn kind(self) -> JsonType {
        match self.raw.get().as_bytes().first() {
            Some(b'{') => JsonType::Object,
            Some(b'[') => JsonType::List,
            Some(b'"') => JsonType::Text,
            Some(b't' | b'f') => JsonType::Bool,
            Some(b'n') => JsonType::Null,
            _ => JsonType::Number,
        }
    }

    fn expect_type(self, kind: JsonType) -> Result<(), String> {
        if self.kind() == kind {
            return Ok(());
        }
        let expected = match kind {
            JsonType::Object => "an object",
            JsonType::List => "a list",
            JsonType::Text => "a string",
            JsonType::Number => "a number",
            JsonType::Bool => "true or false",
            JsonType::Null => "null",
        };
        Err(format!("must be {expected}; found {}", self.describe()))
    }

    /// Decodes the value. Valid JSON can still be an invalid string: `"\ud800"`.
    fn decode<T: Deserialize<'s>>(self) -> Result<T, String> {
        serde_json::from_str(self.raw.get())
            .map_err(|error| format!("cannot be read: {}", json::message_without_position(&error)))
    }
}

const BEGINNING: SourcePosition = SourcePosition { line: 1, column: 1 };

/// The maximum length of a number that is repeated in a message.
const MAX_SHOWN_NUMBER: usize = 20;
