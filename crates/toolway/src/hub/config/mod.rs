//! Which servers are in a file, and how does a client connect to them?
//!
//! | program | file | format |
//! |---|---|---|
//! | Claude Desktop | `claude_desktop_config.json` | `{"mcpServers": {"name": {"command", "args", "env"}}}` |
//! | Claude Code | `.mcp.json`, `~/.claude.json` | as Claude Desktop, or `{"type": "http", "url", "headers"}` |
//! | Cursor | `.cursor/mcp.json` | as Claude Desktop, or `{"url", "headers"}`; `envFile` |
//! | VS Code | `.vscode/mcp.json` | `{"servers": {…}, "inputs": […]}`; `envFile` |
//! | Windsurf | `mcp_config.json` | `{"mcpServers": {"name": {"serverUrl", "headers"}}}` |
//! | Gemini CLI | `.gemini/settings.json` | `{"mcpServers": {"name": {"httpUrl", "headers"}}}` |
//! | frameworks | any | `[{"command", "args"}]`, or an object of servers by name at the top level |
//!
//! The format is recognised by its content, not by the file's name, so each format is accepted in any file. Comments
//! and trailing commas are accepted. Members that this library does not use are kept in [`ServerConfig::other`].
//!
//! A file is read in two steps. [`Config::parse`] reports all mistakes in it together. [`ServerConfig::resolve`]
//! replaces the [variables](Variables) of one server and returns what is needed to connect. A server whose token is
//! missing therefore does not affect the others.
//!
//! | file | question |
//! |---|---|
//! | `source.rs`, `jsonc.rs` | Which values are in a file, and at which positions? |
//! | `file.rs` | What is a configuration, and how is it read from a file? |
//! | `layout.rs` | Where in a file are the servers? |
//! | `entry.rs` | What does one entry say? |
//! | `oauth.rs` over `oauth_config.rs` | How does a client sign in to a server, as its entry says it? |
//! | `variables.rs` | What does `${…}` stand for? |
//! | `resolve.rs`, `env_file.rs` | How does a client connect, with variables replaced? |
//! | `find.rs`, `host.rs` | Which file contains the server with a given name? |
//! | `checks.rs` | Which names, texts and addresses are invalid? |
//! | `error.rs` | What is wrong, where, and how can it be corrected? |

mod checks;
mod entry;
pub(crate) mod env_file;
mod error;
mod file;
mod find;
mod host;
mod jsonc;
mod layout;
mod oauth;
mod oauth_config;
mod resolve;
mod source;
#[cfg(test)]
mod tests;
mod variables;

pub use entry::ServerConfig;
pub(super) use entry::ToolFilter;
pub use error::{ConfigError, Mistake, SourcePosition};
pub use file::Config;
pub use find::SearchPaths;
pub use host::Host;
pub use oauth_config::OAuthConfig;
pub use resolve::{EnvFilePreview, ServerKind, ServerPreview};
pub use variables::{Input, Variables};
