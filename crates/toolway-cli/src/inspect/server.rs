//! How is a server connected, and what is known of it?

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use toolway::client::record::{RecordedFrame, Recorder};
use toolway::client::{ClientBuilder, IntoTarget, Notification, Target};
use toolway::types::{LogLevel, Tool};
use toolway::{Client, Era, Hub, ProtocolVersion, RawJson};

use super::cutter::{CuttableCommand, Cutter};
use super::elements::{Elements, hidden};
use super::event_log::EventLog;
use super::questions::Questions;
use super::recording::Recording;
use super::web::Refusal;
use crate::args::ConnectionArgs;
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{self, CLOSE_TIMEOUT, Endpoint, ServerLocation};

/// How often a connection is looked at. Requests notice a broken connection at once; a server that ends while nothing is
/// asked of it is noticed by this.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A server, or a recording of one.
pub(super) struct InspectedServer {
    id: usize,
    name: String,
    source: Source,
}

enum Source {
    Live(Box<LiveServer>),
    Recording(Recording),
}

/// A server that clients of the inspector connect to.
pub(super) struct LiveServer {
    pub(super) place: ServerLocation,
    talk: Arc<ConnectionArgs>,
    pub(super) recorder: Recorder,
    cutter: Cutter,
    console: Console,
    events: Arc<EventLog>,
    questions: Arc<Questions>,
    hub: Option<Hub>,
    /// When the recorder began.
    recorded_since_ms: f64,
    /// Counts the connections; what belongs to a former one changes nothing.
    generation: AtomicU64,
    state: Mutex<LiveState>,
    /// One connection is made at a time.
    connecting: tokio::sync::Mutex<()>,
}

struct LiveState {
    client: Option<Client>,
    connection: Connection,
    wanted: Option<ProtocolVersion>,
    elements: Arc<Elements>,
    watched: Vec<String>,
    tasks: JoinSet<()>,
}

#[derive(Clone)]
struct Connection {
    name: &'static str,
    since_ms: f64,
    took_ms: Option<f64>,
    error: Option<Value>,
}

/// What a live server shares with the inspector.
pub(super) struct Surroundings {
    pub(super) talk: Arc<ConnectionArgs>,
    pub(super) console: Console,
    pub(super) events: Arc<EventLog>,
    pub(super) questions: Arc<Questions>,
    pub(super) hub: Option<Hub>,
}

