//! How do hosts reach a server at a URL that reads lines? Hosts with a handshake get a process of their own, since the
//! server keeps their state; requests that describe themselves share one.
//!
//! | file | question |
//! |---|---|
//! | `front.rs` | Which session does an HTTP request belong to, and how is it answered? |
//! | `session.rs` | What does a host with a handshake get? |
//! | `streams.rs` | Which stream does a message of the server belong to, and how long is it kept? |
//! | `shared.rs` | How do requests that describe themselves share one server? |
//! | `line_pipe.rs` | How are lines exchanged with the server until it ends? |
//! | `reply.rs` | What does an HTTP reply contain? |

mod front;
mod line_pipe;
mod reply;
mod session;
mod shared;
mod streams;

pub(crate) use front::Front;
