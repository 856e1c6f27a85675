//! How does a client make requests, each at a node of its own, and follow a call to its end?

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster::{Cluster, KnownSession, Node};
use crate::history::Fact;
use crate::http::{Connection, Reply, Request};
use crate::random::Random;

/// A client with one session, or a client of the stateless era.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) principal: &'static str,
    pub(crate) revision: &'static str,
    /// Empty in the stateless era.
    pub(crate) session: String,
    pub(crate) name: String,
    pub(crate) random: Mutex<Random>,
    next: AtomicU64,
}

/// A call. Each POST of it is an attempt.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: String,
    pub(crate) tool: &'static str,
    pub(crate) request: Value,
    pub(crate) attempts: AtomicU32,
    habit: Habit,
    /// A node has accepted the cancellation.
    pub(crate) is_cancelled: AtomicBool,
    /// The node of the last attempt.
    pub(crate) last_node: Mutex<String>,
    /// The client has got a report of progress.
    is_told: watch::Sender<bool>,
}

impl Call {
    /// Waits until the client has got a report of progress, so that the handler has begun.
    pub(crate) async fn told(&self) {
        _ = self.is_told.subscribe().wait_for(|is_told| *is_told).await;
    }
}

/// What the client does with the stream of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Reads it to its end.
    Reads,
    /// Closes it now and then, and resumes it.
    Cuts,
    /// Cancels the call, so that an end without an answer is the end.
    Cancels,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The call was answered, or was cancelled.
    Final,
    /// The server asks for input.
    Input(Value),
    /// A request with this id is running, or the server is busy.
    Refused,
    /// The connection broke before the client got an event id.
    Broke,
}

impl Client {
    /// Creates a client. It opens a session, unless it needs none, or needs a stream first.
    pub(crate) async fn open(
        cluster: &Arc<Cluster>,
        number: usize,
        round: u64,
        revision: &'static str,
        random: Random,
    ) -> Arc<Self> {
        let mut client = Self {
            cluster: cluster.clone(),
            principal: PRINCIPALS[number % 2],
            revision,
            session: String::new(),
            name: format!("{number}.{round}"),
            random: Mutex::new(random),
            next: AtomicU64::new(1),
        };
        if !matches!(revision, STATELESS | LEGACY) {
            client.initialize().await;
        }
        Arc::new(client)
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision == STATELESS
    }

    async fn initialize(&mut self) {
        let capabilities = json!({"elicitation": {}, "sampling": {}});
        let params = json!({
            "protocolVersion": self.revision, "capabilities": capabilities,
            "clientInfo": {"name": "nodes", "version": "1"},
        });
        let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let session = loop {
            let (node, reply) = self.post(opening.clone()).await;
            let Some(reply) = reply.filter(|reply| reply.status == 200) else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Some(session) = reply.header("mcp-session-id").map(str::to_owned) else { continue };
            // A reply that breaks off does not count: the client opens another session.
            if reply.text().await.is_ok() {
                self.write(Fact::Opened {
                    principal: self.principal.to_owned(),
                    session: session.clone(),
                    revision: self.revision.to_owned(),
                    node: node.name.clone(),
                });
                break session;
            }
        };
        self.session = session;
        self.cluster.sessions.lock().unwrap().push(KnownSession {
            principal: self.principal,
            id: self.session.clone(),
            last_event: None,
        });
        self.notify("notifications/initialized", json!({})).await;
    }

    pub(crate) fn write(&self, fact: Fact) {
        self.cluster.history.write(fact);
    }

    pub(crate) fn one_in(&self, times: usize) -> bool {
        self.random.lock().unwrap().one_in(times)
    }

    pub(crate) fn below(&self, limit: usize) -> usize {
        self.random.lock().unwrap().below(limit)
    }

