//! Does our own engine agree with the crate `jsonschema` about every value, for schemas that use only the keywords that
//! our engine knows?
//!
//! `SEED=7 cargo test -p toolway-schema agreement` generates other schemas and values. A failure prints both, and the
//! seed.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::Checker;
use crate::terms::number::are_equal;

#[test]
fn both_engines_agree() {
    let (mut good, mut bad) = (0, 0);
    for_cases(|random| {
        let Some((schema, checker)) = any_checker(random) else { return };
        let other = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        for _ in 0..VALUES {
            let value = any_value(random, 3);
            let problems = checker.check(&value);
            assert_eq!(problems.is_empty(), other.is_valid(&value), "{schema} and {value}: {problems:?}");
            *(if problems.is_empty() { &mut good } else { &mut bad }) += 1;
        }
    });
    assert!(good > 5_000 && bad > 5_000, "{good} fit, {bad} do not");
}

#[test]
fn what_fits_is_not_turned_and_turning_ends() {
    let (mut kept, mut turned) = (0, 0);
    for_cases(|random| {
        let Some((schema, checker)) = any_checker(random) else { return };
        for _ in 0..VALUES {
            let value = any_value(random, 3);
            let mut after = value.clone();
            let is_changed = checker.coerce(&mut after);
            if checker.check(&value).is_empty() {
                // 5.0 equals 5 in a schema, but not in `serde_json`.
                assert!(are_equal(&value, &after), "{schema} and {value}: {after}");
                kept += 1;
            }
            assert_eq!(is_changed, value != after, "{schema} and {value}: {after}");
            turned += usize::from(is_changed);
            let once = after.clone();
            assert!(!checker.coerce(&mut after), "{schema} and {value}: {once}, then {after}");
        }
    });
    assert!(kept > 5_000 && turned > 200, "{kept} fit, {turned} were turned");
}

/// Returns a random schema that our engine accepts. Some random schemas are refused because they refer to themselves
/// endlessly.
fn any_checker(random: &mut Random) -> Option<(Value, Checker)> {
    let mut schema = any_members(random, 3);
    schema.insert("$defs".to_owned(), json!({"a": any_schema(random, 2), "b": any_schema(random, 2)}));
    let schema = Value::Object(schema);
    match Checker::compile(&schema) {
        Ok(checker) => Some((schema, checker)),
        Err(errors) => {
            assert_eq!(errors, ["a `$ref` refers to itself without descending into the value"], "{schema}");
            None
        }
    }
}

fn any_schema(random: &mut Random, depth: usize) -> Value {
    match random.below(16) {
        0 => true.into(),
        1 => false.into(),
        _ => any_members(random, depth).into(),
    }
}

fn any_members(random: &mut Random, depth: usize) -> Map<String, Value> {
    let mut members = Map::new();
    for _ in 0..=random.below(3) {
        let keywords = if depth == 0 { &KEYWORDS[..FLAT] } else { KEYWORDS };
        let keyword = random.pick(keywords);
        members.insert(keyword.to_owned(), any_rule(random, keyword, depth));
    }
    members
}

