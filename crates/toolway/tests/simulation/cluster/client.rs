//! How does a client talk to the cluster? Each request goes through a balancer, which draws a node for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};
use toolway::server::http::ResponseBody;
use toolway::server::{Extensions, Principal};
use toolway::transport::sse::Parser;

use super::history::{End, Event, Heard, Over, Purpose, hash_of};
use super::nodes::{Cluster, Node};
use crate::random::Random;

/// The way of one client to the cluster.
#[derive(Clone)]
pub(crate) struct Browser {
    pub(crate) cluster: Cluster,
    pub(crate) principal: &'static str,
    /// The session id; empty before the session is open.
    pub(crate) session: String,
    pub(crate) version: &'static str,
    /// How many connections in a hundred break.
    pub(crate) faults: u64,
    /// Set when nothing breaks any more.
    pub(crate) is_calm: Arc<AtomicBool>,
}

/// A request.
pub(crate) struct Ask {
    pub(crate) purpose: Purpose,
    pub(crate) body: Option<Value>,
    pub(crate) last_event_id: Option<String>,
}

impl Ask {
    pub(crate) fn post(purpose: Purpose, body: Value) -> Self {
        Self { purpose, body: Some(body), last_event_id: None }
    }

    pub(crate) fn get(purpose: Purpose, last_event_id: Option<String>) -> Self {
        Self { purpose, body: None, last_event_id }
    }

    fn method(&self) -> Method {
        match (&self.body, &self.purpose) {
            (Some(_), _) => Method::POST,
            (None, Purpose::Delete) => Method::DELETE,
            (None, _) => Method::GET,
        }
    }
}

/// A reply as it arrives.
pub(crate) struct Reply {
    cluster: Cluster,
    node: Node,
    pub(crate) exchange: usize,
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    body: Option<ResponseBody>,
    parser: Option<Parser>,
    waiting: VecDeque<Received>,
    cut: Option<Instant>,
    is_silent: bool,
    /// The id of the last event.
    pub(crate) last: Option<String>,
    /// How it ended.
    pub(crate) over: Option<Over>,
}

/// What arrived.
pub(crate) struct Received {
    id: Option<String>,
    hash: u64,
    pub(crate) heard: Heard,
    pub(crate) message: Value,
}

impl Browser {
    /// Sends a request to a node that the balancer draws. `None` if the connection breaks, or the client loses patience,
    /// before the head of the reply.
    pub(crate) async fn send(&self, ask: Ask, random: &mut Random) -> Option<Reply> {
        let Some(node) = self.cluster.choose(random) else {
            // The balancer has no node, and refuses the connection.
            sleep(Duration::from_millis(10)).await;
            return None;
        };
        self.send_to(node, ask, random).await
    }

    pub(crate) async fn send_to(&self, node: Node, ask: Ask, random: &mut Random) -> Option<Reply> {
        let history = &self.cluster.history;
        let exchange = history.number(&format!("exchange {}", random.below(u64::MAX)));
        let session = history.number(&self.session);
        let request = self.request(&ask);
        sleep(random.millis(1, 5)).await;
        history.add(Event::Sent { exchange, session, node: node.life.number, purpose: ask.purpose });
        let is_cut = random.chance(self.faults) && !self.is_calm.load(Ordering::SeqCst);
        let cut =
            is_cut.then(|| Instant::now() + random.pick(&[2, 20, 300, 2000].map(Duration::from_millis)));
        let patience = Instant::now() + PATIENCE;
        let (service, life) = (node.service.clone(), node.life.clone());
        let serving = async {
            if !life.passes().await {
                return None;
            }
            let response = service.handle(request).await;
            life.passes().await.then_some(response)
        };
        let over = |over| history.add(Event::Over { exchange, over });
        let response = tokio::select! {
            biased;
            () = node.life.died() => None,
            () = sleep_until(cut.unwrap_or(patience)), if cut.is_some() => None,
            () = sleep_until(patience) => {
                over(Over::Left);
                return None;
            }
            response = serving => response,
        };
        let Some(response) = response else {
            over(Over::Broken);
            return None;
        };
        let status = response.status().as_u16();
        let headers = response.headers();
        let has_retry_after = headers.contains_key("retry-after");
        history.add(Event::Head { exchange, status, has_retry_after });
        let is_stream = headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let session = headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        Some(Reply {
            cluster: self.cluster.clone(),
            node,
            exchange,
            status,
            session,
            body: Some(response.into_body()),
            parser: is_stream.then(|| Parser::new(1 << 20)),
            waiting: VecDeque::new(),
            cut,
            is_silent: random.chance(20),
            last: None,
            over: None,
        })
    }

    fn request(&self, ask: &Ask) -> Request<Full<Bytes>> {
        let body = ask.body.as_ref().map(Value::to_string).unwrap_or_default();
        let mut request = Request::builder()
            .method(ask.method())
            .uri("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .extension(Extensions::new().with(Principal::new(self.principal)));
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
            request = request.header("mcp-protocol-version", self.version);
        }
        if let Some(last) = &ask.last_event_id {
            request = request.header("last-event-id", last);
        }
        if ask.purpose == Purpose::Stateless {
            request = request
                .header("mcp-protocol-version", STATELESS)
                .header("mcp-method", "tools/call")
                .header("mcp-name", "peek");
        }
        request.body(Full::new(body.into())).unwrap()
    }
}

