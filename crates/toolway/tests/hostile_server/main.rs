//! Hostile servers: what can a server do to the client, the hub or the gateway that uses it?
//!
//! A test binary of its own, because it counts the memory of the whole process; its tests run one at a time for the
//! same reason.
//!
//! | file | question |
//! |---|---|
//! | `wire.rs` | How does a hostile server speak, over a pipe and over HTTP? |
//! | `lists.rs` | How much of an endless list is read? |
//! | `limited.rs` | Do a client and a gateway survive that may only use little memory? |
//! | `time.rs` | How long may a request take? |
//! | `flood.rs` | What is kept of messages that are not read, and how often is something done for a server? |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod flood;
#[cfg(target_os = "linux")]
mod limited;
mod lists;
mod time;
mod wire;

use peak_alloc::PeakAlloc;
use tokio::sync::{Mutex, MutexGuard};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static TURN: Mutex<()> = Mutex::const_new(());

/// Waits until no other test runs in this process.
async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}

/// Returns the peak memory that `work` needs above what was used before.
async fn peak_of<T>(work: impl Future<Output = T>) -> (T, usize) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let outcome = work.await;
    (outcome, MEMORY.peak_usage().saturating_sub(before))
}