fn any_rule(random: &mut Random, keyword: &str, depth: usize) -> Value {
    let below = depth.saturating_sub(1);
    match keyword {
        "type" if random.below(3) == 0 => json!([random.pick(&TYPES[1..6]), "null", "integer"]),
        "type" => random.pick(TYPES).into(),
        "enum" => (0..=random.below(3)).map(|_| any_value(random, 1)).collect(),
        "const" => any_value(random, 1),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => any_number(random),
        // 1e300 is not a multiple of 3, but in `f64` arithmetic it is.
        "multipleOf" => random.pick(&[1.0, 2.0, 0.5, 0.1, 4.0]).into(),
        "pattern" => random.pick(&["^a", "\\d", "b$", "^[a-z]+$", "^$", "a|b"]).into(),
        "format" => {
            random.pick(&["email", "uri", "date", "time", "date-time", "uuid", "ipv4", "ipv6", "own"]).into()
        }
        "uniqueItems" => (random.below(2) == 0).into(),
        "required" => {
            let first = random.below(NAMES.len());
            NAMES[first..].iter().take(random.below(3)).map(|name| Value::from(*name)).collect()
        }
        "$ref" => random.pick(&["#/$defs/a", "#/$defs/b", "#"]).into(),
        "items" | "not" | "additionalProperties" => any_schema(random, below),
        "prefixItems" | "allOf" | "anyOf" | "oneOf" => {
            (0..=random.below(3)).map(|_| any_schema(random, below)).collect()
        }
        "properties" => {
            let names: Vec<_> = (0..random.below(4)).map(|_| random.pick(NAMES).to_owned()).collect();
            names.into_iter().map(|name| (name, any_schema(random, below))).collect::<Map<_, _>>().into()
        }
        "patternProperties" => json!({random.pick(&["^a", "b", "."]): any_schema(random, below)}),
        _ => random.below(4).into(),
    }
}

fn any_value(random: &mut Random, depth: usize) -> Value {
    let count = random.below(4);
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => random.pick(&[Some(true), Some(false), None]).into(),
        1 | 2 => any_number(random),
        3 | 4 => random.pick(TEXTS).into(),
        5 | 6 => (0..count).map(|_| any_value(random, depth - 1)).collect(),
        _ => {
            let names: Vec<_> = (0..count).map(|_| random.pick(NAMES).to_owned()).collect();
            let members = names.into_iter().map(|name| (name, any_value(random, depth - 1)));
            // A `null` for an optional member counts as missing here, but as a `null` in `jsonschema`.
            members.filter(|(_, member)| !member.is_null()).collect::<Map<_, _>>().into()
        }
    }
}

fn any_number(random: &mut Random) -> Value {
    match random.below(8) {
        0 => random.pick(&[u64::MAX, 1 << 53, (1 << 53) + 1]).into(),
        1 => random.pick(&[1e300, -1e300, 1e19, 9_007_199_254_740_992.0, -0.0]).into(),
        2 => random.pick(&[0.5, 1.5, 0.1, 0.3, -2.5]).into(),
        3 => random.pick(&[1.0, 2.0, 3.0]).into(),
        4 => random.pick(&[i64::MIN, -1]).into(),
        _ => random.below(5).into(),
    }
}

const FLAT: usize = 14;

const KEYWORDS: &[&str] = &[
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "required",
    "$ref",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "items",
    "not",
    "additionalProperties",
    "prefixItems",
    "allOf",
    "anyOf",
    "oneOf",
    "properties",
    "properties",
    "patternProperties",
];

const TYPES: &[&str] = &["null", "boolean", "string", "number", "array", "object", "integer"];

const NAMES: &[&str] = &["a", "b", "ab", "c"];

const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "é😀",
    "5",
    "true",
    "[1]",
    "{\"a\":\"1\"}",
    "a@b.c",
    "x:y",
    "2024-02-29",
    "2023-02-29",
    "10:00:00Z",
    "2024-02-29T10:00:00Z",
    "67e55044-10b1-426f-9247-bb680e5fe0c8",
    "127.0.0.1",
    "::1",
];

/// The number of values to check with each schema.
const VALUES: usize = 8;

/// A random number generator that a seed makes repeatable (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from((self.next() >> 32) % limit as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Prints which case failed.
struct Case {
    seed: u64,
    number: u64,
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "that was case {} with SEED={}", self.number, self.seed);
        }
    }
}

fn for_cases(mut case: impl FnMut(&mut Random)) {
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse::<u64>().unwrap());
    for number in 0..4_000_u64 {
        let _told = Case { seed, number };
        // Adjacent numbers must give unrelated states; 0 is the one state that xorshift never leaves.
        let state = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        case(&mut Random(state.max(1)));
    }
}
