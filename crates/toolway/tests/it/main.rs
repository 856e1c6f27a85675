//! Behaviour of servers and clients, a module a behaviour. A test runs on every wire unless the wire is its
//! subject.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod arguments;
mod client;
mod handshake;
mod http;
mod pipe;
mod results;
mod stateless;
mod stdio;
mod tasks;
mod tools;
