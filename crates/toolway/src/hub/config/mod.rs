//! Which servers does a file name, and how are they reached?
//!
//! | who | file | shape |
//! |---|---|---|
//! | Claude Desktop | `claude_desktop_config.json` | `{"mcpServers": {"name": {"command", "args", "env"}}}` |
//! | Claude Code | `.mcp.json`, `~/.claude.json` | the same, or `{"type": "http", "url", "headers"}` |
//! | Cursor | `.cursor/mcp.json` | the same, or `{"url", "headers"}`; `envFile` |
//! | VS Code | `.vscode/mcp.json` | `{"servers": {…}, "inputs": […]}`; `envFile` |
//! | Windsurf | `mcp_config.json` | `{"mcpServers": {"name": {"serverUrl", "headers"}}}` |
//! | Gemini CLI | `.gemini/settings.json` | `{"mcpServers": {"name": {"httpUrl", "headers"}}}` |
//! | frameworks | anything | `[{"command", "args"}]`, or servers by their names and nothing around them |
//!
//! The shape is recognised, not the file's name, so each can be anywhere. Comments and trailing commas are accepted. Members that mean
//! nothing here are kept in [`ServerConfig::other`].
//!
//! A file is read in two steps. [`Config::parse`] tells every mistake in it at once. [`ServerConfig::resolve`] puts values where the
//! file has [variables](Variables) and gives what is needed to connect: one server whose token is missing does not keep
//! the others from being used.
//!
//! | file | question |
//! |---|---|
//! | `source.rs`, `tolerant.rs` | What stands where in a file? |
//! | `file.rs` | What is a configuration, and what is read from a file? |
//! | `shape.rs` | Where in a file are the servers? |
//! | `entry.rs` | What does one entry say? |
//! | `variables.rs` | What do `${…}` stand for? |
//! | `resolve.rs`, `env_file.rs` | How is the server reached, with values instead of variables? |
//! | `find.rs`, `host.rs` | In which file is a server of this name? |
//! | `checks.rs` | Which names, texts and addresses cannot be used? |
//! | `error.rs` | What is wrong, where, and what to do? |

mod checks;
mod entry;
mod env_file;
mod error;
mod file;
mod find;
mod host;
mod resolve;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod tolerant;
mod variables;

pub(super) use entry::Choice;
pub use entry::ServerConfig;
pub use error::{ConfigError, Mistake, Place};
pub use file::Config;
pub use find::Places;
pub use host::Host;
pub use resolve::ServerKind;
pub use variables::{Input, Variables};
