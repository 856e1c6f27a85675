//! How do messages travel over a pipe, seen from the client's end? One message per line.
//!
//! | file | question |
//! |---|---|
//! | `streams.rs` | How do messages travel over two streams that the application has opened? `process/` does the same for a server that it starts. |
//! | `transport.rs` | What do all transports over a pipe have in common? |
//! | `state.rs` | Which requests are in flight, and what happens to them when the pipe ends? |
//! | `outbox.rs` | Which messages wait to be written, and which were withdrawn? |
//! | `reader.rs`, `writer.rs` | How is a pipe read and written? |
//! | `received.rs` | What has arrived that explains why no reply does? |
//! | `printable.rs` | How is text from the server shown to a person? |

pub(crate) mod outbox;
pub(crate) mod printable;
pub(crate) mod reader;
pub(crate) mod received;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod transport;
pub(crate) mod writer;
