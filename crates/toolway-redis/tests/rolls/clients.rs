//! What do clients do, and what do they notice?

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use toolway::ProtocolVersion;
use toolway::client::Watch;
use toolway::prelude::*;

use crate::random::Random;
use crate::{PATIENCE, eventually};

/// The clients of a run.
pub(crate) struct Clients {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
    connected: Vec<(Client, usize)>,
}

struct Shared {
    calls: AtomicU64,
    called: Notify,
    is_over: AtomicBool,
    /// The number of changes that each client was told of.
    news: Vec<AtomicU64>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    /// The keys of calls that had the right result.
    succeeded: Vec<String>,
    failures: Vec<String>,
    /// Clients whose session is another one than at the start.
    lost_sessions: Vec<String>,
}

/// What a run has shown.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The number of calls that were written to the journal and had the right result.
    succeeded: usize,
    failures: Vec<String>,
    lost_sessions: Vec<String>,
    /// Calls that did not run, or more than once, with the number of times.
    not_once: Vec<(String, usize)>,
}

impl Verdict {
    pub(crate) fn is_good(&self) -> bool {
        let mistakes = self.failures.len() + self.lost_sessions.len() + self.not_once.len();
        // Without calls the run would have shown nothing.
        mistakes == 0 && self.succeeded > 0
    }
}

impl Clients {
    /// Connects so many clients, all at the same time, and lets them call.
    pub(crate) async fn connect(url: &str, number: usize, longest_pause: Duration) -> Self {
        let shared = Arc::new(Shared {
            calls: AtomicU64::new(0),
            called: Notify::new(),
            is_over: AtomicBool::new(false),
            news: (0..number).map(|_| AtomicU64::new(0)).collect(),
            notes: Mutex::default(),
        });
        let mut connecting = JoinSet::new();
        for number in 0..number {
            let url = url.to_owned();
            connecting.spawn(async move { (open(&url, number).await, number) });
        }
        let mut connected = Vec::new();
        let mut tasks = JoinSet::new();
        let mut refused = Vec::new();
        while let Some(opened) = connecting.join_next().await {
            match opened.unwrap() {
                (Ok((client, watch, session)), number) => {
                    tasks.spawn(listen(shared.clone(), watch, number));
                    tasks.spawn(call(shared.clone(), client.clone(), number, session, longest_pause));
                    connected.push((client, number));
                }
                (Err(error), number) => refused.push(format!("client {number}: {error:?}")),
            }
        }
        assert!(refused.is_empty(), "{} clients could not connect: {refused:#?}", refused.len());
        Self { shared, tasks, connected }
    }

    pub(crate) fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::Acquire)
    }

    /// Returns what has failed so far.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.shared.notes.lock().unwrap().failures.clone()
    }

    /// Waits until clients have made so many more calls.
    pub(crate) async fn wait_for_calls(&self, number: usize) {
        let goal = self.calls() + number as u64;
        loop {
            let called = self.shared.called.notified();
            if self.calls() >= goal {
                return;
            }
            called.await;
        }
    }

    /// Changes the resources that clients watch, and waits until each client was told.
    pub(crate) async fn expect_news(&self) {
        let told = |number: usize| self.shared.news[number].load(Ordering::Acquire);
        let before: Vec<_> = (0..self.shared.news.len()).map(told).collect();
        for principal in 0..PRINCIPALS.len() {
            let (client, _) =
                self.connected.iter().find(|(_, number)| number % PRINCIPALS.len() == principal).unwrap();
            client.call("touch", json!({ "key": "touch" })).await.unwrap();
        }
        eventually("all clients are told of a change", async || {
            (0..before.len()).all(|number| told(number) > before[number])
        })
        .await;
    }

    /// Lets the clients come to an end, and judges.
    pub(crate) async fn finish(mut self, journal: &Path) -> Verdict {
        self.shared.is_over.store(true, Ordering::Release);
        // The listeners end when the last handle of their client is dropped.
        self.connected.clear();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
        let notes = std::mem::take(&mut *self.shared.notes.lock().unwrap());
        let mut runs: HashMap<String, usize> = HashMap::new();
        for line in std::fs::read_to_string(journal).unwrap().lines() {
            let mut words = line.split('\t');
            assert_eq!(words.next(), Some("run"), "{line}");
            *runs.entry(words.next().unwrap().to_owned()).or_default() += 1;
        }
        runs.remove("touch");
        let never = notes.succeeded.iter().filter(|key| !runs.contains_key(*key));
        let mut not_once: Vec<_> = never.map(|key| (key.clone(), 0)).collect();
        not_once.extend(runs.into_iter().filter(|(_, times)| *times > 1));
        Verdict {
            succeeded: notes.succeeded.len(),
            failures: notes.failures,
            lost_sessions: notes.lost_sessions,
            not_once,
        }
    }
}

