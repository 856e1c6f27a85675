//! Sampling: what is the client's model asked, and what does it answer?

use serde::de::{self, Deserialize, Deserializer};

use super::{Content, Role, Tool};
use crate::capability::Settings;
use crate::json::{Encode, Encoder, RawJson};
use crate::wire::{names, wire};

wire! {
    /// A question to the client's model.
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
        /// The longest answer.
        max_tokens: i64 = "maxTokens";
        /// Which model would be best.
        model_preferences (with_model_preferences): Option<ModelPreferences> = "modelPreferences";
        /// What the model is told first.
        system_prompt (with_system_prompt): Option<String> = "systemPrompt";
        /// What the client should add.
        include_context (with_include_context): Option<IncludeContext> = "includeContext";
        /// How freely the model answers.
        temperature (with_temperature): Option<serde_json::Number> = "temperature";
        /// Where the answer ends.
        stop_sequences (with_stop_sequences): Option<Vec<String>> = "stopSequences";
        /// For the provider of the model.
        metadata (with_metadata): Option<Settings> = "metadata";
        /// Tools that the model may ask for.
        tools (with_tools): Option<Vec<Tool>> = "tools", since SAMPLING_TOOLS;
        /// Whether it must.
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
        /// Who says it.
        role: Role = "role";
        /// What is said.
        content: Blocks = "content";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since SAMPLING_TOOLS;
    }
}

/// One block, or several. A single one is written without brackets, as every revision reads it.
///
/// ```
/// use toolway_protocol::types::{Blocks, Content};
///
/// assert_eq!(Blocks::from(vec![Content::text("a"), Content::text("b")]).as_slice().len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Blocks {
    /// One.
    One(Box<Content>),
    /// Several.
    Many(Vec<Content>),
}

impl Blocks {
    /// The blocks.
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

/// An array is several and an object is one: that is how the protocol writes it, and no guess.
impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RawJson::deserialize(deserializer)?;
        let read =
            if text.is_object() { text.decode().map(Self::One) } else { text.decode().map(Self::Many) };
        read.map_err(de::Error::custom)
    }
}

wire! {
    /// Which model would be best.
    ///
    /// ```
    /// use toolway_protocol::types::{ModelHint, ModelPreferences};
    ///
    /// let preferences = ModelPreferences::new().with_hints(vec![ModelHint::new().with_name("sonnet")]);
    /// assert_eq!(preferences.hints.unwrap().len(), 1);
    /// ```
    pub struct ModelPreferences {
        /// Names, the best first.
        hints (with_hints): Option<Vec<ModelHint>> = "hints";
        /// How much a low price matters, from 0 to 1.
        cost_priority (with_cost_priority): Option<serde_json::Number> = "costPriority";
        /// How much speed matters, from 0 to 1.
        speed_priority (with_speed_priority): Option<serde_json::Number> = "speedPriority";
        /// How much ability matters, from 0 to 1.
        intelligence_priority (with_intelligence_priority): Option<serde_json::Number> = "intelligencePriority";
    }

    /// A part of a model's name.
    ///
    /// ```
    /// use toolway_protocol::types::ModelHint;
    ///
    /// assert_eq!(ModelHint::new().with_name("sonnet").name.as_deref(), Some("sonnet"));
    /// ```
    pub struct ModelHint {
        /// The part.
        name (with_name): Option<String> = "name";
    }
}

names! {
    /// What a client should add to a question.
    ///
    /// ```
    /// use toolway_protocol::types::IncludeContext;
    ///
    /// assert_eq!(IncludeContext::from("none"), IncludeContext::None);
    /// ```
    pub enum IncludeContext {
        /// Nothing.
        None = "none",
        /// What belongs to the asking server.
        ThisServer = "thisServer",
        /// What belongs to any server.
        AllServers = "allServers",
    }
}

wire! {
    /// Whether a model must ask for tools.
    ///
    /// ```
    /// use toolway_protocol::types::{ToolChoice, ToolChoiceMode};
    ///
    /// assert_eq!(ToolChoice::new().with_mode(ToolChoiceMode::Required).mode, Some(ToolChoiceMode::Required));
    /// ```
    pub struct ToolChoice {
        /// `auto` when nothing is said.
        mode (with_mode): Option<ToolChoiceMode> = "mode";
    }
}

names! {
    /// Whether a model must ask for tools.
    ///
    /// ```
    /// use toolway_protocol::types::ToolChoiceMode;
    ///
    /// assert_eq!(ToolChoiceMode::Auto.as_str(), "auto");
    /// ```
    pub enum ToolChoiceMode {
        /// As it likes.
        Auto = "auto",
        /// It must.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

wire! {
    /// What the model answered.
    ///
    /// ```
    /// use toolway_protocol::types::{Content, CreateMessageResult, Role};
    ///
    /// let answer = CreateMessageResult::new(Role::Assistant, Content::text("Paris"), "some-model");
    /// assert_eq!(answer.model, "some-model");
    /// ```
    pub struct CreateMessageResult {
        /// Who says it.
        role: Role = "role";
        /// What is said.
        content: Blocks = "content";
        /// Which model it was.
        model: String = "model";
        /// Why it stopped.
        stop_reason (with_stop_reason): Option<String> = "stopReason";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }
}
