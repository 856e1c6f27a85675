//! How is raw HTTP sent, and how are answers read? Knows just enough of HTTP/1.1 to find the end of an answer.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use toolway::server::http::HttpService;

pub(crate) const LATEST: &str = "2026-07-28";
pub(crate) const HANDSHAKE: &str = "2025-11-25";
/// A server that has not answered by then will not answer.
const LONG: Duration = Duration::from_secs(20);

/// The longest line with the size of a chunk.
const MAX_SIZE_LINE: usize = 20;

/// A service behind a real socket. Dropping it closes the socket.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    task: JoinHandle<toolway::Result<()>>,
}

impl Served {
    pub(crate) async fn start(service: HttpService) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { address, task: tokio::spawn(service.serve(listener)) }
    }

    pub(crate) async fn connect(&self) -> Wire {
        Wire::connect(self.address).await
    }

    pub(crate) async fn ask(&self, request: &[u8]) -> Answer {
        ask(self.address, request).await
    }

    /// Returns whether a well-behaved client is answered.
    pub(crate) async fn is_well(&self) -> bool {
        self.ask(&discover("")).await.is_result()
    }

    pub(crate) async fn open(&self, extra: &str) -> String {
        open(self.address, extra).await
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends one request on its own connection.
pub(crate) async fn ask(address: SocketAddr, request: &[u8]) -> Answer {
    let mut wire = Wire::connect(address).await;
    wire.send(request).await;
    wire.answer().await.expect("an answer")
}

/// Opens a session and returns the headers that name it, with `extra`.
pub(crate) async fn open(address: SocketAddr, extra: &str) -> String {
    let answer = ask(address, &post(extra, &initialize())).await;
    let session = answer.header("mcp-session-id").expect("a session").to_owned();
    let headers = format!("{extra}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {HANDSHAKE}\r\n");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(ask(address, &post(&headers, &ready.to_string())).await.status, 202);
    headers
}

/// A connection that is used with raw bytes.
pub(crate) struct Wire {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { socket: TcpStream::connect(address).await.unwrap(), read: Vec::new() }
    }

    /// A connection from another address of this machine.
    pub(crate) async fn connect_from(from: &str, address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
        Self { socket: socket.connect(address).await.unwrap(), read: Vec::new() }
    }

    /// A connection with a tiny receive buffer.
    pub(crate) async fn connect_small(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1024).unwrap();
        Self { socket: socket.connect(address).await.unwrap(), read: Vec::new() }
    }

    /// Sends as much as the server accepts; it may have closed the connection already.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = bounded(self.socket.write_all(bytes)).await;
    }

    /// Sends as much as the server accepts before it answers. Returns whether there is an answer.
    pub(crate) async fn has_answer_or_accepts(&mut self, bytes: &[u8]) -> bool {
        let mut sent = 0;
        let (mut reader, writer) = self.socket.split();
        bounded(async {
            while sent < bytes.len() {
                tokio::select! {
                    biased;
                    read = reader.read_buf(&mut self.read) => return read.is_ok(),
                    written = writer.writable() => {
                        written.unwrap();
                        match writer.try_write(&bytes[sent..]) {
                            Ok(count) => sent += count,
                            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                            // The server has answered and closed the connection.
                            Err(_) => return true,
                        }
                    }
                }
            }
            false
        })
        .await
    }

    /// Closes the writing half.
    pub(crate) async fn finish(&mut self) {
        let _ = self.socket.shutdown().await;
    }

    /// Reads a piece; returns whether there was one. A reset connection counts as closed.
    async fn more(&mut self) -> bool {
        matches!(bounded(self.socket.read_buf(&mut self.read)).await, Ok(count) if count > 0)
    }

    /// Reads the head of the next answer; `None` when the connection is closed.
    pub(crate) async fn head(&mut self) -> Option<Answer> {
        let end = loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                break end;
            }
            if !self.more().await {
                assert!(self.read.is_empty(), "half an answer: {}", self.read.escape_ascii());
                return None;
            }
        };
        let head = String::from_utf8(self.read.drain(..end + 4).collect()).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Some(Answer { status: status.unwrap_or_else(|| panic!("no status: {head}")), head, body: Vec::new() })
    }

    /// Reads the next answer to its end; `None` when the connection is closed.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let mut answer = self.head().await?;
        if answer.is_chunked() {
            while let Some(chunk) = self.chunk().await {
                answer.body.extend(chunk);
            }
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            while self.read.len() < length {
                assert!(self.more().await, "half a body: {}", self.read.escape_ascii());
            }
            answer.body = self.read.drain(..length).collect();
        }
        Some(answer)
    }

    /// Reads the next piece of a stream; `None` at its proper end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        loop {
            // The line of a size is short, so that a long chunk is not searched again with each piece.
            if let Some(line) = find(&self.read[..self.read.len().min(MAX_SIZE_LINE)], b"\r\n") {
                let size = std::str::from_utf8(&self.read[..line]).unwrap();
                let size = usize::from_str_radix(size, 16).unwrap();
                if self.read.len() >= line + size + 4 {
                    let mut chunk: Vec<_> = self.read.drain(..line + size + 4).skip(line + 2).collect();
                    chunk.truncate(size);
                    return (size > 0).then_some(chunk);
                }
            }
            assert!(self.more().await, "the stream broke off: {}", self.read.escape_ascii());
        }
    }

    /// Reads pieces of a stream until they contain `text`.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut all = String::new();
        while !all.contains(text) {
            let chunk = self.chunk().await;
            all += &String::from_utf8(chunk.unwrap_or_else(|| panic!("no {text:?} in {all}"))).unwrap();
        }
        all
    }

    /// Reads everything until the connection is closed, complete or not.
    pub(crate) async fn rest(mut self) -> String {
        while self.more().await {}
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Reads the body of an answer whose head was read.
    pub(crate) async fn read_body(&mut self, head: &Answer) {
        let length = head.header("content-length").unwrap().parse().unwrap();
        while self.read.len() < length {
            assert!(self.more().await, "half a body");
        }
        self.read.drain(..length);
    }

    /// Returns whether the server closes the connection without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        !self.more().await && self.read.is_empty()
    }
}

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("the server does something in time")
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no message: {self:?}"))
    }

    pub(crate) fn is_result(&self) -> bool {
        self.status == 200 && self.json().get("result").is_some()
    }
}

