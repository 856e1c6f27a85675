//! Do two engines agree about a value, and does a converted schema follow its provider's rules?
//!
//! The first line of an input is a schema, the rest a value.

use jsonschema::{Draft, Validator};
use serde_json::Value;
use toolway_schema::dialects::{self, Effect, Provider};
use toolway_schema::{Checker, MAX_PROBLEMS, Schema};

use crate::Outcome;

/// Our engine and the crate `jsonschema` agree; what fits is not converted, and converting it twice changes nothing.
pub(crate) fn check(input: &[u8]) -> Outcome {
    let Some((schema, value)) = read(input) else { return Outcome::Refused };
    let Ok(checker) = Checker::compile(&schema) else { return Outcome::Refused };
    let problems = checker.check(&value);
    assert!(problems.len() <= MAX_PROBLEMS);
    assert_eq!(checker.check(&value), problems);
    let mut coerced = value.clone();
    assert_eq!(checker.coerce(&mut coerced), coerced != value);
    let once = coerced.clone();
    assert!(!checker.coerce(&mut coerced), "{once} became {coerced}");
    if problems.is_empty() {
        assert!(checker.check(&coerced).is_empty(), "{value} fits and became {coerced}");
    }
    // The engines differ on purpose about nulls and about the dialect of a pattern, and in the details of formats. Only
    // ours divides numbers that are not integers exactly.
    let text = schema.to_string();
    let differs = ["\"pattern", "\"format\"", "\"$schema\"", "\"$id\"", "\"$anchor\"", "\"$dynamic"];
    let is_inexact = text.contains("\"multipleOf\"") && any(&value, &|value| value.is_f64());
    let has_null = any(&value, &Value::is_null);
    if differs.iter().any(|word| text.contains(word)) || has_null || is_inexact {
        return Outcome::Accepted;
    }
    if let Ok(other) = build(&schema) {
        let is_too_much = problems.iter().any(|problem| problem.to_string().contains("too much"));
        assert!(is_too_much || problems.is_empty() == other.is_valid(&value), "{problems:?}");
    }
    Outcome::Accepted
}

/// A converted schema follows its provider's rules, and means the same as the original unless a loss is reported.
pub(crate) fn dialects(input: &[u8]) -> Outcome {
    let Some((schema, value)) = read(input) else { return Outcome::Refused };
    let original = build(&schema);
    for provider in Provider::ALL {
        let converted = dialects::convert(provider, &schema);
        assert_eq!(dialects::convert(provider, &schema), converted);
        let Some(written) = &converted.schema else {
            assert_eq!(provider, Provider::Gemini);
            continue;
        };
        let by_rules = match provider {
            Provider::OpenAiStrict if !converted.is_strict => Provider::OpenAi,
            provider => provider,
        };
        assert_eq!(dialects::check(by_rules, written), [], "{provider:?}: {written}");
        let restored = Schema::of(&schema).restore(&value.to_string());
        let restored = restored.map_or_else(|| value.clone(), |text| serde_json::from_str(&text).unwrap());
        if !matches!(by_rules, Provider::OpenAi | Provider::Anthropic) {
            continue;
        }
        assert!(jsonschema::meta::is_valid(written), "{provider:?}: {written}");
        let validator = build(written).unwrap_or_else(|error| panic!("{provider:?}: {written}: {error}"));
        // Only OpenAI keeps all names of properties, so that the same value can be checked by both schemas.
        let (Ok(original), Provider::OpenAi, true) = (&original, by_rules, value.is_object()) else {
            continue;
        };
        let has = |effect| converted.losses.iter().any(|loss| loss.effect == effect);
        if !has(Effect::Narrower) && original.is_valid(&value) {
            assert!(validator.is_valid(&value), "{written} has no loss of values: {:?}", converted.losses);
        }
        if !has(Effect::Wider) && validator.is_valid(&value) {
            assert!(original.is_valid(&restored), "{written} has no loss of rules: {:?}", converted.losses);
        }
    }
    Outcome::of(schema.is_object())
}

fn read(input: &[u8]) -> Option<(Value, Value)> {
    let (schema, value) = std::str::from_utf8(input).ok()?.split_once('\n')?;
    Some((serde_json::from_str(schema).ok()?, serde_json::from_str(value).ok()?))
}

fn build(schema: &Value) -> Result<Validator, String> {
    let options =
        jsonschema::options().with_draft(Draft::Draft202012).offline().should_validate_formats(true);
    options.build(schema).map_err(|error| error.to_string())
}

/// Returns whether the value, or any value in it, is like this.
fn any(value: &Value, is_it: &impl Fn(&Value) -> bool) -> bool {
    is_it(value)
        || match value {
            Value::Array(items) => items.iter().any(|item| any(item, is_it)),
            Value::Object(members) => members.values().any(|member| any(member, is_it)),
            _ => false,
        }
}