impl InspectedServer {
    pub(super) fn live_server(
        id: usize,
        name: String,
        place: ServerLocation,
        recorder: Recorder,
        with: Surroundings,
    ) -> Self {
        let Surroundings { talk, console, events, questions, hub } = with;
        let cutter = Cutter::new();
        let told = events.clone();
        cutter.on_planned_cut(move || {
            told.add(json!({"type": "note", "server": id, "text": "the connection was cut after the last of the events"}));
        });
        // The recorder was made just now.
        let recorded_since_ms = events.now_ms();
        let connection =
            Connection { name: "connecting", since_ms: events.now_ms(), took_ms: None, error: None };
        let state = LiveState {
            client: None,
            connection,
            wanted: talk.protocol,
            elements: Arc::default(),
            watched: Vec::new(),
            tasks: JoinSet::new(),
        };
        let live = LiveServer {
            place,
            talk,
            recorder,
            cutter,
            console,
            events,
            questions,
            hub,
            recorded_since_ms,
            generation: AtomicU64::new(0),
            state: Mutex::new(state),
            connecting: tokio::sync::Mutex::default(),
        };
        Self { id, name, source: Source::Live(Box::new(live)) }
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

    pub(super) fn live(&self) -> Option<&LiveServer> {
        match &self.source {
            Source::Live(live) => Some(live),
            Source::Recording(_) => None,
        }
    }

    /// Returns the server if it is connected or can be, and a refusal for a recording.
    pub(super) fn need_live(&self) -> std::result::Result<&LiveServer, Refusal> {
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

    pub(super) fn last_frame(&self) -> u64 {
        self.recorder().frames(0).last().map_or(0, |frame| frame.number)
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
        self.live().map_or(0.0, |live| live.recorded_since_ms)
    }

    pub(super) fn elements(&self) -> Arc<Elements> {
        match &self.source {
            Source::Live(live) => live.state().elements.clone(),
            Source::Recording(recording) => recording.elements(),
        }
    }

    pub(super) fn tool(&self, name: &str) -> std::result::Result<Tool, Refusal> {
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
        state["id"] = json!(self.id);
        state["name"] = json!(self.name);
        state["revisions"] = json!(ProtocolVersion::ALL.map(ProtocolVersion::as_str));
        let elements = self.elements();
        if let Some(lists) = elements.description.as_object() {
            for (name, list) in lists {
                state[name] = list.clone();
            }
        }
        for name in ["tools", "resources", "templates", "prompts"] {
            if state.get(name).is_none() {
                state[name] = json!([]);
            }
        }
        for name in ["lists", "tokens"] {
            if state.get(name).is_none() {
                state[name] = json!({});
            }
        }
        state
    }

    /// Connects in the background, in place of a former connection.
    pub(super) fn reconnect(self: &Arc<Self>) {
        let server = self.clone();
        tokio::spawn(async move { server.connect().await });
    }

    /// Connects and reads the lists.
    async fn connect(self: &Arc<Self>) {
        let Some(live) = self.live() else { return };
        let _alone = live.connecting.lock().await;
        let generation = live.generation.fetch_add(1, Ordering::SeqCst) + 1;
        let former = {
            let mut state = live.state();
            state.tasks = JoinSet::new();
            state.client.take()
        };
        self.set_connection(live, "connecting", None, None);
        live.close(&self.name, former).await;
        let began = live.events.now_ms();
        let client = match live.open(self.id, &self.name).await {
            Ok(client) => client,
            Err(failure) => {
                let error =
                    json!({"code": failure.fault.name(), "message": failure.message, "hint": failure.hint});
                self.set_connection(live, "failed", None, Some(error));
                return;
            }
        };
        let took = live.events.now_ms() - began;
        live.state().client = Some(client.clone());
        self.set_connection(live, "ready", Some(took), None);
        self.read_elements(live, &client).await;
        self.follow(live, &client, generation);
    }

    /// Starts the tasks that follow what the server says without being asked.
    fn follow(self: &Arc<Self>, live: &LiveServer, client: &Client, generation: u64) {
        let mut state = live.state();
        if live.generation.load(Ordering::SeqCst) != generation {
            return;
        }
        let (server, mut notifications) = (self.clone(), client.notifications());
        state.tasks.spawn(async move {
            while let Some(notification) = notifications.next().await {
                server.note_notification(&notification);
            }
        });
        let (server, watched, client_to_watch) = (self.clone(), state.watched.clone(), client.clone());
        state.tasks.spawn(async move {
            // A server that reports no changes has nothing to watch.
            let Ok(mut watch) = client_to_watch.watch(watched).await else { return };
            while watch.next().await.is_some() {
                if let Some(live) = server.live() {
                    server.read_elements(live, &client_to_watch).await;
                }
            }
        });
        let (server, client) = (self.clone(), client.clone());
        state.tasks.spawn(async move {
            loop {
                tokio::time::sleep(LOOK_INTERVAL).await;
                server.note_connection_of(&client);
            }
        });
    }

    async fn read_elements(&self, live: &LiveServer, client: &Client) {
        let elements = Arc::new(Elements::read(client).await);
        let former = std::mem::replace(&mut live.state().elements, elements.clone());
        let is_first = former.description.is_null();
        let diff = if is_first { None } else { elements.changes_since(&former) };
        if is_first || diff.is_some() {
            let diff = diff.unwrap_or_else(|| json!({}));
            live.events.add(json!({"type": "catalog", "server": self.id, "first": is_first, "diff": diff}));
        }
    }

    fn note_notification(&self, notification: &Notification) {
        let Some(live) = self.live() else { return };
        // Logs and progress are shown elsewhere; an acknowledgement belongs to the protocol.
        if matches!(
            notification,
            Notification::LogMessage(_)
                | Notification::Progress(_)
                | Notification::SubscriptionAcknowledged(_)
        ) {
            return;
        }
        let mut frame = Vec::new();
        notification.write(&mut frame, ProtocolVersion::LATEST);
        let text = String::from_utf8_lossy(&frame).into_owned();
        let method = notification.method().name().to_owned();
        let params: Option<Value> =
            serde_json::from_str::<Value>(&text).ok().map(|mut frame| frame["params"].take());
        let about =
            params.as_ref().and_then(|params| params.get("uri")).and_then(Value::as_str).unwrap_or_default();
        let what = format!("{} {about}", method.trim_start_matches("notifications/"));
        live.events.add(json!({
            "type": "notification", "server": self.id, "what": what.trim_end(),
            "params": params.map(|params| params.to_string()),
        }));
    }

    /// Looks whether the connection is still there.
    pub(super) fn note_connection(&self) {
        let client = self.live().and_then(|live| live.state().client.clone());
        if let Some(client) = client {
            self.note_connection_of(&client);
        }
    }

    fn note_connection_of(&self, client: &Client) {
        let Some(live) = self.live() else { return };
        let known = live.state().connection.name;
        match (client.is_connected(), known) {
            (true, "cut" | "closed") => self.set_connection(live, "ready", None, None),
            (false, "ready") => self.set_connection(live, "closed", None, None),
            _ => {}
        }
    }

    fn set_connection(
        &self,
        live: &LiveServer,
        name: &'static str,
        took_ms: Option<f64>,
        error: Option<Value>,
    ) {
        let connection = Connection { name, since_ms: live.events.now_ms(), took_ms, error };
        let description = {
            let mut state = live.state();
            state.connection = connection;
            drop(state);
            live.describe()
        };
        let mut event = json!({"type": "connection", "server": self.id});
        for name in ["connection", "revision", "era", "info", "wanted"] {
            event[name] = description[name].clone();
        }
        live.events.add(event);
    }

    /// Cuts the connection now, or after so many events.
    pub(super) fn cut(self: &Arc<Self>, after: Option<u32>) -> std::result::Result<(), Refusal> {
        let live = self.need_live()?;
        if !live.can_cut() {
            return Err(Refusal::usage("this server is in the same process: there is no connection to cut"));
        }
        if let Some(events) = after.filter(|events| *events > 0) {
            if !matches!(live.place.endpoint, Endpoint::Url(_)) {
                return Err(Refusal::usage(
                    "events are counted over HTTP only; cut this connection now instead",
                ));
            }
            live.cutter.cut_after(events);
            live.events.add(json!({
                "type": "note", "server": self.id, "text": format!("the connection will be cut after {events} events"),
            }));
            return Ok(());
        }
        live.cutter.cut();
        live.events.add(json!({"type": "note", "server": self.id, "text": live.what_a_cut_means()}));
        self.set_connection(live, "cut", None, None);
        // The client connects again with the next request: this is one.
        let (server, client) = (self.clone(), live.state().client.clone());
        tokio::spawn(async move {
            if let Some(client) = client {
                let answered = client.ping().timeout(Duration::from_secs(30)).await;
                if let (Ok(()), Some(live)) = (answered, server.live()) {
                    server.set_connection(live, "ready", None, None);
                }
            }
        });
        Ok(())
    }

    /// Connects again with another revision.
    pub(super) fn set_revision(
        self: &Arc<Self>,
        wanted: Option<ProtocolVersion>,
    ) -> std::result::Result<(), Refusal> {
        self.need_live()?.state().wanted = wanted;
        self.reconnect();
        Ok(())
    }

    pub(super) async fn set_log_level(&self, level: &str) -> std::result::Result<(), Refusal> {
        let known = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
        if !known.contains(&level) {
            return Err(Refusal::usage(format!("the levels are {}", known.join(", "))));
        }
        let level: LogLevel = serde_json::from_value(level.into())
            .map_err(|_| Refusal::usage(format!("the levels are {}", known.join(", "))))?;
        Ok(self.need_live()?.client()?.set_log_level(level).await?)
    }

    /// Begins or ends to watch a resource.
    pub(super) fn watch(self: &Arc<Self>, uri: &str, is_watched: bool) -> std::result::Result<(), Refusal> {
        let live = self.need_live()?;
        let client = live.client()?;
        {
            let mut state = live.state();
            state.watched.retain(|known| known != uri);
            if is_watched {
                state.watched.push(uri.to_owned());
            }
            state.tasks = JoinSet::new();
        }
        self.follow(live, &client, live.generation.load(Ordering::SeqCst));
        Ok(())
    }
}

impl LiveServer {
    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the client, if the server is connected.
    pub(super) fn client(&self) -> std::result::Result<Client, Refusal> {
        self.state().client.clone().ok_or_else(|| {
            Refusal::new(http::StatusCode::CONFLICT, "unreachable", "the server is not connected")
        })
    }

    fn can_cut(&self) -> bool {
        !matches!(self.place.endpoint, Endpoint::Own(_)) && self.hub.is_none()
    }

    fn over(&self) -> &'static str {
        match &self.place.endpoint {
            Endpoint::Url(_) => "http",
            Endpoint::Command(_) => "pipe",
            Endpoint::Own(_) => "memory",
        }
    }

    /// Says what a cut loses on this connection.
    fn what_a_cut_means(&self) -> &'static str {
        let version = self.state().client.as_ref().map(Client::protocol_version);
        match (&self.place.endpoint, version.map(ProtocolVersion::era)) {
            (Endpoint::Url(_), Some(Era::Handshake)) if version > Some(ProtocolVersion::V2024_11_05) => {
                "the connection was cut; the session goes on, and streams are resumed after their last event"
            }
            (Endpoint::Url(_), _) => {
                "the connection was cut; this revision cannot resume a reply, so calls that ran have failed"
            }
            _ => {
                "the connection was cut and the program ended; calls that ran have failed, and what the program kept in \
                  memory is lost"
            }
        }
    }

