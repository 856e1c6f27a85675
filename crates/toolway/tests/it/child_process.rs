//! Servers that a client starts itself: how are they started, spoken to and ended?

#![cfg(unix)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolway::client::{Command, Connector, Inbox, OutgoingMessage, Transport};
use toolway::prelude::*;
use toolway::{BoxFuture, ErrorKind, RawJson};
use toolway_protocol::Message;

fn path() -> PathBuf {
    // Examples are built beside the tests: target/PROFILE/deps/it-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/process-fixture")
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("it hangs")
}

async fn connect(command: &Command) -> Client {
    soon(async { Client::builder().connect(command.connect().await?).await }).await.unwrap()
}

#[tokio::test]
async fn a_client_starts_a_command_with_arguments_variables_and_a_folder() {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let line = format!("{} serve -y '/my data'", path().display());
    for command in [
        Command::new(path()).arg("serve").args(["-y", "/my data"]).cwd(&folder).env("API_KEY", "k"),
        Command::parse(&line).unwrap().cwd(&folder).envs([("API_KEY", "k")]),
    ] {
        let client = connect(&command).await;
        let told = async |tool: &str| {
            let result = soon(client.call(tool, json!({}))).await.unwrap();
            result.first_text().unwrap().to_owned()
        };
        assert_eq!(told("args").await, r#"["serve","-y","/my data"]"#);
        assert_eq!(told("cwd").await, folder.to_str().unwrap());
        let environment: Value = serde_json::from_str(&told("env").await).unwrap();
        assert_eq!(environment["API_KEY"], "k");
        soon(client.close()).await.unwrap();
    }
}

#[tokio::test]
async fn a_message_is_one_line_and_leaves_at_once() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    let command = Command::new(path())
        .arg("mirror")
        .on_stderr(move |line| seen.lock().unwrap().push(line.strip_suffix('|').unwrap().to_owned()));
    let client = connect(&command).await;
    // Written over several lines, and with a line break in a string.
    let arguments = RawJson::parse("{\n  \"text\":\r\n \"a\\nb\"\n}").unwrap();
    // If it were not flushed, there would be no answer.
    let result = soon(client.call("echo", arguments)).await.unwrap();
    assert_eq!(result.first_text(), Some(r#"{"text":"a\nb"}"#));
    soon(client.close()).await.unwrap();
    let lines = lines.lock().unwrap();
    let messages: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(messages.len(), 2, "{lines:?}");
    assert_eq!(messages[1]["params"]["arguments"], json!({"text": "a\nb"}));
}

/// A transport of another crate: it counts what it carries.
struct Counting {
    inner: Box<dyn Transport>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Transport for Counting {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        self.seen.lock().unwrap().push(outgoing.method.name().to_owned());
        self.inner.send(outgoing)
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.inner.set_inbox(inbox);
    }

    fn close(&self) -> BoxFuture<'_, toolway::Result<()>> {
        self.seen.lock().unwrap().push("close".to_owned());
        self.inner.close()
    }
}

#[tokio::test]
async fn a_transport_carries_messages_and_closes() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inner = Command::new(path()).arg("serve").connect().await.unwrap();
    let transport = Counting { inner, seen: seen.clone() };
    let client = soon(Client::builder().connect(transport)).await.unwrap();
    assert_eq!(soon(client.call("echo", json!({}))).await.unwrap().first_text(), Some("{}"));
    soon(client.close()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["server/discover", "tools/call", "close"]);
}

#[tokio::test]
async fn closing_ends_the_pipes_and_reaps_the_child() {
    let client = connect(&Command::new(path()).arg("serve")).await;
    let result = soon(client.call("pid", json!({}))).await.unwrap();
    let pid = rustix::process::Pid::from_raw(result.first_text().unwrap().parse().unwrap()).unwrap();
    rustix::process::test_kill_process(pid).unwrap();
    let clone = client.clone();
    soon(client.close()).await.unwrap();
    // A zombie would still be found.
    assert_eq!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH));
    let error = soon(clone.call("echo", json!({}))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.to_string(), "the client is closed");
}
