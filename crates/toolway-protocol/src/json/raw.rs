//! A piece of JSON that is kept as text.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::flat::FlatObject;
use super::ordered_map::OrderedMap;
use super::tag::find_tag;
use super::write::{Encode, Encoder};
use crate::version::ProtocolVersion;

/// One JSON value as text. It is cheap to clone and keeps every byte: key order, unknown keywords, the spelling of
/// numbers.
///
/// A value of this type always holds well-formed JSON: it is made from a scanned frame, from `serde_json`, or through
/// [`RawJson::parse`].
///
/// ```
/// use toolway_protocol::RawJson;
///
/// let schema = RawJson::parse(r#"{"z": 1, "a": 2}"#)?;
/// assert_eq!(schema.as_str(), r#"{"z": 1, "a": 2}"#);
/// let value: serde_json::Value = schema.decode()?;
/// assert_eq!(value["z"], 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Wraps text that the scanner has already checked.
    pub(crate) fn from_scanned(text: Bytes) -> Self {
        Self(text)
    }

    /// Keeps a value that `serde_json` has checked.
    pub(crate) fn from_raw(text: Box<RawValue>) -> Self {
        Self(String::from(Box::<str>::from(text)).into())
    }

    /// Checks `text` and keeps it unchanged, except for surrounding white space.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let checked: &RawValue = serde_json::from_str(text)?;
        Ok(Self(Bytes::copy_from_slice(checked.get().as_bytes())))
    }

    /// Serializes `value` as JSON.
    pub fn from_value(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::to_vec(value)?.into()))
    }

    /// Encodes a protocol type in the shape of a revision.
    ///
    /// ```
    /// use toolway_protocol::types::Root;
    /// use toolway_protocol::{ProtocolVersion, RawJson};
    ///
    /// let text = RawJson::encoded(&Root::new("file:///srv"), ProtocolVersion::LATEST);
    /// assert_eq!(text.as_str(), r#"{"uri":"file:///srv"}"#);
    /// ```
    pub fn encoded(value: &impl Encode, version: ProtocolVersion) -> Self {
        let mut text = Vec::new();
        value.encode(&mut Encoder::new(&mut text, version));
        Self(text.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("RawJson holds UTF-8 since it was scanned")
    }

    /// Returns the text as bytes, without a check or a copy.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Decodes the text as a `T`, which may borrow from it.
    pub fn decode<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        decode_scanned(&self.0)
    }

    /// Returns an object of long texts, numbers and literals, to be read faster than by [`decode`](Self::decode); `None` if
    /// the value is something else, or short.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolway_protocol::RawJson;
    ///
    /// let object = RawJson::parse(&format!(r#"{{"text":"{}"}}"#, "a".repeat(9999)))?;
    /// let texts = std::collections::BTreeMap::<String, String>::deserialize(object.flat_object().unwrap())?;
    /// assert_eq!(texts["text"].len(), 9999);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn flat_object(&self) -> Option<FlatObject<'_>> {
        FlatObject::find(&self.0)
    }

    /// Returns the text of a member that says what an object is; `None` if there is no such member, or if it is `null`.
    ///
    /// ```
    /// use toolway_protocol::RawJson;
    ///
    /// let block = RawJson::parse(r#"{"type":"text","text":"hi"}"#)?;
    /// assert_eq!(block.tag("type")?.as_deref(), Some("text"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the value is not an object, or the member occurs twice or is not a string.
    pub fn tag(&self, key: &'static str) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
        find_tag(&self.0, key)
    }

    /// Returns the members of an object in their order, each as text, or `None` if the value is not an object.
    ///
    /// ```
    /// use toolway_protocol::RawJson;
    ///
    /// let members = RawJson::parse(r#"{"z":1e400,"a":2}"#)?.members().unwrap();
    /// assert_eq!((&*members[0].0, members[0].1.as_str()), ("z", "1e400"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn members(&self) -> Option<Vec<(String, Self)>> {
        self.decode().ok().map(|OrderedMap(members)| members)
    }

    /// Returns whether the value is a JSON object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }
}

/// Decodes JSON that the scanner has checked. The text is checked for UTF-8 once, which is cheaper than once for each string
/// in it.
pub(crate) fn decode_scanned<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(std::str::from_utf8(text).expect("the scanner accepts only UTF-8"))
}

/// Returns the message of a decoding error without its line and column. The two numbers are relative to one member, so
/// they would mislead the sender of the whole message.
///
/// ```
/// let error = serde_json::from_str::<bool>("7").unwrap_err();
/// assert_eq!(toolway_protocol::json::message_without_position(&error), "invalid type: integer `7`, expected a boolean");
/// ```
pub fn message_without_position(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(end) = text.rfind(" at line ") {
        text.truncate(end);
    }
    text
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Encode for RawJson {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(self.as_bytes());
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: &RawValue = decode_scanned(&self.0).map_err(serde::ser::Error::custom)?;
        text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from_raw)
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self::from_value(&value).expect("the keys of a value are strings")
    }
}
