//! Tools: how does a server describe a tool, and what is the result of a call?

use serde::Deserialize;

use super::content::value_fits;
use super::listing::ListItem;
use super::{Content, Icon};
use crate::capability::JsonObject;
use crate::json::{Encoder, RawJson};
use crate::version::since;
use crate::wire::{names, wire};

wire! {
    /// A tool as a server lists it.
    ///
    /// Schemas are kept as text, byte for byte: keys are not reordered, and unknown keywords are not dropped.
    ///
    /// ```
    /// use toolway_protocol::{RawJson, types::Tool};
    ///
    /// let schema = RawJson::parse(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#)?;
    /// let tool = Tool::new("weather", schema).with_description("The weather in a city.");
    /// assert_eq!(tool.display_name(), "weather");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Tool {
        /// The name, unique in one server.
        name: String = "name";
        /// The JSON Schema of the arguments.
        input_schema: RawJson = "inputSchema";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
        /// The description of the tool, written for a model.
        description (with_description): Option<String> = "description";
        /// The JSON Schema of the structured result.
        output_schema (with_output_schema): Option<RawJson> = "outputSchema", since STRUCTURED_OUTPUT, if schema_fits;
        /// Hints about the tool's behavior.
        annotations (with_annotations): Option<ToolAnnotations> = "annotations", since TOOL_ANNOTATIONS;
        /// The icons to display.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// The supported ways to run the tool.
        execution (with_execution): Option<ToolExecution> = "execution", since CORE_TASKS;
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }
}

impl Tool {
    /// Returns the description, or the empty text.
    pub fn description(&self) -> &str {
        self.description.as_deref().unwrap_or_default()
    }

    /// Returns the name to display: the title, otherwise the title of the annotations, otherwise the name.
    pub fn display_name(&self) -> &str {
        let annotated = self.annotations.as_ref().and_then(|annotations| annotations.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }
}

/// Returns whether the revision allows this output schema. Older revisions allow only schemas of objects.
fn schema_fits(schema: &RawJson, to: &Encoder<'_>) -> bool {
    #[derive(Deserialize)]
    struct Root {
        r#type: Option<serde_json::Value>,
    }
    to.supports(since::ANY_STRUCTURED_CONTENT)
        || schema.decode::<Root>().is_ok_and(|root| root.r#type.is_some_and(|kind| kind == "object"))
}

wire! {
    /// Hints about the effects of a tool. A client must not trust them unless it trusts the server.
    ///
    /// A missing hint means the protocol's default: not read-only, destructive, not idempotent, open world.
    ///
    /// ```
    /// use toolway_protocol::types::ToolAnnotations;
    ///
    /// let hints = ToolAnnotations::new().with_read_only_hint(true);
    /// assert_eq!(hints.read_only_hint, Some(true));
    /// ```
    pub struct ToolAnnotations {
        /// The display name.
        title (with_title): Option<String> = "title";
        /// The tool does not modify anything.
        read_only_hint (with_read_only_hint): Option<bool> = "readOnlyHint";
        /// The tool may destroy data.
        destructive_hint (with_destructive_hint): Option<bool> = "destructiveHint";
        /// A second call with the same arguments has no further effect.
        idempotent_hint (with_idempotent_hint): Option<bool> = "idempotentHint";
        /// The tool interacts with systems outside the server.
        open_world_hint (with_open_world_hint): Option<bool> = "openWorldHint";
    }
}

/// The meaning of the hints, with the defaults of the protocol.
impl ToolAnnotations {
    /// Returns whether the tool does not modify anything. The default is `false`.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Returns whether the tool may destroy data. The default is `true`, unless the tool is read-only.
    ///
    /// ```
    /// use toolway_protocol::types::ToolAnnotations;
    ///
    /// assert!(ToolAnnotations::new().is_destructive());
    /// assert!(!ToolAnnotations::new().with_read_only_hint(true).is_destructive());
    /// ```
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.destructive_hint.unwrap_or(true)
    }

    /// Returns whether a second call with the same arguments has no further effect. The default is `false`.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Returns whether the tool interacts with systems outside the server. The default is `true`.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

wire! {
    /// The supported ways to run a tool.
    ///
    /// ```
    /// use toolway_protocol::types::{TaskSupport, ToolExecution};
    ///
    /// assert_eq!(ToolExecution::new().with_task_support(TaskSupport::Forbidden).task_support, Some(TaskSupport::Forbidden));
    /// ```
    pub struct ToolExecution {
        /// The support for running a call as a task.
        task_support (with_task_support): Option<TaskSupport> = "taskSupport";
    }
}

names! {
    /// The support for running a call as a task.
    ///
    /// ```
    /// use toolway_protocol::types::TaskSupport;
    ///
    /// assert_eq!(TaskSupport::from("optional"), TaskSupport::Optional);
    /// ```
    pub enum TaskSupport {
        /// A call never becomes a task.
        Forbidden = "forbidden",
        /// A call may become a task.
        Optional = "optional",
        /// A call always becomes a task.
        Required = "required",
    }
}

wire! {
    /// The result of a tool call.
    ///
    /// ```
    /// use toolway_protocol::types::CallToolResult;
    ///
    /// let result = CallToolResult::text("5");
    /// assert_eq!(result.first_text(), Some("5"));
    /// assert!(!result.is_error());
    /// ```
    pub struct CallToolResult {
        /// The content blocks, for the model.
        content: Vec<Content> = "content";
        /// The result as JSON, for programs. `null` is a value here, different from a missing result.
        structured_content (with_structured_content): Option<RawJson> = "structuredContent" or null, since STRUCTURED_OUTPUT, if value_fits;
        /// `true` if the blocks describe a failure that the model should read.
        is_error (with_is_error): Option<bool> = "isError";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
        frame "resultType";
    }
}

/// A result without content.
impl Default for CallToolResult {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl CallToolResult {
    /// Creates a result with one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// Creates a failure that the model should read.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).with_is_error(true)
    }

    /// Returns whether the blocks describe a failure.
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    /// Returns the first block of text.
    pub fn first_text(&self) -> Option<&str> {
        self.content.iter().find_map(Content::as_text)
    }
}

impl ListItem for Tool {
    const KEY: &'static str = "tools";
}