    /// Returns a client builder for this server with the settings of the command line.
    pub(super) fn builder(&self, server: usize) -> ClientBuilder {
        let mut builder = location::builder(&self.talk, &self.place, &self.console);
        let events = self.events.clone();
        builder = builder.on_log(move |message| {
            events.add(json!({
                "type": "log", "server": server, "level": message.level.as_str(), "logger": message.logger,
                "data": message.data.as_str(),
            }));
        });
        if let Some(version) = self.state().wanted {
            builder = builder.protocol(version);
        }
        self.questions.register(builder, server)
    }

    /// Returns the target of a connection whose frames go to this recorder.
    pub(super) async fn target(&self, recorder: &Recorder) -> Result<Target> {
        Ok(match &self.place.endpoint {
            Endpoint::Url(address) => {
                let cutter = self.cutter.clone();
                let http = address.signed_in(&Console::new(false, true)).await?;
                http.wrap_client(move |inner| cutter.around_http(inner)).into_target()?
            }
            Endpoint::Command(start) => {
                let command = start.command().recorder(recorder);
                Target::new(CuttableCommand { command, cutter: self.cutter.clone() })
            }
            Endpoint::Own(server) => (&**server).into_target()?,
        })
    }

    /// Adds the recorder to a builder, unless the target has it already.
    pub(super) fn recorded(&self, builder: ClientBuilder, recorder: &Recorder) -> ClientBuilder {
        match &self.place.endpoint {
            Endpoint::Command(_) => builder,
            Endpoint::Url(_) | Endpoint::Own(_) => builder.recorder(recorder),
        }
    }

