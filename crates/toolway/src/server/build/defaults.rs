//! The default limits of a server.

use std::time::Duration;

/// The time that a client has to answer a question.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The time that a handler may run without reporting progress.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5 * 60);
/// The time that a handler may run, however much progress it reports.
pub(crate) const MAX_CALL_TIME: Duration = Duration::from_secs(3600);
/// How many requests may run at the same time. A quarter of this, and of each budget below, is the share of one peer.
pub(crate) const MAX_IN_FLIGHT: usize = 1024;
/// How many bytes the bodies of requests may take while they are received and processed.
pub(crate) const BODY_BUDGET: usize = 128 << 20;
/// How many bytes the replies may take until they are sent.
pub(crate) const REPLY_BUDGET: usize = 128 << 20;
/// How many bytes the answers and events may take that are kept for clients that reconnect.
pub(crate) const KEPT_BUDGET: usize = 64 << 20;
