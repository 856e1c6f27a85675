//! The replacement for `trace.rs` when OpenTelemetry is off: only the id of a trace is used.

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::meta::Key;

use crate::server::call::traceparent::TraceParent;

/// The `traceparent` in the `_meta` of a request, not parsed yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawTraceContext(Option<RawJson>);

/// The span that sent the request.
pub(crate) type ParentSpan = TraceParent;

impl RawTraceContext {
    pub(crate) fn of(params: &Params) -> Self {
        Self(params.meta_member(Key::TraceParent))
    }

    /// Returns the origin from the message, otherwise from the HTTP headers.
    pub(crate) fn parent_span(&self, headers: Option<&HeaderMap>) -> Option<ParentSpan> {
        let said = self.0.as_ref().and_then(|raw| raw.decode::<String>().ok());
        said.as_deref()
            .and_then(TraceParent::parse)
            .or_else(|| TraceParent::parse(headers?.get("traceparent")?.to_str().ok()?))
    }
}
