//! Which text does a type expect that is read from text? Its schema says so, by a format or a pattern.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::format::Format;
use super::generate::{Generator, input_schema_of};

/// Says in words what a described type expects; nothing if its schema leaves that open.
pub(crate) fn expected_text(describe: impl FnOnce(&mut Generator) -> Value) -> Option<String> {
    let mut generator = Generator::default();
    let schema = describe(&mut generator);
    in_schema(&schema, &generator.definitions(), DEEPEST)
}

/// Says in words what a field of a struct expects.
pub(crate) fn expected_texts<T: DeserializeOwned + JsonSchema>(field: &str) -> Option<String> {
    let schema: Value = input_schema_of::<T>().finish().schema.decode().ok()?;
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    in_schema(schema["properties"].get(field)?, &definitions, DEEPEST)
}

/// The number of references that are followed: a type may be described by itself.
const DEEPEST: u8 = 8;

fn in_schema(schema: &Value, definitions: &Map<String, Value>, depth: u8) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    if let Some(name) = schema.get("format").and_then(Value::as_str) {
        return Some(match Format::named(name) {
            Some(format) => format.noun.to_owned(),
            None => format!("text of the format `{name}`"),
        });
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        return Some(format!("text that matches `{pattern}`"));
    }
    let referenced = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let referenced = referenced.and_then(|name| definitions.get(name));
    let choices =
        ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    let mut inner = referenced.into_iter().chain(choices).chain(schema.get("items"));
    inner.find_map(|schema| in_schema(schema, definitions, depth))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn of<T: JsonSchema>() -> Option<String> {
        expected_text(Generator::describe::<T>)
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Wrapped(Ipv6Addr);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Ruled(#[schemars(regex(pattern = "^[A-Z]{2}$"))] String);

    #[test]
    fn the_schema_of_a_type_says_what_it_expects() {
        assert_eq!(of::<Ipv4Addr>().as_deref(), Some("an IPv4 address"));
        assert_eq!(of::<Option<Ipv4Addr>>().as_deref(), Some("an IPv4 address"));
        assert_eq!(of::<Vec<Wrapped>>().as_deref(), Some("an IPv6 address"));
        assert_eq!(of::<Ruled>().as_deref(), Some("text that matches `^[A-Z]{2}$`"));
        assert_eq!(of::<String>(), None);
        assert_eq!(of::<u8>(), None);
    }
}
