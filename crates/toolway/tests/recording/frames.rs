//! Which frames are recorded, on each transport?

use std::sync::Arc;

use serde_json::json;
use toolway::client::Command;
use toolway::client::record::{Direction, FrameBody, Recorder, StreamEnd};
use toolway::prelude::*;
use toolway::testing::each_wire_as;
use toolway::{ErrorKind, ProtocolVersion};

use super::{fixture, message, serve, server, with_method};

#[tokio::test]
async fn every_message_is_recorded_in_its_direction_on_every_wire() {
    let recorder = Recorder::new();
    let builder = Client::builder().recorder(&recorder);
    each_wire_as(builder, &server(), async |client| {
        let before = recorder.frames(0).last().map_or(0, |frame| frame.number);
        client.call("work", json!({})).on_progress(|_| {}).await.unwrap();
        let frames = recorder.frames(before);
        let course: Vec<_> = frames
            .iter()
            .filter_map(|frame| {
                let message = message(frame)?;
                let is_reply = message["result"]["content"][0]["text"] == "done";
                let what =
                    message["method"].as_str().map(str::to_owned).or(is_reply.then(|| "reply".to_owned()));
                Some((frame.direction, what?))
            })
            .filter(|(_, what)| ["tools/call", "notifications/progress", "reply"].contains(&&**what))
            .collect();
        let expected = [
            (Direction::Out, "tools/call"),
            (Direction::In, "notifications/progress"),
            (Direction::In, "notifications/progress"),
            (Direction::In, "reply"),
        ];
        assert_eq!(course, expected.map(|(direction, what)| (direction, what.to_owned())));
    })
    .await;
    let numbers: Vec<_> = recorder.frames(0).iter().map(|frame| frame.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(recorder.cassette().starts_with(r#"{"cassette":1,"#), "{}", recorder.cassette());
    assert!(
        recorder
            .cassette()
            .lines()
            .next()
            .unwrap()
            .contains(r#""server":{"name":"recorded","version":"1.2.3"}"#)
    );
}

#[tokio::test]
async fn over_http_heads_streams_and_event_ids_are_recorded() {
    let (url, _serving) = serve(server().http()).await;
    let recorder = Recorder::new();
    let builder = Client::builder().recorder(&recorder).protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let client = builder.connect(&*url).await.unwrap();
    client.call("work", json!({})).on_progress(|_| {}).await.unwrap();
    client.close().await.unwrap();
    let frames = recorder.frames(0);
    let is_call = |frame: &Arc<_>| message(frame).is_some_and(|message| message["method"] == "tools/call");
    let call = frames.iter().find(|frame| is_call(frame)).unwrap();
    let request = call.http.as_ref().unwrap();
    assert_eq!((request.method.as_deref(), request.path.as_deref()), (Some("POST"), Some("/mcp")));
    assert_eq!(request.headers["content-type"], "application/json");
    assert!(request.headers["mcp-session-id"].starts_with('«'), "the session can be continued with it");
    let of_call: Vec<_> = frames
        .iter()
        .filter(|frame| frame.direction == Direction::In)
        .filter_map(|frame| frame.http.as_ref().map(|http| (frame, http)))
        .filter(|(_, http)| http.stream == request.stream)
        .collect();
    assert_eq!(of_call[0].1.status, Some(200));
    assert_eq!(of_call[0].1.headers["content-type"], "text/event-stream");
    let ids: Vec<_> = of_call.iter().filter_map(|(_, http)| http.event.clone()).collect();
    assert!(ids.len() >= 3, "{of_call:?}");
    let methods = frames.iter().filter_map(|frame| frame.http.as_ref()?.method.clone());
    assert!(methods.collect::<Vec<_>>().contains(&"DELETE".to_owned()));
    let ends: Vec<_> = frames.iter().filter_map(|frame| frame.http.as_ref()?.end).collect();
    assert!(ends.iter().all(|end| matches!(end, StreamEnd::Closed | StreamEnd::Left)) && !ends.is_empty());
    let header = recorder.cassette();
    assert!(header.lines().next().unwrap().contains(r#""over":"http""#));
}

#[tokio::test]
async fn what_a_process_writes_to_stderr_is_recorded_in_its_place() {
    let recorder = Recorder::new();
    let command = Command::new(fixture()).arg("mirror");
    let client = Client::builder().recorder(&recorder).connect(command).await.unwrap();
    client.call("echo", json!({"a": 1})).await.unwrap();
    let frames = recorder.frames(0);
    let call = frames
        .iter()
        .position(|frame| message(frame).is_some_and(|message| message["method"] == "tools/call"))
        .unwrap();
    let mut reader = recorder.follow(frames[call].number);
    // The line on stderr and the answer come through different pipes, in any order.
    loop {
        let frame = reader.next().await;
        if let (Direction::Err, FrameBody::Raw(line)) = (frame.direction, &frame.body) {
            assert!(line.contains("tools/call") && line.ends_with('|'), "{line}");
            break;
        }
    }
}

#[tokio::test]
async fn lines_that_are_no_messages_are_recorded_as_they_are() {
    let recorder = Recorder::new();
    let command = Command::new(fixture()).arg("junk");
    let _client = Client::builder().recorder(&recorder).connect(command).await.unwrap();
    let frames = recorder.frames(0);
    let raw: Vec<_> = frames
        .iter()
        .filter(|frame| frame.direction == Direction::In)
        .filter_map(|frame| match &frame.body {
            FrameBody::Raw(text) => Some(&**text),
            _ => None,
        })
        .collect();
    assert!(raw.starts_with(&["Listening on stdio!", "\u{fffd}\u{fffd} no text"]), "{raw:?}");
}

#[tokio::test]
async fn the_recording_goes_on_when_the_client_reconnects() {
    let recorder = Recorder::new();
    let command = Command::new(fixture()).arg("serve");
    let client = Client::builder().recorder(&recorder).connect(command).await.unwrap();
    client.call("abort", json!({})).await.unwrap_err();
    client.call("echo", json!({})).await.unwrap();
    assert_eq!(with_method(&recorder, "tools/call").len(), 2);
    let opened = with_method(&recorder, "server/discover").len() + with_method(&recorder, "initialize").len();
    assert!(opened >= 2, "both processes were asked");
}

#[tokio::test]
async fn a_reader_gets_what_is_kept_and_then_each_new_frame() {
    let recorder = Recorder::new();
    for line in ["one", "two", "three"] {
        recorder.record_err(line);
    }
    let mut reader = recorder.follow(1);
    assert_eq!((reader.next().await.number, reader.next().await.number), (2, 3));
    assert!(reader.try_next().is_none());
    let waiting = tokio::spawn(async move { reader.next().await });
    recorder.record_err("four");
    assert_eq!(waiting.await.unwrap().number, 4);
}

#[tokio::test]
async fn only_the_last_frames_are_kept() {
    let recorder = Recorder::new();
    let mut reader = recorder.follow(0);
    for _ in 0..10_005 {
        recorder.record_err("x");
    }
    let frames = recorder.frames(0);
    assert_eq!((frames.len(), frames[0].number), (10_000, 6));
    assert_eq!(reader.next().await.number, 6, "the reader sees by the number that frames are missing");
    let long = "x".repeat(10 << 20);
    for _ in 0..7 {
        recorder.record_err(&long);
    }
    assert!(recorder.frames(0).len() <= 6, "at most 64 MiB");
    recorder.record_err(&"x".repeat((16 << 20) + 1));
    let last = recorder.frames(0).pop().unwrap();
    assert!(last.to_line().contains("16777217 bytes are left out"), "{}", last.to_line());
}

#[tokio::test]
async fn a_transport_of_the_application_is_not_recorded_silently_not_at_all() {
    struct Silent;
    impl toolway::client::Transport for Silent {
        fn send(
            &self,
            _: toolway::client::OutgoingMessage,
        ) -> toolway::BoxFuture<'_, Result<Option<toolway_protocol::Message>>> {
            Box::pin(std::future::pending())
        }
    }
    let error = Client::builder().recorder(&Recorder::new()).connect(Silent).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert!(error.to_string().contains("cannot be recorded"), "{error}");
}
