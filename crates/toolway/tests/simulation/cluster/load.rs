//! What do the clients do? Each has a session, makes calls, follows their streams wherever they go on, and listens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::client::{Ask, Browser, Reply, STATELESS};
use super::history::{Conclusion, Event, Heard, Over, Purpose};
use super::nodes::{Cluster, Node};
use crate::random::Random;

/// One call, as its client plans it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) key: String,
    pub(crate) tool: &'static str,
    pub(crate) steps: u64,
    /// Milliseconds before each step.
    pub(crate) pause: u64,
    /// Something on the way sends the request a second time after this many milliseconds.
    pub(crate) copy_after: Option<u64>,
    /// The client cancels the call after this many milliseconds.
    pub(crate) cancel_after: Option<u64>,
    /// The client leaves the stream after so many events, and resumes it, twice.
    pub(crate) leave_after: Option<usize>,
    /// Instead of leaving it, the client keeps the stream, and resumes it as well.
    pub(crate) keeps_first: bool,
}

impl Call {
    /// Draws a call. Its key ends with the name of its tool.
    fn draw(place: &str, random: &mut Random) -> Self {
        let tool = random.pick(&["work", "work", "work", "peek", "ask", "ask", "hold", "hold", "announce"]);
        Self {
            key: format!("{place}-{tool}"),
            tool,
            steps: random.pick(&[0, 1, 3, 6]),
            pause: random.pick(&[0, 1, 50, 700, 2500]),
            copy_after: random.chance(25).then(|| random.pick(&[0, 5, 100, 1500])),
            cancel_after: (tool == "hold" || random.chance(8)).then(|| random.between(300, 6000)),
            leave_after: random.chance(40).then(|| usize::try_from(random.below(4)).unwrap()),
            keeps_first: random.chance(30),
        }
    }

    /// A call that does its work at once.
    pub(crate) fn plain(key: String, tool: &'static str) -> Self {
        Self {
            key,
            tool,
            steps: 0,
            pause: 0,
            copy_after: None,
            cancel_after: None,
            leave_after: None,
            keeps_first: false,
        }
    }

    fn ask(&self, is_copy: bool) -> Ask {
        let Self { key, tool, steps, pause, .. } = self;
        let arguments = match *tool {
            "work" => json!({"key": key, "steps": steps, "pause": pause}),
            _ => json!({"key": key}),
        };
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": key}});
        let body = json!({"jsonrpc": "2.0", "id": key, "method": "tools/call", "params": params});
        Ask::post(Purpose::Call { key: key.clone(), is_copy }, body)
    }
}

/// Owners, session ids and event ids that others may have seen.
type Finds = Arc<Mutex<Vec<(&'static str, String, String)>>>;

/// A session of one client.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) number: usize,
    pub(crate) browser: Browser,
    /// The ids of the sessions and of the last events of all clients, for those who trespass.
    pub(crate) finds: Finds,
    is_deleted: Arc<AtomicBool>,
}

