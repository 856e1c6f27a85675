//! Turns a panic in application code into an error, so that it fails one call and does not stop the server.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Creates and runs a future, and turns a panic into an error. Panics during the creation and the drop of the future
/// are also caught, because both may run application code.
pub(crate) async fn catch_panic_async<F: Future + Unpin>(
    start: impl FnOnce() -> F,
) -> Result<F::Output, Panic> {
    CatchUnwind(Some(catch_panic(start)?)).await
}

/// Runs a function, and turns a panic into an error.
///
/// # Unwind safety
///
/// After a panic, the caller must not use values that `work` may have left in an inconsistent state.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => Ok(value),
        Err(payload) => Err(Panic::caught(payload)),
    }
}

/// A future that drops its inner future as soon as the inner future has completed or panicked.
struct CatchUnwind<F>(Option<F>);

impl<F: Future + Unpin> Future for CatchUnwind<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let outcome = match catch_panic(|| Pin::new(future).poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(panic),
        };
        let ended = self.0.take();
        let dropped = catch_panic(|| drop(ended));
        Poll::Ready(outcome.and_then(|value| dropped.map(|()| value)))
    }
}

/// Ignores a panic in the destructor of a cancelled future: the call has ended, so the error could not be returned.
impl<F> Drop for CatchUnwind<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        let _ = catch_panic(|| drop(future));
    }
}

/// The message of a panic.
#[derive(Debug)]
pub(crate) struct Panic(String);

impl Panic {
    /// Not part of [`catch_panic`], which is compiled for each type of work.
    #[cold]
    fn caught(payload: Box<dyn Any + Send>) -> Self {
        let panic = Self::new(&*payload);
        // Dropping the payload also runs application code, and may panic again. The payload of the second panic is
        // leaked.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        panic
    }

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
