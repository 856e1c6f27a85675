//! What do the clients do? Each makes calls, several at once, and gives some of them up; some watch the counter.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use toolway::ProtocolVersion;
use toolway::client::{Answer, Client, ClientBuilder, Elicitation, Http};

use crate::history::{End, Event};
use crate::http::FaultyHttp;
use crate::nemesis::Nemesis;
use crate::pipe;
use crate::random::Random;
use crate::world::{COUNTER, World};

/// One call, as its caller plans it.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Call {
    pub(crate) client: usize,
    /// Identifies the call in all events.
    pub(crate) key: String,
    pub(crate) tool: &'static str,
    pub(crate) steps: u64,
    /// Milliseconds before each step.
    pause: u64,
    pub(crate) finish: &'static str,
    /// Bytes that every message is longer.
    pub(crate) pad: usize,
    /// The caller gives the call up after this many milliseconds.
    pub(crate) drop_after: Option<u64>,
    /// The call times out after this many milliseconds of silence.
    pub(crate) timeout: Option<u64>,
}

impl Call {
    fn draw(client: usize, number: u64, random: &mut Random) -> Self {
        let finish = random.pick(&["ok", "ok", "ok", "ok", "release", "fail", "panic", "hang"]);
        // A call that hangs has to be given up.
        let gives_up = finish == "hang" || random.chance(20);
        Self {
            client,
            key: format!("{client}-{number}"),
            tool: random.pick(&["work", "work", "work", "look", "look", "ask", "announce"]),
            steps: random.pick(&[0, 0, 1, 3, 10]),
            pause: random.pick(&[0, 1, 20, 300]),
            finish,
            pad: random.pick(&[0, 0, 50, 700]),
            drop_after: gives_up.then(|| random.pick(&[0, 1, 5, 30, 200, 1000]) + random.below(20)),
            timeout: random.chance(10).then(|| random.between(50, 500)),
        }
    }

    /// A call that has to succeed because nothing goes wrong any more.
    fn last(client: usize) -> Self {
        Self {
            client,
            key: format!("{client}-last"),
            tool: "look",
            steps: 2,
            pause: 10,
            finish: "ok",
            pad: 0,
            drop_after: None,
            timeout: None,
        }
    }

    fn arguments(&self) -> Value {
        let Self { key, steps, pause, finish, pad, .. } = self;
        match self.tool {
            "ask" | "announce" => json!({"key": key, "pad": pad}),
            _ => json!({"key": key, "steps": steps, "pause": pause, "finish": finish, "pad": pad}),
        }
    }

    async fn make(self, client: Client, world: World) {
        let history = world.history.clone();
        history.add(Event::Called(self.clone()));
        let heard = Arc::new(());
        let kept = Arc::downgrade(&heard);
        let (log, key) = (history.clone(), self.key.clone());
        let exchange = client.call(self.tool, self.arguments()).on_progress(move |progress| {
            let _ = &heard;
            let step = progress.progress.to_string().parse().unwrap_or(u64::MAX);
            log.add(Event::Heard { key: key.clone(), step });
        });
        let exchange = match self.timeout {
            Some(millis) => exchange.timeout(Duration::from_millis(millis)),
            None => exchange,
        };
        let end = {
            let exchange = pin!(exchange);
            let result = match self.drop_after {
                Some(millis) => timeout(Duration::from_millis(millis), exchange).await.ok(),
                None => Some(exchange.await),
            };
            result.map_or(End::Dropped, |result| End::of(result.and_then(|result| result.text())))
        };
        history.add(Event::Ended { key: self.key.clone(), end });
        if kept.strong_count() > 0 {
            history.add(Event::Broken(format!("the client still waits for progress of {}", self.key)));
        }
    }
}

/// A transport and a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Pipe(ProtocolVersion),
    Http(ProtocolVersion),
}

impl Link {
    pub(crate) const ALL: [Self; 4] = [
        Self::Pipe(ProtocolVersion::LATEST),
        Self::Pipe(ProtocolVersion::LATEST_HANDSHAKE),
        Self::Http(ProtocolVersion::LATEST),
        Self::Http(ProtocolVersion::LATEST_HANDSHAKE),
    ];

    async fn connect(self, world: &World, nemesis: &Nemesis) -> Option<Client> {
        let connected = match self {
            Self::Pipe(version) => pipe::connect(builder(version), world, nemesis).await,
            Self::Http(version) => {
                let http = Http::new("http://localhost/mcp").with_client(FaultyHttp::new(world, nemesis));
                builder(version).connect_http(http).await
            }
        };
        let (link, is_ok) = (format!("{self:?}"), connected.is_ok());
        world.history.add(Event::Connected { client: nemesis.client, link, is_ok });
        connected.ok()
    }
}

