//! May a request be sent before the server's own stream is open? This is the stream for messages that do not belong to
//! a request (see `listen.rs`).

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use toolway_protocol::Method;

/// The maximum time that a request waits for the server's stream.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);

/// Holds requests back while the server's stream is being opened. Many servers drop the messages that they want to send
/// while no stream is open. If a call were sent at that time, a question that belongs to the call could be lost.
///
/// Requests wait until the GET for the stream has succeeded or failed. If one request has waited for [`GATE_TIMEOUT`],
/// all requests are sent without the stream.
#[derive(Debug, Default)]
pub(super) struct Gate {
    stream: watch::Sender<RequestedStream>,
    /// The number of requests that wait for the stream.
    waiting: watch::Sender<usize>,
}

/// The newest stream that was requested from the server.
#[derive(Debug, Default, Clone, Copy)]
struct RequestedStream {
    /// Counts the requested streams, to tell them apart.
    number: u64,
    /// `true` until the GET for the stream has succeeded or failed, or a request has timed out while it waited for the
    /// stream.
    is_awaited: bool,
}

impl Gate {
    /// Holds requests back from now on, because a stream is about to be requested.
    pub(super) fn close(&self) {
        self.stream
            .send_modify(|stream| *stream = RequestedStream { number: stream.number + 1, is_awaited: true });
    }

    /// Lets all requests pass.
    pub(super) fn open(&self) {
        self.stream.send_if_modified(|stream| std::mem::take(&mut stream.is_awaited));
    }

    /// Returns whether a request with this method has to wait now.
    pub(super) fn must_wait(&self, method: &Method) -> bool {
        self.stream.borrow().is_awaited && may_trigger_messages(method)
    }

    /// Waits until requests may pass: the GET for the stream has succeeded or failed, or the wait has timed out.
    pub(super) async fn wait_until_open(&self) {
        let stream = *self.stream.borrow();
        if !stream.is_awaited {
            return;
        }
        self.waiting.send_modify(|waiting| *waiting += 1);
        let _waiting = WaiterGuard(&self.waiting);
        let mut newest = self.stream.subscribe();
        let answered = newest.wait_for(|newest| newest.number != stream.number || !newest.is_awaited);
        if timeout(GATE_TIMEOUT, answered).await.is_err() {
            tracing::debug!(
                "the server did not answer the request for its stream in time; requests are sent without the stream"
            );
            self.stream.send_if_modified(|newest| {
                newest.number == stream.number && std::mem::take(&mut newest.is_awaited)
            });
        }
    }

    /// Waits until at least one request waits for the stream.
    pub(super) async fn wait_for_waiter(&self) {
        // This cannot fail: `self` holds the sender.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting > 0).await;
    }
}

/// A guard that counts one waiting request until the guard is dropped.
struct WaiterGuard<'g>(&'g watch::Sender<usize>);

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

/// Returns whether a request with this method may make the server send more than the reply: questions, log messages or
/// other notifications.
fn may_trigger_messages(method: &Method) -> bool {
    !matches!(
        method,
        Method::Initialize
            | Method::Initialized
            | Method::Ping
            | Method::ListTools
            | Method::ListResources
            | Method::ListResourceTemplates
            | Method::ListPrompts
            | Method::Unsubscribe
            | Method::Cancelled
            | Method::Progress
    )
}

/// A guard that opens a [`Gate`] when it is dropped. This includes the case that the task which holds the guard is
/// aborted.
pub(super) struct OpenOnDrop<'g>(pub(super) &'g Gate);

impl Drop for OpenOnDrop<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}
