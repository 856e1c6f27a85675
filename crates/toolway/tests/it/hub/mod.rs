//! Hubs: many servers in one list, each for itself when it is gone.
//!
//! | file | question |
//! |---|---|
//! | `stage.rs` | Which servers take part? |
//! | `foreign.rs` | And what does one do that ours never does? |
//! | `start.rs` | How do servers come and go? |
//! | `lists.rs` | What do they have together, and when does that change? |
//! | `back.rs` | What happens when one is gone, and when it comes back? |
//! | `storm.rs` | And when a thousand calls are under way? |

mod back;
mod foreign;
mod lists;
pub(crate) mod stage;
mod start;
mod storm;
