//! Strangers on the HTTP door: does a server on a real socket outlive whatever they send, or do not send?
//!
//! A binary of its own, because it counts the memory of the whole process; its tests take turns for the same reason.
//!
//! | file | question |
//! |---|---|
//! | `wire.rs` | How is raw HTTP sent, and how are answers read? |
//! | `bytes.rs` | Which bytes get which answer? |
//! | `framing.rs`, `messages.rs` | What do strangers send: odd HTTP, odd messages? |
//! | `slow.rs` | What of those who send or read too slowly? |
//! | `many.rs` | What of those who want too much? |
//! | `stop.rs` | How does it stop while they are there? |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bytes;
mod framing;
mod many;
mod messages;
mod slow;
mod stop;
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

/// How much more memory than `before` was taken at any time since the peak was last reset.
fn peak_since(before: usize) -> usize {
    MEMORY.peak_usage().saturating_sub(before)
}
