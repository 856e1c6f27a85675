//! How are rules that a provider's schema cannot express described to the model?

use serde_json::Value;

use super::node::Node;

/// The sentences to add to a description.
#[derive(Debug, Default)]
pub(crate) struct DescriptionNotes {
    notes: Vec<String>,
}

impl DescriptionNotes {
    /// Adds a sentence for a keyword.
    pub(crate) fn add_keyword(&mut self, word: &str, value: &Value) {
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let list = |value: &Value| match value {
            Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        self.add(match word {
            "minLength" => format!("At least {}.", count_text(value, "character", "characters")),
            "maxLength" => format!("At most {}.", count_text(value, "character", "characters")),
            "pattern" => format!("Matches the regular expression `{}`.", shown(value)),
            "format" => format!("Format: {}.", shown(value)),
            "minimum" => format!("At least {value}."),
            "maximum" => format!("At most {value}."),
            "exclusiveMinimum" => format!("More than {value}."),
            "exclusiveMaximum" => format!("Less than {value}."),
            "multipleOf" => format!("A multiple of {value}."),
            "enum" if value.as_array().is_some_and(|values| values.len() == 1) => {
                format!("Always {}.", list(value))
            }
            "enum" => format!("One of: {}.", list(value)),
            "minItems" => format!("At least {}.", count_text(value, "item", "items")),
            "maxItems" => format!("At most {}.", count_text(value, "item", "items")),
            "uniqueItems" => "No duplicate items.".to_owned(),
            "minProperties" => format!("At least {}.", count_text(value, "property", "properties")),
            "maxProperties" => format!("At most {}.", count_text(value, "property", "properties")),
            "default" => format!("Default: {value}."),
            "examples" => format!("Examples: {}.", list(value)),
            "deprecated" => "Deprecated.".to_owned(),
            "readOnly" => "Read-only.".to_owned(),
            "writeOnly" => "Write-only.".to_owned(),
            "contentEncoding" => format!("Encoded as {}.", shown(value)),
            "contentMediaType" => format!("Content of type {}.", shown(value)),
            _ => format!("{word}: {value}."),
        });
    }

    /// Adds a rule that only JSON Schema can express.
    pub(crate) fn add_schema(&mut self, schema: &Value) {
        self.add(format!("It must also match this JSON Schema: {schema}."));
    }

    /// Adds a sentence.
    pub(crate) fn add(&mut self, sentence: impl Into<String>) {
        let mut sentence = sentence.into();
        if let Some((end, _)) = sentence.char_indices().nth(MAX_NOTE) {
            sentence.truncate(end);
            sentence.push('…');
        }
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// Adds sentences for the annotations.
    pub(crate) fn add_annotations(&mut self, node: &Node) {
        for (word, value) in &node.annotations {
            // An annotation that is `false` needs no sentence.
            if *value != Value::Bool(false) || *word == "default" {
                self.add_keyword(word, value);
            }
        }
    }

    /// Returns the author's description followed by all sentences.
    pub(crate) fn full_description(&self, description: Option<&str>) -> Option<String> {
        let notes = self.notes.join(" ");
        match description.filter(|text| !text.is_empty()) {
            Some(text) if notes.is_empty() => Some(text.to_owned()),
            Some(text) => Some(format!("{text}\n\n{notes}")),
            None => Some(notes).filter(|notes| !notes.is_empty()),
        }
    }
}

fn count_text(value: &Value, one: &str, many: &str) -> String {
    format!("{value} {}", if *value == 1 { one } else { many })
}

/// The maximum number of characters in a sentence.
const MAX_NOTE: usize = 300;
