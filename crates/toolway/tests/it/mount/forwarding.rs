//! Are messages during a call forwarded, and cancellations?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use toolway::client::ClientBuilder;
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::testing::{connect, each_wire_as};
use toolway::types::{LogLevel, LogMessage, Progress};
use toolway::{Code, ProtocolVersion};

use super::{through, through_as};
use crate::ports::Port;

/// Count to three, aloud.
#[tool]
async fn count(ctx: Ctx) -> &'static str {
    for n in 1..=3 {
        ctx.progress(n, 3, format!("at {n}")).await;
    }
    "counted"
}

/// Speak to the log.
#[tool]
async fn speak(ctx: Ctx) -> &'static str {
    let log = ctx.log().with_name("throat");
    log.debug("softly", Value::Null).await;
    log.error("loudly", json!({"how": "very"})).await;
    "spoken"
}

fn speaking() -> Server {
    Server::new("speaker", "1.0.0").tools(tools![count, speak]).build().unwrap()
}

#[tokio::test]
async fn progress_passes_with_its_total_and_its_message() {
    through(&speaking(), async |caller| {
        let seen = Arc::new(Mutex::new(Vec::<Progress>::new()));
        let noted = seen.clone();
        let call = caller
            .call("count", json!({}))
            .on_progress(move |progress| noted.lock().unwrap().push(progress.clone()));
        assert_eq!(call.await.unwrap().text().unwrap(), "counted");
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let amounts: Vec<_> = seen.iter().map(|progress| progress.progress.as_f64()).collect();
        assert_eq!(amounts, [1.0, 2.0, 3.0].map(Some));
        assert!(
            seen.iter()
                .all(|progress| progress.total.as_ref().and_then(serde_json::Number::as_f64) == Some(3.0))
        );
        // The oldest revision, on either side, has no message in progress.
        for (progress, words) in seen.iter().zip(["at 1", "at 2", "at 3"]) {
            assert!(progress.message.as_deref().is_none_or(|said| said == words), "{progress:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_log_of_a_call_passes_to_its_caller_under_the_name_of_the_mount() {
    let mount = |gateway: toolway::server::ServerBuilder, upstream| gateway.mount_as("one", upstream);
    through_as(Client::builder(), &speaking(), mount, async |caller| {
        let mut news = caller.notifications();
        let mut heard = async || -> Vec<LogMessage> {
            assert_eq!(caller.call("one__speak", json!({})).await.unwrap().text().unwrap(), "spoken");
            let said = std::iter::from_fn(|| news.try_next());
            said.filter_map(|news| match news {
                Notification::LogMessage(message) => Some(message),
                _ => None,
            })
            .collect()
        };
        caller.set_log_level(LogLevel::Warning).await.unwrap();
        let messages = heard().await;
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert_eq!(messages[0].level, LogLevel::Error);
        assert_eq!(messages[0].logger.as_deref(), Some("one/throat"));
        assert_eq!(messages[0].data.decode::<Value>().unwrap()["how"], "very");
        // A caller can lower the log level, also behind a gateway.
        caller.set_log_level(LogLevel::Debug).await.unwrap();
        let levels: Vec<_> = heard().await.into_iter().map(|message| message.level).collect();
        assert_eq!(levels, [LogLevel::Debug, LogLevel::Error]);
    })
    .await;
}

/// The number of running calls, as a watch channel.
#[derive(Clone)]
struct Gauge(watch::Sender<usize>);

impl Default for Gauge {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Gauge {
    async fn is(&self, number: usize) {
        let is_there = self.0.subscribe().wait_for(|running| *running == number).await.map(drop);
        is_there.unwrap();
    }
}

struct Running(Gauge);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.send_modify(|running| *running -= 1);
    }
}

/// Never end.
#[tool]
async fn hang(gauge: State<Gauge>) {
    gauge.0.send_modify(|running| *running += 1);
    let _running = Running(gauge.0.clone().into());
    std::future::pending::<()>().await;
}

impl From<watch::Sender<usize>> for Gauge {
    fn from(sender: watch::Sender<usize>) -> Self {
        Self(sender)
    }
}

fn hanging() -> (Server, Gauge) {
    let gauge = Gauge::default();
    let server = Server::new("upstream", "1.0.0").state(gauge.clone()).tools(tools![hang]).build().unwrap();
    (server, gauge)
}

#[tokio::test]
async fn a_call_that_is_given_up_is_given_up_behind_the_gateway() {
    let (server, gauge) = hanging();
    through(&server, async |caller| {
        let call = caller.call("hang", json!({}));
        tokio::select! {
            outcome = call => panic!("{outcome:?}"),
            () = gauge.is(1) => {}
        }
        gauge.is(0).await;
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_goes_takes_its_calls_along() {
    let (server, gauge) = hanging();
    through(&server, async |caller| {
        let calling = caller.clone();
        let task = tokio::spawn(async move { calling.call("hang", json!({})).await.map(drop) });
        gauge.is(1).await;
        task.abort();
        let _ = task.await;
        drop(caller);
        gauge.is(0).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
    let (server, gauge) = hanging();
    let upstream = Client::builder().timeout(Duration::from_secs(3)).connect(&server).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount_as("slow", upstream).build().unwrap();
    let caller = connect(&gateway).await;
    let result = caller.call("slow__hang", json!({})).await.unwrap();
    assert!(result.is_error());
    let text = result.first_text().unwrap();
    assert!(text.contains("`slow`") && text.contains("in time") && text.contains("unavailable"), "{text}");
    gauge.is(0).await;

    // The gateway's own deadline applies as well.
    let upstream = Client::builder().timeout(None).connect(&server).await.unwrap();
    let gateway =
        Server::new("gateway", "1.0.0").mount(upstream).deadline(Duration::from_secs(5)).build().unwrap();
    let result = connect(&gateway).await.call("hang", json!({})).await.unwrap();
    assert!(result.first_text().unwrap().contains("5s"), "{result:?}");
    gauge.is(0).await;
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_a_call_alive() {
    /// Take a minute, and say so.
    #[tool]
    async fn plod(ctx: Ctx) -> &'static str {
        for n in 1..=30 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            ctx.progress(n, 30, "").await;
        }
        "there"
    }
    let server = Server::new("upstream", "1.0.0").tools(tools![plod]).build().unwrap();
    let patience = || Client::builder().timeout(Duration::from_secs(3));
    each_wire_as(patience(), &server, async |upstream| {
        let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
        let caller = patience().connect(&gateway).await.unwrap();
        assert_eq!(caller.call("plod", json!({})).await.unwrap().text().unwrap(), "there");
    })
    .await;
}

/// A server on a socket that can be stopped and restarted.
struct Stage {
    port: Port,
    serving: tokio::task::JoinHandle<toolway::Result<()>>,
}

impl Stage {
    async fn new(server: &Server) -> Self {
        let port = Port::hold();
        let serving = tokio::spawn(server.http().serve(port.listen()));
        Self { port, serving }
    }

    async fn client(&self, builder: ClientBuilder) -> Client {
        builder.connect_http(&self.port.url()).await.unwrap()
    }

    async fn stop(&mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }

    async fn start(&mut self, server: &Server) {
        self.serving = tokio::spawn(server.http().serve(self.port.listen()));
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_to_be_unavailable_until_it_comes_back() {
    /// The message of the day.
    #[resource("motd://today")]
    fn motd() -> &'static str {
        "be kind"
    }
    /// Greet.
    #[prompt]
    fn greet() -> &'static str {
        "Greet everybody."
    }
    let server = Server::new("upstream", "1.0.0")
        .tools(tools![count])
        .resources(resources![motd])
        .prompts(prompts![greet])
        .build()
        .unwrap();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let mut stage = Stage::new(&server).await;
        let upstream = stage.client(Client::builder().protocol(version).retries(0)).await;
        let gateway = Server::new("gateway", "1.0.0").mount_as("away", upstream).build().unwrap();
        let caller = connect(&gateway).await;
        assert_eq!(caller.tools().await.unwrap().len(), 1);
        stage.stop().await;
        // Its tools are still listed.
        assert_eq!(caller.list_tools().all().await.unwrap().len(), 1);
        let result = caller.call("away__count", json!({})).await.unwrap();
        assert!(result.is_error());
        let text = result.first_text().unwrap();
        assert!(text.contains("`away` is unavailable"), "{text}");
        assert!(!text.contains("127.0.0.1"), "where it is, is nobody's business: {text}");
        for error in [
            caller.read_resource("motd://today").await.unwrap_err(),
            caller.get_prompt("away__greet", ()).await.unwrap_err(),
        ] {
            assert_eq!(error.code(), Some(Code::INTERNAL_ERROR), "{error}");
            assert!(error.to_string().contains("unavailable"), "{error}");
        }
        stage.start(&server).await;
        assert_eq!(caller.call("away__count", json!({})).await.unwrap().text().unwrap(), "counted");
        stage.stop().await;
    }
}

#[tokio::test]
async fn what_is_said_of_two_calls_at_once_is_told_apart() {
    /// Say a word in the progress and in the log when told to.
    #[tool]
    async fn repeat(word: String, ctx: Ctx, gates: State<Gates>) -> String {
        gates.0.send(()).unwrap();
        gates.1.subscribe().wait_for(|open| *open).await.unwrap();
        ctx.progress(1, 1, word.clone()).await;
        ctx.log().error(&word, Value::Null).await;
        word
    }
    struct Gates(mpsc::UnboundedSender<()>, watch::Sender<bool>);
    let (begun, mut begins) = mpsc::unbounded_channel();
    let server = Server::new("upstream", "1.0.0")
        .state(Gates(begun, watch::Sender::new(false)))
        .tools(tools![repeat])
        .build()
        .unwrap();
    let begins = tokio::sync::Mutex::new(&mut begins);
    each_wire_as(Client::builder(), &server, async |upstream| {
        let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
        let gates = server.state::<Gates>().unwrap();
        gates.1.send_replace(false);
        let mut calls = Vec::new();
        for word in ["one", "two"] {
            let caller = connect(&gateway).await;
            caller.set_log_level(LogLevel::Debug).await.unwrap();
            let mut news = caller.notifications();
            calls.push(tokio::spawn(async move {
                let said = caller.call("repeat", json!({"word": word})).on_progress(|_| {}).await.unwrap();
                assert_eq!(said.text().unwrap(), word);
                while let Some(news) = news.try_next() {
                    match news {
                        Notification::Progress(progress) => {
                            assert!(
                                progress.message.as_deref().is_none_or(|said| said == word),
                                "{progress:?}"
                            );
                        }
                        // A log message that cannot be attributed to a call is dropped.
                        Notification::LogMessage(message) => {
                            assert_eq!(message.data.decode::<Value>().unwrap()["message"], word);
                        }
                        _ => {}
                    }
                }
            }));
            begins.lock().await.recv().await.unwrap();
        }
        gates.1.send_replace(true);
        for call in calls {
            call.await.unwrap();
        }
    })
    .await;
}
