//! Prompts: how a server describes one, and what filling one in gives.

use super::listing::Listed;
use super::{Content, Icon, Role};
use crate::capability::Settings;
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
        /// Its name, unique in one server.
        name: String = "name";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
        /// What it is for.
        description (with_description): Option<String> = "description";
        /// What can be filled in.
        arguments (with_arguments): Option<Vec<PromptArgument>> = "arguments";
        /// Pictures of it.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since META_EVERYWHERE;
    }

    /// Something that can be filled in. Its value is text.
    ///
    /// ```
    /// use toolway_protocol::types::PromptArgument;
    ///
    /// assert_eq!(PromptArgument::new("style").with_required(true).required, Some(true));
    /// ```
    pub struct PromptArgument {
        /// Its name.
        name: String = "name";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
        /// What it is for.
        description (with_description): Option<String> = "description";
        /// Whether it must be filled in.
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
        /// Who says it.
        role: Role = "role";
        /// What is said: one block.
        content: Content = "content";
    }

    /// A prompt, filled in.
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
        /// What it is for.
        description (with_description): Option<String> = "description";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
        frame "resultType";
    }
}

impl Listed for Prompt {
    const KEY: &'static str = "prompts";
}
