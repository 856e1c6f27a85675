//! What does a client do, and what does it tell, when an MCP server and its authorization server are hostile?
//!
//! | file | question |
//! |---|---|
//! | `pair.rs` | How do the two servers behave, and what did they get? |
//! | `scenario.rs` | What is wrong in a login, and where must it end? |
//! | `documents.rs` | Which documents are refused? |
//! | `callbacks.rs` | With which callbacks does a login not go on? |
//! | `replies.rs` | Which replies to a registration and to a token request are refused? |
//! | `loops.rs` | How often does a client sign in, and where does it send its secrets later? |
//! | `egress.rs` | Which addresses can a server lead a client to? |
//!
//! Each text of the pair that must not be shown has the word `canary` in it: tokens, codes, secrets, and pages.

mod callbacks;
mod documents;
mod egress;
mod loops;
mod pair;
mod regressions;
mod replies;
mod scenario;
