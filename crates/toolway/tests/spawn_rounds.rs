//! A thousand servers are started and ended in every possible way, several at a time. Does anything remain of them: a
//! child, a zombie, a descriptor, a task?
//!
//! It counts the resources of the whole process, so it is a test binary of its own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::task::JoinSet;
use toolway::client::{Command, Connector};
use toolway::prelude::*;
use toolway::{Chain, Error};

const ROUNDS: usize = 1000;
const AT_ONCE: usize = 16;

/// How a server ends.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// The client is closed.
    Close,
    /// The client is closed while a call waits.
    CloseDuringCall,
    /// The client is dropped.
    Drop,
    /// The client is dropped while a call waits.
    DropDuringCall,
    /// The server is killed while a call waits.
    Killed,
    /// The server exits while a call waits.
    Exits,
    /// The server exits before it answers.
    Dies,
    /// Connecting times out.
    Hangs,
    /// The server has a child that holds its pipes, and is killed.
    KilledWithChild,
    /// The server has a child that holds its pipes, and the client is dropped.
    DropWithChild,
}

const WAYS: [Way; 10] = [
    Way::Close,
    Way::CloseDuringCall,
    Way::Drop,
    Way::DropDuringCall,
    Way::Killed,
    Way::Exits,
    Way::Dies,
    Way::Hangs,
    Way::KilledWithChild,
    Way::DropWithChild,
];

fn fixture(mode: &str) -> Command {
    // Examples are built beside the tests: target/PROFILE/deps/spawn_rounds-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    let path: PathBuf = tests.ancestors().nth(2).unwrap().join("examples/process-fixture");
    Command::new(path).arg(mode).env("TOOLWAY_TEST_MARK", std::process::id().to_string())
}

async fn connect(mode: &str) -> Client {
    Client::builder().connect(fixture(mode).connect().await.unwrap()).await.unwrap()
}

async fn kill(client: &Client) {
    let result = client.call("pid", json!({})).await.unwrap();
    let pid = Pid::from_raw(result.first_text().unwrap().parse().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// Makes a call that is never answered, and waits until it has reached the server.
async fn call(client: &Client) -> tokio::task::JoinHandle<Error> {
    let asking = client.clone();
    let call = tokio::spawn(async move { asking.call("never", json!({})).await.unwrap_err() });
    client.call("echo", json!({})).await.unwrap();
    call
}

async fn round(way: Way) {
    match way {
        Way::Close => connect("serve").await.close().await.unwrap(),
        Way::CloseDuringCall => {
            let client = connect("serve").await;
            let call = call(&client).await;
            client.close().await.unwrap();
            let error = call.await.unwrap();
            assert!(error.is_reply_lost() || error.is_unsent() || error.is_session_ended(), "{error:?}");
        }
        Way::Drop => drop(connect("serve").await),
        Way::DropDuringCall => {
            let client = connect("serve").await;
            call(&client).await.abort();
        }
        Way::Killed | Way::KilledWithChild => {
            let client = connect(if matches!(way, Way::Killed) { "serve" } else { "parent" }).await;
            let call = call(&client).await;
            kill(&client).await;
            let error = call.await.unwrap();
            assert!(error.to_string().ends_with("was killed by signal 9"), "{error:?}");
        }
        Way::Exits => {
            let client = connect("serve").await;
            let error = client.call("exit", json!({"status": 5})).await.unwrap_err();
            assert!(error.to_string().ends_with("ended with exit status 5"), "{error:?}");
        }
        Way::Dies => {
            let transport = fixture("die").arg("4").connect().await.unwrap();
            let error = Client::builder().connect(transport).await.unwrap_err();
            assert!(Chain(&error).to_string().contains("ended with exit status 4"), "{error:?}");
        }
        Way::Hangs => {
            let transport = fixture("hang").connect().await.unwrap();
            let connecting = tokio::spawn(Client::builder().connect(transport));
            tokio::task::yield_now().await;
            connecting.abort();
        }
        Way::DropWithChild => drop(connect("parent").await),
    }
}

async fn rounds(count: usize) {
    let mut running = JoinSet::new();
    for number in 0..count {
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        running.spawn(round(WAYS[number % WAYS.len()]));
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

/// Returns our child processes, including zombies.
fn children() -> Vec<String> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        // A thread may end meanwhile.
        let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        found.extend(children.split_whitespace().map(str::to_owned));
    }
    found
}

/// Returns all descendants that we have started; the process that adopts orphans may leave them as zombies.
fn descendants() -> Vec<String> {
    let mark = format!("TOOLWAY_TEST_MARK={}", std::process::id());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path().join("environ");
        // The entry may be gone, of another user, or not a process.
        let environment = std::fs::read(&path).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until nothing is left. A dropped client's server ends by itself, a moment later.
async fn quiet() {
    let tasks = tokio::runtime::Handle::current();
    let wait = async {
        while !children().is_empty() || tasks.metrics().num_alive_tasks() > 0 || !descendants().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(20), wait).await.is_err() {
        let tasks = tasks.metrics().num_alive_tasks();
        panic!("left: {tasks} tasks, children {:?}, descendants {:?}", children(), descendants());
    }
}

#[test]
fn a_thousand_servers_leave_nothing_behind() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // Descriptors that the runtime opens for itself are open after the first round.
        rounds(WAYS.len()).await;
        quiet().await;
        let before = descriptors();
        rounds(ROUNDS).await;
        quiet().await;
        assert_eq!(descriptors(), before);
    });
}
