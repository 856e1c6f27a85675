//! The client over HTTP: what it says, to whom, and what it makes of what comes back.

mod conversation;
mod endings;
mod headers;
mod hearing;
mod legacy_sse;
mod redirects;
mod refusals;
mod stage;

pub(crate) use stage::{Asked, SESSION, Stage, Stream};
