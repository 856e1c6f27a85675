//! Replaces `otel.rs` in builds without OpenTelemetry: nothing is measured.

use std::time::Duration;

use tracing::Span;

use crate::server::call::trace::ParentSpan;
use crate::server::observe::stats::RequestStats;

/// Measures nothing.
#[derive(Debug, Default)]
pub(crate) struct Instruments(());

impl Instruments {
    pub(crate) const IS_ENABLED: bool = false;

    pub(crate) fn set_parent(_: &Span, _: &ParentSpan) {}

    #[allow(clippy::unused_self, reason = "the function in `otel.rs` uses `self`")]
    pub(crate) fn record_call(&self, _: &RequestStats, _: &'static str, _: Option<&str>, _: Option<&str>) {}
}

/// Measures nothing.
#[derive(Debug, Default)]
pub(crate) struct StoreInstruments(());

#[allow(clippy::unused_self, reason = "the functions in `otel.rs` use `self`")]
impl StoreInstruments {
    pub(crate) fn record_visit(&self, _: &'static str, _: Duration) {}

    pub(crate) fn record_event(&self, _: &'static str) {}
}
