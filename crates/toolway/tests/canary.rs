//! A thousand clients (two hundred without `cargo xtask deep`) that use the same request ids at the same time: does a
//! client ever receive data of another one?
//!
//! Each client has a canary, a unique word, and sends it with each of its calls. Everything that it receives must
//! contain its canary, with the right id and from the right principal, and must not contain another canary. The clients
//! use every revision. Some send batches, some stream progress and log messages, some are slow so that many calls
//! overlap. Some use persistent connections, the others call the service directly.
//!
//! `cargo test -p toolway --test canary -- --nocapture` prints the counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Admit, ConnectRequest, Principal, Refuse};
use toolway::transport::sse::Parser;

/// The number of clients in `cargo xtask deep`.
const CLIENTS: usize = 1_000;
/// The number of clients for every change.
const FEWER: usize = 200;
/// Every client uses the ids from 0 up to this.
const CALLS: usize = 100;
/// The number of calls of a client that run at the same time, or come in one batch.
const TOGETHER: usize = 4;
/// One client in this many uses a socket.
const SOCKETS: usize = 8;
/// The beginning of every canary.
const MARK: &str = "canary:";

const STATELESS: &str = "2026-07-28";
const BATCHED: &str = "2025-03-26";
const REVISIONS: [&str; 5] = [STATELESS, "2024-11-05", BATCHED, "2025-06-18", "2025-11-25"];

/// The number of calls that run now, and the maximum so far.
#[derive(Clone, Default)]
struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    fn enter(&self) -> Running {
        let now = self.0.0.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.1.fetch_max(now, Ordering::AcqRel);
        Running(self.clone())
    }
}

struct Running(Gauge);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn said(canary: &str, number: u64, ctx: &Ctx) -> String {
    format!("{canary} {number} {}", ctx.principal().map_or("nobody", Principal::as_str))
}

/// Answers at once.
#[tool]
fn echo(canary: String, number: u64, ctx: &Ctx) -> String {
    said(&canary, number, ctx)
}

/// Lets others go first, again and again.
#[tool]
async fn dawdle(canary: String, number: u64, gauge: State<Gauge>, ctx: Ctx) -> String {
    let _running = gauge.enter();
    for _ in 0..(number % 10) {
        tokio::task::yield_now().await;
    }
    said(&canary, number, &ctx)
}

/// Speaks while it runs.
#[tool]
async fn talk(canary: String, number: u64, gauge: State<Gauge>, ctx: Ctx) -> String {
    let _running = gauge.enter();
    ctx.progress(1, 2, said(&canary, number, &ctx)).await;
    tokio::task::yield_now().await;
    ctx.log().error("canary", json!({"said": said(&canary, number, &ctx)})).await;
    tokio::task::yield_now().await;
    ctx.progress(2, 2, said(&canary, number, &ctx)).await;
    said(&canary, number, &ctx)
}

async fn by_token(connecting: ConnectRequest) -> Result<Admit, Refuse> {
    match connecting.bearer() {
        Some(token) => Ok(Admit::as_principal(token)),
        None => Err(Refuse::forbidden("nobody is let in without a name")),
    }
}

/// Counts over all clients.
#[derive(Default)]
struct Tally {
    calls: AtomicUsize,
    over_sockets: AtomicUsize,
    batched: AtomicUsize,
    streams: AtomicUsize,
    progress: AtomicUsize,
    logged: AtomicUsize,
    crossings: Mutex<Vec<String>>,
}

impl Tally {
    fn crossed(&self, what: String) {
        self.crossings.lock().unwrap().push(what);
    }
}

