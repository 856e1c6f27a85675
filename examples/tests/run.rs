//! Every example runs, as its reader would run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;
use toolway::Client;

/// Starts an example; it ends when the returned client and child are dropped.
async fn start(example: &str) -> (Client, tokio::process::Child) {
    // Examples are built beside the tests: target/PROFILE/deps/run-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(example);
    let child =
        Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let mut child =
        child.unwrap_or_else(|error| panic!("{}: {error}; build it with --examples", program.display()));
    let client = Client::connect_io(child.stdout.take().unwrap(), child.stdin.take().unwrap()).await.unwrap();
    (client, child)
}

#[tokio::test]
async fn hello() {
    let (client, mut child) = start("hello").await;
    assert_eq!(client.tools().await.unwrap()[0].description(), "Add two numbers.");
    assert_eq!(client.call("add", json!({"a": 2, "b": 3})).await.unwrap().first_text(), Some("5"));
    // A client that goes away ends the server.
    drop(client);
    assert!(child.wait().await.unwrap().success());
}
