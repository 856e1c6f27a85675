//! How is a reply written into one buffer, in the shape of one revision?
//!
//! Every protocol type implements [`Encode`], which writes directly into a byte buffer, without an intermediate tree.
//! The [`Encoder`] knows the target revision. A type does not compare versions: for each newer member it names a
//! constant of `version::since`, and the encoder leaves the member out if the target revision does not have it.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::plain::{is_plain, plain_prefix};
use crate::version::ProtocolVersion;
use crate::version::since::VersionRange;

/// A type that can write itself as JSON for one revision.
///
/// ```
/// use toolway_protocol::ProtocolVersion;
/// use toolway_protocol::json::{Encode, Encoder};
///
/// let mut out = Vec::new();
/// vec!["a", "b"].encode(&mut Encoder::new(&mut out, ProtocolVersion::LATEST));
/// assert_eq!(out, br#"["a","b"]"#);
/// ```
pub trait Encode {
    /// Appends this value.
    fn encode(&self, to: &mut Encoder<'_>);
}

/// A buffer and the revision to write for.
///
/// ```
/// use toolway_protocol::{ProtocolVersion, json::Encoder};
///
/// let mut out = Vec::new();
/// Encoder::new(&mut out, ProtocolVersion::LATEST).object(|members| {
///     members.put("name", "add");
///     members.put("ok", &true);
/// });
/// assert_eq!(out, br#"{"name":"add","ok":true}"#);
/// ```
#[derive(Debug)]
pub struct Encoder<'o> {
    out: &'o mut Vec<u8>,
    version: ProtocolVersion,
}

impl<'o> Encoder<'o> {
    /// Creates an encoder that appends to `out` in the shape of `version`.
    pub fn new(out: &'o mut Vec<u8>, version: ProtocolVersion) -> Self {
        Self { out, version }
    }

    /// Returns the revision that is written.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns whether the target revision has this part of the protocol.
    pub fn supports(&self, since: VersionRange) -> bool {
        since.includes(self.version)
    }

    /// Writes an object; `fill` writes its members.
    pub fn object(&mut self, fill: impl FnOnce(&mut Members<'_, 'o>)) {
        self.out.push(b'{');
        fill(&mut Members { encoder: self, is_first: true });
        self.out.push(b'}');
    }

    /// Writes an array of values.
    pub fn array<'t, T: Encode + ?Sized + 't>(&mut self, items: impl IntoIterator<Item = &'t T>) {
        self.out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            item.encode(self);
        }
        self.out.push(b']');
    }

    /// Writes an object from entries whose keys may need escapes.
    pub(crate) fn entries<T: Encode>(&mut self, entries: &[(String, T)]) {
        self.object(|members| entries.iter().for_each(|(key, value)| members.put_escaped(key, value)));
    }

    /// Writes text that must already be valid JSON.
    pub fn raw(&mut self, text: &[u8]) {
        if text.len() > LONG {
            // The members after a long text would otherwise copy it once more into a larger buffer.
            self.out.reserve(text.len() + LONG);
        }
        self.out.extend_from_slice(text);
    }

    /// Writes a string.
    fn text(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        let mut rest = text.as_bytes();
        loop {
            let (plain, special) = rest.split_at(plain_length(rest));
            self.out.extend_from_slice(plain);
            let [byte, after @ ..] = special else { break };
            self.escape(*byte);
            rest = after;
        }
        self.out.push(b'"');
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                let digit = |digit: u8| b"0123456789abcdef"[usize::from(digit & 15)];
                self.out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }

    /// Writes a value with `serde`. A value that cannot be serialized as JSON becomes `null`.
    pub fn serde(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        let before = self.out.len();
        if serde_json::to_writer(&mut *self.out, value).is_err() {
            self.out.truncate(before);
            self.out.extend_from_slice(b"null");
        }
    }
}

/// Returns how many bytes of a text come before the first one that needs an escape. Looks at whole blocks first, which the
/// compiler turns into vector instructions.
fn plain_length(text: &[u8]) -> usize {
    let needs_escape = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let is_plain_block = |block: &&[u8]| !block.iter().fold(false, |any, byte| any | needs_escape(byte));
    let mut start = text.chunks_exact(BLOCK).take(BLOCKS).take_while(is_plain_block).count() * BLOCK;
    if start == BLOCK * BLOCKS {
        // A text that is plain so far is looked at in larger pieces, which take fewer instructions for each byte.
        start += text[start..].chunks_exact(PIECE).take_while(|piece| is_plain(piece)).count() * PIECE;
        start += text[start..].chunks_exact(BLOCK).take_while(is_plain_block).count() * BLOCK;
    }
    start + plain_prefix(&text[start..])
}

