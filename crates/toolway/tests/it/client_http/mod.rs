//! The client over HTTP: what does it send, to which server, and how does it handle the replies?

mod conversation;
mod endings;
mod headers;
mod hearing;
mod legacy_sse;
mod redirects;
mod refusals;
mod stage;

pub(crate) use stage::{Asked, SESSION, Stage, Stream};