    /// Returns a request of this client.
    pub(crate) fn request(&self, method: &'static str, body: Option<Value>) -> Request {
        let mut headers = vec![
            ("authorization", format!("Bearer {}", self.principal)),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        if !self.session.is_empty() {
            headers.push(("mcp-session-id", self.session.clone()));
            headers.push(("mcp-protocol-version", self.revision.to_owned()));
        }
        if let (true, Some(body)) = (self.is_stateless(), &body) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            headers.push(("mcp-protocol-version", self.revision.to_owned()));
            headers.push(("mcp-method", text(&body["method"])));
            if body["params"].get("name").is_some() {
                headers.push(("mcp-name", text(&body["params"]["name"])));
            }
        }
        Request { method, query: String::new(), headers, body }
    }

    /// Sends a message to any node. Returns no reply if the connection breaks.
    async fn post(&self, message: Value) -> (&Node, Option<Reply>) {
        let (node, connection) = self.cluster.connect(&self.random).await;
        let reply = self.request("POST", Some(message)).send(connection).await.ok();
        if let Some(reply) = &reply {
            self.check_advice(node, reply);
        }
        (node, reply)
    }

    /// Checks that a node which refuses a request for now says when to try again.
    pub(crate) fn check_advice(&self, node: &Node, reply: &Reply) {
        if reply.status == 503 && reply.header("retry-after").is_none() {
            self.write(Fact::Unadvised { node: node.name.clone() });
        }
    }

