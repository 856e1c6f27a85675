//! Which values and which texts does a type accept, according to its schema?

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolway_schema::Schema;

use super::generate::{Generator, input_schema_of};

/// Returns the values of an enum without data, or of an `Option` of such an enum, as `serde` writes them.
pub(crate) fn enum_values(describe: impl FnOnce(&mut Generator) -> Value) -> Option<Vec<String>> {
    build_schema(describe).text_choices()
}

/// Returns the texts that a schema lists, if the schema allows no other values.
pub(crate) fn text_choices(schema: &Value, definitions: &Map<String, Value>) -> Option<Vec<String>> {
    Schema::with_definitions(schema.clone(), definitions.clone()).text_choices()
}

/// Describes in words what a type expects. Returns `None` if the schema of the type does not say.
pub(crate) fn expected_text(describe: impl FnOnce(&mut Generator) -> Value) -> Option<String> {
    build_schema(describe).expected_text()
}

/// Describes in words what a field of a struct expects.
pub(crate) fn expected_field_text<T: DeserializeOwned + JsonSchema>(field: &str) -> Option<String> {
    let schema: Value = input_schema_of::<T>().finish().schema.decode().ok()?;
    Schema::of(&schema).property(field)?.expected_text()
}

fn build_schema(describe: impl FnOnce(&mut Generator) -> Value) -> Schema {
    let mut generator = Generator::default();
    let schema = describe(&mut generator);
    Schema::with_definitions(schema, generator.definitions())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn of<T: JsonSchema>() -> Option<String> {
        expected_text(Generator::describe::<T>)
    }

    #[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
    struct Wrapped(Ipv6Addr);

    #[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
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
