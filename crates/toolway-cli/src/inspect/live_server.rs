//! How is a server connected, and how are its changes followed?

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use toolway::client::record::Recorder;
use toolway::client::{ClientBuilder, IntoTarget, Notification, Target};
use toolway::types::LogLevel;
use toolway::{BoxFuture, Client, Era, Hub, ProtocolVersion, RawJson};

use super::cutter::{CuttableCommand, Cutter};
use super::elements::{Elements, hidden};
use super::event_log::EventLog;
use super::object::object;
use super::questions::Questions;
use super::spawn::spawn;
use super::web::Refusal;
use crate::args::ConnectionArgs;
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{self, CLOSE_TIMEOUT, Endpoint, ServerLocation};

/// How often a connection is looked at. Requests notice a broken connection at once; a server that ends while nothing is
/// asked of it is noticed by this.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A server that clients of the inspector connect to.
pub(super) struct LiveServer {
    id: usize,
    name: String,
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

/// The parts of the inspector that a live server works with.
pub(super) struct Surroundings {
    pub(super) talk: Arc<ConnectionArgs>,
    pub(super) console: Console,
    pub(super) events: Arc<EventLog>,
    pub(super) questions: Arc<Questions>,
    pub(super) hub: Option<Hub>,
}

impl LiveServer {
    pub(super) fn new(
        id: usize,
        name: String,
        place: ServerLocation,
        recorder: Recorder,
        with: Surroundings,
    ) -> Self {
        let Surroundings { talk, console, events, questions, hub } = with;
        let cutter = Cutter::new();
        // The recorder was made just now.
        let recorded_since_ms = events.now_ms();
        let connection =
            Connection { name: "connecting", since_ms: recorded_since_ms, took_ms: None, error: None };
        let state = LiveState {
            client: None,
            connection,
            wanted: talk.protocol,
            elements: Arc::default(),
            watched: Vec::new(),
            tasks: JoinSet::new(),
        };
        Self {
            id,
            name,
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
        }
    }

    pub(super) fn recorded_since_ms(&self) -> f64 {
        self.recorded_since_ms
    }

    pub(super) fn elements(&self) -> Arc<Elements> {
        self.state().elements.clone()
    }

    /// Connects in the background, in place of a former connection.
    pub(super) fn reconnect(self: &Arc<Self>) {
        let server = self.clone();
        spawn(Box::pin(async move { server.connect().await }));
    }

    /// Connects and reads the lists.
    async fn connect(self: &Arc<Self>) {
        let _alone = self.connecting.lock().await;
        let generation = self.generation.fetch_add(1, Ordering::SeqCst) + 1;
        let former = {
            let mut state = self.state();
            state.tasks = JoinSet::new();
            state.client.take()
        };
        self.set_connection("connecting", None, None);
        self.close(former).await;
        let began = self.events.now_ms();
        let client = match self.open().await {
            Ok(client) => client,
            Err(failure) => {
                let error =
                    object! {"code": failure.fault.name(), "message": failure.message, "hint": failure.hint};
                self.set_connection("failed", None, Some(error));
                return;
            }
        };
        let took = self.events.now_ms() - began;
        self.state().client = Some(client.clone());
        self.set_connection("ready", Some(took), None);
        self.read_elements(&client).await;
        self.follow(&client, generation);
    }

