//! What does the official schema of one revision contain, and is a value valid by it?
//!
//! Known mistakes in the document are corrected first ([`allow_list::CORRECTIONS`]). Then a validator is built for every
//! schema in it, both the definitions and the schemas nested in them. A `$ref` resolves inside the document; nothing is
//! fetched.

use std::fs;
use std::path::Path;

use jsonschema::ValidatorMap;
use serde_json::{Map, Value};

use super::allow_list::{self, Correction};
use crate::run::Result;

/// The schema document of one revision, with its validators.
#[derive(Debug)]
pub(super) struct Document {
    /// The revision it describes.
    pub(super) revision: String,
    root: Value,
    /// `definitions` in the older drafts of JSON Schema, `$defs` in the newer.
    section: &'static str,
    validators: ValidatorMap,
}

impl Document {
    /// Reads `schema.json` from the folder of a revision.
    pub(super) fn read(folder: &Path, revision: &str) -> Result<Self> {
        let path = folder.join("schema.json");
        let text = fs::read(&path).map_err(|error| format!("could not read {}: {error}", path.display()))?;
        let root = serde_json::from_slice(&text)
            .map_err(|error| format!("{} is not JSON: {error}", path.display()))?;
        Self::new(revision, root, allow_list::CORRECTIONS)
            .map_err(|why| format!("{} cannot be used: {why}", path.display()))
    }

    /// Corrects the document and builds its validators.
    pub(super) fn new(revision: &str, mut root: Value, corrections: &[Correction]) -> Result<Self> {
        let section = ["$defs", "definitions"]
            .into_iter()
            .find(|section| root[section].is_object())
            .ok_or("it has neither `$defs` nor `definitions`")?;
        for correction in corrections.iter().filter(|correction| correction.revisions.contains(&revision)) {
            for definition in correction.definitions {
                correct(&mut root[section][definition], correction).map_err(|why| {
                    let Correction { pointer, reason, .. } = correction;
                    format!("the correction of {definition}{pointer} ({reason}) {why}")
                })?;
            }
        }
        let validators = jsonschema::options()
            // Draft 2020-12 checks formats only if asked to.
            .should_validate_formats(true)
            .offline()
            .build_map(&root)
            .map_err(|error| format!("the validators cannot be built: {error}"))?;
        Ok(Self { revision: revision.to_owned(), root, section, validators })
    }

    /// Returns the same document with undeclared members forbidden.
    pub(super) fn closed(&self) -> Result<Self> {
        let mut root = self.root.clone();
        close(&mut root[self.section]);
        Self::new(&self.revision, root, &[])
    }

    /// The names of the definitions, in order.
    pub(super) fn definitions(&self) -> Vec<&str> {
        self.section().keys().map(String::as_str).collect()
    }

    /// Returns whether the revision has this definition.
    pub(super) fn has(&self, definition: &str) -> bool {
        self.section().contains_key(definition)
    }

    /// The schema of a definition.
    pub(super) fn schema(&self, definition: &str) -> Result<&Value> {
        self.section().get(definition).ok_or_else(|| format!("there is no definition `{definition}`"))
    }

    /// Returns the name of the definition that a `$ref` points to.
    pub(super) fn referenced_definition<'r>(&self, reference: &'r Value) -> Result<&'r str> {
        let text = reference.as_str().unwrap_or_default();
        text.strip_prefix("#/")
            .and_then(|rest| rest.strip_prefix(self.section))
            .and_then(|rest| rest.strip_prefix('/'))
            .ok_or_else(|| format!("`$ref` {reference} does not name a definition of the document"))
    }

    /// Returns the pointer to the schema of a definition.
    pub(super) fn pointer(&self, definition: &str) -> String {
        format!("#/{}/{definition}", self.section)
    }

    /// Returns whether a value is valid by the schema at `pointer`.
    pub(super) fn fits(&self, pointer: &str, value: &Value) -> Result<bool> {
        let validator =
            self.validators.get(pointer).ok_or_else(|| format!("there is no schema at {pointer}"))?;
        Ok(validator.is_valid(value))
    }

    /// Returns what is wrong with a value by a definition; empty if it is valid.
    pub(super) fn mistakes(&self, definition: &str, value: &Value) -> Result<Vec<String>> {
        let pointer = self.pointer(definition);
        let validator =
            self.validators.get(&pointer).ok_or_else(|| format!("there is no schema at {pointer}"))?;
        // Most values are valid, and this check is faster than collecting reasons.
        if validator.is_valid(value) {
            return Ok(Vec::new());
        }
        let told = validator.iter_errors(value).map(|error| {
            let path = error.instance_path().to_string();
            format!("{}: {error}", if path.is_empty() { "the whole" } else { &path })
        });
        Ok(told.collect())
    }

    fn section(&self) -> &Map<String, Value> {
        self.root[self.section].as_object().expect("checked when the document was made")
    }
}

