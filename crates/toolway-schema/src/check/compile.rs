//! How does the text of a schema become something that can be asked quickly?
//!
//! Each definition is read once, when something first refers to it. What our own engine cannot say is left to the
//! feature `full-schema`.

use std::collections::HashMap;

use regex_lite::Regex;
use serde_json::{Map, Number, Value};

use super::node::{Additional, Id, Node, Program, Types};
use crate::format::Format;
use crate::keyword::escaped;
use crate::number;
use crate::pattern;

impl Program {
    /// Reads a schema, or tells what no schema would say.
    pub(crate) fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        let mut compiler = Compiler {
            root: schema,
            nodes: Vec::new(),
            by_pointer: HashMap::new(),
            beyond: Vec::new(),
            errors: Vec::new(),
        };
        compiler.shared("");
        compiler.find_endless();
        if !compiler.errors.is_empty() {
            return Err(compiler.errors);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let defaults = properties.into_iter().flatten().filter_map(|(name, property)| {
            property.get("default").map(|default| (name.clone(), default.clone()))
        });
        Ok(Self { nodes: compiler.nodes, defaults: defaults.collect(), beyond: compiler.beyond })
    }
}

struct Compiler<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    by_pointer: HashMap<String, Id>,
    beyond: Vec<String>,
    errors: Vec<String>,
}

