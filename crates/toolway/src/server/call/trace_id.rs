//! The replacement for `trace.rs` when OpenTelemetry is off: only the id of a trace is used.

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::meta::Key;

use crate::server::call::traceparent::Parent;

/// The `traceparent` in the `_meta` of a request, not parsed yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traced(Option<RawJson>);

/// The span that sent the request.
pub(crate) type Origin = Parent;

impl Traced {
    pub(crate) fn of(params: &Params) -> Self {
        Self(params.reserved(Key::TraceParent))
    }

    /// Returns the origin from the message, otherwise from the HTTP headers.
    pub(crate) fn origin(&self, headers: Option<&HeaderMap>) -> Option<Origin> {
        let said = self.0.as_ref().and_then(|raw| raw.decode::<String>().ok());
        said.as_deref()
            .and_then(Parent::parse)
            .or_else(|| Parent::parse(headers?.get("traceparent")?.to_str().ok()?))
    }
}