impl Visitor {
    pub(crate) fn new(number: usize, cluster: &Cluster, finds: &Finds, random: &mut Random) -> Self {
        let browser = Browser {
            cluster: cluster.clone(),
            principal: ["ann", "bob"][number % 2],
            session: String::new(),
            version: random.pick(&["2025-11-25", "2025-11-25", "2025-06-18"]),
            faults: random.pick(&[0, 0, 15, 40]),
            is_calm: Arc::default(),
        };
        Self { number, browser, finds: finds.clone(), is_deleted: Arc::default() }
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::SeqCst)
    }

    /// Lets no connection break any more.
    pub(crate) fn calm(&self) {
        self.browser.is_calm.store(true, Ordering::SeqCst);
    }

    /// Opens the session. Returns whether it is open.
    pub(crate) async fn open(&mut self, random: &mut Random) -> bool {
        let client = json!({"name": "raw", "version": "1"});
        let capabilities = json!({"elicitation": {}});
        let params = json!({"protocolVersion": self.browser.version, "capabilities": capabilities, "clientInfo": client});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        for _ in 0..20 {
            if let Some(reply) = self.browser.send(Ask::post(Purpose::Open, body.clone()), random).await
                && let Some(session) = reply.session.clone()
            {
                self.browser.session = session;
                break;
            }
            sleep(random.millis(100, 600)).await;
        }
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        !self.browser.session.is_empty() && self.tell(Purpose::Ready, &ready, random).await == Some(202)
    }

    /// Sends a message that has no reply, until it is accepted or refused. Returns the status.
    async fn tell(&self, purpose: Purpose, body: &Value, random: &mut Random) -> Option<u16> {
        for _ in 0..30 {
            let reply = self.browser.send(Ask::post(purpose.clone(), body.clone()), random).await;
            match reply.map(|reply| reply.status) {
                None | Some(503) => sleep(random.millis(200, 900)).await,
                Some(status) => return Some(status),
            }
        }
        None
    }

    /// Makes calls, one after the other and side by side, while things go wrong.
    pub(crate) async fn work(self, mut random: Random) {
        for round in 0..random.between(1, 2) {
            let mut tasks = JoinSet::new();
            for place in 0..random.between(1, 3) {
                let call = Call::draw(&format!("{}-{round}{place}", self.number), &mut random);
                tasks.spawn(self.clone().make(call, random.split()));
            }
            if random.chance(20) {
                self.call_without_session(&mut random).await;
            }
            while tasks.join_next().await.is_some() {}
            if random.chance(30) {
                self.trespass(&mut random).await;
            }
            sleep(random.millis(0, 3000)).await;
        }
    }

    /// Makes a call and follows it to its conclusion.
    pub(crate) async fn make(self, call: Call, mut random: Random) {
        let mut aside = JoinSet::new();
        if let Some(millis) = call.copy_after {
            let (visitor, call, mut random) = (self.clone(), call.clone(), random.split());
            aside.spawn(async move {
                sleep(Duration::from_millis(millis)).await;
                if let Some(mut reply) = visitor.browser.send(call.ask(true), &mut random).await {
                    while visitor.hear(&mut reply, &mut random).await.is_some() {}
                }
            });
        }
        if let Some(millis) = call.cancel_after {
            let (visitor, key, mut random) = (self.clone(), call.key.clone(), random.split());
            aside.spawn(async move {
                sleep(Duration::from_millis(millis)).await;
                let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": key}});
                visitor.tell(Purpose::Cancel(key), &body, &mut random).await;
            });
        }
        let (key, session) = (call.key.clone(), self.browser.cluster.history.number(&self.browser.session));
        let concluding = timeout(TOO_LONG, self.follow(&call, &mut aside, &mut random));
        let conclusion = concluding.await.unwrap_or(Conclusion::Hung);
        self.browser.cluster.history.add(Event::Concluded { key, session, conclusion });
        while aside.join_next().await.is_some() {}
    }

    async fn follow(&self, call: &Call, aside: &mut JoinSet<()>, random: &mut Random) -> Conclusion {
        let Some(mut reply) = self.browser.send(call.ask(false), random).await else {
            return Conclusion::Broken;
        };
        if reply.status != 200 {
            return Conclusion::Refused(reply.status);
        }
        let (mut last, mut leaves, mut vain) = (None::<String>, MAX_LEAVES, 0);
        // A client that has its answer on a connection that it has kept does not resume any more.
        let is_answered = Arc::new(AtomicBool::new(false));
        loop {
            let mut count = 0;
            let leave_after = call.leave_after.filter(|_| leaves > 0);
            let mut is_left = leave_after == Some(0) && reply.last.is_some();
            while !is_left {
                match self.hear(&mut reply, random).await {
                    Some(Heard::End { .. }) => {
                        // The client reads to the end of the reply.
                        while reply.next().await.is_some() {}
                        return Conclusion::Answered;
                    }
                    Some(_) => count += 1,
                    None => break,
                }
                is_left = reply.last.is_some() && leave_after.is_some_and(|limit| count >= limit);
            }
            last = reply.last.clone().or(last);
            let reply_over = reply.over;
            vain = if count > 0 { 0 } else { vain + usize::from(reply_over != Some(Over::Broken)) };
            if is_left && call.keeps_first {
                let (visitor, is_answered) = (self.clone(), is_answered.clone());
                let mut random = random.split();
                aside.spawn(async move {
                    while let Some(heard) = visitor.hear(&mut reply, &mut random).await {
                        if let Heard::End { .. } = heard {
                            is_answered.store(true, Ordering::SeqCst);
                        }
                    }
                });
            }
            leaves -= usize::from(is_left);
            let Some(id) = &last else {
                let is_complete = reply_over == Some(Over::Complete);
                return if is_complete { Conclusion::NoAnswer } else { Conclusion::Broken };
            };
            self.remember(id);
            if vain > MAX_VAIN {
                return Conclusion::NoAnswer;
            }
            sleep(random.millis(0, 1000)).await;
            match self.resume(id, Some(&call.key), &is_answered, random).await {
                Ok(Some(resumed)) => reply = resumed,
                Ok(None) => return Conclusion::Answered,
                Err(status) => return Conclusion::Forgotten(status),
            }
        }
    }

    /// Resumes a stream at any node, as soon as it is possible. Returns the status if it is not, and `None` if the stream is
    /// not needed any more.
    async fn resume(
        &self,
        id: &str,
        key: Option<&str>,
        is_answered: &AtomicBool,
        random: &mut Random,
    ) -> Result<Option<Reply>, u16> {
        let (stream, after) = id.split_once('.').unwrap();
        let stream = self.browser.cluster.history.number(stream);
        let purpose = Purpose::Resume { stream, after: after.parse().unwrap(), key: key.map(str::to_owned) };
        while !is_answered.load(Ordering::SeqCst) {
            let ask = Ask::get(purpose.clone(), Some(id.to_owned()));
            match self.browser.send(ask, random).await {
                Some(reply) if reply.status == 200 => return Ok(Some(reply)),
                Some(reply) if reply.status != 503 => return Err(reply.status),
                _ => sleep(random.millis(200, 900)).await,
            }
        }
        Ok(None)
    }

    /// Returns what arrives next. Answers questions.
    async fn hear(&self, reply: &mut Reply, random: &mut Random) -> Option<Heard> {
        let received = reply.next().await?;
        if let Heard::Question { key } = &received.heard {
            let (visitor, key, mut random) = (self.clone(), key.clone(), random.split());
            let result = json!({"action": "accept", "content": {"word": key}});
            let body = json!({"jsonrpc": "2.0", "id": received.message["id"], "result": result});
            tokio::spawn(async move { visitor.tell(Purpose::Answer(key), &body, &mut random).await });
        }
        Some(received.heard)
    }

    /// Listens to changes until the session ends or things are calm and `stop` is set.
    pub(crate) async fn listen(self, mut random: Random) {
        let mut last = None::<String>;
        let is_answered = AtomicBool::new(false);
        while !self.is_deleted() {
            let reply = match &last {
                Some(id) => self.resume(id, None, &is_answered, &mut random).await,
                None => match self.browser.send(Ask::get(Purpose::Listen, None), &mut random).await {
                    Some(reply) if reply.status == 200 => Ok(Some(reply)),
                    reply => Err(reply.map_or(503, |reply| reply.status)),
                },
            };
            match reply {
                Ok(Some(mut reply)) => {
                    while self.hear(&mut reply, &mut random).await.is_some() {
                        if !self.browser.is_calm.load(Ordering::SeqCst) && random.chance(10) {
                            break;
                        }
                    }
                    last = reply.last.clone().or(last);
                    if let Some(id) = &last {
                        self.remember(id);
                    }
                }
                Ok(None) | Err(404) => return,
                // The client begins anew, and has to list everything.
                Err(_) => last = None,
            }
            sleep(random.millis(0, 1000)).await;
        }
    }

    /// Ends the session.
    pub(crate) async fn delete(&self, random: &mut Random) {
        self.is_deleted.store(true, Ordering::SeqCst);
        for _ in 0..30 {
            let reply = self.browser.send(Ask::get(Purpose::Delete, None), random).await;
            if reply.is_some_and(|reply| reply.status != 503) {
                return;
            }
            sleep(random.millis(200, 900)).await;
        }
    }

    pub(crate) async fn ping(&self, node: Node, random: &mut Random) {
        let body = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
        let ask = Ask::post(Purpose::Ping, body);
        if let Some(mut reply) = self.browser.send_to(node, ask, random).await {
            reply.next().await;
        }
    }

    /// Calls a tool in the revision without sessions.
    async fn call_without_session(&self, random: &mut Random) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "peek", "arguments": {"key": "stateless"}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let browser = Browser { session: String::new(), ..self.browser.clone() };
        if let Some(mut reply) = browser.send(Ask::post(Purpose::Stateless, body), random).await {
            reply.next().await;
        }
    }

    /// Remembers an event id for those who trespass.
    fn remember(&self, id: &str) {
        let Browser { principal, session, .. } = &self.browser;
        self.finds.lock().unwrap().push((principal, session.clone(), id.to_owned()));
    }

    /// Uses the session of another principal, and the event id of another principal in the own session.
    pub(crate) async fn trespass(&self, random: &mut Random) {
        let find = {
            let finds = self.finds.lock().unwrap();
            finds.iter().find(|(owner, ..)| *owner != self.browser.principal).cloned()
        };
        let Some((_, session, id)) = find else { return };
        let body = json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"});
        let other = Browser { session, ..self.browser.clone() };
        other.send(Ask::post(Purpose::Trespass, body), random).await;
        other.send(Ask::get(Purpose::Trespass, Some(id.clone())), random).await;
        self.browser.send(Ask::get(Purpose::Trespass, Some(id)), random).await;
    }
}

/// How long a call may take in all, with all faults.
const TOO_LONG: Duration = Duration::from_secs(200);
/// How often a client leaves a stream that it follows.
const MAX_LEAVES: usize = 2;
/// How often a stream may end without anything new before the client gives up.
const MAX_VAIN: usize = 3;
