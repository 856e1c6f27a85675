//! Admission: which callers may come in, and as whom?
//!
//! | file | question |
//! |---|---|
//! | `connecting.rs` | What does a caller say of itself before its first message? |
//! | `admit.rs` | What does the server's hook decide? |

pub(crate) mod admit;
pub(crate) mod connecting;
