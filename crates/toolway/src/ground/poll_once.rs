//! Is something done as soon as it is begun? Most is, and then needs no clock, no task and no log.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Polls a future once.
pub(crate) async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}
