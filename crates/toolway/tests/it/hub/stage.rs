//! Servers for the tests of hubs: in this process, over HTTP at a fixed port, and as children.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use toolway::BoxFuture;
use toolway::client::{Command, Connector, IntoTarget, Target, Transport};
use toolway::hub::{HubWatch, ServerStatus};
use toolway::prelude::*;
use toolway::server::ToolEntry;

use crate::ports::Port;

/// A server whose tool `echo` returns the server's name and the value.
pub(crate) fn echo(name: &'static str) -> Server {
    let tool = ToolEntry::from_fn("echo", move |said: Said| async move { format!("{name}:{}", said.value) });
    Server::new(name, "1.0.0").tool(tool).build().unwrap()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Said {
    pub(crate) value: String,
}

/// A tool that returns its name.
pub(crate) fn named(name: &'static str) -> ToolEntry {
    ToolEntry::from_fn(name, move || async move { name })
}

/// A server over HTTP that can be killed and restarted at the same address.
pub(crate) struct Web {
    port: Port,
    task: Option<JoinHandle<()>>,
}

impl Web {
    pub(crate) async fn start(server: &Server) -> Self {
        let mut web = Self { port: Port::hold(), task: None };
        web.start_again(server).await;
        web
    }

    pub(crate) fn url(&self) -> String {
        self.port.url()
    }

    pub(crate) async fn kill(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = task.await;
        }
    }

    /// Restarts it without any state.
    pub(crate) async fn start_again(&mut self, server: &Server) {
        self.kill().await;
        let listener = self.port.listen();
        let server = server.clone();
        self.task = Some(tokio::spawn(async move {
            server.http().serve(listener).await.unwrap();
        }));
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The fixture as a child process with this name.
pub(crate) fn child(name: &str) -> Command {
    Command::new(child_path()).arg(name)
}

pub(crate) fn child_path() -> std::path::PathBuf {
    // Examples are built beside the tests: target/PROFILE/deps/it-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join(format!("examples/hub-fixture{}", std::env::consts::EXE_SUFFIX))
}

/// A server that can be reached after the gate is opened.
pub(crate) struct Gated {
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) server: Server,
}

impl Connector for Gated {
    fn connect(&self) -> BoxFuture<'_, toolway::Result<Box<dyn Transport>>> {
        Box::pin(async {
            self.gate.acquire().await.unwrap().forget();
            self.server.connect().await
        })
    }

    fn name(&self) -> String {
        "behind a gate".to_owned()
    }
}

impl IntoTarget for Gated {
    fn into_target(self) -> toolway::Result<Target> {
        Ok(Target::new(self))
    }
}

/// Returns the status of a server.
pub(crate) fn status(hub: &Hub, name: &str) -> ServerStatus {
    let all = hub.status();
    all.into_iter().find(|status| status.name == name).unwrap_or_else(|| panic!("no server {name}"))
}

/// Waits until a condition holds in a hub.
pub(crate) async fn until(hub: &Hub, is_so: impl Fn(&Hub) -> bool) {
    let mut changes: HubWatch = hub.watch();
    let waiting = async {
        while !is_so(hub) {
            changes.next().await.expect("the hub is there");
        }
    };
    let limit = Duration::from_secs(25);
    assert!(tokio::time::timeout(limit, waiting).await.is_ok(), "it did not come to that: {hub:?}");
}

/// Waits until a server is ready.
pub(crate) async fn until_ready(hub: &Hub, name: &str) {
    until(hub, |hub| status(hub, name).is_ready()).await;
}

/// Waits until the hub knows that a server is unavailable.
pub(crate) async fn until_gone(hub: &Hub, name: &str) {
    until(hub, |hub| status(hub, name).is_unavailable()).await;
}

/// The names of the tools of a hub.
pub(crate) fn names(hub: &Hub) -> Vec<String> {
    hub.tools().iter().map(|tool| tool.name().to_owned()).collect()
}

#[cfg(unix)]
pub(crate) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
