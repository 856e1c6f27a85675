//! Servers that fail in the middle of a conversation.

use serde_json::json;
use toolway::ErrorKind;

use super::*;

/// Makes a call that is never answered, and waits until it has reached the server: answers come in the order of
/// requests.
async fn never_answered(client: &Client) -> tokio::task::JoinHandle<Error> {
    let asking = client.clone();
    let pending = tokio::spawn(async move { asking.call("never", json!({})).await.unwrap_err() });
    // The fixture reads one line after the other.
    soon(async {
        tokio::task::yield_now().await;
        client.call("echo", json!({})).await.unwrap();
    })
    .await;
    pending
}

#[tokio::test]
async fn a_server_that_dies_ends_all_calls_and_says_why() {
    let fixture = Fixture::new("serve");
    let (client, transport) = fixture.connect_kept().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    let pending = never_answered(&client).await;
    let error = soon(client.call("exit", json!({"status": 7}))).await.unwrap_err();
    for error in [error, soon(pending).await.unwrap()] {
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.is_reply_lost(), "they were sent");
        tells(&error, &["process-fixture serve` ended with exit status 7", "its stderr: out of paper"]);
    }
    assert!(!transport.is_connected());
    let error = soon(client.call("echo", json!({}))).await.unwrap_err();
    assert!(error.is_unsent(), "it can be tried with another one");
    tells(&error, &["ended with exit status 7", "out of paper"]);
    soon(client.close()).await.unwrap();
    process.is_reaped();
}

#[tokio::test]
async fn signals_are_told() {
    let fixture = Fixture::new("serve");
    let client = fixture.connect().await;
    let error = soon(client.call("abort", json!({}))).await.unwrap_err();
    tells(&error, &["was killed by signal 6"]);

    let fixture = Fixture::new("serve");
    let client = fixture.connect().await;
    let pending = never_answered(&client).await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    process.kill();
    let error = soon(pending).await.unwrap();
    assert!(error.is_reply_lost());
    tells(&error, &["process-fixture serve` was killed by signal 9"]);
    process.gone().await;
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_told_of_and_ended() {
    let fixture = Fixture::new("mute");
    let (client, transport) = fixture.connect_kept().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    let error = soon(client.call("echo", json!({}))).await.unwrap_err();
    tells(&error, &["process-fixture mute` closed its output and is still running; it is being ended"]);
    assert!(!transport.is_connected());
    process.gone().await;
}

#[tokio::test]
async fn a_server_that_closes_its_input_is_told_of_and_ended() {
    let fixture = Fixture::new("closed-stdin");
    let client = fixture.connect().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    // The first one may still be written before the server closes its input.
    let error = soon(client.call("echo", json!({"text": "x".repeat(1 << 20)}))).await.unwrap_err();
    assert!(error.is_reply_lost());
    tells(
        &error,
        &["process-fixture closed-stdin` closed its input and is still running; it is being ended"],
    );
    process.gone().await;
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_fails_its_call_only() {
    let fixture = Fixture::new("serve");
    let client = fixture.connect().await;
    let error = soon(client.call("huge", json!({}))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerMisbehaved);
    tells(&error, &["the server's reply is malformed", "too many values"]);
    soon(client.call("echo", json!({}))).await.unwrap();
    soon(client.close()).await.unwrap();
}

#[tokio::test]
async fn a_wrapper_that_is_killed_does_not_leave_its_server_behind() {
    for fixture in [Fixture::new("parent"), Fixture::stubborn("parent")] {
        let client = fixture.connect().await;
        let processes = fixture.wait_for(2).await;
        let pending = never_answered(&client).await;
        let own = soon(client.call("pid", json!({}))).await.unwrap();
        let pid = own.first_text().unwrap().parse().unwrap();
        Process(pid).kill();
        let error = soon(pending).await.unwrap();
        tells(&error, &["was killed by signal 9", "its stderr: child "]);
        for process in processes {
            process.gone().await;
        }
    }
}
