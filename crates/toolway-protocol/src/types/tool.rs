//! Tools: how a server describes one, and what a call gives back.

use serde::Deserialize;

use super::Content;
use crate::capability::Settings;
use crate::era::since;
use crate::json::{Encode, Encoder, Members, RawJson};

/// A tool as a server lists it.
///
/// Schemas are text, byte-faithful: nothing reorders their keys or drops keywords it does not know.
///
/// ```
/// use toolway_protocol::{RawJson, types::Tool};
///
/// let schema = RawJson::parse(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#)?;
/// let tool = Tool::new("weather", schema).with_description("The weather in a city.");
/// assert_eq!(tool.display_name(), "weather");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// Its name, unique in one server.
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it does, written for a model.
    #[serde(default)]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: RawJson,
    /// The JSON Schema of its structured result.
    #[serde(default)]
    pub output_schema: Option<RawJson>,
    /// Hints about its behaviour.
    #[serde(default)]
    pub annotations: Option<ToolAnnotations>,
    /// Anything else.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Settings>,
}

impl Tool {
    /// A tool with a name and the schema of its arguments.
    pub fn new(name: impl Into<String>, input_schema: RawJson) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: None,
            meta: None,
        }
    }

    /// Adds a name for people.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds what the tool does.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds the schema of the structured result.
    pub fn with_output_schema(mut self, schema: RawJson) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Adds hints about the tool's behaviour.
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Adds anything else, under keys that the protocol does not reserve.
    pub fn with_meta(mut self, meta: Settings) -> Self {
        self.meta = Some(meta);
        self
    }

    /// What the tool does, or the empty text.
    pub fn description(&self) -> &str {
        self.description.as_deref().unwrap_or_default()
    }

    /// The name to show: title, else the annotations' title, else the name.
    pub fn display_name(&self) -> &str {
        let annotated = self.annotations.as_ref().and_then(|annotations| annotations.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }
}

impl Encode for Tool {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.put("name", &self.name);
            members.since(since::TITLE, "title", self.title.as_ref());
            members.maybe("description", self.description.as_ref());
            members.put("inputSchema", &self.input_schema);
            // Before results could be any JSON, the schema of one had to be that of an object.
            let fits = members.encoder().knows(since::STRUCTURED_ANYTHING);
            let output_schema = self.output_schema.as_ref().filter(|schema| fits || describes_object(schema));
            members.since(since::STRUCTURED_OUTPUT, "outputSchema", output_schema);
            members.since(since::TOOL_ANNOTATIONS, "annotations", self.annotations.as_ref());
            members.since(since::META_EVERYWHERE, "_meta", self.meta.as_ref());
        });
    }
}

fn describes_object(schema: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Root {
        r#type: Option<String>,
    }
    schema.decode::<Root>().is_ok_and(|root| root.r#type.as_deref() == Some("object"))
}

/// Hints about what a tool does to the world. A client must not trust them unless it trusts the server.
///
/// What is not said reads as the protocol's default: not read-only, destructive, not idempotent, open world.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// A name for people.
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    pub destructive_hint: Option<bool>,
    /// Calling it twice is like calling it once.
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond the server.
    pub open_world_hint: Option<bool>,
}

impl Encode for ToolAnnotations {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.maybe("title", self.title.as_ref());
            members.maybe("readOnlyHint", self.read_only_hint.as_ref());
            members.maybe("destructiveHint", self.destructive_hint.as_ref());
            members.maybe("idempotentHint", self.idempotent_hint.as_ref());
            members.maybe("openWorldHint", self.open_world_hint.as_ref());
        });
    }
}

/// What a tool call gives back.
///
/// ```
/// use toolway_protocol::types::CallToolResult;
///
/// let result = CallToolResult::text("5");
/// assert_eq!(result.first_text(), Some("5"));
/// assert!(!result.is_error);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The blocks, for the model.
    pub content: Vec<Content>,
    /// The result as JSON, for programs; `null` is a value here and differs from nothing.
    #[serde(default, deserialize_with = "present")]
    pub structured_content: Option<RawJson>,
    /// Whether the blocks tell of a failure that the model should read.
    #[serde(default)]
    pub is_error: bool,
    /// Anything else.
    #[serde(default, rename = "_meta")]
    pub meta: Option<Settings>,
}

/// A member that is there is `Some`, also when it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl CallToolResult {
    /// A result of some blocks.
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A result of one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// A failure that the model should read.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds the result as JSON.
    pub fn with_structured_content(mut self, content: RawJson) -> Self {
        self.structured_content = Some(content);
        self
    }

    /// The first block of text.
    pub fn first_text(&self) -> Option<&str> {
        self.content.iter().find_map(Content::as_text)
    }

    /// Writes the members of the result object; the codec adds what its era wants around them.
    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        members.put("content", &self.content);
        if let Some(structured) = &self.structured_content {
            let object_only = !members.encoder().knows(since::STRUCTURED_ANYTHING);
            if members.encoder().knows(since::STRUCTURED_OUTPUT) && (structured.is_object() || !object_only) {
                members.put("structuredContent", structured);
            }
        }
        if self.is_error {
            members.put("isError", &true);
        }
    }
}
