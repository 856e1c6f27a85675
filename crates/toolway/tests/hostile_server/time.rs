//! How long may a request take? The clock of these tests stands still, and advances when all tasks wait.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant, interval, sleep, timeout};
use toolway::client::Answer;
use toolway::prelude::*;

use crate::wire::{Peer, reply};

const HOUR: Duration = Duration::from_secs(3600);

fn progress(call: &Value, number: u64) -> String {
    let params = json!({"progressToken": call["params"]["_meta"]["progressToken"], "progress": number});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()
}

/// Takes a call, and reports progress every second until the client cancels the call. Returns when it did.
async fn never_finish(mut peer: Peer) -> Instant {
    let call = peer.next().await.unwrap();
    assert_eq!(call["method"], "tools/call");
    report_progress(peer, call).await
}

async fn report_progress(mut peer: Peer, call: Value) -> Instant {
    let (mut ticks, mut number) = (interval(Duration::from_secs(1)), 0);
    loop {
        tokio::select! {
            message = peer.next() => {
                let message = message.unwrap();
                assert_eq!(message["method"], "notifications/cancelled");
                assert_eq!(message["params"]["requestId"], call["id"]);
                return Instant::now();
            }
            _ = ticks.tick() => {
                number += 1;
                peer.say(&progress(&call, number)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_hold_a_call_longer_than_its_deadline() {
    for (builder, deadline, most) in [
        (Client::builder(), None, HOUR),
        (Client::builder().deadline(HOUR / 2), None, HOUR / 2),
        (Client::builder().timeout(None), Some(HOUR / 4), HOUR / 4),
    ] {
        let (client, peer) = Peer::connect(builder, 1 << 16).await;
        let (server, started) = (tokio::spawn(never_finish(peer)), Instant::now());
        let mut call = client.call("forever", json!({}));
        if let Some(deadline) = deadline {
            call = call.deadline(deadline);
        }
        let error = timeout(2 * HOUR, call).await.expect("the call ends by itself").unwrap_err();
        assert!(error.is_timeout(), "{error}");
        let text = format!(
            "the server did not complete tools/call within {most:?} in total: raise `deadline` on the client"
        );
        assert_eq!(error.to_string(), text);
        assert_eq!(started.elapsed().as_secs(), most.as_secs());
        assert_eq!(server.await.unwrap().duration_since(started).as_secs(), most.as_secs());
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_still_times_out_after_a_minute() {
    let (client, mut peer) = Peer::connect(Client::builder(), 1 << 16).await;
    let started = Instant::now();
    let error = client.call("silent", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "the server did not answer tools/call within 60s");
    assert_eq!(started.elapsed().as_secs(), 60);
    assert_eq!(peer.next().await.unwrap()["method"], "tools/call");
    assert_eq!(peer.next().await.unwrap()["method"], "notifications/cancelled");
}

#[tokio::test(start_paused = true)]
async fn time_in_which_the_user_is_asked_does_not_count() {
    let builder = Client::builder().on_elicit(|_| async {
        sleep(3 * HOUR).await;
        Answer::decline()
    });
    let (client, mut peer) = Peer::connect(builder, 1 << 16).await;
    let server = tokio::spawn(async move {
        let call = peer.next().await.unwrap();
        let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
        sleep(Duration::from_secs(30)).await;
        peer.say(
            &json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form}).to_string(),
        )
        .await;
        assert_eq!(peer.next().await.unwrap()["result"]["action"], "decline");
        (peer, call)
    });
    let answered = {
        let client = client.clone();
        tokio::spawn(async move { client.call("asks", json!({})).await })
    };
    let started = Instant::now();
    let (mut peer, call) = server.await.unwrap();
    assert!(started.elapsed() >= 3 * HOUR);
    assert!(!answered.is_finished(), "the call waits for its answer");
    // After the answer, the rest of the hour counts.
    for number in 0..3000 {
        sleep(Duration::from_secs(1)).await;
        peer.say(&progress(&call, number)).await;
    }
    peer.say(&reply(&call, r#"{"content":[]}"#)).await;
    answered.await.unwrap().unwrap();

    // A server that asks again and again does not hold the call forever.
    let started = Instant::now();
    let server = tokio::spawn(async move {
        let _call = peer.next().await.unwrap();
        for id in 2.. {
            let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
            let ask = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form});
            peer.say(&ask.to_string()).await;
            let answer = peer.next().await.unwrap();
            if answer["method"] == "notifications/cancelled" {
                return;
            }
        }
    });
    let error = client.call("asks", json!({})).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert!(started.elapsed() <= 26 * HOUR, "{:?}", started.elapsed());
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_gateway_gives_up_a_call_that_only_reports_progress() {
    let builder = Client::builder().deadline(HOUR / 2).forward_questions();
    let (upstream, mut peer) = Peer::connect(builder, 1 << 16).await;
    let server = tokio::spawn(async move {
        loop {
            let request = peer.next().await.unwrap();
            let list = match request["method"].as_str().unwrap() {
                "tools/list" => r#"{"tools":[{"name":"forever","inputSchema":{"type":"object"}}]}"#,
                "resources/list" => r#"{"resources":[]}"#,
                "resources/templates/list" => r#"{"resourceTemplates":[]}"#,
                "prompts/list" => r#"{"prompts":[]}"#,
                "tools/call" => break report_progress(peer, request).await,
                other => panic!("{other}"),
            };
            peer.say(&reply(&request, list)).await;
        }
    });
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let client = Client::builder().deadline(None).connect(&gateway).await.unwrap();
    let started = Instant::now();
    let result = timeout(2 * HOUR, client.call("forever", json!({}))).await.expect("the call ends by itself");
    assert_eq!(started.elapsed().as_secs(), (HOUR / 2).as_secs());
    assert!(result.unwrap().is_error());
    server.await.unwrap();
}
