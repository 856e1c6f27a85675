//! How is a node written for Gemini, whose schemas are a subset of `OpenAPI` 3.0?
//!
//! A schema has one type, `nullable` for null, `enum` only for strings, and `anyOf` only alone. An object must name its
//! properties. If the names are unknown, the schema asks for text that contains JSON, and `restore.rs` turns the text
//! of a call back into the object.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::description_notes::DescriptionNotes;
use super::json;
use super::loss::{Effect, Losses};
use super::merge::{CopyBudget, tighter};
use super::node::{Node, Rest};
use super::root::as_object;
use super::unfold::MAX_NODES;
use super::writer::{Dialect, Draft, Writer};
use crate::terms::types::Types;

/// Writes the schema of a tool's arguments. Returns `None` for a tool without arguments, because an object without
/// properties is refused.
pub(crate) fn write(node: Node, losses: &mut Losses) -> Option<Value> {
    let mut fuel = CopyBudget(MAX_NODES);
    let (root, mut words) = as_object(node, losses, &mut fuel);
    let mut writer = Writer::new(Dialect::Gemini, losses, fuel);
    let Some(members) = writer.root(&root, &mut words).ok().flatten() else {
        let object = &root.object;
        let is_open = !matches!(object.rest, Rest::Unspecified | Rest::Closed) || !object.patterns.is_empty();
        let has_names = !object.properties.is_empty() || !object.required.is_empty();
        if is_open || has_names || object.count.min.is_some() {
            let why = "every argument needs a name and a type, and no such argument is left";
            losses.add(&root.at, "properties", Effect::Narrower, why);
            losses.add(&root.at, "properties", Effect::Wider, why);
        }
        return None;
    };
    Some(Value::Object(writer.with_description(members, &root, &words)))
}

impl Writer<'_> {
    /// Writes inclusive bounds. For integers, an exclusive bound becomes the adjacent inclusive one.
    pub(super) fn inclusive_bounds(&mut self, draft: &mut Draft<'_>) {
        let range = &draft.node.number;
        let is_whole = draft.node.types == Types::INTEGER;
        for (word, bound, exclusive, beyond, step, wanted) in [
            ("minimum", &range.minimum, "exclusiveMinimum", &range.exclusive_minimum, 1, Ordering::Greater),
            ("maximum", &range.maximum, "exclusiveMaximum", &range.exclusive_maximum, -1, Ordering::Less),
        ] {
            let whole = beyond.as_ref().filter(|_| is_whole).and_then(Number::as_i64);
            let beside = whole.and_then(|bound| bound.checked_add(step)).map(Number::from);
            if let (Some(beyond), None) = (beyond, &beside) {
                self.describe_instead(draft, exclusive, beyond.clone(), "it is not supported");
            }
            if let Some(bound) = tighter(bound.clone(), beside, wanted) {
                draft.put(word, bound);
            }
        }
    }

    /// Writes an object whose properties have no names as text that contains JSON.
    pub(super) fn write_as_text(
        &mut self,
        node: &Node,
        has_text: bool,
        words: &mut DescriptionNotes,
    ) -> Option<Map<String, Value>> {
        if has_text {
            let why =
                "an object without named properties would become text, and the schema allows text anyway";
            self.losses.add(&node.at, "properties", Effect::Narrower, why);
            return None;
        }
        let why = "an object must name its properties; the model sends it as JSON text, which is converted back in \
                   calls";
        self.losses.add(&node.at, "properties", Effect::Wider, why);
        self.values(&mut Draft { node, members: Map::new(), notes: words });
        words.add("A JSON object, written as text.");
        // Adds the known rules of the object, if there are any.
        if !node.is_truncated && node.constrained_types() == Types::OBJECT {
            words.add_schema(&json::plain_schema(&node.without_annotations()));
        }
        Some(self.type_schema("string"))
    }
}
