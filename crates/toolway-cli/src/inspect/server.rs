//! Which servers are inspected, and what is known of each?

use std::sync::Arc;

use serde_json::Value;
use toolway::ProtocolVersion;
use toolway::client::record::{RecordedFrame, Recorder};
use toolway::types::Tool;

use super::calls::CallTarget;
use super::elements::Elements;
use super::live_server::LiveServer;
use super::object::{SetMember, object};
use super::recording::Recording;
use super::web::Refusal;

/// A server, or a recording of one.
pub(super) struct InspectedServer {
    id: usize,
    name: String,
    source: Source,
}

enum Source {
    Live(Arc<LiveServer>),
    Recording(Recording),
}

impl InspectedServer {
    pub(super) fn of_live(id: usize, name: String, live: Arc<LiveServer>) -> Self {
        Self { id, name, source: Source::Live(live) }
    }

    pub(super) fn of_recording(id: usize, name: String, recording: Recording) -> Self {
        Self { id, name, source: Source::Recording(recording) }
    }

    pub(super) fn id(&self) -> usize {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn live(&self) -> Option<&Arc<LiveServer>> {
        match &self.source {
            Source::Live(live) => Some(live),
            Source::Recording(_) => None,
        }
    }

    /// Returns the server if it is connected or can be, and a refusal for a recording.
    pub(super) fn need_live(&self) -> Result<&Arc<LiveServer>, Refusal> {
        self.live().ok_or_else(|| Refusal::usage("this is a recording: it has no server that could be asked"))
    }

    pub(super) fn recorder(&self) -> &Recorder {
        match &self.source {
            Source::Live(live) => &live.recorder,
            Source::Recording(recording) => recording.recorder(),
        }
    }

    /// Returns the frames after the one with this number.
    pub(super) fn frames(&self, after: u64) -> Vec<Arc<RecordedFrame>> {
        self.recorder().frames(after)
    }

    /// Returns what a call to this server needs to know of it.
    pub(super) fn call_target(&self) -> CallTarget {
        CallTarget {
            server: self.id,
            recorder: self.recorder().clone(),
            recorded_since_ms: self.clock_offset_ms(),
        }
    }

    /// Looks whether the connection is still there.
    pub(super) fn note_connection(&self) {
        if let Some(live) = self.live() {
            live.note_connection();
        }
    }

    /// Returns the text of a cassette with all frames that are kept.
    pub(super) fn cassette(&self) -> String {
        match &self.source {
            Source::Live(live) => live.recorder.cassette(),
            Source::Recording(recording) => recording.cassette(),
        }
    }

    /// Returns the milliseconds to add to the time of a frame, so that frames and events have one clock.
    pub(super) fn clock_offset_ms(&self) -> f64 {
        self.live().map_or(0.0, |live| live.recorded_since_ms())
    }

    pub(super) fn elements(&self) -> Arc<Elements> {
        match &self.source {
            Source::Live(live) => live.elements(),
            Source::Recording(recording) => recording.elements(),
        }
    }

    pub(super) fn tool(&self, name: &str) -> Result<Tool, Refusal> {
        let elements = self.elements();
        elements
            .tool(name)
            .cloned()
            .ok_or_else(|| Refusal::not_found(format!("the server has no tool `{name}`")))
    }

    /// Describes the server for the page.
    pub(super) fn state_json(&self) -> Value {
        let mut state = match &self.source {
            Source::Live(live) => live.describe(),
            Source::Recording(recording) => recording.describe(),
        };
        state.set("id", &self.id);
        state.set("name", &self.name);
        state.set("revisions", &ProtocolVersion::ALL.map(ProtocolVersion::as_str));
        let elements = self.elements();
        if let Some(lists) = elements.description.as_object() {
            for (name, list) in lists {
                state[name] = list.clone();
            }
        }
        for name in ["tools", "resources", "templates", "prompts"] {
            if state.get(name).is_none() {
                state[name] = Value::Array(Vec::new());
            }
        }
        for name in ["lists", "tokens"] {
            if state.get(name).is_none() {
                state[name] = object! {};
            }
        }
        state
    }
}