    /// Starts the tasks that follow what the server says without being asked.
    fn follow(self: &Arc<Self>, client: &Client, generation: u64) {
        let mut state = self.state();
        if self.generation.load(Ordering::SeqCst) != generation {
            return;
        }
        let (server, mut notifications) = (self.clone(), client.notifications());
        let read_notifications: BoxFuture<'static, ()> = Box::pin(async move {
            while let Some(notification) = notifications.next().await {
                server.note_notification(&notification);
            }
        });
        let (server, watched, client_to_watch) = (self.clone(), state.watched.clone(), client.clone());
        let read_changed: BoxFuture<'static, ()> = Box::pin(async move {
            // A server that reports no changes has nothing to watch.
            let Ok(mut watch) = client_to_watch.watch(watched).await else { return };
            while watch.next().await.is_some() {
                server.read_elements(&client_to_watch).await;
            }
        });
        let (server, client) = (self.clone(), client.clone());
        let look: BoxFuture<'static, ()> = Box::pin(async move {
            loop {
                tokio::time::sleep(LOOK_INTERVAL).await;
                server.note_connection_of(&client);
            }
        });
        for task in [read_notifications, read_changed, look] {
            state.tasks.spawn(task);
        }
    }

    async fn read_elements(&self, client: &Client) {
        let elements = Arc::new(Elements::read(client).await);
        let former = std::mem::replace(&mut self.state().elements, elements.clone());
        let is_first = former.description.is_null();
        let diff = if is_first { None } else { elements.changes_since(&former) };
        if is_first || diff.is_some() {
            let diff = diff.unwrap_or_else(|| object! {});
            self.events.add(object! {"type": "catalog", "server": self.id, "first": is_first, "diff": diff});
        }
    }

    fn note_notification(&self, notification: &Notification) {
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
        self.events.add(object! {
            "type": "notification", "server": self.id, "what": what.trim_end(),
            "params": params.map(|params| params.to_string()),
        });
    }

    /// Looks whether the connection is still there.
    pub(super) fn note_connection(&self) {
        let client = self.state().client.clone();
        if let Some(client) = client {
            self.note_connection_of(&client);
        }
    }

    fn note_connection_of(&self, client: &Client) {
        let known = self.state().connection.name;
        match (client.is_connected(), known) {
            (true, "cut" | "closed") => self.set_connection("ready", None, None),
            (false, "ready") => self.set_connection("closed", None, None),
            _ => {}
        }
    }

    fn set_connection(&self, name: &'static str, took_ms: Option<f64>, error: Option<Value>) {
        let connection = Connection { name, since_ms: self.events.now_ms(), took_ms, error };
        let description = {
            let mut state = self.state();
            state.connection = connection;
            drop(state);
            self.describe()
        };
        let mut event = object! {"type": "connection", "server": self.id};
        for name in ["connection", "revision", "era", "info", "wanted"] {
            event[name] = description[name].clone();
        }
        self.events.add(event);
    }

    /// Cuts the connection now, or after so many events.
    pub(super) fn cut(self: &Arc<Self>, after: Option<u32>) -> std::result::Result<(), Refusal> {
        if !self.can_cut() {
            return Err(Refusal::usage("this server is in the same process: there is no connection to cut"));
        }
        if let Some(events) = after.filter(|events| *events > 0) {
            if !matches!(self.place.endpoint, Endpoint::Url(_)) {
                return Err(Refusal::usage(
                    "events are counted over HTTP only; cut this connection now instead",
                ));
            }
            let count = if events == 1 { "1 event".to_owned() } else { format!("{events} events") };
            let (log, server, meaning) = (self.events.clone(), self.id, self.what_a_cut_means());
            let text = format!("the connection was cut after {count}; {meaning}");
            self.cutter.on_planned_cut(move || {
                log.add(object! {"type": "note", "server": server, "text": text});
            });
            self.cutter.cut_after(events);
            self.events.add(object! {
                "type": "note", "server": self.id, "text": format!("the connection will be cut after {count}"),
            });
            return Ok(());
        }
        self.cutter.cut();
        let text = format!("the connection was cut; {}", self.what_a_cut_means());
        self.events.add(object! {"type": "note", "server": self.id, "text": text});
        self.set_connection("cut", None, None);
        // The client connects again with the next request: this is one.
        let (server, client) = (self.clone(), self.state().client.clone());
        spawn(Box::pin(async move {
            if let Some(client) = client {
                let answered = client.ping().timeout(Duration::from_secs(30)).await;
                if answered.is_ok() {
                    server.set_connection("ready", None, None);
                }
            }
        }));
        Ok(())
    }

    /// Connects again with another revision.
    pub(super) fn set_revision(self: &Arc<Self>, wanted: Option<ProtocolVersion>) {
        self.state().wanted = wanted;
        self.reconnect();
    }

    pub(super) async fn set_log_level(&self, level: &str) -> std::result::Result<(), Refusal> {
        let known = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
        if !known.contains(&level) {
            return Err(Refusal::usage(format!("the levels are {}", known.join(", "))));
        }
        let level: LogLevel = serde_json::from_value(level.into())
            .map_err(|_| Refusal::usage(format!("the levels are {}", known.join(", "))))?;
        Ok(self.client()?.set_log_level(level).await?)
    }

    /// Begins or ends to watch a resource.
    pub(super) fn watch(self: &Arc<Self>, uri: &str, is_watched: bool) -> std::result::Result<(), Refusal> {
        let client = self.client()?;
        {
            let mut state = self.state();
            state.watched.retain(|known| known != uri);
            if is_watched {
                state.watched.push(uri.to_owned());
            }
            state.tasks = JoinSet::new();
        }
        self.follow(&client, self.generation.load(Ordering::SeqCst));
        Ok(())
    }

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
            (Endpoint::Url(_), Some(Era::Handshake)) => {
                "the session goes on, and streams are resumed after their last event if the server \
                 keeps events"
            }
            (Endpoint::Url(_), _) => "this era cannot resume a reply, so calls that ran have failed",
            _ => {
                "the program was ended; calls that ran have failed, and what the program kept in \
                  memory is lost"
            }
        }
    }

    /// Returns a client builder with the settings of the command line, for the connection to this server or one that is
    /// made for the comparison `both`.
    pub(super) fn builder(&self, both: Option<u64>) -> ClientBuilder {
        let mut builder = location::builder(&self.talk, &self.place, &self.console);
        let (events, server) = (self.events.clone(), self.id);
        builder = builder.on_log(move |message| {
            events.add(object! {
                "type": "log", "server": server, "level": message.level.as_str(), "logger": message.logger,
                "data": message.data.as_str(),
            });
        });
        if let Some(version) = self.state().wanted {
            builder = builder.protocol(version);
        }
        self.questions.register(builder, self.id, both)
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

    async fn open(&self) -> Result<Client> {
        let target = self.target(&self.recorder).await?;
        let connected = match &self.hub {
            // The builder of the hub asks for the settings of this server.
            Some(hub) => match hub.connect(&self.name, target).await {
                Ok(_) => hub.client(&self.name),
                Err(error) => Err(error),
            },
            None => self.recorded(self.builder(None), &self.recorder).connect(target).await,
        };
        connected.map_err(|error| self.place.failure(&error))
    }

    async fn close(&self, client: Option<Client>) {
        if let Some(hub) = &self.hub {
            hub.disconnect(&self.name).await;
        } else if let Some(client) = client {
            // The work is over, so the wait for a server that does not respond to the close is limited.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
        }
    }

    /// Closes the connection at the end of the inspector.
    pub(super) async fn shut_down(&self) {
        let client = {
            let mut state = self.state();
            state.tasks = JoinSet::new();
            state.client.take()
        };
        self.close(client).await;
    }

    pub(super) fn describe(&self) -> Value {
        let state = self.state();
        let client = state.client.as_ref();
        let version = client.map(Client::protocol_version);
        let info = client.and_then(Client::server_info).map(|info| {
            object! {
                "name": info.name, "version": info.version, "title": info.title, "websiteUrl": info.website_url,
            }
        });
        let instructions = client.and_then(Client::instructions);
        let capabilities =
            client.map(|client| RawJson::encoded(&client.server_capabilities(), client.protocol_version()));
        let mut found = Vec::new();
        if let Some(text) = &instructions {
            found = hidden(&[("instructions", text)]);
        }
        let connection = &state.connection;
        object! {
            "target": self.place.name().trim_matches('`'), "over": self.over(),
            "can": object! {"cut": self.can_cut(), "restart": true, "call": true},
            "connection": object! {
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
        }
    }

    /// Returns the failure for a connection of its own that could not be made.
    pub(super) fn failure(&self, error: &toolway::Error) -> Failure {
        self.place.failure(error)
    }
}
