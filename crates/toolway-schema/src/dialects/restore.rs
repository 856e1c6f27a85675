//! How are arguments that follow a provider's schema converted back to the form that the tool expects?
//!
//! Three conversions are undone, where the tool's own schema shows that the value cannot be meant literally: a null
//! for an optional property that is not nullable is removed, a renamed property gets its own name back, and text that
//! contains JSON becomes the expected object or array. Everything else keeps its text, with every digit.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::provider::Provider;
use crate::model::{Id, KeywordValue, Model, Node, Schema};
use crate::terms::types::Types;

impl Schema {
    /// Returns the text of the arguments as the tool expects them, or `None` if nothing needs to change.
    pub fn restore(&self, arguments: &str) -> Option<String> {
        let (model, id) = self.model_and_id();
        Restorer { model }.value(&[AppliedSchema { id, is_certain: true }], arguments, 0)
    }
}

/// A schema that applies to a value: certainly, or as one branch of a choice.
#[derive(Clone, Copy)]
struct AppliedSchema {
    id: Id,
    is_certain: bool,
}

struct Restorer<'m> {
    model: &'m Model,
}

impl<'m> Restorer<'m> {
    /// Returns the restored text of a value, or `None` if it is unchanged. Values that are nested too deeply stay
    /// unchanged.
    fn value(&self, said: &[AppliedSchema], text: &str, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        match text.as_bytes().first()? {
            b'{' => self.members(&self.expand(said), &decode::<RawMembers<'_>>(text)?, depth),
            b'[' => self.items(&self.expand(said), &decode::<Vec<&RawValue>>(text)?, depth),
            b'"' => {
                let inner = self.read_json(said, &decode::<Cow<'_, str>>(text)?)?;
                Some(self.value(said, &inner, depth + 1).unwrap_or(inner))
            }
            _ => None,
        }
    }

    /// Returns the JSON in a text, if it is the expected object or array.
    fn read_json(&self, said: &[AppliedSchema], text: &str) -> Option<String> {
        let types = match text.trim_start().as_bytes().first()? {
            b'{' => Types::OBJECT,
            b'[' => Types::ARRAY,
            _ => return None,
        };
        if said.is_empty() || self.may_have_type(said, Types::STRING) || !self.may_have_type(said, types) {
            return None;
        }
        // The whole text must be JSON, and not nested deeper than `serde_json` reads.
        decode::<Value>(text)?;
        Some(text.trim().to_owned())
    }

    fn members(
        &self,
        said: &[AppliedSchema],
        RawMembers(members): &RawMembers<'_>,
        depth: usize,
    ) -> Option<String> {
        let mut restored = Vec::with_capacity(members.len());
        let mut is_changed = false;
        let is_there = |name: &str| members.iter().any(|(other, _)| other == name);
        for (name, value) in members {
            let own = self.own_name(said, name).filter(|own| !is_there(own));
            is_changed |= own.is_some();
            let name = own.unwrap_or(name);
            let inner = self.inner_schemas(said, |node| node.object.as_ref()?.properties.get(name).copied());
            if value.get() == "null" && self.is_absent(said, name, &inner) {
                is_changed = true;
                continue;
            }
            let changed = self.value(&inner, value.get(), depth + 1);
            is_changed |= changed.is_some();
            restored.push((name, changed.map_or(Cow::Borrowed(value.get()), Cow::Owned)));
        }
        is_changed.then(|| {
            let members = restored.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        })
    }

    /// Returns whether a null stands for a missing property: the property is neither required nor nullable.
    fn is_absent(&self, said: &[AppliedSchema], name: &str, inner: &[AppliedSchema]) -> bool {
        let requires = |said: &AppliedSchema| {
            let object = self.model.node(said.id).object.as_ref();
            said.is_certain && object.is_some_and(|object| object.required.iter().any(|known| known == name))
        };
        !inner.is_empty() && !said.iter().any(requires) && !self.may_have_type(inner, Types::NULL)
    }

    fn items(&self, said: &[AppliedSchema], items: &[&RawValue], depth: usize) -> Option<String> {
        let mut restored = Vec::with_capacity(items.len());
        let mut is_changed = false;
        for (index, item) in items.iter().enumerate() {
            let may_change = item.get().starts_with(['"', '{', '[']);
            let changed = may_change.then(|| {
                let inner = self.inner_schemas(said, |node| item_schema(node, index));
                self.value(&inner, item.get(), depth + 1)
            });
            let changed = changed.flatten();
            is_changed |= changed.is_some();
            restored.push(changed.map_or(Cow::Borrowed(item.get()), Cow::Owned));
        }
        is_changed.then(|| format!("[{}]", restored.join(",")))
    }

    /// Returns the schemas, together with those that they refer to or include.
    fn expand(&self, said: &[AppliedSchema]) -> Vec<AppliedSchema> {
        let mut all: Vec<AppliedSchema> = Vec::new();
        let mut todo: Vec<AppliedSchema> = said.iter().rev().copied().collect();
        while let Some(one @ AppliedSchema { id, is_certain }) = todo.pop() {
            if all.len() >= MAX_BRANCHES || all.iter().any(|known| known.id == id) {
                continue;
            }
            all.push(one);
            let node = self.model.node(id);
            let conditions =
                node.details.iter().flat_map(|more| &more.parts).flat_map(|(word, part)| match part {
                    KeywordValue::Schema(id) if matches!(*word, "then" | "else") => vec![*id],
                    KeywordValue::Named(named) => named.iter().map(|(_, id)| *id).collect(),
                    _ => Vec::new(),
                });
            let maybe = node.branches().flatten().copied().chain(conditions);
            todo.extend(node.all_of.iter().map(|id| AppliedSchema { id: *id, is_certain }));
            todo.extend(maybe.map(|id| AppliedSchema { id, is_certain: false }));
        }
        all
    }

    /// Returns whether a value of these types may fit the schemas. If that is unknown, the answer is yes.
    fn may_have_type(&self, said: &[AppliedSchema], types: Types) -> bool {
        let accepts = |said: &AppliedSchema| self.model.types(said.id).intersects(types);
        let mut branches = said.iter().filter(|said| !said.is_certain).peekable();
        said.iter().filter(|said| said.is_certain).all(accepts)
            && (branches.peek().is_none() || branches.any(accepts))
    }

    /// Returns the schemas that apply to an inner value.
    fn inner_schemas(
        &self,
        said: &[AppliedSchema],
        find: impl Fn(&Node) -> Option<Id>,
    ) -> Vec<AppliedSchema> {
        let inner = said
            .iter()
            .filter_map(|said| Some(AppliedSchema { id: find(self.model.node(said.id))?, ..*said }));
        inner.collect()
    }

    /// Returns the tool's own name of a property that a provider knows by another name.
    fn own_name(&self, said: &[AppliedSchema], name: &str) -> Option<&'m str> {
        // A rewritten name ends in `_` and eight hex digits, so most names need no search.
        let (_, digits) = name.rsplit_once('_').filter(|(_, digits)| digits.len() == 8)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let nodes = || said.iter().map(|said| self.model.node(said.id));
        let objects = || nodes().filter_map(|node| node.object.as_ref());
        if objects().any(|object| object.properties.contains_key(name)) {
            return None;
        }
        // A property may be required, always or depending on others, without being described.
        let parts = nodes().flat_map(|node| &node.details).flat_map(|more| &more.parts);
        let dependent = parts.flat_map(|(_, part)| match part {
            KeywordValue::Named(named) => named.iter().map(|(name, _)| name.as_str()).collect(),
            KeywordValue::Json(Value::Object(lists)) => lists.iter().flat_map(names_in).collect(),
            _ => Vec::new(),
        });
        let described = objects().flat_map(|object| object.properties.keys().chain(&object.required));
        let mut names = described.map(String::as_str).chain(dependent);
        let providers = [Provider::Anthropic, Provider::Gemini];
        names.find(|own| providers.into_iter().any(|provider| provider.key(own) == name))
    }
}

/// Returns a name and the names that depend on it.
fn names_in<'v>((name, needed): (&'v String, &'v Value)) -> impl Iterator<Item = &'v str> {
    let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
    std::iter::once(name.as_str()).chain(needed)
}

/// Returns the schema of an item.
fn item_schema(node: &Node, index: usize) -> Option<Id> {
    let array = node.array.as_ref()?;
    array.prefix.get(index).copied().or(array.items)
}

/// The members of an object in their order, as text.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let members = std::iter::from_fn(|| map.next_entry().transpose());
                members.collect::<Result<_, _>>().map(RawMembers)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// The maximum depth of arguments. `serde_json` does not read deeper values.
const MAX_DEPTH: usize = 128;

/// The maximum number of schemas that are considered for one value.
const MAX_BRANCHES: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn restore(schema: &Value, arguments: &Value) -> Option<Value> {
        let restored = Schema::of(schema).restore(&arguments.to_string())?;
        Some(serde_json::from_str(&restored).unwrap_or_else(|error| panic!("{error}: {restored}")))
    }

