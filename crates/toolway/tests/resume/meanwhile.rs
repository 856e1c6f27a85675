//! What else can happen to a stream while its client is disconnected? The clock is paused where a test must not hang.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{advance, sleep, timeout};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::store::MemoryStore;

use crate::proxy::{Cut, End, Proxy};
use crate::raw_http::{Events, Raw, initialize, whole};
use crate::story::{Random, Runs, arguments, story};

const NEWEST: &str = "2025-11-25";
const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", NEWEST];
/// With a paused clock, only something that never happens takes this long.
const EVER: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Lets the test decide when a step is done.
#[derive(Clone)]
struct Steps(Arc<Semaphore>);

impl Steps {
    fn go(&self, steps: usize) {
        self.0.add_permits(steps);
    }

    async fn wait(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

/// Tells of each step, when the test says so.
#[tool]
async fn walk(steps: u32, gate: State<Steps>, ctx: Ctx) -> String {
    for step in 1..=steps {
        gate.wait().await;
        ctx.progress(step, steps, "").await;
    }
    gate.wait().await;
    format!("walked {steps}")
}

/// Lets its connection go, twice.
#[tool]
async fn leave(gate: State<Steps>, ctx: Ctx) -> &'static str {
    ctx.release_stream(Duration::from_millis(1)).await;
    gate.wait().await;
    ctx.progress(1, 2, "").await;
    ctx.release_stream(Duration::from_millis(1)).await;
    gate.wait().await;
    "back again"
}

/// Says something again and again.
#[tool]
async fn chatter(every_seconds: u64, times: u32, ctx: Ctx) -> &'static str {
    for time in 1..=times {
        sleep(Duration::from_secs(every_seconds)).await;
        ctx.progress(time, times, "").await;
    }
    "enough"
}

#[resource("news://today")]
fn today() -> &'static str {
    "nothing new"
}

/// Is silent for so long.
#[tool]
async fn ponder(minutes: u64) -> &'static str {
    sleep(MINUTE * u32::try_from(minutes).unwrap()).await;
    "42"
}

fn server(store: Option<&Arc<MemoryStore>>) -> (Server, Steps, Runs) {
    let (gate, runs) = (Steps(Arc::new(Semaphore::new(0))), Runs::default());
    let builder = Server::new("meanwhile", "1.0.0")
        .state(gate.clone())
        .state(runs.clone())
        .tools(tools![walk, leave, chatter, ponder, story])
        .resources(resources![today])
        .deadline(None);
    let builder = match store {
        Some(store) => builder.store(store.clone()),
        None => builder,
    };
    (builder.build().unwrap(), gate, runs)
}

fn service() -> (HttpService, Steps) {
    let (server, gate, _) = server(None);
    (server.http(), gate)
}

fn steps(messages: &[Value]) -> Vec<u64> {
    messages.iter().filter_map(|message| message["params"]["progress"].as_u64()).collect()
}

fn answer(messages: &[Value]) -> Option<&str> {
    messages.last()?["result"]["content"][0]["text"].as_str()
}

