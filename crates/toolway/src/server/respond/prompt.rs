//! What may a prompt return?

use toolway_protocol::types::{Content, GetPromptResult, PromptMessage, Role};

use super::content::{Audio, Embedded, Image, IntoContent, Text};
use crate::server::failure::errors::{IntoFailure, PromptError};

/// A message of one role, with one or several blocks. Each block is sent as a separate message of this role.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Message, Text, assistant, user};
///
/// /// Review code.
/// #[prompt]
/// fn review(code: &str) -> [Message; 2] {
///     [assistant("You are an editor."), user(("Review this.", Text::code(code, "rust")))]
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    role: Role,
    blocks: Vec<Content>,
}

impl Message {
    /// Creates a message of this role.
    pub fn new(role: Role, content: impl IntoBlocks) -> Self {
        Self { role, blocks: content.into_blocks() }
    }
}

/// Creates a message of the user.
///
/// ```
/// use toolway::server::{Image, user};
///
/// let short = user("Describe the picture.");
/// let long = user(("Describe the picture.", Image::png(b"not really a picture")));
/// ```
pub fn user(content: impl IntoBlocks) -> Message {
    Message::new(Role::User, content)
}

/// Creates a message of the assistant.
pub fn assistant(content: impl IntoBlocks) -> Message {
    Message::new(Role::Assistant, content)
}

/// Content of a message: one block, a list of blocks, or a tuple of blocks.
pub trait IntoBlocks {
    /// Converts the value to blocks.
    fn into_blocks(self) -> Vec<Content>;
}

macro_rules! one_block {
    ($($type:ty),*) => {$(
        impl IntoBlocks for $type {
            fn into_blocks(self) -> Vec<Content> {
                vec![self.into_content()]
            }
        }
    )*};
}
one_block!(&str, String, Content, Text, Image, Audio, Embedded);

impl<T: IntoContent> IntoBlocks for Vec<T> {
    fn into_blocks(self) -> Vec<Content> {
        self.into_iter().map(T::into_content).collect()
    }
}

impl<T: IntoContent, const LENGTH: usize> IntoBlocks for [T; LENGTH] {
    fn into_blocks(self) -> Vec<Content> {
        self.into_iter().map(T::into_content).collect()
    }
}

macro_rules! several_blocks {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: IntoContent),*> IntoBlocks for ($($name,)*) {
            fn into_blocks(self) -> Vec<Content> {
                #[expect(non_snake_case, reason = "each value is named after its type")]
                let ($($name,)*) = self;
                vec![$($name.into_content()),*]
            }
        }
    )*};
}
several_blocks! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }

/// A filled-in prompt: messages in their order, and a description.
///
/// ```
/// use toolway::server::PromptMessages;
///
/// let prompt = PromptMessages::new().with_description("A review").assistant("You are an editor.").user("Review this.");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptMessages {
    /// The description of the prompt.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<Message>,
}

impl PromptMessages {
    /// Creates a prompt without messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the description.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a message of the user.
    pub fn user(mut self, content: impl IntoBlocks) -> Self {
        self.messages.push(user(content));
        self
    }

    /// Adds a message of the assistant.
    pub fn assistant(mut self, content: impl IntoBlocks) -> Self {
        self.messages.push(assistant(content));
        self
    }
}

/// Returns the role with this name. Any name other than `user` and `assistant` is an error, so that the author notices
/// it.
pub(super) fn parse_role(name: &str) -> Result<Role, PromptError> {
    match name {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        other => {
            Err(PromptError::new(format!("the role of a message is `user` or `assistant`, not `{other}`")))
        }
    }
}

/// Checks that all roles are `user` or `assistant`: a role can be made from any text, and a result can be built by
/// hand.
pub(crate) fn check_roles(result: &GetPromptResult) -> Result<(), PromptError> {
    result.messages.iter().try_for_each(|message| parse_role(message.role.as_str()).map(drop))
}

/// A type that a prompt may return.
///
/// | returned | the caller gets |
/// |---|---|
/// | text | one message of the user |
/// | [`Message`], a `Vec` or an array of it | those messages; each block becomes a message |
/// | `[("user", "…"), ("assistant", "…")]` | those messages, in this order |
/// | [`PromptMessage`], a `Vec` of it | those messages, unchanged |
/// | [`PromptMessages`] | its messages and its description |
/// | `serde_json::Value` | the messages in a text, `{"user": …}`, `{"role": …, "content": …}`, a list of these, or `{"description": …, "messages": …}` |
/// | [`GetPromptResult`] | the same result |
/// | `Result<any of these, E>` | the prompt, or an error: see [`PromptError`] |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a prompt",
    label = "not a prompt",
    note = "return text, `Message`s made with `user(…)` and `assistant(…)`, or a `Prompt`"
)]
pub trait IntoPrompt {
    /// Converts the value to a filled-in prompt.
    fn into_prompt(self) -> Result<GetPromptResult, PromptError>;
}

impl IntoPrompt for PromptMessages {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        let messages = self.messages.into_iter().flat_map(|Message { role, blocks }| {
            blocks.into_iter().map(move |block| PromptMessage::new(role.clone(), block))
        });
        let mut result = GetPromptResult::new(messages.collect::<Vec<_>>());
        result.description = self.description;
        Ok(result)
    }
}

macro_rules! prompts {
    ($([$($generics:tt)*] $type:ty => |$value:ident| $prompt:expr;)*) => {$(
        impl<$($generics)*> IntoPrompt for $type {
            fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
                let $value = self;
                $prompt
            }
        }
    )*};
}
prompts! {
    [] GetPromptResult => |result| Ok(result);
    [] Vec<PromptMessage> => |messages| Ok(GetPromptResult::new(messages));
    [] PromptMessage => |message| vec![message].into_prompt();
    [] Vec<Message> => |messages| PromptMessages { description: None, messages }.into_prompt();
    [const N: usize] [Message; N] => |messages| Vec::from(messages).into_prompt();
    [] Message => |message| vec![message].into_prompt();
    [] String => |text| user(text).into_prompt();
    [] &str => |text| user(text).into_prompt();
    [C: IntoBlocks, const N: usize] [(&str, C); N] => |messages| Vec::from(messages).into_prompt();
}

impl<C: IntoBlocks> IntoPrompt for Vec<(&str, C)> {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        let messages = self.into_iter().map(|(name, content)| Ok(Message::new(parse_role(name)?, content)));
        messages.collect::<Result<Vec<Message>, PromptError>>()?.into_prompt()
    }
}

impl<T: IntoPrompt, E: IntoFailure<PromptError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        self.map_err(|error| PromptError::hidden(error.into_box()))?.into_prompt()
    }
}
