//! What happens to calls when the server disappears and returns?

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolway::client::{Change, Connector, EraCache, Inbox, OutgoingMessage, Target, Transport};
use toolway::prelude::*;
use toolway::server::{RequestStats, ToolEntry};
use toolway::types::LogLevel;
use toolway::{BoxFuture, Chain, Era, Error, ErrorKind, Form, ProtocolVersion};
use toolway_protocol::Message;

/// The failure of the next call of a tool.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The call is not sent.
    Unsent,
    /// The server runs it, and the reply is lost.
    ReplyLost,
    /// The server has lost the session.
    Forgotten,
    /// The server receives it, and the connection breaks while it runs.
    Hangs,
}

/// A connection to a server that fails on demand.
#[derive(Clone)]
struct Cable {
    server: Server,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    faults: Mutex<VecDeque<Fault>>,
    /// While this is set, the server cannot be reached.
    is_down: AtomicBool,
    reached: AtomicUsize,
    frames: Mutex<Vec<Value>>,
    plugs: Mutex<Vec<Arc<Plug>>>,
}

#[derive(Default)]
struct Plug {
    is_out: AtomicBool,
    pulled: Notify,
}

impl Plug {
    fn pull(&self) {
        self.is_out.store(true, Ordering::SeqCst);
        self.pulled.notify_waiters();
    }
}

impl Cable {
    fn to(server: &Server) -> Self {
        Self { server: server.clone(), state: Arc::default() }
    }

    fn target(&self) -> Target {
        Target::new(self.clone())
    }

    fn fails(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.faults.lock().unwrap().extend(faults);
    }

    fn reached(&self) -> usize {
        self.state.reached.load(Ordering::SeqCst)
    }

    /// Ends all current connections.
    fn pull(&self) {
        for plug in &*self.state.plugs.lock().unwrap() {
            plug.pull();
        }
    }

    fn methods(&self) -> Vec<String> {
        let frames = self.state.frames.lock().unwrap();
        frames.iter().map(|frame| frame["method"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Connector for Cable {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        Box::pin(async {
            self.state.reached.fetch_add(1, Ordering::SeqCst);
            if self.state.is_down.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Transport, "the cable is cut").unsent());
            }
            let plug = Arc::new(Plug::default());
            self.state.plugs.lock().unwrap().push(plug.clone());
            let inner = self.server.connect().await?;
            Ok(Box::new(Wire { inner, state: self.state.clone(), plug }) as Box<dyn Transport>)
        })
    }

    fn name(&self) -> String {
        "the end of the cable".to_owned()
    }
}

struct Wire {
    inner: Box<dyn Transport>,
    state: Arc<State>,
    plug: Arc<Plug>,
}

impl Wire {
    async fn take(&self, outgoing: OutgoingMessage) -> toolway::Result<Option<toolway_protocol::Message>> {
        let lost = |what: &str| Error::new(ErrorKind::Transport, what);
        if !self.is_connected() {
            return Err(lost("the plug is out").unsent());
        }
        self.state.frames.lock().unwrap().push(serde_json::from_slice(&outgoing.frame).unwrap());
        let is_call = outgoing.method.name() == "tools/call";
        let fault = if is_call { self.state.faults.lock().unwrap().pop_front() } else { None };
        match fault {
            None => tokio::select! {
                reply = self.inner.send(outgoing) => reply,
                () = self.disconnected() => Err(lost("the plug was pulled").reply_lost()),
            },
            Some(Fault::Unsent) => {
                self.plug.pull();
                Err(lost("the plug was out").unsent())
            }
            Some(Fault::ReplyLost) => {
                self.inner.send(outgoing).await?;
                self.plug.pull();
                Err(lost("the reply broke off").reply_lost())
            }
            Some(Fault::Forgotten) => {
                Err(Error::new(ErrorKind::PeerRefused, "the conversation has ended").session_ended())
            }
            Some(Fault::Hangs) => {
                self.plug.pull();
                Err(lost("the plug was pulled").reply_lost())
            }
        }
    }
}

impl Transport for Wire {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        Box::pin(self.take(outgoing))
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.inner.set_inbox(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.plug.is_out.load(Ordering::SeqCst)
    }

    fn disconnected(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let pulled = self.plug.pulled.notified();
            if self.is_connected() {
                pulled.await;
            }
        })
    }
}

