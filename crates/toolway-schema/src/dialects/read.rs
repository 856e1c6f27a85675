//! How does a JSON Schema of any draft become a node?
//!
//! References are written out where they stand. One that leads to itself is written out a few times and then cut; all of
//! it has a limit, so that no schema, however it is folded, can take more than its share.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Number, Value};

use super::loss::{Effect, Losses};
use super::merge::{Fuel, both};
use super::node::{Node, Other, Part, Rest, Union};
use crate::refs::{Refs, escaped};
use crate::regex;
use crate::types::Types;

/// Reads a schema, and tells what was lost on the way.
pub(crate) fn read(schema: &Value, losses: &mut Losses) -> Rc<Node> {
    // A schema that refers to itself in many places grows fast. Then it is written out fewer times.
    for deepest in (1..MAX_RECURSION).rev() {
        let mut tried = Losses::default();
        let mut reader = Reader { deepest: deepest + 1, ..Reader::new(schema, &mut tried) };
        let node = reader.schema(schema, "", 0);
        if reader.nodes <= MAX_NODES {
            losses.append(tried);
            return node;
        }
    }
    Reader::new(schema, losses).schema(schema, "", 0)
}

struct Reader<'s, 'l> {
    refs: Refs<'s>,
    losses: &'l mut Losses,
    nodes: usize,
    fuel: Fuel,
    /// How often each definition is being written out.
    open: HashMap<String, usize>,
    deepest: usize,
}

