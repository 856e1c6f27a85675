//! A server that sends notifications only on its own stream, and drops them while there is none, as servers on other
//! SDKs do.
//!
//! It is played in memory on a paused clock, so each run is exact: the latencies come from a seed, which a failure
//! names.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use toolway::client::{Answer, Change, Http, HttpBody, HttpClient};
use toolway::prelude::*;
use toolway::types::{Content, CreateMessageResult, Role, Root};
use toolway::{BoxFuture, Error, ProtocolVersion};

/// The number of seeds for each case.
const RUNS: u64 = 100;

/// The longest time that a client waits for the stream; see `docs/design/fixed-limits.md`.
const MAX_GATED: Duration = Duration::from_secs(1);

/// How a GET is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Get {
    After(u64),
    Never,
    Refused(StatusCode),
}

const ANSWERED: [Get; 3] = [Get::After(0), Get::After(20), Get::After(100)];

/// The server. Clones share one state.
#[derive(Clone)]
struct Dropping(Arc<Played>);

struct Played {
    get: Mutex<Get>,
    /// The `Retry-After` of a refused GET, in seconds.
    retry_after: Option<u64>,
    /// The first bytes of the stream.
    greeting: &'static str,
    seed: Mutex<u64>,
    stream: Mutex<Option<mpsc::UnboundedSender<Bytes>>>,
    questions: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    /// The messages that have arrived, and when.
    arrived: Mutex<Vec<(String, Instant)>>,
}

impl Dropping {
    fn new(get: Get, seed: u64) -> Self {
        Self::greeting(get, seed, "")
    }

    fn greeting(get: Get, seed: u64, greeting: &'static str) -> Self {
        Self(Arc::new(Played {
            get: Mutex::new(get),
            retry_after: None,
            greeting,
            seed: Mutex::new(seed),
            stream: Mutex::default(),
            questions: Mutex::default(),
            arrived: Mutex::default(),
        }))
    }

    fn target(&self) -> Http {
        Http::new("http://localhost/mcp").with_client(self.clone())
    }

    /// Returns the latency of the next message, up to 40 ms.
    fn latency(&self) -> Duration {
        let mut seed = self.0.seed.lock().unwrap();
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Duration::from_millis((mixed >> 33) % 41)
    }

    /// Sends a message, if there is a stream.
    fn say(&self, message: &Value) {
        if let Some(stream) = &*self.0.stream.lock().unwrap() {
            let _ = stream.send(format!("data: {message}\n\n").into());
        }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut questions = self.0.questions.lock().unwrap();
            let id = 1000 + questions.len() as u64;
            questions.insert(id, answer);
            id
        };
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        answered.await.unwrap()
    }

    /// Ends the stream, and waits until the client has noticed.
    async fn close_stream(&self) {
        assert!(self.0.stream.lock().unwrap().take().is_some(), "there is a stream");
        // The clock advances only after the client has done all it can.
        sleep(Duration::from_millis(1)).await;
    }

    fn arrivals(&self, what: &str) -> Vec<Instant> {
        let arrived = self.0.arrived.lock().unwrap();
        arrived.iter().filter(|(name, _)| name == what).map(|(_, when)| *when).collect()
    }

    async fn get(&self) -> Response<HttpBody> {
        self.0.arrived.lock().unwrap().push(("GET".to_owned(), Instant::now()));
        let get = *self.0.get.lock().unwrap();
        let status = match get {
            Get::After(time) => {
                sleep(Duration::from_millis(time)).await;
                StatusCode::OK
            }
            Get::Never => std::future::pending().await,
            Get::Refused(status) => status,
        };
        let (said, hearing) = mpsc::unbounded_channel();
        let mut response = Response::new(HttpBody::new(Said(hearing)));
        *response.status_mut() = status;
        if status == StatusCode::OK {
            said.send(Bytes::from_static(self.0.greeting.as_bytes())).unwrap();
            *self.0.stream.lock().unwrap() = Some(said);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        } else if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    async fn post(&self, message: Value) -> Response<HttpBody> {
        let method = message["method"].as_str().unwrap_or("answer").to_owned();
        self.0.arrived.lock().unwrap().push((method.clone(), Instant::now()));
        let result = match method.as_str() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {}},
                "serverInfo": {"name": "dropping", "version": "1"},
            }),
            "tools/call" => self.call(message["params"]["name"].as_str().unwrap()).await,
            "tools/list" => {
                let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
                let tools = ["ask", "roots", "sample", "log", "plain"].map(tool);
                json!({"tools": tools})
            }
            "resources/subscribe" => {
                let params = json!({"uri": message["params"]["uri"]});
                let news = "notifications/resources/updated";
                self.say(&json!({"jsonrpc": "2.0", "method": news, "params": params}));
                json!({})
            }
            "answer" => {
                let asked = self.0.questions.lock().unwrap().remove(&message["id"].as_u64().unwrap());
                asked.unwrap().send(message["result"].clone()).unwrap();
                return accepted();
            }
            _ if message.get("id").is_none() => return accepted(),
            _ => json!({}),
        };
        let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let mut response = Response::new(HttpBody::new(Full::new(Bytes::from(reply))));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert("mcp-session-id", HeaderValue::from_static("s-1"));
        response
    }

    async fn call(&self, tool: &str) -> Value {
        let said = match tool {
            "ask" => {
                let form =
                    json!({"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}});
                let asked = json!({"message": "Your name?", "requestedSchema": form});
                self.ask("elicitation/create", asked).await["content"]["name"].clone()
            }
            "roots" => self.ask("roots/list", json!({})).await["roots"][0]["uri"].clone(),
            "sample" => {
                let said = json!([{"role": "user", "content": {"type": "text", "text": "hello"}}]);
                let asked = json!({"messages": said, "maxTokens": 10});
                self.ask("sampling/createMessage", asked).await["content"]["text"].clone()
            }
            "log" => {
                let params = json!({"level": "error", "data": "logged"});
                self.say(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}));
                json!("done")
            }
            "plain" => json!("done"),
            other => panic!("{other}"),
        };
        json!({"content": [{"type": "text", "text": said}]})
    }
}

