//! How are nodes started, chosen for a request, and killed?

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, watch};

use crate::history::{Fact, History};
use crate::http::Connection;
use crate::random::Random;

/// The nodes of a run.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) history: History,
    pub(crate) nodes: Vec<Node>,
    folder: PathBuf,
    pub(crate) store: StoreAddress,
    /// The number of steps that clients have taken.
    steps: AtomicU64,
    /// The number of those that need the store.
    steps_in_sessions: AtomicU64,
    stepped: Notify,
    is_over: AtomicBool,
    /// How often the store began to forget, and how often it had forgotten: an odd number while it confirms what it forgets.
    pub(crate) doubts: AtomicU64,
    /// The sessions that were opened, for those who intrude.
    pub(crate) sessions: Mutex<Vec<KnownSession>>,
    /// The principals of the conversations of 2024-11-05 that were opened, and where their POSTs go.
    pub(crate) pipes: Mutex<Vec<(&'static str, String)>>,
}

/// The store of the nodes.
#[derive(Debug, Clone)]
pub(crate) struct StoreAddress {
    pub(crate) url: String,
    /// The number of replicas that must have a change.
    pub(crate) replicas: u32,
    /// The store forgets changes that no server writes again.
    pub(crate) is_forgetful: bool,
}

impl From<String> for StoreAddress {
    fn from(url: String) -> Self {
        Self { url, replicas: 0, is_forgetful: false }
    }
}

/// A session, as its client knows it.
#[derive(Debug, Clone)]
pub(crate) struct KnownSession {
    pub(crate) principal: &'static str,
    pub(crate) id: String,
    pub(crate) last_event: Option<String>,
}

/// A server process, which may be dead.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    port: u16,
    /// How many seconds its clock is ahead.
    clock_ahead: i32,
    /// Holds the port while the process is dead, without listening.
    _holder: TcpSocket,
    child: tokio::sync::Mutex<Option<Child>>,
    is_healthy: AtomicBool,
    /// How often the node was taken out of service without being killed.
    service: watch::Sender<u64>,
    /// How often the node died, or seemed to.
    deaths: AtomicU64,
    /// The number of calls that were sent to the node and have not ended.
    pub(crate) calls: AtomicU64,
}

