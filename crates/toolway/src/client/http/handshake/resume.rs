//! How does the client resume a reply that broke off? It sends a GET with the id of the last event that arrived
//! completely.
//!
//! A server that has sent an event id may close the connection at any time, for example to save resources while a tool
//! runs. So a break after an event id is not an error. The call fails after [`MAX_FRUITLESS`] attempts in a row that
//! bring nothing new.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use tokio::time::sleep;
use toolway_protocol::{Id, Message};

use crate::client::http::handshake::conversation::{Conversation, Opened};
use crate::client::http::handshake::cursor::Cursor;
use crate::client::http::request::events::{Break, Events};
use crate::ground::error::{Error, ErrorKind, Result};

/// The number of attempts in a row without a new event after which the call fails.
const MAX_FRUITLESS: u32 = 5;

/// Reads events until the reply to the request `id` arrives. When the stream breaks off, reopens it and reads on.
pub(super) async fn read(
    conversation: &Arc<Conversation>,
    mut events: Events,
    id: &Id,
    of_caller: &HeaderMap,
) -> Result<Message> {
    let mut cursor = Cursor::default();
    loop {
        match read_one(conversation, &mut events, id, &mut cursor, of_caller).await {
            Ok(reply) => return Ok(reply),
            Err(reason @ (Break::End | Break::Connection(_))) => {
                let cause = conversation.endpoint.broken(reason);
                events = reopen(conversation, &mut cursor, of_caller, cause).await?;
            }
            Err(reason) => return Err(conversation.endpoint.broken(reason)),
        }
    }
}

/// Reads the events of one connection until the reply arrives or the stream breaks off.
async fn read_one(
    conversation: &Arc<Conversation>,
    events: &mut Events,
    id: &Id,
    cursor: &mut Cursor,
    of_caller: &HeaderMap,
) -> Result<Message, Break> {
    loop {
        for message in events.messages(|event| cursor.note(event)).await? {
            match message {
                reply @ Message::Response { .. } if reply.id() == Some(id) => return Ok(reply),
                other => conversation.heed(other, of_caller, Some(id)).await,
            }
        }
    }
}

/// Reopens a stream that broke off because of `cause`. Waits between the attempts.
async fn reopen(
    conversation: &Arc<Conversation>,
    cursor: &mut Cursor,
    of_caller: &HeaderMap,
    mut cause: Error,
) -> Result<Events> {
    if !cursor.is_resumable() {
        return Err(
            lost("the reply broke off before its first event id, so it cannot be resumed").caused_by(cause)
        );
    }
    while cursor.fruitless < MAX_FRUITLESS {
        sleep(cursor.wait()).await;
        match conversation.open(cursor, of_caller).await {
            Opened::Stream(events) => return Ok(events),
            Opened::Refused(status) => {
                if status == StatusCode::NOT_FOUND {
                    conversation.end();
                }
                return Err(refused(status));
            }
            Opened::Failed(error) => cause = error,
        }
    }
    Err(lost("the reply broke off, and several attempts to resume it made no progress").caused_by(cause))
}

fn refused(status: StatusCode) -> Error {
    lost(format!("the reply broke off and cannot be resumed any more: the server answered {status}"))
        .with_http_status(status.as_u16())
}

fn lost(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Transport, message).broken_off()
}