    /// Sends a message that has no answer, until a node has accepted it.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.deliver(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    async fn deliver(&self, message: Value) {
        loop {
            let (_, reply) = self.post(message.clone()).await;
            match reply.map(|reply| reply.status) {
                Some(202 | 404) => return,
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Sends a request that may be repeated, until it is answered. Returns nothing if the session is gone.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Option<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        loop {
            match self.post(message.clone()).await.1 {
                Some(reply) if reply.status == 404 => return None,
                Some(reply) if reply.status == 200 => {
                    if let Ok(text) = reply.text().await {
                        return serde_json::from_str(&text).unwrap();
                    }
                }
                _ => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Prepares a call of a tool.
    pub(crate) fn call(&self, tool: &'static str, more: Value, habit: Habit) -> Arc<Call> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let key = format!("{}+{}+{id}", self.principal, self.name);
        let mut arguments = more;
        arguments["key"] = json!(key);
        let mut meta = if self.is_stateless() { envelope() } else { json!({}) };
        meta["progressToken"] = json!(key);
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        Arc::new(Call {
            key,
            tool,
            request,
            attempts: AtomicU32::new(0),
            habit,
            is_cancelled: AtomicBool::new(false),
            last_node: Mutex::default(),
            is_told: watch::Sender::new(false),
        })
    }

    /// Makes a call, and repeats it until it has an end.
    pub(crate) async fn make(&self, call: &Call) {
        let making = async {
            let mut request = call.request.clone();
            loop {
                match self.attempt(call, &request).await {
                    End::Final => return,
                    // Without sessions nothing keeps a copy from running, so a client does not repeat.
                    End::Broke if self.is_stateless() => return,
                    // A client does not repeat what it has cancelled.
                    End::Broke if call.is_cancelled.load(Ordering::Acquire) => {
                        self.write(Fact::Closed { call: call.key.clone() });
                        return;
                    }
                    End::Input(result) => {
                        let number = call.attempts.load(Ordering::Relaxed);
                        request["id"] = json!(format!("{}-{number}", call.request["id"]));
                        request["params"]["requestState"] = result["requestState"].clone();
                        let answers = result["inputRequests"].as_object().unwrap();
                        let answers = answers.keys().map(|name| (name.clone(), word_for(call)));
                        request["params"]["inputResponses"] = Value::Object(answers.collect());
                    }
                    End::Refused | End::Broke => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        if tokio::time::timeout(PATIENCE, making).await.is_err() {
            self.write(Fact::Unended { call: call.key.clone() });
        }
        if self.is_stateless() {
            self.cluster.step();
        } else {
            self.cluster.step_in_session();
        }
    }

    /// Posts the request of a call once, and follows the reply to its end, at any node.
    pub(crate) async fn attempt_once(&self, call: &Call) -> End {
        let attempt = tokio::time::timeout(PATIENCE, self.attempt(call, &call.request)).await;
        attempt.unwrap_or_else(|_| {
            self.write(Fact::Unended { call: call.key.clone() });
            End::Final
        })
    }

    async fn attempt(&self, call: &Call, request: &Value) -> End {
        let (node, connection) = self.cluster.connect(&self.random).await;
        node.calls.fetch_add(1, Ordering::AcqRel);
        let end = self.attempt_at(node, connection, call, request).await;
        node.calls.fetch_sub(1, Ordering::AcqRel);
        end
    }

    async fn attempt_at(&self, node: &Node, connection: Connection, call: &Call, request: &Value) -> End {
        let attempt = call.attempts.fetch_add(1, Ordering::Relaxed);
        let (key, node_name) = (call.key.clone(), node.name.clone());
        call.last_node.lock().unwrap().clone_from(&node.name);
        self.write(Fact::Sent {
            call: key.clone(),
            attempt,
            session: self.session.clone(),
            tool: call.tool.to_owned(),
            node: node_name.clone(),
        });
        let broke = |is_clean| {
            self.write(Fact::Ended { call: key.clone(), attempt, node: node_name.clone(), is_clean });
            End::Broke
        };
        let Ok(reply) = self.request("POST", Some(request.clone())).send(connection).await else {
            return broke(false);
        };
        self.check_advice(node, &reply);
        if reply.status == 202 {
            self.write(Fact::Closed { call: call.key.clone() });
            return End::Final;
        }
        if reply.status != 200 {
            let status = reply.status;
            self.write(Fact::Status { call: call.key.clone(), node: node.name.clone(), status });
            return if status == 503 { End::Refused } else { End::Final };
        }
        let mut follower =
            Follower { client: self, call, attempt, last: None, ids: Vec::new(), is_answered: false };
        if !reply.is_event_stream() {
            let Ok(text) = reply.text().await else { return broke(false) };
            return follower.take(None, &text).await.unwrap_or(End::Final);
        }
        follower.follow(node, reply).await
    }
}

/// Reads the stream of an attempt, and resumes it.
struct Follower<'c> {
    client: &'c Client,
    call: &'c Call,
    attempt: u32,
    /// The id of the last event.
    last: Option<String>,
    /// The ids of all events.
    ids: Vec<String>,
    is_answered: bool,
}

impl Follower<'_> {
    async fn follow(&mut self, mut node: &Node, reply: Reply) -> End {
        let client = self.client;
        let (call, attempt) = (self.call.key.clone(), self.attempt);
        let mut reply = Some(reply);
        loop {
            if let Some(reply) = reply.take() {
                match self.read(reply).await {
                    Reading::End(end) => {
                        self.read_again().await;
                        return end;
                    }
                    Reading::Cut => {
                        client.write(Fact::Cut { call: call.clone(), attempt });
                        if client.one_in(3) {
                            // The client has lost what it got last.
                            self.last = Some(self.ids[client.below(self.ids.len())].clone());
                        }
                    }
                    Reading::Over { is_clean } => {
                        let node = node.name.clone();
                        client.write(Fact::Ended { call: call.clone(), attempt, node, is_clean });
                        if is_clean && self.call.habit == Habit::Cancels {
                            client.write(Fact::Closed { call });
                            return End::Final;
                        }
                        if self.last.is_some() && !client.is_stateless() {
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                }
            }
            // A client without an event id cannot resume.
            let Some(after) = self.last.clone().filter(|_| !client.is_stateless()) else { return End::Broke };
            let (next, connection) = client.cluster.connect(&client.random).await;
            node = next;
            let mut request = client.request("GET", None);
            request.headers.push(("last-event-id", after.clone()));
            let Ok(resumed) = request.send(connection).await else { continue };
            let (status, node) = (resumed.status, node.name.clone());
            client.write(Fact::Resumed { call: call.clone(), attempt, after, node, status });
            match status {
                200 => reply = Some(resumed),
                503 => tokio::time::sleep(PAUSE).await,
                _ => return End::Final,
            }
        }
    }

    /// Resumes the stream once more after its end, now and then. Then it has the same events.
    async fn read_again(&mut self) {
        let client = self.client;
        if self.ids.is_empty() || client.is_stateless() || !client.one_in(3) {
            return;
        }
        let after = self.ids[client.below(self.ids.len())].clone();
        let (node, connection) = client.cluster.connect(&client.random).await;
        let mut request = client.request("GET", None);
        request.headers.push(("last-event-id", after.clone()));
        let Ok(mut reply) = request.send(connection).await else { return };
        let (call, attempt, status) = (self.call.key.clone(), self.attempt, reply.status);
        client.write(Fact::Resumed { call: call.clone(), attempt, after, node: node.name.clone(), status });
        while let Ok(Some(event)) = reply.next_event().await {
            let message = serde_json::from_str(&event.data).unwrap_or_default();
            client.write(Fact::Event { call: call.clone(), attempt, id: event.id, message });
        }
    }

    async fn read(&mut self, mut reply: Reply) -> Reading {
        loop {
            match reply.next_event().await {
                Ok(Some(event)) => {
                    if let Some(id) = &event.id {
                        self.last = Some(id.clone());
                        self.ids.push(id.clone());
                    }
                    if let Some(end) = self.take(event.id, &event.data).await {
                        return Reading::End(end);
                    }
                    if self.call.habit == Habit::Cuts && self.last.is_some() && self.client.one_in(4) {
                        return Reading::Cut;
                    }
                }
                Ok(None) => return Reading::Over { is_clean: true },
                Err(_) => return Reading::Over { is_clean: false },
            }
        }
    }

    /// Takes a message. Returns the end of the attempt, if it is the answer.
    async fn take(&mut self, id: Option<String>, text: &str) -> Option<End> {
        let client = self.client;
        // A primer has no data.
        let message: Value = if text.is_empty() { Value::Null } else { serde_json::from_str(text).unwrap() };
        let (call, attempt) = (self.call.key.clone(), self.attempt);
        client.write(Fact::Event { call, attempt, id, message: message.clone() });
        if message["method"] == "notifications/progress" {
            self.call.is_told.send_replace(true);
        }
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            if !std::mem::replace(&mut self.is_answered, true) {
                let result =
                    if method == "elicitation/create" { word_for(self.call) } else { model_for(self.call) };
                client.deliver(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
            }
            return None;
        }
        if message["result"]["resultType"] == "input_required" {
            return Some(End::Input(message["result"].clone()));
        }
        if message["error"]["code"] == STILL_RUNNING {
            return Some(End::Refused);
        }
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        is_answer.then_some(End::Final)
    }
}

enum Reading {
    End(End),
    Cut,
    Over { is_clean: bool },
}

/// The answer to a form of a call.
fn word_for(call: &Call) -> Value {
    json!({"action": "accept", "content": {"word": format!("word-for-{}", call.key)}})
}

/// The metadata that each request of the stateless era has.
pub(crate) fn envelope() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "nodes", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    })
}

/// The answer to a question for the model.
pub(crate) fn model_for(call: &Call) -> Value {
    let content = json!({"type": "text", "text": "-"});
    json!({"role": "assistant", "content": content, "model": format!("word-for-{}", call.key)})
}

/// The principals of the fixture.
pub(crate) const PRINCIPALS: [&str; 2] = ["principal-one", "principal-two"];
/// The revision without sessions.
pub(crate) const STATELESS: &str = "2026-07-28";
/// The revision whose transport is bound to a stream.
pub(crate) const LEGACY: &str = "2024-11-05";
/// The code of the error for a request whose id is in use.
pub(crate) const STILL_RUNNING: i64 = -32600;
/// The time before something is tried again.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);
/// A call that takes longer never ends.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
