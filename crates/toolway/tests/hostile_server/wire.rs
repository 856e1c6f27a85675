//! How does a hostile server speak, over a pipe and over HTTP? A function answers each message of the client.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::net::{TcpListener, TcpStream};
use toolway::ProtocolVersion;
use toolway::client::ClientBuilder;
use toolway::prelude::*;

/// Connects a client over a pipe to a server that writes the lines that `answer` returns for each message.
pub(crate) async fn over_pipe(
    builder: ClientBuilder,
    mut answer: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> Client {
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            for line in answer(&serde_json::from_str(&line).unwrap()) {
                if writer.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    let (reader, writer) = tokio::io::split(near);
    builder.connect_io(reader, writer).await.unwrap()
}

/// Serves HTTP: POSTs are answered with the message that `answer` returns, and 202 if it returns none. Returns the URL.
pub(crate) async fn over_http(answer: impl Fn(&Value) -> Option<String> + Send + Sync + 'static) -> String {
    streams_over_http(answer, String::new).await
}

/// The same. A GET is answered with the stream of events that `events` returns, and 405 if they are empty.
pub(crate) async fn streams_over_http(
    answer: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
    events: impl Fn() -> String + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let script = Arc::new((answer, events));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let script = script.clone();
            tokio::spawn(async move {
                let _ = serve(socket, &script.0, &script.1).await;
            });
        }
    });
    url
}

async fn serve(
    socket: TcpStream,
    answer: impl Fn(&Value) -> Option<String>,
    events: impl Fn() -> String,
) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        socket.read_line(&mut first).await?;
        loop {
            let mut line = String::new();
            if socket.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await?;
        let (status, body) = if first.starts_with("POST") {
            match answer(&serde_json::from_slice(&body)?) {
                Some(message) => ("200 OK\r\nmcp-session-id: 1\r\ncontent-type: application/json", message),
                None => ("202 Accepted", String::new()),
            }
        } else {
            match events() {
                none if none.is_empty() || !first.starts_with("GET") => ("405 Method Not Allowed", none),
                events => ("200 OK\r\ncontent-type: text/event-stream", events),
            }
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(body.as_bytes()).await?;
    }
}

/// Returns the reply to a request; `result` is JSON text.
pub(crate) fn reply(request: &Value, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"])
}

/// Returns the replies of an ordinary server of revision 2025-11-25 to the requests that open a connection.
pub(crate) fn opening(request: &Value) -> Option<String> {
    match request["method"].as_str()? {
        "initialize" => {
            let changes = json!({"listChanged": true});
            let can = json!({"tools": changes, "prompts": changes, "resources": changes, "logging": {}});
            let server = json!({"name": "hostile", "version": "1"});
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": server});
            Some(reply(request, &result.to_string()))
        }
        "server/discover" => {
            let error = json!({"code": -32601, "message": "no such method"});
            Some(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}).to_string())
        }
        _ => None,
    }
}

/// The server's end of a pipe, which a test plays by hand.
pub(crate) struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
}

impl Peer {
    /// Connects a client to a peer over a pipe that holds `capacity` bytes.
    pub(crate) async fn connect(builder: ClientBuilder, capacity: usize) -> (Client, Self) {
        let (near, far) = tokio::io::duplex(capacity);
        let (reader, writer) = tokio::io::split(far);
        let mut peer = Self { lines: BufReader::new(reader).lines(), writer };
        let (reader, writer) = tokio::io::split(near);
        let connecting = builder.protocol(ProtocolVersion::LATEST_HANDSHAKE).connect_io(reader, writer);
        let opening = async {
            let initialize = peer.next().await.unwrap();
            peer.say(&opening(&initialize).unwrap()).await;
            assert_eq!(peer.next().await.unwrap()["method"], "notifications/initialized");
        };
        let (client, ()) = tokio::join!(connecting, opening);
        (client.unwrap(), peer)
    }

    /// Returns the next message of the client; `None` once it is gone.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn say(&mut self, line: &str) {
        // The client may be gone.
        let _ = self.writer.write_all(format!("{line}\n").as_bytes()).await;
    }
}
