//! Attackers on HTTP: does a server on a real socket survive whatever they send, or do not send?
//!
//! A test binary of its own, because it counts the memory of the whole process; its tests run one at a time for the
//! same reason.
//!
//! | file | question |
//! |---|---|
//! | `wire.rs` | How is raw HTTP sent, and how are answers read? |
//! | `bytes.rs` | Which bytes get which answer? |
//! | `framing.rs`, `messages.rs` | What do attackers send: unusual HTTP, unusual messages? |
//! | `slow.rs` | What happens to clients that send or read too slowly? |
//! | `budgets.rs` | How much memory, and how many places, can one peer take? |
//! | `limited.rs` | Does a server that may only use little memory survive? |
//! | `many.rs` | What happens to clients that want too much? |
//! | `stop.rs` | How does the server shut down while clients are connected? |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod budgets;
mod bytes;
mod framing;
#[cfg(target_os = "linux")]
mod limited;
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

/// Returns the peak memory above `before` since the peak was last reset.
fn peak_since(before: usize) -> usize {
    MEMORY.peak_usage().saturating_sub(before)
}
