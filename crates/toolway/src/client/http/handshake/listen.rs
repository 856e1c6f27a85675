//! How does the client receive what the server sends on its own? On a stream, which it requests again whenever it
//! breaks off.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use tokio::time::sleep;

use crate::client::http::handshake::conversation::{Conversation, Opened};
use crate::client::http::handshake::cursor::{Cursor, Pause};
use crate::client::http::handshake::gate::{Gate, OpenOnDrop};
use crate::client::http::request::events::{Break, Events};

/// How often in a row a stream that was offered before may be refused until the conversation is ended.
const MAX_REFUSED: u32 = 5;

/// Reads the server's own stream until the server no longer offers it. The caller has closed the gate, and aborts this
/// task when the client is closed.
pub(super) async fn listen(conversation: Arc<Conversation>) {
    let gate = &conversation.gate;
    let _open = OpenOnDrop(gate);
    let mut cursor = Cursor::default();
    let mut was_offered = false;
    let mut refused = 0;
    loop {
        let goes_on = cursor.is_resumable();
        match conversation.open(&mut cursor, &HeaderMap::new()).await {
            Opened::Stream(events) => {
                gate.open();
                // Messages between the two streams are lost, unless the server keeps them and the client has named the
                // last event.
                if std::mem::replace(&mut was_offered, true) && !goes_on {
                    missed(&conversation);
                }
                refused = 0;
                match hear(&conversation, events, &mut cursor).await {
                    // If the stream were requested again, the server would send the event again.
                    Break::TooLong => {
                        tracing::warn!(
                            "the server's stream holds an event that is too long; it is not read on"
                        );
                        return;
                    }
                    reason => tracing::debug!(?reason, "the server's stream broke off"),
                }
                gate.close();
            }
            Opened::Refused(StatusCode::BAD_REQUEST) if cursor.is_resumable() => {
                cursor.forget();
                continue;
            }
            // Before the first stream, 404 only means that the server does not offer one.
            Opened::Refused(StatusCode::NOT_FOUND) if was_offered => {
                tracing::debug!("the server has forgotten the session");
                conversation.end();
                return;
            }
            // Some servers have not noticed yet that the previous stream is gone, and proxies may refuse too. If this
            // persists, a new conversation helps.
            Opened::Refused(status) if was_offered && status != StatusCode::METHOD_NOT_ALLOWED => {
                gate.open();
                refused += 1;
                tracing::debug!(%status, refused, "the server does not offer its stream again");
                if refused == MAX_REFUSED {
                    conversation.end();
                    return;
                }
            }
            // The usual status is 405: not every server offers a stream.
            Opened::Refused(status) => {
                tracing::debug!(%status, "the server offers no stream");
                return;
            }
            Opened::Failed(error) => {
                gate.open();
                tracing::debug!(%error, "the server's stream could not be opened");
            }
        }
        pause(gate, &cursor).await;
    }
}

/// Records that notifications of the server may have been lost.
fn missed(conversation: &Conversation) {
    if let Some(inbox) = conversation.endpoint.inbox(None) {
        inbox.notifications.tools_changed();
        inbox.notifications.opened_again();
    }
}

/// Waits before the stream is requested again. A request that waits for the stream cuts the client's part of the pause
/// short, but never the server's part.
async fn pause(gate: &Gate, cursor: &Cursor) {
    let Pause { asked, own } = cursor.pause();
    sleep(asked).await;
    tokio::select! {
        () = sleep(own) => {}
        () = gate.wanted() => {}
    }
}

/// Handles the messages on a stream until it ends.
pub(super) async fn hear(conversation: &Arc<Conversation>, mut events: Events, cursor: &mut Cursor) -> Break {
    loop {
        match events.messages(|event| cursor.note(event)).await {
            Ok(messages) => {
                for message in messages {
                    conversation.heed(message, &HeaderMap::new(), None).await;
                }
            }
            Err(Break::NoMessage) => tracing::debug!("skipped an event that is not a message"),
            Err(reason) => return reason,
        }
    }
}
