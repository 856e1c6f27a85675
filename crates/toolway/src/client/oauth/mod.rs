//! How does a client sign in by itself? OAuth, as MCP uses it.
//!
//! | file | question |
//! |---|---|
//! | `signed_in.rs` | How do requests to a server carry their token? |
//! | `login.rs` | Which token does a client have, and when does it get another one? |
//! | `flow.rs` | Which requests lead to a token? |
//! | `settings.rs` | How does an application say in which way its clients sign in? |
//! | `loopback.rs` | How does the browser return to this program? |
//! | `records.rs` | What is kept in the vault? |
//! | `file_vault.rs` | How are tokens kept in files? |
//! | `vault.rs` | Where are tokens kept? |
//! | `fetch.rs` over `egress.rs` | How are documents fetched whose URLs come from a server, and from where not? |
//! | `crypto.rs`, `secret.rs` | Random values, hashes and signatures; and how is a secret kept out of logs? |
//!
//! A file uses only the files below it. The texts of OAuth are understood by `toolway_protocol::oauth`.

mod crypto;
mod egress;
mod fetch;
pub(crate) mod file_vault;
mod flow;
mod login;
mod loopback;
mod records;
mod secret;
pub(crate) mod settings;
mod signed_in;
pub(crate) mod vault;
