//! What do the processes of this server share, so that a client finds the same at each of them? The calls that wait, the
//! drafts of `wizard`, and the tools that were added while the server runs.
//!
//! They are in the store of the server. Without one they are in the memory of the process, in the same form.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::store::{Answer, Operation, Outcome, Step, Store, StoreError};

/// What this process knows of the others.
#[derive(Clone)]
pub(super) struct Shared(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    /// The name of this process, drawn at random.
    node: String,
    /// Numbers the calls and drafts of this process.
    next: AtomicU32,
    /// The tools that this process has added. Locked while they are compared with those in the store.
    tools: Mutex<BTreeSet<String>>,
}

impl Shared {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let node = format!("{:016x}", std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ()));
        Self(Arc::new(Inner { store, node, next: AtomicU32::new(0), tools: Mutex::default() }))
    }

    /// Counts a call that waits, until the returned value is dropped.
    pub(super) async fn begin_wait(&self) -> Result<Waiting, StoreError> {
        // It exists before the entry: the call may be cancelled while the store answers.
        let waiting = Waiting { shared: self.clone(), key: self.key() };
        self.run(Step::new().then(enter(WAITING, &waiting.key, ""))).await?;
        Ok(waiting)
    }

    /// Returns how many calls wait now.
    pub(super) async fn waiting(&self) -> Result<u32, StoreError> {
        self.count(WAITING).await
    }

    /// Returns how many calls have waited.
    pub(super) async fn waited(&self) -> Result<u32, StoreError> {
        self.count(WAITED).await
    }

    /// Counts a draft, and returns how many there were before.
    pub(super) async fn add_draft(&self) -> Result<u32, StoreError> {
        let step = Step::new().then(Operation::Entries(DRAFTS.into())).then(enter(DRAFTS, &self.key(), ""));
        Ok(count(&entries_in(self.run(step).await?)))
    }

    /// Returns how many drafts there are.
    pub(super) async fn drafts(&self) -> Result<u32, StoreError> {
        self.count(DRAFTS).await
    }

    /// Adds a tool to every process of the server.
    pub(super) async fn add_tool(&self, server: &Server, name: &str) -> Result<(), ToolError> {
        let mut tools = self.0.tools.lock().await;
        server.add_tool(newcomer(name)).map_err(|error| ToolError::new(error.to_string()))?;
        tools.insert(name.to_owned());
        self.tell_tools(&tools, enter(TOOLS, name, "")).await?;
        drop(tools);
        self.until_all(|tools| tools.contains(name)).await
    }

    /// Removes a tool from every process of the server. Returns whether it was there.
    pub(super) async fn remove_tool(&self, server: &Server, name: &str) -> Result<bool, ToolError> {
        let mut tools = self.0.tools.lock().await;
        let was_there = server.remove_tool(name);
        tools.remove(name);
        let leave = Operation::Leave { map: TOOLS.into(), key: name.to_owned().into(), value: None };
        self.tell_tools(&tools, leave).await?;
        drop(tools);
        self.until_all(|tools| !tools.contains(name)).await?;
        Ok(was_there)
    }

    /// Makes this process one of the server's, and gives it the tools that others add from now on.
    pub(super) async fn join(&self, server: &Server) -> Result<(), StoreError> {
        let mut told = self.0.store.subscribe(CHANGED).await?;
        self.catch_up(server).await?;
        let (shared, server) = (self.clone(), server.clone());
        tokio::spawn(async move {
            loop {
                told.next().await;
                if let Err(error) = shared.catch_up(&server).await {
                    eprintln!("the tools of the other processes are not known: {error}");
                }
            }
        });
        Ok(())
    }

    /// Adds and removes what others have, and says so.
    async fn catch_up(&self, server: &Server) -> Result<(), StoreError> {
        let mut tools = self.0.tools.lock().await;
        let stored = self.entries(TOOLS).await?;
        let stored: BTreeSet<String> = stored.into_iter().map(|(name, _)| name).collect();
        for name in stored.difference(&tools) {
            if let Err(error) = server.add_tool(newcomer(name)) {
                eprintln!("{error}");
            }
        }
        for name in tools.difference(&stored) {
            server.remove_tool(name);
        }
        *tools = stored;
        let publish = Operation::Publish { channel: CAUGHT_UP.into(), message: "".into() };
        self.run(Step::new().then(self.have(&tools)).then(publish)).await.map(drop)
    }

    /// Stores a change of the tools, which this process has made already, and tells the others.
    async fn tell_tools(&self, tools: &BTreeSet<String>, change: Operation) -> Result<(), StoreError> {
        let publish = Operation::Publish { channel: CHANGED.into(), message: "".into() };
        self.run(Step::new().then(change).then(self.have(tools)).then(publish)).await.map(drop)
    }

    /// Waits until the tools of every process are as they should be.
    async fn until_all(&self, is_right: impl Fn(&BTreeSet<&str>) -> bool) -> Result<(), ToolError> {
        let all = async {
            let mut caught_up = self.0.store.subscribe(CAUGHT_UP).await?;
            while !self.entries(NODES).await?.iter().all(|(_, tools)| is_right(&names_in(tools))) {
                caught_up.next().await;
            }
            Ok::<_, ToolError>(())
        };
        let late = |_| ToolError::new("a process of this server does not know of the change yet");
        tokio::time::timeout(LIMIT, all).await.map_err(late)?
    }

    /// The operation that says which tools this process has.
    fn have(&self, tools: &BTreeSet<String>) -> Operation {
        let names: Vec<&str> = tools.iter().map(String::as_str).collect();
        enter(NODES, &self.0.node, &names.join("\n"))
    }

    /// Returns a key that no other entry has.
    fn key(&self) -> String {
        format!("{} {}", self.0.node, self.0.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn count(&self, map: &'static str) -> Result<u32, StoreError> {
        Ok(count(&self.entries(map).await?))
    }

    async fn entries(&self, map: &'static str) -> Result<Vec<(String, String)>, StoreError> {
        Ok(entries_in(self.run(Step::new().then(Operation::Entries(map.into()))).await?))
    }

    async fn run(&self, step: Step) -> Result<Outcome, StoreError> {
        self.0.store.run(GROUP, &step).await
    }
}

/// A call that waits.
pub(super) struct Waiting {
    shared: Shared,
    key: String,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (shared, key) = (self.shared.clone(), std::mem::take(&mut self.key));
        // Without a runtime the process ends, and the call with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let leave = Operation::Leave { map: WAITING.into(), key: key.clone().into(), value: None };
            if let Err(error) = shared.run(Step::new().then(leave).then(enter(WAITED, &key, ""))).await {
                eprintln!("a call that has ended is not counted: {error}");
            }
        });
    }
}

