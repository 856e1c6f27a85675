//! What is seen of an HTTP request from outside? Events; what it asks for is seen where it is answered.
//!
//! | event | level | when |
//! |---|---|---|
//! | `toolway.http.start` | debug | the head of a request has come |
//! | `toolway.http.stop` | debug | its answer begins; the body may be a stream |
//! | `toolway.http.exception` | debug | nobody waited for the answer any more |

use std::time::Instant;

use ::http::{Method, Response};

use super::door::body::HttpBody;

/// A request that somebody watches.
pub(super) struct Seen {
    method: &'static str,
    begun: Instant,
    is_over: bool,
}

impl Seen {
    /// Begins to watch, if anybody wants to know.
    pub(super) fn begin(method: &Method) -> Option<Self> {
        if !tracing::enabled!(target: "toolway", tracing::Level::DEBUG) {
            return None;
        }
        // A peer may make up methods.
        let method = match *method {
            Method::POST => "POST",
            Method::GET => "GET",
            Method::DELETE => "DELETE",
            Method::OPTIONS => "OPTIONS",
            _ => "_OTHER",
        };
        tracing::debug!(
            name: "toolway.http.start",
            target: "toolway",
            { http.request.method = method },
            "an HTTP request has come"
        );
        Some(Self { method, begun: Instant::now(), is_over: false })
    }

    /// The answer begins.
    pub(super) fn end(mut self, response: &Response<HttpBody>) {
        self.is_over = true;
        tracing::debug!(
            name: "toolway.http.stop",
            target: "toolway",
            {
                http.request.method = self.method,
                http.response.status_code = response.status().as_u16(),
                duration_ms = self.begun.elapsed().as_secs_f64() * 1000.0
            },
            "an HTTP request is answered"
        );
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if !self.is_over {
            tracing::debug!(
                name: "toolway.http.exception",
                target: "toolway",
                { http.request.method = self.method },
                "an HTTP request was given up"
            );
        }
    }
}
