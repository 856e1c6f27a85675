//! How do all spellings of the same arguments become the same text?
//!
//! A client that repeats a call may serialize the arguments anew: with another order of members, other white space,
//! other escapes, or `1.0` for `1`. This module gives each value one spelling. Numbers are compared as decimals, never
//! as `f64`, so that an id of twenty digits keeps all of them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolway_protocol::RawJson;
use toolway_protocol::json::Limits;

use crate::ground::small_sort::sorted_places;

/// Returns the canonical spelling of arguments. Absent arguments equal empty ones.
pub(super) fn arguments(arguments: Option<&RawJson>) -> Cow<'_, [u8]> {
    let Some(arguments) = arguments else { return Cow::Borrowed(b"{}") };
    let text = arguments.as_str();
    let mut out = Vec::with_capacity(text.len());
    let mut reader = JsonReader { rest: text };
    if reader.value(Limits::default().depth, &mut out).is_none() {
        // The text has half a surrogate pair, or is nested deeper than any message. The client must send such a text
        // back exactly as it was. The leading space distinguishes it from every canonical spelling.
        out = [b" ", text.as_bytes()].concat();
    }
    Cow::Owned(out)
}

/// A reader of text that is known to be valid JSON. It checks only what it needs to continue.
struct JsonReader<'t> {
    rest: &'t str,
}

impl<'t> JsonReader<'t> {
    /// Writes the canonical spelling of the next value.
    fn value(&mut self, depth: u32, out: &mut Vec<u8>) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        match self.peek()? {
            b'{' => {
                let mut members: Vec<(String, Vec<u8>)> = Vec::new();
                self.skip();
                loop {
                    match self.peek()? {
                        b'}' => break,
                        b'"' => {
                            let (name, mut value) = (self.scalar()?, Vec::new());
                            self.peek()?;
                            self.skip();
                            self.value(deeper, &mut value)?;
                            members.push((name, value));
                        }
                        _ => self.skip(),
                    }
                }
                // A stable sort: if an object repeats a name, the order of the repeats matters.
                let order = sorted_places(members.len(), &|one, other| members[one].0.cmp(&members[other].0));
                out.push(b'{');
                for (index, place) in order.into_iter().enumerate() {
                    let (name, value) = &members[place];
                    out.extend_from_slice(if index > 0 { b"," } else { b"" });
                    write_text(name, out);
                    out.push(b':');
                    out.extend_from_slice(value);
                }
                out.push(b'}');
                self.skip();
            }
            b'[' => {
                out.push(b'[');
                self.skip();
                loop {
                    match self.peek()? {
                        b']' => break,
                        b',' => {
                            out.push(b',');
                            self.skip();
                        }
                        _ => self.value(deeper, out)?,
                    }
                }
                out.push(b']');
                self.skip();
            }
            b'"' => write_text(&self.scalar::<String>()?, out),
            first => {
                let word = self.scalar::<&RawValue>()?.get();
                let is_number = !first.is_ascii_alphabetic();
                out.extend_from_slice(
                    if is_number { canonical_number(word) } else { word.into() }.as_bytes(),
                );
            }
        }
        Some(())
    }

    /// Reads the next string, number or word.
    fn scalar<T: Deserialize<'t>>(&mut self) -> Option<T> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter();
        let value = values.next()?.ok()?;
        self.rest = &self.rest[values.byte_offset()..];
        Some(value)
    }

    /// Returns the next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.bytes().next()
    }

    /// Consumes the byte that `peek` returned.
    fn skip(&mut self) {
        self.rest = &self.rest[1..];
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("text can be written into memory");
}

