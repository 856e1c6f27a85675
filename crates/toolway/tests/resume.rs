//! Connections that are cut at every byte: does everything come exactly once all the same?
//!
//! A long call is cut once at each offset of its reply, and again and again after so many bytes. Once an event's id has
//! reached the client, every message comes exactly once and in order, the answer too. Before that the call ends with an
//! error that says so. The handler runs once in any case. First a reader by hand, in memory; then our client, over
//! sockets that a proxy cuts; then what else may happen to a stream while its client is away.
//!
//! `SEED=7 cargo test -p toolway --test resume -- --nocapture` draws other offsets and tells how many there were.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "how much was tried is part of the result")]

#[path = "resume/by_hand.rs"]
mod by_hand;
#[path = "resume/client.rs"]
mod client;
#[path = "resume/meanwhile.rs"]
mod meanwhile;
#[path = "resume/proxy.rs"]
mod proxy;
#[path = "it/raw_http.rs"]
mod raw_http;
#[path = "resume/story.rs"]
mod story;
