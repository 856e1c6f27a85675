//! The limits of a server whose author sets none.

use std::time::Duration;

/// How long a question may stay without an answer.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long a handler may run.
pub(crate) const DEADLINE: Duration = Duration::from_secs(3600);
/// How many requests may run at the same time.
pub(crate) const MAX_RUNNING: usize = 4096;
/// How many of them may be of one peer.
pub(crate) const MAX_RUNNING_OF_ONE: usize = 256;
