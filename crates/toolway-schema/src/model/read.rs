//! How is the JSON of a schema read into a form that can be queried quickly?
//!
//! Each definition is read once, when the first reference to it is found. A schema is read for one of two purposes: to
//! check values, where each mistake is an error for the author, or to be converted for a provider, where parts with
//! mistakes are skipped and recorded.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use super::height::find_mistake;
use super::node::{Additional, Id, KeywordValue, Mistake, Model, Node, NodeDetails, Pattern, TextRules};
use crate::terms::format::Format;
use crate::terms::number;
use crate::terms::pattern::{self, CompiledPattern, PatternError};
use crate::terms::refs::{RefResolver, escape_step, pointer};
use crate::terms::types::Types;
use crate::terms::work::MAX_WORK;
use crate::texts::problem::truncate;

impl Model {
    /// Reads a schema of any draft, which may come from an untrusted peer. Parts with mistakes are skipped.
    pub(crate) fn for_conversion(schema: &Value) -> Self {
        Self::new(Reader::new(schema, Purpose::Convert).read_all().nodes)
    }

    /// Reads a schema to check values with it. Also returns a sentence for each keyword that our own engine cannot
    /// check.
    ///
    /// # Errors
    ///
    /// The mistakes in the schema.
    pub(crate) fn for_checking(schema: &Value) -> Result<(Self, Vec<String>), Vec<String>> {
        let mut reader = Reader::new(schema, Purpose::Check).read_all();
        reader.errors.extend(find_mistake(&reader.nodes).map(str::to_owned));
        if !reader.errors.is_empty() {
            return Err(reader.errors);
        }
        Ok((Self::new(reader.nodes), reader.unsupported))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Check,
    Convert,
}

struct Reader<'s> {
    root: &'s Value,
    refs: RefResolver<'s>,
    purpose: Purpose,
    nodes: Vec<Node>,
    by_pointer: HashMap<String, Id>,
    /// The referenced schemas that are still to be read. With recursion instead, a peer could make the call stack
    /// arbitrarily deep.
    pending: Vec<(Id, String, &'s Value)>,
    /// The mistakes in the current schema.
    mistakes: Vec<Mistake>,
    unsupported: Vec<String>,
    errors: Vec<String>,
}

/// The requirement for a keyword's value in two wordings. The first is for the author of a schema that checks values.
/// The second is for the losses of a converted schema; if it is empty, the mistake is not reported there.
type Requirement = (&'static str, &'static str);

const A_LIST: Requirement = ("be an array", "a list");
const TEXT: Requirement = ("be a string", "");
const SCHEMAS: Requirement = ("be an array of schemas", "a list of schemas");
const NAMED: Requirement = ("be an object of schemas", "an object");
const NAMES: Requirement = ("be an array of strings", "a list of names");
const TYPES: Requirement = ("name JSON types", "a JSON type");
const A_NUMBER: Requirement = ("be a number", "a number");
const A_POSITIVE_NUMBER: Requirement = ("be a number above 0", "a number");
const A_COUNT: Requirement = ("be a non-negative integer", "a whole number");

impl<'s> Reader<'s> {
    fn new(root: &'s Value, aim: Purpose) -> Self {
        Self {
            root,
            refs: RefResolver::of(root),
            purpose: aim,
            nodes: Vec::new(),
            by_pointer: HashMap::new(),
            pending: Vec::new(),
            mistakes: Vec::new(),
            unsupported: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn read_all(mut self) -> Self {
        self.shared(String::new(), self.root);
        // The root is shared only if a reference leads to it. All other schemas in `pending` are targets of references.
        self.nodes[0].is_shared = false;
        while let Some((id, pointer, schema)) = self.pending.pop() {
            let node = self.read(schema, &pointer);
            let is_shared = self.nodes[id].is_shared;
            self.nodes[id] = Node { is_shared, ..node };
        }
        self
    }

    /// Returns the node of the schema at `pointer`, which a reference leads to.
    fn shared(&mut self, pointer: String, schema: &'s Value) -> Id {
        if let Some(id) = self.by_pointer.get(&pointer) {
            self.nodes[*id].is_shared = true;
            return *id;
        }
        let id = self.nodes.len();
        self.nodes.push(Node { is_shared: true, ..Node::default() });
        self.by_pointer.insert(pointer.clone(), id);
        self.pending.push((id, pointer, schema));
        id
    }

    fn node(&mut self, schema: &'s Value, at: &str) -> Id {
        let node = self.read(schema, at);
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn read(&mut self, schema: &'s Value, at: &str) -> Node {
        let mut node = Node::default();
        let before = std::mem::take(&mut self.mistakes);
        let mut more = NodeDetails { at: at.to_owned(), ..NodeDetails::default() };
        match schema {
            Value::Bool(allows) => node.is_never = !allows,
            // References with overlapping pointers could read the same schemas very often, so the number of nodes is
            // limited.
            Value::Object(_) if self.purpose == Purpose::Convert && self.nodes.len() > MAX_READ => {
                more.is_truncated = true;
            }
            Value::Object(members) => {
                for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
                    if let Some(value) = members.get(word) {
                        node.all_of.extend(self.reference(word, value, at));
                    }
                }
                more.references = node.all_of.len();
                self.members(&mut node, members, at);
                if self.purpose == Purpose::Convert {
                    self.read_details(&mut more, members, at);
                }
            }
            _ if self.purpose == Purpose::Check => {
                self.errors.push(format!("the schema at `#{at}` must be an object"));
            }
            _ => self.mistake(at, "schema", "it is neither an object nor a boolean", false),
        }
        more.mistakes = std::mem::replace(&mut self.mistakes, before);
        node.details = (self.purpose == Purpose::Convert).then(|| more.into());
        node
    }

    fn members(&mut self, node: &mut Node, members: &'s Map<String, Value>, at: &str) {
        for (keyword, value) in members {
            match keyword.as_str() {
                "allOf" => node.all_of.extend(self.list(value, keyword, at)),
                "anyOf" => node.any_of.push(self.list(value, keyword, at)),
                "oneOf" => node.one_of = self.list(value, keyword, at),
                "not" => node.not = Some(self.node(value, &format!("{at}/not"))),
                "type" => node.types = self.types(value, at),
                "enum" => match value {
                    Value::Array(options) => node.allowed = Some(options.clone()),
                    _ => self.report_wrong_value(keyword, at, A_LIST),
                },
                "const" => {
                    node.allowed.get_or_insert_with(|| vec![value.clone()]);
                }
                "minimum" => node.number.get_or_insert_default().minimum = self.number(value, keyword, at),
                "maximum" => node.number.get_or_insert_default().maximum = self.number(value, keyword, at),
                "exclusiveMinimum" => {
                    node.number.get_or_insert_default().exclusive_minimum = self.number(value, keyword, at);
                }
                "exclusiveMaximum" => {
                    node.number.get_or_insert_default().exclusive_maximum = self.number(value, keyword, at);
                }
                "multipleOf" => node.number.get_or_insert_default().multiple_of = self.multiple_of(value, at),
                "minLength" => node.text.get_or_insert_default().count.min = self.count(value, keyword, at),
                "maxLength" => node.text.get_or_insert_default().count.max = self.count(value, keyword, at),
                "pattern" => match value.as_str() {
                    Some(source) => {
                        let pattern = self.pattern(source, keyword, at);
                        node.text.get_or_insert_default().pattern = pattern;
                    }
                    None => self.report_wrong_value(keyword, at, TEXT),
                },
                "format" => match value.as_str() {
                    Some(name) => match Format::from_name(name) {
                        Some(format) => node.text.get_or_insert_default().format = Some(format),
                        None if self.purpose == Purpose::Check => {
                            node.text.get_or_insert_default().other_format = Some(name.to_owned());
                        }
                        // The details have every format.
                        None => {}
                    },
                    None => self.report_wrong_value(keyword, at, TEXT),
                },
                "minItems" => node.array.get_or_insert_default().count.min = self.count(value, keyword, at),
                "maxItems" => node.array.get_or_insert_default().count.max = self.count(value, keyword, at),
                "uniqueItems" => node.array.get_or_insert_default().is_unique = value == &Value::Bool(true),
                "prefixItems" => node.array.get_or_insert_default().prefix = self.list(value, keyword, at),
                // Before draft 2020-12, a list in `items` had the meaning of `prefixItems`.
                "items" if self.is_tuple_items(members) => {
                    let array = node.array.get_or_insert_default();
                    array.prefix = self.list(value, keyword, at);
                    let rest = members.get("additionalItems");
                    array.items = rest.map(|rest| self.node(rest, &format!("{at}/additionalItems")));
                }
                "items" => {
                    let items = self.node(value, &format!("{at}/items"));
                    node.array.get_or_insert_default().items = Some(items);
                }
                "minProperties" => {
                    node.object.get_or_insert_default().count.min = self.count(value, keyword, at);
                }
                "maxProperties" => {
                    node.object.get_or_insert_default().count.max = self.count(value, keyword, at);
                }
                "required" => node.object.get_or_insert_default().required = self.names(value, at),
                "properties" => {
                    let properties = self.named(value, keyword, at);
                    node.object.get_or_insert_default().properties.extend(properties);
                }
                "patternProperties" => {
                    let mut patterns = Vec::new();
                    for (source, id) in self.named(value, keyword, at) {
                        patterns.extend(self.pattern(&source, keyword, at).map(|pattern| (pattern, id)));
                    }
                    node.object.get_or_insert_default().patterns = patterns;
                }
                "additionalProperties" => {
                    node.object.get_or_insert_default().additional = match value {
                        Value::Bool(true) => Additional::Anything,
                        Value::Bool(false) => Additional::Nothing,
                        schema => {
                            Additional::Schema(self.node(schema, &format!("{at}/additionalProperties")))
                        }
                    };
                }
                // An `$id` inside a schema begins another document, and pointers are relative to it.
                "$id" if at.is_empty() => {}
                word if self.purpose == Purpose::Check && is_unsupported(word) => {
                    self.add_unsupported(&format!("`{keyword}`"), at);
                }
                word if self.purpose == Purpose::Convert && !is_known(word) => {
                    self.mistake(at, word, "it is not a JSON Schema keyword that models know", true);
                }
                // Annotations, and words that are not part of JSON Schema.
                _ => {}
            }
        }
        // If a schema has both `enum` and `const`, both must hold.
        if let (Some(constant), Some(options)) = (members.get("const"), &mut node.allowed) {
            options.retain(|option| number::are_equal(option, constant));
        }
        if let Some(text) = &node.text {
            self.check_pattern_work(text, at);
        }
        if let Some(number) = &mut node.number {
            // In draft 4 these keywords are booleans.
            if members.get("exclusiveMinimum") == Some(&Value::Bool(true)) {
                number.exclusive_minimum = number.minimum.take();
            }
            if members.get("exclusiveMaximum") == Some(&Value::Bool(true)) {
                number.exclusive_maximum = number.maximum.take();
            }
        }
    }

    fn is_tuple_items(&self, members: &Map<String, Value>) -> bool {
        let is_list = members.get("items").is_some_and(Value::is_array);
        self.purpose == Purpose::Convert && is_list && !members.contains_key("prefixItems")
    }

    /// Reads the data that is not needed to check values.
    fn read_details(&mut self, more: &mut NodeDetails, members: &'s Map<String, Value>, at: &str) {
        let text = |word: &str| members.get(word).and_then(Value::as_str).map(str::to_owned);
        more.title = text("title");
        more.description = text("description");
        more.format = text("format");
        more.is_nullable = members.get("nullable") == Some(&Value::Bool(true));
        let properties = members.get("properties").and_then(Value::as_object);
        more.names = properties.into_iter().flat_map(Map::keys).cloned().collect();
        for word in ANNOTATIONS {
            let is_right = |value: &Value| match word {
                "examples" => value.is_array(),
                "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
                "contentEncoding" | "contentMediaType" => value.is_string(),
                _ => true,
            };
            match members.get(word) {
                Some(value) if is_right(value) => more.annotations.push((word, value.clone())),
                Some(_) => self.mistake(at, word, "its value has the wrong type", true),
                None => {}
            }
        }
        if let Some(example) = members.get("example").filter(|_| !members.contains_key("examples")) {
            more.annotations.push(("examples", Value::Array(vec![example.clone()])));
        }
        for word in CONDITIONS {
            // These keywords have no meaning without the first keyword of their group.
            let first = match word {
                "then" | "else" => "if",
                "minContains" | "maxContains" => "contains",
                "dependentRequired" | "dependentSchemas" | "dependencies" | "$dynamicRef"
                | "$recursiveRef" => {
                    continue;
                }
                word => word,
            };
            let Some(value) = members.get(word).filter(|_| members.contains_key(first)) else { continue };
            let part = match word {
                "minContains" | "maxContains" => {
                    number::as_count(value).map(|count| KeywordValue::Json(count.into()))
                }
                _ => Some(KeywordValue::Schema(self.node(value, &format!("{at}/{word}")))),
            };
            more.parts.extend(part.map(|part| (word, part)));
        }
        self.dependencies(more, members, at);
    }

    fn dependencies(&mut self, more: &mut NodeDetails, members: &'s Map<String, Value>, at: &str) {
        let mut names = Map::new();
        let mut schemas = Vec::new();
        for word in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for (name, value) in members.get(word).and_then(Value::as_object).into_iter().flatten() {
                match value {
                    Value::Array(needed) if word != "dependentSchemas" => {
                        let needed = needed.iter().filter(|name| name.is_string()).cloned();
                        names.insert(name.clone(), needed.collect());
                    }
                    schema if word != "dependentRequired" => {
                        let at = format!("{at}/{word}/{}", escape_step(name));
                        schemas.push((name.clone(), self.node(schema, &at)));
                    }
                    _ => self.report_wrong_value(word, at, ("", "lists of names")),
                }
            }
        }
        if !names.is_empty() {
            more.parts.push(("dependentRequired", KeywordValue::Json(Value::Object(names))));
        }
        if !schemas.is_empty() {
            more.parts.push(("dependentSchemas", KeywordValue::Named(schemas)));
        }
    }

    fn report_wrong_value(&mut self, keyword: &str, at: &str, (strictly, loosely): Requirement) {
        match self.purpose {
            Purpose::Check => self.errors.push(format!("`{keyword}` at `#{at}` must {strictly}")),
            Purpose::Convert if loosely.is_empty() => {}
            Purpose::Convert => self.mistake(at, keyword, &format!("it should be {loosely}"), false),
        }
    }

    fn mistake(&mut self, at: &str, word: &str, why: &str, is_remark: bool) {
        let (at, word, why) = (at.to_owned(), word.to_owned(), why.to_owned());
        self.mistakes.push(Mistake { at, keyword: word, why, is_annotation: is_remark });
    }

    fn add_unsupported(&mut self, what: &str, at: &str) {
        self.unsupported
            .push(format!("{what} at `#{at}` is not checked: enable the feature `full-schema` of toolway"));
    }

    fn reference(&mut self, word: &str, value: &Value, at: &str) -> Option<Id> {
        if self.purpose == Purpose::Convert {
            if let Some((pointer, schema)) = value.as_str().and_then(|reference| self.refs.resolve(reference))
            {
                return Some(self.shared(pointer, schema));
            }
            // A reference that cannot be resolved allows any value.
            let at = format!("{at}/{word}");
            let why = "the reference has no target in the schema, and other documents are not fetched";
            self.mistake(&at, "$ref", why, false);
            return Some(self.node(&Value::Bool(true), &at));
        }
        if word != "$ref" {
            return None;
        }
        let Some(reference) = value.as_str() else {
            self.report_wrong_value(word, at, TEXT);
            return None;
        };
        let Some(pointer) = pointer(reference) else {
            self.add_unsupported(&format!("`$ref` to `{reference}`"), at);
            return None;
        };
        let Some(schema) = self.root.pointer(&pointer) else {
            self.errors.push(format!("`$ref` at `#{at}` refers to `{reference}`, which does not exist"));
            return None;
        };
        Some(self.shared(pointer, schema))
    }

    fn list(&mut self, value: &'s Value, keyword: &str, at: &str) -> Vec<Id> {
        match value {
            Value::Array(schemas)
                if self.purpose == Purpose::Check || !schemas.is_empty() || keyword.ends_with("tems") =>
            {
                let schemas = schemas.iter().enumerate();
                schemas.map(|(index, schema)| self.node(schema, &format!("{at}/{keyword}/{index}"))).collect()
            }
            _ => {
                self.report_wrong_value(keyword, at, SCHEMAS);
                Vec::new()
            }
        }
    }

    fn named(&mut self, value: &'s Value, keyword: &str, at: &str) -> Vec<(String, Id)> {
        match value {
            Value::Object(schemas) => {
                let place = |name: &str| format!("{at}/{keyword}/{}", escape_step(name));
                schemas.iter().map(|(name, schema)| (name.clone(), self.node(schema, &place(name)))).collect()
            }
            _ => {
                self.report_wrong_value(keyword, at, NAMED);
                Vec::new()
            }
        }
    }

    fn names(&mut self, value: &Value, at: &str) -> Vec<String> {
        let names = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<_> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let is_right = match self.purpose {
            Purpose::Check => value.is_array() && texts.len() == names.len(),
            // Draft 3 has a boolean here, and some authors still use it.
            Purpose::Convert => value.is_array() || value.is_boolean(),
        };
        if !is_right {
            self.report_wrong_value("required", at, NAMES);
        }
        texts
    }

    fn types(&mut self, value: &Value, at: &str) -> Option<Types> {
        let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let known: Vec<_> = names.iter().filter_map(|name| Types::from_name(name.as_str()?)).collect();
        if known.len() < names.len() || names.is_empty() {
            self.report_wrong_value("type", at, TYPES);
        }
        known.into_iter().reduce(Types::or)
    }

    fn number(&mut self, value: &Value, keyword: &str, at: &str) -> Option<Number> {
        let is_draft_4 =
            self.purpose == Purpose::Convert && value.is_boolean() && keyword.starts_with("exclusive");
        if !value.is_number() && !is_draft_4 {
            self.report_wrong_value(keyword, at, A_NUMBER);
        }
        value.as_number().cloned()
    }

    fn multiple_of(&mut self, value: &Value, at: &str) -> Vec<Number> {
        let step = value.as_number().filter(|step| step.as_f64().is_some_and(|step| step > 0.0));
        if step.is_none() && !(self.purpose == Purpose::Convert && value.is_number()) {
            self.report_wrong_value("multipleOf", at, A_POSITIVE_NUMBER);
        }
        step.into_iter().cloned().collect()
    }

    fn count(&mut self, value: &Value, keyword: &str, at: &str) -> Option<u64> {
        let count = number::as_count(value);
        if count.is_none() {
            self.report_wrong_value(keyword, at, A_COUNT);
        }
        count
    }

    /// Reports a pattern that is too large for the texts that `maxLength` allows.
    fn check_pattern_work(&mut self, text: &TextRules, at: &str) {
        let compiled = text.pattern.as_ref().and_then(|pattern| pattern.compiled.as_ref());
        if let (Some(compiled), Some(length)) = (compiled, text.count.max)
            && compiled.work(length) > MAX_WORK
        {
            self.errors.push(format!(
                "`pattern` at `#{at}` is too large for a `maxLength` of {length}: use a `maxLength` of at most {}, or a \
                 simpler pattern",
                compiled.max_characters()
            ));
        }
    }

    fn pattern(&mut self, source: &str, keyword: &str, at: &str) -> Option<Pattern> {
        let compiled = match self.purpose {
            Purpose::Check => match CompiledPattern::compile(source) {
                Ok(compiled) => Some(compiled),
                Err(PatternError::TooLarge) => {
                    self.errors.push(format!(
                        "`{keyword}` at `#{at}` is too large: `{}`: use smaller repetition counts, or check the length \
                         with `maxLength`",
                        truncate(source)
                    ));
                    return None;
                }
                Err(PatternError::Unsupported(error)) => {
                    // The pattern may still be valid: the engine of `full-schema` supports look-around and more.
                    self.unsupported.push(format!(
                        "`{keyword}` at `#{at}` does not compile: `{source}`: {error} (the feature `full-schema` of \
                         toolway supports more patterns)"
                    ));
                    return None;
                }
            },
            Purpose::Convert if pattern::is_valid(source) => None,
            Purpose::Convert => {
                let why = if keyword == "pattern" { "it is not a regular expression" } else { BROKEN_NAME };
                self.mistake(at, keyword, why, false);
                return None;
            }
        };
        Some(Pattern { source: source.to_owned(), compiled })
    }
}

/// Returns whether our own engine cannot check a keyword.
fn is_unsupported(word: &str) -> bool {
    word == "$id" || (CONDITIONS.contains(&word) && !word.ends_with("Contains"))
}

/// Returns whether a keyword is read, or can be ignored because it is only about the schema itself.
fn is_known(word: &str) -> bool {
    const SILENT: &str = " $schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment $defs definitions $ref \
                          nullable title description example additionalItems ";
    ANNOTATIONS.contains(&word) || CONDITIONS.contains(&word) || SILENT.contains(&format!(" {word} "))
}

const BROKEN_NAME: &str = "a name in it is not a regular expression";

/// The annotations that models understand.
const ANNOTATIONS: [&str; 7] =
    ["default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"];

/// The keywords that few providers support.
const CONDITIONS: [&str; 14] = [
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
];

/// The maximum number of inner schemas that are read from one schema.
const MAX_READ: usize = 100_000;
