//! What do servers that share sessions tell each other? A message is a hint: everything that matters is in the store.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message about one session, or about one pipe of the transport of 2024-11-05.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::server) struct NodeMessage {
    pub(in crate::server) session: String,
    pub(in crate::server) news: News,
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
}

impl NodeMessage {
    pub(in crate::server) fn write(session: &str, news: News) -> Bytes {
        serde_json::to_vec(&Self { session: session.to_owned(), news }).unwrap_or_default().into()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes)
            .inspect_err(|error| tracing::warn!(%error, "a message of another server cannot be read"))
            .ok()
    }
}
