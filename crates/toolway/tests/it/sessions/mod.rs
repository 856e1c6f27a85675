//! Sessions over HTTP: how do they begin and end, and is nothing lost when a connection breaks?
//!
//! | file | question |
//! |---|---|
//! | `stage.rs` | Which server, and which store that fails, take part? |
//! | `lifecycle.rs` | How does a session begin and end, and what belongs to it? |
//! | `limits.rs` | When does a session expire, and how much may it hold? |
//! | `streams.rs` | Is nothing lost on long calls, with slow readers, and at shutdown? |
//! | `shared_store.rs` | What do servers that share a store learn from each other? |
//! | `nodes.rs`, `faulty_store.rs` | Are servers that share a store one server, whatever fails? |
//! | `losses.rs` | Does a call go on although the store has lost what it had confirmed? |
//! | `visits.rs` | How often does a server visit the store? |
//! | `rolling.rs` | How is a server replaced by another one? |
//! | `legacy_sse.rs` | How do conversations of the oldest transport go, at one server or at several? |

mod faulty_store;
mod legacy_sse;
mod lifecycle;
mod limits;
mod losses;
mod nodes;
mod rolling;
mod shared_store;
mod stage;
mod streams;
mod visits;

use std::sync::Arc;

use tokio::sync::Semaphore;
use toolway::prelude::*;

pub(crate) const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

pub(crate) const NEWEST: &str = "2025-11-25";

/// Lets the test decide when a step is done.
#[derive(Clone)]
pub(crate) struct Steps(Arc<Semaphore>);

impl Steps {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) async fn wait(&self) {
        self.0.acquire().await.unwrap().forget();
    }

    pub(crate) fn go(&self, steps: usize) {
        self.0.add_permits(steps);
    }
}

/// Tells of each step, when the test says so.
#[tool]
pub(crate) async fn walk(steps: u32, gate: State<Steps>, ctx: Ctx) -> String {
    for n in 1..=steps {
        gate.wait().await;
        ctx.progress(n, steps, "").await;
    }
    gate.wait().await;
    format!("walked {steps}")
}
