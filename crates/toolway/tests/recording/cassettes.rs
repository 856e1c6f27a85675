//! Can a recording be read again, and what if it cannot, or cannot be written?

use serde_json::json;
use toolway::client::record::{Cassette, Direction, Recorder};
use toolway::prelude::*;

use super::{message, new_file, server};

#[tokio::test]
async fn a_cassette_holds_what_was_recorded() {
    let path = new_file("whole.jsonl");
    let client = Client::builder().record(&path).connect(&server()).await.unwrap();
    client.call("echo", json!({"text": "hello"})).await.unwrap();
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!(cassette.header.over, "pipe");
    assert_eq!(cassette.header.server.as_ref().unwrap().name, "recorded");
    assert_eq!(cassette.header.revision.as_deref(), Some("2026-07-28"));
    assert!(cassette.header.by.starts_with("toolway "));
    assert!(cassette.header.recorded.starts_with("20") && cassette.header.recorded.ends_with('Z'));
    let call = cassette
        .frames
        .iter()
        .find(|frame| message(frame).is_some_and(|message| message["method"] == "tools/call"))
        .unwrap();
    assert_eq!(call.direction, Direction::Out);
    assert!(
        cassette
            .frames
            .windows(2)
            .all(|pair| pair[0].number + 1 == pair[1].number && pair[0].time <= pair[1].time)
    );
    // The text reads back to the same text.
    let text = std::fs::read_to_string(&path).unwrap();
    let again: Vec<_> = cassette.frames.iter().map(toolway::client::record::RecordedFrame::to_line).collect();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), again);
}

#[tokio::test]
async fn the_file_has_all_frames_also_those_that_memory_has_no_room_for() {
    let path = new_file("many.jsonl");
    let recorder = Recorder::to_file(&path);
    for _ in 0..10_010 {
        recorder.record_err("x");
    }
    assert_eq!(Cassette::open(&path).unwrap().frames.len(), 10_010);
    assert_eq!(recorder.frames(0).len(), 10_000);
}

#[test]
fn what_is_wrong_with_a_cassette_is_said() {
    let header = r#"{"cassette":1,"recorded":"","by":"x","over":"pipe","redacted":0}"#;
    let frame = r#"{"n":1,"t":0.5,"dir":"out","frame":{}}"#;
    for (text, expected) in [
        (String::new(), "is not a cassette: it is empty"),
        ("hello\n".to_owned(), "is not a cassette: its first line does not say so"),
        ("{\"a\":1}\n".to_owned(), "is not a cassette: its first line does not say so"),
        ("{\"cassette\":1,\"recorded\":7}\n".to_owned(), "is not a cassette: its first line is damaged"),
        (
            "{\"cassette\":2,\"frames\":[]}\n".to_owned(),
            "has format 2, and this version of toolway reads format 1",
        ),
        (format!("{header}\n{frame}\n{{\"n\":2,\"t\":"), "is cut off in line 3"),
        (format!("{header}\n{frame}\nrubbish\n{frame}\n"), "line 3 of the recording is not a frame"),
        (format!("{header}\n{{\"n\":1,\"t\":0,\"dir\":\"up\"}}\n"), "line 2 of the recording is not a frame"),
    ] {
        let error = Cassette::read(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let path = new_file("bytes.jsonl");
    std::fs::write(&path, b"\xff\xfe").unwrap();
    for (path, expected) in
        [(path, "is not a cassette"), (new_file("missing.jsonl"), "the file cannot be read")]
    {
        let error = Cassette::open(&path).unwrap_err();
        assert!(toolway::Chain(&error).to_string().contains(expected), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn members_that_a_later_version_adds_are_ignored() {
    let text = "{\"cassette\":1,\"later\":{}}\n\n{\"n\":1,\"t\":0.5,\"dir\":\"in\",\"later\":1,\"http\":{\"stream\":3,\"later\":1}}\n";
    let cassette = Cassette::read(text).unwrap();
    assert_eq!(cassette.frames[0].http.as_ref().unwrap().stream, 3);
    assert_eq!(cassette.frames[0].time.as_millis(), 500);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_told_and_ends_no_call() {
    let recorder = Recorder::to_file("/no/such/folder/session.jsonl");
    let client = Client::builder().recorder(&recorder).connect(&server()).await.unwrap();
    client.call("echo", json!({"text": "hello"})).await.unwrap();
    let problem = recorder.problem().unwrap();
    assert!(
        problem.starts_with("the recording /no/such/folder/session.jsonl cannot be written"),
        "{problem}"
    );
    assert!(!recorder.frames(0).is_empty(), "the recording continues in memory");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_is_full_is_told_and_ends_no_call() {
    let recorder = Recorder::to_file("/dev/full");
    let client = Client::builder().recorder(&recorder).connect(&server()).await.unwrap();
    client.call("echo", json!({"text": "hello"})).await.unwrap();
    assert!(recorder.problem().unwrap().contains("cannot be written"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_new_recording() {
    use std::os::unix::fs::PermissionsExt;
    let path = new_file("private.jsonl");
    let _recorder = Recorder::to_file(&path);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