impl HttpClient for Dropping {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, toolway::Result<Response<HttpBody>>> {
        Box::pin(async move {
            sleep(self.latency()).await;
            let response = match *request.method() {
                Method::GET => self.get().await,
                Method::POST => self.post(serde_json::from_slice(request.body()).unwrap()).await,
                _ => accepted(),
            };
            sleep(self.latency()).await;
            Ok(response)
        })
    }
}

fn accepted() -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::new(Full::new(Bytes::new())));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// The body of a stream, until its other end is dropped.
struct Said(mpsc::UnboundedReceiver<Bytes>);

impl Body for Said {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|said| said.map(|said| Ok(Frame::data(said))))
    }
}

fn builder() -> toolway::client::ClientBuilder {
    Client::builder()
        .protocol(ProtocolVersion::LATEST_HANDSHAKE)
        .on_elicit(|_| async { Answer::defaults() })
        .on_sample(|_| async {
            Ok(CreateMessageResult::new(Role::Assistant, Content::text("hello back"), "model"))
        })
        .roots([Root::new("file:///notes")])
}

/// Calls a tool and returns the text of its result.
async fn call(client: &Client, tool: &str) -> Result<String, Error> {
    client.call(tool, json!({})).await?.text()
}

/// Waits for something that may never happen, on the clock of the test.
async fn soon<T>(coming: impl Future<Output = Option<T>>) -> Option<T> {
    timeout(Duration::from_secs(60), coming).await.ok().flatten()
}

/// Each tool that asks, and the answer to its question.
const QUESTIONS: [(&str, &str); 3] = [("ask", "Ada"), ("roots", "file:///notes"), ("sample", "hello back")];