fn number(id: &str) -> u64 {
    id.split_once('.').unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn of_two_who_come_back_at_once_one_reads_on() {
    for version in REVISIONS {
        let (service, gate) = service();
        let raw = Raw::open(&service, version).await;
        gate.go(1);
        let mut first = Events::of(raw.call(7, "walk", json!({"steps": 5})).await);
        assert!(first.message().await.is_some());
        let last = first.last.clone();
        let (one, two) = tokio::join!(raw.stream(last.as_deref()), raw.stream(last.as_deref()));
        // All three read at the same time.
        let reading = [first, one, two].map(|events| tokio::spawn(events.rest()));
        gate.go(5);
        let mut came = Vec::new();
        for reader in reading {
            came.push(reader.await.unwrap());
        }
        let ended = came.iter().filter(|came| answer(came) == Some("walked 5")).count();
        assert_eq!(ended, 1, "{version}: {came:?}");
        let all: Vec<_> = came.iter().flat_map(|came| steps(came)).collect();
        assert_eq!(all, [2, 3, 4, 5], "{version}: each came to one of them");
    }
}

#[tokio::test]
async fn a_reader_that_was_sent_away_stays_away_however_late_it_looks() {
    let (service, gate) = service();
    let raw = Raw::open(&service.kept_events(4, 1 << 20, MINUTE), NEWEST).await;
    gate.go(1);
    let mut old = Events::of(raw.call(7, "walk", json!({"steps": 40})).await);
    assert!(old.message().await.is_some());
    let mut new = raw.stream(old.last.as_deref()).await;
    for step in 2..=40 {
        gate.go(1);
        assert_eq!(steps(&[new.message().await.unwrap()]), [step]);
    }
    gate.go(1);
    assert_eq!(answer(&[new.message().await.unwrap()]), Some("walked 40"));
    assert_eq!(old.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn coming_back_often_costs_nothing_of_what_is_kept() {
    let (server, _, runs) = server(None);
    // As many events as the story has.
    let raw = Raw::open(&server.http().kept_events(80, 1 << 20, MINUTE), NEWEST).await;
    let mut events = Events::of(raw.call(7, "story", arguments("often", false, true)).await);
    events.next().await.unwrap();
    let primer = events.last.clone();
    drop(events);
    for _ in 0..200 {
        assert!(raw.stream(primer.as_deref()).await.message().await.is_some());
    }
    let rest = raw.stream(primer.as_deref()).await.rest().await;
    assert_eq!(rest.len(), 81);
    assert_eq!((steps(&rest).len(), runs.of("often")), (60, 1));
}

#[tokio::test]
async fn who_is_away_too_long_misses_the_oldest_and_never_the_answer() {
    for version in REVISIONS {
        let (service, gate) = service();
        let raw = Raw::open(&service.kept_events(5, 1 << 20, MINUTE), version).await;
        gate.go(1);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 50})).await);
        assert!(events.message().await.is_some());
        let mut last = events.last.clone().unwrap();
        drop(events);
        gate.go(50);
        let mut events = raw.stream(Some(&last)).await;
        let mut came = Vec::new();
        while let Some(event) = events.next().await {
            let id = event.id.unwrap();
            assert!(number(&id) > number(&last), "{version}: {id} after {last}");
            last = id;
            came.push(serde_json::from_slice(&event.data).unwrap());
        }
        assert_eq!(answer(&came), Some("walked 50"), "{version}");
        let steps = steps(&came);
        assert!(steps.ends_with(&[48, 49, 50]) && steps.is_sorted(), "{version}: {steps:?}");
        // There is nothing after the last event, which is not an error.
        assert!(raw.stream(Some(&last)).await.rest().await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_over_is_kept_for_so_long_and_then_it_is_a_bad_request() {
    let (service, gate) = service();
    let service = service.kept_events(100, 1 << 20, MINUTE);
    for version in REVISIONS {
        let raw = Raw::open(&service, version).await;
        gate.go(2);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 1})).await);
        assert!(events.message().await.is_some());
        let last = events.last.clone().unwrap();
        assert_eq!(answer(&events.rest().await), Some("walked 1"));
        advance(MINUTE / 2).await;
        assert_eq!(answer(&raw.stream(Some(&last)).await.rest().await), Some("walked 1"));
        advance(MINUTE * 2).await;
        let (status, error) = whole(raw.get(Some(&last)).await).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32600)), "{version}");
    }
}

