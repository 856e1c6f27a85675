//! How do requests get to the nodes? Through HAProxy, as the guide "Several nodes" configures it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, UnixStream};
use tokio::process::Child;

use crate::eventually;
use crate::nodes::hold_port;

/// Returns whether there is no `haproxy`, and says once which test does not run then.
pub(crate) fn is_missing() -> bool {
    static IS_MISSING: LazyLock<bool> = LazyLock::new(|| {
        if program().is_some() {
            return false;
        }
        let text = "haproxy was not found, so no node was replaced under clients: apt-get install haproxy";
        assert!(std::env::var_os("TOOLWAY_REQUIRE_PROXIES").is_none(), "{text}");
        // Not `eprintln`, which is only shown for tests that fail.
        std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
        true
    });
    *IS_MISSING
}

/// Returns the path of the program. Debian installs it in a folder that is not on the `PATH` of every user.
fn program() -> Option<PathBuf> {
    let runs = |candidate: &PathBuf| {
        let found = Command::new(candidate).arg("-v").stdout(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    ["haproxy", "/usr/sbin/haproxy"].map(PathBuf::from).into_iter().find(runs)
}

/// A load balancer that ends with its test.
pub(crate) struct Balancer {
    child: Child,
    port: u16,
    /// Holds the port for as long as the balancer may listen there.
    _holder: TcpSocket,
    folder: PathBuf,
    nodes: usize,
}

impl Balancer {
    /// Starts it in front of the nodes with these ports, and waits until all of them get requests.
    pub(crate) async fn start(nodes: &[u16]) -> Self {
        let folder = std::env::temp_dir().join(format!("toolway-rolls-haproxy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (holder, port) = hold_port();
        let file = folder.join("haproxy.cfg");
        let control = folder.join("control");
        std::fs::write(&file, configuration(&control.display().to_string(), port, nodes)).unwrap();
        let child = tokio::process::Command::new(program().expect("it was found before"))
            .arg("-db")
            .arg("-f")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let balancer = Self { child, port, _holder: holder, folder, nodes: nodes.len() };
        balancer.wait_until_all_are_up().await;
        balancer
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Waits until all nodes get requests. An operator, or Kubernetes, waits for this before the next node is replaced.
    pub(crate) async fn wait_until_all_are_up(&self) {
        eventually("all nodes get requests", async || self.nodes_up().await == Some(self.nodes)).await;
    }

    /// Returns the number of nodes that pass their health checks, or `None` if the balancer does not answer yet.
    async fn nodes_up(&self) -> Option<usize> {
        let mut control = UnixStream::connect(self.folder.join("control")).await.ok()?;
        control.write_all(b"show stat\n").await.ok()?;
        let mut table = String::new();
        control.read_to_string(&mut table).await.ok()?;
        let is_up =
            |line: &&str| line.starts_with("nodes,node-") && line.split(',').nth(STATUS) == Some("UP");
        Some(table.lines().filter(is_up).count())
    }

    pub(crate) async fn stop(mut self) {
        self.child.kill().await.unwrap();
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// Returns the configuration of the guide, with checks that are as fast as the nodes of a test are replaced.
fn configuration(control: &str, port: u16, nodes: &[u16]) -> String {
    let guide = include_str!("../../../../docs/guide/several-nodes/haproxy.cfg");
    let mut text = format!("global\n    stats socket {control} level operator\n\n");
    for line in guide.lines() {
        match line.trim() {
            "bind :8080" => writeln!(text, "    bind 127.0.0.1:{port}").unwrap(),
            setting if setting.starts_with("default-server check inter 1s") => {
                writeln!(text, "{}", line.replace("inter 1s", "inter 100ms")).unwrap();
            }
            // The clients of the test share few cores, and some write their request long after they have connected.
            setting if setting.starts_with("timeout http-request ") => {
                writeln!(text, "    timeout http-request 5m").unwrap();
            }
            setting if setting.starts_with("server ") => {}
            _ => writeln!(text, "{line}").unwrap(),
        }
    }
    for (number, port) in (1..).zip(nodes) {
        writeln!(text, "    server node-{number} 127.0.0.1:{port}").unwrap();
    }
    text
}

/// The column of the status in the table of HAProxy.
const STATUS: usize = 17;
