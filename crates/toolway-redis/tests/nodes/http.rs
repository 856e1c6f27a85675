//! How do requests and event streams look on the wire?
//!
//! Written by hand, because the checker wants to see every event with its id, and whether a reply ended regularly. Each
//! request has a connection of its own.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// A connection to a node. It breaks when the node is taken out of service.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
    /// Changes when the node is taken out of service.
    pub(crate) service: watch::Receiver<u64>,
}

/// An HTTP request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// With its question mark, if there is one.
    pub(crate) query: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

/// A reply whose body has not been read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    connection: Connection,
    /// How the end of the body is found.
    framing: Framing,
    /// The part of an event stream that is not a whole event yet.
    rest: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    Chunks,
    Length(usize),
    Done,
}

/// An event of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Request {
    /// Sends the request on a connection that was just opened, and reads the head of the reply.
    pub(crate) async fn send(&self, mut connection: Connection) -> io::Result<Reply> {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let port = connection.stream.get_ref().peer_addr()?.port();
        let (method, query) = (self.method, &self.query);
        let mut text =
            format!("{method} /mcp{query} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n");
        for (name, value) in &self.headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        if self.body.is_some() {
            let length = body.len();
            write!(text, "content-type: application/json\r\ncontent-length: {length}\r\n").unwrap();
        }
        text += "\r\n";
        text += &body;
        connection.stream.write_all(text.as_bytes()).await?;
        let status = connection.read_line().await?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let mut headers = Vec::new();
        loop {
            let line = connection.read_line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, connection, framing: Framing::Done, rest: Vec::new() };
        if reply.header("transfer-encoding").is_some() {
            reply.framing = Framing::Chunks;
        } else if let Some(length) = reply.header("content-length") {
            reply.framing = Framing::Length(length.parse().map_err(|_| broken())?);
        }
        Ok(reply)
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        self.header("content-type").is_some_and(|value| value.starts_with("text/event-stream"))
    }

    /// Reads the whole body.
    pub(crate) async fn text(mut self) -> io::Result<String> {
        while self.read_piece().await? {}
        String::from_utf8(self.rest).map_err(|_| broken())
    }

    /// Reads the next event that has an id or data. Returns `None` at the regular end of the stream.
    pub(crate) async fn next_event(&mut self) -> io::Result<Option<Event>> {
        loop {
            let end = self.rest.windows(2).position(|pair| pair == b"\n\n");
            let Some(end) = end else {
                if self.read_piece().await? {
                    continue;
                }
                return Ok(None);
            };
            let block: Vec<_> = self.rest.drain(..end + 2).collect();
            let block = String::from_utf8(block).map_err(|_| broken())?;
            let mut event = Event { id: None, data: String::new() };
            for line in block.lines() {
                match line.split_once(':') {
                    Some(("id", value)) => event.id = Some(value.trim_start().to_owned()),
                    Some(("data", value)) => event.data += value.trim_start(),
                    _ => {}
                }
            }
            if event.id.is_some() || !event.data.is_empty() {
                return Ok(Some(event));
            }
        }
    }

    /// Reads a piece of the body. Returns `false` at its regular end.
    async fn read_piece(&mut self) -> io::Result<bool> {
        let length = match self.framing {
            Framing::Done | Framing::Length(0) => return Ok(false),
            Framing::Length(length) => length,
            Framing::Chunks => {
                let line = self.connection.read_line().await?;
                usize::from_str_radix(&line, 16).map_err(|_| broken())?
            }
        };
        let start = self.rest.len();
        self.rest.resize(start + length, 0);
        self.connection.read_exact(&mut self.rest[start..]).await?;
        if matches!(self.framing, Framing::Chunks) {
            self.connection.read_line().await?;
        }
        if length == 0 || matches!(self.framing, Framing::Length(_)) {
            self.framing = Framing::Done;
        }
        Ok(length > 0)
    }
}

impl Connection {
    /// Reads a line without its end. A line that is not complete is an error.
    async fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        tokio::select! {
            biased;
            read = self.stream.read_line(&mut line) => read?,
            _ = self.service.changed() => return Err(broken()),
        };
        let line = line.strip_suffix("\r\n").ok_or_else(broken)?;
        Ok(line.to_owned())
    }

    async fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        tokio::select! {
            biased;
            read = self.stream.read_exact(bytes) => read.map(drop),
            _ = self.service.changed() => Err(broken()),
        }
    }
}

fn broken() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
