//! Behaviour of servers and clients, one module per behaviour. A test runs on every wire unless the wire is its
//! subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::items_after_statements, reason = "what a test needs stands where it is needed")]

mod admission;
mod again;
mod agent_schemas;
mod answers;
mod arguments;
mod asking;
mod batches;
mod calls;
mod client;
mod client_http;
mod composition;
mod deferred;
mod endings;
mod eras;
mod handshake;
mod hooks;
mod http;
mod hub;
mod hub_config;
mod layers;
mod limits;
mod live;
mod many_questions;
mod memory;
mod mistakes;
mod mount;
mod operator;
mod pipe;
mod ports;
mod progress;
mod promises;
mod raw_http;
mod refused;
mod results;
mod robust;
mod rows;
mod run_again;
mod second_look;
mod sessions;
mod sizes;
mod stateless;
mod stdio;
mod store;
mod tasks;
mod tools;
mod visibility;
mod watching;
