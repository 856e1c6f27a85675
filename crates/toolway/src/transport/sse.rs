//! Server-sent events: how is a stream of text split into events?
//!
//! The parser takes bytes as they arrive and follows the WHATWG rules: lines end in LF, CR or CRLF; the stream may
//! start with a byte order mark; comments and unknown fields are skipped; several `data` lines make one event; an event
//! ends at a blank line. An event that is cut off by the end of the stream is discarded.

use super::frame::replace_line_breaks;
use bytes::{Buf, Bytes, BytesMut};
use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader};

/// An event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The type of the event; `None` means `message`.
    pub event: Option<String>,
    /// The data, its lines joined by newlines. It is empty in an event that only sets the id or `retry`; such an event
    /// is called a primer.
    pub data: Bytes,
    /// The id of the event. A client can resume the stream after the event with this id.
    pub id: Option<String>,
    /// How long the client should wait before it reconnects, in milliseconds.
    pub retry: Option<u64>,
    /// The facts about the message in the data, if the data was longer than the limit and was discarded.
    pub too_long: Option<OversizedMessage>,
}

/// The error for a stream that cannot be parsed further: an event is more than four times as long as the limit, or a
/// line other than `data` is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// An event that is longer than this many times the limit is treated as endless: the parser returns [`TooLong`].
const MAX_EVENT_FACTOR: usize = 4;

/// Splits a stream into events.
#[derive(Debug)]
pub struct Parser {
    buffer: BytesMut,
    searched: usize,
    max_event: usize,
    at_start: bool,
    /// `true` if the last line ended in CR. An LF right after it belongs to the same line break.
    after_return: bool,
    event: Option<String>,
    data: BytesMut,
    has_data: bool,
    id: Option<String>,
    retry: Option<u64>,
    discarded: Option<Box<DiscardedEvent>>,
}

/// An event whose data is discarded because it is too long.
#[derive(Debug, Default)]
struct DiscardedEvent {
    skimmer: OversizedMessageReader,
    skipped: usize,
    /// `true` while the parser is inside a single `data` line that is longer than the limit.
    in_line: bool,
}

