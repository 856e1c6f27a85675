//! What does the author say about the server, and what is wrong with it?

use std::fmt::Write;
use std::sync::Arc;

use toolway_protocol::capability::{ServerCapabilities, Settings};
use toolway_protocol::era::stateless::Stamp;
use toolway_protocol::json::Limits;
use toolway_protocol::types::Implementation;

use super::registry::Registry;
use super::state::States;
use super::tool::ToolEntry;
use super::{Inner, Server};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::frame::MAX_LINE;

/// A server that is being described. Made by [`Server::new`].
#[derive(Debug)]
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    tools: Vec<ToolEntry>,
    states: States,
    max_frame: usize,
}

impl ServerBuilder {
    pub(super) fn new(info: Implementation) -> Self {
        Self { info, instructions: None, tools: Vec::new(), states: States::default(), max_frame: MAX_LINE }
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// How to use this server, for the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds tools, usually `tools![add, subtract]`. They are listed in this order.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolEntry>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds a value that tools get as a parameter of type [`State<T>`](super::State).
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// The longest message that is accepted, in bytes (4 MiB): a line of a pipe, the body of an HTTP request.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_frame = bytes;
        self
    }

    /// Checks everything and makes the server.
    ///
    /// # Errors
    ///
    /// One error that lists every mistake found.
    pub fn build(self) -> Result<Server> {
        let mut mistakes = Vec::new();
        if self.info.name.is_empty() {
            mistakes.push("the server's name is empty".to_owned());
        }
        for tool in &self.tools {
            tool.check(&self.states, &mut mistakes);
        }
        let registry = Registry::new(self.tools, &mut mistakes);
        if !mistakes.is_empty() {
            let mut message = format!("the server {:?} cannot be built", self.info.name);
            for mistake in &mistakes {
                write!(message, "\n  - {mistake}").expect("writing to a string cannot fail");
            }
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let mut capabilities = ServerCapabilities::default();
        if !registry.is_empty() {
            capabilities.tools = Some(Settings::new());
        }
        Ok(Server {
            inner: Arc::new(Inner {
                stamp: Stamp::new(&self.info),
                info: self.info,
                instructions: self.instructions,
                capabilities,
                registry,
                states: self.states,
                limits: Limits::default(),
                max_frame: self.max_frame,
            }),
        })
    }
}