/// A server that counts its runs: `bump` changes something, `look` is declared read-only, `set` idempotent.
fn counting() -> (Server, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let tool = |name: &str| {
        let runs = runs.clone();
        ToolEntry::from_fn(name.to_owned(), move || {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            async move { run.to_string() }
        })
    };
    let hints = toolway::types::ToolAnnotations::new;
    let server = Server::new("counting", "1.0.0")
        .tool(tool("bump"))
        .tool(tool("look").edit(|tool| tool.annotations = Some(hints().with_read_only_hint(true))))
        .tool(tool("set").edit(|tool| tool.annotations = Some(hints().with_idempotent_hint(true))))
        .build()
        .unwrap();
    (server, runs)
}

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE];

#[tokio::test(start_paused = true)]
async fn a_call_that_the_server_has_not_begun_is_sent_again() {
    for version in ERAS {
        for fault in [Fault::Unsent, Fault::Forgotten] {
            let (server, runs) = counting();
            let cable = Cable::to(&server);
            let client = Client::builder().protocol(version).connect(cable.target()).await.unwrap();
            cable.fails([fault, fault]);
            assert_eq!(client.call("bump", json!({})).await.unwrap().text().unwrap(), "1", "{fault:?}");
            assert_eq!(runs.load(Ordering::SeqCst), 1);
            assert_eq!(cable.reached(), 3);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_reply_is_lost_is_repeated_only_when_that_does_no_harm() {
    for version in ERAS {
        for (tool, said, repeats) in [
            ("bump", None, false),
            ("bump", Some(true), true),
            ("look", None, true),
            ("look", Some(false), false),
            ("set", None, true),
        ] {
            let (server, runs) = counting();
            let cable = Cable::to(&server);
            let client = Client::builder().protocol(version).connect(cable.target()).await.unwrap();
            client.tools().await.unwrap();
            cable.fails([Fault::ReplyLost]);
            let mut call = client.call(tool, json!({}));
            if let Some(safe) = said {
                call = call.safe_to_repeat(safe);
            }
            match call.await {
                Ok(result) => assert_eq!((result.text().unwrap().as_str(), repeats), ("2", true), "{tool}"),
                Err(error) => {
                    assert_eq!((error.is_reply_lost(), repeats), (true, false), "{tool}: {error:?}");
                }
            }
            assert_eq!(runs.load(Ordering::SeqCst), if repeats { 2 } else { 1 });
            // In both cases the next call reaches the server.
            client.call("bump", json!({})).await.unwrap();
        }
    }
}

/// The annotations of a tool are unknown until it was listed, and are not guessed.
#[tokio::test(start_paused = true)]
async fn a_tool_that_was_never_listed_is_not_called_twice() {
    let (server, runs) = counting();
    let cable = Cable::to(&server);
    let client = Client::connect(cable.target()).await.unwrap();
    cable.fails([Fault::ReplyLost]);
    assert!(client.call("look", json!({})).await.unwrap_err().is_reply_lost());
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn reading_is_always_repeated() {
    let (server, _) = counting();
    let cable = Cable::to(&server);
    let client = Client::connect(cable.target()).await.unwrap();
    cable.pull();
    assert!(!client.is_connected());
    assert_eq!(client.tools().await.unwrap().len(), 3);
    assert!(client.is_connected());
    cable.pull();
    client.ping().await.unwrap();
    assert_eq!(cable.reached(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_tried_six_times_and_then_named() {
    let (server, _) = counting();
    let cable = Cable::to(&server);
    let client = Client::connect(cable.target()).await.unwrap();
    cable.state.is_down.store(true, Ordering::SeqCst);
    cable.pull();
    let error = client.call("bump", json!({})).await.unwrap_err();
    assert_eq!(Chain(&error).to_string(), "failed to connect to the end of the cable: the cable is cut");
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!((2..=1 + 7).contains(&cable.reached()), "{}", cable.reached());
    // The next call reconnects.
    cable.state.is_down.store(false, Ordering::SeqCst);
    client.call("bump", json!({})).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn many_who_lost_the_server_open_one_connection() {
    let (server, runs) = counting();
    let cable = Cable::to(&server);
    let client = Client::connect(cable.target()).await.unwrap();
    cable.pull();
    let calls: Vec<_> = (0..50).map(|_| tokio::spawn(client.call("bump", json!({})))).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!((runs.load(Ordering::SeqCst), cable.reached()), (50, 2));
    // Nor do the calls try one after the other while the server is down.
    cable.state.is_down.store(true, Ordering::SeqCst);
    cable.pull();
    let calls: Vec<_> = (0..50).map(|_| tokio::spawn(client.call("bump", json!({})))).collect();
    for call in calls {
        assert!(call.await.unwrap().unwrap_err().is_unsent());
    }
    assert!(cable.reached() < 2 + 200, "{}", cable.reached());
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_is_told_what_the_old_one_knew() {
    #[resource("note://it")]
    fn note() -> &'static str {
        "a note"
    }
    #[tool]
    async fn chat(ctx: Ctx) -> &'static str {
        ctx.log().info("hello", json!({})).await;
        "done"
    }
    let server = Server::new("app", "1.0.0").tools(tools![chat]).resources(resources![note]).build().unwrap();
    for version in ERAS {
        let cable = Cable::to(&server);
        let client = Client::builder().protocol(version).connect(cable.target()).await.unwrap();
        client.set_log_level(LogLevel::Info).await.unwrap();
        let mut changes = client.watch(["note://it"]).await.unwrap();
        cable.pull();
        // Anything may have changed meanwhile.
        let mut told = vec![changes.next().await.unwrap(), changes.next().await.unwrap()];
        told.push(changes.next().await.unwrap());
        assert!(told.contains(&Change::Tools) && told.contains(&Change::Resource("note://it".to_owned())));
        let mut news = client.notifications();
        client.call("chat", json!({})).await.unwrap();
        assert!(matches!(
            std::iter::from_fn(|| news.try_next()).last(),
            Some(toolway::client::Notification::LogMessage(_))
        ));
        server.resource_updated("note://it");
        assert_eq!(changes.next().await, Some(Change::Resource("note://it".to_owned())));
    }
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_made_again_and_those_that_were_taken_back_are_not() {
    #[resource("note://{id}")]
    fn note(id: String) -> String {
        id
    }
    let server = Server::new("app", "1.0.0").resources(resources![note]).build().unwrap();
    let cable = Cable::to(&server);
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let client = builder.connect(cable.target()).await.unwrap();
    for id in ["note://1", "note://2"] {
        client.subscribe(id).await.unwrap();
    }
    client.unsubscribe("note://1").await.unwrap();
    cable.pull();
    cable.state.frames.lock().unwrap().clear();
    client.ping().await.unwrap();
    assert_eq!(cable.methods(), ["initialize", "notifications/initialized", "resources/subscribe", "ping"]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_does_not_come_back() {
    let (server, _) = counting();
    let cable = Cable::to(&server);
    let client = Client::connect(cable.target()).await.unwrap();
    client.clone().close().await.unwrap();
    assert!(!client.is_connected());
    let error = client.call("bump", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Cancelled, "the client is closed".to_owned()));
    assert_eq!(cable.reached(), 1);
}

/// A server of the handshake era only.
fn old() -> Server {
    Server::new("old", "1.0.0").eras([toolway::Era::Handshake]).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_a_probe_has_shown_is_believed_for_a_while() {
    let cable = Cable::to(&old());
    let eras = EraCache::new();
    let connect = || Client::builder().era_cache(&eras).connect(cable.target());
    let client = connect().await.unwrap();
    assert_eq!(cable.methods(), ["server/discover", "initialize", "notifications/initialized"]);
    cable.pull();
    cable.state.frames.lock().unwrap().clear();
    client.ping().await.unwrap();
    connect().await.unwrap();
    let opening = ["initialize", "notifications/initialized"];
    assert_eq!(cable.methods(), [&opening[..], &["ping"], &opening].concat());
    cable.state.frames.lock().unwrap().clear();
    tokio::time::advance(Duration::from_secs(10 * 60)).await;
    connect().await.unwrap();
    assert_eq!(cable.methods()[0], "server/discover");
}

/// The caller's members in `_meta` are sent, except names that are reserved for the protocol.
#[tokio::test]
async fn what_a_caller_has_in_meta_goes_along() {
    let (server, _) = counting();
    for version in ERAS {
        let cable = Cable::to(&server);
        let client = Client::builder().protocol(version).connect(cable.target()).await.unwrap();
        let reserved = "io.modelcontextprotocol/protocolVersion";
        client.call("bump", json!({})).meta("example.com/team", "docs").meta(reserved, "1").await.unwrap();
        let own =
            client.request("acme/x", json!({"_meta": {"a": 1}, "b": 2})).meta("c", 3).on_progress(|_| {});
        assert_eq!(own.await.unwrap_err().code().unwrap().0, -32601);
        let frames = cable.state.frames.lock().unwrap();
        let [.., call, own] = &frames[..] else { panic!("{frames:?}") };
        assert_eq!(call["params"]["_meta"]["example.com/team"], "docs");
        assert_ne!(call["params"]["_meta"][reserved], "1");
        let meta = &own["params"]["_meta"];
        assert_eq!((&meta["a"], &meta["c"], &own["params"]["b"]), (&json!(1), &json!(3), &json!(2)));
        assert_eq!(meta["progressToken"], own["id"]);
    }
}

/// A run that had begun when the connection broke may or may not have ended; this is unknown, so it is not retried.
#[tokio::test(start_paused = true)]
async fn each_call_runs_once_however_often_the_cable_is_pulled() {
    let ended = Arc::new(AtomicUsize::new(0));
    let counted = ended.clone();
    let runs = Arc::new(Mutex::new(std::collections::HashMap::<u64, usize>::new()));
    let noted = runs.clone();
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Which {
        number: u64,
    }
    let note = ToolEntry::from_fn("note", move |which: Which| {
        *noted.lock().unwrap().entry(which.number).or_default() += 1;
        async move { which.number.to_string() }
    });
    let server = Server::new("notes", "1.0.0")
        .tool(note)
        .on_request_end(move |_: RequestStats| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready(())
        })
        .build()
        .unwrap();
    let all = [Fault::Unsent, Fault::ReplyLost, Fault::Forgotten, Fault::Hangs];
    for version in ERAS {
        runs.lock().unwrap().clear();
        let cable = Cable::to(&server);
        let client = Client::builder().protocol(version).retries(20).connect(cable.target()).await.unwrap();
        cable.fails((0..300_usize).map(|number| all[(number * 7 + number / 5) % all.len()]));
        let calls: Vec<_> = (0..400_u64)
            .map(|number| {
                let call = client.call("note", json!({"number": number}));
                tokio::spawn(async move { (number, call.await) })
            })
            .collect();
        let mut lost = 0;
        for call in calls {
            let (number, outcome) = call.await.unwrap();
            let runs = runs.lock().unwrap().get(&number).copied().unwrap_or_default();
            match outcome {
                Ok(result) => assert_eq!((result.text().unwrap(), runs), (number.to_string(), 1)),
                Err(error) => {
                    assert!(error.is_reply_lost() && runs <= 1, "{number}: {runs} runs, {error:?}");
                    lost += 1;
                }
            }
        }
        assert!(lost > 0);
    }
    assert!(ended.load(Ordering::SeqCst) > 0);
}

/// A tool that does an effect, asks, and does another effect.
fn paying() -> (Server, Arc<AtomicUsize>) {
    #[derive(Form)]
    struct Sure {
        yes: bool,
    }
    let charged = Arc::new(AtomicUsize::new(0));
    let counter = charged.clone();
    let pay = ToolEntry::from_fn("pay", move |ctx: Ctx| {
        let counter = counter.clone();
        async move {
            let charge = async || Ok::<_, ToolError>(counter.fetch_add(1, Ordering::SeqCst) + 1);
            let number: usize = ctx.once("charge", charge).await?;
            let Sure { yes } = ctx.ask("Sure?").await?;
            Ok::<_, ToolError>(format!("{number} {yes}"))
        }
    });
    (Server::new("paying", "1.0.0").tool(pay).build().unwrap(), charged)
}

#[tokio::test(start_paused = true)]
async fn a_round_that_does_not_reach_the_server_is_sent_again_and_not_the_whole_call() {
    let (server, charged) = paying();
    let cable = Cable::to(&server);
    let asked = Arc::new(AtomicUsize::new(0));
    let (counter, faulty) = (asked.clone(), cable.clone());
    let client = Client::builder()
        .protocol(ProtocolVersion::LATEST)
        .on_elicit(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            // The first round is over; the second one hits these faults.
            faulty.fails([Fault::Unsent, Fault::Unsent]);
            std::future::ready(toolway::client::Answer::accept(json!({"yes": true})))
        })
        .connect(cable.target())
        .await
        .unwrap();
    let result = client.call("pay", json!({})).await.unwrap();
    assert_eq!(result.first_text(), Some("1 true"));
    assert_eq!(charged.load(Ordering::SeqCst), 1, "nobody pays twice");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "nobody is asked twice");
    assert_eq!(cable.reached(), 3);
}

/// A connection to the server that is currently there.
#[derive(Clone)]
struct Replaced(Arc<Mutex<Cable>>);

impl Connector for Replaced {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        let cable = self.0.lock().unwrap().clone();
        Box::pin(async move { cable.connect().await })
    }

    fn name(&self) -> String {
        "a server that is replaced".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_replaced_by_a_newer_one_is_found_again() {
    let of_era = |era| {
        let echo = ToolEntry::from_fn("echo", async || "here");
        Server::new("replaced", "1.0.0").eras([era]).tool(echo).build().unwrap()
    };
    let (old, new) = (of_era(Era::Handshake), of_era(Era::Stateless));
    let cable = Cable::to(&old);
    let way = Replaced(Arc::new(Mutex::new(cable.clone())));
    let client = Client::connect(Target::new(way.clone())).await.unwrap();
    assert_eq!(client.protocol_version(), ProtocolVersion::LATEST_HANDSHAKE);
    *way.0.lock().unwrap() = Cable::to(&new);
    cable.pull();
    // The remembered era is no longer right.
    assert_eq!(client.call("echo", json!({})).await.unwrap().first_text(), Some("here"));
    assert_eq!(client.protocol_version(), ProtocolVersion::LATEST);
}

/// A connection that opens when the test allows it.
#[derive(Clone)]
struct Slow {
    cable: Cable,
    open: Arc<tokio::sync::Semaphore>,
}

impl Connector for Slow {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        Box::pin(async {
            let reached = self.cable.connect();
            self.open.acquire().await.unwrap().forget();
            reached.await
        })
    }

    fn name(&self) -> String {
        "a server that starts slowly".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_wait_does_not_stop_the_opening() {
    let (server, runs) = counting();
    let slow = Slow { cable: Cable::to(&server), open: Arc::new(tokio::sync::Semaphore::new(1)) };
    let client = Client::connect(Target::new(slow.clone())).await.unwrap();
    slow.cable.pull();
    for _ in 0..3 {
        // Its own timeout applies even without a connection, and so does a timeout around it.
        let error = client.call("bump", json!({})).timeout(Duration::from_secs(2)).await.unwrap_err();
        assert!(error.is_timeout() && error.is_unsent(), "{error:?}");
        let call = client.call("bump", json!({}));
        tokio::time::timeout(Duration::from_secs(2), call).await.unwrap_err();
    }
    slow.open.add_permits(1);
    let result = client.call("bump", json!({})).await.unwrap();
    assert_eq!(result.first_text(), Some("1"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(slow.cable.reached(), 2, "it was opened once more, for all of them");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_opened_for_calls_of_a_client_that_was_closed() {
    let (server, _) = counting();
    let slow = Slow { cable: Cable::to(&server), open: Arc::new(tokio::sync::Semaphore::new(1)) };
    let client = Client::connect(Target::new(slow.clone())).await.unwrap();
    slow.cable.pull();
    let calls: Vec<_> = (0..10).map(|_| tokio::spawn(client.call("bump", json!({})).into_future())).collect();
    tokio::task::yield_now().await;
    client.close().await.unwrap();
    slow.open.add_permits(100);
    for call in calls {
        assert!(call.await.unwrap().unwrap_err().is_cancelled());
    }
    assert_eq!(slow.cable.reached(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_a_pipe_that_cannot_be_opened_again() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let server =
            Server::new("notes", "1.0.0").tool(ToolEntry::from_fn("note", || async {})).build().unwrap();
        let (near, far) = tokio::io::duplex(1 << 16);
        let serving = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            server.serve_io(reader, writer).await
        });
        let (reader, writer) = tokio::io::split(near);
        let client = Client::builder().protocol(version).connect_io(reader, writer).await.unwrap();
        let nothing: [&str; 0] = [];
        let mut changes = client.watch(nothing).await.unwrap();
        serving.abort();
        let rest = tokio::time::timeout(Duration::from_secs(3600), async {
            while changes.next().await.is_some() {}
        });
        assert!(rest.await.is_ok(), "{version}");
    }
}
