//! Servers that print too much, or lines that are not messages.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolway::ErrorKind;

use super::*;

/// Counts the memory of this process. Tests that run at the same time use little.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

#[tokio::test]
async fn a_line_without_an_end_ends_the_server_and_takes_no_memory() {
    let before = MEMORY.current_usage();
    for fixture in [Fixture::new("flood-stdout"), Fixture::stubborn("flood-stdout")] {
        let fixture = fixture.with(|command| command.max_message(1 << 20));
        let transport = fixture.reach().await;
        let error = soon(Client::builder().connect(transport.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerMisbehaved);
        assert!(error.is_reply_lost() || error.is_unsent());
        tells(
            &error,
            &["flood-stdout` sent a line of more than 1048576 bytes that is not a message, and was closed"],
        );
        assert!(!transport.is_connected());
        fixture.wait_for(0).await;
    }
    let taken = MEMORY.peak_usage().saturating_sub(before);
    assert!(taken < 48 << 20, "{taken} bytes");
}

#[tokio::test]
async fn how_long_a_message_may_be_can_be_said() {
    let text = "x".repeat(10_000);
    let fixture = Fixture::new("serve").with(|command| command.max_message(5_000));
    let client = fixture.connect().await;
    let error = soon(client.call("echo", json!({"text": text}))).await.unwrap_err();
    tells(&error, &["the reply is longer than 5000 bytes"]);
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    soon(client.call("echo", json!({"text": "short"}))).await.expect("the server is there as before");
    soon(client.close()).await.unwrap();
    let fixture = Fixture::new("serve").with(|command| command.max_message(50_000));
    let client = fixture.connect().await;
    soon(client.call("echo", json!({"text": text}))).await.unwrap();
    soon(client.close()).await.unwrap();
}

#[tokio::test]
async fn a_flood_on_stderr_harms_nobody() {
    let before = MEMORY.current_usage();
    let fixture = Fixture::new("flood-stderr");
    let (client, transport) = fixture.connect_kept().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    for _ in 0..20 {
        soon(client.call("echo", json!({}))).await.unwrap();
    }
    let diagnosis = transport.says("flood ").await;
    assert!(diagnosis.len() < 10_000, "{diagnosis}");
    assert!(diagnosis.contains("x… | flood "), "lines are cut: {diagnosis}");
    soon(client.close()).await.unwrap();
    process.is_reaped();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    assert!(taken < 48 << 20, "{taken} bytes");
}

#[tokio::test]
async fn a_hook_for_stray_lines_may_panic() {
    let lines = Arc::new(Mutex::new(0));
    let heard = lines.clone();
    let fixture = Fixture::new("junk").with(|command| {
        command.on_stray_line(move |_| {
            *heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
            panic!("a test");
        })
    });
    let client = fixture.connect().await;
    for _ in 0..3 {
        soon(client.call("echo", json!({}))).await.unwrap();
    }
    soon(client.close()).await.unwrap();
    assert!(*lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner) > 1);
}

#[tokio::test]
async fn junk_is_skipped_and_remembered() {
    let fixture = Fixture::new("junk");
    let (client, transport) = fixture.connect_kept().await;
    for number in 0..100 {
        let result = soon(client.call("echo", json!({"number": number}))).await.unwrap();
        assert_eq!(result.first_text(), Some(&*format!("{{\"number\":{number}}}")));
    }
    // Seven before it began, and one before and one after each of 101 answers.
    let diagnosis =
        transport.says("has 209 lines that are not messages, the first: `Listening on stdio!`").await;
    assert!(diagnosis.contains("junk` is running; its output has "), "{diagnosis}");
    let error = soon(client.call("exit", json!({"status": 1}))).await.unwrap_err();
    tells(
        &error,
        &["ended with exit status 1", "the first: `Listening on stdio!`; its stderr: out of paper"],
    );
}

#[tokio::test]
async fn every_kind_of_junk_counts() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let connecting = tokio::spawn(Client::connect_io(reader, writer));
    let junk = b"\xff\xfe\n{}\n[]\nnull\n[7]\n{\"jsonrpc\":\"2.0\"}\n{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"x\"}\n{\"jsonrpc\": \n";
    let mut far = far;
    tokio::io::AsyncWriteExt::write_all(&mut far, junk).await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut far).await.unwrap();
    let error = soon(connecting).await.unwrap().unwrap_err();
    tells(
        &error,
        &[
            "the server closed the connection",
            "its output has 8 lines that are not messages, the first: `\u{fffd}\u{fffd}`",
        ],
    );
}

#[tokio::test]
async fn stderr_can_be_listened_to() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let heard = lines.clone();
    let fixture = Fixture::new("serve")
        .with(|command| command.on_stderr(move |line| heard.lock().unwrap().push(line.to_owned())));
    let client = fixture.connect().await;
    soon(client.call("exit", json!({"status": 0}))).await.unwrap_err();
    assert_eq!(*lines.lock().unwrap(), ["out of paper"], "before calls are told");
}
