//! The protocol types that handlers and callers use: one model for all revisions, one file per topic.
//!
//! Types are `#[non_exhaustive]`: create one with `new(required…)` and add the rest with `with_…`. They can be read
//! from any revision, keep unknown members, and are written in the revision of the encoder.

mod cache;
mod completion;
mod content;
mod elicitation;
mod implementation;
mod input;
mod listing;
mod logging;
mod progress;
mod prompt;
mod resource;
mod roots;
mod sampling;
mod subscription;
mod tool;

pub use cache::{CacheHints, CacheScope};
pub use completion::{
    Complete, CompleteArgument, CompleteContext, CompleteResult, Completion, PromptReference, Reference,
    ResourceReference,
};
pub use content::{
    AudioContent, Content, EmbeddedResource, ImageContent, TextContent, ToolResultContent, ToolUseContent,
};
pub use elicitation::{
    Choice, Choices, Elicit, ElicitAction, ElicitForm, ElicitResult, ElicitUrl, Field, FieldKind, Fields,
    FormSchema,
};
pub use implementation::{Annotations, Icon, Implementation, Role, Theme};
pub use input::{InputRequest, InputRequired, InputResponse, RawInputRequest};
pub use listing::Listing;
pub use logging::{LogLevel, LogMessage, UnknownLevel};
pub use progress::{Cancelled, ElicitationComplete, EmptyParams, Progress, ResourceUpdated};
pub use prompt::{GetPromptResult, Prompt, PromptArgument, PromptMessage};
pub use resource::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    Blocks, CreateMessage, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingMessage,
    ToolChoice, ToolChoiceMode,
};
pub use subscription::{SubscriptionAcknowledged, SubscriptionFilter};
pub use tool::{CallToolResult, TaskSupport, Tool, ToolAnnotations, ToolExecution};

pub use crate::json::OrderedMap;
pub use crate::wire::Extra;
