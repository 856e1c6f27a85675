//! How does a client sign in by itself? OAuth, as MCP uses it.
//!
//! | file | question |
//! |---|---|
//! | `signed_in.rs` | How do requests to a server carry their token? |
//! | `login.rs` | Which token does a client have, and when does it get another one? |
//! | `flow.rs` | Which requests lead to a token? |
//! | `browser_grant.rs`, `device_grant.rs`, `enterprise_grant.rs` | How does a user sign in, here, on another device, or through a company? |
//! | `workload_grant.rs` | How does a program sign in with a token of its platform? |
//! | `token_request.rs` | How is a token endpoint asked for a token? |
//! | `clients.rs` | Which client is this at an authorization server? |
//! | `discover.rs` | How is the authorization server found? |
//! | `context.rs` | What do all requests of a login need? |
//! | `settings.rs` over `grants.rs` | How does an application say in which way its clients sign in, and which ways are there? |
//! | `loopback.rs` | How does the browser return to this program? |
//! | `fetch.rs` over `egress.rs` | How are documents fetched whose URLs come from a server, and from where not? |
//! | `records.rs` | What is kept in the vault? |
//! | `file_vault.rs`, `store_vault.rs` over `vault.rs` | How are tokens kept in files or in a store, and what is a vault? |
//! | `dpop.rs` | How does a client prove that it has the key of a token? |
//! | `clock.rs`, `crypto.rs`, `secret.rs` | What time is it; random values, hashes and signatures; and how is a secret kept out of logs? |
//!
//! A file uses only the files below it. The texts of OAuth are understood by `toolway_protocol::oauth`.

mod browser_grant;
mod clients;
pub(crate) mod clock;
mod context;
pub(crate) mod crypto;
mod device_grant;
mod discover;
pub(crate) mod dpop;
pub(crate) mod egress;
mod enterprise_grant;
pub(crate) mod fetch;
pub(crate) mod file_vault;
mod flow;
pub(crate) mod grants;
mod login;
mod loopback;
mod records;
pub(crate) mod secret;
pub(crate) mod settings;
pub(crate) mod signed_in;
#[cfg(feature = "server")]
pub(crate) mod store_vault;
mod token_request;
pub(crate) mod vault;
mod workload_grant;
