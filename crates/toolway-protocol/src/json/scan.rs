//! Where are the members of this JSON text, and is it well-formed and within the limits?
//!
//! One walk over the bytes checks the grammar of RFC 8259, the nesting depth and the number of values, and records
//! the positions of the members that the caller asks for. Nothing is built: a value is a [`Span`] of the text and is
//! decoded later, once, when its type is known. Policy checks and dispatch both use the result of this one walk, so
//! the two cannot read the same bytes differently.
//!
//! `serde_json` cannot record positions: its `RawValue` scans a body again for every level, and skips values without a
//! limit on depth or number. A property test compares this scanner with `serde_json`: both must accept the same texts.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::ops::Range;

use super::escape::unescape;
use super::keys::{KeyFilter, fingerprint, plain_key};
use super::plain::string_prefix;

/// The limits on the depth and the number of values of one frame.
///
/// ```
/// use toolway_protocol::json::Limits;
/// use toolway_protocol::jsonrpc::parse;
///
/// let frame = br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[[[]]]}}"#;
/// let strict = Limits { depth: 3, ..Limits::default() };
/// assert_eq!(parse(&frame[..].into(), strict).unwrap_err().error.code.0, -32600);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting depth of objects and arrays, at most 128.
    pub depth: u32,
    /// The maximum number of values. Each string, number, literal, object and array counts as one.
    pub nodes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: MAX_DEPTH, nodes: 500_000 }
    }
}

/// The maximum of [`Limits::depth`], because [`Scanner::skip_value`] keeps one bit per level in a `u128`. `serde_json`
/// decodes one level less.
pub(super) const MAX_DEPTH: u32 = 128;

/// The reason why a text was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// The text is not JSON; the offset of the first invalid byte.
    Syntax(usize),
    /// The text is nested deeper than [`Limits::depth`].
    TooDeep,
    /// The text has more values than [`Limits::nodes`].
    TooManyNodes,
}

/// A piece of the scanned text. Frames are capped far below 4 GiB, so offsets fit 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    /// Never 0, so that `Option<Span>` has the same size as `Span`: a message carries over a dozen of them.
    end: NonZeroU32,
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        let end = u32::try_from(end).ok().and_then(NonZeroU32::new);
        Self {
            start: u32::try_from(start).expect("frames are capped far below 4 GiB"),
            end: end.expect("a value has at least one byte, and frames are capped far below 4 GiB"),
        }
    }

    pub(crate) fn contains(self, position: u32) -> bool {
        (self.start..self.end.get()).contains(&position)
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end.get() as usize
    }

    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.range()]
    }
}

/// The kind of a value, known from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Object,
    Array,
    String,
    Number,
    Literal,
}