    async fn open(&self, server: usize, name: &str) -> Result<Client> {
        let target = self.target(&self.recorder).await?;
        let connected = match &self.hub {
            // The builder of the hub asks for the settings of this server.
            Some(hub) => match hub.connect(name, target).await {
                Ok(_) => hub.client(name),
                Err(error) => Err(error),
            },
            None => self.recorded(self.builder(server), &self.recorder).connect(target).await,
        };
        connected.map_err(|error| self.place.failure(&error))
    }

    async fn close(&self, name: &str, client: Option<Client>) {
        if let Some(hub) = &self.hub {
            hub.disconnect(name).await;
        } else if let Some(client) = client {
            // The work is over, so the wait for a server that does not respond to the close is limited.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
        }
    }

    /// Closes the connection at the end of the inspector.
    pub(super) async fn shut_down(&self, name: &str) {
        let client = {
            let mut state = self.state();
            state.tasks = JoinSet::new();
            state.client.take()
        };
        self.close(name, client).await;
    }

    fn describe(&self) -> Value {
        let state = self.state();
        let client = state.client.as_ref();
        let version = client.map(Client::protocol_version);
        let info = client.and_then(Client::server_info).map(|info| {
            json!({
                "name": info.name, "version": info.version, "title": info.title, "websiteUrl": info.website_url,
            })
        });
        let instructions = client.and_then(Client::instructions);
        let capabilities =
            client.map(|client| RawJson::encoded(&client.server_capabilities(), client.protocol_version()));
        let mut found = Vec::new();
        if let Some(text) = &instructions {
            found = hidden(&[("instructions", text)]);
        }
        let connection = &state.connection;
        json!({
            "target": self.place.name(), "over": self.over(),
            "can": {"cut": self.can_cut(), "restart": true, "call": true},
            "connection": {
                "state": connection.name, "since_ms": connection.since_ms, "took_ms": connection.took_ms,
                "error": connection.error,
            },
            "revision": version.map(ProtocolVersion::as_str),
            "era": version.map(|version| match version.era() {
                Era::Handshake => "handshake",
                Era::Stateless => "stateless",
            }),
            "wanted": state.wanted.map(ProtocolVersion::as_str), "info": info, "instructions": instructions,
            "capabilities": capabilities.map(|text| text.as_str().to_owned()), "hidden": found,
            "watched": state.watched,
        })
    }

    /// Returns the failure for a connection of its own that could not be made.
    pub(super) fn failure(&self, error: &toolway::Error) -> Failure {
        self.place.failure(error)
    }
}

/// Describes the connection of a recording.
pub(super) fn recorded_connection() -> Map<String, Value> {
    let state = json!({
        "can": {"cut": false, "restart": false, "call": false},
        "connection": {"state": "closed", "since_ms": 0.0, "took_ms": null, "error": null},
        "era": null, "wanted": null, "instructions": null, "capabilities": null, "hidden": [], "watched": [],
    });
    state.as_object().cloned().unwrap_or_default()
}
