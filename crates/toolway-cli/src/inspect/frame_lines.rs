//! How are recorded frames described for the page? Each with its method, its id and, for an answer, the frame it answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolway::client::record::{Direction, FrameBody, RecordedFrame, Recorder, StreamEnd};
use toolway::server::http::StreamWriter;

use super::event_log::millis;
use super::object::{SetMember, object};
use super::ordered_places::ordered_places;

/// The length in bytes above which a frame is folded.
const MAX_SHOWN: usize = 64 << 10;

/// The length of a folded frame.
const FOLDED: usize = 4 << 10;

/// How many requests without an answer are remembered.
const MAX_OPEN: usize = 10_000;

/// How often an empty line is sent if there is nothing else.
const QUIET: Duration = Duration::from_secs(15);

/// Describes frames in order.
#[derive(Default)]
pub(super) struct FrameDescriber {
    /// The requests that are not answered: by who has asked, and the id.
    open: HashMap<(bool, String), OpenRequest>,
}

struct OpenRequest {
    frame: u64,
    time: Duration,
    method: String,
    about: Option<String>,
}

#[derive(Deserialize)]
struct Envelope<'f> {
    #[serde(borrow, default)]
    id: Option<&'f RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'f RawValue>,
    #[serde(borrow, default)]
    result: Option<&'f RawValue>,
    #[serde(borrow, default)]
    error: Option<&'f RawValue>,
}

#[derive(Deserialize, Default)]
struct Subject {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
}

impl FrameDescriber {
    /// Describes the next frame. The whole content is a part of it only if that is not too long.
    pub(super) fn describe(&mut self, frame: &RecordedFrame) -> Value {
        let mut line = object! {
            "n": frame.number, "t_ms": millis(frame.time), "folded": false, "method": Value::Null, "id": Value::Null, "kind": "none",
            "answers": Value::Null, "took_ms": Value::Null, "about": Value::Null, "bytes": 0,
            "dir": match frame.direction { Direction::Out => "out", Direction::In => "in", _ => "err" },
        };
        if let Some(http) = &frame.http {
            line.set(
                "http",
                &object! {
                    "method": http.method, "path": http.path, "status": http.status, "headers": http.headers,
                    "stream": http.stream, "event": http.event,
                    "end": http.end.map(|end| match end {
                        StreamEnd::Closed => "closed",
                        StreamEnd::Broken => "broken",
                        _ => "left",
                    }),
                },
            );
        }
        let (name, text) = match &frame.body {
            FrameBody::Json(text) => {
                self.describe_message(frame, text.as_str(), &mut line);
                ("frame", text.as_str())
            }
            FrameBody::Raw(text) => ("raw", text.as_str()),
            _ => return line,
        };
        line.set("bytes", &text.len());
        let is_folded = text.len() > MAX_SHOWN;
        line.set("folded", &is_folded);
        line.set(name, &if is_folded { beginning(text) } else { text });
        line
    }

    fn describe_message(&mut self, frame: &RecordedFrame, text: &str, line: &mut Value) {
        if text.trim_start().starts_with('[') {
            line.set("kind", &"batch");
            return;
        }
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(text) else { return };
        let is_out = frame.direction == Direction::Out;
        let id = envelope.id.map(|id| id.get().trim_matches('"').to_owned());
        line.set("id", &id);
        if let Some(method) = envelope.method {
            let subject: Subject = envelope
                .params
                .and_then(|params| serde_json::from_str(params.get()).ok())
                .unwrap_or_default();
            let about = subject.name.or(subject.uri);
            line.set("method", &method);
            line.set("about", &about);
            line.set("kind", &if id.is_some() { "request" } else { "notification" });
            if let Some(id) = id
                && self.open.len() < MAX_OPEN
            {
                let open = OpenRequest { frame: frame.number, time: frame.time, method, about };
                self.open.insert((is_out, id), open);
            }
            return;
        }
        line.set(
            "kind",
            &match (envelope.result, envelope.error) {
                (Some(_), _) => "result",
                (None, Some(_)) => "error",
                (None, None) => "none",
            },
        );
        // An answer goes the other way.
        if let Some(open) = id.and_then(|id| self.open.remove(&(!is_out, id))) {
            line.set("answers", &open.frame);
            line.set("method", &open.method);
            line.set("about", &open.about);
            line.set("took_ms", &millis(frame.time.saturating_sub(open.time)));
        }
    }
}

