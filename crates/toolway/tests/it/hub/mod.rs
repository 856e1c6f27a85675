//! Hubs: many servers in one list, where a lost server does not affect the others.
//!
//! | file | question |
//! |---|---|
//! | `stage.rs` | Which servers take part? |
//! | `foreign.rs` | How does a server behave that is not ours? |
//! | `start.rs` | How are servers added and removed? |
//! | `servers.rs` | What can an application do with many servers at once? |
//! | `lists.rs` | What do they offer together, and when does that change? |
//! | `restart.rs` | What happens when one disappears, and when it returns? |
//! | `storm.rs` | What happens while a thousand calls are in flight? |

mod foreign;
mod lists;
mod restart;
mod servers;
pub(crate) mod stage;
mod start;
mod storm;
