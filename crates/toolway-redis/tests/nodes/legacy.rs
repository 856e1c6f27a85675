//! How does a client of 2024-11-05 talk, whose stream is at one node, and whose POSTs go to any?
//!
//! That revision knows no resume: when the node with the stream dies, the conversation ends, and a call that ran has no end.
//! The client does not send a request again unless a node said that it did not take it.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::client::{Call, Client, Habit, LEGACY, PATIENCE, PAUSE, model_for};
use crate::conversation::{POLL, STEPS};
use crate::history::Fact;
use crate::http::{Reply, Request};

/// Holds one conversation, unless it breaks off.
pub(crate) async fn converse(client: &Client) {
    let mut pipe = Pipe::open(client).await;
    // A conversation that breaks off has written why.
    _ = pipe.converse().await;
    client.cluster.step();
}

/// A conversation.
struct Pipe<'c> {
    client: &'c Client,
    id: String,
    /// Where POSTs go.
    query: String,
    messages: mpsc::UnboundedReceiver<Value>,
    reading: JoinHandle<()>,
}

/// The stream has ended, or a POST has an unknown outcome.
struct Broken;

impl Drop for Pipe<'_> {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl<'c> Pipe<'c> {
    /// Opens the stream at any node.
    async fn open(client: &'c Client) -> Self {
        loop {
            let since = client.cluster.history.now();
            let (node, connection) = client.cluster.connect(&client.random).await;
            if let Ok(mut reply) = client.request("GET", None).send(connection).await {
                client.check_advice(node, &reply);
                if reply.status == 200
                    && let Ok(Some(endpoint)) = reply.next_event().await
                {
                    let query = endpoint.data;
                    let id = query.rsplit('=').next().unwrap().to_owned();
                    let (stream, node) = (id.clone(), node.name.clone());
                    client.write(Fact::Attached { stream, node, is_conversation: true, since });
                    client.cluster.pipes.lock().unwrap().push((client.principal, query.clone()));
                    let (sender, messages) = mpsc::unbounded_channel();
                    let reading = tokio::spawn(read(reply, sender));
                    return Self { client, id, query, messages, reading };
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn converse(&mut self) -> Result<(), Broken> {
        let capabilities = json!({"sampling": {}});
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": capabilities,
            "clientInfo": {"name": "nodes", "version": "1"},
        });
        self.ask("initialize", params).await?;
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        self.ask("resources/subscribe", json!({"uri": format!("news://{}", self.client.principal)})).await?;
        for _ in 0..STEPS {
            match self.client.below(8) {
                0 => self.call("note", json!({})).await?,
                1..=2 => self.call("tell", json!({"steps": 2 + self.client.below(8)})).await?,
                3..=4 => self.call("think", json!({})).await?,
                5 => self.update().await?,
                6 => self.cancel().await?,
                _ => self.intrude().await,
            }
            self.client.cluster.step();
        }
        Ok(())
    }

    /// Sends a request that is not a call, and waits for its answer.
    async fn ask(&mut self, method: &str, params: Value) -> Result<(), Broken> {
        self.post(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params})).await?;
        let answer = async {
            while self.next().await?["id"] != method {}
            Ok(())
        };
        tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| {
            // It was taken, and is not answered.
            self.client
                .write(Fact::Unended { call: format!("{}+{}+{method}", self.client.principal, self.id) });
            Err(Broken)
        })
    }

    /// Posts a message to any node, until one has taken it.
    async fn post(&self, message: &Value) -> Result<(), Broken> {
        loop {
            let (node, connection) = self.client.cluster.connect(&self.client.random).await;
            let Ok(reply) = self.request(message).send(connection).await else {
                self.client.write(Fact::Unposted { stream: self.id.clone(), node: node.name.clone() });
                return Err(Broken);
            };
            self.client.check_advice(node, &reply);
            match reply.status {
                202 => return Ok(()),
                503 => tokio::time::sleep(PAUSE).await,
                _ => {
                    self.client.write(Fact::Unfound { stream: self.id.clone(), node: node.name.clone() });
                    return Err(Broken);
                }
            }
        }
    }

    fn request(&self, message: &Value) -> Request {
        Request { query: self.query.clone(), ..self.client.request("POST", Some(message.clone())) }
    }

    /// Returns the next message. Notifications that are not about a call are written down.
    async fn next(&mut self) -> Result<Value, Broken> {
        let Some(message) = self.messages.recv().await else {
            self.client.write(Fact::Detached { stream: self.id.clone() });
            return Err(Broken);
        };
        let is_about_call = message["params"].get("progressToken").is_some() || message.get("id").is_some();
        if !is_about_call {
            let (principal, session) = (self.client.principal.to_owned(), self.id.clone());
            self.client.write(Fact::News { principal, session, id: None, message: message.clone() });
        }
        Ok(message)
    }

    async fn call(&mut self, tool: &'static str, more: Value) -> Result<(), Broken> {
        let call = self.client.call(tool, more, Habit::Reads);
        self.send(&call).await?;
        limited(self.client, &call, self.follow(&call)).await
    }

    /// Posts a call to any node, until one has taken it. A node that says that it has not is believed.
    async fn send(&mut self, call: &Call) -> Result<(), Broken> {
        loop {
            let (node, connection) = self.client.cluster.connect(&self.client.random).await;
            let attempt = call.attempts.fetch_add(1, Ordering::Relaxed);
            let (key, node_name) = (call.key.clone(), node.name.clone());
            let (session, tool) = (self.id.clone(), call.tool.to_owned());
            self.client.write(Fact::Sent {
                call: key.clone(),
                attempt,
                session,
                tool,
                node: node_name.clone(),
            });
            let reply = self.request(&call.request).send(connection).await;
            match reply.as_ref().map(|reply| reply.status) {
                Ok(202) => return Ok(()),
                Ok(503) => {
                    self.client.check_advice(node, &reply.unwrap());
                    self.client.write(Fact::Status { call: key, node: node_name, status: 503 });
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(_) => {
                    self.client.write(Fact::Unfound { stream: self.id.clone(), node: node_name });
                    return Err(self.broken(call));
                }
                Err(_) => {
                    self.client.write(Fact::Unposted { stream: self.id.clone(), node: node_name });
                    return Err(self.broken(call));
                }
            }
        }
    }

    /// Reads messages until the call has its answer, and answers its questions.
    async fn follow(&mut self, call: &Call) -> Result<(), Broken> {
        loop {
            let message = match self.next().await {
                Ok(message) => message,
                Err(Broken) => return Err(self.broken(call)),
            };
            if message.get("method").is_none() && message["id"] != call.request["id"] {
                // The answer to an earlier request, which has one already. Other requests may be answered twice.
                if message["id"].is_string() {
                    continue;
                }
                let key = format!("{}+{}+{}", self.client.principal, self.client.name, message["id"]);
                self.client.write(Fact::Event { call: key, attempt: 0, id: None, message });
                continue;
            }
            let is_answer = message.get("method").is_none();
            let question = message.get("id").filter(|_| !is_answer).cloned();
            if is_answer || question.is_some() || message["params"]["progressToken"] == call.key.as_str() {
                let attempt = call.attempts.load(Ordering::Relaxed) - 1;
                self.client.write(Fact::Event { call: call.key.clone(), attempt, id: None, message });
            }
            if is_answer {
                return Ok(());
            }
            if let Some(id) = question {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": model_for(call)});
                if self.post(&answer).await.is_err() {
                    return Err(self.broken(call));
                }
            }
        }
    }

    /// Changes the resource of the principal, and waits until the client is told.
    async fn update(&mut self) -> Result<(), Broken> {
        let call = self.client.call("touch", json!({}), Habit::Reads);
        self.send(&call).await?;
        limited(self.client, &call, self.follow_update(&call)).await
    }

    /// Reads messages until the call has its answer and the client is told, in any order.
    async fn follow_update(&mut self, call: &Call) -> Result<(), Broken> {
        let (mut is_told, mut is_answered) = (false, false);
        while !is_told || !is_answered {
            let message = match self.next().await {
                Ok(message) => message,
                Err(Broken) if is_answered => return Err(Broken),
                Err(Broken) => return Err(self.broken(call)),
            };
            is_told |= message["method"] == "notifications/resources/updated";
            if message["id"] == call.request["id"] {
                is_answered = true;
                let attempt = call.attempts.load(Ordering::Relaxed) - 1;
                self.client.write(Fact::Event { call: call.key.clone(), attempt, id: None, message });
            }
        }
        Ok(())
    }

    /// Cancels a call at any node.
    async fn cancel(&mut self) -> Result<(), Broken> {
        let call = self.client.call("hold", json!({}), Habit::Cancels);
        self.send(&call).await?;
        self.wait_for(&call, "begun").await?;
        self.client.write(Fact::Cancelled { call: call.key.clone() });
        let params = json!({"requestId": call.request["id"]});
        let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        if self.post(&message).await.is_err() {
            return Err(self.broken(&call));
        }
        self.wait_for(&call, "stopped").await?;
        self.client.write(Fact::Closed { call: call.key.clone() });
        Ok(())
    }

    /// Waits until a handler has created a file.
    async fn wait_for(&self, call: &Call, what: &str) -> Result<(), Broken> {
        let file = self.client.cluster.gate(&format!("{}.{what}", call.key));
        let waiting = async {
            while !file.exists() {
                if self.reading.is_finished() {
                    self.client.write(Fact::Detached { stream: self.id.clone() });
                    return Err(self.broken(call));
                }
                tokio::time::sleep(POLL).await;
            }
            Ok(())
        };
        limited(self.client, call, waiting).await
    }

    /// Records that a call has no end.
    fn broken(&self, call: &Call) -> Broken {
        let (call, attempt) = (call.key.clone(), call.attempts.load(Ordering::Relaxed) - 1);
        self.client.write(Fact::Ended { call, attempt, node: String::new(), is_clean: false });
        Broken
    }

    /// Posts to a conversation of the other principal.
    async fn intrude(&self) {
        let other = {
            let pipes = self.client.cluster.pipes.lock().unwrap();
            pipes.iter().rfind(|(principal, _)| *principal != self.client.principal).cloned()
        };
        let Some((_, query)) = other else { return };
        let ping = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
        let request = Request { query, ..self.client.request("POST", Some(ping)) };
        let (node, connection) = self.client.cluster.connect(&self.client.random).await;
        let Ok(reply) = request.send(connection).await else { return };
        let (principal, node, status) = (self.client.principal.to_owned(), node.name.clone(), reply.status);
        let text = reply.text().await.unwrap_or_default();
        self.client.write(Fact::Intruded { principal, node, status, text });
    }
}

/// Gives up what takes too long.
async fn limited(
    client: &Client,
    call: &Call,
    work: impl Future<Output = Result<(), Broken>>,
) -> Result<(), Broken> {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| {
        client.write(Fact::Unended { call: call.key.clone() });
        Ok(())
    })
}

/// Reads the messages of a stream until it ends.
async fn read(mut reply: Reply, messages: mpsc::UnboundedSender<Value>) {
    while let Ok(Some(event)) = reply.next_event().await {
        if messages.send(serde_json::from_str(&event.data).unwrap_or_default()).is_err() {
            return;
        }
    }
}
