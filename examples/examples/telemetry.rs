//! A server with telemetry: spans as JSON on stderr, a layer that limits calls, a hook for errors and one that counts.
//! `cargo run -p toolway-examples --example telemetry`.
//!
//! For OpenTelemetry, add `tracing_opentelemetry::layer()` beside the layer that prints, and enable toolway's feature
//! `otel`: the spans are the same.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use toolway::prelude::*;
use toolway::server::layer::{CallKind, layer_fn};
use toolway::server::{ErrorReport, RequestStats};
use tracing_subscriber::fmt::format::FmtSpan;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    // Stdout belongs to the protocol. Prints a line for each call when it ends.
    tracing_subscriber::fmt()
        .json()
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::CLOSE)
        .with_max_level(tracing::Level::INFO)
        .init();
    let patience = layer_fn(|call, next| async move {
        match tokio::time::timeout(Duration::from_secs(10), next.run(call)).await {
            Ok(answer) => answer,
            Err(elapsed) => Err(elapsed.into()),
        }
    });
    Server::new("telemetry", "1.0.0")
        .state(Counts::default())
        .tools(tools![divide, counts])
        .layer_for(CallKind::Tool, patience)
        .on_error(report)
        .on_request_end(count)
        .serve_stdio()
        .await
}

/// Counts how each tool ended.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<String, u64>>);

/// Only names of the server's own tools appear here, so a client cannot fill the table with names of its own.
async fn count(stats: RequestStats, counts: State<Counts>) {
    let tool = stats.tool.as_deref().unwrap_or("-");
    let label = format!("{} {tool} {}", stats.method, stats.error.unwrap_or("ok"));
    *counts.0.lock().expect("no handler panics while it holds the lock").entry(label).or_default() += 1;
}

/// A real application would notify its error tracker here.
async fn report(report: ErrorReport) {
    tracing::warn!(reference = report.reference(), panic = report.is_panic(), "an error was reported");
}

/// Divide two whole numbers.
#[tool(read_only)]
fn divide(a: i64, b: i64) -> i64 {
    a / b // a panic is one failed call
}

/// The number of calls of each tool, by outcome.
#[tool(read_only)]
fn counts(counts: State<Counts>) -> Json<BTreeMap<String, u64>> {
    Json(counts.0.lock().expect("no handler panics while it holds the lock").clone())
}
