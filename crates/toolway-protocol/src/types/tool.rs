//! Tools: how a server describes one, and what a call gives back.

use serde::Deserialize;

use super::content::value_fits;
use super::listing::Listed;
use super::{Content, Icon};
use crate::capability::Settings;
use crate::json::{Encoder, RawJson};
use crate::version::since;
use crate::wire::{names, wire};

wire! {
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
    pub struct Tool {
        /// Its name, unique in one server.
        name: String = "name";
        /// The JSON Schema of its arguments.
        input_schema: RawJson = "inputSchema";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
        /// What it does, written for a model.
        description (with_description): Option<String> = "description";
        /// The JSON Schema of its structured result.
        output_schema (with_output_schema): Option<RawJson> = "outputSchema", since STRUCTURED_OUTPUT, if schema_fits;
        /// Hints about its behaviour.
        annotations (with_annotations): Option<ToolAnnotations> = "annotations", since TOOL_ANNOTATIONS;
        /// Pictures of it.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// How it may be run.
        execution (with_execution): Option<ToolExecution> = "execution", since CORE_TASKS;
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since META_EVERYWHERE;
    }
}

impl Tool {
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

/// Before results could be any JSON, the schema of one had to be that of an object.
fn schema_fits(schema: &RawJson, to: &Encoder<'_>) -> bool {
    #[derive(Deserialize)]
    struct Root {
        r#type: Option<serde_json::Value>,
    }
    to.knows(since::STRUCTURED_ANYTHING)
        || schema.decode::<Root>().is_ok_and(|root| root.r#type.is_some_and(|kind| kind == "object"))
}

wire! {
    /// Hints about what a tool does to the world. A client must not trust them unless it trusts the server.
    ///
    /// What is not said reads as the protocol's default: not read-only, destructive, not idempotent, open world.
    ///
    /// ```
    /// use toolway_protocol::types::ToolAnnotations;
    ///
    /// let hints = ToolAnnotations::new().with_read_only_hint(true);
    /// assert_eq!(hints.read_only_hint, Some(true));
    /// ```
    pub struct ToolAnnotations {
        /// A name for people.
        title (with_title): Option<String> = "title";
        /// It changes nothing.
        read_only_hint (with_read_only_hint): Option<bool> = "readOnlyHint";
        /// It may destroy something.
        destructive_hint (with_destructive_hint): Option<bool> = "destructiveHint";
        /// Calling it twice is like calling it once.
        idempotent_hint (with_idempotent_hint): Option<bool> = "idempotentHint";
        /// It reaches beyond the server.
        open_world_hint (with_open_world_hint): Option<bool> = "openWorldHint";
    }
}

/// What the hints mean, said or not.
impl ToolAnnotations {
    /// Whether the tool changes nothing; no, unless it says so.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may destroy something; yes, unless it says otherwise or changes nothing at all.
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

    /// Whether calling the tool twice is like calling it once; no, unless it says so.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool reaches beyond the server; yes, unless it says otherwise.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

wire! {
    /// How a tool may be run.
    ///
    /// ```
    /// use toolway_protocol::types::{TaskSupport, ToolExecution};
    ///
    /// assert_eq!(ToolExecution::new().with_task_support(TaskSupport::Forbidden).task_support, Some(TaskSupport::Forbidden));
    /// ```
    pub struct ToolExecution {
        /// Whether a call may become a task.
        task_support (with_task_support): Option<TaskSupport> = "taskSupport";
    }
}

names! {
    /// Whether something may become a task.
    ///
    /// ```
    /// use toolway_protocol::types::TaskSupport;
    ///
    /// assert_eq!(TaskSupport::from("optional"), TaskSupport::Optional);
    /// ```
    pub enum TaskSupport {
        /// It never does.
        Forbidden = "forbidden",
        /// It may.
        Optional = "optional",
        /// It always does.
        Required = "required",
    }
}

wire! {
    /// What a tool call gives back.
    ///
    /// ```
    /// use toolway_protocol::types::CallToolResult;
    ///
    /// let result = CallToolResult::text("5");
    /// assert_eq!(result.first_text(), Some("5"));
    /// assert!(!result.is_error());
    /// ```
    pub struct CallToolResult {
        /// The blocks, for the model.
        content: Vec<Content> = "content";
        /// The result as JSON, for programs; `null` is a value here and differs from nothing.
        structured_content (with_structured_content): Option<RawJson> = "structuredContent" or null, since STRUCTURED_OUTPUT, if value_fits;
        /// Whether the blocks tell of a failure that the model should read.
        is_error (with_is_error): Option<bool> = "isError";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
        frame "resultType";
    }
}

/// No content.
impl Default for CallToolResult {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl CallToolResult {
    /// A result of one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// A failure that the model should read.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).with_is_error(true)
    }

    /// Whether the blocks tell of a failure.
    pub fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    /// The first block of text.
    pub fn first_text(&self) -> Option<&str> {
        self.content.iter().find_map(Content::as_text)
    }
}

impl Listed for Tool {
    const KEY: &'static str = "tools";
}
