//! How is a stream cut into lines without changing a byte?

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The maximum length in bytes of a line that is held as a whole. The parts of a longer line are passed on as they come,
/// and the proxy does not look into them.
const MAX_LINE: usize = 16 << 20;

/// The maximum number of bytes that are read at once.
const MAX_CHUNK: u64 = 64 << 10;

/// Reads lines with their line breaks.
pub(crate) struct LineReader<R> {
    reader: R,
    max_line: usize,
    buffer: Vec<u8>,
    /// The buffer has no line break before this place.
    searched: usize,
    /// `true` inside a line that is too long.
    in_long_line: bool,
    is_at_end: bool,
}

/// A part of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A whole line with its line break. The last line of a stream may have none.
    Line(Vec<u8>),
    /// A part of a line that is too long.
    Part(Vec<u8>),
}

impl Piece {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Line(bytes) | Self::Part(bytes) => bytes,
        }
    }
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::with_limit(reader, None)
    }

    /// Holds lines of at most `max_line` bytes as a whole, by default 16 MiB.
    pub(crate) fn with_limit(reader: R, max_line: Option<usize>) -> Self {
        let max_line = max_line.unwrap_or(MAX_LINE);
        Self { reader, max_line, buffer: Vec::new(), searched: 0, in_long_line: false, is_at_end: false }
    }

    /// Waits for the next piece; `None` at the end of the stream. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.take() {
                return Ok(Some(piece));
            }
            if self.is_at_end {
                return Ok(None);
            }
            self.fill().await?;
        }
    }

    /// Waits until the stream has ended, and keeps what comes before for [`next`](Self::next), up to a limit.
    pub(crate) async fn ended(&mut self) -> io::Result<()> {
        while !self.is_at_end && self.buffer.len() < self.max_line {
            self.fill().await?;
        }
        if !self.is_at_end {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn fill(&mut self) -> io::Result<()> {
        // No more at once, so that the buffer does not grow far beyond the limit.
        let mut chunk = (&mut self.reader).take(MAX_CHUNK);
        self.is_at_end = chunk.read_buf(&mut self.buffer).await? == 0;
        Ok(())
    }

    fn take(&mut self) -> Option<Piece> {
        if let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            let rest = self.buffer.split_off(self.searched + end + 1);
            let bytes = std::mem::replace(&mut self.buffer, rest);
            self.searched = 0;
            let is_part = std::mem::take(&mut self.in_long_line) || bytes.len() > self.max_line;
            return Some(if is_part { Piece::Part(bytes) } else { Piece::Line(bytes) });
        }
        self.searched = self.buffer.len();
        if self.buffer.is_empty()
            || !(self.is_at_end || self.in_long_line || self.buffer.len() > self.max_line)
        {
            return None;
        }
        self.searched = 0;
        let bytes = std::mem::take(&mut self.buffer);
        if self.is_at_end && !self.in_long_line {
            return Some(Piece::Line(bytes));
        }
        self.in_long_line = true;
        Some(Piece::Part(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_pieces_are_the_stream() {
        let long = [&vec![b'x'; MAX_LINE + 10][..], b"\n"].concat();
        let text = [b"a\r\n\n \n\xff\n", &long[..], b"b\nno end"].concat();
        let mut reader = LineReader::new(&text[..]);
        let (mut lines, mut all) = (Vec::new(), Vec::new());
        while let Some(piece) = reader.next().await.unwrap() {
            all.extend_from_slice(piece.bytes());
            if let Piece::Line(line) = piece {
                lines.push(line);
            }
        }
        assert!(all == text, "no byte is lost or changed");
        assert_eq!(lines, [&b"a\r\n"[..], b"\n", b" \n", b"\xff\n", b"b\n", b"no end"]);
    }
}