/// The settings of a client that answers each question with the question.
fn builder(version: ProtocolVersion) -> ClientBuilder {
    Client::builder()
        .protocol(version)
        .on_elicit(|question: Elicitation| async move { Answer::accept(json!({"word": question.message()})) })
}

/// One client, from its first connection to its end.
pub(crate) struct Life {
    link: Link,
    world: World,
    nemesis: Nemesis,
    random: Random,
    client: Option<Client>,
    watcher: Option<Watcher>,
}

impl Life {
    pub(crate) fn new(number: usize, world: &World, random: &mut Random) -> Self {
        let mut random = random.split();
        Self {
            link: random.pick(&Link::ALL),
            world: world.clone(),
            nemesis: Nemesis::new(number, &world.history, random.split()),
            random,
            client: None,
            watcher: None,
        }
    }

    pub(crate) fn nemesis(&self) -> Nemesis {
        self.nemesis.clone()
    }

    /// Makes calls while things go wrong.
    pub(crate) async fn run(mut self) -> Self {
        let mut number = 0;
        for _ in 0..self.random.between(1, 4) {
            sleep(self.random.millis(0, 300)).await;
            let Some(client) = self.connected().await else { continue };
            if self.watcher.is_none() && self.random.chance(40) {
                self.watcher = Some(Watcher::start(&client, &self.world, self.nemesis.client));
            }
            let mut calls = JoinSet::new();
            for _ in 0..self.random.between(1, 4) {
                number += 1;
                let call = Call::draw(self.nemesis.client, number, &mut self.random);
                calls.spawn(call.make(client.clone(), self.world.clone()));
            }
            while calls.join_next().await.is_some() {}
        }
        self
    }

    /// Returns whether there is no client, or one that has lost its pipe and cannot open another.
    fn is_over(&self) -> bool {
        let is_over = |client: &Client| matches!(self.link, Link::Pipe(_)) && !client.is_connected();
        self.client.as_ref().is_none_or(is_over)
    }

    /// Returns the client, connected again if it cannot do that itself.
    async fn connected(&mut self) -> Option<Client> {
        if self.is_over() {
            self.watcher = None;
            self.client = self.link.connect(&self.world, &self.nemesis).await;
        }
        self.client.clone()
    }

    /// Works and knows the newest value, because nothing goes wrong any more. Then ends.
    pub(crate) async fn conclude(mut self) {
        let history = self.world.history.clone();
        let number = self.nemesis.client;
        let broken = |rule: String| history.add(Event::Broken(format!("client {number} {rule}")));
        if let Some(watcher) = &self.watcher
            && !watcher.state.is_over.load(Ordering::SeqCst)
        {
            let counter = self.world.counter.load(Ordering::SeqCst);
            if self.is_over() {
                broken("still watches through a pipe that is gone".to_owned());
            } else if watcher.state.last_seen.load(Ordering::SeqCst) != counter {
                broken(format!("missed that the counter is {counter}"));
            }
        }
        let Some(client) = self.connected().await else { return broken("cannot connect".to_owned()) };
        Call::last(number).make(client.clone(), self.world.clone()).await;
        self.watcher = None;
        self.client = None;
        match self.random.below(3) {
            // Drops the client, which tells the server.
            0 => {}
            // The server is not told, so it has to find out.
            1 => self.nemesis.vanish(),
            _ => {
                if let Err(error) = client.close().await {
                    broken(format!("cannot close: {error:?}"));
                }
            }
        }
    }
}

/// Reads the counter whenever it changes.
struct Watcher {
    state: Arc<WatchState>,
    _task: JoinSet<()>,
}

#[derive(Default)]
struct WatchState {
    last_seen: AtomicU64,
    /// The client has lost its pipe, or could not begin to watch.
    is_over: AtomicBool,
}

impl Watcher {
    fn start(client: &Client, world: &World, number: usize) -> Self {
        let state = Arc::<WatchState>::default();
        let (client, history, seen) = (client.clone(), world.history.clone(), state.clone());
        let watching = async move {
            let Ok(mut watch) = client.watch([COUNTER]).await else {
                return seen.is_over.store(true, Ordering::SeqCst);
            };
            loop {
                match client.read_resource(COUNTER).await {
                    Ok(read) => {
                        let value = read.text().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
                        seen.last_seen.store(value, Ordering::SeqCst);
                        history.add(Event::Saw { client: number, value });
                        if watch.next().await.is_none() {
                            return seen.is_over.store(true, Ordering::SeqCst);
                        }
                    }
                    Err(_) if client.is_connected() || client.target().starts_with("http") => {
                        sleep(Duration::from_millis(100)).await;
                    }
                    Err(_) => {
                        while watch.next().await.is_some() {}
                        return seen.is_over.store(true, Ordering::SeqCst);
                    }
                }
            }
        };
        Self { state, _task: [watching].into_iter().collect() }
    }
}