impl Parser {
    /// Creates a parser for events of at most `max_event` bytes. The data of longer events is discarded.
    pub fn new(max_event: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            max_event,
            at_start: true,
            after_return: false,
            event: None,
            data: BytesMut::new(),
            has_data: false,
            id: None,
            retry: None,
            discarded: None,
        }
    }

    /// Appends the next chunk of the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the next complete event in the buffer.
    pub fn next_event(&mut self) -> Result<Option<Event>, TooLong> {
        while let Some(line) = self.next_line()? {
            if let Some(long) = self.discarded.as_mut().filter(|long| long.in_line) {
                long.in_line = false;
                self.skip(&line)?;
            } else if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
            } else {
                self.field(&line)?;
            }
        }
        Ok(None)
    }

    fn next_line(&mut self) -> Result<Option<BytesMut>, TooLong> {
        if self.at_start && self.buffer.len() >= 3 {
            self.at_start = false;
            if self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.advance(3);
                self.searched = 0;
            }
        }
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
                self.searched = 0;
            }
        }
        // The longest allowed line is the longest allowed data plus the name of its field.
        let longest = self.max_event + b"data: ".len();
        let Some(end) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            if self.in_long_line() || self.buffer.len() > longest {
                self.skip_part()?;
            }
            return Ok(None);
        };
        let end = self.searched + end;
        // A line is as long when it arrives at once as when it arrives in parts.
        if end > longest && !self.in_long_line() && !self.buffer.starts_with(b"data:") {
            self.buffer.clear();
            return Err(TooLong);
        }
        self.searched = 0;
        let line = self.buffer.split_to(end);
        self.after_return = self.buffer[0] == b'\r';
        self.buffer.advance(1);
        self.at_start = false;
        Ok(Some(line))
    }

    fn in_long_line(&self) -> bool {
        self.discarded.as_ref().is_some_and(|long| long.in_line)
    }

    /// Discards a part of a line that is too long.
    fn skip_part(&mut self) -> Result<(), TooLong> {
        let part = self.buffer.split();
        self.searched = 0;
        if self.in_long_line() {
            return self.skip(&part);
        }
        // Only `data` lines may be long.
        let value = part.strip_prefix(b"data:").ok_or(TooLong)?;
        self.skip_data(value.strip_prefix(b" ").unwrap_or(value))?;
        self.discarded.get_or_insert_default().in_line = true;
        Ok(())
    }

    /// Discards a `data` line or the beginning of one, and the data of the event so far.
    fn skip_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        let kept = self.data.split();
        self.skip(&kept)?;
        if std::mem::replace(&mut self.has_data, true) {
            self.skip(b"\n")?;
        }
        self.skip(value)
    }

    fn skip(&mut self, data: &[u8]) -> Result<(), TooLong> {
        let long = self.discarded.get_or_insert_default();
        long.skimmer.push(data);
        long.skipped += data.len();
        if long.skipped / MAX_EVENT_FACTOR > self.max_event { Err(TooLong) } else { Ok(()) }
    }

    fn field(&mut self, line: &[u8]) -> Result<(), TooLong> {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                let length = self.data.len() + usize::from(self.has_data) + value.len();
                if self.discarded.is_some() || length > self.max_event {
                    return self.skip_data(value);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.extend_from_slice(b"\n");
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = Some(String::from_utf8_lossy(value).into_owned()),
            b"id" if !value.contains(&0) => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                let digits = std::str::from_utf8(value).ok();
                let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                // A value that is not a number is ignored, and an earlier number stays.
                self.retry = digits.and_then(|text| text.parse().ok()).or(self.retry);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the finished event, if it has any content. An event without data also has content if it has an id, a
    /// type or `retry`.
    fn dispatch(&mut self) -> Option<Event> {
        let event = Event {
            event: self.event.take(),
            data: self.data.split().freeze(),
            id: self.id.take(),
            retry: self.retry.take(),
            too_long: self.discarded.take().map(|long| long.skimmer.finish()),
        };
        let said_something = std::mem::take(&mut self.has_data) || event != Event::default();
        said_something.then_some(event)
    }
}

/// Appends a message as an event, with its data on one line.
///
/// ```
/// let mut out = Vec::new();
/// toolway::transport::sse::write_message(&mut out, Some("7"), b"{}");
/// assert_eq!(out, b"id: 7\nevent: message\ndata: {}\n\n");
/// ```
pub fn write_message(out: &mut Vec<u8>, id: Option<&str>, frame: &[u8]) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"event: message\ndata: ");
    let start = out.len();
    out.extend_from_slice(frame);
    // JSON text may contain line breaks between its tokens; the data of an event must not.
    replace_line_breaks(&mut out[start..]);
    out.extend_from_slice(b"\n\n");
}

