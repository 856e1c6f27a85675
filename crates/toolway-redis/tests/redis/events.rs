//! What did the stores of all tests log?

use std::fmt::{Debug, Write};
use std::sync::Mutex;

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Keeps the events of all tests. A subscriber for one test alone would miss some: `tracing` remembers for the whole
/// process which events are wanted.
pub(crate) fn capture() {
    let subscriber = tracing_subscriber::registry().with(Capture);
    tracing::subscriber::set_global_default(subscriber).expect("it is called once");
}

/// One text for each event.
pub(crate) static EVENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Capture;

impl<S: tracing::Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("toolway_redis") {
            let mut text = String::new();
            event.record(&mut Line(&mut text));
            EVENTS.lock().unwrap().push(text);
        }
    }
}

struct Line<'t>(&'t mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}: {value:?} ").unwrap();
    }
}