#[tokio::test(start_paused = true)]
async fn a_question_right_after_connecting_arrives() {
    for (tool, answer) in QUESTIONS {
        for get in ANSWERED {
            for seed in 0..RUNS {
                let server = Dropping::new(get, seed);
                let client = builder().connect(server.target()).await.unwrap();
                assert_eq!(call(&client, tool).await.unwrap(), answer, "{get:?}, seed {seed}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_message_right_after_connecting_arrives() {
    for get in ANSWERED {
        for seed in 0..RUNS {
            let server = Dropping::new(get, seed);
            let client = builder().connect(server.target()).await.unwrap();
            let mut news = client.notifications();
            assert_eq!(call(&client, "log").await.unwrap(), "done");
            assert!(soon(news.next()).await.is_some(), "{get:?}, seed {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_right_after_watching_arrives() {
    for get in ANSWERED {
        for seed in 0..RUNS {
            let server = Dropping::new(get, seed);
            let client = builder().connect(server.target()).await.unwrap();
            let mut watch = client.watch(["notes://1"]).await.unwrap();
            let change = soon(watch.next()).await;
            assert_eq!(change, Some(Change::Resource("notes://1".into())), "{get:?}, seed {seed}");
        }
    }
}

/// The client does not subscribe to a list: the server sends the notification unasked.
#[tokio::test(start_paused = true)]
async fn a_list_that_changes_right_after_watching_is_told() {
    for get in ANSWERED {
        for seed in 0..RUNS {
            let server = Dropping::new(get, seed);
            let client = builder().connect(server.target()).await.unwrap();
            let none: [&str; 0] = [];
            let mut watch = client.watch(none).await.unwrap();
            server.say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            assert_eq!(soon(watch.next()).await, Some(Change::Tools), "{get:?}, seed {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_to_a_hub_arrives() {
    for get in ANSWERED {
        for seed in 0..RUNS {
            let server = Dropping::new(get, seed);
            let hub = Hub::builder().client(builder()).build().unwrap();
            hub.connect("one", server.target()).await.unwrap();
            let answer = hub.call("one__ask", json!({})).await.unwrap();
            assert_eq!(answer.text().unwrap(), "Ada", "{get:?}, seed {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_after_the_stream_was_closed_arrives() {
    for (tool, answer) in QUESTIONS {
        for get in ANSWERED {
            for seed in 0..RUNS {
                let server = Dropping::new(get, seed);
                let client = builder().connect(server.target()).await.unwrap();
                for round in 0..3 {
                    let begun = Instant::now();
                    let said = call(&client, tool).await.unwrap();
                    assert_eq!(said, answer, "{get:?}, seed {seed}, round {round}");
                    assert_eq!(server.arrivals("GET").len(), 1 + round, "one GET a stream");
                    // Latencies: the GET there and back, the call, the answer. Our own pause of up to a second is cut
                    // short.
                    assert!(begun.elapsed() <= Duration::from_millis(100 + 8 * 40), "seed {seed}");
                    server.close_stream().await;
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_make_the_server_speak_does_not_wait() {
    let server = Dropping::new(Get::Never, 1);
    let client = builder().connect(server.target()).await.unwrap();
    let begun = Instant::now();
    client.ping().await.unwrap();
    client.tools().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_comes_is_waited_for_a_second_and_once() {
    for seed in 0..RUNS {
        let server = Dropping::new(Get::Never, seed);
        let client = builder().connect(server.target()).await.unwrap();
        let begun = Instant::now();
        let (one, two) = tokio::join!(call(&client, "plain"), async {
            sleep(Duration::from_millis(500)).await;
            call(&client, "plain").await
        });
        assert_eq!((one.unwrap(), two.unwrap()), ("done".to_owned(), "done".to_owned()));
        for arrived in server.arrivals("tools/call") {
            let waited = arrived - begun;
            assert!(waited >= MAX_GATED, "{waited:?}, seed {seed}");
            assert!(waited <= MAX_GATED + Duration::from_millis(41), "{waited:?}, seed {seed}");
        }
        let begun = Instant::now();
        call(&client, "plain").await.unwrap();
        assert!(begun.elapsed() <= Duration::from_millis(82), "it is not waited for again: seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_refused_is_not_waited_for() {
    for status in [405, 404, 400, 500, 503] {
        for seed in 0..RUNS {
            let server = Dropping::new(Get::Refused(StatusCode::from_u16(status).unwrap()), seed);
            let client = builder().connect(server.target()).await.unwrap();
            let begun = Instant::now();
            assert_eq!(call(&client, "plain").await.unwrap(), "done");
            assert!(begun.elapsed() <= Duration::from_millis(4 * 40), "{status}, seed {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_shorten_the_pause_that_the_server_wants() {
    for seed in 0..RUNS {
        let server = Dropping::greeting(Get::After(0), seed, "retry: 5000\n\n");
        let client = builder().connect(server.target()).await.unwrap();
        call(&client, "plain").await.unwrap();
        server.close_stream().await;
        let closed = Instant::now();
        assert_eq!(call(&client, "plain").await.unwrap(), "done");
        let waited = closed.elapsed();
        assert!(waited >= MAX_GATED && waited <= MAX_GATED + Duration::from_millis(82), "{waited:?}");
        assert_eq!(server.arrivals("GET").len(), 1, "seed {seed}");
        while server.arrivals("GET").len() == 1 {
            sleep(Duration::from_millis(100)).await;
        }
        let paused = server.arrivals("GET")[1] - closed;
        assert!(paused >= Duration::from_millis(4990), "{paused:?}, seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn nor_the_one_that_a_refusal_asks_for() {
    for seed in 0..RUNS {
        let mut server = Dropping::new(Get::Refused(StatusCode::SERVICE_UNAVAILABLE), seed);
        Arc::get_mut(&mut server.0).unwrap().retry_after = Some(7);
        let client = builder().connect(server.target()).await.unwrap();
        while server.arrivals("GET").is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
        while server.arrivals("GET").len() == 1 {
            assert_eq!(call(&client, "plain").await.unwrap(), "done");
            sleep(Duration::from_millis(100)).await;
        }
        let [first, second] = server.arrivals("GET")[..] else { panic!("two") };
        assert!(second - first >= Duration::from_secs(7), "{:?}, seed {seed}", second - first);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_leave_a_call_waiting_for_the_stream() {
    let server = Dropping::new(Get::Never, 1);
    let client = builder().connect(server.target()).await.unwrap();
    let clone = client.clone();
    let waiting = tokio::spawn(async move { call(&clone, "plain").await });
    sleep(Duration::from_millis(1)).await;
    let begun = Instant::now();
    client.close().await.unwrap();
    assert!(waiting.await.unwrap().is_err());
    assert!(begun.elapsed() < MAX_GATED, "{:?}", begun.elapsed());
    assert_eq!(server.arrivals("tools/call"), [], "nothing of it is sent");
}
