//! A hundred clients that all use the same ids, through one gateway to three servers at once: does a client ever
//! receive data of another one?
//!
//! Each client has a canary, a unique word, and sends it with each of its calls. Everything that results from a call
//! must contain it and no other canary: results, progress, log messages, and the questions that servers ask while a
//! call runs. Some calls are cancelled in the middle. The clients use every wire. The servers are behind sessions over
//! HTTP, a pipe of the stateless era, and a pipe with a handshake. On the last one a question cannot be attributed to a
//! call, so no client may be asked.
//!
//! `cargo test -p toolway --test gateway -- --nocapture` prints the counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use toolway::client::Notification;
use toolway::client::{Answer, ClientBuilder};
use toolway::prelude::*;
use toolway::types::LogLevel;
use toolway::{Form, ProtocolVersion};

const CLIENTS: usize = 100;
/// Calls of each client; every client uses the ids from 0 on.
const CALLS: usize = 50;
/// The number of calls of a client that run at the same time.
const TOGETHER: usize = 5;
/// The beginning of every canary.
const MARK: &str = "canary:";
/// The servers behind the gateway.
const SERVERS: [&str; 3] = ["session", "alone", "shared"];

/// The number of calls that run now.
type Gauge = watch::Sender<usize>;

struct Running(Gauge);

