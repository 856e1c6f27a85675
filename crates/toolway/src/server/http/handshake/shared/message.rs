//! What do servers that share sessions tell each other? A message is a hint: everything that matters is in the store.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message about one session, or about one pipe of the transport of 2024-11-05.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::server) struct NodeMessage {
    pub(in crate::server) session: String,
    pub(in crate::server) news: News,
    /// Only in messages to all servers, so that those that miss one notice it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<MessageNumber>,
}

/// The number of a message among those that a server sends to all others.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MessageNumber {
    pub(super) node: String,
    pub(super) number: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::server) enum News {
    /// There are more events of a stream that is read here.
    Events { stream: String },
    /// A notification stream of this server was continued at another one.
    Continued { stream: String },
    /// The client has answered a question of this server. A long answer has to be read from the store.
    Answer { question: String, frame: Option<Box<RawValue>> },
    /// The client has cancelled the request with this id.
    Cancel { request: String },
    /// The record of the session has changed.
    Record,
    /// The session has ended.
    Ended,
    /// There is a POST for a pipe of this server.
    Posted,
    /// No messages of this server have these numbers.
    Unused { node: String, numbers: Vec<u64> },
}

impl NodeMessage {
    pub(in crate::server) fn write(session: &str, news: News) -> Bytes {
        Self { session: session.to_owned(), news, number: None }.to_bytes()
    }

    pub(super) fn write_numbered(session: &str, news: News, number: MessageNumber) -> Bytes {
        Self { session: session.to_owned(), news, number: Some(number) }.to_bytes()
    }

    fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes)
            .inspect_err(|error| tracing::warn!(%error, "a message of another server cannot be read"))
            .ok()
    }
}
