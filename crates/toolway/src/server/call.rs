//! What is one call to everybody who stands around it?

use std::fmt;

use toolway_protocol::request::{Outcome, Request};
use toolway_protocol::types::CacheHints;

use super::Server;
use super::scope::{Arrival, Facts};

/// A request that is about to be answered, and everything that is known about it.
pub(super) struct Call {
    pub(super) server: Server,
    pub(super) request: Request,
    pub(super) facts: Facts,
    pub(super) arrival: Arrival,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.request.method()).finish_non_exhaustive()
    }
}

/// How a request ended, and how long that may be kept if the handler said so.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) outcome: Outcome,
    pub(super) cache: Option<CacheHints>,
}
