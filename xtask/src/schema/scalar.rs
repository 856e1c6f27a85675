//! Which texts and numbers are tried where a schema leaves them open?
//!
//! Unusual ones: empty, escaped, beyond ASCII, at the limit of exact integers in JavaScript. Fractions have few digits,
//! so that every JSON library reads and writes them exactly and a difference is a fault.

use serde_json::{Number, Value, json};

use super::random::Random;
use crate::run::Result;

/// Returns a text of a format, or any text.
pub(super) fn text(random: &mut Random, format: Option<&Value>) -> Result<String> {
    let Some(format) = format else {
        return Ok((*random.pick(&TEXTS)).to_owned());
    };
    let choices: &[&str] = match format.as_str() {
        Some("byte") => {
            let length = random.below(5);
            let bytes: Vec<u8> = (0..length).map(|_| *random.pick(&BYTES)).collect();
            return Ok(base64(&bytes));
        }
        Some("uri") => {
            &["https://example.com/a?b=c#d", "file:///a%20b.txt", "urn:isbn:0451450523", "x-app:1"]
        }
        Some("uri-template") => &["file:///{path}", "https://example.com/{id}{?q,r*}", "x-app:plain"],
        Some("date") => &["2026-07-28", "2024-02-29"],
        Some("date-time") => &["2025-01-12T15:00:58Z", "2026-07-28T23:59:59.123+02:00"],
        Some("email") => &["somebody@example.com"],
        _ => return Err(format!("the format {format} is not known to xtask/src/schema/scalar.rs")),
    };
    Ok((*random.pick(choices)).to_owned())
}

/// Returns a number between the schema's `minimum` and `maximum`, an integer if `kind` is `integer`.
pub(super) fn number(random: &mut Random, kind: &str, plain: &serde_json::Map<String, Value>) -> Value {
    let limit = |keyword: &str| plain.get(keyword).and_then(Value::as_f64);
    let (low, high) = (limit("minimum"), limit("maximum"));
    let fits = |number: &Number| {
        let number = number.as_f64().unwrap_or_default();
        low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)
    };
    let mut candidates: Vec<Number> = INTEGERS.map(Number::from).into();
    if kind == "number" {
        candidates.extend(fractions());
    }
    candidates.retain(fits);
    if candidates.is_empty() {
        return plain.get("minimum").or(plain.get("maximum")).cloned().unwrap_or_default();
    }
    Value::Number(random.pick(&candidates).clone())
}

/// Returns any JSON value, nested at most `depth` times.
pub(super) fn anything(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 5 } else { 7 };
    match random.below(kinds) {
        0 => Value::Null,
        1 => Value::Bool(random.once_in(2)),
        2 => json!(random.pick(&INTEGERS)),
        3 => Value::Number(random.pick(&fractions()).clone()),
        4 => json!(random.pick(&TEXTS)),
        5 => (0..random.below(4)).map(|_| anything(random, depth - 1)).collect(),
        _ => {
            let count = random.below(4);
            let member = |_| ((*random.pick(&KEYS)).to_owned(), anything(random, depth - 1));
            Value::Object((0..count).map(member).collect())
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| usize::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = char::from(BASE64[bits >> (18 - 6 * at) & 63]);
            text.push(if at <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

/// The keys of objects that declare none.
pub(super) const KEYS: [&str; 8] =
    ["a", "name", "type", "com.example/key", "with space", "quote\"", "ключ", ""];
const TEXTS: [&str; 10] = [
    "",
    "a",
    "7",
    "null",
    "some words",
    "two\nlines\tand a tab",
    "\"quoted\" \\ back",
    "{\"not\":\"an object\"}",
    "Grüße 🛠 日本",
    "\u{1}\u{7f}\u{2028}",
];
const BYTES: [u8; 6] = [0x00, 0x7f, 0xfb, 0xff, b'a', b'\n'];
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Up to the limit of exact integers in JavaScript, in both directions.
const INTEGERS: [i64; 10] =
    [0, 1, -1, 7, 100, -32_000, 65_536, 4_294_967_296, 9_007_199_254_740_991, -9_007_199_254_740_991];

fn fractions() -> [Number; 6] {
    // Python writes the fraction of floats that are whole numbers (`1.0`).
    [0.5, 0.1, 1.0, -2.75, 12_345.678, 1e10].map(|number| Number::from_f64(number).expect("it is finite"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{base64, number};
    use crate::schema::random::Random;

    #[test]
    fn base64_is_padded() {
        let rows: [(&[u8], &str); 5] = [
            (b"", ""),
            (b"a", "YQ=="),
            (b"ab", "YWI="),
            (b"abc", "YWJj"),
            (&[0xfb, 0xff, 0xff, 0], "+///AA=="),
        ];
        for (bytes, expected) in rows {
            assert_eq!(base64(bytes), expected);
        }
    }

    #[test]
    fn a_range_without_candidates_gives_its_limit() {
        let schema = json!({"minimum": 50, "maximum": 60});
        let plain = schema.as_object().unwrap();
        assert_eq!(number(&mut Random::new(1, ""), "integer", plain), json!(50));
    }
}