fn add(counter: &AtomicUsize, number: usize) {
    counter.fetch_add(number, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_gets_what_belongs_to_somebody_else() {
    let is_full = std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full");
    let all = if is_full { CLIENTS } else { FEWER };
    let gauge = Gauge::default();
    let server = Server::new("canary", "1.0.0")
        .state(gauge.clone())
        .tools(tools![echo, dawdle, talk])
        .on_connect(by_token)
        .max_in_flight(all * TOGETHER * 2, all * TOGETHER * 2)
        .build()
        .unwrap();
    let service = server.http();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let over_socket = service.clone();
    let serving = tokio::spawn(async move { over_socket.serve(listener).await });
    let tally = Arc::new(Tally::default());
    let mut clients = JoinSet::new();
    for number in 0..all {
        let (service, tally) = (service.clone(), tally.clone());
        clients
            .spawn(async move { Box::pin(Client::open(number, service, address, tally).await.run()).await });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
    serving.abort();
    let crossings = tally.crossings.lock().unwrap();
    let mut kinds = BTreeMap::<&str, usize>::new();
    for crossing in crossings.iter() {
        *kinds.entry(crossing).or_default() += 1;
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "{all} clients: {} calls ({} over sockets, {} in batches), {} streams with {} progress and {} log messages, \
         at most {} dawdled or talked at once, {} crossings",
        count(&tally.calls),
        count(&tally.over_sockets),
        count(&tally.batched),
        count(&tally.streams),
        count(&tally.progress),
        count(&tally.logged),
        count(&gauge.0.1),
        crossings.len(),
    );
    assert!(crossings.is_empty(), "{kinds:#?}");
    // The test only proves something if the calls were made, and at the same time.
    assert_eq!(count(&tally.calls), all * CALLS);
    assert!(count(&tally.over_sockets) >= all * CALLS / 10);
    assert!(count(&tally.batched) > 0 && count(&tally.streams) > 0);
    assert_eq!(count(&tally.logged), all * CALLS / TOGETHER);
    assert_eq!(count(&tally.progress), 2 * all * CALLS / TOGETHER);
    assert!(count(&gauge.0.1) > all / 10, "{}", count(&gauge.0.1));
}

/// Describes the client with this number.
fn kind(number: usize) -> String {
    let way = if number.is_multiple_of(SOCKETS) { "socket" } else { "straight" };
    format!("{} {way}", REVISIONS[number % REVISIONS.len()])
}

struct Client {
    number: usize,
    version: &'static str,
    canary: String,
    principal: String,
    session: Option<String>,
    way: Way,
    tally: Arc<Tally>,
}

enum Way {
    Straight(HttpService),
    /// A connection that is used for all requests of the client.
    Socket(tokio::sync::Mutex<BufReader<TcpStream>>),
}

/// A reply: its content, and the session that it names.
struct Reply {
    status: u16,
    session: Option<String>,
    is_stream: bool,
    body: Vec<u8>,
}

impl Client {
    async fn open(number: usize, service: HttpService, address: SocketAddr, tally: Arc<Tally>) -> Self {
        let way = if number.is_multiple_of(SOCKETS) {
            Way::Socket(tokio::sync::Mutex::new(BufReader::new(TcpStream::connect(address).await.unwrap())))
        } else {
            Way::Straight(service)
        };
        // Numbers that look similar: one is part of another, or its end.
        let canary = format!("{MARK}{number}:{:x}", number.wrapping_mul(0x9e37_79b9) & 0xff_ffff);
        let mut client = Self {
            number,
            version: REVISIONS[number % REVISIONS.len()],
            principal: format!("principal-{number}"),
            canary,
            session: None,
            way,
            tally,
        };
        if client.version != STATELESS {
            let info = json!({"name": client.canary, "version": "1"});
            let params = json!({"protocolVersion": client.version, "capabilities": {}, "clientInfo": info});
            let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let reply = client.send(&opening, None).await;
            assert_eq!(reply.status, 200);
            client.session = Some(reply.session.unwrap());
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert_eq!(client.send(&ready, None).await.status, 202);
        }
        client
    }

    async fn run(self) {
        for first in (0..CALLS).step_by(TOGETHER) {
            if self.version == BATCHED && (first / TOGETHER).is_multiple_of(2) {
                let calls: Vec<_> = (first..first + TOGETHER).map(|id| self.call(id).0).collect();
                add(&self.tally.batched, TOGETHER);
                self.check(self.send(&json!(calls), None).await, first..first + TOGETHER);
            } else {
                let [one, two, three, four] = [0, 1, 2, 3].map(|add| self.ask(first + add));
                tokio::join!(one, two, three, four);
            }
        }
    }

    async fn ask(&self, id: usize) {
        let (call, tool) = self.call(id);
        self.check(self.send(&call, Some(tool)).await, id..id + 1);
    }

    /// A call; its id is also its progress token.
    fn call(&self, id: usize) -> (Value, &'static str) {
        let tool = ["talk", "dawdle", "echo", "echo"][id % TOGETHER];
        let mut meta = json!({"progressToken": id});
        if self.version == STATELESS {
            meta["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
        let arguments = json!({"canary": self.canary, "number": self.number * CALLS + id});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        (json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}), tool)
    }

    /// The text that the answer of a call, and every message before it, must contain.
    fn said(&self, id: usize) -> String {
        format!("{} {} {}", self.canary, self.number * CALLS + id, self.principal)
    }

    fn check(&self, reply: Reply, ids: std::ops::Range<usize>) {
        let text = String::from_utf8(reply.body).unwrap();
        self.look_for_others(&text);
        let messages = if reply.is_stream { events(&text) } else { vec![text] };
        let (mut progress, mut logged, mut answered) = (Vec::new(), 0, Vec::new());
        for message in &messages {
            let message: Value = serde_json::from_str(message).unwrap();
            let params = &message["params"];
            match message["method"].as_str() {
                Some("notifications/progress") => {
                    let id = usize::try_from(params["progressToken"].as_u64().unwrap()).unwrap();
                    // The oldest revision has no `message` in progress.
                    if self.version != "2024-11-05" {
                        self.expect(&params["message"], &self.said(id), "progress");
                    }
                    progress.push(id);
                }
                Some("notifications/message") => {
                    let is_mine = ids.clone().any(|id| params["data"]["said"] == self.said(id));
                    if !is_mine {
                        self.crossed("a log message", &message);
                    }
                    logged += 1;
                }
                _ => {
                    let answers = message.as_array().cloned().unwrap_or_else(|| vec![message.clone()]);
                    for answer in answers {
                        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
                        self.expect(&answer["result"]["content"][0]["text"], &self.said(id), "an answer");
                        answered.push(id);
                    }
                }
            }
        }
        let talks: Vec<_> =
            ids.clone().filter(|id| id.is_multiple_of(TOGETHER)).flat_map(|id| [id, id]).collect();
        if progress != talks || logged != talks.len() / 2 || answered != ids.clone().collect::<Vec<_>>() {
            self.crossed("something missing or too much", &json!([ids.start, progress, logged, answered]));
        }
        add(&self.tally.calls, ids.len());
        add(&self.tally.streams, usize::from(reply.is_stream));
        add(&self.tally.progress, progress.len());
        add(&self.tally.logged, logged);
        if matches!(self.way, Way::Socket(_)) {
            add(&self.tally.over_sockets, ids.len());
        }
    }

    fn expect(&self, found: &Value, wanted: &str, what: &str) {
        if found != wanted {
            self.crossed(what, found);
        }
    }

    fn crossed(&self, what: &str, found: &Value) {
        self.tally.crossed(format!("{}: {what} that is not its own: {found}", kind(self.number)));
    }

    /// Checks that the text contains no canary of another client.
    fn look_for_others(&self, text: &str) {
        for (place, _) in text.match_indices(MARK) {
            let rest = &text[place..];
            let is_mine = rest.strip_prefix(&self.canary).is_some_and(|rest| rest.starts_with(' '));
            if !is_mine {
                let other = rest[MARK.len()..].split(':').next().unwrap().parse().unwrap_or(CLIENTS);
                self.tally.crossed(format!("{} met {}", kind(self.number), kind(other)));
            }
        }
    }

    fn headers(&self, tool: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("host", "localhost".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("authorization", format!("Bearer {}", self.principal)),
        ];
        if self.session.is_some() || self.version == STATELESS {
            headers.push(("mcp-protocol-version", self.version.to_owned()));
        }
        headers.extend(self.session.clone().map(|session| ("mcp-session-id", session)));
        if let (Some(tool), STATELESS) = (tool, self.version) {
            headers.push(("mcp-method", "tools/call".to_owned()));
            headers.push(("mcp-name", tool.to_owned()));
        }
        headers
    }

    async fn send(&self, message: &Value, tool: Option<&str>) -> Reply {
        let (headers, body) = (self.headers(tool), message.to_string());
        match &self.way {
            Way::Straight(service) => straight(service, headers, body).await,
            Way::Socket(socket) => over_socket(&mut *socket.lock().await, headers, body).await,
        }
    }
}

fn events(text: &str) -> Vec<String> {
    let mut parser = Parser::new(1 << 20);
    parser.push(text.as_bytes());
    std::iter::from_fn(|| parser.next_event().unwrap())
        .filter(|event| !event.data.is_empty())
        .map(|event| String::from_utf8(event.data.to_vec()).unwrap())
        .collect()
}

async fn straight(service: &HttpService, headers: Vec<(&'static str, String)>, body: String) -> Reply {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/mcp".parse().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (head, body) = service.handle(request).await.into_parts();
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    Reply {
        status: head.status.as_u16(),
        session: header("mcp-session-id"),
        is_stream: header("content-type").as_deref() == Some("text/event-stream"),
        body: body.collect().await.unwrap().to_bytes().to_vec(),
    }
}

/// Sends one request on a persistent connection, with a minimal HTTP client.
async fn over_socket(
    socket: &mut BufReader<TcpStream>,
    headers: Vec<(&'static str, String)>,
    body: String,
) -> Reply {
    let mut request = format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        write!(request, "{name}: {value}\r\n").unwrap();
    }
    request.push_str("\r\n");
    request.push_str(&body);
    socket.write_all(request.as_bytes()).await.unwrap();
    let status_line = line(socket).await;
    let mut headers = BTreeMap::new();
    loop {
        let line = line(socket).await;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = Vec::new();
    if let Some(length) = headers.get("content-length") {
        body.resize(length.parse().unwrap(), 0);
        socket.read_exact(&mut body).await.unwrap();
    } else if headers.contains_key("transfer-encoding") {
        loop {
            let size = usize::from_str_radix(&line(socket).await, 16).unwrap();
            let start = body.len();
            body.resize(start + size, 0);
            socket.read_exact(&mut body[start..]).await.unwrap();
            assert_eq!(line(socket).await, "");
            if size == 0 {
                break;
            }
        }
    }
    Reply {
        status: status_line.split(' ').nth(1).unwrap().parse().unwrap(),
        session: headers.remove("mcp-session-id"),
        is_stream: headers.get("content-type").is_some_and(|kind| kind == "text/event-stream"),
        body,
    }
}

async fn line(socket: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    socket.read_line(&mut line).await.unwrap();
    assert!(line.ends_with("\r\n"), "the connection is kept: {line:?}");
    line.truncate(line.len() - 2);
    line
}
