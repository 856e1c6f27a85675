//! A panic in somebody else's code is one failure, never a dead server.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Starts and runs a future, and turns a panic on the way into an error. Starting it and dropping it may run somebody else's
/// code too.
pub(crate) async fn catch<F: Future + Unpin>(start: impl FnOnce() -> F) -> Result<F::Output, Panic> {
    Caught(Some(attempt(start)?)).await
}

/// Runs a function, and turns a panic into an error.
///
/// Unwind safety: whoever calls this uses nothing again that a panic may have left half done.
pub(crate) fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let panic = Panic::new(&*payload);
        // What was panicked with is somebody else's value as well. The second one is nobody's any more.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        panic
    })
}

/// A future that is dropped as soon as it has ended or panicked.
struct Caught<F>(Option<F>);

impl<F: Future + Unpin> Future for Caught<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let outcome = match attempt(|| Pin::new(future).poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(panic),
        };
        let ended = self.0.take();
        let dropped = attempt(|| drop(ended));
        Poll::Ready(outcome.and_then(|value| dropped.map(|()| value)))
    }
}

/// Nobody hears of a panic in what was given up: there is no call left that it could fail.
impl<F> Drop for Caught<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        let _ = attempt(|| drop(future));
    }
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
