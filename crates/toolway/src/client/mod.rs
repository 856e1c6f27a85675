//! Clients of MCP servers.
//!
//! A [`Client`] talks to one server. The protocol has two [eras](crate::Era): in the *handshake* era the client opens a
//! session with `initialize`; in the *stateless* era every request describes itself. When a client connects, it finds
//! out which era the server speaks. After that, every call looks the same in both eras, and calls keep working after
//! the server restarts.
//!
//! Each folder may use only the folders below it in this table:
//!
//! | folder | question |
//! |---|---|
//! | `calls/` | Which requests can a client make, and what do they return? |
//! | `connect/` | What is a client, and how does it connect and reconnect? |
//! | `oauth/` | How does a client sign in by itself? |
//! | `http/`, `process/`, `pipe/` | How do messages travel over HTTP, to a child process and over a pipe? |
//! | `handshake/`, then `stateless/` | How does each era open a connection, write a request and answer the server's questions? |
//! | `wire/` | What carries messages, and how is a server located? |
//! | `record/` | How is what goes by recorded, and how is a recording read? |
//! | `answer/` | How does the application answer the server's questions? |
//! | `notifications/` | Which receivers get the server's notifications? |

pub(crate) mod answer;
pub(crate) mod calls;
pub(crate) mod connect;
mod handshake;
#[cfg(feature = "http")]
pub(crate) mod http;
mod notifications;
#[cfg(feature = "auth")]
pub(crate) mod oauth;
pub(crate) mod pipe;
pub(crate) mod process;
pub mod record;
mod stateless;
pub(crate) mod wire;

pub use answer::answers::{Answer, AnswerError, Elicitation};
pub use answer::origin::QuestionOrigin;
pub use calls::exchange::{Exchange, RunningExchange};
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
pub use http::relay::link::{HttpRelay, RelayedMessages};
#[cfg(feature = "http")]
pub use http::request::client::{HttpBody, HttpClient};
#[cfg(feature = "http")]
pub use http::target::Http;
pub use notifications::changes::Change;
pub use notifications::readers::NotificationReader;
#[cfg(feature = "auth")]
pub use oauth::file_vault::FileVault;
#[cfg(feature = "auth")]
pub use oauth::grants::{AccessToken, DeviceCode, Dpop, Idp, TokenRequest, TokenSource, WorkloadTarget};
#[cfg(feature = "auth")]
pub use oauth::settings::OAuth;
#[cfg(feature = "auth")]
pub use oauth::signed_in::{SignInStatus, SignedOut};
#[cfg(all(feature = "auth", feature = "server"))]
pub use oauth::store_vault::StoreVault;
#[cfg(feature = "auth")]
pub use oauth::vault::{MemoryVault, Vault, VaultGuard, VaultKey};
pub use pipe::printable::escape_for_terminal;
#[cfg(feature = "auth")]
pub use process::browser::open_browser;
pub use process::command::Command;
pub use process::program_io::{ProcessHandle, ServerProcess};
pub use toolway_protocol::Notification;
pub use wire::inbox::{AnswerFrame, Inbox};
pub use wire::outgoing::OutgoingMessage;
pub use wire::target::{Connector, IntoTarget, Target};
pub use wire::transport::Transport;
