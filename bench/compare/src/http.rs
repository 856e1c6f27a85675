//! The HTTP side: one hyper connection per simulated client.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::proto::{INITIALIZED, Outcome, Revision, parse, small_text};
use crate::server::{Mode, Peer, Server};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Where and how to reach the server under test.
pub struct Target<'a> {
    pub peer: &'a Peer,
    pub mode: &'a Mode,
    pub port: u16,
}

pub struct Client {
    send: SendRequest<Full<Bytes>>,
    path: String,
    revision: Revision,
    headers: HeaderMap,
    next_id: u64,
    /// The sessions among which the calls take turns, if there are several.
    sessions: Vec<HeaderValue>,
}

pub struct Reply {
    pub body: Bytes,
    pub sse: bool,
    pub id: u64,
}

impl Reply {
    pub fn outcome(&self) -> Result<Outcome<'_>> {
        parse(&self.body, self.sse, self.id)
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) -> Result<()> {
    headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value)?);
    Ok(())
}

impl Client {
    /// Connects, and opens a session if the revision has sessions.
    pub async fn open(target: &Target<'_>, first_id: u64) -> Result<Client> {
        let socket = TcpStream::connect(("127.0.0.1", target.port)).await?;
        socket.set_nodelay(true)?;
        let (send, connection) = handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        let revision = target.mode.revision;
        let mut headers = HeaderMap::new();
        insert(&mut headers, "host", &format!("127.0.0.1:{}", target.port))?;
        insert(&mut headers, "content-type", "application/json")?;
        insert(
            &mut headers,
            "accept",
            "application/json, text/event-stream",
        )?;
        let mut client = Client {
            send,
            path: target.peer.path.clone(),
            revision,
            headers,
            next_id: first_id,
            sessions: Vec::new(),
        };
        client.greet().await?;
        Ok(client)
    }

    /// Says hello, and opens a session if the revision has sessions.
    async fn greet(&mut self) -> Result<()> {
        let revision = self.revision;
        let client = self;
        client.headers.remove("mcp-session-id");
        client.headers.remove("mcp-protocol-version");
        let (method, body) = revision.hello();
        if revision == Revision::V2026 {
            insert(
                &mut client.headers,
                "mcp-protocol-version",
                revision.as_str(),
            )?;
            insert(&mut client.headers, "mcp-method", method)?;
        }
        let response = client.post(body).await?;
        let session = response.headers().get("mcp-session-id").cloned();
        let hello = read(response, 0).await?;
        hello.outcome().context("hello")?;
        if revision == Revision::V2025 {
            insert(
                &mut client.headers,
                "mcp-protocol-version",
                revision.as_str(),
            )?;
            if let Some(session) = session {
                client.headers.insert("mcp-session-id", session);
            }
            let response = client.post(INITIALIZED.into()).await?;
            ensure!(
                response.status() == 202,
                "initialized: {}",
                response.status()
            );
            response.into_body().collect().await?;
        }
        Ok(())
    }

    /// Opens `count` more sessions on the connection; later calls take turns among them.
    pub async fn open_sessions(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            self.greet().await?;
            let session = self.headers.get("mcp-session-id").context("no session id")?;
            self.sessions.push(session.clone());
        }
        Ok(())
    }

    async fn post(&mut self, body: String) -> Result<Response<Incoming>> {
        let mut request = Request::post(&self.path).body(Full::new(Bytes::from(body)))?;
        *request.headers_mut() = self.headers.clone();
        self.send.ready().await?;
        tokio::time::timeout(TIMEOUT, self.send.send_request(request))
            .await?
            .context("POST")
    }

    /// Makes later requests name this method (and tool or resource) in their headers.
    pub fn aim(&mut self, method: &str, name: &str) -> Result<()> {
        if self.revision == Revision::V2026 {
            insert(&mut self.headers, "mcp-method", method)?;
            self.headers.remove("mcp-name");
            if !name.is_empty() {
                insert(&mut self.headers, "mcp-name", name)?;
            }
        }
        Ok(())
    }

    pub fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub async fn ask(&mut self, id: u64, body: String) -> Result<Reply> {
        let response = self.post(body).await?;
        read(response, id).await
    }

    /// Opens the standalone event stream of a session. It stays open as long as the body lives.
    pub async fn listen(&mut self) -> Result<Incoming> {
        let mut request = Request::get(&self.path).body(Full::default())?;
        *request.headers_mut() = self.headers.clone();
        insert(request.headers_mut(), "accept", "text/event-stream")?;
        request.headers_mut().remove("content-type");
        self.send.ready().await?;
        let response = tokio::time::timeout(TIMEOUT, self.send.send_request(request)).await??;
        ensure!(response.status() == 200, "GET: {}", response.status());
        Ok(response.into_body())
    }
}