/// Returns the beginning of a folded frame.
fn beginning(text: &str) -> &str {
    let end = (0..=FOLDED).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Describes frames of a server, all of them, or those between two numbers.
pub(super) fn describe_all(frames: &[Arc<RecordedFrame>], first: u64, last: u64) -> Vec<Value> {
    let mut describer = FrameDescriber::default();
    let lines = frames.iter().map(|frame| (frame.number, describer.describe(frame)));
    lines.filter(|(number, _)| (first..=last).contains(number)).map(|(_, line)| line).collect()
}

/// Sends the frames of a recorder after the one with this number, and each further one. The offset is added to their times.
pub(super) async fn send_frames(
    recorder: Recorder,
    offset: f64,
    after: u64,
    redact: impl Fn(String) -> String + Send,
    to: StreamWriter,
) {
    let mut describer = FrameDescriber::default();
    // Earlier frames are read, too, because later ones may answer them.
    let mut reader = recorder.follow(0);
    loop {
        let frame = match reader.try_next() {
            Some(frame) => frame,
            None => tokio::select! {
                frame = reader.next() => frame,
                () = tokio::time::sleep(QUIET) => {
                    to.write("\n").await;
                    continue;
                }
            },
        };
        let mut line = describer.describe(&frame);
        line.set("t_ms", &(line["t_ms"].as_f64().unwrap_or(0.0) + offset));
        if frame.number <= after {
            continue;
        }
        to.write(redact(format!("{line}\n"))).await;
    }
}

/// Returns the number of the first frame from a number on that sends a request about an element.
pub(super) fn find_request(
    frames: &[Arc<RecordedFrame>],
    from: u64,
    method: &str,
    about: &str,
) -> Option<u64> {
    let mut describer = FrameDescriber::default();
    let found = frames.iter().filter(|frame| frame.direction == Direction::Out).find(|frame| {
        let line = describer.describe(frame);
        frame.number >= from && line["method"] == method && (about.is_empty() || line["about"] == about)
    });
    found.map(|frame| frame.number)
}

/// Says what is open and silent when a request has timed out. `now` is the time since the recording began.
pub(super) fn timeout_report(frames: &[Arc<RecordedFrame>], now: Duration) -> Value {
    const STDERR_LINES: usize = 10;
    let mut describer = FrameDescriber::default();
    let mut streams: BTreeMap<u64, bool> = BTreeMap::new();
    let mut stderr = Vec::new();
    for frame in frames {
        describer.describe(frame);
        if let Some(http) = &frame.http {
            let is_silent = frame.direction == Direction::Out;
            streams.insert(http.stream, is_silent && http.end.is_none());
        }
        if let (Direction::Err, FrameBody::Raw(line)) = (frame.direction, &frame.body) {
            stderr.push(line.clone());
        }
    }
    let open: Vec<_> = describer.open.iter().collect();
    let frame_of = |at: usize| usize::try_from(open[at].1.frame).ok();
    let open: Vec<Value> = ordered_places(open.len(), &frame_of)
        .into_iter()
        .map(|at| {
            let ((_, id), request) = open[at];
            let since = millis(now.saturating_sub(request.time));
            object! {"method": request.method, "id": id, "about": request.about, "since_ms": since}
        })
        .collect();
    let silent: Vec<u64> =
        streams.into_iter().filter(|(_, is_silent)| *is_silent).map(|(stream, _)| stream).collect();
    let last_in = frames.iter().rev().find(|frame| frame.direction == Direction::In);
    let tail = stderr.split_off(stderr.len().saturating_sub(STDERR_LINES));
    object! {
        "open": open, "silent_streams": silent, "last_frame_ms": last_in.map(|frame| millis(frame.time)),
        "stderr": tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolway::client::record::Recorder;

    #[test]
    fn an_answer_names_the_frame_that_it_answers() {
        let recorder = Recorder::new();
        recorder.record_out(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"save"}}"#);
        recorder.record_in(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
        recorder.record_in(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
        let lines = describe_all(&recorder.frames(0), 1, 3);
        assert_eq!(lines[0]["about"], "save");
        assert_eq!(lines[1]["kind"], "request");
        assert_eq!((&lines[2]["answers"], &lines[2]["method"]), (&json!(1), &json!("tools/call")));
    }

    #[test]
    fn long_frames_are_folded() {
        let recorder = Recorder::new();
        recorder.record_err(&"é".repeat(MAX_SHOWN));
        let lines = describe_all(&recorder.frames(0), 1, 1);
        assert_eq!(lines[0]["folded"], true);
        assert_eq!(lines[0]["bytes"], 2 * MAX_SHOWN);
        assert_eq!(lines[0]["raw"].as_str().unwrap().len(), FOLDED);
    }
}
