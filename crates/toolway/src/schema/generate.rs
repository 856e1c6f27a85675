//! How does a function's signature become a JSON Schema?
//!
//! The schema of each type comes from `schemars`. The object around the arguments is written here as text, so that the
//! arguments keep the order in which the author wrote them. The author can override parts of the schema at several
//! levels, the strongest first: a whole schema, attributes of an argument, a patch, the types with their docs.

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolway_protocol::RawJson;
use toolway_protocol::json::OrderedMap;
use toolway_schema::{
    ArgumentNames, Format, Schema, Side, Types, adds_only_annotations, drop_null, make_portable, merge,
};

use super::fields::declared_fields;
use super::typed::is_enforced;
use crate::ground::insert_all::insert_all;

/// Generates schemas of types, and collects the definitions that they share.
#[derive(Debug)]
pub struct Generator {
    inner: SchemaGenerator,
    /// `true` if `serde` enforces every keyword of the schemas generated so far.
    is_enforced: bool,
}

impl Default for Generator {
    fn default() -> Self {
        Self { inner: SchemaSettings::draft2020_12().into_generator(), is_enforced: true }
    }
}

impl Generator {
    pub(crate) fn describe<T: JsonSchema>(&mut self) -> Value {
        self.is_enforced &= is_enforced::<T>();
        to_portable(self.inner.subschema_for::<T>().to_value())
    }

    pub(super) fn definitions(&mut self) -> Map<String, Value> {
        let definitions = self.inner.take_definitions(true);
        insert_all(definitions.into_iter().map(|(name, schema)| (name, to_portable(schema))))
    }
}

fn to_portable(mut schema: Value) -> Value {
    make_portable(&mut schema, Side::Input);
    schema
}

/// Returns the schema of a structured result.
pub(crate) fn output_schema<T: JsonSchema>() -> RawJson {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    make_portable(&mut schema, Side::Output);
    schema.into()
}