impl Reply {
    pub(crate) fn is_stream(&self) -> bool {
        self.parser.is_some()
    }

    /// Returns what arrives next. `None` when the reply has ended, or its connection is broken, or the client has lost
    /// its patience.
    pub(crate) async fn next(&mut self) -> Option<Received> {
        loop {
            if let Some(received) = self.waiting.pop_front() {
                return Some(self.get(received));
            }
            let (node, cut) = (self.node.clone(), self.cut);
            let patience = Instant::now() + if self.is_stream() { STREAM_PATIENCE } else { PATIENCE };
            let body = self.body.as_mut()?;
            let pulling = async {
                let frame = body.frame().await;
                (node.life.passes().await, frame)
            };
            let frame = tokio::select! {
                biased;
                () = node.life.died() => Err(Over::Broken),
                () = sleep_until(cut.unwrap_or(patience)), if cut.is_some() => Err(Over::Broken),
                (is_alive, frame) = pulling => if is_alive { Ok(frame) } else { Err(Over::Broken) },
                () = sleep_until(patience) => Err(Over::Left),
            };
            match frame {
                Ok(Some(Ok(frame))) => self.take(&frame.into_data().unwrap_or_default()).await,
                Ok(_) => return self.end(Over::Complete),
                Err(over) => return self.end(over),
            }
        }
    }

    /// Leaves the reply.
    pub(crate) fn leave(&mut self) {
        if self.body.is_some() {
            self.end(Over::Left);
        }
    }

    fn end(&mut self, over: Over) -> Option<Received> {
        self.cluster.history.add(Event::Over { exchange: self.exchange, over });
        self.over = Some(over);
        let body = self.body.take();
        if over == Over::Broken && self.is_silent {
            // The server is not told that the connection is broken.
            tokio::spawn(async move {
                sleep(SILENCE).await;
                drop(body);
            });
        }
        None
    }

    /// Records what the server has handed over, and then what the client gets of it.
    async fn take(&mut self, bytes: &Bytes) {
        let history = self.cluster.history.clone();
        let mut arrived = Vec::new();
        match &mut self.parser {
            Some(parser) => {
                parser.push(bytes);
                while let Some(event) = parser.next_event().unwrap() {
                    let message = serde_json::from_slice(&event.data).unwrap_or_default();
                    arrived.push((event.id.clone(), hash_of(&event.data), message));
                }
            }
            None => {
                let message = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
                arrived.push((None, hash_of(bytes), message));
            }
        }
        for (_, _, message) in &arrived {
            if let Heard::End { key, .. } = heard(message) {
                history.add(Event::HandedOver { key });
            }
        }
        sleep(Duration::from_millis(1)).await;
        if self.cut.is_some_and(|cut| cut <= Instant::now()) || self.node.life.is_dead() {
            return;
        }
        let received = arrived.into_iter().map(|(id, hash, message)| {
            let heard = heard(&message);
            Received { id, hash, heard, message }
        });
        let is_keep_alive = |received: &Received| received.id.is_none() && received.heard == Heard::Primer;
        self.waiting.extend(received.filter(|received| !is_keep_alive(received)));
    }

    /// Records that the client gets something.
    fn get(&mut self, received: Received) -> Received {
        let history = &self.cluster.history;
        let id = received.id.as_deref().map(|id| {
            let (stream, number) = id.split_once('.').unwrap();
            (history.number(stream), number.parse().unwrap())
        });
        let (exchange, hash, heard) = (self.exchange, received.hash, received.heard.clone());
        history.add(Event::Got { exchange, id, hash, heard });
        self.last = received.id.clone().or(self.last.take());
        received
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.leave();
    }
}

fn heard(message: &Value) -> Heard {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let params = &message["params"];
    match message["method"].as_str() {
        Some("notifications/progress") => Heard::Progress {
            key: text(&params["progressToken"]),
            step: params["progress"].as_u64().unwrap_or_default(),
        },
        Some("elicitation/create") => Heard::Question { key: text(&params["message"]) },
        Some("notifications/tools/list_changed") => Heard::Changed,
        Some(_) => Heard::Other,
        None if message["id"].is_null() => Heard::Primer,
        None => {
            let (result, error) = (&message["result"], &message["error"]);
            let end = if error["data"]["reason"] == "lost" {
                End::Lost
            } else if error["code"] == json!(-32600) {
                End::Refused
            } else if !error.is_null() {
                End::Error(error["code"].as_i64().unwrap_or_default())
            } else if result["isError"] == json!(true) {
                End::ToolFailed
            } else {
                End::Result(text(&result["content"][0]["text"]))
            };
            Heard::End { key: text(&message["id"]), end }
        }
    }
}

/// The revision without sessions.
pub(crate) const STATELESS: &str = "2026-07-28";
/// How long a client waits for a reply without a stream.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long a client waits for the next event. Streams have keep-alives each 15 seconds.
const STREAM_PATIENCE: Duration = Duration::from_secs(20);
/// How long a server is not told that a connection is broken.
const SILENCE: Duration = Duration::from_secs(20);
