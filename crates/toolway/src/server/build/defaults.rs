//! The limits of a server whose author sets none.

use std::time::Duration;

/// How long a question may stay without an answer.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_mins(10);
/// How long a handler may run.
pub(crate) const DEADLINE: Duration = Duration::from_hours(1);
/// How many requests may run at the same time.
pub(crate) const MAX_RUNNING: usize = 4096;
/// How many of them may be of one peer.
pub(crate) const MAX_RUNNING_OF_ONE: usize = 256;
