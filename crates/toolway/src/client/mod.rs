//! Clients: the other end.
//!
//! A [`Client`] speaks with one server. How the conversation is opened is found out when it connects; from
//! then on every call looks the same, and goes on when the server is started again.
//!
//! A folder may use those below it in this table, never those above:
//!
//! | folder | question |
//! |---|---|
//! | `calls/` | What may be asked of a server, and what comes of it? |
//! | `connect/` | What is a client, how does it connect, and how does it connect again? |
//! | `http/`, `process/`, `pipe/` | How do messages travel over HTTP, to a child process and over a pipe? |
//! | `handshake/`, then `stateless/` | How does each era open a connection and write a request, and how are the server's questions answered? |
//! | `wire/` | What carries messages, and where is a server? |
//! | `answer/` | What does the application answer when a server asks? |
//! | `notifications/` | Who hears what the server tells unasked? |

pub(crate) mod answer;
pub(crate) mod calls;
mod connect;
mod handshake;
#[cfg(feature = "http")]
mod http;
mod notifications;
mod pipe;
mod process;
mod stateless;
pub(crate) mod wire;

pub use answer::answers::{Answer, Elicitation, Unanswered};
pub use calls::exchange::{Exchange, Running};
pub use calls::pages::Pages;
pub use calls::remote::RemoteTool;
pub use calls::requests::PromptArguments;
pub use calls::result::ToolResult;
pub use calls::watch::Watch;
pub use connect::builder::ClientBuilder;
pub use connect::client::Client;
pub use connect::tool_cache::Tools;
pub use handshake::era_cache::EraCache;
#[cfg(feature = "http")]
pub use http::request::client::{HttpBody, HttpClient};
#[cfg(feature = "http")]
pub use http::target::Http;
pub use notifications::changes::Change;
pub use notifications::news::News;
pub use process::command::Command;
pub use wire::inbox::{Answering, Inbox};
pub use wire::outgoing::Outgoing;
pub use wire::target::{Connector, IntoTarget, Target};
pub use wire::transport::Transport;
