//! Which servers, calls and questions does an inspector have?

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;
use toolway::Hub;

use super::both_eras::Comparisons;
use super::calls::Calls;
use super::event_log::EventLog;
use super::gate::Gate;
use super::object::object;
use super::questions::Questions;
use super::server::InspectedServer;
use super::web::Refusal;
use crate::args::ConnectionArgs;
use crate::console::Console;

/// The thing that an inspector looks into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// One server.
    Server,
    /// All servers of a configuration.
    Hub,
    /// A recording: the name of its file, and whether it still grows.
    Recording { file: String, is_followed: bool },
}

/// Everything that the requests of the page work with.
pub(super) struct Inspector {
    pub(super) gate: Gate,
    pub(super) subject: Subject,
    pub(super) events: Arc<EventLog>,
    pub(super) calls: Arc<Calls>,
    pub(super) questions: Arc<Questions>,
    pub(super) comparisons: Arc<Comparisons>,
    pub(super) console: Console,
    pub(super) talk: Arc<ConnectionArgs>,
    /// The hub that joins the servers, if there is one.
    pub(super) hub: Option<Hub>,
    servers: Mutex<Vec<Arc<InspectedServer>>>,
}

/// How many recordings can be opened beside the servers.
const MAX_RECORDINGS: usize = 16;

impl Inspector {
    pub(super) fn new(
        port: u16,
        subject: Subject,
        console: Console,
        talk: ConnectionArgs,
        hub: Option<Hub>,
    ) -> Self {
        let events = Arc::new(EventLog::new(Instant::now()));
        let calls = Arc::new(Calls::new(events.clone()));
        Self {
            gate: Gate::new(port),
            subject,
            questions: Arc::new(Questions::new(events.clone(), calls.clone())),
            comparisons: Arc::new(Comparisons::new(events.clone())),
            events,
            calls,
            console,
            talk: Arc::new(talk),
            hub,
            servers: Mutex::default(),
        }
    }

    pub(super) fn servers(&self) -> Vec<Arc<InspectedServer>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a server, which `make` creates from its number.
    pub(super) fn add(&self, make: impl FnOnce(usize) -> InspectedServer) -> Arc<InspectedServer> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let server = Arc::new(make(servers.len()));
        servers.push(server.clone());
        server
    }

    /// Adds a recording. Fails if there are too many.
    pub(super) fn add_recording(
        &self,
        make: impl FnOnce(usize) -> InspectedServer,
    ) -> Result<Arc<InspectedServer>, Refusal> {
        let opened = self.servers().iter().filter(|server| server.live().is_none()).count();
        if opened >= MAX_RECORDINGS {
            return Err(Refusal::usage(format!(
                "{MAX_RECORDINGS} recordings are open; end the inspector and start it again to open others"
            )));
        }
        Ok(self.add(make))
    }

    pub(super) fn server(&self, number: usize) -> Result<Arc<InspectedServer>, Refusal> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.get(number).cloned().ok_or_else(|| Refusal::not_found(format!("there is no server {number}")))
    }

    /// Returns a text in which the secrets that are known so far have their marks.
    pub(super) fn redact(&self, mut text: String) -> String {
        let servers = self.servers();
        let recorders = servers.iter().map(|server| server.recorder().clone());
        for recorder in recorders.chain(self.comparisons.recorders()) {
            if let std::borrow::Cow::Owned(redacted) = recorder.redact(&text) {
                text = redacted;
            }
        }
        text
    }

    pub(super) fn state(&self) -> Value {
        let (mode, recording) = match &self.subject {
            Subject::Server => ("server", Value::Null),
            Subject::Hub => ("hub", Value::Null),
            Subject::Recording { file, is_followed } => {
                ("recording", object! {"file": file, "following": is_followed})
            }
        };
        // The number of the last event comes first: what changes meanwhile is told by an event after it.
        let last = self.events.last();
        let servers: Vec<Value> = self.servers().iter().map(|server| server.state_json()).collect();
        object! {
            "program": concat!("toolway ", env!("CARGO_PKG_VERSION")), "mode": mode, "recording": recording,
            "now_ms": self.events.now_ms(), "servers": servers, "event": last,
        }
    }
}