    #[test]
    fn what_is_left_keeps_its_text() {
        let schema = json!({"type": "object", "properties": {
            "gone": {"type": "string"},
            "map": {"type": "object"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"gone": {"type": "string"}}}},
        }});
        for (arguments, restored) in [
            (
                r#"{"id": 12345678901234567890123, "gone": null, "x": [1.10, 1e2 ]}"#,
                r#"{"id":12345678901234567890123,"x":[1.10, 1e2 ]}"#,
            ),
            (r#"{"a\u0022": "\u00e9", "gone": null}"#, r#"{"a\"":"\u00e9"}"#),
            (r#"{"map": " {\"id\": 0.10000000000000000001} "}"#, r#"{"map":{"id": 0.10000000000000000001}}"#),
            (r#"{"list": [ {"gone": null, "n": 1.0 }, 7.00]}"#, r#"{"list":[{"n":1.0},7.00]}"#),
            (r#" {"gone" : null } "#, "{}"),
        ] {
            assert_eq!(
                Schema::of(&schema).restore(arguments.trim()).as_deref(),
                Some(restored),
                "{arguments}"
            );
        }
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        let schema = json!({"properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}});
        assert_eq!(Schema::of(&schema).restore(&deep), None);
        assert_eq!(Schema::of(&schema).restore(&format!(r#"{{"a": {deep}}}"#)), None);
    }

    #[test]
    fn what_cannot_have_been_meant_is_undone_and_nothing_else() {
        let schema = json!({
            "type": "object",
            "properties": {
                "needed": {"type": "string"},
                "maybe": {"type": "string"},
                "or null": {"type": ["string", "null"]},
                "nullable": {"type": "string", "nullable": true},
                "any": {},
                "one of": {"enum": ["a", "b"]},
                "one of with null": {"enum": ["a", null]},
                "referred": {"$ref": "#/$defs/Text"},
                "choice": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/Text"}]},
                "choice with null": {"oneOf": [{"type": "number"}, {"type": "null"}]},
                "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
                "tuple": {"prefixItems": [{"type": "object", "properties": {"y": {"type": "number"}}}]},
                "map": {"type": "object"},
                "text or map": {"type": ["string", "object"]},
            },
            "required": ["needed"],
            "$defs": {"Text": {"type": "string"}},
        });
        for (arguments, restored) in [
            (json!({"needed": null, "maybe": null}), Some(json!({"needed": null}))),
            (json!({"or null": null, "nullable": null, "any": null, "unknown": null}), None),
            (json!({"one of": null, "one of with null": null}), Some(json!({"one of with null": null}))),
            (json!({"referred": null}), Some(json!({}))),
            (json!({"choice": null, "choice with null": null}), Some(json!({"choice with null": null}))),
            (json!({"list": [{"x": null}, {"x": 1}]}), Some(json!({"list": [{}, {"x": 1}]}))),
            (json!({"tuple": [{"y": null}]}), Some(json!({"tuple": [{}]}))),
            (json!({"map": "{\"a\": [1]}"}), Some(json!({"map": {"a": [1]}}))),
            (json!({"map": "[1]"}), None),
            (json!({"map": "{broken"}), None),
            (json!({"map": {"a": null}}), None),
            (json!({"text or map": "{\"a\": 1}", "maybe": "{}", "any": "{}"}), None),
            (json!({"list": "[{\"x\": null}]"}), Some(json!({"list": [{}]}))),
            (json!({}), None),
        ] {
            assert_eq!(restore(&schema, &arguments), restored, "{arguments}");
        }
    }

    #[test]
    fn properties_get_their_names_back() {
        let schema = json!({
            "properties": {"filter[name]": {"properties": {"größe": {"type": "number"}}}, "plain": {}},
            "required": ["über all"],
            "dependentRequired": {"plain": ["ähnlich"]},
        });
        for provider in [Provider::Anthropic, Provider::Gemini] {
            let (outer, inner) = (provider.key("filter[name]"), provider.key("größe"));
            let (required, dependent) = (provider.key("über all"), provider.key("ähnlich"));
            let arguments =
                json!({&*outer: {&*inner: 1}, "plain_12345678": 2, &*required: 3, &*dependent: 4});
            let restored =
                json!({"filter[name]": {"größe": 1}, "plain_12345678": 2, "über all": 3, "ähnlich": 4});
            assert_eq!(restore(&schema, &arguments), Some(restored));
        }
        // If a model uses both names, its intention cannot be known.
        let name = Provider::Gemini.key("filter[name]");
        assert_eq!(restore(&schema, &json!({&*name: 1, "filter[name]": 2})), None);
    }

    #[test]
    fn what_holds_for_certain_counts_before_what_holds_in_a_branch() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "allOf": [{"properties": {"a": {"description": "says nothing"}}}],
            "oneOf": [{"properties": {"d": {"type": "string"}}}, {"properties": {"d": {"type": "null"}}}],
        });
        let arguments = json!({"a": "x", "b": null, "c": null, "d": null});
        assert_eq!(restore(&schema, &arguments), Some(json!({"a": "x", "c": null, "d": null})));
        assert_eq!(restore(&schema, &json!({"a": null})), Some(json!({})));
    }

    #[test]
    fn a_schema_that_unfolds_without_end_takes_no_time() {
        let wide: Vec<_> = (0..20).map(|_| json!({"$ref": "#/$defs/x"})).collect();
        for word in ["allOf", "anyOf", "oneOf"] {
            let schema = json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {word: wide}}});
            assert_eq!(restore(&schema, &json!({"a": null, "b": "{}", "c": [[1]]})), None);
        }
    }

    #[test]
    fn a_schema_that_contains_itself_has_an_end() {
        let schema = json!({"properties": {"next": {"$ref": "#"}}, "allOf": [{"$ref": "#"}]});
        let deep = (0..100).fold(json!({"next": null}), |inner, _| json!({"next": inner}));
        assert_eq!(restore(&schema, &deep), None, "anything may be null there");
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let restored = restore(&schema, &deep).unwrap();
        assert!(!restored.to_string().contains("null"));
        let only_itself = json!({"properties": {"a": {"$ref": "#/properties/a"}}});
        assert_eq!(restore(&only_itself, &json!({"a": null})), None);
    }
}
