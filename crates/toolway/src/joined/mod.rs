//! What comes of a server and a client in one program? The only place that may use both.
//!
//! | file | question |
//! |---|---|
//! | `direct.rs` | How does a client speak with a server in the same process? |
//! | `mount/` | How does a server offer what other servers have? |

mod direct;
mod mount;

pub use mount::{IntoMount, Mount};