/// Forbids undeclared members in every object that declares some. Schemas of tools and `_meta` stay open.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (name, inner) in keywords.iter_mut() {
                if !["_meta", "inputSchema", "outputSchema"].contains(&name.as_str()) {
                    close(inner);
                }
            }
            if keywords.get("properties").is_some_and(Value::is_object) {
                keywords.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

fn correct(definition: &mut Value, correction: &Correction) -> Result {
    let schema: Value = serde_json::from_str(correction.schema)
        .map_err(|error| format!("is not JSON: {error}; fix it in xtask/src/schema/allow_list.rs"))?;
    let (parent, last) = correction.pointer.rsplit_once('/').ok_or("has no `/` in its pointer")?;
    let place = match definition.pointer_mut(parent) {
        Some(Value::Object(members)) => Some(members.entry(last).or_insert(Value::Null)),
        Some(Value::Array(items)) => last.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
        _ => None,
    };
    match place {
        None => Err("points to nothing; remove it from xtask/src/schema/allow_list.rs".to_owned()),
        Some(place) if *place == schema => {
            Err("changes nothing; remove it from xtask/src/schema/allow_list.rs".to_owned())
        }
        Some(place) => {
            *place = schema;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Correction, Document};

    const CORRECTION: Correction = Correction {
        definitions: &["Size"],
        revisions: &["R"],
        pointer: "/type",
        schema: "\"number\"",
        reason: "a test",
    };

    #[test]
    fn definitions_are_found_in_both_drafts_and_checked_with_their_references_and_formats() {
        for section in ["definitions", "$defs"] {
            let root = json!({section: {
                "Link": {"type": "object", "required": ["to"], "properties": {"to": {"$ref": format!("#/{section}/Uri")}}},
                "Uri": {"type": "string", "format": "uri"},
            }});
            let document = Document::new("R", root, &[]).unwrap();
            assert_eq!(document.definitions(), ["Link", "Uri"]);
            assert!(document.mistakes("Link", &json!({"to": "https://example.com"})).unwrap().is_empty());
            assert!(document.mistakes("Link", &json!({"to": "no uri"})).unwrap()[0].starts_with("/to: "));
            assert!(document.mistakes("Link", &json!({})).unwrap()[0].starts_with("the whole: "));
            assert!(document.mistakes("Other", &json!({})).is_err());
        }
    }

    #[test]
    fn a_closed_document_has_no_room_for_what_it_does_not_declare() {
        let root = json!({"$defs": {
            "Tool": {"type": "object", "properties": {"size": {}, "_meta": {"type": "object", "properties": {"a": {}}}}},
            "Map": {"type": "object"},
        }});
        let document = Document::new("R", root, &[]).unwrap();
        let closed = document.closed().unwrap();
        for (definition, value, is_known) in [
            ("Tool", json!({"size": 1, "_meta": {"b": 1}}), true),
            ("Tool", json!({"weight": 1}), false),
            ("Map", json!({"weight": 1}), true),
        ] {
            assert_eq!(document.mistakes(definition, &value), Ok(vec![]));
            assert_eq!(closed.mistakes(definition, &value).unwrap().is_empty(), is_known, "{value}");
        }
    }

    #[test]
    fn a_correction_applies_to_its_revision_and_must_change_something() {
        let root = json!({"$defs": {"Size": {"type": "integer"}}});
        let half = json!(0.5);
        let corrected = Document::new("R", root.clone(), &[CORRECTION]).unwrap();
        assert!(corrected.mistakes("Size", &half).unwrap().is_empty());
        let other = Document::new("S", root, &[CORRECTION]).unwrap();
        assert!(!other.mistakes("Size", &half).unwrap().is_empty());

        let right = json!({"$defs": {"Size": {"type": "number"}}});
        assert!(Document::new("R", right, &[CORRECTION]).unwrap_err().contains("changes nothing"));
        let missing = json!({"$defs": {"Weight": {"type": "number"}}});
        assert!(Document::new("R", missing, &[CORRECTION]).unwrap_err().contains("points to nothing"));
    }
}
