//! How does a function's signature become a JSON Schema?
//!
//! The schema of each type comes from `schemars`; the object around the arguments is written here, as text, so
//! that the arguments keep the order in which the author wrote them.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value};
use toolway_protocol::RawJson;

/// Describes types. Definitions that several of them share are collected on the way.
#[derive(Debug)]
pub struct Generator(SchemaGenerator);

impl Generator {
    fn new() -> Self {
        Self(SchemaSettings::draft2020_12().into_generator())
    }

    pub(super) fn describe<T: JsonSchema>(&mut self) -> Value {
        let mut schema = self.0.subschema_for::<T>();
        make_portable(&mut schema);
        schema.to_value()
    }

    fn definitions(&mut self) -> Map<String, Value> {
        let mut definitions = self.0.take_definitions(true);
        for definition in definitions.values_mut() {
            if let Ok(schema) = <&mut Schema>::try_from(definition) {
                make_portable(schema);
            }
        }
        definitions
    }
}

/// The schema of a structured result.
pub(super) fn output_schema<T: JsonSchema>() -> RawJson {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    make_portable(&mut schema);
    schema.to_value().into()
}

/// Drops formats that say how Rust stores a number: no validator knows them, and some refuse the schema.
fn make_portable(schema: &mut Schema) {
    if let Some(Value::String(format)) = schema.get("format") {
        let is_storage = matches!(format.as_str(), "float" | "double")
            || format
                .strip_prefix('u')
                .unwrap_or(format)
                .strip_prefix("int")
                .is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit()));
        if is_storage {
            schema.remove("format");
        }
    }
    schemars::transform::transform_subschemas(&mut |schema: &mut Schema| make_portable(schema), schema);
}

/// The schema of a function's arguments, argument by argument. `#[tool]` uses it.
#[derive(Debug)]
pub struct InputSchema {
    generator: Generator,
    properties: String,
    required: Vec<&'static str>,
}

impl Default for InputSchema {
    fn default() -> Self {
        Self { generator: Generator::new(), properties: String::new(), required: Vec::new() }
    }
}

impl InputSchema {
    /// Adds a parameter, if its type is one that callers send.
    pub fn parameter<P: super::Parameter>(mut self, name: &'static str, description: &str) -> Self {
        if !P::IS_ARGUMENT {
            return self;
        }
        let mut schema = P::describe(&mut self.generator);
        if !description.is_empty() {
            // A boolean schema says nothing about the value; an object can say the same and carry the words.
            let described = match schema {
                Value::Object(members) => members,
                _ => Map::new(),
            };
            schema = Value::Object(described);
            schema["description"] = description.into();
        }
        if !P::is_optional() {
            self.required.push(name);
        }
        if !self.properties.is_empty() {
            self.properties.push(',');
        }
        self.properties.push_str(&text(name));
        self.properties.push(':');
        self.properties.push_str(&text(&schema));
        self
    }

    /// The finished schema.
    pub fn finish(mut self) -> RawJson {
        let mut schema = format!(r#"{{"type":"object","properties":{{{}}}"#, self.properties);
        if !self.required.is_empty() {
            schema.push_str(r#","required":"#);
            schema.push_str(&text(&self.required));
        }
        schema.push_str(r#","additionalProperties":false"#);
        let definitions = self.generator.definitions();
        if !definitions.is_empty() {
            schema.push_str(r#","$defs":"#);
            schema.push_str(&text(&definitions));
        }
        schema.push('}');
        RawJson::parse(&schema).expect("pieces of JSON were put together as an object")
    }
}

fn text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("names and schemas can be written as JSON")
}