/// Appends an event without data. It tells the client its position in the stream, and how many milliseconds to wait
/// before it reconnects.
///
/// ```
/// let mut out = Vec::new();
/// toolway::transport::sse::write_primer(&mut out, "7", 1000);
/// assert_eq!(out, b"id: 7\nretry: 1000\ndata:\n\n");
/// ```
pub fn write_primer(out: &mut Vec<u8>, id: &str, retry: u64) {
    out.extend_from_slice(format!("id: {id}\nretry: {retry}\ndata:\n\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the stream in chunks of every size. The events must not depend on how the stream was cut.
    fn events(stream: &str) -> Vec<Event> {
        let mut all: Option<Vec<Event>> = None;
        for size in 1..=stream.len() {
            let mut parser = Parser::new(1000);
            let mut found = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                parser.push(chunk);
                while let Some(event) = parser.next_event().unwrap() {
                    found.push(event);
                }
            }
            assert_eq!(all.get_or_insert_with(|| found.clone()), &found, "cut into {size}");
        }
        all.unwrap_or_default()
    }

    fn data(text: &'static str) -> Event {
        Event { data: text.into(), ..Event::default() }
    }

    #[test]
    fn events_are_the_same_however_lines_end() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = "\u{feff}: hello\ndata: {\"a\":1}\n\ndata:b\ndata: c\n\nevent: x\nid: 7\nretry: 250\ndata\n\n".replace('\n', end);
            let last = Event { event: Some("x".into()), id: Some("7".into()), retry: Some(250), ..data("") };
            assert_eq!(events(&stream), [data("{\"a\":1}"), data("b\nc"), last], "{end:?}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_an_event() {
        assert_eq!(events("data: a\n\ndata: b\n"), [data("a")]);
    }

    #[test]
    fn a_primer_and_a_lone_retry_are_seen_and_comments_are_not() {
        let primer = Event { id: Some("a-0".into()), ..data("") };
        let retry = Event { retry: Some(500), ..data("") };
        assert_eq!(
            events("id: a-0\ndata:\n\n:\n\n\nretry: 500\nretry: soon\n\nretry: soon\n\n"),
            [primer, retry]
        );
    }

    #[test]
    fn endless_events_are_cut() {
        for stream in [
            "data: ".to_owned() + &"x".repeat(200),
            "data: 12345\n".repeat(20),
            ":".repeat(20),
            "event: ".to_owned() + &"x".repeat(20),
            // A line that is too long is an error also if its end is in the same chunk.
            ":".repeat(20) + "\n\n",
            "id: ".to_owned() + &"x".repeat(20) + "\n\n",
        ] {
            for size in 1..=stream.len() {
                let mut parser = Parser::new(10);
                let read = stream.as_bytes().chunks(size).try_for_each(|chunk| {
                    parser.push(chunk);
                    parser.next_event().map(|event| assert_eq!(event, None))
                });
                assert_eq!(read, Err(TooLong), "{stream:?} cut into {size}");
                assert!(parser.data.len() + parser.buffer.len() <= 10 + size);
            }
        }
    }

    #[test]
    fn an_event_that_is_too_long_says_what_it_was_and_the_next_is_read() {
        let reply = r#"{"result":{"id":1},"id":7}"#;
        for data in [format!("data: {reply}"), "data: {\"result\":{\"id\":1},\ndata: \"id\":7}".to_owned()] {
            let stream = format!("id: 1\n{data}\nretry: 5\n\ndata: {{}}\n\n");
            for size in 1..=stream.len() {
                let mut parser = Parser::new(20);
                let mut found = Vec::new();
                for chunk in stream.as_bytes().chunks(size) {
                    parser.push(chunk);
                    while let Some(event) = parser.next_event().unwrap() {
                        found.push(event);
                    }
                }
                let long = Event {
                    id: Some("1".into()),
                    retry: Some(5),
                    too_long: Some(OversizedMessage::Reply(7.into())),
                    ..Event::default()
                };
                assert_eq!(found, [long, self::data("{}")], "cut into {size}");
            }
        }
    }

    #[test]
    fn the_longest_event_is_the_same_however_it_is_cut() {
        let line = |length: usize| format!("data: {}\n\n", "x".repeat(length));
        let two_lines = |length: usize| format!("data: 1234\ndata: {}\n\n", "x".repeat(length - 5));
        for (stream, fits) in [
            (line(9), true),
            (line(10), true),
            (line(11), false),
            (two_lines(10), true),
            (two_lines(11), false),
        ] {
            for size in 1..=stream.len() {
                let mut parser = Parser::new(10);
                let read = stream.as_bytes().chunks(size).try_fold(None, |found, chunk| {
                    parser.push(chunk);
                    parser.next_event().map(|event| found.or(event))
                });
                let is_kept = read.is_ok_and(|event| event.is_some_and(|event| event.too_long.is_none()));
                assert_eq!(is_kept, fits, "{stream:?} cut into {size}");
            }
        }
    }
}
