//! Which requests wait for their replies?

use std::sync::Arc;
use std::task::{Poll, Waker};

use tokio::sync::SetOnce;
use toolway_protocol::{Id, Message};

use crate::ground::error::{Error, Result};
use crate::ground::mutex::Mutex;
use crate::ground::own_ids::OwnIds;

/// The requests of a pipe that wait for their replies.
#[derive(Default)]
pub(super) struct PendingRequests(Mutex<OwnIds<Arc<PendingRequest>>>);

/// A request that waits for its reply. The writer, the reader and the caller share it.
#[derive(Default)]
pub(super) struct PendingRequest(Mutex<RequestState>);

#[derive(Default)]
struct RequestState {
    /// The length of the request in bytes; `None` until the request is about to be written.
    sent_bytes: Option<usize>,
    reply: Option<Result<Message>>,
    /// `true` once the caller does not wait any more.
    is_withdrawn: bool,
    /// The waker of the caller.
    waker: Option<Waker>,
}

impl PendingRequest {
    /// Records that the request is about to be written, so that its length is known before a reply can arrive. Returns
    /// `false` if the caller has withdrawn the request; then it must not be written.
    pub(super) fn begin(&self, bytes: usize) -> bool {
        let mut state = self.0.lock();
        if state.is_withdrawn {
            return false;
        }
        state.sent_bytes = Some(bytes);
        // A server may guess the id of the next request, and reply too early.
        let waker = state.reply.is_some().then(|| state.waker.take()).flatten();
        drop(state);
        wake(waker);
        true
    }

    fn sent_bytes(&self) -> usize {
        self.0.lock().sent_bytes.unwrap_or_default()
    }

    fn reply(&self, reply: Result<Message>) {
        let mut state = self.0.lock();
        state.reply = Some(reply);
        let waker = state.waker.take();
        drop(state);
        wake(waker);
    }
}

/// Wakes a task, if one waits. Not called while a lock is held.
pub(super) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl PendingRequests {
    /// Registers a request until the guard is dropped.
    pub(super) fn register(&self, id: Id) -> PendingRequestGuard<'_> {
        let request = Arc::<PendingRequest>::default();
        self.0.lock().insert(id.clone(), request.clone());
        PendingRequestGuard { requests: self, id, request, is_complete: false }
    }

    /// Passes a reply to the request that waits for it.
    pub(super) fn complete(&self, id: &Id, reply: Result<Message>) {
        let request = self.0.lock().remove(id);
        // Without such a request, the caller has given up. The reply is then ignored.
        if let Some(request) = request {
            request.reply(reply);
        }
    }

    /// Fails the requests that are longer than `max` bytes; `error` gets the length of each.
    pub(super) fn fail_longer_than(&self, max: usize, error: impl Fn(usize) -> Error) {
        self.fail(error, |requests| {
            let longer = requests.iter().filter(|(_, request)| request.sent_bytes() > max);
            longer.map(|(id, _)| id.clone()).collect()
        });
    }

    /// Fails the longest request, if it is longer than `min` bytes; `error` gets its length.
    pub(super) fn fail_longest(&self, min: usize, error: impl Fn(usize) -> Error) {
        self.fail(error, |requests| {
            let lengths = requests.iter().map(|(id, request)| (id, request.sent_bytes()));
            let longest = lengths.filter(|(_, bytes)| *bytes > min).max_by_key(|(_, bytes)| *bytes);
            longest.map(|(id, _)| id.clone()).into_iter().collect()
        });
    }

    fn fail(
        &self,
        error: impl Fn(usize) -> Error,
        choose: impl FnOnce(&OwnIds<Arc<PendingRequest>>) -> Vec<Id>,
    ) {
        let mut requests = self.0.lock();
        let chosen = choose(&requests);
        let failed: Vec<_> = chosen.iter().filter_map(|id| requests.remove(id)).collect();
        drop(requests);
        for request in failed {
            let error = error(request.sent_bytes());
            request.reply(Err(error));
        }
    }

    /// Wakes all callers, because the pipe has ended.
    pub(super) fn wake_all(&self) {
        let requests: Vec<_> = self.0.lock().values().cloned().collect();
        for request in requests {
            let waker = request.0.lock().waker.take();
            wake(waker);
        }
    }
}

