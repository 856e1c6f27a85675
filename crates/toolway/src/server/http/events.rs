//! Which events does an HTTP request log? The MCP call inside it has its own events, in `server/observe/`.
//!
//! | event | level | when |
//! |---|---|---|
//! | `toolway.http.start` | debug | the head of a request has arrived |
//! | `toolway.http.stop` | debug | the response starts; its body may be a stream |
//! | `toolway.http.exception` | debug | the request was dropped before its response started |

use std::time::Instant;

use ::http::{Method, Response};

use super::endpoint::body::ResponseBody;

/// A request whose start and end are logged.
pub(super) struct RequestLogGuard {
    method: &'static str,
    begun: Instant,
    is_over: bool,
}

impl RequestLogGuard {
    /// Logs the start of a request. Returns `None` if debug events are disabled.
    pub(super) fn begin(method: &Method) -> Option<Self> {
        if !tracing::enabled!(target: "toolway", tracing::Level::DEBUG) {
            return None;
        }
        // The peer chooses the method, so all unknown methods are logged as one value.
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
            "an HTTP request arrived"
        );
        Some(Self { method, begun: Instant::now(), is_over: false })
    }

    /// Logs that the response starts.
    pub(super) fn end(mut self, response: &Response<ResponseBody>) {
        self.is_over = true;
        tracing::debug!(
            name: "toolway.http.stop",
            target: "toolway",
            {
                http.request.method = self.method,
                http.response.status_code = response.status().as_u16(),
                duration_ms = self.begun.elapsed().as_secs_f64() * 1000.0
            },
            "an HTTP request was answered"
        );
    }
}

impl Drop for RequestLogGuard {
    fn drop(&mut self) {
        if !self.is_over {
            tracing::debug!(
                name: "toolway.http.exception",
                target: "toolway",
                { http.request.method = self.method },
                "an HTTP request was dropped before it was answered"
            );
        }
    }
}
