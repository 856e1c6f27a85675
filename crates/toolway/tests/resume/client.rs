//! Our client, over sockets that are cut. The expected behaviour follows from the bytes that have reached it, not from
//! its own report.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use toolway::client::Notification;
use toolway::client::NotificationReader;
use toolway::prelude::*;
use toolway::{Error, ProtocolVersion};

use crate::proxy::{Cut, End, Proxy};
use crate::story::{
    Random, Runs, arguments, body, ends, events, is_answer, messages, offsets, story, unchunk,
};

/// The server asks clients to reconnect immediately; clients of older revisions do not get this hint and wait a second.
const RETRY: Duration = Duration::from_millis(1);

/// Selects calls, and requests that resume a stream.
fn is_call(request: &[u8]) -> bool {
    has(request, b"\"tools/call\"") || has(request, b"last-event-id: ")
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

struct Stage {
    address: SocketAddr,
    runs: Runs,
    serving: AbortHandle,
}

impl Stage {
    async fn open() -> Self {
        let runs = Runs::default();
        // All clients have the same address, and would share its share.
        let server = Server::new("story", "1.0.0")
            .state(runs.clone())
            .tools(tools![story])
            .max_in_flight(10_000, 10_000)
            .kept_budget(1 << 30, 1 << 30)
            .build()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = server.http().retry(RETRY);
        let serving = tokio::spawn(async move { service.serve(listener).await }).abort_handle();
        Self { address, runs, serving }
    }

    async fn client(&self, version: ProtocolVersion) -> (Client, Proxy) {
        let proxy = Proxy::open(self.address, is_call).await;
        let client = Client::builder().protocol(version).connect_http(&proxy.url).await.unwrap();
        assert_eq!(client.protocol_version(), version);
        (client, proxy)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Returns what the client reports of a call, in a form that does not depend on the call's id.
async fn tell(client: &Client, key: &str, is_long: bool) -> (Vec<Value>, Result<String, Error>) {
    let mut news = client.notifications();
    let outcome = client.call("story", arguments(key, true, is_long)).await;
    (heard(&mut news), outcome.map(|result| result.first_text().unwrap_or_default().to_owned()))
}

fn heard(news: &mut NotificationReader) -> Vec<Value> {
    std::iter::from_fn(|| news.try_next())
        .map(|news| match news {
            Notification::Progress(progress) => json!([progress.progress, progress.message]),
            Notification::LogMessage(message) => json!(message.data),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[derive(Default)]
struct Tally {
    resumes: AtomicUsize,
    lost: AtomicUsize,
    resets: AtomicUsize,
}

async fn cut_everywhere(version: ProtocolVersion, clients: usize, every: usize) {
    let stage = Arc::new(Stage::open().await);
    let (client, proxy) = stage.client(version).await;
    proxy.plan([]);
    let (all, end) = tell(&client, "first", true).await;
    let all = Arc::new((all, end.unwrap()));
    assert_eq!(all.0.len(), 60 + 20);
    let reply = proxy.passed().remove(0);
    let mut random = Random::new();
    let offsets = offsets(reply.len(), ends(&reply), &mut random);
    let chosen: Vec<_> = offsets.into_iter().step_by(every).collect();
    let tally = Arc::new(Tally::default());
    let mut tasks = JoinSet::new();
    for number in 0..clients {
        let mine: Vec<_> = chosen.iter().copied().skip(number).step_by(clients).collect();
        let (stage, all, tally) = (stage.clone(), all.clone(), tally.clone());
        tasks.spawn(async move {
            let (client, proxy) = stage.client(version).await;
            for offset in mine {
                let end = if (offset / 2) % 3 == 0 { End::Rst } else { End::Fin };
                cut_once(&stage, &client, &proxy, Cut { after: offset, end }, &all, &tally).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    println!(
        "{version} client: {} bytes, {} offsets ({} resets), {} resumes, {} lost before their first id",
        reply.len(),
        chosen.len(),
        tally.resets.load(Ordering::Relaxed),
        tally.resumes.load(Ordering::Relaxed),
        tally.lost.load(Ordering::Relaxed),
    );
}

async fn cut_once(
    stage: &Stage,
    client: &Client,
    proxy: &Proxy,
    cut: Cut,
    all: &(Vec<Value>, String),
    tally: &Tally,
) {
    let key = format!("{:?} {}", cut.end, cut.after);
    let about = format!("{} {key}", client.protocol_version());
    proxy.plan([cut]);
    let (heard, outcome) = tell(client, &key, true).await;
    let passed = proxy.passed();
    let Some(first) = passed.first() else { panic!("{about}: the call was not sent: {outcome:?}") };
    let came = events(&unchunk(body(first).unwrap_or_default()));
    let has_id = came.iter().any(|event| event.id.is_some());
    match outcome {
        Ok(end) => {
            assert!(has_id, "{about}: nothing to resume by");
            assert_eq!((&heard, &end), (&all.0, &all.1), "{about}");
        }
        Err(error) => {
            // A reset may discard bytes that were not read yet.
            assert!(!has_id || cut.end == End::Rst, "{about}: {error:?}");
            assert!(error.is_reply_lost(), "{about}: {error:?}");
            assert!(all.0.starts_with(&heard), "{about}");
            assert_eq!(passed.len(), 1, "{about}: nothing to ask for");
            tally.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
    assert_eq!(stage.runs.of(&key), 1, "{about}");
    tally.resumes.fetch_add(passed.len() - 1, Ordering::Relaxed);
    tally.resets.fetch_add(usize::from(cut.end == End::Rst), Ordering::Relaxed);
    if messages(came).any(|message| is_answer(&message)) {
        assert_eq!(passed.len(), 1, "{about}: the answer was there");
    }
}

#[tokio::test]
async fn calls_of_2024_11_05_go_on_wherever_they_are_cut() {
    cut_everywhere(ProtocolVersion::V2024_11_05, 160, 3).await;
}

#[tokio::test]
async fn calls_of_2025_03_26_go_on_wherever_they_are_cut() {
    cut_everywhere(ProtocolVersion::V2025_03_26, 160, 3).await;
}

#[tokio::test]
async fn calls_of_2025_06_18_go_on_wherever_they_are_cut() {
    cut_everywhere(ProtocolVersion::V2025_06_18, 160, 3).await;
}

#[tokio::test]
async fn calls_of_2025_11_25_go_on_wherever_they_are_cut() {
    cut_everywhere(ProtocolVersion::V2025_11_25, 64, 1).await;
}

#[tokio::test]
async fn a_call_goes_on_however_often_it_is_cut() {
    let stage = Stage::open().await;
    let version = ProtocolVersion::V2025_11_25;
    let (client, proxy) = stage.client(version).await;
    let mut random = Random::new();
    let (mut calls, mut resumes, mut most) = (0, 0, 0);
    // As many bytes as the head of a reply and its longest event have, so that each attempt makes progress.
    for (is_long, least, spread) in
        [(false, 700, 1), (false, 700, 300), (false, 700, 3_000), (true, 4_900, 1)]
    {
        proxy.plan([]);
        let (all, end) = tell(&client, "first", is_long).await;
        let end = end.unwrap();
        for round in 0..25 {
            let key = format!("{is_long} {least} {spread} {round}");
            proxy.plan((0..1_000).map(|number| Cut {
                after: least + random.below(spread),
                end: if number % 5 == 4 { End::Rst } else { End::Fin },
            }));
            let (heard, outcome) = tell(&client, &key, is_long).await;
            assert_eq!((&heard, outcome.unwrap()), (&all, end.clone()), "{key}");
            assert_eq!(stage.runs.of(&key), 1, "{key}");
            calls += 1;
            let asked = proxy.passed().len() - 1;
            resumes += asked;
            most = most.max(asked);
        }
    }
    assert!(most >= 20, "{most}");
    println!("{version} client: {calls} calls cut often, {resumes} resumes, at most {most} a call");
}

/// The clock is paused, so that the client's waits between attempts take no time.
#[tokio::test(start_paused = true)]
async fn a_call_that_never_gets_further_is_given_up() {
    let stage = Stage::open().await;
    let (client, proxy) = stage.client(ProtocolVersion::V2025_11_25).await;
    let primer = 400;
    // After the first time, not even the head of a reply passes.
    let fruitless = (1..100).map(|number| Cut { after: number, end: End::Fin });
    proxy.plan([Cut { after: primer, end: End::Fin }].into_iter().chain(fruitless));
    let (_, outcome) = tell(&client, "never", true).await;
    let error = outcome.unwrap_err();
    assert!(error.is_reply_lost(), "{error:?}");
    assert_eq!(stage.runs.of("never"), 1);
    assert!((2..20).contains(&proxy.passed().len()));
}

/// News of a resource, as many as wanted.
#[resource("news://{number}")]
fn news(number: u32) -> String {
    number.to_string()
}

fn is_get(request: &[u8]) -> bool {
    request.starts_with(b"GET ")
}

#[tokio::test]
async fn news_come_once_however_often_their_stream_is_cut() {
    const NEWS: u32 = 60;
    let server = Server::new("news", "1.0.0").resources(resources![news]).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = server.http().retry(RETRY);
    let serving = tokio::spawn(async move { service.serve(listener).await });
    let mut random = Random::new();
    let mut streams = 0;
    for round in 0..10_u32 {
        let proxy = Proxy::open(address, is_get).await;
        // The first id passes; without one the stream cannot be resumed, and no notification was sent either.
        proxy.plan((0..1_000).map(|_| Cut { after: 600 + random.below(400), end: End::Fin }));
        let client =
            Client::builder().protocol(ProtocolVersion::V2025_11_25).connect_http(&proxy.url).await.unwrap();
        for number in 0..NEWS {
            client.subscribe(format!("news://{number}")).await.unwrap();
        }
        let mut news = client.notifications();
        let mut heard = Vec::new();
        for number in 0..NEWS {
            server.resource_updated(format!("news://{number}"));
            // Sometimes several notifications are pending, with or without a stream.
            if number % (round + 1) == round || number + 1 == NEWS {
                while heard.len() <= number as usize {
                    let Some(Notification::ResourceUpdated(updated)) = news.next().await else { panic!() };
                    heard.push(updated.uri);
                }
            }
        }
        let all: Vec<_> = (0..NEWS).map(|number| format!("news://{number}")).collect();
        assert_eq!(heard, all, "round {round}");
        assert!(news.try_next().is_none());
        streams += proxy.passed().len();
        assert!(proxy.passed().len() > 5, "round {round}: it was hardly cut");
    }
    println!("2025-11-25 client: {} news on {streams} streams", 10 * NEWS);
    serving.abort();
}