impl<'s, 'l> Reader<'s, 'l> {
    fn new(root: &'s Value, losses: &'l mut Losses) -> Self {
        Self {
            refs: Refs::of(root),
            losses,
            nodes: 0,
            fuel: Fuel(MAX_NODES),
            open: HashMap::new(),
            deepest: 1,
        }
    }

    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Rc<Node> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            // Told once: what is left may be a lot.
            if self.nodes == MAX_NODES + 1 {
                return self.cut(at, "the schema is too large when its references are written out").into();
            }
            return Node { is_cut: true, ..Node::any(at) }.into();
        }
        if depth > MAX_DEPTH {
            return self.cut(at, "the schema is nested too deeply").into();
        }
        match schema {
            Value::Bool(true) => Node::any(at).into(),
            Value::Bool(false) => Node::never(at).into(),
            Value::Object(members) => self.object(members, at, depth).into(),
            _ => {
                self.losses.add(at, "schema", Effect::Wider, "it is neither an object nor a boolean");
                Node::any(at).into()
            }
        }
    }

    /// Nothing more is known: whoever cannot say that much allows less.
    fn cut(&mut self, at: &str, why: &str) -> Node {
        self.losses.add(at, "schema", Effect::Wider, why);
        self.losses.add(at, "schema", Effect::Narrower, why);
        Node { is_cut: true, ..Node::any(at) }
    }

    fn object(&mut self, members: &Map<String, Value>, at: &str, depth: usize) -> Node {
        let mut node = Node::any(at);
        self.plain(&mut node, members);
        self.inner(&mut node, members, depth);
        for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = members.get(word) {
                let target = self.reference(reference, &format!("{at}/{word}"), depth);
                node = self.both(node, target);
            }
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            if members.get(word).is_some_and(|value| !matches!(value, Value::Array(list) if !list.is_empty()))
            {
                self.malformed(at, word, "a list of schemas");
            }
        }
        for (index, branch) in list(members.get("allOf")).iter().enumerate() {
            let branch = self.schema(branch, &format!("{at}/allOf/{index}"), depth + 1);
            node = self.both(node, branch);
        }
        for (word, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            let branches = list(members.get(word)).iter().enumerate();
            if branches.len() == 0 {
                continue;
            }
            let mut branches: Vec<_> = branches
                .map(|(index, branch)| self.schema(branch, &format!("{at}/{word}/{index}"), depth + 1))
                .collect();
            // One that nothing fits adds nothing.
            branches.retain(|branch| !branch.is_never());
            match branches.len() {
                0 => node.types = Types::NONE,
                1 => node = self.both(node, branches.remove(0)),
                _ => node.unions.push(Union { branches, is_exclusive }),
            }
        }
        self.conditions(&mut node, members, depth);
        self.unevaluated(&mut node, members, depth);
        self.leave_out(members, at);
        node
    }

    fn both(&mut self, node: Node, other: Rc<Node>) -> Node {
        Rc::unwrap_or_clone(both(node.into(), other, &mut self.fuel))
    }

    /// What a reference refers to, written out.
    fn reference(&mut self, reference: &Value, at: &str, depth: usize) -> Rc<Node> {
        let target = reference.as_str().and_then(|reference| self.refs.resolve(reference));
        let Some((place, target)) = target else {
            let why = "it leads out of the schema or nowhere, and nothing is fetched";
            self.losses.add(at, "$ref", Effect::Wider, why);
            return Node::any(at).into();
        };
        let open = self.open.entry(place.clone()).or_default();
        if *open >= self.deepest {
            let mut node = self.cut(&place, "it contains itself, and is written out a few times only");
            // How the deepest one goes on is not told, but what it is.
            node.description = Some("Goes on in the same way.".to_owned());
            if let Some(name) = target.get("type").and_then(Value::as_str).and_then(Types::named) {
                node.types = name;
            }
            return node.into();
        }
        *open += 1;
        let node = self.schema(target, &place, depth + 1);
        if let Some(open) = self.open.get_mut(&place) {
            *open -= 1;
        }
        node
    }

    /// Keywords without schemas in them.
    fn plain(&mut self, node: &mut Node, members: &Map<String, Value>) {
        let text = |word: &str| members.get(word).and_then(Value::as_str);
        let count = |word: &str| members.get(word).and_then(whole);
        node.title = text("title").map(str::to_owned);
        node.description = text("description").map(str::to_owned);
        for word in REMARKS {
            let is_right = |value: &Value| match word {
                "examples" => value.is_array(),
                "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
                "contentEncoding" | "contentMediaType" => value.is_string(),
                _ => true,
            };
            match members.get(word) {
                Some(value) if is_right(value) => node.remarks.push((word, value.clone())),
                Some(_) => self.losses.add(
                    &node.at,
                    word,
                    Effect::Remark,
                    "its value is of another type than it should be",
                ),
                None => {}
            }
        }
        if let Some(example) = members.get("example").filter(|_| !members.contains_key("examples")) {
            node.remarks.push(("examples", Value::Array(vec![example.clone()])));
        }
        self.types(node, members);
        match members.get("enum") {
            Some(Value::Array(values)) => node.allow(values.clone()),
            Some(_) => self.malformed(&node.at, "enum", "a list"),
            None => {}
        }
        if let Some(value) = members.get("const") {
            let constant = Node::of_values(&node.at, vec![value.clone()]);
            *node = self.both(std::mem::replace(node, Node::any("")), constant.into());
        }
        node.text.shortest = count("minLength").filter(|count| *count > 0);
        node.text.longest = count("maxLength");
        node.text.formats.extend(text("format").map(str::to_owned));
        match text("pattern") {
            Some(pattern) if regex::is_sound(pattern) => node.text.patterns.push(pattern.to_owned()),
            Some(_) => self.losses.add(&node.at, "pattern", Effect::Wider, "it is no regular expression"),
            None => {}
        }
        range(node, members);
        node.array.fewest = count("minItems").filter(|count| *count > 0);
        node.array.most = count("maxItems");
        node.array.is_unique = members.get("uniqueItems") == Some(&Value::Bool(true));
        node.object.fewest = count("minProperties").filter(|count| *count > 0);
        node.object.most = count("maxProperties");
        match members.get("required") {
            Some(Value::Array(names)) => {
                let mut known = std::collections::HashSet::new();
                let names = names.iter().filter_map(Value::as_str).filter(|name| known.insert(*name));
                node.object.required = names.map(str::to_owned).collect();
            }
            // Draft 3, and authors who mean it.
            Some(Value::Bool(_)) | None => {}
            Some(_) => self.malformed(&node.at, "required", "a list of names"),
        }
        for word in ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] {
            if members.get(word).is_some_and(|value| whole(value).is_none()) {
                self.malformed(&node.at, word, "a whole number");
            }
        }
        for word in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
            let is_number =
                |value: &Value| value.is_number() || (word.starts_with("exclusive") && value.is_boolean());
            if members.get(word).is_some_and(|value| !is_number(value)) {
                self.malformed(&node.at, word, "a number");
            }
        }
    }

    fn types(&mut self, node: &mut Node, members: &Map<String, Value>) {
        let type_of = |name: &Value| name.as_str().and_then(Types::named);
        let types = match members.get("type") {
            None => return,
            Some(Value::Array(names)) => {
                let known = names.iter().filter_map(type_of).fold(Types::NONE, Types::or);
                if names.iter().any(|name| type_of(name).is_none()) {
                    self.malformed(&node.at, "type", "a type of JSON");
                }
                Some(known).filter(|known| !known.is_none())
            }
            Some(name) => {
                let known = type_of(name);
                if known.is_none() {
                    self.malformed(&node.at, "type", "a type of JSON");
                }
                known
            }
        };
        let Some(mut types) = types else { return };
        // OpenAPI 3.0 says it so.
        if members.get("nullable") == Some(&Value::Bool(true)) {
            types = types.or(Types::NULL);
        }
        node.types = types;
    }

    fn malformed(&mut self, at: &str, word: &str, expected: &str) {
        self.losses.add(at, word, Effect::Wider, format!("it should be {expected}"));
    }

    /// Keywords with schemas for what is inside.
    fn inner(&mut self, node: &mut Node, members: &Map<String, Value>, depth: usize) {
        let at = node.at.clone();
        node.object.properties = self.named(members, "properties", &at, depth);
        node.object.patterns = self.named(members, "patternProperties", &at, depth);
        node.object.rest = match members.get("additionalProperties") {
            None => Rest::Unsaid,
            Some(Value::Bool(false)) => Rest::Closed,
            Some(schema) => Rest::Like(self.schema(schema, &format!("{at}/additionalProperties"), depth + 1)),
        };
        let word = if members.contains_key("prefixItems") { "prefixItems" } else { "items" };
        let rest = if word == "items" { "additionalItems" } else { "items" };
        match members.get(word) {
            Some(Value::Array(first)) => {
                let first = first.iter().enumerate();
                node.array.first = first
                    .map(|(index, item)| self.schema(item, &format!("{at}/{word}/{index}"), depth + 1))
                    .collect();
                node.array.items =
                    members.get(rest).map(|items| self.schema(items, &format!("{at}/{rest}"), depth + 1));
            }
            Some(items) => {
                node.array.items = Some(self.schema(items, &format!("{at}/items"), depth + 1));
            }
            None => {}
        }
    }

    /// Keywords that few understand.
    fn conditions(&mut self, node: &mut Node, members: &Map<String, Value>, depth: usize) {
        let at = node.at.clone();
        let mut groups = Vec::new();
        // The other two mean nothing without the first.
        if members.contains_key("if") {
            groups.push(["if", "then", "else"].as_slice());
        }
        if members.contains_key("contains") {
            groups.push(["contains", "minContains", "maxContains"].as_slice());
        }
        groups.extend([["not"].as_slice(), &["propertyNames"]]);
        for group in groups {
            let parts = group.iter().filter_map(|word| {
                let value = members.get(*word)?;
                let part = match *word {
                    "minContains" | "maxContains" => Part::Json(whole(value)?.into()),
                    _ => Part::Schema(self.turned(value, &format!("{at}/{word}"), depth)),
                };
                Some((*word, part))
            });
            let parts: Vec<_> = parts.collect();
            if let [("not", Part::Schema(inner))] = parts.as_slice()
                && let Some(types) = left_by(node.types, inner)
            {
                node.types = types;
                node.agree();
            } else if !parts.is_empty() {
                node.others.push(Other { members: parts, is_about_all: false });
            }
        }
        self.dependencies(node, members, depth);
    }

    /// A schema where losing something may mean the opposite.
    fn turned(&mut self, schema: &Value, at: &str, depth: usize) -> Rc<Node> {
        self.losses.turn();
        let node = self.schema(schema, at, depth + 1);
        self.losses.turn_back();
        node
    }

    fn dependencies(&mut self, node: &mut Node, members: &Map<String, Value>, depth: usize) {
        let at = node.at.clone();
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
                        let at = format!("{at}/{word}/{}", escaped(name));
                        schemas.push((name.clone(), self.schema(schema, &at, depth + 1)));
                    }
                    _ => self.malformed(&at, word, "lists of names"),
                }
            }
        }
        let mut push = |part| node.others.push(Other { members: vec![part], is_about_all: false });
        if !names.is_empty() {
            push(("dependentRequired", Part::Json(Value::Object(names))));
        }
        if !schemas.is_empty() {
            push(("dependentSchemas", Part::Named(schemas)));
        }
    }

    /// What no other keyword has spoken about. Without choices, that is what `additionalProperties` says.
    fn unevaluated(&mut self, node: &mut Node, members: &Map<String, Value>, depth: usize) {
        let is_flat = node.unions.is_empty() && node.others.is_empty() && node.all_of.is_empty();
        let mut parts = Vec::new();
        for word in ["unevaluatedProperties", "unevaluatedItems"] {
            let Some(schema) = members.get(word) else { continue };
            let at = format!("{}/{word}", node.at);
            let inner = self.schema(schema, &at, depth + 1);
            if word == "unevaluatedProperties" && is_flat {
                if node.object.rest == Rest::Unsaid {
                    node.object.rest = if inner.is_never() { Rest::Closed } else { Rest::Like(inner) };
                }
            } else if is_flat {
                node.array.items.get_or_insert(inner);
            } else if !inner.is_any() {
                parts.push((word, Part::Schema(inner)));
            }
        }
        if !parts.is_empty() {
            node.others.push(Other { members: parts, is_about_all: true });
        }
    }

    fn named(
        &mut self,
        members: &Map<String, Value>,
        word: &'static str,
        at: &str,
        depth: usize,
    ) -> Vec<(String, Rc<Node>)> {
        let schemas = match members.get(word) {
            Some(Value::Object(schemas)) => schemas,
            Some(_) => {
                self.malformed(at, word, "an object");
                return Vec::new();
            }
            None => return Vec::new(),
        };
        let mut named = Vec::new();
        for (name, schema) in schemas {
            if word == "patternProperties" && !regex::is_sound(name) {
                self.losses.add(at, word, Effect::Wider, "a name in it is no regular expression");
                continue;
            }
            named.push((
                name.clone(),
                self.schema(schema, &format!("{at}/{word}/{}", escaped(name)), depth + 1),
            ));
        }
        named
    }

    /// Tells of what nobody knows. Words about the schema itself are gone without a word.
    fn leave_out(&mut self, members: &Map<String, Value>, at: &str) {
        for word in members.keys().filter(|word| !KNOWN.contains(&word.as_str())) {
            self.losses.add(at, word, Effect::Remark, "it is no keyword of JSON Schema that models know");
        }
    }
}

