//! How is a long object read whose members are texts, numbers and literals?
//!
//! `serde_json` looks at each byte of a string for an escape, and checks it for UTF-8. The frame was scanned already, so a
//! long string without escapes is found here by its closing quote, and passed on as it is. All other values are read by
//! `serde_json`, so that values and errors are the same.

use std::vec::IntoIter;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Error;

use super::scan::{Limits, MAX_DEPTH, ScanError, Scanner, Span, ValueKind};

/// The members of an object in their order. Reads like the text itself.
#[derive(Debug)]
pub struct FlatObject<'t> {
    text: &'t str,
    members: Vec<Member<'t>>,
}

#[derive(Debug)]
struct Member<'t> {
    /// The name without its quotes; it has no escapes.
    name: &'t str,
    value: Span,
}

impl<'t> FlatObject<'t> {
    /// Finds the members of an object. Returns `None` if one of them is an object or an array, or has a name with escapes,
    /// or if the text is so short that this gains nothing.
    pub(super) fn find(text: &'t [u8]) -> Option<Self> {
        if text.len() < WORTHWHILE {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let mut members = Vec::new();
        // The limits were checked when the frame was scanned.
        let limits = Limits { depth: MAX_DEPTH, nodes: u32::MAX };
        let mut scanner = Scanner::new(text, limits);
        let outcome = scanner.members(|scanner, quoted, is_escaped| {
            if is_escaped || matches!(scanner.peek()?, ValueKind::Object | ValueKind::Array) {
                // Any error ends the walk.
                return Err(ScanError::Syntax(scanner.position()));
            }
            members.push(Member { name: &quoted[1..quoted.len() - 1], value: scanner.skip_value()? });
            Ok(())
        });
        (outcome.is_ok() && scanner.expect_end().is_ok()).then_some(Self { text, members })
    }
}

/// The length of an object that is worth a look at its members.
const WORTHWHILE: usize = 1 << 10;

impl<'de> Deserializer<'de> for FlatObject<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(FlatMembers { text: self.text, members: self.members.into_iter(), value: None })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct FlatMembers<'t> {
    text: &'t str,
    members: IntoIter<Member<'t>>,
    /// The value of the last name.
    value: Option<Span>,
}

impl<'t> MapAccess<'t> for FlatMembers<'t> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(Member { name, value }) = self.members.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(serde::de::value::BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let value = self.value.take().expect("a value is read after its name");
        let value = &self.text[value.range()];
        match plain_string(value) {
            Some(content) => seed.deserialize(PlainString { quoted: value, content }),
            None => seed.deserialize(&mut serde_json::Deserializer::from_slice(value.as_bytes())),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// Returns the content of a string without escapes.
fn plain_string(value: &str) -> Option<&str> {
    let content = value.strip_prefix('"')?.strip_suffix('"')?;
    memchr::memchr(b'\\', content.as_bytes()).is_none().then_some(content)
}

/// A string without escapes.
struct PlainString<'t> {
    quoted: &'t str,
    content: &'t str,
}

/// Passes on to `serde_json` what is not asked for as a text.
macro_rules! as_serde_json_reads_it {
    ($($method:ident($($name:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'t>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            serde_json::Deserializer::from_slice(self.quoted.as_bytes()).$method($($name,)* visitor)
        }
    )*};
}

impl<'t> Deserializer<'t> for PlainString<'t> {
    type Error = Error;

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.content)
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.content)
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    as_serde_json_reads_it! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_bytes() deserialize_byte_buf()
        deserialize_unit() deserialize_seq() deserialize_map() deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;
    use crate::json::message_without_position;

    /// Reads an object in both ways, which must agree on the value or on the error.
    fn read<T: DeserializeOwned + Debug>(text: &str) -> bool {
        let with_serde_json = serde_json::from_str::<T>(text);
        let Some(object) = FlatObject::find(text.as_bytes()) else { return false };
        match (T::deserialize(object), with_serde_json) {
            (Ok(ours), Ok(theirs)) => assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{text}"),
            (Err(ours), Err(theirs)) => {
                assert_eq!(message_without_position(&ours), message_without_position(&theirs), "{text}");
            }
            (ours, theirs) => panic!("{text}: {ours:?} {theirs:?}"),
        }
        true
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "what is read is compared as text")]
    struct Fields {
        text: String,
        #[serde(default)]
        more: Option<String>,
        #[serde(default)]
        raw: Option<Box<RawValue>>,
        #[serde(default)]
        number: Option<f64>,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        letter: Option<char>,
        #[serde(default)]
        wrapped: Option<Wrapped>,
        #[serde(default)]
        cow: Cow<'static, str>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
        Two,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "what is read is compared as text")]
    struct Wrapped(String);

    #[test]
    fn an_object_is_read_as_serde_json_reads_it() {
        let long = "long text, \u{e9} \u{1f600} ".repeat(100);
        let values = [
            "\"\"",
            "\"a\"",
            "\"one\"",
            "\"three\"",
            "null",
            "7",
            "-1.5e3",
            "true",
            r#""a\nb""#,
            r#""\u00e9""#,
            r#""\ud800""#,
            "{}",
            "[1]",
            "1e999",
        ];
        let names =
            ["more", "raw", "number", "kind", "letter", "wrapped", "cow", "text", "other", r"te\u0078t", ""];
        let mut flat = 0;
        for value in values {
            for name in names {
                for text in [
                    format!(r#"{{"text":"{long}","{name}":{value}}}"#),
                    format!(r#" {{ "{name}" : {value} , "text" : "{long}" }} "#),
                    format!(r#"{{"text":"\"{long}","{name}":{value}}}"#),
                    format!(r#"{{"text":7,"{name}":{value},"more":"{long}"}}"#),
                ] {
                    flat += u32::from(read::<Fields>(&text));
                    flat += u32::from(read::<Value>(&text));
                    flat += u32::from(read::<BTreeMap<String, String>>(&text));
                    flat += u32::from(read::<Vec<String>>(&text));
                }
            }
        }
        assert!(flat > 1_500, "only {flat} were read here");
        assert!(!read::<Value>(r#"{"text":"short"}"#), "a short object is read by serde_json alone");
    }
}
