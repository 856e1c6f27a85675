//! How does a future get a time limit that costs nothing if the future is ready at once?

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::time::{Instant, Sleep, sleep_until};

/// Waits for a future until a moment. Returns `None` if the moment comes first. The timer is made only if the future is not
/// ready at its first poll.
pub(crate) async fn lazy_timeout_at<F: Future>(until: Instant, mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut timer = pin!(None::<Sleep>);
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if timer.is_none() {
            timer.set(Some(sleep_until(until)));
        }
        match timer.as_mut().as_pin_mut() {
            Some(timer) => timer.poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_future_or_the_moment_comes_first() {
        let until = Instant::now() + Duration::from_secs(2);
        assert_eq!(lazy_timeout_at(until, pin!(std::future::ready(7))).await, Some(7));
        let early = pin!(tokio::time::sleep(Duration::from_secs(1)));
        assert_eq!(lazy_timeout_at(until, early).await, Some(()));
        let late = pin!(std::future::pending::<()>());
        assert_eq!(lazy_timeout_at(until, late).await, None);
        assert!(Instant::now() >= until);
    }

    #[test]
    fn a_future_that_is_ready_needs_no_runtime() {
        let waker = std::task::Waker::noop();
        let ready = pin!(std::future::ready(7));
        let waiting = pin!(lazy_timeout_at(Instant::now(), ready));
        assert_eq!(waiting.poll(&mut std::task::Context::from_waker(waker)), Poll::Ready(Some(7)));
    }
}
