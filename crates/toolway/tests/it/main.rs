//! Behaviour of servers and clients, one module per behaviour. A test runs on every wire unless the wire is its
//! subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::items_after_statements, reason = "what a test needs stands where it is needed")]

mod access;
mod admission;
mod agent_schemas;
mod agent_tools;
mod answers;
mod arguments;
mod asking;
mod batches;
mod calls;
mod child_process;
mod client;
mod client_http;
mod client_requests;
mod completion;
mod composition;
mod cors;
mod custom_methods;
mod deferred;
mod endings;
mod eras;
mod handshake;
mod hooks;
#[cfg(feature = "auth")]
mod hostile_sign_in;
mod http;
mod hub;
mod hub_config;
mod layers;
mod limits;
mod list_changes;
mod listening;
mod live;
mod logging;
mod many_questions;
mod memory;
mod mistakes;
mod mount;
mod operator;
mod pipe;
mod ports;
mod progress;
mod promises;
mod prompts;
#[cfg(feature = "auth")]
mod protected;
mod raw_http;
mod reconnect;
mod refused;
mod registration;
mod resources;
mod results;
mod robust;
mod run_again;
mod server;
mod sessions;
#[cfg(feature = "auth")]
mod sign_in;
mod sizes;
mod stateless;
mod stdio;
mod stream_rights;
mod tasks;
mod tools;
mod visibility;
mod watching;
