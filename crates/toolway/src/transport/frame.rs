//! Newline-delimited JSON: where does one message end, and when is a line too long?

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader};

/// The longest message that is sent and accepted by default, on every transport: 16 MiB.
pub const MAX_MESSAGE: usize = 16 << 20;

/// Returns the limit that applies when `max_message` is set to `bytes`: at least 1 byte, and less than 4 GiB, because
/// offsets in a message are 32-bit numbers.
pub fn message_limit(bytes: usize) -> usize {
    bytes.clamp(1, u32::MAX as usize)
}

/// Splits a stream of bytes into lines.
///
/// The limit applies to each line, not to each read. A line that is too long is discarded while it arrives and reported
/// once; the next line is read normally.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// The buffer contains no newline before this index.
    searched: usize,
    max_line: usize,
    /// Set while a line that is too long is being discarded. The skimmer finds out the kind of the message and its id.
    skipping: Option<Box<OversizedMessageReader>>,
    /// The number of bytes discarded so far from a line that is too long and has not ended; otherwise 0.
    skipped: u64,
}

/// A line, or a description of a line that was too long.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The line without its line break. Never empty.
    Text(Bytes),
    /// The line was longer than the limit. Contains what is known about its message.
    TooLong(OversizedMessage),
}

impl Lines {
    /// Creates a reader of lines of at most `max_line` bytes.
    pub fn new(max_line: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, max_line, skipping: None, skipped: 0 }
    }

    /// Changes the limit. A line that is already being discarded is still reported as too long.
    pub fn set_max_line(&mut self, max_line: usize) {
        self.max_line = max_line;
    }

    /// Returns the next complete line in the buffer. Skips blank lines.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                if self.skipping.is_none() && self.searched > self.max_line {
                    self.skipping = Some(Box::default());
                }
                if let Some(skimmer) = &mut self.skipping {
                    skimmer.push(&self.buffer);
                    self.skipped += self.searched as u64;
                    self.buffer.clear();
                    self.searched = 0;
                }
                return None;
            };
            let mut line = self.buffer.split_to(self.searched + end + 1);
            self.searched = 0;
            line.truncate(line.len() - 1);
            let skipping = self.skipping.take();
            if skipping.is_some() || line.len() > self.max_line {
                self.skipped = 0;
                let mut skimmer = skipping.unwrap_or_default();
                skimmer.push(&line);
                return Some(Line::TooLong(skimmer.finish()));
            }
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Line::Text(line.freeze()));
            }
        }
    }

    /// Returns how many bytes of the current line were discarded so far; 0 unless the line is too long and has not
    /// ended.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Reads more bytes from `reader`. Returns `false` at the end of the stream. A last line without a line break
    /// counts as a line.
    pub async fn fill(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<bool> {
        self.buffer.reserve(8 << 10);
        if reader.read_buf(&mut self.buffer).await? > 0 {
            return Ok(true);
        }
        if self.skipping.is_some() || !self.buffer.is_empty() {
            self.buffer.extend_from_slice(b"\n");
        }
        Ok(false)
    }
}

/// Appends a frame as one line. JSON text may contain line breaks between its tokens, for example in a schema written
/// by hand. Inside JSON strings, line breaks are always escaped, so every unescaped line break can be replaced by a
/// space.
pub fn push_line(out: &mut Vec<u8>, frame: &[u8]) {
    let start = out.len();
    out.extend_from_slice(frame);
    replace_line_breaks(&mut out[start..]);
    out.push(b'\n');
}

/// Replaces line breaks with spaces.
pub(crate) fn replace_line_breaks(frame: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &frame[from..]) {
        frame[from + at] = b' ';
        from += at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(chunks: &[&str], max: usize) -> Vec<Line> {
        let mut lines = Lines::new(max);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.fill(&mut chunk.as_bytes()).await.unwrap();
            found.extend(std::iter::from_fn(|| lines.next_line()));
        }
        assert!(!lines.fill(&mut &b""[..]).await.unwrap());
        found.extend(std::iter::from_fn(|| lines.next_line()));
        found
    }

    fn text(line: &'static str) -> Line {
        Line::Text(line.into())
    }

    #[tokio::test]
    async fn lines_end_at_newlines_however_they_arrive() {
        assert_eq!(read(&["a\r\nb", "b\n\n  \nc"], 9).await, [text("a"), text("bb"), text("c")]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_only_itself() {
        assert_eq!(read(&["aaa\nb\n"], 3).await, [text("aaa"), text("b")]);
        let too_long = || Line::TooLong(OversizedMessage::Unknown);
        assert_eq!(read(&["aaaa\nb\n"], 3).await, [too_long(), text("b")]);
        assert_eq!(read(&["aaaa", "aaaa", "aa\nb\n"], 3).await, [too_long(), text("b")]);
        assert_eq!(read(&["aaaa"], 3).await, [too_long()]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_says_what_it_was() {
        let request = Line::TooLong(OversizedMessage::Request(7.into()));
        let pieces =
            ["{\"method\":\"a\",\"params\":{\"x\":\"", "yyyyyyyyyyyyyyyyyyyyy", "\"},\"id\":7}\nb\n"];
        assert_eq!(read(&pieces, 30).await, [request, text("b")]);
        let mut lines = Lines::new(3);
        lines.fill(&mut &b"aaaaa"[..]).await.unwrap();
        assert_eq!((lines.next_line(), lines.skipped()), (None, 5));
        lines.fill(&mut &b"a\nb"[..]).await.unwrap();
        assert_eq!((lines.next_line(), lines.skipped()), (Some(Line::TooLong(OversizedMessage::Unknown)), 0));
    }

    #[test]
    fn a_frame_with_line_breaks_becomes_one_line() {
        let mut out = Vec::new();
        push_line(&mut out, b"{\n\t\"a\":\r\n1}");
        assert_eq!(out, b"{ \t\"a\":  1}\n");
    }
}