/// The length of a text that is worth a look ahead.
const LONG: usize = 512;
/// The number of bytes that are looked at together.
const BLOCK: usize = 32;
/// How many plain blocks come before larger pieces.
const BLOCKS: usize = 8;
/// The size of a larger piece.
const PIECE: usize = 1 << 10;

/// The members of an object that is being written.
#[derive(Debug)]
pub struct Members<'e, 'o> {
    encoder: &'e mut Encoder<'o>,
    is_first: bool,
}

impl<'o> Members<'_, 'o> {
    /// Writes one member. `key` is a name from the protocol, so it needs no escapes.
    pub fn put<T: Encode + ?Sized>(&mut self, key: &str, value: &T) {
        self.key(key);
        value.encode(self.encoder);
    }

    /// Writes the member if there is a value.
    pub fn maybe<T: Encode>(&mut self, key: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Writes the member if there is a value and the target revision has the member.
    pub fn since<T: Encode>(&mut self, since: VersionRange, key: &str, value: Option<&T>) {
        if self.encoder.supports(since) {
            self.maybe(key, value);
        }
    }

    /// Writes a member that is an object; `fill` writes the members of that object.
    pub fn object(&mut self, key: &str, fill: impl FnOnce(&mut Members<'_, 'o>)) {
        self.key(key);
        self.encoder.object(fill);
    }

    /// Writes a member whose key comes from outside and may need escapes.
    pub fn put_escaped<T: Encode + ?Sized>(&mut self, key: &str, value: &T) {
        self.comma();
        self.encoder.text(key);
        self.encoder.raw(b":");
        value.encode(self.encoder);
    }

    /// Writes a member whose value is text that must already be valid JSON.
    pub fn put_raw(&mut self, key: &str, text: &[u8]) {
        self.key(key);
        self.encoder.raw(text);
    }

    /// Writes a key whose value the frame inserts later. Returns the place of the value.
    pub(crate) fn put_key(&mut self, key: &str) -> usize {
        self.key(key);
        self.encoder.out.len()
    }

    /// Inserts members that are already encoded (`"a":1,"b":2`).
    pub fn splice(&mut self, members: &[u8]) {
        if !members.is_empty() {
            self.comma();
            self.encoder.raw(members);
        }
    }

    /// Returns the underlying encoder, for example to call [`Encoder::supports`].
    pub fn encoder(&self) -> &Encoder<'o> {
        self.encoder
    }

    fn key(&mut self, key: &str) {
        let is_first = std::mem::take(&mut self.is_first);
        let out = &mut *self.encoder.out;
        // Once for all the parts.
        out.reserve(key.len() + 4);
        if !is_first {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\":");
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.encoder.raw(b",");
        }
    }
}

macro_rules! encode_with_serde {
    ($($type:ty),*) => {$(
        impl Encode for $type {
            fn encode(&self, to: &mut Encoder<'_>) {
                to.serde(self);
            }
        }
    )*};
}
encode_with_serde!(bool, i64, u64, u32, f64, Number, Value, Map<String, Value>);
encode_with_serde!(BTreeMap<String, Value>, BTreeMap<String, String>);

impl Encode for str {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.text(self);
    }
}

impl Encode for String {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.text(self);
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.array(self);
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (**self).encode(to);
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.array(self);
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, to: &mut Encoder<'_>) {
        (**self).encode(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::draws::Draws;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        text.encode(&mut Encoder::new(&mut out, ProtocolVersion::LATEST));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_written_as_serde_json_writes_them() {
        for code in 0..0x300_u32 {
            let text: String = char::from_u32(code).into_iter().collect();
            assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
        let mut draws = Draws::new();
        for round in 0..20_000 {
            let mut draw = |count| draws.below(count);
            // Mostly plain, so that specials are at every place of a block, also at none.
            let length = if round % 20 == 0 { draw(5_000) } else { draw(140) };
            // Long texts have few specials, so that some reach the larger pieces.
            let rarity = 40 + length;
            let text: String = (0..length)
                .map(|_| match draw(rarity) {
                    0 => ['"', '\\', '\n', '\0', '\u{1f}', '\u{7f}', 'é', '\u{2028}', '😀'][draw(9)],
                    _ => 'x',
                })
                .collect();
            assert_eq!(written(&text), serde_json::to_string(&text).unwrap(), "round {round}");
        }
    }
}
