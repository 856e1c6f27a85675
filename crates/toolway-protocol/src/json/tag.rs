//! Which of several types is an object? One member says so, never the shape of the object.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr2, memchr2_iter};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

/// Returns the text of the member `key` of scanned JSON; `None` if there is no such member, or if it is `null`.
pub(crate) fn find_tag<'t>(
    text: &'t [u8],
    key: &'static str,
) -> Result<Option<Cow<'t, str>>, serde_json::Error> {
    match leading_tag(text, key) {
        Some(tag) => Ok(Some(Cow::Borrowed(tag))),
        None => Ok(read_tag(text, key)?.map(Cow::Owned)),
    }
}

/// Returns the tag of an object that begins with it, as most do, without reading the rest. `None` if the key may occur again,
/// also in a spelling with escapes.
fn leading_tag<'t>(text: &'t [u8], key: &str) -> Option<&'t str> {
    let quoted = text.strip_prefix(b"{\"")?.strip_prefix(key.as_bytes())?.strip_prefix(b"\":\"")?;
    let end = memchr2(b'"', b'\\', quoted)?;
    let (tag, rest) = quoted.split_at(end);
    if !rest.starts_with(b"\"") || may_contain(rest, key) {
        return None;
    }
    std::str::from_utf8(tag).ok()
}

/// Returns whether a text may contain a key: as it is, or with escapes.
fn may_contain(text: &[u8], key: &str) -> bool {
    let key = key.as_bytes();
    // Searched for by its last letter but one, which is rare in texts: the keys are `type`, `resultType` and `mode`.
    let Some(place) = key.len().checked_sub(2) else { return true };
    memchr2_iter(key[place], b'\\', text).any(|at| match text[at] {
        b'\\' => text.get(at + 1) == Some(&b'u'),
        _ => at.checked_sub(place).is_some_and(|start| text[start..].starts_with(key)),
    })
}

/// Reads the whole object.
fn read_tag(text: &[u8], key: &'static str) -> Result<Option<String>, serde_json::Error> {
    struct FindTag(&'static str);
    impl<'de> Visitor<'de> for FindTag {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found: Option<Option<String>> = None;
            while let Some(Text(name)) = map.next_key()? {
                if name == self.0 {
                    if found.replace(map.next_value()?).is_some() {
                        return Err(A::Error::duplicate_field(self.0));
                    }
                } else {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
            Ok(found.flatten())
        }
    }
    let text = std::str::from_utf8(text).expect("the scanner accepts only UTF-8");
    serde_json::Deserializer::from_str(text).deserialize_map(FindTag(key))
}

/// A text, borrowed unless it contains escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'t>(#[serde(borrow)] pub(crate) Cow<'t, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_an_object_that_begins_with_it_is_the_one_that_reading_the_object_finds() {
        let texts = [
            r#"{"type":"text"}"#,
            r#"{"type":"text","text":"hi"}"#,
            r#"{"type":"text","text":"a type"}"#,
            r#"{"type":"text","type":"image"}"#,
            r#"{"type":"text","ty\u0070e":"image"}"#,
            r#"{"type":"te\u0078t"}"#,
            r#"{"type":"te\"xt"}"#,
            r#"{"type":"te\\xt"}"#,
            r#"{"type":"text","a\nb":"c\\d"}"#,
            r#"{"type":"text","\u0074ype":"image"}"#,
            r#"{"type":"text","a":"a longer text, in which the key is the last member of all","type":"image"}"#,
            r#"{"type":"text","a":"a longer text, in which a part of the key is typ"}"#,
            r#"{"type":"text"#,
            r#"{"type":"text","in":{"type":"image"}}"#,
            r#"{ "type": "text"}"#,
            r#"{"text":"hi","type":"text"}"#,
            r#"{"types":"text"}"#,
            r#"{"type":null}"#,
            r#"{"type":7}"#,
            r#"{"type":""}"#,
            r"{}",
            r"[]",
        ];
        let mut short = 0;
        for text in texts.map(str::as_bytes) {
            let shown = String::from_utf8_lossy(text);
            let (found, read) = (find_tag(text, "type").ok(), read_tag(text, "type").ok());
            assert_eq!(found.map(|tag| tag.map(Cow::into_owned)), read, "{shown}");
            short += usize::from(leading_tag(text, "type").is_some());
        }
        assert_eq!(short, 5);
    }
}
