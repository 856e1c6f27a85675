//! How does the client exchange messages with a server over a pipe? A pipe is a pair of byte streams, one for each
//! direction, with one message per line.
//!
//! | file | question |
//! |---|---|
//! | `streams.rs` | How do messages travel over two streams that the application has opened? (For servers that the client starts, see `process/`.) |
//! | `transport.rs` | What do all transports over a pipe have in common? |
//! | `state.rs` | What do the reader, the writer and the callers of a pipe share, and what happens when it ends? |
//! | `pending.rs` | Which requests wait for their replies? |
//! | `outbox.rs` | Which messages wait to be written, and which were withdrawn? |
//! | `reader.rs`, `writer.rs` | How is a pipe read and written? |
//! | `output_record.rs` | Which lines and errors from the server may explain a missing reply? |
//! | `printable.rs` | How is text from the server shown to a user? |

pub(crate) mod outbox;
pub(crate) mod output_record;
mod pending;
pub(crate) mod printable;
pub(crate) mod reader;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod transport;
pub(crate) mod writer;
