//! Does a call that is cancelled at any point leave anything behind?
//!
//! Each call is polled a number of times and then dropped, for 1, 2, 3 … polls until it completes: as a message given
//! to the server, as an HTTP request with its reply, and as a whole pipe that writes a few bytes at a time. On a pipe
//! that stays open, it is cancelled after a number of scheduler turns instead. Afterwards its function was dropped
//! once, the tasks it spawned were notified, no task is left, its permit and its id are free, and the client has
//! received only whole messages. In a session over HTTP a lost connection does not cancel anything: there the work
//! completes, and the client can resume the stream to get the answer.
//!
//! `cargo test -p toolway --test cancel_everywhere -- --nocapture` prints the number of points.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;
use tokio::task::yield_now;
use toolway::Form;
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::layer::layer_fn;
use toolway::server::{Cursor, Extensions, Principal, ResourceEntry, ToolEntry};
use toolway::transport::sse::Parser;
use toolway::types::Resource;

const STATELESS: &str = "2026-07-28";
const HANDSHAKE: &str = "2025-11-25";
/// The revision that has batches.
const BATCHED: &str = "2025-03-26";

/// A call that never ends is dropped after at most this many polls.
const MOST: usize = 120;

/// Counts of what has begun and how it ended.
#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    dropped: AtomicUsize,
    finished: AtomicUsize,
    /// Spawned tasks, and those of them that noticed that the call was dropped.
    spawned: AtomicUsize,
    told: AtomicUsize,
}

fn add(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::SeqCst);
}

fn read(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

struct Guard(Arc<Counts>);

impl Guard {
    fn new(counts: &Arc<Counts>) -> Self {
        add(&counts.begun);
        Self(counts.clone())
    }

    fn finish(self) -> &'static str {
        add(&self.0.finished);
        "done"
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        add(&self.0.dropped);
    }
}

type Counted = State<Arc<Counts>>;

/// Waits for a turn of the scheduler, however often it is polled.
async fn pause() {
    let _ = tokio::spawn(yield_now()).await;
}

/// Waits a few times.
#[tool]
async fn waits(counts: Counted) -> &'static str {
    let guard = Guard::new(&counts);
    for _ in 0..4 {
        pause().await;
    }
    guard.finish()
}

/// Speaks while it runs.
#[tool]
async fn talks(counts: Counted, ctx: Ctx) -> &'static str {
    let guard = Guard::new(&counts);
    for step in 1..4 {
        ctx.progress(step, 3, "a step").await;
        pause().await;
        ctx.log().error("a message", json!({"step": step})).await;
        pause().await;
    }
    guard.finish()
}

#[derive(Form)]
struct Answer {
    word: String,
}

/// Asks, after something that is done once.
#[tool]
async fn asks(counts: Counted, ctx: Ctx) -> Result<&'static str, ToolError> {
    let guard = Guard::new(&counts);
    let effect = || async {
        pause().await;
        Ok::<_, ToolError>(1)
    };
    ctx.once("effect", effect).await?;
    let Answer { word } = ctx.ask("Which word?").await?;
    pause().await;
    assert_eq!(word, "please");
    Ok(guard.finish())
}

/// Reads a resource on the way.
#[tool]
async fn reads(counts: Counted, ctx: Ctx) -> Result<&'static str, ToolError> {
    let guard = Guard::new(&counts);
    ctx.read_resource("slow://resource").await?;
    Ok(guard.finish())
}

/// Changes what is remembered.
#[tool]
async fn counts(counts: Counted, ctx: Ctx) -> Result<&'static str, ToolError> {
    let guard = Guard::new(&counts);
    pause().await;
    ctx.memory_update(|count: &mut u32| *count += 1).await?;
    pause().await;
    Ok(guard.finish())
}