impl Cluster {
    /// Starts the nodes, whose clocks are so many seconds ahead. Their files are in a folder that is removed if the run
    /// succeeds.
    pub(crate) async fn start(name: &str, store: StoreAddress, clocks: [i32; NODES]) -> Self {
        let folder = std::env::temp_dir().join(format!("toolway-nodes-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("gates")).unwrap();
        std::fs::write(folder.join("journal"), "").unwrap();
        let history = History::new(folder.join("history.jsonl"));
        let nodes =
            (1..).zip(clocks).map(|(number, ahead)| Node::new(format!("node-{number}"), ahead)).collect();
        let cluster = Self {
            history,
            nodes,
            folder,
            store,
            steps: AtomicU64::new(0),
            steps_in_sessions: AtomicU64::new(0),
            stepped: Notify::new(),
            is_over: AtomicBool::new(false),
            doubts: AtomicU64::new(0),
            sessions: Mutex::default(),
            pipes: Mutex::default(),
        };
        for node in &cluster.nodes {
            cluster.start_node(node).await;
        }
        cluster
    }

    async fn start_node(&self, node: &Node) {
        let log = self.folder.join(format!("{}.log", node.name));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut program = Command::new(program());
        if node.clock_ahead != 0 {
            // What measures how long something takes stays right.
            program.env("LD_PRELOAD", clock_library().expect("looked for before"));
            program
                .env("FAKETIME", format!("{:+}", node.clock_ahead))
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let mut child = program
            .args(["--port", &node.port.to_string(), "--node", &node.name])
            .args(["--clock-ahead", &node.clock_ahead.to_string()])
            .args(["--store", &self.store.url, "--replicas", &self.store.replicas.to_string()])
            .arg("--journal")
            .arg(self.journal())
            .arg("--gates")
            .arg(self.folder.join("gates"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let reading = tokio::time::timeout(START_TIME, output.read_line(&mut line));
        assert!(reading.await.is_ok_and(|read| read.unwrap() > 0), "{} did not start", node.name);
        assert!(tells_time(&line, node.clock_ahead), "{} has another clock: {line}", node.name);
        *node.child.lock().await = Some(child);
        node.is_healthy.store(true, Ordering::Release);
        self.history.write(Fact::Listening { node: node.name.clone() });
    }

    /// Kills a node without a warning, and starts it again.
    pub(crate) async fn kill(&self, number: usize) {
        let node = &self.nodes[number];
        let child = node.child.lock().await.take();
        let mut child = child.unwrap();
        self.history.write(Fact::Killed { node: node.name.clone() });
        child.start_kill().unwrap();
        node.deaths.fetch_add(1, Ordering::AcqRel);
        node.is_healthy.store(false, Ordering::Release);
        child.wait().await.unwrap();
        self.start_node(node).await;
    }

    /// Stops a node for a while, so that the others take it for dead.
    pub(crate) async fn freeze(&self, number: usize, time: Duration) {
        let node = &self.nodes[number];
        let child = node.child.lock().await;
        let id = child.as_ref().and_then(Child::id).unwrap();
        let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        self.history.write(Fact::Frozen { node: node.name.clone() });
        kill_process(id, Signal::STOP).unwrap();
        node.deaths.fetch_add(1, Ordering::AcqRel);
        node.is_healthy.store(false, Ordering::Release);
        node.service.send_modify(|number| *number += 1);
        tokio::time::sleep(time).await;
        kill_process(id, Signal::CONT).unwrap();
        node.is_healthy.store(true, Ordering::Release);
        self.history.write(Fact::Listening { node: node.name.clone() });
    }

    /// Chooses a healthy node for a request, and connects to it.
    pub(crate) async fn connect(&self, random: &Mutex<Random>) -> (&Node, Connection) {
        loop {
            let node = &self.nodes[random.lock().unwrap().below(self.nodes.len())];
            if let Some(connection) = node.connect().await {
                return (node, connection);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Counts a step of a client.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::AcqRel);
        self.stepped.notify_waiters();
    }

    /// Counts a step of a client that needs the store.
    pub(crate) fn step_in_session(&self) {
        self.steps_in_sessions.fetch_add(1, Ordering::AcqRel);
        self.step();
    }

    /// Waits until clients have taken so many more steps.
    pub(crate) async fn wait_for_steps(&self, steps: u64) {
        self.wait_until_more(&self.steps, steps).await;
    }

    /// Waits until clients have taken so many more steps that need the store. A store that fails again before its clients
    /// have recovered would keep some of them from ever taking a step.
    pub(crate) async fn wait_for_steps_in_sessions(&self, steps: u64) {
        self.wait_until_more(&self.steps_in_sessions, steps).await;
    }

    async fn wait_until_more(&self, counter: &AtomicU64, steps: u64) {
        let goal = counter.load(Ordering::Acquire) + steps;
        loop {
            let stepped = self.stepped.notified();
            if counter.load(Ordering::Acquire) >= goal {
                return;
            }
            stepped.await;
        }
    }

    /// Waits until a node runs several calls. Returns its number.
    pub(crate) async fn wait_for_calls(&self) -> usize {
        loop {
            let is_busy = |node: &Node| node.calls.load(Ordering::Acquire) >= BUSY;
            match self.nodes.iter().position(is_busy) {
                Some(number) => return number,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Returns whether the store may have forgotten a change since a moment, at which it had this number of doubts.
    pub(crate) fn is_doubtful_since(&self, doubts: u64) -> bool {
        doubts % 2 == 1 || self.doubts.load(Ordering::Acquire) != doubts
    }

    /// Returns whether the nodes disagree about the time.
    pub(crate) fn has_clocks_apart(&self) -> bool {
        self.nodes.iter().any(|node| node.clock_ahead != 0)
    }

    /// Lets the clients come to an end.
    pub(crate) fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Returns the path of the gate of a call.
    pub(crate) fn gate(&self, call: &str) -> PathBuf {
        self.folder.join("gates").join(call)
    }

    /// Ends the nodes, and removes their files unless they are needed to find a mistake.
    pub(crate) async fn stop(self, keeps_files: bool) {
        for node in &self.nodes {
            if let Some(mut child) = node.child.lock().await.take() {
                child.kill().await.unwrap();
            }
        }
        if !keeps_files {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }
}

impl Node {
    fn new(name: String, clock_ahead: i32) -> Self {
        let holder = TcpSocket::new_v4().unwrap();
        holder.set_reuseaddr(true).unwrap();
        holder.set_reuseport(true).unwrap();
        holder.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self {
            name,
            port: holder.local_addr().unwrap().port(),
            clock_ahead,
            _holder: holder,
            child: tokio::sync::Mutex::default(),
            is_healthy: AtomicBool::new(false),
            service: watch::Sender::new(0),
            deaths: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        }
    }

    /// Connects to the node, if it is healthy.
    pub(crate) async fn connect(&self) -> Option<Connection> {
        if !self.is_healthy.load(Ordering::Acquire) {
            return None;
        }
        let service = self.service.subscribe();
        let stream = BufReader::new(TcpStream::connect(("127.0.0.1", self.port)).await.ok()?);
        Some(Connection { stream, service })
    }

    /// Returns how often the node died, or seemed to.
    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::Acquire)
    }
}

/// The program of a node. Examples are built beside the tests: `target/PROFILE/deps/nodes-…` and
/// `target/PROFILE/examples/…`.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).map(Path::to_owned).unwrap().join("examples/cluster-fixture")
}

/// Returns whether a node that says on which port it listens, and at which time, has this clock.
fn tells_time(line: &str, ahead: i32) -> bool {
    let said: u64 = line.rsplit(' ').next().unwrap().trim().parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    said.abs_diff(now.saturating_add_signed(ahead.into())) < START_TIME.as_secs()
}

/// The library that gives a process another clock, if it is installed.
pub(crate) fn clock_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists())
}

/// The number of nodes.
pub(crate) const NODES: usize = 3;
/// The number of calls of a busy node.
const BUSY: u64 = 5;
/// How long a node may take to start.
const START_TIME: Duration = Duration::from_secs(60);
