//! Does a tool block the thread that it runs on, and so every other call on that thread?
//!
//! A function that computes for a long time, or waits without `.await`, prevents everything else on its thread from
//! running. For example, a server on a pipe cannot read messages meanwhile. The author may not notice this, so the
//! server logs a warning. If warnings are not logged, no time is measured.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::ground::log_pace::LogPace;

/// The time that one poll of a call may take before a warning is logged.
const MAX_POLL_TIME: Duration = Duration::from_millis(100);

/// The minimum time between two warnings about the same tool.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

/// The pace of the warnings about a tool, shared by its clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockingMonitor(LogPace);

impl BlockingMonitor {
    /// Polls a call of a tool, and logs a warning if that takes too long.
    pub(crate) fn poll<F: Future>(
        &self,
        tool: &str,
        call: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let begun = tracing::enabled!(tracing::Level::WARN).then(Instant::now);
        let polled = call.poll(cx);
        if let Some(begun) = begun {
            let now = Instant::now();
            if self.should_warn(now.duration_since(begun), now) {
                warn(tool, now.duration_since(begun));
            }
        }
        polled
    }

    fn should_warn(&self, took: Duration, now: Instant) -> bool {
        took > MAX_POLL_TIME && self.0.is_due(WARN_INTERVAL, now)
    }
}

#[cold]
fn warn(tool: &str, duration: Duration) {
    let millis = duration.as_millis();
    tracing::warn!(
        tool,
        "the tool `{tool}` ran for {millis} ms without yielding and blocked every other call on its thread: mark the \
         function `#[tool(blocking)]`, or `.await` the slow operations"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_once_a_minute() {
        let (pace, begin) = (BlockingMonitor::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert!(!pace.should_warn(MAX_POLL_TIME, at(0)), "not longer than it may");
        let long = MAX_POLL_TIME + Duration::from_millis(1);
        assert!(pace.should_warn(long, at(1)));
        assert!(!pace.clone().should_warn(long, at(60)), "clones are the same tool");
        assert!(pace.should_warn(long, at(61)));
        assert!(!pace.should_warn(long, at(61)));
        assert!(BlockingMonitor::default().should_warn(long, at(61)), "another tool");
    }
}