impl Compiler<'_> {
    /// The node of the schema at `pointer`, which something refers to.
    fn shared(&mut self, pointer: &str) -> Option<Id> {
        if let Some(id) = self.by_pointer.get(pointer) {
            self.nodes[*id].is_shared = true;
            return Some(*id);
        }
        let schema = self.root.pointer(pointer)?;
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.by_pointer.insert(pointer.to_owned(), id);
        let mut node = self.read(schema, pointer);
        // The schema itself is shared from when somebody refers to it; all others are here because of that.
        node.is_shared = !pointer.is_empty() || self.nodes[id].is_shared;
        self.nodes[id] = node;
        Some(id)
    }

    fn node(&mut self, schema: &Value, at: &str) -> Id {
        let node = self.read(schema, at);
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn read(&mut self, schema: &Value, at: &str) -> Node {
        match schema {
            Value::Bool(allows) => Node { is_never: !allows, ..Node::default() },
            Value::Object(members) => self.read_members(members, at),
            _ => {
                self.errors.push(format!("the schema at `#{at}` must be an object"));
                Node::default()
            }
        }
    }

    fn read_members(&mut self, members: &Map<String, Value>, at: &str) -> Node {
        let mut node = Node::default();
        for (keyword, value) in members {
            match keyword.as_str() {
                "$ref" => node.all_of.extend(self.reference(value, at)),
                "allOf" => node.all_of.extend(self.list(value, keyword, at)),
                "anyOf" => node.any_of.push(self.list(value, keyword, at)),
                "oneOf" => node.one_of = self.list(value, keyword, at),
                "not" => node.not = Some(self.node(value, &format!("{at}/not"))),
                "type" => node.types = self.types(value, at),
                "enum" => match value {
                    Value::Array(options) => node.options = Some(options.clone()),
                    _ => self.must(keyword, at, "be an array"),
                },
                "const" => {
                    node.options.get_or_insert_with(|| vec![value.clone()]);
                }
                "minimum" => node.number.get_or_insert_default().minimum = self.number(value, keyword, at),
                "maximum" => node.number.get_or_insert_default().maximum = self.number(value, keyword, at),
                "exclusiveMinimum" => {
                    node.number.get_or_insert_default().above = self.number(value, keyword, at);
                }
                "exclusiveMaximum" => {
                    node.number.get_or_insert_default().below = self.number(value, keyword, at);
                }
                "multipleOf" => node.number.get_or_insert_default().multiple_of = self.step(value, at),
                "minLength" => node.text.get_or_insert_default().min = self.count(value, keyword, at),
                "maxLength" => node.text.get_or_insert_default().max = self.count(value, keyword, at),
                "pattern" => {
                    let source = value.as_str().unwrap_or_default();
                    let regex = self.pattern(value, keyword, at);
                    node.text.get_or_insert_default().pattern = regex.map(|regex| (source.to_owned(), regex));
                }
                "format" => match value.as_str() {
                    Some(name) => {
                        if let Some(format) = Format::named(name) {
                            node.text.get_or_insert_default().format = Some(format);
                        }
                    }
                    None => self.must(keyword, at, "be a string"),
                },
                "minItems" => node.array.get_or_insert_default().min = self.count(value, keyword, at),
                "maxItems" => node.array.get_or_insert_default().max = self.count(value, keyword, at),
                "uniqueItems" => node.array.get_or_insert_default().is_unique = value == &Value::Bool(true),
                "prefixItems" => node.array.get_or_insert_default().prefix = self.list(value, keyword, at),
                "items" => {
                    let items = self.node(value, &format!("{at}/items"));
                    node.array.get_or_insert_default().items = Some(items);
                }
                "minProperties" => node.object.get_or_insert_default().min = self.count(value, keyword, at),
                "maxProperties" => node.object.get_or_insert_default().max = self.count(value, keyword, at),
                "required" => node.object.get_or_insert_default().required = self.names(value, at),
                "properties" => {
                    let properties = self.named(value, keyword, at);
                    node.object.get_or_insert_default().properties = properties.into_iter().collect();
                }
                "patternProperties" => {
                    let mut patterns = Vec::new();
                    for (source, id) in self.named(value, keyword, at) {
                        let regex = self.pattern(&source.into(), keyword, at);
                        patterns.extend(regex.map(|regex| (regex, id)));
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
                // Inside a schema it begins another document, and pointers count from there.
                "$id" if at.is_empty() => {}
                "$id"
                | "if"
                | "then"
                | "else"
                | "dependentRequired"
                | "dependentSchemas"
                | "dependencies"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "$dynamicRef"
                | "$recursiveRef" => self.beyond(&format!("`{keyword}`"), at),
                // Remarks, and words that are not of JSON Schema.
                _ => {}
            }
        }
        // An `enum` beside a `const` is rare; then both hold, whichever was read first.
        if let (Some(constant), Some(options)) = (members.get("const"), &mut node.options) {
            options.retain(|option| number::equal(option, constant));
        }
        node
    }

    fn must(&mut self, keyword: &str, at: &str, demand: &str) {
        self.errors.push(format!("`{keyword}` at `#{at}` must {demand}"));
    }

    fn beyond(&mut self, what: &str, at: &str) {
        self.beyond
            .push(format!("{what} at `#{at}` is not checked: enable the feature `full-schema` of toolway"));
    }

    fn reference(&mut self, value: &Value, at: &str) -> Option<Id> {
        let Some(reference) = value.as_str() else {
            self.must("$ref", at, "be a string");
            return None;
        };
        let Some(pointer) = pointer(reference) else {
            self.beyond(&format!("`$ref` to `{reference}`"), at);
            return None;
        };
        let found = self.shared(&pointer);
        if found.is_none() {
            self.errors.push(format!("`$ref` at `#{at}` refers to `{reference}`, and there is nothing"));
        }
        found
    }

    fn list(&mut self, value: &Value, keyword: &str, at: &str) -> Vec<Id> {
        match value {
            Value::Array(schemas) => {
                let schemas = schemas.iter().enumerate();
                schemas.map(|(index, schema)| self.node(schema, &format!("{at}/{keyword}/{index}"))).collect()
            }
            _ => {
                self.must(keyword, at, "be an array of schemas");
                Vec::new()
            }
        }
    }

    fn named(&mut self, value: &Value, keyword: &str, at: &str) -> Vec<(String, Id)> {
        match value {
            Value::Object(schemas) => {
                let place = |name: &str| format!("{at}/{keyword}/{}", escaped(name));
                schemas.iter().map(|(name, schema)| (name.clone(), self.node(schema, &place(name)))).collect()
            }
            _ => {
                self.must(keyword, at, "be an object of schemas");
                Vec::new()
            }
        }
    }

    fn names(&mut self, value: &Value, at: &str) -> Vec<String> {
        let names =
            value.as_array().map(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        names.flatten().unwrap_or_else(|| {
            self.must("required", at, "be an array of strings");
            Vec::new()
        })
    }

    fn types(&mut self, value: &Value, at: &str) -> Option<Types> {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        let each = names.iter().map(|name| name.as_str().and_then(Types::named));
        let types = each.reduce(|all, one| Some(all?.or(one?))).flatten();
        if types.is_none() {
            self.must("type", at, "name types of JSON");
        }
        types
    }

    fn number(&mut self, value: &Value, keyword: &str, at: &str) -> Option<Number> {
        if !value.is_number() {
            self.must(keyword, at, "be a number");
        }
        value.as_number().cloned()
    }

    fn step(&mut self, value: &Value, at: &str) -> Option<Number> {
        let step = value.as_number().filter(|step| step.as_f64().is_some_and(|step| step > 0.0));
        if step.is_none() {
            self.must("multipleOf", at, "be a number above 0");
        }
        step.cloned()
    }

    fn count(&mut self, value: &Value, keyword: &str, at: &str) -> Option<u64> {
        let count = value.as_number().and_then(number::whole).and_then(|count| u64::try_from(count).ok());
        if count.is_none() {
            self.must(keyword, at, "be a count");
        }
        count
    }

    fn pattern(&mut self, value: &Value, keyword: &str, at: &str) -> Option<Regex> {
        let Some(source) = value.as_str() else {
            self.must(keyword, at, "be a string");
            return None;
        };
        match Regex::new(&pattern::from_ecma(source)) {
            Ok(regex) => Some(regex),
            Err(error) => {
                // Backtracking engines know look-around and more; the one of `full-schema` decides.
                self.beyond.push(format!(
                    "`{keyword}` at `#{at}` does not compile: `{source}`: {error} (the feature `full-schema` of \
                     toolway knows more patterns)"
                ));
                None
            }
        }
    }

    /// Finds schemas that refer to themselves for the same value: checking would never end.
    fn find_endless(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        fn visit(nodes: &[Node], marks: &mut [Mark], id: Id) -> bool {
            if marks[id] != Mark::New {
                return marks[id] == Mark::Open;
            }
            marks[id] = Mark::Open;
            let node = &nodes[id];
            let same_value =
                node.all_of.iter().chain(node.any_of.iter().flatten()).chain(&node.one_of).chain(&node.not);
            let is_endless = same_value.copied().any(|next| visit(nodes, marks, next));
            marks[id] = Mark::Done;
            is_endless
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        if (0..self.nodes.len()).any(|id| visit(&self.nodes, &mut marks, id)) {
            self.errors.push("a `$ref` leads back to itself without going into the value".to_owned());
        }
    }
}

/// Where in the same document a reference points to, if it does.
pub(crate) fn pointer(reference: &str) -> Option<String> {
    reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/')).and_then(unescaped)
}

/// The pointer of a URI's fragment.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?);
    }
    String::from_utf8(bytes).ok()
}
