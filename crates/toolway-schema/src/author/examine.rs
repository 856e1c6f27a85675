//! What does an author add to the schema that is derived from Rust types, and is the result consistent?

use serde_json::Value;

use crate::check::Checker;
use crate::terms::keyword::inner_schemas;
use crate::terms::number;

/// Merges `patch` into `base`: objects member by member, `required` as a union; all other values are replaced.
pub fn merge(base: &mut Value, patch: Value) {
    let (Value::Object(base), Value::Object(patch)) = (&mut *base, patch) else { return };
    for (name, value) in patch {
        match (base.get_mut(&name), value) {
            (Some(Value::Array(names)), Value::Array(more)) if name == "required" => {
                for new in more {
                    if !names.contains(&new) {
                        names.push(new);
                    }
                }
            }
            (Some(below @ Value::Object(_)), above @ Value::Object(_)) => merge(below, above),
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}

/// The result of examining a schema of arguments.
#[derive(Debug, Default)]
pub struct Examination {
    /// The checker for arguments, if the schema could be read.
    pub checker: Option<Checker>,
    /// The mistakes in the schema, as sentences for the author.
    pub mistakes: Vec<String>,
    /// The names of the arguments with a wrong default.
    pub wrong_defaults: Vec<String>,
}

/// Reads the schema of a tool's arguments and reports its mistakes.
pub fn examine(schema: &Value) -> Examination {
    let mut examined =
        Examination { mistakes: Vec::from_iter(root_mistake(schema)), ..Examination::default() };
    if !schema.is_object() {
        return examined;
    }
    let mut found = Vec::new();
    find_contradictions(schema, "", &mut found);
    match Checker::compile(schema) {
        Ok(checker) => {
            for (name, default) in checker.defaults().filter(|(_, default)| !default.is_null()) {
                let problems = checker.check_property(name, default);
                if !problems.is_empty() {
                    examined.wrong_defaults.push(name.to_owned());
                }
                examined.mistakes.extend(problems.iter().map(|problem| format!("the default of {problem}")));
            }
            examined.checker = Some(checker);
        }
        Err(errors) => found.extend(errors),
    }
    examined.mistakes.extend(found.into_iter().map(|text| format!("the input schema: {text}")));
    examined
}

/// Reports a root that is not of type `object`, which the protocol requires for arguments.
fn root_mistake(schema: &Value) -> Option<String> {
    let kind = schema.get("type");
    kind.is_none_or(|name| name != "object").then(|| {
        let found = kind.map_or_else(|| "none".to_owned(), Value::to_string);
        format!("the arguments of a tool are an object: `type` must be \"object\", it is {found}")
    })
}

/// Reports pairs of limits that no value can satisfy.
fn find_contradictions(schema: &Value, at: &str, mistakes: &mut Vec<String>) {
    let Value::Object(members) = schema else { return };
    for (low, high, may_meet) in LIMITS {
        let Some(least) = members.get(low).and_then(Value::as_number) else { continue };
        let Some(most) = members.get(high).and_then(Value::as_number) else { continue };
        let order = number::compare(least, most);
        if order.is_some_and(|order| order.is_gt() || (order.is_eq() && !may_meet)) {
            mistakes
                .push(format!("no value can match at `#{at}`: `{low}` is {least} and `{high}` is {most}"));
        }
    }
    for (place, inner) in members.iter().flat_map(|(keyword, value)| inner_schemas(keyword, value)) {
        find_contradictions(inner, &format!("{at}{place}"), mistakes);
    }
}

/// A lower limit, an upper limit, and whether the two may be equal.
const LIMITS: [(&str, &str, bool); 7] = [
    ("minimum", "maximum", true),
    ("exclusiveMinimum", "maximum", false),
    ("minimum", "exclusiveMaximum", false),
    ("exclusiveMinimum", "exclusiveMaximum", false),
    ("minLength", "maxLength", true),
    ("minItems", "maxItems", true),
    ("minProperties", "maxProperties", true),
];
