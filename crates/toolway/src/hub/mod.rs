//! Many servers: which ones there are, what they have together, and who looks after them.
//!
//! A [`Hub`] connects to all servers of a file, or to those that it is told, and makes one list of what they have. Names are
//! `server__tool`; each leads back to the server it came from, and nothing collides. A server that cannot be reached takes
//! nothing with it: its calls fail, the others go on, and it comes back by itself.
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
//! // What a model wants to be called, at the same time. Nothing fails as a whole.
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
//! What it has stays in the lists, so that a model that knows a tool need not be told twice; calls of it fail as
//! [unavailable](crate::agent::FailureKind::Unavailable). Each server has a task that looks after it: it tries the server again,
//! the second time at once, then after random waits that grow to five seconds. After five attempts in a minute it is left
//! alone for ten to twenty seconds, and its calls fail at once meanwhile. [`Hub::refresh`] tries at once. When the server is back,
//! its lists are read again.
//!
//! Lists are read again when a server says that they have changed. Where it does not tell, but says how long a list is true,
//! they are read when that time is over, though not more often than every 30 seconds.
//!
//! | file | question |
//! |---|---|
//! | `handle.rs` | What is a hub? |
//! | `builder.rs` | What can be said about one? |
//! | `shared.rs` | What does it share with the tasks that look after its servers? |
//! | `calls.rs` | What may be asked of the servers, and who answers? |
//! | `snapshot.rs` | What do all servers have together, and whose is what? |
//! | `watch.rs` | What has changed? |
//! | `member.rs`, `status.rs` | How is one server? |
//! | `follower.rs` | How is it started, and which task looks after it? |
//! | `breaker.rs` | How often may it be tried? |
//! | `lists.rs` | What does it have, and how long is that true? |
//! | `names/` | What are the elements of several servers called in one list, and whose is what? |
//! | `upstream.rs` | What does a gateway ask of a hub, and how is one client a hub? |
//! | `config/` | Which servers does a file name, and how are they reached? |
//! | `target/` | How does what a file says become a way to a server? |

mod breaker;
mod builder;
mod calls;
pub mod config;
mod follower;
mod handle;
mod lists;
mod member;
mod names;
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
pub use names::joined::Names;
pub use names::rules::NameRules;
pub use names::uris::Uris;
pub use status::{ServerState, ServerStatus};
#[cfg(feature = "server")]
pub(crate) use upstream::{Ear, Follower, MAX_WATCHING, Member, Snapshot, Unheard, Upstream, listen};
pub use watch::{HubChange, HubWatch};
