//! A server that is played by hand, one request at a time, so that it can misbehave.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::{Error, ProtocolVersion};

/// A server that answers nothing by itself: each request is passed to the test, which answers it.
pub(crate) struct Stage {
    pub(crate) url: String,
    requests: mpsc::UnboundedReceiver<Asked>,
}

/// A request that waits for its answer.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    pub(crate) socket: TcpStream,
}

/// An event stream that stays open until the test ends it.
pub(crate) struct Stream(pub(crate) TcpStream);

impl Stage {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    if let Some(asked) = Asked::read(socket).await {
                        let _ = sender.send(asked);
                    }
                });
            }
        });
        Self { url, requests }
    }

    pub(crate) async fn next(&mut self) -> Asked {
        self.requests.recv().await.unwrap()
    }

    /// Fails if another request arrives before all tasks are idle. The clock must be paused: it advances only then.
    pub(crate) async fn stays_quiet(&mut self) {
        if let Ok(asked) = timeout(Duration::from_secs(3600), self.next()).await {
            panic!("nothing was expected: {} {}", asked.method, asked.body);
        }
    }

    /// Expects the cancellation of a call.
    pub(crate) async fn taken_back(&mut self) {
        let asked = self.next().await;
        assert_eq!(asked.rpc(), "notifications/cancelled");
        asked.plain("202 Accepted").await;
    }

    /// Plays the opening of a conversation.
    pub(crate) async fn initialize(&mut self, session: &str) {
        let asked = self.next().await;
        assert_eq!(asked.rpc(), "initialize");
        for name in ["mcp-session-id", "mcp-protocol-version", "last-event-id"] {
            assert_eq!(asked.header(name), None, "{name}");
        }
        let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
        asked.json(session, &result).await;
        let asked = self.next().await;
        assert_eq!(asked.rpc(), "notifications/initialized");
        asked.plain("202 Accepted").await;
    }
}

impl Asked {
    async fn read(mut socket: TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        loop {
            if socket.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let mut lines = head.lines();
            let mut words = lines.next()?.split(' ').map(str::to_owned);
            let (method, path) = (words.next()?, words.next()?);
            let headers: BTreeMap<_, _> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect();
            let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() == length {
                let body = serde_json::from_str(body).unwrap_or_default();
                return Some(Self { method, path, headers, body, socket });
            }
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn rpc(&self) -> &str {
        assert_eq!(self.method, "POST");
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn assert_get(&self, last_event_id: Option<&str>) {
        assert_eq!(self.method, "GET");
        assert_eq!(self.header("accept"), Some("text/event-stream"));
        assert_eq!(self.header("last-event-id"), last_event_id);
    }

    /// Returns the reply to the request, for an event or a body.
    pub(crate) fn reply(&self, result: &Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}).to_string()
    }

    pub(crate) async fn raw(mut self, answer: String) {
        // The client may close the connection before it has read everything.
        let _ = self.socket.write_all(answer.as_bytes()).await;
    }

    pub(crate) async fn plain(self, status: &str) {
        self.with(status, "", "").await;
    }

    /// Answers without a message; each of `headers` ends with a line break.
    pub(crate) async fn with(self, status: &str, headers: &str, body: &str) {
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}");
        self.raw(format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
    }

    /// Answers immediately; each of `headers` ends with a line break.
    pub(crate) async fn json(self, headers: &str, result: &Value) {
        let body = self.reply(result);
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
        self.raw(format!("{head}{headers}content-length: {}\r\n\r\n{body}", body.len())).await;
    }

    pub(crate) async fn stream(mut self) -> Stream {
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        self.socket.write_all(head.as_bytes()).await.unwrap();
        Stream(self.socket)
    }
}

impl Stream {
    pub(crate) async fn say(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        let _ = self.0.write_all(chunk.as_bytes()).await;
    }

    /// Ends the answer properly; dropping the stream only closes the connection.
    pub(crate) async fn end(mut self) {
        let _ = self.0.write_all(b"0\r\n\r\n").await;
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn abandoned(mut self) {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest).await;
    }
}

pub(crate) const SESSION: &str = "mcp-session-id: s-1\r\n";

/// A client with an open conversation.
pub(crate) async fn opened(session: &str) -> (Client, Stage) {
    let mut stage = Stage::open().await;
    let url = stage.url.clone();
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let (client, ()) = tokio::join!(builder.connect_http(&url), stage.initialize(session));
    (client.unwrap(), stage)
}

/// The same with a session, and without a stream for notifications.
pub(crate) async fn in_session() -> (Client, Stage) {
    let (client, mut stage) = opened(SESSION).await;
    let asked = stage.next().await;
    asked.assert_get(None);
    asked.plain("405 Method Not Allowed").await;
    (client, stage)
}

pub(crate) fn calling(client: &Client, tool: &'static str) -> JoinHandle<Result<String, Error>> {
    let client = client.clone();
    tokio::spawn(async move {
        let result = client.call(tool, json!({})).await?;
        Ok(result.first_text().unwrap_or_default().to_owned())
    })
}

pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn news(number: u32) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": number}})
        .to_string()
}

/// Returns the notifications of the server so far, in order.
pub(crate) fn heard(news: &mut toolway::client::NotificationReader) -> Vec<u64> {
    std::iter::from_fn(|| news.try_next()).map(|news| number(&news)).collect()
}

pub(crate) fn number(news: &Notification) -> u64 {
    let Notification::LogMessage(message) = news else { panic!("{news:?}") };
    serde_json::to_value(&message.data).unwrap().as_u64().unwrap()
}