/// Returns a number as its digits without leading or trailing zeros, and a power of ten. A number whose power does not
/// fit an `i64` stays as it was written; real arguments have no such powers.
fn canonical_number(number: &str) -> Cow<'_, str> {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (mantissa, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [before, after].concat();
    let digits = digits.trim_start_matches('0');
    let short = digits.trim_end_matches('0');
    if short.is_empty() {
        return Cow::Borrowed("0");
    }
    match power.parse::<i64>() {
        Ok(power) => {
            // Both lengths are limited by the size of a message, so this cannot overflow an `i128`.
            let power = i128::from(power) - after.len() as i128 + (digits.len() - short.len()) as i128;
            Cow::Owned(format!("{sign}{short}e{power}"))
        }
        Err(_) => Cow::Borrowed(number),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::{Map, Value, json};

    use super::*;

    fn canonical(text: &str) -> String {
        let text = RawJson::parse(text).unwrap();
        String::from_utf8(arguments(Some(&text)).into_owned()).unwrap()
    }

    #[test]
    fn each_value_has_one_spelling() {
        let groups: &[&[&str]] = &[
            &["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "100.00e-2"],
            &["-1", "-1.0", "-10e-1"],
            &["0", "-0", "0.0", "0e99999999999999999999999", "-0e-7"],
            &["1e1", "10", "10.0", "1E01"],
            &["9007199254740992"],
            &["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
            &["18446744073709551616"],
            &["18446744073709551617", "18446744073709551617.00"],
            &["1e400", "10e399"],
            &["1e401"],
            &["1e99999999999999999999999"],
            &[r#""1""#, r#""\u0031""#],
            &[r#""/é\n😀""#, r#""\/\u00e9\u000A\uD83D\ude00""#],
            &["true"],
            &["false"],
            &["null"],
            &[r#""true""#],
            &["{}", " { } "],
            &["[]", "[ ]"],
            &["[1,2]", "[ 1e0 ,\t2.0\n]"],
            &["[2,1]"],
            &["[[1],2]"],
            &[r#"{"a":1,"b":{"c":[],"d":null}}"#, r#"{ "b" : {"d":null,"c":[]}, "\u0061":1.0 }"#],
            &[r#"{"a":1,"b":{"c":[]},"d":null}"#],
            &[r#"{"a":"1","b":{"c":[],"d":null}}"#],
            &[r#"{"a,\"b":1}"#],
            &[r#"{"a":1,"b":1}"#],
            // An object that repeats a name differs from one with either value alone.
            &[r#"{"a":1,"a":2}"#],
            &[r#"{"a":2,"a":1}"#],
            &[r#"{"a":2}"#],
            // Half a surrogate pair is not text. It must be sent back exactly as it was.
            &[r#""\ud83d""#],
            &[r#""\uD83D""#],
        ];
        let mut seen: Vec<(&str, String)> = Vec::new();
        for group in groups {
            let first = canonical(group[0]);
            for spelling in *group {
                assert_eq!(canonical(spelling), first, "{spelling} and {}", group[0]);
            }
            for (other, text) in &seen {
                assert_ne!(*text, first, "{other} and {}", group[0]);
            }
            seen.push((group[0], first));
        }
    }

    #[test]
    fn no_arguments_are_empty_arguments() {
        assert_eq!(arguments(None), arguments(Some(&json!({}).into())));
        assert_ne!(arguments(None), arguments(Some(&json!(null).into())));
        assert_ne!(arguments(None), arguments(Some(&json!([]).into())));
    }

    #[test]
    fn what_is_deeper_than_any_message_is_taken_as_it_is() {
        let deep = |depth: usize, space: &str| {
            let text = format!("{}{space}{}", "[".repeat(depth), "]".repeat(depth));
            arguments(Some(&RawJson::parse(&text).unwrap())).into_owned()
        };
        assert_eq!(deep(100, ""), deep(100, " "));
        assert_ne!(deep(1_000_000, ""), deep(1_000_000, " "));
    }

    #[test]
    fn spellings_by_chance_are_the_same_and_changes_by_chance_are_not() {
        let mut dice = Dice(20_260_728);
        for round in 0..2000 {
            let value = dice.value(3);
            let (mut one, mut other) = (String::new(), String::new());
            dice.spell(&value, &mut one);
            dice.spell(&value, &mut other);
            assert_eq!(canonical(&one), canonical(&other), "round {round}:\n{one}\n{other}");
            let mut changed = value.clone();
            dice.change(&mut changed);
            let mut third = String::new();
            dice.spell(&changed, &mut third);
            assert_ne!(canonical(&one), canonical(&third), "round {round}:\n{one}\n{third}");
        }
    }

    /// Pseudorandom numbers, which are the same in every run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % end
        }

        fn text(&mut self) -> String {
            let letters = ['a', 'b', '"', '\\', '/', '\n', 'é', '😀', '{', ',', ' ', '\u{7f}'];
            (0..self.below(4)).map(|_| letters[self.below(letters.len())]).collect()
        }

        fn value(&mut self, depth: u32) -> Value {
            match self.below(if depth == 0 { 4 } else { 6 }) {
                0 => json!(self.below(2) == 0),
                1 => Value::Null,
                2 => json!(self.text()),
                3 => json!(i64::try_from(self.below(20_000)).unwrap() - 10_000),
                4 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
                _ => {
                    let members: Map<_, _> =
                        (0..self.below(5)).map(|_| (self.text(), self.value(depth - 1))).collect();
                    Value::Object(members)
                }
            }
        }

        fn space(&mut self, out: &mut String) {
            out.push_str(["", " ", "\n\t", "\r"][self.below(4)]);
        }

        fn spell(&mut self, value: &Value, out: &mut String) {
            self.space(out);
            match value {
                Value::Number(number) => {
                    let number = number.as_i64().unwrap();
                    let _ = match self.below(4) {
                        0 => write!(out, "{number}"),
                        1 => write!(out, "{number}.00"),
                        2 => write!(out, "{number}000E-3"),
                        _ => write!(out, "{number}.0e+00"),
                    };
                }
                Value::String(text) => self.spell_text(text, out),
                Value::Array(items) => {
                    out.push('[');
                    for (index, item) in items.iter().enumerate() {
                        out.push_str(if index > 0 { "," } else { "" });
                        self.spell(item, out);
                    }
                    self.space(out);
                    out.push(']');
                }
                Value::Object(members) => {
                    let mut members: Vec<_> = members.iter().collect();
                    for place in (1..members.len()).rev() {
                        members.swap(place, self.below(place + 1));
                    }
                    out.push('{');
                    for (index, (name, value)) in members.into_iter().enumerate() {
                        out.push_str(if index > 0 { "," } else { "" });
                        self.space(out);
                        self.spell_text(name, out);
                        self.space(out);
                        out.push(':');
                        self.spell(value, out);
                    }
                    self.space(out);
                    out.push('}');
                }
                word => out.push_str(&word.to_string()),
            }
            self.space(out);
        }

        fn spell_text(&mut self, text: &str, out: &mut String) {
            out.push('"');
            for letter in text.chars() {
                match self.below(2) {
                    0 => {
                        let quoted = serde_json::to_string(&letter).unwrap();
                        out.push_str(&quoted[1..quoted.len() - 1]);
                    }
                    _ => {
                        for unit in letter.encode_utf16(&mut [0; 2]) {
                            let _ = write!(out, "\\u{unit:04X}");
                        }
                    }
                }
            }
            out.push('"');
        }

        /// Changes a random part of a value.
        fn change(&mut self, value: &mut Value) {
            match value {
                Value::Array(items) if !items.is_empty() && self.below(4) > 0 => {
                    let place = self.below(items.len());
                    self.change(&mut items[place]);
                }
                Value::Array(items) => items.push(Value::Null),
                Value::Object(members) if !members.is_empty() && self.below(4) > 0 => {
                    let place = self.below(members.len());
                    self.change(members.values_mut().nth(place).unwrap());
                }
                Value::Object(members) => drop(members.insert("another".to_owned(), Value::Null)),
                Value::String(text) => text.push('x'),
                Value::Number(number) => *number = (number.as_i64().unwrap() + 1).into(),
                Value::Bool(bool) => *bool = !*bool,
                Value::Null => *value = json!(false),
            }
        }
    }
}
