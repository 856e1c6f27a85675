//! How is a request of a session cancelled? Most requests never wait, and need no token.

use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio_util::sync::CancellationToken;

use crate::ground::poll_once::poll_once;

/// Cancels one running request.
#[derive(Debug, Default)]
pub(super) struct CancelHandle {
    is_cancelled: AtomicBool,
    /// Created when the request has to wait.
    token: OnceLock<CancellationToken>,
}

impl CancelHandle {
    pub(super) fn cancel(&self) {
        // Set before the token is looked for: a request that creates its token looks at this afterwards.
        self.is_cancelled.store(true, Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
    }

    /// Runs the work of the request. Returns `None` if the request is cancelled first, or if its session ends.
    pub(super) async fn run<T>(
        &self,
        session_end: &CancellationToken,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        if self.is_cancelled.load(Ordering::SeqCst) || session_end.is_cancelled() {
            return None;
        }
        if let Poll::Ready(frame) = poll_once(work.as_mut()).await {
            return Some(frame);
        }
        let token = self.token.get_or_init(|| session_end.child_token());
        if self.is_cancelled.load(Ordering::SeqCst) {
            return None;
        }
        tokio::select! {
            biased;
            () = token.cancelled() => None,
            frame = work => Some(frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn a_request_that_is_cancelled_before_it_runs_is_not_run() {
        let (handle, session_end) = (CancelHandle::default(), CancellationToken::new());
        handle.cancel();
        assert_eq!(handle.run(&session_end, pin!(async { unreachable!("the work was run") })).await, None);
        session_end.cancel();
        let handle = CancelHandle::default();
        assert_eq!(handle.run(&session_end, pin!(async { unreachable!("the work was run") })).await, None);
    }

    #[tokio::test]
    async fn a_request_that_cancels_itself_and_waits_ends() {
        let (handle, session_end) = (CancelHandle::default(), CancellationToken::new());
        let work = async {
            handle.cancel();
            std::future::pending::<()>().await;
        };
        assert_eq!(handle.run(&session_end, pin!(work)).await, None);
    }

    #[tokio::test]
    async fn a_request_that_waits_ends_when_it_is_cancelled_or_its_session_ends() {
        for by_session in [false, true] {
            let (handle, session_end) = (CancelHandle::default(), CancellationToken::new());
            let work = pin!(std::future::pending::<()>());
            let mut running = pin!(handle.run(&session_end, work));
            assert!(poll_once(running.as_mut()).await.is_pending());
            if by_session {
                session_end.cancel();
            } else {
                handle.cancel();
            }
            assert_eq!(running.await, None);
        }
    }
}
