//! Sampling: what can the client's model be asked, and what does it answer?

use serde::de::{self, Deserialize, Deserializer};

use super::{Content, Role, Tool};
use crate::capability::JsonObject;
use crate::json::{Encode, Encoder, RawJson};
use crate::wire::{names, wire};

wire! {
    /// A request to the client's model.
    ///
    /// ```
    /// use toolway_protocol::types::{Content, CreateMessage, Role, SamplingMessage};
    ///
    /// let message = SamplingMessage::new(Role::User, Content::text("What is the capital of France?"));
    /// let ask = CreateMessage::new(vec![message], 100).with_system_prompt("Be brief.");
    /// assert_eq!(ask.max_tokens, 100);
    /// ```
    pub struct CreateMessage {
        /// The conversation so far.
        messages: Vec<SamplingMessage> = "messages";
        /// The maximum number of tokens in the answer.
        max_tokens: i64 = "maxTokens";
        /// The preferred models.
        model_preferences (with_model_preferences): Option<ModelPreferences> = "modelPreferences";
        /// The system prompt.
        system_prompt (with_system_prompt): Option<String> = "systemPrompt";
        /// The context that the client should add.
        include_context (with_include_context): Option<IncludeContext> = "includeContext";
        /// The sampling temperature.
        temperature (with_temperature): Option<serde_json::Number> = "temperature";
        /// The texts at which the model stops.
        stop_sequences (with_stop_sequences): Option<Vec<String>> = "stopSequences";
        /// Metadata for the provider of the model.
        metadata (with_metadata): Option<JsonObject> = "metadata";
        /// The tools that the model may call.
        tools (with_tools): Option<Vec<Tool>> = "tools", since SAMPLING_TOOLS;
        /// The rule for whether the model calls tools.
        tool_choice (with_tool_choice): Option<ToolChoice> = "toolChoice", since SAMPLING_TOOLS;
    }

    /// One message of a conversation with a model.
    ///
    /// ```
    /// use toolway_protocol::types::{Content, Role, SamplingMessage};
    ///
    /// let message = SamplingMessage::new(Role::User, Content::text("hi"));
    /// assert_eq!(message.content.as_slice().len(), 1);
    /// ```
    pub struct SamplingMessage {
        /// The author of the message.
        role: Role = "role";
        /// The content of the message.
        content: Blocks = "content";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since SAMPLING_TOOLS;
    }
}

/// One block, or several. A single block is written without brackets, because every revision can read this form.
///
/// ```
/// use toolway_protocol::types::{Blocks, Content};
///
/// assert_eq!(Blocks::from(vec![Content::text("a"), Content::text("b")]).as_slice().len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Blocks {
    /// One block.
    One(Box<Content>),
    /// Several blocks.
    Many(Vec<Content>),
}

impl Blocks {
    /// Returns the blocks as a slice.
    pub fn as_slice(&self) -> &[Content] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl From<Content> for Blocks {
    fn from(block: Content) -> Self {
        Self::One(Box::new(block))
    }
}

impl From<Vec<Content>> for Blocks {
    fn from(blocks: Vec<Content>) -> Self {
        Self::Many(blocks)
    }
}

impl Encode for Blocks {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::One(block) => block.encode(to),
            Self::Many(blocks) => blocks.encode(to),
        }
    }
}

/// Reads an array as several blocks and an object as one, as the protocol defines it.
impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RawJson::deserialize(deserializer)?;
        let read =
            if text.is_object() { text.decode().map(Self::One) } else { text.decode().map(Self::Many) };
        read.map_err(de::Error::custom)
    }
}

wire! {
    /// The preferences for the choice of a model.
    ///
    /// ```
    /// use toolway_protocol::types::{ModelHint, ModelPreferences};
    ///
    /// let preferences = ModelPreferences::new().with_hints(vec![ModelHint::new().with_name("sonnet")]);
    /// assert_eq!(preferences.hints.unwrap().len(), 1);
    /// ```
    pub struct ModelPreferences {
        /// The hints, the best first.
        hints (with_hints): Option<Vec<ModelHint>> = "hints";
        /// The importance of a low price, from 0 to 1.
        cost_priority (with_cost_priority): Option<serde_json::Number> = "costPriority";
        /// The importance of speed, from 0 to 1.
        speed_priority (with_speed_priority): Option<serde_json::Number> = "speedPriority";
        /// The importance of capability, from 0 to 1.
        intelligence_priority (with_intelligence_priority): Option<serde_json::Number> = "intelligencePriority";
    }

    /// A hint for the choice of a model.
    ///
    /// ```
    /// use toolway_protocol::types::ModelHint;
    ///
    /// assert_eq!(ModelHint::new().with_name("sonnet").name.as_deref(), Some("sonnet"));
    /// ```
    pub struct ModelHint {
        /// A part of the model's name.
        name (with_name): Option<String> = "name";
    }
}

names! {
    /// The context that a client should add to a request.
    ///
    /// ```
    /// use toolway_protocol::types::IncludeContext;
    ///
    /// assert_eq!(IncludeContext::from("none"), IncludeContext::None);
    /// ```
    pub enum IncludeContext {
        /// No context.
        None = "none",
        /// The context of the requesting server.
        ThisServer = "thisServer",
        /// The context of all servers.
        AllServers = "allServers",
    }
}

wire! {
    /// The rule for whether a model calls tools.
    ///
    /// ```
    /// use toolway_protocol::types::{ToolChoice, ToolChoiceMode};
    ///
    /// assert_eq!(ToolChoice::new().with_mode(ToolChoiceMode::Required).mode, Some(ToolChoiceMode::Required));
    /// ```
    pub struct ToolChoice {
        /// The mode; a missing one means `auto`.
        mode (with_mode): Option<ToolChoiceMode> = "mode";
    }
}

names! {
    /// The mode of a [`ToolChoice`].
    ///
    /// ```
    /// use toolway_protocol::types::ToolChoiceMode;
    ///
    /// assert_eq!(ToolChoiceMode::Auto.as_str(), "auto");
    /// ```
    pub enum ToolChoiceMode {
        /// The model may call tools.
        Auto = "auto",
        /// The model must call a tool.
        Required = "required",
        /// The model must not call tools.
        None = "none",
    }
}

wire! {
    /// The model's answer.
    ///
    /// ```
    /// use toolway_protocol::types::{Content, CreateMessageResult, Role};
    ///
    /// let answer = CreateMessageResult::new(Role::Assistant, Content::text("Paris"), "some-model");
    /// assert_eq!(answer.model, "some-model");
    /// ```
    pub struct CreateMessageResult {
        /// The author of the answer.
        role: Role = "role";
        /// The content of the answer.
        content: Blocks = "content";
        /// The name of the model.
        model: String = "model";
        /// The reason why the model stopped.
        stop_reason (with_stop_reason): Option<String> = "stopReason";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }
}