/// Has another task answer.
#[tool]
async fn defers(counts: Counted) -> Result<&'static str, ToolError> {
    let guard = Guard::new(&counts);
    let (mut answer, answered) = tokio::sync::oneshot::channel();
    add(&counts.spawned);
    tokio::spawn(async move {
        let told = guard.0.clone();
        let work = async {
            for _ in 0..4 {
                pause().await;
            }
        };
        tokio::select! {
            biased;
            () = answer.closed() => {
                add(&told.told);
                return;
            }
            () = work => {}
        }
        // This task ends whether the call still waits or not.
        add(&told.told);
        let _ = answer.send(guard.finish());
    });
    Ok(answered.await?)
}

/// Leaves a task running, which ends with the call.
#[tool]
async fn spawns(counts: Counted, ctx: Ctx) -> &'static str {
    let guard = Guard::new(&counts);
    let told = guard.0.clone();
    add(&told.spawned);
    tokio::spawn(async move {
        ctx.cancelled().await;
        add(&told.told);
    });
    for _ in 0..3 {
        pause().await;
    }
    guard.finish()
}

/// Is done at once.
#[tool]
fn right() -> &'static str {
    "right"
}

fn server(counts: &Arc<Counts>) -> Server {
    let (layered, listed, method, slow) = (counts.clone(), counts.clone(), counts.clone(), counts.clone());
    Server::new("cancelled", "1.0.0")
        .max_in_flight(1, 1)
        .state(counts.clone())
        .tools(tools![waits, talks, asks, reads, counts, defers, spawns, right])
        .tool(ToolEntry::from_fn("layered", || async { "done" }).layer(layer_fn(move |call, next| {
            let guard = Guard::new(&layered);
            async move {
                pause().await;
                let answer = next.run(call).await;
                pause().await;
                guard.finish();
                answer
            }
        })))
        .resource(ResourceEntry::define(Resource::new("slow://resource", "slow"), move || {
            let guard = Guard::new(&slow);
            async move {
                pause().await;
                pause().await;
                guard.finish()
            }
        }))
        .list_resources(move |_: Cursor| {
            let guard = Guard::new(&listed);
            async move {
                pause().await;
                guard.finish();
                vec![Resource::new("listed://one", "one")]
            }
        })
        .method("app/method", move || {
            let guard = Guard::new(&method);
            async move {
                pause().await;
                pause().await;
                guard.finish()
            }
        })
        .build()
        .unwrap()
}