/// A POST with a valid length.
pub(crate) fn post(extra: &str, body: &str) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n", body.len());
    framed(&format!("{extra}{length}"), body.as_bytes())
}

/// A POST whose length headers are in `extra`.
pub(crate) fn framed(extra: &str, rest: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{extra}\r\n"
    );
    [head.as_bytes(), rest].concat()
}

pub(crate) fn get(extra: &str) -> Vec<u8> {
    format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{extra}\r\n").into_bytes()
}

/// The headers that repeat the content of a message of the stateless era.
pub(crate) fn mirrored(method: &str, name: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
    format!("MCP-Protocol-Version: {LATEST}\r\nMcp-Method: {method}\r\n{name}")
}

/// A message of the stateless era; `params` are members with trailing commas.
pub(crate) fn stateless(id: &str, method: &str, params: &str) -> String {
    let meta = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{LATEST}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    );
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{meta}}}}}"#)
}

/// A valid request without parameters.
pub(crate) fn discover(extra: &str) -> Vec<u8> {
    let headers = mirrored("server/discover", "");
    post(&format!("{headers}{extra}"), &stateless("1", "server/discover", ""))
}

/// A valid call of a tool without arguments, in the stateless era.
pub(crate) fn call(tool: &str) -> Vec<u8> {
    post(&mirrored("tools/call", tool), &stateless("1", "tools/call", &format!(r#""name":"{tool}","#)))
}

pub(crate) fn initialize() -> String {
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}
