//! What is a recorded frame, and how is it written as a line?

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolway_protocol::RawJson;

/// A frame of a recording, without secrets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedFrame {
    /// The number of the frame. The first frame has the number 1.
    pub number: u64,
    /// The time since the recording began.
    pub time: Duration,
    /// The direction of the frame.
    pub direction: Direction,
    /// The part of the frame that only HTTP has; `None` on a pipe.
    pub http: Option<HttpPart>,
    /// The content of the frame.
    pub body: FrameBody,
}

/// The direction of a recorded frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Direction {
    /// From the client to the server.
    Out,
    /// From the server to the client.
    In,
    /// A line that the server has written to stderr.
    Err,
}

/// The content of a recorded frame.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FrameBody {
    /// A message, or a batch of messages.
    Json(RawJson),
    /// A text that is not JSON, or a description of content that was left out.
    Raw(String),
    /// Nothing: a head without a body, or the end of a stream.
    Empty,
}

/// The part of a frame that only HTTP has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HttpPart {
    /// The method of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path and the query of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The status of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers of a request or a reply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The number of the request. Its reply, and all events in the reply, have the same number.
    pub stream: u64,
    /// The id of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// How a stream of events ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<StreamEnd>,
}

/// How a stream of events ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StreamEnd {
    /// The server ended it.
    Closed,
    /// The connection broke, or no reply came.
    Broken,
    /// The client stopped reading.
    Left,
}

/// The members of a line.
#[derive(Serialize, Deserialize)]
struct Line<'l> {
    n: u64,
    t: f64,
    dir: Direction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http: Option<HttpPart>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    frame: Option<&'l RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

impl RecordedFrame {
    /// Returns the frame as a line of a cassette, without the line break.
    pub fn to_line(&self) -> String {
        let (frame, raw) = match &self.body {
            FrameBody::Json(text) => (serde_json::from_str(text.as_str()).ok(), None),
            FrameBody::Raw(text) => (None, Some(text.clone())),
            FrameBody::Empty => (None, None),
        };
        // Milliseconds, so that lines do not differ in digits that mean nothing.
        let t = (self.time.as_secs_f64() * 1000.0).round() / 1000.0;
        let line = Line { n: self.number, t, dir: self.direction, http: self.http.clone(), frame, raw };
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// Parses a line of a cassette.
    pub(super) fn parse(line: &str) -> Result<Self, serde_json::Error> {
        let Line { n, t, dir, http, frame, raw } = serde_json::from_str(line)?;
        let body = match (frame, raw) {
            (Some(frame), _) => FrameBody::Json(RawJson::parse(frame.get())?),
            (None, Some(text)) => FrameBody::Raw(text),
            (None, None) => FrameBody::Empty,
        };
        let time = Duration::try_from_secs_f64(t).unwrap_or_default();
        Ok(Self { number: n, time, direction: dir, http, body })
    }

    /// Returns about how many bytes the frame takes in memory.
    pub(super) fn size(&self) -> usize {
        let body = match &self.body {
            FrameBody::Json(text) => text.as_bytes().len(),
            FrameBody::Raw(text) => text.len(),
            FrameBody::Empty => 0,
        };
        let http = self.http.as_ref().map_or(0, |http| {
            let headers = http.headers.iter().map(|(name, value)| name.len() + value.len() + 100);
            headers.sum::<usize>()
                + http.path.as_ref().map_or(0, String::len)
                + http.event.as_ref().map_or(0, String::len)
        });
        std::mem::size_of::<Self>() + body + http
    }
}
