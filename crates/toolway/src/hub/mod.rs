//! A client of many servers: which servers there are, which elements they have, and how they are kept connected.
//!
//! A [`Hub`] connects to all servers of a file, or to servers that the program adds, and makes one list of their
//! elements: tools, prompts and resources. Names in this list have the form `server__tool`. Each name leads back to its
//! server, and names never collide. A server that cannot be reached does not affect the others: calls to that server
//! fail, and the hub reconnects to it automatically.
//!
//! ```
//! use serde_json::json;
//! use toolway::agent::{FailureKind, ToolCall};
//! use toolway::prelude::*;
//!
//! # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
//! # #[tool] fn today() -> &'static str { "2026-01-01" }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let calculator = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
//! # let calendar = Server::new("calendar", "1.0.0").tools(tools![today]).build()?;
//! let hub = Hub::new();
//! hub.connect("calc", &calculator).await?.connect("dates", &calendar).await?;
//!
//! let tools = hub.tools();
//! let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
//! assert_eq!(names, ["calc__add", "dates__today"]);
//!
//! // The calls of a model run concurrently. A call that fails does not affect the others.
//! let answers = hub.call_all([
//!     ToolCall::new("1", "calc__add", json!({"a": 2, "b": 3})),
//!     ToolCall::new("2", "dates__today", json!({})),
//!     ToolCall::new("3", "dates__tomorrow", json!({})),
//! ]).await;
//! assert_eq!(answers[0].result.as_ref().unwrap().text(), "5");
//! assert_eq!(answers[1].result.as_ref().unwrap().text(), "2026-01-01");
//! assert_eq!(answers[2].result.as_ref().unwrap_err().kind(), FailureKind::Unknown);
//! # Ok::<(), toolway::Error>(()) }).unwrap();
//! ```
//!
//! From the file that Claude, Cursor, VS Code, Windsurf or the Gemini CLI already use:
//!
//! ```no_run
//! use toolway::prelude::*;
//!
//! # async fn example() -> toolway::Result<()> {
//! let hub = Hub::from_file("mcp.json").await?;
//! for server in hub.status() {
//!     eprintln!("{server}");
//! }
//! # Ok(()) }
//! ```
//!
//! # When a server is gone
//!
//! The elements of an unreachable server stay in the lists, so that the tool list of a model does not change. Calls
//! fail as [unavailable](crate::agent::FailureKind::Unavailable). Each server has a task that follows it and
//! reconnects: the second attempt follows at once, later attempts after random waits that grow up to five seconds.
//! After five attempts in a minute, the task waits for ten to twenty seconds, and calls fail at once during this wait.
//! [`Hub::refresh`] tries to connect immediately. After a reconnect, the lists are read again.
//!
//! Lists are read again when a server reports that they changed. If it does not report changes, but says how long a
//! list is valid, the list is read again after that time, at most every 30 seconds.
//!
//! | file | question |
//! |---|---|
//! | `handle.rs` | What is a hub? |
//! | `builder.rs` | Which settings does a hub have? |
//! | `shared.rs` | What does a hub share with the tasks that follow its servers? |
//! | `calls.rs` | Which requests can be made to the servers, and which server answers? |
//! | `snapshot.rs` | Which elements do all servers have together, and which server has each? |
//! | `watch.rs` | What changed? |
//! | `member.rs`, `status.rs` | What is known about one server? |
//! | `follower.rs` | How is a server started, and which task follows it? |
//! | `breaker.rs` | How often may the hub try to connect? |
//! | `lists.rs` | Which elements does a server list, and for how long are the lists valid? |
//! | `read_pace.rs` | How soon is a list read again after the server reported a change? |
//! | `names/` | Which names do the elements of several servers have in one list? |
//! | `upstream.rs` | What does a gateway need from a hub, and how does one client become a hub? |
//! | `config/` | Which servers are in a file, and how does the hub connect to them? |
//! | `target/` | How does a configured server become a target to connect to? |

mod breaker;
mod builder;
mod calls;
pub mod config;
mod follower;
mod handle;
mod lists;
mod member;
mod names;
mod read_pace;
mod shared;
mod snapshot;
mod status;
mod target;
#[cfg(test)]
mod tests;
#[cfg(feature = "server")]
mod upstream;
mod watch;

pub use builder::HubBuilder;
pub use config::{Config, ConfigError, ServerConfig, ServerKind};
pub use handle::Hub;
#[doc(hidden)]
pub use names::joined::Names;
pub use names::rules::NameRules;
#[doc(hidden)]
pub use names::uris::Uris;
pub use status::{ServerState, ServerStatus};
#[cfg(feature = "server")]
pub(crate) use upstream::{
    Follower, HubSnapshot, Member, Upstream, WATCH_TIMEOUT, WatchError, WatchState, listen,
};
pub use watch::{HubChange, HubWatch};