/// Adds `"type": "object"` to a schema that lists members but has no type, because old clients require it. Returns
/// `None` if the schema needs no change.
pub(crate) fn with_object_type(schema: &RawJson) -> Option<RawJson> {
    let members = schema.members()?;
    let has = |keyword: &str| members.iter().any(|(name, _)| name == keyword);
    if has("type") || !(has("properties") || has("required")) {
        return None;
    }
    RawJson::parse(&format!(r#"{{"type":"object",{}"#, &schema.as_str()[1..])).ok()
}

/// Creates the schema of arguments that are the fields of one type.
pub fn input_schema_of<T: DeserializeOwned + JsonSchema>() -> InputSchemaBuilder {
    let mut input = InputSchemaBuilder::default();
    // A struct is always checked: `serde` accepts unknown members, and does not enforce `#[schemars(…)]`.
    input.generator.is_enforced = false;
    let mut schema = T::json_schema(&mut input.generator.inner).to_value();
    // A wrapper has the schema of the type that it wraps.
    let wrapped =
        schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    if let Some(found) = wrapped.and_then(|name| input.generator.inner.definitions().get(name)) {
        schema = found.clone();
    }
    let is_open = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
        // Any JSON: an author who takes a `Value` checks it in the handler.
        || schema == Value::Bool(true)
        || schema.as_object().is_some_and(|schema| schema.keys().all(|key| key.starts_with('$') || key == "title"))
        || ["allOf", "anyOf", "oneOf", "unevaluatedProperties"].iter().any(|word| schema.get(word).is_some());
    input.names.accepts_any = is_open;
    let Value::Object(mut members) = to_portable(schema) else { return input };
    if let Some(Value::Array(names)) = members.remove("required") {
        input.required = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    let mut properties = match members.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let fields = declared_fields::<T>();
    for name in fields {
        input.properties.extend(properties.remove_entry(*name));
    }
    input.properties.extend(properties);
    // The fields that `serde` names include aliases, which are not in the schema.
    input.names.read.extend(fields.iter().map(|name| (*name).to_owned()));
    input.names.read.extend(input.properties.iter().map(|(name, _)| name.clone()));
    // A schema that replaces this one may leave out fields with a default, to hide them from callers.
    input.names.expected.clone_from(&input.required);
    if is_open {
        input.other_keywords.remove("additionalProperties");
    }
    // The title and the description of the type are left out, because the tool has its own.
    members.retain(|keyword, _| !matches!(keyword.as_str(), "title" | "description"));
    input.other_keywords.extend(members);
    input
}

/// Builds the schema of a function's arguments, one argument at a time. `#[tool]` uses it.
#[derive(Debug)]
pub struct InputSchemaBuilder {
    generator: Generator,
    properties: Vec<(String, Value)>,
    required: Vec<String>,
    /// The other keywords of the schema.
    other_keywords: Map<String, Value>,
    args: Vec<(&'static str, Arg)>,
    names: ArgumentNames,
    patch: Option<Value>,
    replacement: Option<Value>,
}

/// The author's declarations about one argument, besides its type.
#[derive(Debug, Default)]
pub struct Arg {
    /// The name to display.
    pub title: Option<&'static str>,
    /// The description; may be empty.
    pub description: &'static str,
    /// The value if the caller does not send one.
    pub default: Option<Value>,
    /// Additional keywords of JSON Schema.
    pub rules: Option<Value>,
}

/// A finished schema.
#[derive(Debug)]
pub struct FinishedSchema {
    /// The schema as JSON text.
    pub schema: RawJson,
    /// `true` if decoding the arguments into their types enforces every keyword, so that no other check is needed.
    pub is_typed: bool,
    /// Mistakes in the declarations, as sentences for the author of the tool. Mistakes in the schema itself are found
    /// when it is compiled.
    pub mistakes: Vec<String>,
}

impl Default for InputSchemaBuilder {
    fn default() -> Self {
        let mut other_keywords = Map::new();
        other_keywords.insert("type".to_owned(), "object".into());
        other_keywords.insert("additionalProperties".to_owned(), false.into());
        Self {
            generator: Generator::default(),
            properties: Vec::new(),
            required: Vec::new(),
            other_keywords,
            args: Vec::new(),
            names: ArgumentNames::default(),
            patch: None,
            replacement: None,
        }
    }
}

impl InputSchemaBuilder {
    /// Adds an argument whose schema is returned by `describe`.
    pub(crate) fn argument(
        mut self,
        name: &'static str,
        arg: Arg,
        is_optional: bool,
        describe: impl FnOnce(&mut Generator) -> Value,
    ) -> Self {
        let mut schema = describe(&mut self.generator);
        if is_optional {
            // `describe` has already turned a list of types into a choice. Null is removed from either form.
            drop_null(&mut schema);
        } else {
            self.required.push(name.to_owned());
        }
        self.properties.push((name.to_owned(), schema));
        self.names.read.push(name.to_owned());
        self.names.expected.push(name.to_owned());
        self.args.push((name, arg));
        self
    }

    /// Merges a patch into the schema. The patch overrides the types, and is overridden by the attributes of the
    /// arguments.
    pub fn merge_patch(mut self, patch: Value) -> Self {
        match &mut self.patch {
            Some(below) => merge(below, patch),
            none => *none = Some(patch),
        }
        self
    }

    /// Replaces the whole schema, whatever the types say.
    pub fn replace_with(mut self, whole: Value) -> Self {
        self.replacement = Some(whole);
        self
    }

    /// Returns the names of the arguments, in declared order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the finished schema.
    pub fn finish(mut self) -> FinishedSchema {
        if let Some(whole) = self.replacement {
            let mistakes = self.names.mismatches(&whole);
            return FinishedSchema { schema: whole.into(), is_typed: false, mistakes };
        }
        let mut found = Vec::new();
        let definitions = self.generator.definitions();
        let mut is_typed = self.generator.is_enforced;
        let order: Vec<String> = self.properties.iter().map(|(name, _)| name.clone()).collect();
        let mut schema = Value::Object(self.other_keywords);
        schema["properties"] = Value::Object(insert_all(self.properties));
        schema["required"] = self.required.into();
        schema["$defs"] = Value::Object(definitions);

        if let Some(patch) = self.patch {
            if !patch.is_object() {
                found.push(format!("the patch of the schema must be an object, it is {patch}"));
            }
            found.extend(self.names.unknown_names(&patch));
            is_typed &= adds_only_annotations(&patch) && !has_defaults(&patch);
            merge(&mut schema, patch);
        }
        for (name, arg) in self.args {
            is_typed &= arg.rules.as_ref().is_none_or(adds_only_annotations);
            found.extend(ineffective_rules(name, arg.rules.as_ref(), &schema));
            found.extend(arg.apply(name, &mut schema));
        }
        make_defaults_optional(&mut schema);
        FinishedSchema { schema: write_in_order(schema, &order), is_typed, mistakes: found }
    }
}

impl Arg {
    /// Writes the declarations of the argument into its schema. Returns a mistake, if there is one.
    fn apply(self, name: &str, schema: &mut Value) -> Option<String> {
        let property = &mut schema["properties"][name];
        // A boolean schema cannot hold keywords. An empty object means the same as `true` and can hold keywords.
        if !property.is_object() {
            *property = Map::new().into();
        }
        let mistake = match self.rules {
            Some(rules @ Value::Object(_)) => {
                merge(property, rules);
                None
            }
            Some(rules) => {
                Some(format!("the rules of `{name}` must be an object of keywords, they are {rules}"))
            }
            None => None,
        };
        if let Some(title) = self.title {
            property["title"] = title.into();
        }
        if !self.description.is_empty() {
            property["description"] = self.description.into();
        }
        if let Some(default) = self.default {
            property["default"] = default;
        }
        mistake
    }
}

/// Finds the rules of an argument that do not apply to any value of its type. Returns sentences for the author.
fn ineffective_rules(name: &str, rules: Option<&Value>, schema: &Value) -> Vec<String> {
    let Some(rules) = rules.and_then(Value::as_object) else { return Vec::new() };
    let Some(types) = Schema::of(schema).property(name).and_then(|property| property.types()) else {
        return Vec::new();
    };
    let groups =
        rules.iter().filter_map(|(word, value)| constrained_types(word, value).map(|group| (word, group)));
    let idle = groups.filter(|(_, (_, about))| !types.intersects(*about));
    let tell = |(keyword, (owners, _)): (&String, (&str, Types))| {
        let types = types.names().join(" or ");
        format!("the rule `{keyword}` of `{name}` applies to {owners}, but the type of `{name}` is {types}")
    };
    idle.map(tell).collect()
}

/// Returns the kind of value that a keyword constrains: in words, and as types.
fn constrained_types(keyword: &str, value: &Value) -> Option<(&'static str, Types)> {
    match keyword {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Some(("numbers", Types::NUMBER))
        }
        "minLength" | "maxLength" | "pattern" => Some(("texts", Types::STRING)),
        "format" if value.as_str().is_some_and(|name| Format::from_name(name).is_some()) => {
            Some(("texts", Types::STRING))
        }
        "minItems" | "maxItems" | "uniqueItems" => Some(("lists", Types::ARRAY)),
        _ => None,
    }
}

fn has_defaults(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.values().any(|property| property.get("default").is_some()))
}

/// Removes properties that have a default from `required`.
fn make_defaults_optional(schema: &mut Value) {
    let Some(Value::Array(mut required)) = schema.get_mut("required").map(Value::take) else { return };
    required.retain(|name| {
        let property = name.as_str().and_then(|name| schema["properties"].get(name));
        property.is_none_or(|property| property.get("default").is_none())
    });
    schema["required"] = required.into();
}

/// Writes a schema as text, with its properties in declared order.
fn write_in_order(mut schema: Value, order: &[String]) -> RawJson {
    let mut take = |keyword: &str| schema.get_mut(keyword).map(Value::take).unwrap_or_default();
    let (kind, properties, required) = (take("type"), take("properties"), take("required"));
    let (additional, definitions) = (take("additionalProperties"), take("$defs"));
    let mut written: Vec<(String, RawJson)> = vec![("type".to_owned(), kind.into())];
    if let Value::Object(mut properties) = properties {
        let mut members: Vec<_> = order.iter().filter_map(|name| properties.remove_entry(name)).collect();
        members.extend(properties);
        written.push(("properties".to_owned(), object(members)));
    }
    if let Value::Array(mut names) = required
        && !names.is_empty()
    {
        let mut in_order = Vec::with_capacity(names.len());
        for known in order {
            in_order.extend(names.extract_if(.., |name| name == known));
        }
        in_order.extend(names);
        written.push(("required".to_owned(), Value::Array(in_order).into()));
    }
    if let Value::Object(others) = schema {
        let others = others.into_iter().filter(|(_, value)| !value.is_null());
        written.extend(others.map(|(keyword, value)| (keyword, value.into())));
    }
    if !additional.is_null() {
        written.push(("additionalProperties".to_owned(), additional.into()));
    }
    if definitions.as_object().is_some_and(|definitions| !definitions.is_empty()) {
        written.push(("$defs".to_owned(), definitions.into()));
    }
    object(written)
}

fn object<T: Serialize>(members: Vec<(String, T)>) -> RawJson {
    RawJson::from_value(&OrderedMap(members)).expect("names and schemas can be written as JSON")
}
