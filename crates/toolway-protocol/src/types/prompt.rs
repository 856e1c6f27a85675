//! Prompts: how does a server describe a prompt, and what is the result of filling one in?

use super::listing::ListItem;
use super::{Content, Icon, Role};
use crate::capability::JsonObject;
use crate::wire::wire;

wire! {
    /// A prompt as a server lists it.
    ///
    /// ```
    /// use toolway_protocol::types::{Prompt, PromptArgument};
    ///
    /// let review = Prompt::new("review").with_arguments(vec![PromptArgument::new("style").with_required(true)]);
    /// assert_eq!(review.arguments.unwrap()[0].name, "style");
    /// ```
    pub struct Prompt {
        /// The name, unique in one server.
        name: String = "name";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
        /// The description.
        description (with_description): Option<String> = "description";
        /// The arguments of the prompt.
        arguments (with_arguments): Option<Vec<PromptArgument>> = "arguments";
        /// The icons to display.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// An argument of a prompt. Its value is text.
    ///
    /// ```
    /// use toolway_protocol::types::PromptArgument;
    ///
    /// assert_eq!(PromptArgument::new("style").with_required(true).required, Some(true));
    /// ```
    pub struct PromptArgument {
        /// The name of the argument.
        name: String = "name";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
        /// The description.
        description (with_description): Option<String> = "description";
        /// `true` if the argument is required.
        required (with_required): Option<bool> = "required";
    }

    /// One message of a prompt.
    ///
    /// ```
    /// use toolway_protocol::types::{Content, PromptMessage, Role};
    ///
    /// let message = PromptMessage::new(Role::User, Content::text("Review this."));
    /// assert_eq!(message.content.as_text(), Some("Review this."));
    /// ```
    pub struct PromptMessage {
        /// The author of the message.
        role: Role = "role";
        /// The content: one block.
        content: Content = "content";
    }

    /// A filled-in prompt.
    ///
    /// ```
    /// use toolway_protocol::types::{Content, GetPromptResult, PromptMessage, Role};
    ///
    /// let message = PromptMessage::new(Role::User, Content::text("Review this."));
    /// assert_eq!(GetPromptResult::new(vec![message]).messages.len(), 1);
    /// ```
    pub struct GetPromptResult {
        /// The messages.
        messages: Vec<PromptMessage> = "messages";
        /// The description.
        description (with_description): Option<String> = "description";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
        frame "resultType";
    }
}

impl ListItem for Prompt {
    const KEY: &'static str = "prompts";
}
