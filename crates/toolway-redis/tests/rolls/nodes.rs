//! How is a node started, and replaced?

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpSocket;
use tokio::process::{Child, Command};

use crate::PATIENCE;

/// The nodes of a run.
pub(crate) struct Nodes {
    list: Vec<Node>,
    folder: PathBuf,
    store: String,
    /// How long a node serves on when it is asked to stop.
    lame_duck: Duration,
    format: Format,
}

struct Node {
    name: String,
    port: u16,
    /// Holds the port while no process does, without listening.
    _holder: TcpSocket,
    child: Option<Child>,
}

/// The format of the data that a node has been built for.
#[derive(Clone, Copy)]
enum Format {
    Former,
    Next,
}

impl Nodes {
    /// Starts the nodes. Their files are in a folder that is removed if the run succeeds.
    pub(crate) async fn start(store: String, lame_duck: Duration) -> Self {
        let folder = std::env::temp_dir().join(format!("toolway-rolls-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("gates")).unwrap();
        std::fs::write(folder.join("journal"), "").unwrap();
        let new_node = |number| {
            let (holder, port) = hold_port();
            Node { name: format!("node-{number}"), port, _holder: holder, child: None }
        };
        let list = (1..=NODES).map(new_node).collect();
        let mut started = Self { list, folder, store, lame_duck, format: Format::Former };
        for number in 0..NODES {
            started.start_node(number).await;
        }
        started
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn ports(&self) -> Vec<u16> {
        self.list.iter().map(|node| node.port).collect()
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    pub(crate) fn use_former_format(&mut self) {
        self.format = Format::Former;
    }

    pub(crate) fn use_next_format(&mut self) {
        self.format = Format::Next;
    }

    /// Asks a node to stop, waits until it has, and starts another one in its place.
    pub(crate) async fn replace(&mut self, number: usize) {
        let node = &mut self.list[number];
        let mut child = node.child.take().unwrap();
        // `wait` would close it, and a node without it ends at once.
        let _input = child.stdin.take();
        let id = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
        let status = ended.unwrap_or_else(|_| panic!("{} did not stop", node.name)).unwrap();
        assert!(status.success(), "{} ended with {status}", node.name);
        self.start_node(number).await;
    }

    async fn start_node(&mut self, number: usize) {
        let node = &mut self.list[number];
        let mut command = Command::new(program());
        command.args(["--port", &node.port.to_string(), "--store", &self.store, "--node", &node.name]);
        command.arg("--journal").arg(self.folder.join("journal"));
        command.arg("--gates").arg(self.folder.join("gates"));
        command.args(["--lame-duck", &self.lame_duck.as_millis().to_string()]);
        command.args(["--grace", GRACE, "--store-timeout", STORE_TIMEOUT]);
        if cfg!(feature = "test-format") {
            let number = match self.format {
                Format::Former => "1",
                Format::Next => "2",
            };
            command.args(["--format", number]);
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let reading = tokio::time::timeout(PATIENCE, output.read_line(&mut line));
        assert!(reading.await.is_ok_and(|read| read.unwrap() > 0), "{} did not start", node.name);
        node.child = Some(child);
    }

    /// Ends the nodes, and removes their files.
    pub(crate) async fn stop(mut self) {
        for node in &mut self.list {
            if let Some(mut child) = node.child.take() {
                child.kill().await.unwrap();
            }
        }
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// Draws a port, and holds it for programs that the test starts.
pub(crate) fn hold_port() -> (TcpSocket, u16) {
    let holder = TcpSocket::new_v4().unwrap();
    holder.set_reuseaddr(true).unwrap();
    holder.set_reuseport(true).unwrap();
    holder.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = holder.local_addr().unwrap().port();
    (holder, port)
}

/// The program of a node. Examples are built beside the tests: `target/PROFILE/deps/rolls-…` and
/// `target/PROFILE/examples/…`.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).map(Path::to_owned).unwrap().join("examples/cluster-fixture")
}

const NODES: usize = 3;
/// The milliseconds that running calls may take, which are slow on a busy machine.
const GRACE: &str = "60000";
/// The milliseconds that a visit to Redis may take, so that a busy machine is not taken for a Redis that is away.
const STORE_TIMEOUT: &str = "5000";
