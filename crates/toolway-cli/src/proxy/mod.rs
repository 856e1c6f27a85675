//! How does the command `proxy` pass messages on between a host and a server?
//!
//! | file | question |
//! |---|---|
//! | `pipe.rs` | How are lines passed on, and what happens when the server ends? |
//! | `ledger.rs` | What must a server know that takes the place of another, and who waits for an answer? |
//! | `line.rs` | What does a line say that matters for this? |
//! | `line_reader.rs` | How is a stream cut into lines without changing a byte? |

mod ledger;
mod line;
mod line_reader;
mod pipe;

pub(crate) use pipe::relay;