async fn read(response: Response<Incoming>, id: u64) -> Result<Reply> {
    let status = response.status();
    let sse = response
        .headers()
        .get("content-type")
        .is_some_and(|v| v.as_bytes().starts_with(b"text/event-stream"));
    let body = tokio::time::timeout(TIMEOUT, response.into_body().collect())
        .await??
        .to_bytes();
    ensure!(
        status == 200,
        "status {status}: {}",
        String::from_utf8_lossy(&body[..body.len().min(300)])
    );
    Ok(Reply { body, sse, id })
}

/// Starts the peer for HTTP and waits until it answers.
pub async fn start(target: &Target<'_>, extra: &[&str]) -> Result<Server> {
    let mut args = vec!["--http".to_string(), target.port.to_string()];
    args.extend(target.mode.args.iter().cloned());
    args.extend(extra.iter().map(|s| s.to_string()));
    let mut server = Server::start(target.peer, &args, false)?;
    let started = Instant::now();
    loop {
        match Client::open(target, 0).await {
            Ok(_) => return Ok(server),
            Err(e) if started.elapsed() > TIMEOUT => bail!("never ready: {e:#}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        if let Some(status) = server.child.try_wait()? {
            bail!("server ended: {status}");
        }
    }
}

/// Calls every tool and reads the resource once, and checks the answers. Returns whether answers come as event streams.
pub async fn check(target: &Target<'_>) -> Result<bool> {
    let mut client = Client::open(target, 0).await?;
    let revision = target.mode.revision;
    client.aim("tools/call", "echo")?;
    let id = client.id();
    let reply = client
        .ask(id, revision.echo(id, r#"a \"quoted\" text"#))
        .await?;
    ensure!(reply.outcome()?.text()? == "a \"quoted\" text", "echo");
    let sse = reply.sse;
    client.aim("tools/call", "add")?;
    let id = client.id();
    let reply = client
        .ask(id, revision.call(id, "add", r#""a":40,"b":2"#))
        .await?;
    let sum: Value = serde_json::from_str(reply.outcome()?.text()?)?;
    ensure!(sum == json!({"sum": 42}), "add: {sum}");
    client.aim("tools/call", "blob")?;
    let id = client.id();
    let reply = client
        .ask(id, revision.call(id, "blob", r#""bytes":100000"#))
        .await?;
    ensure!(reply.outcome()?.text()?.len() == 100_000, "blob");
    if !target.peer.resource {
        return Ok(sse);
    }
    client.aim("resources/read", "bench://static")?;
    let id = client.id();
    let reply = client
        .ask(
            id,
            revision.request(id, "resources/read", r#""uri":"bench://static""#),
        )
        .await?;
    ensure!(reply.outcome()?.text()?.len() == 1024, "resource");
    Ok(sse)
}

/// The request that the clients of one load run repeat.
#[derive(Clone, Copy)]
pub enum Load {
    Echo,
    List { tools: usize },
    Large { bytes: usize },
}

impl Load {
    fn text(self) -> String {
        match self {
            Load::Large { bytes } => "y".repeat(bytes),
            _ => String::new(),
        }
    }
}

/// Brings a new server to its steady state (a JIT needs thousands of calls): makes `calls` calls, for at most 8 s.
pub async fn warm(target: &Target<'_>, load: Load, calls: usize) -> Result<()> {
    let mut client = Client::open(target, 0).await?;
    let large = load.text();
    let end = Instant::now() + Duration::from_secs(8);
    for _ in 0..calls {
        exchange(&mut client, load, &large).await?;
        if Instant::now() > end {
            break;
        }
    }
    Ok(())
}

/// Runs `connections` clients in closed loops for `seconds`, after a warm-up of a fifth of that time.
pub async fn load(
    target: &Target<'_>,
    server: &Server,
    load: Load,
    connections: usize,
    seconds: f64,
) -> Result<Value> {
    let mut clients = Vec::new();
    for n in 0..connections {
        clients.push(Client::open(target, n as u64 * 10_000_000).await?);
    }
    load_with(clients, server, load, seconds).await
}

/// Runs these clients in closed loops.
pub async fn load_with(
    clients: Vec<Client>,
    server: &Server,
    load: Load,
    seconds: f64,
) -> Result<Value> {
    let warm_until = Instant::now() + Duration::from_secs_f64(seconds / 5.0);
    let end = warm_until + Duration::from_secs_f64(seconds);
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|client| tokio::spawn(drive(client, load, warm_until, end)))
        .collect();
    tokio::time::sleep_until(warm_until.into()).await;
    let (before, began) = (server.usage()?, Instant::now());
    tokio::time::sleep_until(end.into()).await;
    let (after, took) = (server.usage()?, began.elapsed().as_secs_f64());
    let (mut nanos, mut bytes) = (Vec::new(), 0);
    for task in tasks {
        let (mut part, size) = task.await??;
        nanos.append(&mut part);
        bytes = size;
    }
    ensure!(!nanos.is_empty(), "no answer inside the measuring time");
    nanos.sort_unstable();
    let at = |q: f64| nanos[((nanos.len() - 1) as f64 * q) as usize] as f64 / 1000.0;
    let (cpu, sys) = (after.cpu_us - before.cpu_us, after.sys_us - before.sys_us);
    let count = nanos.len() as f64;
    Ok(json!({
        "n": count, "rps": count / took, "p50_us": at(0.5), "p99_us": at(0.99),
        "cpu_us": cpu / count, "sys_us": sys / count,
        "busy": cpu / 1e6 / took, "peak_mib": server.memory_kib("VmHWM")? / 1024.0, "answer_bytes": bytes,
    }))
}

async fn drive(
    mut client: Client,
    load: Load,
    warm_until: Instant,
    end: Instant,
) -> Result<(Vec<u64>, usize)> {
    let (mut nanos, large) = (Vec::new(), load.text());
    loop {
        let (took, size) = exchange(&mut client, load, &large).await?;
        let now = Instant::now();
        if now >= end {
            return Ok((nanos, size));
        }
        if now >= warm_until {
            nanos.push(took.as_nanos() as u64);
        }
    }
}

/// Sends one request and checks the answer. Returns the time it took and the size of the answer.
async fn exchange(client: &mut Client, load: Load, large: &str) -> Result<(Duration, usize)> {
    let (revision, id) = (client.revision, client.id());
    let small = small_text(id);
    let body = match load {
        Load::Echo => revision.echo(id, &small),
        Load::List { .. } => revision.request(id, "tools/list", ""),
        Load::Large { .. } => revision.echo(id, large),
    };
    match load {
        Load::List { .. } => client.aim("tools/list", "")?,
        _ => client.aim("tools/call", "echo")?,
    }
    if !client.sessions.is_empty() {
        let session = client.sessions[id as usize % client.sessions.len()].clone();
        client.headers.insert("mcp-session-id", session);
    }
    let began = Instant::now();
    let reply = client.ask(id, body).await?;
    let took = began.elapsed();
    let outcome = reply.outcome()?;
    match load {
        Load::Echo => ensure!(outcome.text()? == small, "wrong echo"),
        Load::List { tools } => ensure!(
            outcome.tool_count()? == tools,
            "{} tools",
            outcome.tool_count()?
        ),
        Load::Large { .. } => ensure!(outcome.text()? == large, "wrong large echo"),
    }
    Ok((took, reply.body.len()))
}

/// Measures the memory of an idle session with an open event stream.
pub async fn sessions(target: &Target<'_>, server: &Server, count: usize) -> Result<Value> {
    let mut held = Vec::new();
    let mut before = 0.0;
    for n in 0..count + 20 {
        if n == 20 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            before = server.memory_kib("VmRSS")?;
        }
        let mut client = Client::open(target, 0).await?;
        ensure!(
            client.headers.contains_key("mcp-session-id"),
            "no session id"
        );
        let stream = client.listen().await?;
        held.push((client, stream));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = server.memory_kib("VmRSS")?;
    Ok(
        json!({"sessions": count, "kib_per_session": (after - before) / count as f64, "base_mib": before / 1024.0}),
    )
}
