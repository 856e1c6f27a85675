//! Does a stream mean the same, however it is cut into chunks?
//!
//! The first byte of an input chooses the limit of the parser, the second one a way to cut the rest.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use toolway::transport::frame::{Line, Lines, push_line};
use toolway::transport::sse::{Event, Parser, TooLong, write_message};
use toolway_protocol::jsonrpc::OversizedMessageReader;

use crate::Outcome;
use crate::mutate::Random;

/// Events are the same for every way to cut the stream, and are those of the standard as long as they are short enough.
pub(crate) fn sse(input: &[u8]) -> Outcome {
    let Some((limit, ways, stream)) = split_input(input) else { return Outcome::Refused };
    let outcome = events(limit, std::iter::once(stream));
    for chunks in ways {
        assert_eq!(events(limit, chunks.into_iter()), outcome, "the limit is {limit}");
    }
    for event in &outcome.0 {
        assert!(event.data.len() <= limit, "{event:?} is longer than {limit}");
        // What we write is read back.
        let mut written = Vec::new();
        write_message(&mut written, event.id.as_deref(), &event.data);
        let (read, error) = events(written.len(), std::iter::once(&*written));
        let [Event { data, id, .. }] = &read[..] else { panic!("{read:?} {error:?}") };
        let expected: Vec<u8> =
            event.data.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
        assert_eq!((&**data, id), (&*expected, &event.id));
    }
    if limit >= stream.len() {
        assert_eq!(outcome, (events_of_the_standard(stream), None));
    }
    Outcome::of(!outcome.0.is_empty())
}

fn events<'c>(limit: usize, chunks: impl Iterator<Item = &'c [u8]>) -> (Vec<Event>, Option<TooLong>) {
    let mut parser = Parser::new(limit);
    let mut found = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        loop {
            match parser.next_event() {
                Ok(Some(event)) => found.push(event),
                Ok(None) => break,
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

/// Reads the whole stream line by line (WHATWG HTML, section 9.2.6). Unlike there, an event may have no data, and an id
/// belongs to its event only.
fn events_of_the_standard(stream: &[u8]) -> Vec<Event> {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let text: Vec<u8> = stream.to_vec();
    let (mut events, mut event, mut lines) = (Vec::new(), Event::default(), None::<Vec<u8>>);
    let mut rest = &text[..];
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let line = &rest[..end];
        rest = rest[end..].strip_prefix(b"\r\n").unwrap_or(&rest[end + 1..]);
        if line.is_empty() {
            let mut done = std::mem::take(&mut event);
            let lines = lines.take();
            let has_data = lines.is_some();
            done.data = lines.unwrap_or_default().into();
            if has_data || done != Event::default() {
                events.push(done);
            }
            continue;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (name, value) = (parts.next().unwrap(), parts.next().unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut lines {
                Some(lines) => lines.extend([b"\n", value].concat()),
                None => lines = Some(value.to_vec()),
            },
            b"event" => event.event = Some(String::from_utf8_lossy(value).into_owned()),
            b"id" if !value.contains(&0) => event.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                if let Ok(number) = std::str::from_utf8(value).unwrap().parse() {
                    event.retry = Some(number);
                }
            }
            _ => {}
        }
    }
    events
}

/// Lines are the same for every way to cut the stream, and a line that is too long costs only itself.
pub(crate) fn lines(input: &[u8]) -> Outcome {
    let Some((limit, ways, stream)) = split_input(input) else { return Outcome::Refused };
    let mut expected = Vec::new();
    for line in stream.split(|byte| *byte == b'\n') {
        if line.len() > limit {
            let mut reader = OversizedMessageReader::default();
            reader.push(line);
            expected.push(Line::TooLong(reader.finish()));
        } else if !line.iter().all(u8::is_ascii_whitespace) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            expected.push(Line::Text(line.to_vec().into()));
        }
    }
    assert_eq!(read_lines(limit, std::iter::once(stream)), expected, "the limit is {limit}");
    for chunks in ways {
        assert_eq!(read_lines(limit, chunks.into_iter()), expected, "the limit is {limit}");
    }
    for line in &expected {
        let Line::Text(text) = line else { continue };
        let mut written = Vec::new();
        push_line(&mut written, text);
        let one_line: Vec<u8> = text.iter().map(|byte| if *byte == b'\r' { b' ' } else { *byte }).collect();
        assert_eq!(read_lines(written.len(), std::iter::once(&*written)), [Line::Text(one_line.into())]);
    }
    Outcome::of(expected.iter().any(|line| matches!(line, Line::Text(_))))
}

fn read_lines<'c>(limit: usize, chunks: impl Iterator<Item = &'c [u8]>) -> Vec<Line> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    for mut chunk in chunks.filter(|chunk| !chunk.is_empty()) {
        while !chunk.is_empty() {
            assert!(fill(&mut lines, &mut chunk));
            found.extend(std::iter::from_fn(|| lines.next_line()));
        }
    }
    assert!(!fill(&mut lines, &mut &b""[..]));
    found.extend(std::iter::from_fn(|| lines.next_line()));
    assert_eq!(lines.skipped(), 0);
    found
}

fn fill(lines: &mut Lines, chunk: &mut &[u8]) -> bool {
    match pin!(lines.fill(chunk)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome.unwrap(),
        Poll::Pending => panic!("bytes in memory need no waiting"),
    }
}

/// The limit, two ways to cut the stream (into bytes, and at random), and the stream.
type StreamInput<'i> = (usize, [Vec<&'i [u8]>; 2], &'i [u8]);

fn split_input(input: &[u8]) -> Option<StreamInput<'_>> {
    let ([limit, cut], stream) = input.split_first_chunk()?;
    // Long enough for everything, or so short that most lines are too long.
    let limit = if limit % 2 == 0 { stream.len().max(1) } else { 1 + usize::from(limit / 2) };
    let mut random = Random::new(u64::from(*cut));
    let mut chunks = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at((1 + random.below(16)).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    Some((limit, [stream.chunks(1).collect(), chunks], stream))
}
