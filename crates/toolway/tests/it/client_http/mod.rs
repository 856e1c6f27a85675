//! The client over HTTP: what does it send, to which server, and how does it handle the replies?

mod conversation;
mod endings;
mod headers;
mod legacy_sse;
mod notification_stream;
mod redirects;
mod refusals;
mod requests;
mod stage;

pub(crate) use stage::{Asked, SESSION, Stage, Stream};
