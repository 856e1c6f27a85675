//! What do the nodes do, and how do they come and go?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, Form};

use super::history::{Event, Fate, History};
use super::life::NodeLife;
use super::store::{NodeStore, SharedStore};
use crate::random::Random;

/// All nodes, and the balancer before them.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) history: History,
    pub(crate) store: Arc<SharedStore>,
    nodes: Arc<Mutex<Vec<Node>>>,
    started: Arc<AtomicUsize>,
}

/// One server.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) service: HttpService,
    pub(crate) life: Arc<NodeLife>,
}

/// What the tools of a node know.
#[derive(Clone)]
struct Workplace {
    history: History,
    life: Arc<NodeLife>,
}

impl Cluster {
    pub(crate) fn new(history: &History, store: &Arc<SharedStore>, nodes: usize) -> Self {
        let cluster = Self {
            history: history.clone(),
            store: store.clone(),
            nodes: Arc::default(),
            started: Arc::default(),
        };
        (0..nodes).for_each(|_| cluster.start(Duration::from_secs(1)));
        cluster
    }

    /// Adds a node.
    pub(crate) fn start(&self, grace: Duration) {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let life = Arc::new(NodeLife::new(number, &self.history));
        life.note(Fate::Started);
        let server = Server::new("cluster", "1.0.0")
            .state(Workplace { history: self.history.clone(), life: life.clone() })
            .tools(tools![work, peek, ask, hold, announce])
            .store(NodeStore { shared: self.store.clone(), life: life.clone() })
            .deadline(DEADLINE)
            .question_timeout(QUESTION_TIMEOUT)
            .build()
            .unwrap();
        let service =
            server.http().session_idle(SESSION_IDLE).kept_events(1024, 1 << 20, KEPT_FOR).grace(grace);
        self.nodes.lock().unwrap().push(Node { service, life });
    }

    /// Returns a node that accepts connections, if there is one.
    pub(crate) fn choose(&self, random: &mut Random) -> Option<Node> {
        let nodes = self.nodes.lock().unwrap();
        let draw = usize::try_from(random.below(NODES_DRAWN)).unwrap();
        nodes.get(draw % nodes.len().max(1)).cloned()
    }

    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.nodes.lock().unwrap().clone()
    }

    /// Takes a node away from the balancer.
    pub(crate) fn take(&self, node: &Node) {
        self.nodes.lock().unwrap().retain(|other| other.life.number != node.life.number);
    }

    /// Kills a node, without a farewell.
    pub(crate) fn kill(&self, node: &Node) {
        self.take(node);
        node.life.kill();
    }

    /// Stops a node as for a rolling restart: the balancer does not choose it any more, and what runs may finish.
    pub(crate) fn stop(&self, node: Node) -> BoxFuture<'static, ()> {
        self.take(&node);
        Box::pin(async move {
            node.life.note(Fate::Stopping);
            node.service.stop().await;
            // Replies that are complete reach their clients.
            sleep(Duration::from_millis(100)).await;
            node.life.stop();
        })
    }
}

/// Records that a handler runs, until it is dropped.
struct Run {
    place: Workplace,
    key: String,
}

impl Run {
    fn begin(place: &Workplace, key: &str) -> Self {
        let node = place.life.number;
        place.history.add(Event::Ran { key: key.to_owned(), node });
        Self { place: place.clone(), key: key.to_owned() }
    }

    /// Waits while the node is frozen. Fails if the node is dead.
    async fn pass(&self) -> Result<(), ToolError> {
        if self.place.life.passes().await { Ok(()) } else { Err(ToolError::new("the node is dead")) }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.place.life.is_dead() {
            self.place.history.add(Event::Left { key: self.key.clone(), node: self.place.life.number });
        }
    }
}

/// Returns the result of a call.
pub(crate) fn done(key: &str) -> String {
    format!("done {key}")
}

/// Works in steps, and reports each.
#[tool]
async fn work(
    key: String,
    steps: u64,
    pause: u64,
    place: State<Workplace>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    let run = Run::begin(&place, &key);
    for step in 1..=steps {
        sleep(Duration::from_millis(pause)).await;
        run.pass().await?;
        ctx.progress(step, steps, "").await;
    }
    sleep(Duration::from_millis(pause)).await;
    run.pass().await?;
    Ok(done(&key))
}

/// Changes nothing, so it may run twice.
#[tool(read_only)]
async fn peek(key: String) -> String {
    done(&key)
}

#[derive(Form)]
struct Word {
    word: String,
}

/// Asks, and has the answer.
#[tool]
async fn ask(key: String, place: State<Workplace>, ctx: Ctx) -> Result<String, ToolError> {
    let run = Run::begin(&place, &key);
    let asking = ctx.ask::<Word>(key.as_str());
    let Word { word } = tokio::select! {
        word = asking => word?,
        () = run.place.life.died() => return Err(ToolError::new("the node is dead")),
    };
    run.pass().await?;
    Ok(done(&word))
}

/// Reports one step, and waits until it is cancelled; not for ever, because a cancellation may overtake its request.
#[tool]
async fn hold(key: String, place: State<Workplace>, ctx: Ctx) -> String {
    let run = Run::begin(&place, &key);
    ctx.progress(1, 1, "").await;
    let _ = timeout(HELD_FOR, run.place.life.died()).await;
    let _ = run.pass().await;
    done(&key)
}

/// Announces that the list of tools has changed.
#[tool]
async fn announce(key: String, place: State<Workplace>, ctx: Ctx) -> String {
    let run = Run::begin(&place, &key);
    run.place.history.add(Event::Announced { node: run.place.life.number });
    ctx.server().tools_changed();
    done(&key)
}

/// The balancer draws one of so many, which all small numbers divide.
const NODES_DRAWN: u64 = 2 * 3 * 4 * 5 * 7;
/// Longer than a session may wait for the other one, whose calls are held at a node that is frozen meanwhile.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(240);
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(90);
const HELD_FOR: Duration = Duration::from_secs(100);
const DEADLINE: Duration = Duration::from_secs(300);
const QUESTION_TIMEOUT: Duration = Duration::from_secs(60);
