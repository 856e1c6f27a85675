//! The server: its tools record what they do, and each of its nodes can be replaced by the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::SetOnce;
use tokio::time::sleep;
use toolway::prelude::*;
use toolway::server::TerminationEvent;
use toolway::server::http::HttpService;
use toolway::store::MemoryStore;
use toolway::{BoxFuture, Form};

use crate::harness::PANIC;
use crate::history::{Event, History};
use crate::random::Random;

/// The resource that tools change and clients watch.
pub(crate) const COUNTER: &str = "counter://value";

pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(100);
const KEPT_FOR: Duration = Duration::from_secs(30);
const SEAL_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What the tools of all nodes share.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) history: History,
    pub(crate) counter: Arc<AtomicU64>,
    pub(crate) store: Arc<MemoryStore>,
    nodes: Arc<Mutex<Vec<Node>>>,
    /// `false` while no node accepts connections.
    is_up: Arc<Mutex<bool>>,
    departures: Arc<Mutex<Vec<Departure>>>,
}

/// A connection that is about to be opened: its client, its purpose, and what it does.
type Departure = (usize, String, BoxFuture<'static, ()>);

/// One server of the succession. All share a store.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) server: Server,
    pub(crate) service: HttpService,
    /// Set when all connections to this node break.
    gone: Arc<SetOnce<()>>,
}

impl Node {
    pub(crate) async fn gone(&self) {
        self.gone.wait().await;
    }
}

impl World {
    pub(crate) fn new(history: &History, random: &mut Random) -> Self {
        let world = Self {
            history: history.clone(),
            counter: Arc::default(),
            store: Arc::default(),
            nodes: Arc::default(),
            is_up: Arc::new(Mutex::new(true)),
            departures: Arc::default(),
        };
        world.start(random);
        world
    }

    /// Adds a node, which gets all connections from now on.
    fn start(&self, random: &mut Random) {
        let server = Server::new("simulated", "1.0.0")
            .state(self.clone())
            .tools(tools![work, look, ask, announce])
            .resources(resources![counter])
            .store(self.store.clone())
            .seal_keys([SEAL_KEY])
            // These end handlers whose callers cannot tell that they have given up.
            .deadline(DEADLINE)
            .question_timeout(DEADLINE)
            // With this hook the server looks for expired sessions by itself.
            .on_terminate(|_: TerminationEvent| async {})
            .build()
            .unwrap();
        let service = server
            .http()
            .session_idle(SESSION_IDLE)
            .kept_events(1024, 1 << 20, KEPT_FOR)
            .retry(random.millis(0, 500))
            .grace(random.millis(0, 3000));
        let node = Node { server, service, gone: Arc::default() };
        self.nodes.lock().unwrap().push(node);
    }

    /// Returns the node that accepts connections, if there is one.
    pub(crate) fn node(&self) -> Option<Node> {
        if *self.is_up.lock().unwrap() { self.nodes.lock().unwrap().last().cloned() } else { None }
    }

    /// Opens a connection. Those of one millisecond are opened in the order of clients and purposes: a watch channel of
    /// tokio wakes its receivers in random order, so a client may open several at the same moment in any order.
    pub(crate) fn depart(&self, client: usize, purpose: String, connection: BoxFuture<'static, ()>) {
        let mut departures = self.departures.lock().unwrap();
        departures.push((client, purpose, connection));
        if departures.len() == 1 {
            let departures = self.departures.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(1)).await;
                let mut all = std::mem::take(&mut *departures.lock().unwrap());
                all.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
                for (_, _, connection) in all {
                    tokio::spawn(connection);
                }
            });
        }
    }

    pub(crate) fn take_nodes(&self) -> Vec<Node> {
        std::mem::take(&mut self.nodes.lock().unwrap())
    }

    /// Shuts the current node down, and starts the next after a while.
    pub(crate) async fn restart(&self, random: &mut Random) {
        let Some(node) = self.node() else { return };
        *self.is_up.lock().unwrap() = false;
        self.history.add(Event::Restarted);
        let stopping = async {
            node.service.stop().await;
            let _ = node.gone.set(());
        };
        let starting = async {
            sleep(random.millis(0, 2000)).await;
            self.start(random);
            *self.is_up.lock().unwrap() = true;
        };
        tokio::join!(biased; stopping, starting);
    }
}

/// Records that a handler runs, until it is dropped.
struct Run {
    history: History,
    key: String,
    is_done: bool,
}

impl Run {
    fn begin(world: &World, key: &str) -> Self {
        world.history.add(Event::Ran { key: key.to_owned() });
        Self { history: world.history.clone(), key: key.to_owned(), is_done: false }
    }

    fn finish(mut self, pad: usize) -> String {
        self.is_done = true;
        done(&self.key, pad)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.history.add(Event::Left { key: self.key.clone(), is_done: self.is_done });
    }
}

/// Returns the result of a call.
pub(crate) fn done(key: &str, pad: usize) -> String {
    format!("done {key} {}", "x".repeat(pad))
}

/// Works in steps, reports each, and ends as it is told.
#[tool]
async fn work(
    key: String,
    steps: u64,
    pause: u64,
    finish: String,
    pad: usize,
    world: State<World>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    run(Run::begin(&world, &key), steps, pause, &finish, pad, &ctx).await
}

/// The same, and may be repeated.
#[tool(read_only)]
async fn look(
    key: String,
    steps: u64,
    pause: u64,
    finish: String,
    pad: usize,
    world: State<World>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    run(Run::begin(&world, &key), steps, pause, &finish, pad, &ctx).await
}

async fn run(
    run: Run,
    steps: u64,
    pause: u64,
    finish: &str,
    pad: usize,
    ctx: &Ctx,
) -> Result<String, ToolError> {
    for step in 1..=steps {
        sleep(Duration::from_millis(pause)).await;
        ctx.progress(step, steps, "x".repeat(pad)).await;
        if finish == "release" && step == steps.div_ceil(2) {
            ctx.release_stream(Duration::from_millis(pause)).await;
        }
        ctx.log().info("work", json!({"step": step})).await;
    }
    match finish {
        "fail" => Err(ToolError::new(format!("failed {}", run.key))),
        "panic" => panic!("{PANIC}"),
        "hang" => std::future::pending().await,
        _ => Ok(run.finish(pad)),
    }
}

#[derive(Form)]
struct Word {
    word: String,
}

/// Has an effect, asks, and has the answer.
#[tool]
async fn ask(key: String, pad: usize, world: State<World>, ctx: Ctx) -> Result<String, ToolError> {
    let run = Run::begin(&world, &key);
    let effect = || async { world.history.add(Event::Effect { key: key.clone() }) };
    ctx.once_value("effect", effect).await?;
    let Word { word } = ctx.ask(key.as_str()).await?;
    if word != key {
        return Err(ToolError::new(format!("{key} got the answer {word}")));
    }
    Ok(run.finish(pad))
}

/// Changes the counter and announces it.
#[tool]
async fn announce(key: String, pad: usize, world: State<World>, ctx: Ctx) -> String {
    let run = Run::begin(&world, &key);
    world.counter.fetch_add(1, Ordering::SeqCst);
    ctx.server().resource_updated(COUNTER);
    run.finish(pad)
}

/// The counter.
#[resource("counter://value")]
fn counter(world: State<World>) -> String {
    world.counter.load(Ordering::SeqCst).to_string()
}
