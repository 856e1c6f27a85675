//! Is a future ready at its first poll? Most futures of requests are, and then no timer, task or log is needed.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Polls a future once.
pub(crate) async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}
