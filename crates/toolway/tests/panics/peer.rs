//! A peer that sends raw messages to a server, and counts the answers.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use toolway::prelude::*;
use toolway::server::http::{HttpService, ResponseBody};
use toolway::server::{Extensions, Principal};
use toolway::transport::sse::Parser;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Direct,
    Pipe,
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Handshake,
    Stateless,
}

const STATELESS: &str = "2026-07-28";
const HANDSHAKE: &str = "2025-11-25";

pub(crate) struct Peer {
    era: Era,
    number: u64,
    line: Line,
}

enum Line {
    Direct(Server),
    Pipe {
        writer: WriteHalf<DuplexStream>,
        lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
        task: JoinHandle<toolway::Result<()>>,
    },
    Http {
        service: HttpService,
        session: Option<String>,
    },
}

impl Peer {
    fn unopened(server: &Server, way: Way, era: Era) -> Self {
        let line = match way {
            Way::Direct => Line::Direct(server.clone()),
            Way::Pipe => {
                let (near, far) = tokio::io::duplex(1 << 16);
                let server = server.clone();
                let task = tokio::spawn(async move {
                    let (reader, writer) = tokio::io::split(far);
                    server.serve_io(reader, writer).await
                });
                let (reader, writer) = tokio::io::split(near);
                Line::Pipe { writer, lines: BufReader::new(reader).lines(), task }
            }
            Way::Http => Line::Http { service: server.http(), session: None },
        };
        Self { era, number: 0, line }
    }