impl Running {
    fn begin(gauge: &Gauge) -> Self {
        gauge.send_modify(|running| *running += 1);
        Self(gauge.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

/// Answers at once.
#[tool]
fn echo(canary: String, server: State<&'static str>) -> String {
    format!("{canary} {}", *server)
}

/// Speaks while it runs, and lets others go first.
#[tool]
async fn talk(canary: String, server: State<&'static str>, ctx: Ctx) -> String {
    for step in 1..=3 {
        ctx.progress(step, 3, canary.clone()).await;
        tokio::task::yield_now().await;
        ctx.log().error(&canary, Value::Null).await;
        tokio::task::yield_now().await;
    }
    format!("{canary} {}", *server)
}

#[derive(Form)]
struct Reply {
    word: String,
}

/// Asks its caller.
#[tool]
async fn ask(canary: String, server: State<&'static str>, ctx: Ctx) -> Result<String, ToolError> {
    let Reply { word } = ctx.ask(canary.clone()).await?;
    Ok(format!("{canary} {} {word}", *server))
}

/// Never ends by itself.
#[tool]
async fn stay(canary: String, gauge: State<Gauge>, ctx: Ctx) {
    let _running = Running::begin(&gauge);
    ctx.progress(1, None::<u32>, canary).await;
    std::future::pending::<()>().await;
}

fn server(name: &'static str, gauge: &Gauge) -> Server {
    let server = Server::new(name, "1.0.0").state(name).state(gauge.clone());
    server.tools(tools![echo, talk, ask, stay]).build().unwrap()
}

/// Counts over all clients.
#[derive(Default)]
struct Tally {
    calls: AtomicUsize,
    progress: AtomicUsize,
    logged: AtomicUsize,
    asked: AtomicUsize,
    answered: AtomicUsize,
    given_up: AtomicUsize,
    crossings: Mutex<Vec<String>>,
}

impl Tally {
    /// Compares what a client received with its canary.
    fn check(&self, canary: &str, what: &str, found: &str) {
        let others = found.match_indices(MARK).any(|(place, _)| {
            found[place..].strip_prefix(canary).is_none_or(|rest| rest.starts_with(char::is_alphanumeric))
        });
        if others || !found.contains(canary) {
            self.crossings.lock().unwrap().push(format!("{canary} got {what}: {found}"));
        }
    }
}

fn add(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
}

async fn over_pipe(builder: ClientBuilder, server: &Server) -> Client {
    let (near, far) = tokio::io::duplex(64 << 10);
    let server = server.clone();
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    builder.connect_io(reader, writer).await.unwrap()
}

async fn over_http(server: &Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(server.http().serve(listener));
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_gets_through_a_gateway_what_belongs_to_somebody_else() {
    let (new, old) = (ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE);
    let gauge = Gauge::new(0);
    let [session, alone, shared] = SERVERS.map(|name| server(name, &gauge));
    let upstream = |version| Client::builder().protocol(version).forward_questions();
    let gateway = Server::new("gateway", "1.0.0")
        .mount_as(SERVERS[0], upstream(old).connect_http(&over_http(&session).await).await.unwrap())
        .mount_as(SERVERS[1], over_pipe(upstream(new), &alone).await)
        .mount_as(SERVERS[2], over_pipe(upstream(old), &shared).await)
        .build()
        .unwrap();
    let url = over_http(&gateway).await;
    let tally = Arc::new(Tally::default());
    // The questions of a connection that only one caller has used would be attributed to this caller, so two use it first.
    for _ in 0..2 {
        let client = Client::connect(&gateway).await.unwrap();
        client.call(format!("{}__echo", SERVERS[2]), json!({"canary": "-"})).await.unwrap();
    }
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (gateway, url, tally) = (gateway.clone(), url.clone(), tally.clone());
        clients.spawn(async move {
            // Numbers that look similar: one is the beginning of another.
            let canary: Arc<str> = format!("{MARK}{number}").into();
            let builder = {
                let (canary, tally) = (canary.clone(), tally.clone());
                Client::builder().on_elicit(move |question| {
                    add(&tally.asked);
                    tally.check(&canary, "a question", question.message());
                    std::future::ready(Answer::accept(json!({"word": &*canary})))
                })
            };
            let version = if number % 2 == 0 { new } else { old };
            let builder = builder.protocol(version);
            let client = match number % 3 {
                0 => builder.connect(&gateway).await.unwrap(),
                1 => over_pipe(builder, &gateway).await,
                _ => builder.connect_http(&url).await.unwrap(),
            };
            Box::pin(run(client, number, canary, tally)).await;
        });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
    // All cancelled calls have ended on their servers.
    gauge.subscribe().wait_for(|running| *running == 0).await.map(drop).unwrap();
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let crossings = tally.crossings.lock().unwrap();
    println!(
        "{CLIENTS} clients: {} calls, {} of them given up, {} progress and {} log messages, {} questions, {} calls that were \
         answered, {} crossings",
        count(&tally.calls),
        count(&tally.given_up),
        count(&tally.progress),
        count(&tally.logged),
        count(&tally.asked),
        count(&tally.answered),
        crossings.len(),
    );
    assert!(crossings.is_empty(), "{crossings:#?}");
    // The test only proves something if these things happened.
    assert_eq!(count(&tally.calls), CLIENTS * CALLS);
    assert!(count(&tally.given_up) >= CLIENTS * CALLS / 10);
    assert!(count(&tally.progress) >= CLIENTS * CALLS / 2, "{}", count(&tally.progress));
    assert!(count(&tally.logged) > 0);
    // Questions of two of the three servers can be forwarded.
    assert_eq!(count(&tally.asked), count(&tally.answered));
    assert!(count(&tally.asked) >= CLIENTS * CALLS / 10, "{}", count(&tally.asked));
}

/// Makes all calls of one client.
async fn run(client: Client, number: usize, canary: Arc<str>, tally: Arc<Tally>) {
    client.set_log_level(LogLevel::Debug).await.unwrap();
    let mut news = client.notifications();
    for first in (0..CALLS).step_by(TOGETHER) {
        let mut calls = JoinSet::new();
        for call in first..first + TOGETHER {
            let (client, canary, tally) = (client.clone(), canary.clone(), tally.clone());
            calls.spawn(async move { one(&client, number * CALLS + call, &canary, &tally).await });
        }
        while let Some(done) = calls.join_next().await {
            done.unwrap();
        }
        while let Some(news) = news.try_next() {
            match news {
                Notification::Progress(progress) => {
                    tally.check(&canary, "progress", progress.message.as_deref().unwrap_or_default());
                }
                Notification::LogMessage(message) => {
                    add(&tally.logged);
                    tally.check(&canary, "a log message", message.data.as_str());
                }
                _ => {}
            }
        }
    }
}

/// Makes one call, chosen by its number.
async fn one(client: &Client, number: usize, canary: &Arc<str>, tally: &Arc<Tally>) {
    // Any order works, as long as it differs between clients.
    let chance = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    let server = SERVERS[chance % SERVERS.len()];
    let tool = ["echo", "talk", "ask", "talk", "stay"][chance / 7 % 5];
    let noted = (canary.clone(), tally.clone());
    let call =
        client.call(format!("{server}__{tool}"), json!({"canary": &**canary})).on_progress(move |progress| {
            add(&noted.1.progress);
            noted.1.check(&noted.0, "progress", progress.message.as_deref().unwrap_or_default());
        });
    add(&tally.calls);
    if tool == "stay" {
        let mut running = call.start();
        assert!(running.progress().await.is_some());
        add(&tally.given_up);
        return;
    }
    let result = call.await.unwrap();
    let text = result.first_text().unwrap();
    match (tool, server) {
        // The question cannot be attributed to a caller there, so it must not reach any client.
        ("ask", "shared") => {
            assert!(result.is_error() && text.contains("several callers share"), "{text}");
        }
        ("ask", _) => {
            add(&tally.answered);
            tally.check(canary, "an answer", text);
            assert_eq!(text, format!("{canary} {server} {canary}"));
        }
        _ => {
            tally.check(canary, "a result", text);
            assert_eq!(text, format!("{canary} {server}"));
        }
    }
}
