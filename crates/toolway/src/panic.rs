//! A panic in somebody else's code is one failure, never a dead server.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Starts and runs a future, and turns a panic on the way into an error. Starting it may run somebody else's code too.
pub(crate) async fn catch<F: Future>(start: impl FnOnce() -> F) -> Result<F::Output, Panic> {
    let future = catch_unwind(AssertUnwindSafe(start)).map_err(|payload| Panic::new(&*payload))?;
    let mut future = pin!(future);
    // Unwind safety: after a panic the future is never polled again, only dropped.
    std::future::poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Err(payload) => Poll::Ready(Err(Panic::new(&*payload))),
    })
    .await
}

/// What a panic said.
#[derive(Debug)]
pub(crate) struct Panic(String);

impl Panic {
    fn new(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        Self(
            text.or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".to_owned()),
        )
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.0)
    }
}

impl std::error::Error for Panic {}
