//! Arguments that are mirrored in headers: which arguments are they, and do headers and body agree?
//!
//! A tool's author may mark a property of the input schema with `x-mcp-header`, so that proxies can route by the
//! argument. The client sends the argument also as the header `Mcp-Param-{Name}`, and the server compares the header
//! with the body.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::header::{DIFFERS, MirroredHeader, decode, encode, mismatch};
use crate::json::RawJson;
use crate::jsonrpc::RpcError;

/// The arguments of one tool that are marked with `x-mcp-header`.
///
/// ```
/// use toolway_protocol::{RawJson, http::param::ParamHeaders};
///
/// let schema = RawJson::parse(
///     r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
/// )?;
/// let headers = ParamHeaders::from_schema(&schema).unwrap();
/// let arguments = serde_json::json!({"region": "us west 1"});
/// let sent: Vec<_> = headers.values(&arguments).collect();
/// assert_eq!(sent, [("Mcp-Param-Region".to_owned(), "us west 1".into())]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParamHeaders(Vec<MarkedArgument>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct MarkedArgument {
    header: String,
    path: Vec<String>,
}

/// The reason why an `x-mcp-header` mark is not allowed. A client must not use a tool with such a mark, and a server
/// must not offer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidMark {
    location: String,
    reason: &'static str,
}

impl fmt::Display for InvalidMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`x-mcp-header` at {}: {}", self.location, self.reason)
    }
}

impl std::error::Error for InvalidMark {}

const MARK: &str = "x-mcp-header";
/// The depth of a schema at which the search for marks stops. `serde_json` does not read deeper schemas either.
const MAX_DEPTH: usize = 128;

impl ParamHeaders {
    /// Finds the marks of an input schema.
    ///
    /// # Errors
    ///
    /// The first mark that breaks a rule. A mark must be a header token and unique regardless of case. It must be on
    /// a string, an integer or a boolean, and reachable from the root through `properties` only.
    pub fn from_schema(schema: &RawJson) -> Result<Self, InvalidMark> {
        // Fast path: every tool is checked, but almost none has marks.
        if !schema.as_str().contains(MARK) {
            return Ok(Self::default());
        }
        let Ok(schema) = schema.decode::<Value>() else {
            return Err(InvalidMark { location: "the root".to_owned(), reason: "the schema cannot be read" });
        };
        let mut found = Self::default();
        found.search(&schema, &mut Vec::new(), true, 0)?;
        Ok(found)
    }