/// The types that are left where some must not be; nothing if that has no name.
fn left_by(types: Types, not: &Node) -> Option<Types> {
    let left = types.without(not.types);
    let is_sayable = left.has(Types::INTEGER) || !left.has(Types::NUMBER);
    let is_all = not.allowed.is_none() && not.says_no_more();
    (is_all && is_sayable).then_some(left)
}

/// Numbers, in the words of every draft.
fn range(node: &mut Node, members: &Map<String, Value>) {
    let number = |word: &str| members.get(word).and_then(Value::as_number).cloned();
    let is_set = |word: &str| members.get(word) == Some(&Value::Bool(true));
    (node.number.least, node.number.above) = match number("minimum") {
        least if is_set("exclusiveMinimum") => (None, least),
        least => (least, number("exclusiveMinimum")),
    };
    (node.number.most, node.number.below) = match number("maximum") {
        most if is_set("exclusiveMaximum") => (None, most),
        most => (most, number("exclusiveMaximum")),
    };
    node.number.multiples.extend(number("multipleOf").filter(is_positive));
}

fn is_positive(number: &Number) -> bool {
    number.as_f64().is_some_and(|number| number > 0.0)
}

/// A whole number that is not negative; 2.0 is one.
fn whole(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is small, whole and not negative"
    )]
    let of_float =
        |float: f64| (float.fract() == 0.0 && (0.0..1e15).contains(&float)).then_some(float as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(of_float))
}

fn list(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(list)) => list,
        _ => &[],
    }
}

/// How many nodes a schema may have when it is written out.
pub(crate) const MAX_NODES: usize = 10_000;

/// How deep they may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// How often a definition is written out inside itself, where there is room.
const MAX_RECURSION: usize = 3;

/// Remarks that models understand.
const REMARKS: [&str; 7] =
    ["default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"];

/// Every keyword that is read, and those that say something about the schema itself.
const KNOWN: [&str; 64] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "type",
    "nullable",
    "enum",
    "const",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "items",
    "prefixItems",
    "additionalItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];