/// Opens a client that watches a resource. Returns the id of its session, too.
async fn open(url: &str, number: usize) -> Result<(Client, Watch, String), toolway::Error> {
    let principal = principal_of(number);
    let builder = Client::builder().protocol(revision_of(number)).bearer(principal);
    let client = builder.connect_timeout(PATIENCE).timeout(PATIENCE).connect_http(url).await?;
    let watch = client.watch([format!("news://{principal}")]).await?;
    let session = client.call("session", json!({})).await?.text()?;
    Ok((client, watch, session))
}

/// Counts the changes that a client is told of.
async fn listen(shared: Arc<Shared>, mut watch: Watch, number: usize) {
    while watch.next().await.is_some() {
        shared.news[number].fetch_add(1, Ordering::AcqRel);
    }
}

/// Calls tools until the run is over.
async fn call(shared: Arc<Shared>, client: Client, number: usize, session: String, longest_pause: Duration) {
    let mut random = Random::new(SEED, number as u64);
    let principal = principal_of(number);
    let who = format!("client {number} ({})", revision_of(number));
    let longest = usize::try_from(longest_pause.as_millis()).unwrap();
    for count in 0.. {
        let is_last = shared.is_over.load(Ordering::Acquire);
        let key = format!("{number}-{count}");
        // The last call is the one that tells whether the session is the same.
        let (tool, arguments, expected) = match random.below(10) {
            _ if is_last => ("session", json!({}), session.clone()),
            0 => ("session", json!({}), session.clone()),
            // Some are still running when their node has served for long enough.
            1 => {
                ("tell", json!({ "key": key, "steps": 1 + random.below(25) }), format!("{key} <{principal}>"))
            }
            _ => ("note", json!({ "key": key }), format!("{key} <{principal}>")),
        };
        let outcome = client.call(tool, arguments).await.and_then(|result| result.text());
        shared.calls.fetch_add(1, Ordering::AcqRel);
        shared.called.notify_waiters();
        {
            let mut notes = shared.notes.lock().unwrap();
            match outcome {
                // The transport of 2024-11-05 has a session for each connection, which no header names.
                Ok(text) if tool == "session" && text != expected => {
                    notes.lost_sessions.push(format!("{who}: {expected:?} became {text:?}"));
                }
                Ok(text) if text != expected => {
                    notes.failures.push(format!("{who}: {text:?} for {expected:?}"));
                }
                Ok(_) if tool == "session" => {}
                Ok(_) => notes.succeeded.push(key),
                Err(error) => notes.failures.push(format!("{who}, {tool} {key}: {error:?}")),
            }
        }
        if is_last {
            return;
        }
        tokio::time::sleep(Duration::from_millis(random.below(longest) as u64)).await;
    }
}

fn principal_of(number: usize) -> &'static str {
    PRINCIPALS[number % PRINCIPALS.len()]
}

/// Clients of each principal have all revisions, because their numbers have no common divisor.
fn revision_of(number: usize) -> ProtocolVersion {
    REVISIONS[number % REVISIONS.len()]
}

/// The principals of the nodes.
const PRINCIPALS: [&str; 2] = ["principal-one", "principal-two"];
const REVISIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];
const SEED: u64 = 20_260_728;