#[tokio::test]
async fn a_client_learns_that_a_stream_is_not_kept_any_more() {
    let (server, _, runs) = server(None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = server.http().retry(Duration::from_millis(20)).kept_events(100, 1 << 20, Duration::ZERO);
    let serving = tokio::spawn(async move { service.serve(listener).await });
    let proxy = Proxy::open(address, |request| request.windows(10).any(|part| part == b"tools/call")).await;
    let builder = Client::builder().protocol(ProtocolVersion::V2025_11_25);
    let client = builder.connect_http(&proxy.url).await.unwrap();
    let _news = client.notifications();
    proxy.plan([Cut { after: 600, end: End::Fin }]);
    let error = client.call("story", arguments("gone", true, true)).await.unwrap_err();
    assert!(error.is_reply_lost(), "{error:?}");
    assert_eq!(runs.of("gone"), 1);
    serving.abort();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_can_be_come_back_to_however_long_it_is_silent() {
    let (service, _) = service();
    let raw = Raw::open(&service.kept_events(100, 1 << 20, MINUTE), NEWEST).await;
    let mut events = Events::of(raw.call(7, "ponder", json!({"minutes": 30})).await);
    let primer = events.next().await.unwrap();
    drop(events);
    sleep(MINUTE * 20).await;
    let rest = timeout(EVER, raw.stream(primer.id.as_deref()).await.rest()).await.unwrap();
    assert_eq!(answer(&rest), Some("42"));
}

#[tokio::test(start_paused = true)]
async fn a_session_lives_on_while_a_call_talks_whether_anybody_reads_or_not() {
    for is_read in [true, false] {
        let (service, _) = service();
        let raw = Raw::open(&service.session_idle(MINUTE), NEWEST).await;
        let mut events = Events::of(raw.call(7, "chatter", json!({"every_seconds": 5, "times": 60})).await);
        let primer = events.next().await.unwrap();
        if is_read {
            let rest = timeout(EVER, events.rest()).await.unwrap();
            assert_eq!((steps(&rest).len(), answer(&rest)), (60, Some("enough")));
        } else {
            drop(events);
            sleep(MINUTE * 4).await;
        }
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(raw.post(&ping).await.status(), StatusCode::OK, "read: {is_read}");
        let rest = timeout(EVER, raw.stream(primer.id.as_deref()).await.rest()).await.unwrap();
        assert_eq!((steps(&rest).len(), answer(&rest)), (60, Some("enough")), "read: {is_read}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_lives_on_while_there_is_news() {
    let (server, _, _) = server(None);
    let raw = Raw::open(&server.http().session_idle(MINUTE), NEWEST).await;
    let mut news = raw.stream(None).await;
    for _ in 0..60 {
        sleep(Duration::from_secs(5)).await;
        server.tools_changed();
        assert!(timeout(EVER, news.message()).await.unwrap().is_some());
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(raw.post(&ping).await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_news_outlives_all_the_calls_that_end_meanwhile() {
    let (server, _, _) = server(None);
    let service = server.http();
    for version in REVISIONS {
        let raw = Raw::open(&service, version).await;
        let mut news = raw.stream(None).await;
        server.tools_changed();
        assert!(timeout(EVER, news.message()).await.unwrap().is_some());
        for _ in 0..100 {
            let rest = Events::of(raw.call(7, "story", arguments("many", false, false)).await).rest().await;
            assert_eq!(rest.len(), 81);
        }
        server.tools_changed();
        let told = timeout(EVER, news.message()).await.unwrap();
        assert_eq!(told.unwrap()["method"], "notifications/tools/list_changed", "{version}");
        // The stream can still be resumed.
        let last = news.last.clone();
        drop(news);
        server.tools_changed();
        let mut news = raw.stream(last.as_deref()).await;
        assert!(timeout(EVER, news.message()).await.unwrap().is_some(), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn news_that_came_while_nobody_read_come_once_to_whoever_comes_back() {
    let (server, _, _) = server(None);
    let service = server.http();
    for version in REVISIONS {
        let raw = Raw::open(&service, version).await;
        let mut news = raw.stream(None).await;
        for round in 0..200 {
            server.tools_changed();
            let mut wanted = vec!["notifications/resources/list_changed"];
            if round % 2 == 0 {
                let told = timeout(EVER, news.message()).await.unwrap().unwrap();
                assert_eq!(told["method"], "notifications/tools/list_changed", "{version}");
            } else {
                wanted.push("notifications/tools/list_changed");
            }
            let last = news.last.clone();
            drop(news);
            server.resources_changed();
            news = raw.stream(last.as_deref()).await;
            let mut told = Vec::new();
            for _ in 0..wanted.len() {
                told.push(timeout(EVER, news.message()).await.unwrap().unwrap()["method"].clone());
            }
            told.sort_by_key(Value::to_string);
            assert_eq!(told, wanted, "{version}");
        }
        raw.delete().await;
        assert_eq!(news.rest().await, Vec::<Value>::new(), "{version}: nothing comes twice");
    }
}

#[tokio::test(start_paused = true)]
async fn news_are_not_lost_with_a_stream_that_another_server_has_forgotten() {
    let store = Arc::new(MemoryStore::new());
    let ((here, _, _), (there, _, _)) = (server(Some(&store)), server(Some(&store)));
    let raw = Raw::open(&here.http(), NEWEST).await;
    let other = Raw { service: there.http(), ..raw.clone() };
    let mut news = raw.stream(None).await;
    news.next().await.unwrap();
    let last = news.last.clone();
    drop(news);
    let mut news = other.stream(last.as_deref()).await;
    // The server that began the stream keeps a limited number, and does not know about readers on the other server.
    for _ in 0..100 {
        drop(Events::of(raw.call(7, "story", arguments("many", false, false)).await).rest().await);
    }
    there.tools_changed();
    let mut told = timeout(EVER, news.message()).await.unwrap();
    if told.is_none() {
        assert_eq!(other.get(last.as_deref()).await.status(), StatusCode::BAD_REQUEST);
        told = timeout(EVER, other.stream(None).await.message()).await.unwrap();
    }
    assert_eq!(told.unwrap()["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_takes_whoever_comes_back_with_it() {
    let (service, gate) = service();
    for version in REVISIONS {
        let raw = Raw::open(&service, version).await;
        gate.go(1);
        let mut events = Events::of(raw.call(7, "walk", json!({"steps": 3})).await);
        assert!(events.message().await.is_some());
        let last = events.last.clone();
        let resumed = raw.stream(last.as_deref()).await;
        let (deleted, again, rest) =
            tokio::join!(raw.delete(), raw.get(last.as_deref()), timeout(EVER, resumed.rest()));
        assert!(deleted.status().is_success());
        assert_eq!(rest.unwrap(), Vec::<Value>::new(), "{version}");
        // Before the end, or after it.
        match again.status() {
            StatusCode::OK => {
                let rest = timeout(EVER, Events::of(again).rest()).await.unwrap();
                assert_eq!(rest, Vec::<Value>::new(), "{version}");
            }
            status => assert_eq!(status, StatusCode::NOT_FOUND, "{version}"),
        }
        assert_eq!(raw.get(last.as_deref()).await.status(), StatusCode::NOT_FOUND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_let_go_can_be_come_back_to_at_once() {
    // The result is ready: after the client resumes, between the two releases, or before the client resumes at all.
    for steps_done in [0, 1, 2] {
        let (service, gate) = service();
        let raw = Raw::open(&service, NEWEST).await;
        let mut events = Events::of(raw.call(7, "leave", json!({})).await);
        let primer = events.next().await.unwrap();
        let released = events.next().await.unwrap();
        assert_eq!((released.retry, released.id), (Some(1), None));
        assert_eq!(events.next().await, None);
        gate.go(steps_done);
        // A release that was for the earlier reader does not apply to the new one.
        sleep(MINUTE).await;
        let mut events = raw.stream(primer.id.as_deref()).await;
        gate.go(2 - steps_done);
        let mut came = Vec::new();
        let mut comings = 1;
        while answer(&came).is_none() {
            match timeout(EVER, events.message()).await.unwrap() {
                Some(message) => came.push(message),
                None => {
                    comings += 1;
                    let last = events.last.clone().or(primer.id.clone());
                    events = raw.stream(last.as_deref()).await;
                }
            }
        }
        assert_eq!((steps(&came).len(), answer(&came)), (1, Some("back again")), "{steps_done}");
        assert_eq!(comings, if steps_done == 0 { 2 } else { 1 }, "{steps_done}");
    }
}

#[tokio::test]
async fn a_call_that_is_cut_at_one_server_goes_on_at_another() {
    let store = Arc::new(MemoryStore::new());
    let (here, _, first_runs) = server(Some(&store));
    let (there, _, other_runs) = server(Some(&store));
    let services = [here.http(), there.http()];
    let mut random = Random::new();
    let mut resumes = 0;
    for version in REVISIONS {
        let raw = Raw::open(&services[0], version).await;
        let at = |number: usize| Raw { service: services[number % 2].clone(), ..raw.clone() };
        for round in 0..60 {
            let key = format!("{version} {round}");
            let first = at(random.below(2));
            let mut events = Events::of(first.call(7, "story", arguments(&key, round % 2 == 0, true)).await);
            let mut came = Vec::new();
            let mut left = 1 + random.below(20);
            while let Some(message) = events.message().await {
                came.push(message);
                left -= 1;
                if left == 0 {
                    resumes += 1;
                    left = 1 + random.below(20);
                    let last = events.last.clone();
                    events = at(random.below(2)).stream(last.as_deref()).await;
                }
            }
            assert_eq!((came.len(), steps(&came)), (81, (1..=60).collect()), "{key}");
            assert!(answer(&came).is_some(), "{key}");
            assert_eq!(first_runs.of(&key) + other_runs.of(&key), 1);
        }
    }
    println!("two servers: {} calls, {resumes} resumes", 60 * REVISIONS.len());
}

#[tokio::test]
async fn how_long_to_wait_is_said_where_a_stream_begins() {
    let (service, gate) = service();
    let service = service.retry(Duration::from_millis(250));
    let nobody =
        Raw { service: service.clone(), session: String::new(), version: NEWEST, headers: Vec::new() };
    assert_eq!(nobody.post(&initialize(NEWEST)).await.status(), StatusCode::OK);
    let raw = Raw::open(&service, NEWEST).await;
    assert!(raw.ask("ping", json!({})).await["result"].is_object());
    gate.go(2);
    let walk = raw.call(7, "walk", json!({"steps": 1})).await;
    for mut events in [Events::of(walk), raw.stream(None).await] {
        assert_eq!(events.next().await.unwrap().retry, Some(250));
    }
}