/// A guard of a request in flight. Dropping it withdraws the request, unless writing has begun.
pub(super) struct PendingRequestGuard<'l> {
    requests: &'l PendingRequests,
    id: Id,
    request: Arc<PendingRequest>,
    is_complete: bool,
}

impl PendingRequestGuard<'_> {
    pub(super) fn request(&self) -> Arc<PendingRequest> {
        self.request.clone()
    }

    /// Waits for the reply, or for the end of the pipe. After `end_reason` is set, [`PendingRequests::wake_all`] must be
    /// called.
    pub(super) async fn reply(mut self, end_reason: &SetOnce<Error>) -> Result<Message> {
        std::future::poll_fn(|cx| {
            let mut state = self.request.0.lock();
            let is_sent = state.sent_bytes.is_some();
            if is_sent && let Some(reply) = state.reply.take() {
                drop(state);
                self.is_complete = true;
                return Poll::Ready(reply);
            }
            // Read under the lock, so that `wake_all` finds the waker of a caller that has not seen the reason.
            if let Some(over) = end_reason.get() {
                // Now the line cannot be written any more, if writing has not begun.
                state.is_withdrawn = true;
                let over = over.clone_flattened();
                return Poll::Ready(Err(if is_sent { over.reply_lost() } else { over.unsent() }));
            }
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                None => state.waker = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        if self.is_complete {
            return;
        }
        self.requests.0.lock().remove(&self.id);
        self.request.0.lock().is_withdrawn = true;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use toolway_protocol::RawJson;

    use super::*;
    use crate::ground::error::ErrorKind;

    fn reply() -> Message {
        Message::Response { id: Some(1.into()), outcome: Ok(RawJson::from(serde_json::json!({}))) }
    }

    #[test]
    fn a_reply_that_comes_too_early_waits_for_its_request() {
        let (requests, end_reason) = (PendingRequests::default(), SetOnce::new());
        let guard = requests.register(1.into());
        let request = guard.request();
        let mut waiting = pin!(guard.reply(&end_reason));
        let mut context = Context::from_waker(Waker::noop());
        requests.complete(&1.into(), Ok(reply()));
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(request.begin(7));
        assert!(matches!(waiting.poll(&mut context), Poll::Ready(Ok(_))));
    }

    #[test]
    fn a_withdrawn_request_is_not_written() {
        let requests = PendingRequests::default();
        let guard = requests.register(1.into());
        let request = guard.request();
        drop(guard);
        assert!(!request.begin(7));
        assert!(requests.0.lock().is_empty());
    }

    #[tokio::test]
    async fn when_the_pipe_ends_a_request_is_unsent_or_its_reply_is_lost() {
        let (requests, end_reason) = (PendingRequests::default(), SetOnce::new());
        let (sent, unsent) = (requests.register(1.into()), requests.register(2.into()));
        assert!(sent.request().begin(7));
        let unsent_line = unsent.request();
        let outcomes = async { tokio::join!(sent.reply(&end_reason), unsent.reply(&end_reason)) };
        let ending = async {
            tokio::task::yield_now().await;
            end_reason.set(Error::new(ErrorKind::Transport, "gone")).expect("the first reason");
            requests.wake_all();
        };
        let ((sent, unsent), ()) = tokio::join!(outcomes, ending);
        assert!(sent.expect_err("no reply").is_reply_lost());
        assert!(unsent.expect_err("no reply").is_unsent());
        assert!(!unsent_line.begin(7), "the line is not written later");
    }
}
