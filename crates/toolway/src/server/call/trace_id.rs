//! The twin of `trace.rs` without OpenTelemetry: only the id of a trace is shown.

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::meta::Key;

use crate::server::call::traceparent::Parent;

/// What the `_meta` of a request says, unread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traced(Option<RawJson>);

/// The span that a request came from.
pub(crate) type Origin = Parent;

impl Traced {
    pub(crate) fn of(params: &Params) -> Self {
        Self(params.reserved(Key::TraceParent))
    }

    /// What the message says, else what the HTTP request around it says.
    pub(crate) fn origin(&self, headers: Option<&HeaderMap>) -> Option<Origin> {
        let said = self.0.as_ref().and_then(|raw| raw.decode::<String>().ok());
        said.as_deref()
            .and_then(Parent::parse)
            .or_else(|| Parent::parse(headers?.get("traceparent")?.to_str().ok()?))
    }
}