/// A tool that says its name.
fn newcomer(name: &str) -> ToolEntry {
    let answer = format!("I am {name}");
    ToolEntry::from_fn(name, move || {
        let answer = answer.clone();
        async move { answer }
    })
}

fn enter(map: &'static str, key: &str, value: &str) -> Operation {
    Operation::Enter { map: map.into(), key: key.to_owned().into(), value: value.to_owned().into(), ttl: TTL }
}

fn entries_in(outcome: Outcome) -> Vec<(String, String)> {
    let Outcome::Done(answers) = outcome else { return Vec::new() };
    let entries = answers.into_iter().filter_map(|answer| match answer {
        Answer::Entries(entries) => Some(entries),
        _ => None,
    });
    entries.flatten().map(|(key, value)| (key, String::from_utf8_lossy(&value).into_owned())).collect()
}

fn count(entries: &[(String, String)]) -> u32 {
    u32::try_from(entries.len()).unwrap_or(u32::MAX)
}

fn names_in(tools: &str) -> BTreeSet<&str> {
    tools.lines().collect()
}

/// The group of all maps below.
const GROUP: &str = "everything";
const WAITING: &str = "waiting";
const WAITED: &str = "waited";
const DRAFTS: &str = "drafts";
/// The tools that were added.
const TOOLS: &str = "tools";
/// The processes, each with the added tools that it has.
const NODES: &str = "nodes";
/// The channel that tells processes to look at the tools.
const CHANGED: &str = "everything/changed";
/// The channel that tells that a process has looked.
const CAUGHT_UP: &str = "everything/caught-up";
/// How long entries are kept. A process that ended without a word is missed for as long.
const TTL: Duration = Duration::from_secs(60 * 60);
/// How long a change may take to reach every process.
const LIMIT: Duration = Duration::from_secs(4);
