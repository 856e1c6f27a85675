//! Connections that are cut at every byte: does every message still arrive exactly once?
//!
//! A long call is cut once at each offset of its reply, and repeatedly after a number of bytes. Once an event's id has
//! reached the client, every message arrives exactly once and in order, and so does the answer. Before that the call
//! ends with an error that says so. The handler runs once in any case. First a hand-written reader, in memory; then our
//! client, over sockets that a proxy cuts; then other events during a disconnection.
//!
//! `SEED=7 cargo test -p toolway --test resume -- --nocapture` chooses other offsets and prints their number.

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
