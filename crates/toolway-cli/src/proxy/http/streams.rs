//! Which stream does a message of the server belong to, and how long is it kept? A line does not say to which request it
//! belongs, so this is decided here; and a host that lost its connection gets the rest of a stream later.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::proxy::line::Message;

/// The stream for messages that belong to no request.
pub(super) const GENERAL: u64 = 0;

/// The maximum number of requests of one host that are under way at once.
const MAX_OPEN: usize = 256;

/// How many finished streams of one host are kept for a host that has lost its connection.
const KEPT_STREAMS: usize = 64;

/// How long they are kept.
const KEPT_TIME: Duration = Duration::from_secs(5 * 60);

/// The maximum number of bytes of one host's streams beyond which events are forgotten: first those that the host has
/// got, then notifications of streams that the host does not read.
const KEPT_BYTES: usize = 8 << 20;

/// The maximum number of events of one stream that are kept, in the same order.
const KEPT_EVENTS: usize = 4_096;

/// The streams of one host.
#[derive(Default)]
pub(super) struct Streams {
    kept: BTreeMap<u64, Stream>,
    last_stream: u64,
    last_reader: u64,
    /// The requests that wait for an answer, by the text of their id.
    waiting: HashMap<String, Waiting>,
    bytes: usize,
}

struct Waiting {
    stream: u64,
    progress_token: Option<String>,
}

#[derive(Default)]
struct Stream {
    events: VecDeque<KeptEvent>,
    last_event: u64,
    /// The last event that was written to a connection.
    delivered: u64,
    /// The number of requests that wait for an answer on this stream.
    open: usize,
    /// The connection that reads the stream.
    reader: Option<u64>,
    finished: Option<Instant>,
}

struct KeptEvent {
    number: u64,
    text: Bytes,
    may_be_lost: bool,
}

/// The next thing to do for the reader of a stream.
pub(super) enum Next {
    Event(u64, Bytes),
    Wait,
    /// The stream has ended, or another connection reads it.
    End,
}

/// The answer to the only request of a stream.
pub(super) enum Answer {
    Ready(Bytes),
    Awaited,
    /// The request was cancelled.
    Missing,
}

