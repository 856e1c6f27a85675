//! Is a call part of its caller's trace, and is it measured?

use opentelemetry::baggage::BaggageExt;
use opentelemetry::global;
use opentelemetry::trace::{SpanKind, Status, TracerProvider};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ScopeMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::propagation::BaggagePropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::store::MemoryStore;
use toolway::testing::each_wire;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;

fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
    found.map(|attribute| attribute.value.to_string())
}

#[tokio::test]
async fn a_call_is_a_part_of_its_callers_trace_and_is_measured() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    global::set_text_map_propagator(BaggagePropagator::new());
    let measured = InMemoryMetricExporter::default();
    let meters =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(measured.clone()).build()).build();
    global::set_meter_provider(meters.clone());

    let baggage = ToolEntry::from_fn("baggage", || async {
        tracing::Span::current().context().baggage().get("user").map(ToString::to_string)
    });
    let fails = ToolEntry::from_fn("fails", || async { Err::<(), _>(ToolError::new("not today")) });
    let server = Server::new("app", "1.0.0").tool(baggage).tool(fails).build().unwrap();
    each_wire(&server, async |client| {
        exporter.reset();
        let call = async |tool: &str, meta: serde_json::Value| {
            let params = json!({"name": tool, "_meta": meta});
            let answer = client.request("tools/call", params).await;
            let spans = exporter.get_finished_spans().unwrap();
            exporter.reset();
            let [span] = &spans[..] else { panic!("{spans:?}") };
            assert_eq!(span.span_kind, SpanKind::Server);
            (span.clone(), answer)
        };
        let meta = json!({
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "tracestate": "rojo=00f067aa0ba902b7",
            "baggage": "user=alice",
        });
        let (span, answer) = call("baggage", meta).await;
        assert!(String::from_utf8_lossy(answer.unwrap().as_bytes()).contains("alice"));
        assert_eq!(span.name, "tools/call baggage");
        assert_eq!(span.span_context.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span.parent_span_id.to_string(), "00f067aa0ba902b7");
        assert_eq!(span.span_context.trace_state().get("rojo"), Some("00f067aa0ba902b7"));
        assert_eq!(attribute(&span, "gen_ai.tool.name").as_deref(), Some("baggage"));
        assert_eq!(span.status, Status::Unset);

        // An invalid trace context begins a new trace.
        let (span, _) = call("fails", json!({"traceparent": "00-zz-zz-zz"})).await;
        assert_eq!(span.parent_span_id.to_string(), "0000000000000000");
        assert!(matches!(span.status, Status::Error { .. }), "{:?}", span.status);
        assert_eq!(attribute(&span, "error.type").as_deref(), Some("tool_error"));
        let (span, _) = call("made-up", json!({})).await;
        assert_eq!(span.name, "tools/call");
        assert_eq!(attribute(&span, "rpc.response.status_code").as_deref(), Some("-32602"));
    })
    .await;

    // Visits to a store that servers share are measured, too.
    let shared =
        Server::new("app", "1.0.0").tool(ToolEntry::from_fn("quick", || async {})).store(MemoryStore::new());
    each_wire(&shared.build().unwrap(), async |client| {
        client.call("quick", json!({})).await.unwrap();
    })
    .await;

    meters.force_flush().unwrap();
    let finished = measured.get_finished_metrics().unwrap();
    let metrics: Vec<_> = finished.last().unwrap().scope_metrics().flat_map(ScopeMetrics::metrics).collect();
    let named = |name: &str| metrics.iter().find(|metric| metric.name() == name).expect("it is measured");
    assert_eq!(named("toolway.store.visit.duration").unit(), "s");
    let metric = named("mcp.server.operation.duration");
    assert_eq!(metric.unit(), "s");
    let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else {
        panic!("{metric:?}")
    };
    let labels: Vec<String> = histogram
        .data_points()
        .map(|point| {
            let mut labels: Vec<_> = point
                .attributes()
                .filter(|label| label.key.as_str() != "mcp.protocol.version")
                .map(|label| format!("{}={}", label.key, label.value))
                .collect();
            labels.sort();
            labels.join(" ")
        })
        .collect();
    let expected = "error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=fails mcp.method.name=tools/call";
    assert!(labels.iter().any(|label| label == expected), "{labels:#?}");
    assert!(!labels.iter().any(|label| label.contains("made-up")), "{labels:#?}");
}
