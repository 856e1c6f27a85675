//! How does the client resume a reply that broke off? It sends a GET with the id of the last event that arrived
//! completely.
//!
//! A server that has sent an event id may close the connection at any time, for example to save resources while a tool
//! runs. So a break after an event id is not an error. The call fails after [`MAX_ATTEMPTS_WITHOUT_EVENT`] attempts in
//! a row that bring nothing new.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use tokio::time::sleep;
use toolway_protocol::{Id, Message};

use crate::client::http::handshake::cursor::StreamCursor;
use crate::client::http::handshake::http_session::{HttpSession, StreamOpenOutcome};
use crate::client::http::request::events::{EventReader, ReceivedMessage, StreamError};
use crate::ground::error::{Error, ErrorKind, Result};

/// The number of attempts in a row without a new event after which the call fails.
const MAX_ATTEMPTS_WITHOUT_EVENT: u32 = 5;

/// Reads events until the reply to the request `id` arrives. When the stream breaks off, reopens it and reads on.
pub(super) async fn read_reply(
    conversation: &Arc<HttpSession>,
    mut events: EventReader,
    id: &Id,
    of_caller: &HeaderMap,
) -> Result<ReceivedMessage> {
    let mut cursor = StreamCursor::default();
    loop {
        match read_until_break(conversation, &mut events, id, &mut cursor, of_caller).await {
            Ok(reply) => return Ok(reply),
            Err(reason @ (StreamError::Ended | StreamError::Connection(_))) => {
                let cause = conversation.endpoint.stream_error(reason);
                events = reopen(conversation, &mut cursor, of_caller, cause).await?;
            }
            Err(reason) => return Err(conversation.endpoint.stream_error(reason)),
        }
    }
}

/// Reads the events of one connection until the reply arrives or the stream breaks off.
async fn read_until_break(
    conversation: &Arc<HttpSession>,
    events: &mut EventReader,
    id: &Id,
    cursor: &mut StreamCursor,
    of_caller: &HeaderMap,
) -> Result<ReceivedMessage, StreamError> {
    loop {
        for received in events.next_messages(|event| cursor.note(event)).await? {
            match &received.message {
                reply @ Message::Response { .. } if reply.id() == Some(id) => return Ok(received),
                _ => conversation.handle_message(received, of_caller, Some(id)).await,
            }
        }
    }
}

/// Reopens a stream that broke off because of `cause`. Waits between the attempts.
async fn reopen(
    conversation: &Arc<HttpSession>,
    cursor: &mut StreamCursor,
    of_caller: &HeaderMap,
    mut cause: Error,
) -> Result<EventReader> {
    if !cursor.is_resumable() {
        return Err(reply_lost_error(
            "the reply broke off before its first event id, so it cannot be resumed",
        )
        .caused_by(cause));
    }
    while cursor.attempts_without_event < MAX_ATTEMPTS_WITHOUT_EVENT {
        sleep(cursor.total_delay()).await;
        match conversation.open_stream(cursor, of_caller).await {
            StreamOpenOutcome::Stream(events) => return Ok(events),
            StreamOpenOutcome::Refused(status) => {
                if status == StatusCode::NOT_FOUND {
                    conversation.end();
                }
                return Err(resume_refused_error(status));
            }
            StreamOpenOutcome::Failed(error) => cause = error,
        }
    }
    Err(reply_lost_error("the reply broke off, and several attempts to resume it made no progress")
        .caused_by(cause))
}

fn resume_refused_error(status: StatusCode) -> Error {
    reply_lost_error(format!(
        "the reply broke off and cannot be resumed any more: the server answered {status}"
    ))
    .with_http_status(status.as_u16())
}

fn reply_lost_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Transport, message).reply_lost()
}