/// A cursor over one text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    source: &'a str,
    text: &'a [u8],
    at: usize,
    depth: u32,
    nodes: u32,
    limits: Limits,
    keys: KeyFilter,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, limits: Limits) -> Self {
        let limits = Limits { depth: limits.depth.min(MAX_DEPTH), ..limits };
        Self {
            source: text,
            text: text.as_bytes(),
            at: 0,
            depth: 0,
            nodes: 0,
            limits,
            keys: KeyFilter::new(),
        }
    }

    /// Returns whether an object might have a key twice, since the last call. The scan does not stop at such a key,
    /// because the error needs the id of the message.
    #[inline]
    pub(crate) fn take_suspicion(&mut self) -> bool {
        self.keys.take_suspicion()
    }

    /// Returns a piece of the text.
    pub(crate) fn piece(&self, span: Span) -> &'a str {
        &self.source[span.range()]
    }

    /// Returns the current position.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the kind of the next value, without consuming it.
    pub(crate) fn peek(&mut self) -> Result<ValueKind, ScanError> {
        self.skip_space();
        match self.text.get(self.at) {
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            Some(b'"') => Ok(ValueKind::String),
            Some(b'-' | b'0'..=b'9') => Ok(ValueKind::Number),
            Some(b't' | b'f' | b'n') => Ok(ValueKind::Literal),
            _ => Err(ScanError::Syntax(self.at)),
        }
    }

    /// Walks an object. `member` gets each key and must consume the value that follows.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), ScanError>,
    ) -> Result<Span, ScanError> {
        self.members(|scanner, quoted, is_escaped| {
            let key = if is_escaped {
                // Escapes are rare but legal anywhere, even in a key.
                unescape(quoted.as_bytes()).ok_or(ScanError::Syntax(scanner.at))?
            } else {
                Cow::Borrowed(&quoted[1..quoted.len() - 1])
            };
            member(scanner, key)
        })
    }

    /// Walks an object. `member` gets each key as it is written, and whether the key has escapes, and must consume the
    /// value that follows.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str, bool) -> Result<(), ScanError>,
    ) -> Result<Span, ScanError> {
        let start = self.open(b'{')?;
        if !self.eat(b'}') {
            self.keys.open();
            loop {
                self.skip_space();
                let key = self.at;
                let is_escaped = self.skip_key()?;
                let quoted = &self.source[key..self.at];
                self.expect(b':')?;
                member(self, quoted, is_escaped)?;
                if self.eat(b'}') {
                    break;
                }
                self.expect(b',')?;
            }
            self.keys.close();
        }
        Ok(self.close(start))
    }

    /// Walks an array; `element` is called before each element and must consume it.
    pub(crate) fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), ScanError>,
    ) -> Result<Span, ScanError> {
        let start = self.open(b'[')?;
        if !self.eat(b']') {
            loop {
                element(self)?;
                if self.eat(b']') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        Ok(self.close(start))
    }

    /// Skips one value of any kind and returns its position. The walk is iterative: each level costs a bit, not a
    /// stack frame.
    pub(crate) fn skip_value(&mut self) -> Result<Span, ScanError> {
        self.skip_space();
        let start = self.at;
        let base = self.depth;
        let mut in_object: u128 = 0;
        loop {
            match self.peek()? {
                ValueKind::Object => {
                    self.enter()?;
                    self.at += 1;
                    in_object = in_object << 1 | 1;
                    if !self.eat(b'}') {
                        self.keys.open();
                        self.key()?;
                        continue;
                    }
                    in_object >>= 1;
                    self.depth -= 1;
                }
                ValueKind::Array => {
                    self.enter()?;
                    self.at += 1;
                    in_object <<= 1;
                    if !self.eat(b']') {
                        continue;
                    }
                    in_object >>= 1;
                    self.depth -= 1;
                }
                ValueKind::String => {
                    self.count()?;
                    self.string()?;
                }
                ValueKind::Number => {
                    self.count()?;
                    self.number()?;
                }
                ValueKind::Literal => {
                    self.count()?;
                    self.literal()?;
                }
            }
            // A value has ended: close the containers that end with it, or continue with the next sibling.
            loop {
                if self.depth == base {
                    return Ok(Span::new(start, self.at));
                }
                if in_object & 1 == 0 {
                    if !self.eat(b']') {
                        self.expect(b',')?;
                        break;
                    }
                } else {
                    if !self.eat(b'}') {
                        self.expect(b',')?;
                        self.key()?;
                        break;
                    }
                    self.keys.close();
                }
                in_object >>= 1;
                self.depth -= 1;
            }
        }
    }

    /// Checks that only white space follows.
    pub(crate) fn expect_end(&mut self) -> Result<(), ScanError> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(ScanError::Syntax(self.at)) }
    }

    #[inline(never)]
    fn key(&mut self) -> Result<(), ScanError> {
        self.skip_space();
        self.skip_key()?;
        self.expect(b':')
    }

    /// Skips a key. Returns whether it contains escapes.
    #[inline]
    fn skip_key(&mut self) -> Result<bool, ScanError> {
        if self.text.get(self.at) == Some(&b'"')
            && let Some((end, fingerprint)) = plain_key(self.text, self.at + 1)
        {
            self.keys.push(fingerprint);
            self.at = end + 1;
            return Ok(false);
        }
        self.skip_rare_key()
    }

    #[cold]
    fn skip_rare_key(&mut self) -> Result<bool, ScanError> {
        let start = self.at + 1;
        let is_escaped = self.string()?;
        if is_escaped {
            self.keys.push_escaped();
        } else {
            self.keys.push(fingerprint(&self.text[start..self.at - 1]));
        }
        Ok(is_escaped)
    }

    fn open(&mut self, bracket: u8) -> Result<usize, ScanError> {
        self.skip_space();
        let start = self.at;
        if self.text.get(start) != Some(&bracket) {
            return Err(ScanError::Syntax(start));
        }
        self.enter()?;
        self.at += 1;
        Ok(start)
    }

    fn close(&mut self, start: usize) -> Span {
        self.depth -= 1;
        Span::new(start, self.at)
    }

    fn enter(&mut self) -> Result<(), ScanError> {
        self.count()?;
        if self.depth == self.limits.depth {
            return Err(ScanError::TooDeep);
        }
        self.depth += 1;
        Ok(())
    }

    fn count(&mut self) -> Result<(), ScanError> {
        if self.nodes == self.limits.nodes {
            return Err(ScanError::TooManyNodes);
        }
        self.nodes += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), ScanError> {
        if self.eat(byte) { Ok(()) } else { Err(ScanError::Syntax(self.at)) }
    }

    /// Skips a string. Returns whether it contains escapes.
    fn string(&mut self) -> Result<bool, ScanError> {
        let start = self.at;
        if self.text.get(start) != Some(&b'"') {
            return Err(ScanError::Syntax(start));
        }
        let mut at = start + 1;
        let mut escaped = false;
        loop {
            at += string_prefix(&self.text[at..]);
            match self.text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at += match self.text.get(at + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') if self.is_hex4(at + 2) => 6,
                        _ => return Err(ScanError::Syntax(at)),
                    };
                }
                _ => return Err(ScanError::Syntax(at)),
            }
        }
        self.at = at + 1;
        Ok(escaped)
    }

    fn is_hex4(&self, at: usize) -> bool {
        self.text.get(at..at + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }

    fn number(&mut self) -> Result<(), ScanError> {
        self.at += usize::from(self.text[self.at] == b'-');
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(ScanError::Syntax(self.at)),
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.expect_digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.expect_digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn expect_digits(&mut self) -> Result<(), ScanError> {
        if !self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            return Err(ScanError::Syntax(self.at));
        }
        self.digits();
        Ok(())
    }

    fn literal(&mut self) -> Result<(), ScanError> {
        for word in [&b"true"[..], b"false", b"null"] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(ScanError::Syntax(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> bool {
        let mut scanner = Scanner::new(text, Limits::default());
        scanner.skip_value().and_then(|_| scanner.expect_end()).is_ok()
    }

    #[test]
    fn grammar_is_that_of_serde_json() {
        let mut texts = vec![
            "{}",
            "[]",
            " [ ] ",
            r#"{"a":1}"#,
            r#"{"a":[1,{"b":null}],"c":"d"}"#,
            "-0",
            "01",
            "1.",
            "1.5e+3",
            "1e",
            "-",
            "tru",
            "true",
            "nul",
            "[1,]",
            "[,1]",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "{,}",
            r#""\x""#,
            r#""\u12g4""#,
            r#""\u00e9""#,
            "\"a\nb\"",
            "\"\u{7f}\"",
            "[[[]]",
            "[]]",
            "{}{}",
            "",
            " ",
            "\u{feff}1",
            "1 2",
            r#"{"a":1 "b":2}"#,
            "[1 2]",
            "{1:2}",
            r#"{"a":[}]"#,
        ];
        let shallow = "[".repeat(127) + &"]".repeat(127);
        texts.push(&shallow);
        for text in texts {
            let reference = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(accepts(text), reference, "{text:?}");
        }
    }

    #[test]
    fn depth_and_node_limits_hold_at_the_border() {
        let limits = Limits { depth: 3, nodes: 5 };
        let scan = |text: &str| Scanner::new(text, limits).skip_value();
        assert!(scan("[[[1]]]").is_ok());
        assert_eq!(scan("[[[[]]]]"), Err(ScanError::TooDeep));
        assert!(scan("[1,2,3,4]").is_ok());
        assert_eq!(scan("[1,2,3,4,5]"), Err(ScanError::TooManyNodes));
    }
}
