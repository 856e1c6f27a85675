//! How is heard what the server says unasked? On a stream of its own, which is asked for as long as the client lives.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use tokio::time::sleep;

use crate::client::http::handshake::conversation::{Conversation, Opened};
use crate::client::http::handshake::cursor::{Cursor, Pause};
use crate::client::http::handshake::gate::{Gate, OpenOnDrop};
use crate::client::http::request::events::{Break, Events};

/// How often in a row a stream is refused that was offered before, until the conversation is given up.
const MAX_REFUSED: u32 = 5;

/// Hears the server until it offers no such stream; the caller has closed the gate, and aborts this with the client.
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
                // What was said between the two streams is lost, unless the server keeps it for whoever names the last event.
                if std::mem::replace(&mut was_offered, true) && !goes_on {
                    missed(&conversation);
                }
                refused = 0;
                match hear(&conversation, events, &mut cursor).await {
                    // Asked again, the server would say it again.
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
            // A server that never had a stream may say it so, too.
            Opened::Refused(StatusCode::NOT_FOUND) if was_offered => {
                tracing::debug!("the server has forgotten the session");
                conversation.end();
                return;
            }
            // Some servers do not know yet that the stream before is gone, and proxies have their own reasons. When that does not
            // pass, a new conversation helps.
            Opened::Refused(status) if was_offered && status != StatusCode::METHOD_NOT_ALLOWED => {
                gate.open();
                refused += 1;
                tracing::debug!(%status, refused, "the server does not offer its stream again");
                if refused == MAX_REFUSED {
                    conversation.end();
                    return;
                }
            }
            // The usual one is 405: not every server has something to say.
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

/// Notes that something of what the server told may have been lost.
fn missed(conversation: &Conversation) {
    if let Some(inbox) = conversation.endpoint.inbox(None) {
        inbox.notifications.tools_changed();
        inbox.notifications.opened_again();
    }
}

/// Waits before the stream is asked for again. A request that waits for the stream shortens our own part of the pause, never
/// the server's.
async fn pause(gate: &Gate, cursor: &Cursor) {
    let Pause { asked, own } = cursor.pause();
    sleep(asked).await;
    tokio::select! {
        () = sleep(own) => {}
        () = gate.wanted() => {}
    }
}

/// Takes what the server says on a stream, until it ends.
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
