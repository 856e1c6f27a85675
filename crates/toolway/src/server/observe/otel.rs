//! OpenTelemetry: which trace does a call belong to, and how long do calls take?

use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, KeyValue, global};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::server::call::trace::ParentSpan;
use crate::server::observe::stats::RequestStats;

/// The metrics of calls. The histogram is created when the first call ends, so that a program may set its OpenTelemetry
/// provider after it has built its servers.
#[derive(Debug, Default)]
pub(crate) struct Instruments(OnceLock<Histogram<f64>>);

impl Instruments {
    /// `true` if calls are measured.
    pub(crate) const IS_ENABLED: bool = true;

    /// Makes a span a child of the caller's span.
    pub(crate) fn set_parent(span: &Span, origin: &ParentSpan) {
        let flags = if origin.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        let state = origin.state.as_deref().and_then(|text| TraceState::from_str(text).ok());
        let context = SpanContext::new(
            TraceId::from_hex(origin.trace_id()).unwrap_or(TraceId::INVALID),
            SpanId::from_hex(origin.span_id()).unwrap_or(SpanId::INVALID),
            flags,
            true,
            state.unwrap_or_default(),
        );
        // Baggage is extracted only if the program has set a propagator that reads it.
        let carried = global::get_text_map_propagator(|propagator| {
            propagator.extract_with_context(&Context::new(), &Baggage(origin))
        });
        // Fails without an OpenTelemetry layer, because the span then has no OpenTelemetry counterpart.
        let _ = span.set_parent(carried.with_remote_span_context(context));
    }

    /// Records a finished call.
    pub(crate) fn record_call(
        &self,
        stats: &RequestStats,
        version: &'static str,
        error_type: Option<&str>,
        code: Option<&str>,
    ) {
        let histogram = self.0.get_or_init(|| {
            global::meter("toolway")
                .f64_histogram("mcp.server.operation.duration")
                .with_unit("s")
                .with_description("How long calls take")
                .with_boundaries(BOUNDARIES.to_vec())
                .build()
        });
        let mut labels = vec![
            KeyValue::new("mcp.method.name", stats.method.to_string()),
            KeyValue::new("mcp.protocol.version", version),
        ];
        let mut label = |name: &'static str, value: Option<&str>| {
            labels.extend(value.map(|value| KeyValue::new(name, value.to_owned())));
        };
        label("gen_ai.operation.name", stats.tool.as_ref().map(|_| "execute_tool"));
        label("gen_ai.tool.name", stats.tool.as_deref());
        label("gen_ai.prompt.name", stats.prompt.as_deref());
        label("error.type", error_type);
        label("rpc.response.status_code", code);
        histogram.record(stats.duration.as_secs_f64(), &labels);
    }
}

/// The metrics of a store that servers share.
#[derive(Debug, Default)]
pub(crate) struct StoreInstruments(OnceLock<(Histogram<f64>, Counter<u64>)>);

impl StoreInstruments {
    /// Records a visit to the store.
    pub(crate) fn record_visit(&self, outcome: &'static str, time: Duration) {
        self.get().0.record(time.as_secs_f64(), &[KeyValue::new("outcome", outcome)]);
    }

    /// Counts an event.
    pub(crate) fn record_event(&self, event: &'static str) {
        self.get().1.add(1, &[KeyValue::new("event", event)]);
    }

    fn get(&self) -> &(Histogram<f64>, Counter<u64>) {
        self.0.get_or_init(|| {
            let meter = global::meter("toolway");
            let visits = meter
                .f64_histogram("toolway.store.visit.duration")
                .with_unit("s")
                .with_description("How long visits to the store take")
                .with_boundaries(STORE_BOUNDARIES.to_vec());
            let events = meter
                .u64_counter("toolway.store.events")
                .with_description("What servers that share a store met");
            (visits.build(), events.build())
        })
    }
}

/// The histogram boundaries for visits to a store, in seconds.
const STORE_BOUNDARIES: [f64; 11] = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 5.0];

/// The histogram boundaries in seconds, from OpenTelemetry's semantic conventions.
const BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The baggage of a request, for a propagator.
struct Baggage<'o>(&'o ParentSpan);

impl Extractor for Baggage<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        if key == "baggage" { self.0.baggage.as_deref() } else { None }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["baggage"]
    }
}