    pub(crate) async fn start(server: &Server, way: Way, era: Era) -> Self {
        let mut peer = Self::unopened(server, way, era);
        // A direct call keeps no state, so there is nothing to open.
        if era == Era::Handshake && way != Way::Direct {
            let params = json!({"protocolVersion": HANDSHAKE, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "p", "version": "1"}});
            let (_, opened) = peer.ask("initialize", params).await;
            assert_eq!(opened["result"]["protocolVersion"], HANDSHAKE, "{opened}");
            peer.notify("notifications/initialized", json!({})).await;
        }
        peer
    }

    /// Returns the answer for a caller that is not admitted.
    pub(crate) async fn refused(server: &Server, way: Way, era: Era) -> Value {
        let mut peer = Self::unopened(server, way, era);
        let params = json!({"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "p", "version": "1"}});
        let method = if era == Era::Handshake { "initialize" } else { "tools/list" };
        let mut message = peer.message(method, params);
        message["id"] = json!(1);
        let answer = match &peer.line {
            Line::Direct(_) => unreachable!("nobody is asked there"),
            Line::Pipe { .. } => {
                peer.send(&message).await;
                peer.hear().await
            }
            Line::Http { .. } => peer.post(&message).await.remove(0),
        };
        if let Line::Pipe { task, .. } = peer.line {
            task.await.expect("no panic gets out").expect_err("a refusal");
        }
        answer
    }

    /// Calls a tool of a server that may be unable to answer; returns the answers.
    pub(crate) async fn try_call(&mut self, tool: &str) -> Vec<Value> {
        self.number += 1;
        let mut message = self.message("tools/call", json!({"name": tool}));
        message["id"] = json!(self.number);
        let heard = tokio::time::timeout(LONG, self.post(&message)).await.expect("an end");
        heard.into_iter().filter(|heard| heard.get("method").is_none()).collect()
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> (Value, Value) {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a request and answers the questions that come before its result; returns the id and the single answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> (Value, Value) {
        let (id, answer) = self.ask_once(method, params.clone()).await;
        if answer["result"]["resultType"] != "input_required" {
            return (id, answer);
        }
        let mut again = params;
        again["requestState"] = answer["result"]["requestState"].clone();
        for key in answer["result"]["inputRequests"].as_object().unwrap().keys() {
            again["inputResponses"][key] = accepted();
        }
        self.ask_once(method, again).await
    }

    async fn ask_once(&mut self, method: &str, params: Value) -> (Value, Value) {
        self.number += 1;
        let id = json!(self.number);
        let mut message = self.message(method, params);
        message["id"] = id.clone();
        let answered = async {
            match &mut self.line {
                Line::Direct(server) => {
                    let extensions = Extensions::new().with(Principal::new("ann"));
                    let answer = server.handle_json(message.to_string(), extensions).await.unwrap();
                    serde_json::from_str(&answer).unwrap()
                }
                Line::Pipe { .. } => {
                    self.send(&message).await;
                    loop {
                        let heard = self.hear().await;
                        if heard["id"] == id && heard.get("method").is_none() {
                            return heard;
                        }
                    }
                }
                Line::Http { .. } => {
                    let mut heard = self.post(&message).await;
                    let answers =
                        heard.extract_if(.., |heard| heard["id"] == id && heard.get("method").is_none());
                    let answers: Vec<_> = answers.collect();
                    assert_eq!(answers.len(), 1, "answers to {message}: {answers:?}, beside {heard:?}");
                    answers.into_iter().next().unwrap()
                }
            }
        };
        let answer = tokio::time::timeout(LONG, answered).await;
        (id, answer.unwrap_or_else(|_| panic!("no answer to {message}")))
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = self.message(method, params);
        match &mut self.line {
            Line::Direct(server) => {
                assert_eq!(server.handle_json(message.to_string(), Extensions::new()).await, None);
            }
            Line::Pipe { .. } => self.send(&message).await,
            Line::Http { .. } => assert_eq!(self.post(&message).await, Vec::<Value>::new()),
        }
    }

    /// Checks that the conversation continues, and that `answered` is not answered again.
    pub(crate) async fn fence(&mut self, answered: Option<&Value>) {
        self.number += 1;
        let id = json!(self.number);
        let mut message = self.message("tools/list", json!({}));
        message["id"] = id.clone();
        let heard = match &mut self.line {
            Line::Pipe { .. } => {
                self.send(&message).await;
                let mut heard = Vec::new();
                while heard.last().is_none_or(|last: &Value| last["id"] != id) {
                    heard.push(tokio::time::timeout(LONG, self.hear()).await.expect("the pipe is alive"));
                }
                heard
            }
            Line::Http { .. } => self.post(&message).await,
            Line::Direct(server) => {
                let answer = server.handle_json(message.to_string(), Extensions::new()).await.unwrap();
                vec![serde_json::from_str(&answer).unwrap()]
            }
        };
        let list = heard.last().unwrap();
        assert!(list["result"]["tools"].is_array(), "{list}");
        assert!(heard.iter().all(|heard| Some(&heard["id"]) != answered), "a second answer: {heard:?}");
    }

    /// Disconnects, and waits until the server has noticed.
    pub(crate) async fn end(self) {
        if let Line::Pipe { mut writer, mut lines, task } = self.line {
            writer.shutdown().await.unwrap();
            assert_eq!(lines.next_line().await.unwrap(), None);
            task.await.expect("no panic gets out").unwrap();
        }
    }

    fn message(&self, method: &str, mut params: Value) -> Value {
        if method != "initialize" {
            params["_meta"] = json!({"progressToken": self.number});
        }
        if self.era == Era::Stateless {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        }
        json!({"jsonrpc": "2.0", "method": method, "params": params})
    }

    async fn send(&mut self, message: &Value) {
        let Line::Pipe { writer, .. } = &mut self.line else { unreachable!() };
        writer.write_all(format!("{message}\n").as_bytes()).await.expect("the pipe is open");
    }

    /// Reads the next message on a pipe, and answers questions.
    async fn hear(&mut self) -> Value {
        let Line::Pipe { lines, .. } = &mut self.line else { unreachable!() };
        let line = lines.next_line().await.unwrap().expect("the pipe is open");
        let heard: Value = serde_json::from_str(&line).unwrap();
        if heard["method"] == "elicitation/create" {
            self.send(&answer(&heard)).await;
        }
        heard
    }

    /// Returns all messages of the reply; questions are answered meanwhile.
    fn post<'p>(&'p mut self, message: &'p Value) -> Pin<Box<dyn Future<Output = Vec<Value>> + Send + 'p>> {
        Box::pin(async move {
            let response = self.request(message).await;
            let Line::Http { session, .. } = &mut self.line else { unreachable!() };
            if let Some(opened) = response.headers().get("mcp-session-id") {
                *session = Some(opened.to_str().unwrap().to_owned());
            }
            let is_stream =
                response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
            let mut body = response.into_body();
            let (mut parser, mut whole, mut heard) = (Parser::new(1 << 20), Vec::new(), Vec::new());
            while let Some(piece) = body.frame().await {
                let piece = piece.unwrap().into_data().unwrap();
                if !is_stream {
                    whole.extend_from_slice(&piece);
                    continue;
                }
                parser.push(&piece);
                while let Some(event) = parser.next_event().unwrap() {
                    if event.data.is_empty() {
                        continue;
                    }
                    let message: Value = serde_json::from_slice(event.data.as_ref()).unwrap();
                    if message["method"] == "elicitation/create" {
                        assert_eq!(self.post(&answer(&message)).await, Vec::<Value>::new());
                    }
                    heard.push(message);
                }
            }
            if !whole.is_empty() {
                heard.push(serde_json::from_slice(&whole).unwrap());
            }
            heard
        })
    }

    async fn request(&self, message: &Value) -> Response<ResponseBody> {
        let Line::Http { service, session } = &self.line else { unreachable!() };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", HANDSHAKE);
        }
        if self.era == Era::Stateless {
            let method = message["method"].as_str().unwrap();
            request = request.header("mcp-protocol-version", STATELESS).header("mcp-method", method);
            let params = &message["params"];
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                request = request.header("mcp-name", name);
            }
        }
        let request = request.extension(Extensions::new().with(Principal::new("ann")));
        let request = request.body(Full::new(Bytes::from(message.to_string()))).unwrap();
        Box::pin(service.handle(request)).await
    }
}

/// The answer to a question.
fn answer(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted()})
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"word": "please"}})
}

/// Longer than anything takes.
const LONG: Duration = Duration::from_secs(24 * 3600);
