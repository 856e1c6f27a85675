//! What does a request carry that stands alone? Headers that mirror its body. A reply that breaks off is lost.

use ::http::header::HeaderMap;
use toolway_protocol::http::header::encode;
use toolway_protocol::{Id, Message};

use crate::client::http::endpoint::{Line, Reply};
use crate::client::http::events::{Events, messages};
use crate::client::http::headers::{OfCall, put_on};
use crate::client::http::insert;
use crate::client::wire::transport::Outgoing;
use crate::error::Result;

pub(super) async fn carry(line: &Line, outgoing: Outgoing) -> Result<Option<Message>> {
    let response = line.post(dress(&outgoing)?, outgoing.frame).await?;
    let Some(id) = outgoing.id else {
        return line.accepted(response).await.map(|()| None);
    };
    match line.reply(response, Some(&id)).await? {
        Reply::Whole(message) => Ok(Some(message)),
        Reply::Stream(events) => read(line, events, &id).await.map(Some),
    }
}

fn dress(outgoing: &Outgoing) -> Result<HeaderMap> {
    let OfCall { of_caller: mut headers, of_tool } = OfCall::read(&outgoing.headers)?;
    put_on(&mut headers, &of_tool);
    if let Some(version) = outgoing.version {
        insert(&mut headers, "mcp-protocol-version", version.as_str());
    }
    insert(&mut headers, "mcp-method", outgoing.method.name());
    if let Some(name) = &outgoing.name {
        insert(&mut headers, "mcp-name", &encode(name));
    }
    Ok(headers)
}

/// Reads events until the reply comes. Ids of events mean nothing here: this era has no resuming.
async fn read(line: &Line, mut events: Events, id: &Id) -> Result<Message> {
    loop {
        let event = events.next().await.map_err(|reason| line.broken(reason))?;
        for message in messages(&event).map_err(|reason| line.broken(reason))? {
            match message {
                reply @ Message::Response { .. } if reply.id() == Some(id) => return Ok(reply),
                other => line.deliver(&other, Some(id)),
            }
        }
    }
}
