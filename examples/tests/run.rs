//! Runs every example as a reader would: as a process, driven by a client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "run/agent_tools.rs"]
mod agent_tools;
#[path = "run/ask.rs"]
mod ask;
// Stopped by a Unix signal.
#[cfg(unix)]
#[path = "run/axum_app.rs"]
mod axum_app;
// Runs a program that is made for Unix.
#[cfg(unix)]
#[path = "run/balancer.rs"]
mod balancer;
#[path = "run/client.rs"]
mod client;
// Runs a shell script.
#[cfg(unix)]
#[path = "run/cluster.rs"]
mod cluster;
#[path = "run/everything.rs"]
mod everything;
// Uses symbolic links, which need Unix.
#[cfg(unix)]
#[path = "run/files.rs"]
mod files;
#[path = "run/gateway.rs"]
mod gateway;
#[path = "run/hub.rs"]
mod hub;
#[path = "run/live.rs"]
mod live;
#[path = "run/sign_in.rs"]
mod sign_in;
#[path = "run/telemetry.rs"]
mod telemetry;
// Runs commands in a shell.
#[cfg(unix)]
#[path = "run/transcripts.rs"]
mod transcripts;
#[path = "run/users.rs"]
mod users;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use toolway::client::Notification;
use toolway::client::NotificationReader;
use toolway::{Client, Code, ProtocolVersion};

#[tokio::test]
async fn hello() {
    let (client, mut child) = start("hello").await;
    assert_eq!(client.tools().await.unwrap()[0].description(), "Add two numbers.");
    assert_eq!(call(&client, "add", json!({"a": 2, "b": 3})).await, "5");
    // The server ends when its client disconnects.
    drop(client);
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn notes_are_saved_found_read_reviewed_and_completed() {
    let (client, _child) = start_session("notes").await;
    let mut news = client.notifications();
    client.subscribe("notes://index").await.unwrap();

    let saved = client.call("save", json!({"title": "Milk", "body": "Two bottles."})).await.unwrap();
    let saved: Value = saved.structured().unwrap().decode().unwrap();
    assert_eq!(saved, json!({"id": 1, "uri": "notes://1/body"}));
    let told = next(&mut news).await;
    assert!(matches!(&told, Notification::ResourceUpdated(told) if told.uri == "notes://index"), "{told:?}");
    call(&client, "save", json!({"title": "Mill", "body": "Grinds.", "folder": "places"})).await;

    let read = async |uri: &str| client.read_resource(uri).await.unwrap().text().unwrap().to_owned();
    assert_eq!(read("notes://index").await, r#"[{"id":1,"title":"Milk"},{"id":2,"title":"Mill"}]"#);
    assert_eq!(read("notes://1/body").await, "Two bottles.");
    assert_eq!(read("notes://1/folder").await, "general");
    assert_eq!(read("notes://2/folder").await, "places");
    let wrong = client.read_resource("notes://1/colour").await.unwrap_err();
    assert_eq!(wrong.rpc().unwrap().message, "a note has a title, a folder and a body, but no colour");

    let again = client.call("save", json!({"title": "Milk", "body": "Three."})).await.unwrap();
    assert!(again.is_error());
    let empty = client.call("save", json!({"title": "", "body": "?"})).await.unwrap();
    assert!(empty.is_error() && empty.first_text().unwrap().contains("`title`"), "{empty:?}");
    assert_eq!(call(&client, "find", json!({"title": "nothing"})).await, "(null)");

    let review = client.get_prompt("review", [("style", "formal"), ("title", "Milk")]).await.unwrap();
    assert_eq!(review.messages[1].content.as_text(), Some("Review this in a formal style:\n\nTwo bottles."));
    let missing = client.get_prompt("review", [("style", "formal"), ("title", "Beer")]).await.unwrap_err();
    assert_eq!(missing.rpc().unwrap().message, "there is no note \"Beer\"");
    let titles = client.complete_prompt("review", "title", "mil", NOTHING).await.unwrap();
    assert_eq!(titles.values, ["Milk", "Mill"]);
    let styles = client.complete_prompt("review", "style", "c", NOTHING).await.unwrap();
    assert_eq!(styles.values, ["casual"]);
    let sections = client.complete_resource("notes://{id}/{section}", "section", "b", NOTHING).await.unwrap();
    assert_eq!(sections.values, ["body"]);
}

#[tokio::test]
async fn dynamic_tools_come_from_a_table_and_from_other_tools() {
    let (client, _child) = start_session("dynamic").await;
    let mut news = client.notifications();
    let names = async || client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    assert_eq!(names().await, ["shout", "quote", "define"]);
    assert_eq!(call(&client, "shout", json!({"text": "hello"})).await, "hello!");
    assert_eq!(call(&client, "quote", json!({"text": "hello"})).await, "“hello”");
    let empty = client.call("shout", json!({"text": ""})).await.unwrap();
    assert!(empty.is_error() && empty.first_text().unwrap().contains("`text`"), "{empty:?}");

    let whisper = json!({"name": "whisper", "template": "({text})"});
    assert_eq!(call(&client, "define", whisper.clone()).await, "whisper is there");
    assert!(matches!(next(&mut news).await, Notification::ToolsChanged(_)));
    assert_eq!(names().await, ["shout", "quote", "define", "whisper"]);
    assert_eq!(call(&client, "whisper", json!({"text": "hello"})).await, "(hello)");
    let twice = client.call("define", whisper).await.unwrap();
    assert!(twice.is_error() && twice.first_text().unwrap().contains("two tools have the name `whisper`"));
}

/// Starts an example and connects with the newest revision; it ends when the returned client and child are dropped.
async fn start(example: &str) -> (Client, Child) {
    let mut child = spawn(example, [""; 0]);
    let client = Client::connect_io(child.stdout.take().unwrap(), child.stdin.take().unwrap()).await.unwrap();
    (client, child)
}

/// Starts an example and connects with a handshake: in this era a server sends notifications without a subscription.
async fn start_session(example: &str) -> (Client, Child) {
    let mut child = spawn(example, [""; 0]);
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    (builder.connect_io(stdout, stdin).await.unwrap(), child)
}

/// Returns the path of an example. Examples are built beside the tests: target/PROFILE/deps/run-… and
/// target/PROFILE/examples/….
fn program(example: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples").join(example)
}

/// Reads the address that an example prints on stderr when it serves over HTTP: `listening on http://ADDRESS/…`.
async fn address_of(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("the server tells its address");
    let line = line.unwrap().expect("the server runs");
    let address = line.strip_prefix("listening on http://").and_then(|rest| rest.split('/').next());
    address.unwrap_or_else(|| panic!("no address: {line}")).to_owned()
}

fn spawn(example: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Child {
    let program = program(example);
    let child = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    child.unwrap_or_else(|error| panic!("{}: {error}; build it with --examples", program.display()))
}

/// Calls a tool and returns its text; the result must not be an error.
async fn call(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{tool}: {result:?}");
    result.first_text().unwrap_or_default().to_owned()
}

/// Waits for the next notification of the server.
async fn next(news: &mut NotificationReader) -> Notification {
    tokio::time::timeout(PATIENCE, news.next()).await.expect("the server tells something").unwrap()
}

/// Long enough for a busy machine; only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// No arguments, for prompts and completions.
const NOTHING: [(&str, &str); 0] = [];