impl Streams {
    /// Begins a stream for these requests, each with its id and its progress token.
    pub(super) fn begin(&mut self, requests: Vec<(String, Option<String>)>) -> Result<u64, &'static str> {
        if self.waiting.len() + requests.len() > MAX_OPEN {
            return Err("too many requests are under way");
        }
        if requests.iter().any(|(id, _)| self.waiting.contains_key(id)) {
            return Err("a request with this id is under way");
        }
        self.last_stream += 1;
        let stream = self.last_stream;
        self.kept.insert(stream, Stream { open: requests.len(), ..Stream::default() });
        for (id, progress_token) in requests {
            self.waiting.insert(id, Waiting { stream, progress_token });
        }
        self.forget_finished();
        Ok(stream)
    }

    /// Forgets a stream whose requests were not sent.
    pub(super) fn forget(&mut self, stream: u64) {
        self.waiting.retain(|_, waiting| waiting.stream != stream);
        self.remove(stream);
    }

    /// Takes note that a request is cancelled, so that it gets no answer.
    pub(super) fn cancel(&mut self, id: &str) {
        if let Some(waiting) = self.waiting.remove(id) {
            self.close_one(waiting.stream);
        }
    }

    /// Adds a message of the server to the stream to which it belongs. Returns that stream.
    pub(super) fn add(&mut self, text: &[u8]) -> Option<u64> {
        let messages = Message::read(text);
        let message = messages.first()?;
        if let Some(id) = message.response() {
            let waiting = self.waiting.remove(id)?;
            self.push(waiting.stream, text, false);
            self.close_one(waiting.stream);
            return Some(waiting.stream);
        }
        let newest = self.waiting.values().map(|waiting| waiting.stream).max();
        let (stream, may_be_lost) = match message.method.as_deref()? {
            "notifications/progress" => {
                let token = message.param("progressToken").map(RawValue::get);
                let with_token = |waiting: &&Waiting| waiting.progress_token.as_deref() == token;
                let of_request = self.waiting.values().find(with_token).map(|waiting| waiting.stream);
                (of_request.unwrap_or(GENERAL), true)
            }
            // What a server logs or asks belongs to a request; to which of several, a line does not say.
            "notifications/message" => (newest.unwrap_or(GENERAL), true),
            "notifications/cancelled" => (newest.unwrap_or(GENERAL), false),
            _ if message.id().is_some() => (newest.unwrap_or(GENERAL), false),
            _ => (GENERAL, true),
        };
        self.push(stream, text, may_be_lost);
        Some(stream)
    }

    /// Returns whether the host is to read a stream before more is added to it.
    pub(super) fn is_full(&self, stream: u64) -> bool {
        let Some(stream) = self.kept.get(&stream).filter(|stream| stream.reader.is_some()) else {
            return false;
        };
        let unread = stream.events.iter().rev().take_while(|event| event.number > stream.delivered);
        let (count, bytes) =
            unread.fold((0, 0), |(count, bytes), event| (count + 1, bytes + event.text.len()));
        count > KEPT_EVENTS / 2 || bytes > KEPT_BYTES / 2
    }

    /// Begins to read a stream after an event; by default after the last one that was written. Returns the number of
    /// the reader and the event; `None` if the stream is not kept.
    pub(super) fn attach(&mut self, stream: u64, after: Option<u64>) -> Option<(u64, u64)> {
        if stream == GENERAL {
            self.kept.entry(GENERAL).or_insert_with(|| Stream { open: 1, ..Stream::default() });
        }
        let read = self.kept.get_mut(&stream)?;
        if after.is_some_and(|after| after > read.last_event) {
            return None;
        }
        self.last_reader += 1;
        read.reader = Some(self.last_reader);
        Some((self.last_reader, after.unwrap_or(read.delivered)))
    }

    pub(super) fn detach(&mut self, stream: u64, reader: u64) {
        if let Some(read) = self.kept.get_mut(&stream)
            && read.reader == Some(reader)
        {
            read.reader = None;
        }
        self.forget_finished();
    }

    /// Returns what a reader has to write after an event.
    pub(super) fn next(&mut self, stream: u64, reader: u64, after: u64) -> Next {
        let Some(read) = self.kept.get_mut(&stream) else { return Next::End };
        if read.reader != Some(reader) {
            return Next::End;
        }
        // All up to `after` are with the connection.
        read.delivered = read.delivered.max(after);
        match read.events.iter().find(|event| event.number > after) {
            Some(event) => Next::Event(event.number, event.text.clone()),
            None if read.finished.is_some() => Next::End,
            None => Next::Wait,
        }
    }

    /// Returns the answer on a stream with one request, when there is one.
    pub(super) fn take_answer(&mut self, stream: u64) -> Answer {
        let Some(read) = self.kept.get(&stream) else { return Answer::Missing };
        if read.finished.is_none() {
            return Answer::Awaited;
        }
        let answer = read.events.back().map_or(Answer::Missing, |event| Answer::Ready(event.text.clone()));
        self.remove(stream);
        answer
    }

    /// Answers all requests with what `answer` makes of their ids, and ends all streams.
    pub(super) fn end(&mut self, answer: impl Fn(&str) -> Vec<u8>) {
        for id in self.waiting.keys().cloned().collect::<Vec<_>>() {
            self.add(answer(&id).trim_ascii());
        }
        for stream in self.kept.values_mut() {
            stream.finished.get_or_insert_with(Instant::now);
        }
    }

    /// Returns whether a request is under way, or a stream is read.
    pub(super) fn is_in_use(&self) -> bool {
        !self.waiting.is_empty() || self.kept.values().any(|stream| stream.reader.is_some())
    }

    fn push(&mut self, stream: u64, text: &[u8], may_be_lost: bool) {
        let open = usize::from(stream == GENERAL);
        let stream = self.kept.entry(stream).or_insert_with(|| Stream { open, ..Stream::default() });
        stream.last_event += 1;
        let number = stream.last_event;
        stream.events.push_back(KeptEvent {
            number,
            text: Bytes::copy_from_slice(text.trim_ascii()),
            may_be_lost,
        });
        self.bytes += text.trim_ascii().len();
        if stream.events.len() > KEPT_EVENTS {
            self.bytes -= drop_one(stream).unwrap_or_default();
        }
        while self.bytes > KEPT_BYTES {
            let Some(bytes) = self.kept.values_mut().find_map(drop_one) else { return };
            self.bytes -= bytes;
        }
    }

    fn close_one(&mut self, stream: u64) {
        if let Some(stream) = self.kept.get_mut(&stream) {
            stream.open = stream.open.saturating_sub(1);
            if stream.open == 0 {
                stream.finished = Some(Instant::now());
            }
        }
    }

    fn remove(&mut self, stream: u64) {
        if let Some(stream) = self.kept.remove(&stream) {
            self.bytes -= stream.events.iter().map(|event| event.text.len()).sum::<usize>();
        }
    }

    fn forget_finished(&mut self) {
        let unread = |stream: &Stream| stream.finished.filter(|_| stream.reader.is_none());
        let finished: Vec<_> =
            self.kept.iter().filter_map(|(number, stream)| Some((*number, unread(stream)?))).collect();
        let excess = finished.len().saturating_sub(KEPT_STREAMS);
        for (at, (number, since)) in finished.into_iter().enumerate() {
            if at < excess || since.elapsed() > KEPT_TIME {
                self.remove(number);
            }
        }
    }
}

/// Forgets one event of a stream: one that was delivered, or a notification that no connection waits for. Returns its
/// length.
fn drop_one(stream: &mut Stream) -> Option<usize> {
    let delivered = stream.delivered;
    let has_reader = stream.reader.is_some();
    let may_go = |event: &KeptEvent| event.number <= delivered || (event.may_be_lost && !has_reader);
    let at = stream.events.iter().position(may_go)?;
    stream.events.remove(at).map(|event| event.text.len())
}
