//! The four wires: how the server is started on each, and how a client finds it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpSocket;
use tokio::sync::watch;
use toolway::ProtocolVersion;
use toolway::client::{ClientBuilder, Command};
use toolway::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    StdioHandshake,
    StdioStateless,
    HttpSession,
    HttpStateless,
}

impl Wire {
    pub(crate) fn is_http(self) -> bool {
        matches!(self, Self::HttpSession | Self::HttpStateless)
    }

    /// A client of this wire's era. The timeout is long enough for a busy machine; the retries last until the next
    /// server has started.
    pub(crate) fn builder(self) -> ClientBuilder {
        let version = match self {
            Self::StdioHandshake | Self::HttpSession => ProtocolVersion::LATEST_HANDSHAKE,
            Self::StdioStateless | Self::HttpStateless => ProtocolVersion::LATEST,
        };
        Client::builder().protocol(version).timeout(Duration::from_secs(60)).retries(30)
    }
}

/// The settings of a server: the file that counts runs, the gate, and a mark to find its process.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
}

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("toolway-kills-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("ledger"), "").unwrap();
        Self { folder }
    }

    pub(crate) fn gate(&self) -> PathBuf {
        self.folder.join("gate")
    }

    /// Returns the calls that were run, once for each run.
    pub(crate) fn runs(&self) -> Vec<String> {
        let ledger = std::fs::read_to_string(self.folder.join("ledger")).unwrap();
        ledger.lines().map(str::to_owned).collect()
    }

    fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("TOOLWAY_LEDGER", self.folder.join("ledger")), ("TOOLWAY_GATE", self.gate())]
    }

    /// A server that the client starts.
    pub(crate) fn command(&self) -> Command {
        Command::new(program()).arg("stdio").envs(self.environment())
    }

    /// Returns the server processes of this place that have not ended.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = format!("TOOLWAY_GATE={}", self.gate().display());
        let is_ours = |path: &Path| {
            // The entry may be gone, of another user, or not a process.
            let environment = std::fs::read(path.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let entries = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| is_ours(path)).map(|path| path.display().to_string()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts a server that listens, and restarts it whenever it ends.
pub(crate) struct Keeper {
    pub(crate) address: SocketAddr,
    /// The number of servers that have listened so far.
    pub(crate) births: watch::Receiver<u64>,
    keeping: tokio::task::JoinHandle<()>,
    stop: tokio::sync::oneshot::Sender<()>,
}

impl Keeper {
    pub(crate) async fn start(place: &Place) -> Self {
        // Held all the time, but only servers listen on it: a connection while none runs is refused.
        let holder = TcpSocket::new_v4().unwrap();
        holder.set_reuseaddr(true).unwrap();
        holder.set_reuseport(true).unwrap();
        holder.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = holder.local_addr().unwrap();
        let (born, mut births) = watch::channel(0);
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let environment = place.environment();
        let keeping = tokio::spawn(async move {
            let _holder = holder;
            loop {
                let mut server = tokio::process::Command::new(program())
                    .arg("http")
                    .arg(address.port().to_string())
                    .envs(environment.clone())
                    .stdout(Stdio::piped())
                    .kill_on_drop(true)
                    .spawn()
                    .unwrap();
                let mut words = String::new();
                let mut output = BufReader::new(server.stdout.take().unwrap());
                // A server that was killed immediately prints nothing.
                if output.read_line(&mut words).await.is_ok_and(|length| length > 0) {
                    born.send_modify(|born| *born += 1);
                }
                tokio::select! {
                    _ = server.wait() => {}
                    _ = &mut stopped => return server.kill().await.unwrap(),
                }
            }
        });
        births.wait_for(|born| *born > 0).await.unwrap();
        Self { address, births, keeping, stop }
    }

    /// Ends the server without a restart.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.keeping.await.unwrap();
    }
}

fn program() -> PathBuf {
    // Examples are built beside the tests: target/PROFILE/deps/kills-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/kills-fixture")
}
