//! Which options does one call have, and what do they do?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use toolway::client::Change;
use toolway::prelude::*;
use toolway::server::{Cacheable, RequestStats, ToolEntry};
use toolway::testing::{each_session, each_wire};
use toolway::types::{CacheScope, LogLevel};
use toolway::{ErrorKind, Form, ProtocolVersion};

/// Reports when it is dropped.
struct Dropped(mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// A server with a tool that never ends, and the events of that tool.
fn endless() -> (Server, mpsc::UnboundedReceiver<&'static str>) {
    let (tell, told) = mpsc::unbounded_channel();
    let wait = ToolEntry::from_fn("wait", move || {
        let guard = Dropped(tell.clone());
        async move {
            let _ = guard.0.send("begun");
            std::future::pending::<String>().await
        }
    });
    (Server::new("endless", "1.0.0").tool(wait).build().unwrap(), told)
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_at_the_server() {
    let (server, told) = endless();
    let told = tokio::sync::Mutex::new(told);
    each_wire(&server, async |client| {
        let mut told = told.lock().await;
        let call = tokio::spawn(client.call("wait", json!({})));
        assert_eq!(told.recv().await, Some("begun"));
        call.abort();
        assert_eq!(told.recv().await, Some("dropped"));
        client.ping().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up_and_ends_at_the_server() {
    let (server, told) = endless();
    let told = tokio::sync::Mutex::new(told);
    each_wire(&server, async |client| {
        let mut told = told.lock().await;
        let mut limit = Duration::from_millis(20);
        loop {
            let error = client.call("wait", json!({})).timeout(limit).await.unwrap_err();
            assert!(error.is_timeout(), "{error:?}");
            assert_eq!(error.to_string(), format!("the server did not answer tools/call within {limit:?}"));
            // The call may time out before a busy server has read it.
            if tokio::time::timeout(10 * limit, told.recv()).await.is_ok() {
                break;
            }
            limit *= 2;
        }
        while told.recv().await != Some("dropped") {}
        client.ping().await.unwrap();
    })
    .await;
}

/// So often, twenty seconds apart.
#[tool]
async fn slowly(ctx: Ctx, steps: u32, tells: bool) -> u32 {
    for step in 1..=steps {
        tokio::time::sleep(Duration::from_secs(20)).await;
        if tells {
            ctx.progress(step, steps, format!("step {step}")).await;
        }
    }
    steps
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_time_of_a_call() {
    let server = Server::new("slow", "1.0.0").tools(tools![slowly]).build().unwrap();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let client = Client::builder().protocol(version).connect(&server).await.unwrap();
        // The default is a minute.
        let done = client.call("slowly", json!({"steps": 10, "tells": true})).await.unwrap();
        assert_eq!(done.decode::<u32>().unwrap(), 10);
        let silent = client.call("slowly", json!({"steps": 10, "tells": false}));
        assert!(silent.await.unwrap_err().is_timeout());
        let patient = client.call("slowly", json!({"steps": 10, "tells": false})).timeout(None);
        assert_eq!(patient.await.unwrap().text().unwrap(), "10");
        let impatient = Client::builder().protocol(version).timeout(Duration::from_secs(10));
        let impatient = impatient.connect(&server).await.unwrap();
        assert!(impatient.call("slowly", json!({"steps": 1, "tells": true})).await.unwrap_err().is_timeout());
    }
}

#[derive(Form)]
struct Name {
    name: String,
}

/// Greet the user who answers.
#[tool]
async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("Hello, {name}!"))
}

#[tokio::test(start_paused = true)]
async fn a_person_may_think_longer_than_a_server() {
    let server = Server::new("polite", "1.0.0").tools(tools![greet]).build().unwrap();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let client = Client::builder()
            .protocol(version)
            .on_elicit(|_| async {
                tokio::time::sleep(Duration::from_secs(5 * 60)).await;
                toolway::client::Answer::accept(json!({"name": "Ada"}))
            })
            .connect(&server)
            .await
            .unwrap();
        assert_eq!(client.call("greet", json!({})).await.unwrap().text().unwrap(), "Hello, Ada!");
    }
}

/// Tell of so much progress.
#[tool]
async fn count(ctx: Ctx, to: u32) -> &'static str {
    for step in 1..=to {
        ctx.progress(step, to, "").await;
    }
    "counted"
}

#[tokio::test]
async fn progress_goes_to_the_call_that_it_belongs_to() {
    let server = Server::new("counter", "1.0.0").tools(tools![count]).build().unwrap();
    each_wire(&server, async |client| {
        let everybody = Arc::new(AtomicUsize::new(0));
        let calls: Vec<_> = (1..=8)
            .map(|to: usize| {
                let everybody = everybody.clone();
                let hook = move |_: &_| {
                    everybody.fetch_add(1, Ordering::SeqCst);
                };
                let mut running = client.call("count", json!({"to": to})).on_progress(hook).start();
                tokio::spawn(async move {
                    let mut last = 0;
                    while let Some(progress) = running.progress().await {
                        assert_eq!(progress.total.unwrap().as_u64(), Some(to as u64));
                        last = progress.progress.as_u64().unwrap();
                    }
                    assert_eq!(last, to as u64);
                    assert_eq!(running.await.unwrap().text().unwrap(), "counted");
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(everybody.load(Ordering::SeqCst), 36);
    })
    .await;
}

#[tokio::test]
async fn callbacks_hear_everything_and_may_panic() {
    #[tool]
    async fn chat(ctx: Ctx) -> &'static str {
        ctx.progress(1, 2, "half").await;
        ctx.log().warning("careful", json!({})).await;
        "done"
    }
    let server = Server::new("chatty", "1.0.0").tools(tools![chat]).build().unwrap();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (logged, progressed) = (heard.clone(), heard.clone());
        let client = Client::builder()
            .protocol(version)
            .on_log(move |message| {
                logged.lock().unwrap().push(format!("{:?}", message.level));
                panic!("a callback's own fault");
            })
            .on_progress(move |progress| {
                progressed.lock().unwrap().push(progress.message.clone().unwrap_or_default());
                panic!("a callback's own fault");
            })
            .connect(&server)
            .await
            .unwrap();
        client.set_log_level(LogLevel::Info).await.unwrap();
        assert_eq!(client.call("chat", json!({})).await.unwrap().text().unwrap(), "done");
        assert_eq!(*heard.lock().unwrap(), ["half", "Warning"]);
    }
}

/// A server, and how often its tools were listed.
fn listed(builder: toolway::server::ServerBuilder) -> (Server, Arc<AtomicUsize>) {
    let lists = Arc::new(AtomicUsize::new(0));
    let counted = lists.clone();
    let server = builder
        .tool(ToolEntry::from_fn("first", || async { "first" }))
        .on_request_end(move |stats: RequestStats| {
            if stats.method == "tools/list" {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            std::future::ready(())
        })
        .build()
        .unwrap();
    (server, lists)
}

#[tokio::test]
async fn tools_are_listed_once_until_the_server_says_that_they_changed() {
    let (server, lists) = listed(Server::new("cached", "1.0.0"));
    each_session(&server, async |client| {
        lists.store(0, Ordering::SeqCst);
        let nothing: [&str; 0] = [];
        let mut changes = client.watch(nothing).await.unwrap();
        for _ in 0..3 {
            assert_eq!(client.tools().await.unwrap().len(), 1);
        }
        assert_eq!(lists.load(Ordering::SeqCst), 1);
        server.add_tool(ToolEntry::from_fn("second", || async { "second" })).unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(client.tools().await.unwrap().len(), 2);
        client.tools().await.unwrap();
        assert_eq!(lists.load(Ordering::SeqCst), 2);
        // An explicit request always asks the server.
        assert_eq!(client.list_tools().all().await.unwrap().len(), 2);
        assert_eq!(lists.load(Ordering::SeqCst), 3);
        server.remove_tool("second");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn tools_are_believed_for_as_long_as_the_server_says() {
    let time = Duration::from_secs(60);
    let (server, lists) =
        listed(Server::new("cached", "1.0.0").cache(Cacheable::Tools, time, CacheScope::Private));
    let client = Client::connect(&server).await.unwrap();
    assert_eq!(client.protocol_version().era(), toolway::Era::Stateless);
    client.tools().await.unwrap();
    client.tools().await.unwrap();
    assert_eq!(lists.load(Ordering::SeqCst), 1);
    tokio::time::advance(time).await;
    client.tools().await.unwrap();
    assert_eq!(lists.load(Ordering::SeqCst), 2);
    // Without a cache hint the server is asked each time.
    let (server, lists) = listed(Server::new("fresh", "1.0.0"));
    let client = Client::connect(&server).await.unwrap();
    client.tools().await.unwrap();
    client.tools().await.unwrap();
    assert_eq!(lists.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn those_who_ask_for_the_tools_together_get_one_list() {
    let (server, lists) = listed(Server::new("cached", "1.0.0"));
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let client = builder.connect(&server).await.unwrap();
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.tools().await.unwrap().len() })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.await.unwrap(), 1);
    }
    assert_eq!(lists.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn changes_are_heard_on_every_wire() {
    #[resource("note://it")]
    fn note() -> &'static str {
        "a note"
    }
    let server = Server::new("live", "1.0.0")
        .tool(ToolEntry::from_fn("first", || async { "first" }))
        .resources(resources![note])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let mut changes = client.watch(["note://it"]).await.unwrap();
        server.resource_updated("note://it");
        assert_eq!(changes.next().await, Some(Change::Resource("note://it".to_owned())));
        server.add_tool(ToolEntry::from_fn("second", || async { "second" })).unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools));
        server.remove_tool("second");
        assert_eq!(changes.next().await, Some(Change::Tools));
        // A watch does not keep the client alive.
        drop(client);
        assert_eq!(changes.next().await, None);
    })
    .await;
}

#[tokio::test]
async fn who_cannot_be_watched_says_so() {
    let server = Server::new("still", "1.0.0").build().unwrap();
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let client = builder.connect(&server).await.unwrap();
    let error = client.watch(["note://nowhere"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerRefused, "{error:?}");
}

#[tokio::test]
async fn a_tool_whose_arguments_travel_in_headers_can_be_called_without_being_listed() {
    /// Say where.
    #[tool]
    fn place(#[arg(header = "Region")] region: String, #[arg(header = "Floor")] floor: i64) -> String {
        format!("{region} {floor}")
    }
    let counted = Arc::new(AtomicUsize::new(0));
    let list = counted.clone();
    let server = Server::new("regions", "1.0.0")
        .tools(tools![place])
        .on_request_end(move |stats: RequestStats| {
            if stats.method == "tools/list" {
                list.fetch_add(1, Ordering::SeqCst);
            }
            std::future::ready(())
        })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for region in ["us-west1", "Köln", " padded "] {
            let place = client.call("place", json!({"region": region, "floor": -3})).await.unwrap();
            assert_eq!(place.text().unwrap(), format!("{region} -3"));
        }
    })
    .await;
    assert_eq!(counted.load(Ordering::SeqCst), 1, "only where arguments travel in headers, and once");
}
