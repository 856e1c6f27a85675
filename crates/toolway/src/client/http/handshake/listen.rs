//! How does the client receive messages of the server that do not belong to a request? With a GET, the client opens a
//! stream for them, the server's own stream. When the stream breaks off, the client requests it again.

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, StatusCode};
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::http::handshake::cursor::{ReconnectDelay, StreamCursor};
use crate::client::http::handshake::gate::{Gate, OpenOnDrop};
use crate::client::http::handshake::http_session::{HttpSession, StreamOpenOutcome};
use crate::client::http::request::events::{EventReader, StreamError};

/// If the server refuses this many times to reopen the stream, the client ends the conversation. Each stream that opens
/// resets the count.
const MAX_REOPEN_REFUSALS: u32 = 5;

/// The minimum time between two attempts to open the stream. A server that ends each stream at once, while requests wait
/// for the stream, would otherwise keep the client busy.
const MIN_REOPEN_INTERVAL: Duration = Duration::from_millis(100);

/// Reads the server's own stream, and reopens it, until the server no longer offers the stream. The caller closes the
/// gate before it spawns this function as a task. Closing or dropping the client aborts the task.
pub(super) async fn listen(conversation: Arc<HttpSession>) {
    let gate = &conversation.gate;
    let _open = OpenOnDrop(gate);
    let mut cursor = StreamCursor::default();
    let mut was_offered = false;
    let mut refused = 0;
    loop {
        let opened = Instant::now();
        let goes_on = cursor.is_resumable();
        match conversation.open_stream(&mut cursor, &HeaderMap::new()).await {
            StreamOpenOutcome::Stream(events) => {
                gate.open();
                // Messages that the server sent between the previous stream and this one are lost, unless the server
                // keeps them and the client has sent the id of the last event.
                if std::mem::replace(&mut was_offered, true) && !goes_on {
                    note_missed_messages(&conversation);
                }
                refused = 0;
                match read_stream(&conversation, events, &mut cursor).await {
                    // The client does not request the stream again, because the server would send the same event again.
                    StreamError::TooLong => {
                        tracing::warn!(
                            "an event on the server's stream is too long; the client stops reading the stream"
                        );
                        return;
                    }
                    reason => tracing::debug!(?reason, "the server's stream broke off"),
                }
                gate.close();
            }
            StreamOpenOutcome::Refused(StatusCode::BAD_REQUEST) if cursor.is_resumable() => {
                cursor.clear();
                continue;
            }
            // If no stream was open before, 404 only means that the server does not offer a stream.
            StreamOpenOutcome::Refused(StatusCode::NOT_FOUND) if was_offered => {
                tracing::debug!("the session no longer exists on the server");
                conversation.end();
                return;
            }
            // The server may not have noticed yet that the previous stream is gone, or a proxy may refuse the request.
            // If the refusals continue, the conversation ends, so that the client opens a new one.
            StreamOpenOutcome::Refused(status) if was_offered && status != StatusCode::METHOD_NOT_ALLOWED => {
                gate.open();
                refused += 1;
                tracing::debug!(%status, refused, "the server refused to reopen its stream");
                if refused == MAX_REOPEN_REFUSALS {
                    conversation.end();
                    return;
                }
            }
            // The server does not offer a stream, which is allowed. The usual status is 405.
            StreamOpenOutcome::Refused(status) => {
                tracing::debug!(%status, "the server offers no stream");
                return;
            }
            StreamOpenOutcome::Failed(error) => {
                gate.open();
                tracing::debug!(%error, "the server's stream could not be opened");
            }
        }
        wait_before_reopen(gate, &cursor).await;
        sleep_until(opened + MIN_REOPEN_INTERVAL).await;
    }
}

/// Records that notifications of the server may have been lost, such as a change of the tool list.
fn note_missed_messages(conversation: &HttpSession) {
    if let Some(inbox) = conversation.endpoint.inbox(None) {
        inbox.notifications.invalidate_tools();
        inbox.notifications.note_reconnected();
    }
}

/// Waits before the stream is requested again: first for the time that the server asked for, then for the random time
/// that the client adds. The second wait ends early when a request waits for the stream.
async fn wait_before_reopen(gate: &Gate, cursor: &StreamCursor) {
    let ReconnectDelay { by_server: asked, by_client: own } = cursor.delay();
    sleep(asked).await;
    tokio::select! {
        () = sleep(own) => {}
        () = gate.wait_for_waiter() => {}
    }
}

/// Handles the messages on a stream until the stream ends. Returns why it ended.
pub(super) async fn read_stream(
    conversation: &Arc<HttpSession>,
    mut events: EventReader,
    cursor: &mut StreamCursor,
) -> StreamError {
    loop {
        match events.next_messages(|event| cursor.note(event)).await {
            Ok(messages) => {
                for message in messages {
                    conversation.handle_message(message, &HeaderMap::new(), None).await;
                }
            }
            Err(StreamError::NotAMessage) => tracing::debug!("skipped an event that is not a message"),
            Err(reason) => return reason,
        }
    }
}
