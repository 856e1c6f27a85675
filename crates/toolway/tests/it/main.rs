//! Behaviour of servers and clients, a module a behaviour. A test runs on every wire unless the wire is its
//! subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::items_after_statements, reason = "what a test needs stands where it is needed")]

mod admission;
mod arguments;
mod batches;
mod client;
mod client_http;
mod composition;
mod handshake;
mod http;
mod limits;
mod mistakes;
mod pipe;
mod progress;
mod promises;
mod raw_http;
mod results;
mod robust;
mod rows;
mod second_look;
mod sessions;
mod stateless;
mod stdio;
mod store;
mod tasks;
mod tools;
