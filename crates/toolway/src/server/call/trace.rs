//! Which trace does a request belong to? W3C Trace Context, in `_meta` or in the headers.
//!
//! The context is parsed strictly, because it comes from a client and goes to the operator's tracing system.

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::meta::Key;

use crate::server::call::traceparent::TraceParent;

/// The trace members of the `_meta` of a request, not parsed yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawTraceContext {
    parent: Option<RawJson>,
    state: Option<RawJson>,
    baggage: Option<RawJson>,
}

/// The span that sent the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentSpan {
    pub(crate) traceparent: TraceParent,
    /// The received `tracestate`.
    pub(crate) state: Option<String>,
    /// The received `baggage`.
    pub(crate) baggage: Option<String>,
}

impl RawTraceContext {
    pub(crate) fn of(params: &Params) -> Self {
        Self {
            parent: params.meta_member(Key::TraceParent),
            state: params.meta_member(Key::TraceState),
            baggage: params.meta_member(Key::Baggage),
        }
    }

    /// Returns the origin from the message, otherwise from the HTTP headers.
    pub(crate) fn parent_span(&self, headers: Option<&HeaderMap>) -> Option<ParentSpan> {
        let text = |raw: &Option<RawJson>| raw.as_ref()?.decode::<String>().ok();
        if let Some(parent) = text(&self.parent).as_deref().and_then(TraceParent::parse) {
            return Some(ParentSpan {
                traceparent: parent,
                state: bounded(text(&self.state), MAX_STATE),
                baggage: bounded(text(&self.baggage), MAX_BAGGAGE),
            });
        }
        let header = |name: &str| Some(headers?.get(name)?.to_str().ok()?.to_owned());
        Some(ParentSpan {
            traceparent: TraceParent::parse(&header("traceparent")?)?,
            state: bounded(header("tracestate"), MAX_STATE),
            baggage: bounded(header("baggage"), MAX_BAGGAGE),
        })
    }
}

impl ParentSpan {
    pub(crate) fn trace_id(&self) -> &str {
        self.traceparent.trace_id()
    }

    pub(crate) fn span_id(&self) -> &str {
        &self.traceparent.0[36..52]
    }

    /// Returns whether the trace is recorded.
    pub(crate) fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.traceparent.0[53..55], 16).is_ok_and(|flags| flags & 1 == 1)
    }
}

fn bounded(text: Option<String>, max: usize) -> Option<String> {
    text.filter(|text| text.len() <= max && text.is_ascii())
}

/// The maximum length of `tracestate` in bytes; W3C requires support for at least this much.
const MAX_STATE: usize = 512;
/// The maximum length of `baggage` in bytes, as W3C defines it.
const MAX_BAGGAGE: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_message_says_more_than_the_headers_around_it() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("traceparent"),
            http::HeaderValue::from_static("00-11111111111111111111111111111111-2222222222222222-00"),
        )]);
        let said = |parent: &str| RawTraceContext {
            parent: Some(RawJson::from_value(&parent).unwrap()),
            state: Some(RawJson::from_value(&"a=1".repeat(1000)).unwrap()),
            baggage: Some(RawJson::from_value(&7).unwrap()),
        };
        let origin = said(RIGHT).parent_span(Some(&headers)).unwrap();
        assert_eq!(
            (origin.traceparent, origin.state, origin.baggage),
            (TraceParent::parse(RIGHT).unwrap(), None, None)
        );
        let origin = said(RIGHT).parent_span(None).unwrap();
        assert_eq!((origin.span_id(), origin.is_sampled()), ("00f067aa0ba902b7", true));
        let origin = said("nonsense").parent_span(Some(&headers)).unwrap();
        assert_eq!((origin.span_id(), origin.is_sampled()), ("2222222222222222", false));
        assert_eq!(said("nonsense").parent_span(None), None);
        assert_eq!(RawTraceContext::default().parent_span(None), None);
    }
}
