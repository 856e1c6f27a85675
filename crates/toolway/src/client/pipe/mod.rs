//! How do messages travel over a pipe, seen from the client's end? One message a line.
//!
//! | file | question |
//! |---|---|
//! | `streams.rs` | How do messages travel over two streams that the application has opened? `process/` does the same for a server that it starts. |
//! | `transport.rs` | What is the same about all transports over a pipe? |
//! | `state.rs` | Which messages are on their way, and what becomes of them when the pipe ends? |
//! | `outbox.rs` | What waits to be written, and what not any more? |
//! | `reader.rs`, `writer.rs` | How is a pipe read and written? |
//! | `received.rs` | What has come so far that explains why nothing else does? |
//! | `printable.rs` | How is text of the other side shown to a person? |

pub(crate) mod outbox;
pub(crate) mod printable;
pub(crate) mod reader;
pub(crate) mod received;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod transport;
pub(crate) mod writer;