/// The calls: method and parameters.
const CALLS: &[(&str, &str)] = &[
    ("tools/call", r#"{"name": "waits"}"#),
    ("tools/call", r#"{"name": "talks"}"#),
    ("tools/call", r#"{"name": "asks"}"#),
    ("tools/call", r#"{"name": "reads"}"#),
    ("tools/call", r#"{"name": "counts"}"#),
    ("tools/call", r#"{"name": "defers"}"#),
    ("tools/call", r#"{"name": "spawns"}"#),
    ("tools/call", r#"{"name": "layered"}"#),
    ("resources/read", r#"{"uri": "slow://resource"}"#),
    ("resources/list", "{}"),
    ("app/method", "{}"),
    ("subscriptions/listen", r#"{"notifications": {"toolsListChanged": true}}"#),
];

/// The calls that exist in a revision.
fn calls(version: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    CALLS.iter().copied().filter(move |(method, _)| version == STATELESS || *method != "subscriptions/listen")
}

fn message(version: &str, id: u64, method: &str, params: &str) -> Value {
    let mut params: Value = serde_json::from_str(params).unwrap();
    params["_meta"] = json!({"progressToken": id});
    if version == STATELESS {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn initialize(version: &str) -> Value {
    let info = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {"elicitation": {}}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// Polls `times` times and yields in between; returns the output if the work is done.
async fn polled<F: Future>(mut work: Pin<&mut F>, times: usize) -> Option<F::Output> {
    for _ in 0..times {
        if let Poll::Ready(output) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            return Some(output);
        }
        yield_now().await;
    }
    None
}

/// Lets all tasks run until they are idle.
async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Checks that nothing is left of a cancelled call.
async fn check_over(counts: &Counts, tasks: usize, place: &str) {
    settle().await;
    assert_eq!(read(&counts.begun), read(&counts.dropped), "{place}: each is dropped once");
    assert_eq!(read(&counts.spawned), read(&counts.told), "{place}: each task is told");
    assert_eq!(alive(), tasks, "{place}: no task is left");
}

/// Checks that the only permit is free.
async fn check_free(server: &Server, place: &str) {
    let call = message(STATELESS, 9, "tools/call", r#"{"name": "right"}"#).to_string();
    let answer = server.handle_json(call, Extensions::new()).await.unwrap();
    assert!(answer.contains(r#""text":"right""#), "{place}: {answer}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_handed_over_is_given_up() {
    let counts = Arc::new(Counts::default());
    let server = server(&counts);
    let mut points = 0;
    for version in [STATELESS, HANDSHAKE] {
        for (method, params) in calls(version) {
            for times in 1..MOST {
                let place = format!("{method} {params} in {version} after {times} polls");
                let tasks = alive();
                let extensions = Extensions::new().with(Principal::new("ann"));
                let text = message(version, 1, method, params).to_string();
                let answer = polled(pin!(server.handle_json(text, extensions)), times).await;
                points += 1;
                check_over(&counts, tasks, &place).await;
                check_free(&server, &place).await;
                if let Some(answer) = answer {
                    let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
                    assert_eq!(answer["id"], 1, "{place}: {answer}");
                    break;
                }
            }
        }
    }
    println!("handed over: {points} points");
}

/// An HTTP client without a socket.
#[derive(Clone)]
struct Web {
    service: HttpService,
    version: &'static str,
    session: Option<String>,
}

impl Web {
    async fn open(server: &Server, version: &'static str) -> Self {
        let mut web = Self { service: server.http(), version, session: None };
        if version != STATELESS {
            let request = web.request(Method::POST, &initialize(version), None);
            let response = Box::pin(web.service.handle(request)).await;
            let session = response.headers().get("mcp-session-id").unwrap().to_str().unwrap().to_owned();
            web.session = Some(session);
            web.exchange(&initialized()).await;
        }
        web
    }

    fn request(&self, method: Method, body: &Value, after: Option<&str>) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", self.version);
        }
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        if self.version == STATELESS {
            let method = body["method"].as_str().unwrap_or_default();
            request = request.header("mcp-protocol-version", STATELESS).header("mcp-method", method);
            let params = &body["params"];
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                request = request.header("mcp-name", name);
            }
        }
        let request = request.extension(Extensions::new().with(Principal::new("ann")));
        request.body(Full::new(Bytes::from(body.to_string()))).unwrap()
    }

    /// Sends one request and reads the whole reply into `got`, piece by piece.
    async fn fetch(&self, request: Request<Full<Bytes>>, got: &std::sync::Mutex<Vec<u8>>) {
        let mut body = Box::pin(self.service.handle(request)).await.into_body();
        while let Some(piece) = body.frame().await {
            got.lock().unwrap().extend_from_slice(&piece.unwrap().into_data().unwrap());
        }
    }

    async fn exchange(&self, message: &Value) -> Vec<Value> {
        let got = std::sync::Mutex::default();
        self.fetch(self.request(Method::POST, message, None), &got).await;
        heard(&got.into_inner().unwrap()).0
    }
}

/// Returns the messages in a reply, and the id of the last event. All of it must be complete.
fn heard(bytes: &[u8]) -> (Vec<Value>, Option<String>) {
    if bytes.is_empty() {
        return (Vec::new(), None);
    }
    if bytes[0] == b'{' || bytes[0] == b'[' {
        return (vec![serde_json::from_slice(bytes).expect("a whole message")], None);
    }
    assert!(bytes.ends_with(b"\n\n"), "an event is cut: {:?}", String::from_utf8_lossy(bytes));
    let (mut messages, mut last) = (Vec::new(), None);
    let mut parser = Parser::new(1 << 20);
    parser.push(bytes);
    while let Some(event) = parser.next_event().unwrap() {
        if !event.data.is_empty() {
            messages.push(serde_json::from_slice(&event.data).expect("a whole message"));
        }
        last = event.id.or(last);
    }
    (messages, last)
}

fn answers(messages: &[Value], id: u64) -> Vec<&Value> {
    messages.iter().filter(|message| message["id"] == id && message.get("method").is_none()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stands_alone_is_given_up_with_its_connection() {
    let counts = Arc::new(Counts::default());
    let server = server(&counts);
    let web = Web::open(&server, STATELESS).await;
    let mut points = 0;
    for (method, params) in calls(STATELESS) {
        for times in 1..MOST {
            let place = format!("{method} {params} after {times} polls");
            let tasks = alive();
            let got = std::sync::Mutex::default();
            let request = web.request(Method::POST, &message(STATELESS, 1, method, params), None);
            let is_done = polled(pin!(web.fetch(request, &got)), times).await.is_some();
            points += 1;
            check_over(&counts, tasks, &place).await;
            let (messages, _) = heard(&got.into_inner().unwrap());
            assert_eq!(answers(&messages, 1).len(), usize::from(is_done), "{place}: {messages:?}");
            check_free(&server, &place).await;
            if is_done {
                break;
            }
        }
    }
    println!("HTTP alone: {points} points");
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_session_goes_on_without_its_connection() {
    let counts = Arc::new(Counts::default());
    let server = server(&counts);
    let (mut points, mut resumed) = (0, 0);
    for version in [HANDSHAKE, BATCHED] {
        let web = Web::open(&server, version).await;
        for (method, params) in calls(version).chain([("batch", "")]) {
            for times in 1..MOST {
                let place = format!("{method} {params} in {version} after {times} polls");
                if method == "batch" && version != BATCHED {
                    break;
                }
                let tasks = alive();
                let body = match method {
                    "batch" => json!([
                        message(version, 1, "tools/call", r#"{"name": "talks"}"#),
                        message(version, 2, "ping", "{}"),
                    ]),
                    _ => message(version, 1, method, params),
                };
                let (begun, finished) = (read(&counts.begun), read(&counts.finished));
                let got = std::sync::Mutex::default();
                let request = web.request(Method::POST, &body, None);
                let is_done = polled(pin!(web.fetch(request, &got)), times).await.is_some();
                points += 1;
                let (mut messages, last) = heard(&got.into_inner().unwrap());
                settle().await;
                let is_asked = params.contains("asks") && !is_done && read(&counts.begun) > begun;
                if is_asked {
                    // The question is never answered, so only the client can end this.
                    let params = json!({"requestId": 1});
                    let cancel =
                        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                    web.exchange(&cancel).await;
                } else if !is_done {
                    let more = read(&counts.finished) - finished;
                    assert_eq!(more, read(&counts.begun) - begun, "{place}: what has begun is done");
                }
                check_over(&counts, tasks, &place).await;
                // A client with the id of an event resumes the stream, and gets the answer once.
                if let (Some(last), false, false) = (&last, is_done, is_asked) {
                    let got = std::sync::Mutex::default();
                    web.fetch(web.request(Method::GET, &json!({}), Some(last)), &got).await;
                    messages.extend(heard(&got.into_inner().unwrap()).0);
                    resumed += 1;
                }
                let flat: Vec<Value> = messages
                    .iter()
                    .flat_map(|message| message.as_array().cloned().unwrap_or_else(|| vec![message.clone()]))
                    .collect();
                let wanted = usize::from((is_done || last.is_some()) && !is_asked);
                assert_eq!(answers(&flat, 1).len(), wanted, "{place}: {messages:?}");
                let again = web.exchange(&message(version, 1, "tools/call", r#"{"name": "right"}"#)).await;
                assert_eq!(again[0]["result"]["content"][0]["text"], "right", "{place}: {again:?}");
                if is_done || (is_asked && times > 40) {
                    break;
                }
            }
        }
    }
    assert!(resumed > 10, "{resumed}");
    println!("HTTP in sessions: {points} points, {resumed} of them come back to");
}

/// Returns the lines that a pipe has sent. The last line may be incomplete if the pipe was cut.
fn lines(bytes: &[u8]) -> Vec<Value> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a whole message")).collect()
}

/// Reads everything that is available without waiting.
async fn drain(pipe: &mut DuplexStream, into: &mut Vec<u8>) {
    let mut room = vec![0; 1 << 16];
    while let Poll::Ready(read) = {
        let mut reading = pin!(pipe.read(&mut room));
        poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await
    } {
        let read = read.unwrap();
        if read == 0 {
            return;
        }
        into.extend_from_slice(&room[..read]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pipe_is_given_up_with_all_that_runs_on_it() {
    let counts = Arc::new(Counts::default());
    let server = server(&counts);
    let mut points = 0;
    for version in [STATELESS, HANDSHAKE, BATCHED] {
        for (method, params) in calls(version).chain([("batch", "")]) {
            if method == "batch" && version != BATCHED {
                continue;
            }
            for has_end in [false, true] {
                for times in 1..MOST * 4 {
                    let place = format!("{method} {params} in {version}, end {has_end}, after {times} polls");
                    let tasks = alive();
                    let mut input = String::new();
                    if version != STATELESS {
                        input = format!("{}\n{}\n", initialize(version), initialized());
                    }
                    input += &match method {
                        "batch" => json!([
                            message(version, 1, "tools/call", r#"{"name": "talks"}"#),
                            message(version, 2, "ping", "{}"),
                        ])
                        .to_string(),
                        _ => message(version, 1, method, params).to_string(),
                    };
                    input += "\n";
                    let (mut near, far) = tokio::io::duplex(61);
                    let (mut sends, reader) = tokio::io::duplex(1 << 16);
                    sends.write_all(input.as_bytes()).await.unwrap();
                    if has_end {
                        sends.shutdown().await.unwrap();
                    }
                    let mut got = Vec::new();
                    let is_done = {
                        let mut serving = pin!(server.serve_io(reader, far));
                        let mut is_done = false;
                        for _ in 0..times {
                            is_done = polled(serving.as_mut(), 1).await.is_some();
                            drain(&mut near, &mut got).await;
                            if is_done {
                                break;
                            }
                        }
                        is_done
                    };
                    near.read_to_end(&mut got).await.unwrap();
                    points += 1;
                    check_over(&counts, tasks, &place).await;
                    check_free(&server, &place).await;
                    let said: Vec<Value> = lines(&got)
                        .into_iter()
                        .flat_map(|line| line.as_array().cloned().unwrap_or_else(|| vec![line.clone()]))
                        .collect();
                    let answered = answers(&said, 1).len();
                    assert!(answered <= 1, "{place}: {said:?}");
                    if is_done {
                        assert!(has_end && got.ends_with(b"\n"), "{place}: {said:?}");
                        // After the end of the input a question cannot be answered, so it ends the call too.
                        assert_eq!(answered, 1, "{place}: {said:?}");
                        break;
                    }
                    if answered == 1 && !has_end && times > 60 {
                        break;
                    }
                }
            }
        }
    }
    println!("pipes: {points} points");
}

/// A pipe that stays open.
struct Talk {
    near: DuplexStream,
    got: Vec<u8>,
}

impl Talk {
    async fn start(server: &Server, version: &str) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        let server = server.clone();
        tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            server.serve_io(reader, writer).await
        });
        let mut talk = Self { near, got: Vec::new() };
        if version != STATELESS {
            talk.send(&initialize(version)).await;
            talk.send(&initialized()).await;
        }
        talk.said().await;
        talk
    }

    async fn send(&mut self, message: &Value) {
        self.near.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id});
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }

    /// Returns everything that was sent since the last call of this method.
    async fn said(&mut self) -> Vec<Value> {
        for _ in 0..10 {
            settle().await;
            drain(&mut self.near, &mut self.got).await;
        }
        assert!(self.got.is_empty() || self.got.ends_with(b"\n"), "a line is cut");
        lines(&std::mem::take(&mut self.got))
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_on_a_pipe_is_cancelled_and_its_id_is_free() {
    let counts = Arc::new(Counts::default());
    let server = server(&counts);
    let mut points = 0;
    for version in [STATELESS, HANDSHAKE] {
        let mut talk = Talk::start(&server, version).await;
        let tasks = alive();
        for (method, params) in calls(version) {
            for turns in 0..40 {
                let place = format!("{method} {params} in {version} after {turns} turns");
                talk.send(&message(version, 1, method, params)).await;
                for _ in 0..turns {
                    yield_now().await;
                }
                talk.cancel(1).await;
                settle().await;
                points += 1;
                check_over(&counts, tasks, &place).await;
                talk.send(&message(version, 1, "tools/call", r#"{"name": "right"}"#)).await;
                let said = talk.said().await;
                let answers = answers(&said, 1);
                assert!(matches!(answers.len(), 1 | 2), "{place}: {said:?}");
                let last = answers.last().unwrap();
                assert_eq!(last["result"]["content"][0]["text"], "right", "{place}: {said:?}");
                assert!(
                    !format!("{:?}", &answers[..answers.len() - 1]).contains("right"),
                    "{place}: {said:?}"
                );
            }
        }
    }
    println!("cancelled on pipes: {points} points");
}

#[tokio::test(start_paused = true)]
async fn questions_of_cancelled_calls_are_taken_back() {
    let counts = Arc::new(Counts::default());
    let server = server(&counts);
    let mut talk = Talk::start(&server, HANDSHAKE).await;
    let web = Web::open(&server, HANDSHAKE).await;
    let ask = message(HANDSHAKE, 1, "tools/call", r#"{"name": "asks"}"#);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    // More questions than may be pending.
    for round in 0..100 {
        talk.send(&ask).await;
        settle().await;
        talk.cancel(1).await;
        let said = talk.said().await;
        let is = |method: &str| said.iter().filter(|said| said["method"] == method).count();
        assert_eq!((is("elicitation/create"), is("notifications/cancelled")), (1, 1), "{round}: {said:?}");
        assert_eq!(answers(&said, 1).len(), 0, "{round}: {said:?}");

        let got = std::sync::Mutex::default();
        polled(pin!(web.fetch(web.request(Method::POST, &ask, None), &got)), 30).await;
        let (messages, _) = heard(&got.into_inner().unwrap());
        assert_eq!(messages[0]["method"], "elicitation/create", "{round}: {messages:?}");
        web.exchange(&cancel).await;
        settle().await;
    }
    assert_eq!(read(&counts.begun), read(&counts.dropped));
}

/// A call completes and is cancelled before its answer is written: its id may belong to another call by then.
#[tokio::test(start_paused = true)]
async fn what_was_cancelled_does_not_answer_for_the_next_request_of_its_id() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let open = gate.clone();
    let server = Server::new("late", "1.0.0")
        .tools(tools![right])
        .tool(ToolEntry::from_fn("late", move || {
            let gate = gate.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                "late"
            }
        }))
        // One and a half times the amount of output that stops the reading of a pipe.
        .tool(ToolEntry::from_fn("long", || async { "x".repeat(3 << 19) }))
        .build()
        .unwrap();
    let (mut near, far) = tokio::io::duplex(1 << 20);
    let (mut sends, reader) = tokio::io::duplex(1 << 16);
    let call = |id, tool: &str| message(STATELESS, id, "tools/call", &json!({"name": tool}).to_string());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let input = format!("{}\n{}\n{cancel}\n{}\n", call(1, "late"), call(2, "long"), call(1, "right"));
    sends.write_all(input.as_bytes()).await.unwrap();
    let serving = tokio::spawn(async move { server.serve_io(reader, far).await });
    settle().await;
    // The call completes, and the pipe becomes writable again, before the server looks at either.
    let mut got = Vec::new();
    open.add_permits(1);
    drain(&mut near, &mut got).await;
    for _ in 0..10 {
        settle().await;
        drain(&mut near, &mut got).await;
    }
    let said = lines(&got);
    let answers = answers(&said, 1);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["result"]["content"][0]["text"], "right");
    serving.abort();
}