    /// Walks the schema. `direct` is `true` if there are only `properties` between this schema and the root.
    fn search(
        &mut self,
        schema: &Value,
        path: &mut Vec<String>,
        direct: bool,
        depth: usize,
    ) -> Result<(), InvalidMark> {
        let invalid = |path: &[String], reason| Err(InvalidMark { location: location(path), reason });
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(items) => {
                return items.iter().try_for_each(|item| self.search(item, path, false, depth + 1));
            }
            _ => return Ok(()),
        };
        if depth > MAX_DEPTH {
            return invalid(path, "the schema is nested too deeply");
        }
        if let Some(mark) = members.get(MARK) {
            let Some(name) = mark.as_str() else { return invalid(path, "it must be a string") };
            if name.is_empty() || !name.bytes().all(is_token_byte) {
                return invalid(path, "it must be a header name: letters, digits and !#$%&'*+-.^_`|~");
            }
            if !direct || path.is_empty() {
                return invalid(
                    path,
                    "only properties of objects can be sent in headers, not items or alternatives",
                );
            }
            if !matches!(members.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"))
            {
                return invalid(path, "the type must be string, integer or boolean");
            }
            let header = format!("Mcp-Param-{name}");
            if self.0.iter().any(|known| known.header.eq_ignore_ascii_case(&header)) {
                return invalid(path, "another property has the same header name");
            }
            self.0.push(MarkedArgument { header, path: path.clone() });
        }
        for (key, value) in members {
            if key == "properties"
                && let Value::Object(properties) = value
            {
                for (name, property) in properties {
                    path.push(name.clone());
                    self.search(property, path, direct, depth + 1)?;
                    path.pop();
                }
            } else if !is_data(key) {
                self.search(value, path, false, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Returns whether no argument is marked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the headers that a client sends with these arguments, with encoded values.
    pub fn values<'a>(&'a self, arguments: &'a Value) -> impl Iterator<Item = (String, Cow<'a, str>)> {
        self.0.iter().filter_map(|marked| {
            let value = marked.value(arguments)?;
            Some((marked.header.clone(), Cow::Owned(encode(&header_text(value)?).into_owned())))
        })
    }

    /// Compares the received headers with the received arguments. `is_required` says whether the revision requires the
    /// headers; optional headers must be right too.
    ///
    /// # Errors
    ///
    /// The mismatch, ready to be sent to the peer.
    pub fn check<'h>(
        &self,
        arguments: &Value,
        is_required: bool,
        header: impl Fn(&str) -> MirroredHeader<'h>,
    ) -> Result<(), RpcError> {
        for marked in &self.0 {
            // An argument that is not in the body needs no header. The tool itself refuses a value that is not a
            // scalar.
            let Some(value) = marked.value(arguments) else { continue };
            let Some(expected) = header_text(value) else { continue };
            match header(&marked.header) {
                MirroredHeader::Absent if !is_required => {}
                MirroredHeader::One(sent) if value.is_number() => {
                    if !decode(sent).is_some_and(|sent| is_same_number(&sent, value)) {
                        return Err(mismatch(&marked.header, DIFFERS));
                    }
                }
                sent => sent.must_decode_to(&marked.header, Some(&expected))?,
            }
        }
        Ok(())
    }
}

impl MarkedArgument {
    fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let value = self.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        (!value.is_null()).then_some(value)
    }
}

/// Returns whether a header value equals the number. `42.0` equals `42`; integers are compared exactly.
fn is_same_number(sent: &str, number: &Value) -> bool {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (sent.parse::<i128>(), whole) {
        (Ok(sent), Some(whole)) => sent == whole,
        _ => sent.parse::<f64>().is_ok_and(|sent| Some(sent) == number.as_f64()),
    }
}

/// Returns the text of a value that may be sent in a header.
fn header_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(_) | Value::Number(_) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

fn location(path: &[String]) -> String {
    if path.is_empty() { "the root".to_owned() } else { format!("`{}`", path.join(".")) }
}

/// Returns whether the value of the keyword is data, in which a member named `x-mcp-header` is not a mark.
fn is_data(keyword: &str) -> bool {
    matches!(keyword, "default" | "const" | "enum" | "examples")
}

/// Returns whether the byte may occur in a token (RFC 9110, section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(properties: Value) -> Result<ParamHeaders, InvalidMark> {
        ParamHeaders::from_schema(&json!({"type": "object", "properties": properties}).into())
    }

    #[test]
    fn marks_that_break_a_rule_are_named() {
        for (properties, part) in [
            (json!({"a": {"type": "string", "x-mcp-header": ""}}), "`a`"),
            (json!({"a": {"type": "object", "x-mcp-header": "A"}}), "string, integer or boolean"),
            (json!({"a": {"type": "number", "x-mcp-header": "A"}}), "string, integer or boolean"),
            (json!({"a": {"type": ["string", "null"], "x-mcp-header": "A"}}), "string, integer or boolean"),
            (
                json!({"a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"}}),
                "the same",
            ),
            (json!({"a": {"type": "string", "x-mcp-header": "a b"}}), "header name"),
            (json!({"a": {"type": "string", "x-mcp-header": "a:b"}}), "header name"),
            (json!({"a": {"type": "string", "x-mcp-header": "é"}}), "header name"),
            (json!({"a": {"type": "string", "x-mcp-header": 7}}), "a string"),
            (json!({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}), "items"),
            (json!({"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}}), "alternatives"),
        ] {
            let error = of(properties.clone()).unwrap_err().to_string();
            assert!(error.contains(part), "{properties}: {error}");
        }
    }

    #[test]
    fn nested_properties_and_data_are_fine() {
        let found = of(json!({
            "a": {"type": "object", "properties": {"b": {"type": "integer", "x-mcp-header": "Method"}}},
            "c": {"type": "string", "default": {"x-mcp-header": ""}},
        }));
        let headers = found.unwrap();
        let sent: Vec<_> = headers
            .values(&json!({"a": {"b": -7}}))
            .map(|(name, value)| (name, value.into_owned()))
            .collect();
        assert_eq!(sent, [("Mcp-Param-Method".to_owned(), "-7".to_owned())]);
        assert_eq!(headers.values(&json!({"a": {"b": null}})).count(), 0);
        assert_eq!(headers.values(&json!({"a": {}})).count(), 0);
    }

    #[test]
    fn headers_are_compared_by_value() {
        let headers = of(json!({
            "n": {"type": "integer", "x-mcp-header": "N"},
            "s": {"type": "string", "x-mcp-header": "S"},
        }));
        let headers = headers.unwrap();
        for (arguments, n, s, fits) in [
            (json!({"n": 42}), MirroredHeader::One("42"), MirroredHeader::Absent, true),
            (json!({"n": 42}), MirroredHeader::One("42.0"), MirroredHeader::Absent, true),
            (json!({"n": 42}), MirroredHeader::One("43"), MirroredHeader::Absent, false),
            (json!({"n": 42}), MirroredHeader::One("x"), MirroredHeader::Absent, false),
            (json!({"n": 42}), MirroredHeader::One("4.2e1"), MirroredHeader::Absent, true),
            (json!({"n": 42.0}), MirroredHeader::One("42"), MirroredHeader::Absent, true),
            // The header is 2^53 + 1, which an `f64` would round to 2^53.
            (
                json!({"n": 1_u64 << 53}),
                MirroredHeader::One("9007199254740993"),
                MirroredHeader::Absent,
                false,
            ),
            (
                json!({"n": u64::MAX}),
                MirroredHeader::One("18446744073709551615"),
                MirroredHeader::Absent,
                true,
            ),
            (
                json!({"n": u64::MAX}),
                MirroredHeader::One("18446744073709551614"),
                MirroredHeader::Absent,
                false,
            ),
            (json!({"n": 42}), MirroredHeader::Absent, MirroredHeader::Absent, false),
            (json!({"s": "Hello"}), MirroredHeader::Absent, MirroredHeader::One("=?base64?SGVsbG8=?="), true),
            (json!({"s": "Hello"}), MirroredHeader::Absent, MirroredHeader::One("=?base64?SGVsbG8?="), false),
            (json!({"s": "SGVsbG8="}), MirroredHeader::Absent, MirroredHeader::One("SGVsbG8="), true),
            (json!({"s": ""}), MirroredHeader::Absent, MirroredHeader::One(""), true),
            (json!({"s": null}), MirroredHeader::Absent, MirroredHeader::Absent, true),
            (json!({}), MirroredHeader::One("7"), MirroredHeader::Unreadable, true),
        ] {
            let checked = headers.check(&arguments, true, |name| if name == "Mcp-Param-N" { n } else { s });
            assert_eq!(checked.is_ok(), fits, "{arguments} {n:?} {s:?}");
            if let Err(error) = checked {
                assert_eq!(error.code.0, -32020);
            }
        }
    }
}
