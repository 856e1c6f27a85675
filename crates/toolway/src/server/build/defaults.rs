//! The default limits of a server.

use std::time::Duration;

/// The time that a client has to answer a question.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The time that a handler may run.
pub(crate) const DEADLINE: Duration = Duration::from_secs(3600);
/// The maximum number of requests that run at the same time.
pub(crate) const MAX_IN_FLIGHT: usize = 4096;
/// The maximum number of requests that run at the same time for one pipe or session.
pub(crate) const MAX_IN_FLIGHT_PER_PEER: usize = 256;
