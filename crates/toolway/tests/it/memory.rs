//! What handlers remember about their callers: which caller does it belong to, how long is it kept, and is nothing
//! lost?

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use toolway::BoxFuture;
use toolway::prelude::*;
use toolway::server::ask::MemoryError;
use toolway::server::{Admit, ConnectRequest, Extensions, Principal, ServerBuilder};
use toolway::store::{self, MemoryStore, Operation, Outcome, Secret, Step, Store, Subscription};
use toolway::testing::{ctx, each_wire};

use crate::raw_http::{Raw, whole};
use crate::sessions::{NEWEST, REVISIONS};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Calls(u32);

/// Count your calls.
#[tool]
async fn count(ctx: Ctx) -> Result<u32, ToolError> {
    let count = ctx.memory_update(|calls: &mut Calls| {
        calls.0 += 1;
        calls.0
    });
    Ok(count.await?)
}

/// Say why nothing is remembered.
#[tool]
async fn complain(ctx: Ctx) -> String {
    ctx.memory::<Calls>().await.map_or_else(|error| error.to_string(), |calls| calls.0.to_string())
}

fn server() -> ServerBuilder {
    Server::new("memory", "1.0.0").tools(tools![count, complain])
}

async fn counted(client: &Client) -> u32 {
    client.call("count", json!({})).await.unwrap().first_text().unwrap().parse().unwrap()
}

/// The principal of HTTP requests now; callers on other transports have their own.
#[derive(Clone, Default)]
struct Now(Arc<Mutex<&'static str>>);

impl Now {
    fn is(&self, name: &'static str) {
        *self.0.lock().unwrap() = name;
    }
}

#[tokio::test]
async fn what_a_handler_remembers_carries_over_to_the_next_call_of_the_same_client() {
    async fn admit(connecting: ConnectRequest, now: State<Now>, pipes: State<AtomicU32>) -> Admit {
        if connecting.is_pipe() {
            return Admit::as_principal(format!("pipe {}", pipes.fetch_add(1, Ordering::Relaxed)));
        }
        Admit::as_principal(*now.0.lock().unwrap())
    }
    let now = Now::default();
    let server = server().state(now.clone()).state(AtomicU32::new(0)).on_connect(admit).build().unwrap();
    now.is("ann");
    each_wire(&server, async |ann| {
        let first = counted(&ann).await;
        now.is("bob");
        each_wire(&server, async |bob| {
            let other = counted(&bob).await;
            now.is("ann");
            let second = counted(&ann).await;
            assert_eq!(counted(&ann).await, second + 1);
            now.is("bob");
            assert_eq!(counted(&bob).await, other + 1, "what ann did is not bob's");
        })
        .await;
        now.is("ann");
        assert_eq!(counted(&ann).await, first + 19, "nine times two calls, and this one");
    })
    .await;
}

#[tokio::test]
async fn without_a_principal_sessions_and_pipes_remember_and_single_requests_say_what_to_do() {
    each_wire(&server().build().unwrap(), async |client| {
        let result = client.call("complain", json!({})).await.unwrap();
        match result.first_text() {
            Some("0") => assert_eq!((counted(&client).await, counted(&client).await), (1, 2)),
            Some(text) => assert!(text.contains("on_connect"), "{text}"),
            None => panic!("{result:?}"),
        }
    })
    .await;
    // On the only wire where the caller is unknown.
    let service = server().build().unwrap().http();
    let raw = Raw { service, session: String::new(), version: "", headers: stateless_headers("complain") };
    let (status, reply) = whole(raw.post(&stateless("complain")).await).await;
    assert_eq!(status, StatusCode::OK);
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("`on_connect`"), "{text}");
}

fn stateless(tool: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "_meta": meta}})
}

fn stateless_headers(tool: &str) -> Vec<(&'static str, String)> {
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)]
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec()
}

async fn counted_by(raw: &Raw) -> u64 {
    let (_, reply) = whole(raw.call(1, "count", json!({})).await).await;
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}")).parse().unwrap()
}

#[tokio::test]
async fn servers_that_share_a_store_remember_the_same_of_a_session_until_it_is_deleted() {
    let store = Arc::new(MemoryStore::new());
    let [one, two] = [(); 2].map(|()| server().store(store.clone()).build().unwrap().http());
    for version in REVISIONS {
        let here = Raw::open(&one, version).await;
        let there = Raw { service: two.clone(), ..here.clone() };
        let other = Raw::open(&two, version).await;
        assert_eq!((counted_by(&here).await, counted_by(&there).await, counted_by(&here).await), (1, 2, 3));
        assert_eq!(counted_by(&other).await, 1);
        assert!(there.delete().await.status().is_success());
        assert!(other.delete().await.status().is_success());
        // Neither the session nor its memory is left.
        assert!(format!("{store:?}").starts_with("MemoryStore { values: 0,"), "{store:?}");
    }
}

#[tokio::test]
async fn two_sessions_of_one_principal_do_not_share_and_nobody_gets_in_by_a_name() {
    async fn admit(connecting: ConnectRequest) -> Admit {
        connecting.bearer().map_or_else(Admit::anyone, Admit::as_principal)
    }
    let server = server().on_connect(admit).build().unwrap();
    let as_ann = || vec![("authorization", "Bearer ann".to_owned())];
    let service = server.http();
    let [one, two] =
        [Raw::open_with(&service, NEWEST, as_ann()).await, Raw::open_with(&service, NEWEST, as_ann()).await];
    assert_eq!((counted_by(&one).await, counted_by(&one).await, counted_by(&two).await), (1, 2, 1));
    // Names that look like keys of the store are only names.
    let mut seen = Vec::new();
    for name in ["ann", "6/memory/ann", "../ann", &format!("session/{}/ann", one.session), ""] {
        let call = stateless("count").to_string();
        let answer = server.handle_json(call, Extensions::new().with(Principal::new(name))).await.unwrap();
        seen.push(serde_json::from_str::<Value>(&answer).unwrap()["result"]["content"][0]["text"].clone());
    }
    assert_eq!(seen, ["1"; 5]);
}

#[tokio::test(start_paused = true)]
async fn it_lives_as_long_as_its_session_and_a_principals_as_long_as_was_said() {
    let server = server().memory_ttl(Duration::from_secs(60)).build().unwrap();
    let service = server.http().session_idle(Duration::from_secs(30));
    let raw = Raw::open(&service, NEWEST).await;
    assert_eq!(counted_by(&raw).await, 1);
    // The session is used all the time, but its memory is not.
    for _ in 0..10 {
        tokio::time::advance(Duration::from_secs(20)).await;
        raw.ask("ping", json!({})).await;
    }
    assert_eq!(counted_by(&raw).await, 2);

    let ask = async || {
        let extensions = Extensions::new().with(Principal::new("ann"));
        let answer = server.handle_json(stateless("count").to_string(), extensions).await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["result"]["content"][0]["text"].clone()
    };
    assert_eq!(ask().await, "1");
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(ask().await, "2");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(ask().await, "1");
}

#[tokio::test]
async fn a_value_that_was_changed_meanwhile_is_not_overwritten() {
    let ctx = ctx(&server().build().unwrap());
    let mut mine = ctx.memory_named::<String>("draft").await.unwrap();
    let mut theirs = ctx.memory_named::<String>("draft").await.unwrap();
    theirs.push_str("theirs");
    theirs.save().await.unwrap();
    // Other values do not matter.
    ctx.memory_update(|calls: &mut Calls| calls.0 = 7).await.unwrap();
    theirs.push('!');
    theirs.save().await.unwrap();
    mine.push_str("mine");
    assert!(matches!(mine.save().await, Err(MemoryError::Conflict)));
    assert_eq!(mine.update(|text| text.push_str(" and mine")).await.ok(), Some(()));
    assert_eq!(*mine, "theirs! and mine");
    assert_eq!(*ctx.memory_named::<String>("draft").await.unwrap(), "theirs! and mine");
    // A value that cannot be read as a number stays unchanged.
    assert!(matches!(ctx.memory_named::<u32>("draft").await, Err(MemoryError::Unreadable(_))));
    assert_eq!(ctx.memory::<Calls>().await.unwrap().0, 7);
}

#[tokio::test]
async fn there_is_room_for_so_much_together() {
    let ctx = ctx(&server().build().unwrap());
    for name in ["one", "two"] {
        let mut text = ctx.memory_named::<String>(name).await.unwrap();
        *text = "x".repeat(120 << 10);
        text.save().await.unwrap();
    }
    let mut third = ctx.memory_named::<String>("three").await.unwrap();
    *third = "x".repeat(20 << 10);
    let error = third.save().await.unwrap_err();
    assert!(matches!(error, MemoryError::TooLarge(bytes) if bytes > 256 << 10), "{error:?}");
    assert!(error.to_string().contains("262144"), "{error}");
    // The earlier value is still there.
    assert_eq!(ctx.memory_named::<String>("two").await.unwrap().len(), 120 << 10);
}

/// A store that is also changed by others between any two steps.
#[derive(Default)]
struct Busy {
    store: MemoryStore,
    swaps: AtomicU32,
}

impl Store for Busy {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, store::Result<Outcome>> {
        Box::pin(async move {
            let puts = step.operations.iter().any(|operation| matches!(operation, Operation::Put { .. }));
            self.swaps.fetch_add(u32::from(puts), Ordering::Relaxed);
            let outcome = self.store.run(group, step).await;
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            outcome
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, store::Result<()>> {
        self.store.publish(channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, store::Result<Box<dyn Subscription>>> {
        self.store.subscribe(channel)
    }

    fn secret(&self) -> Secret {
        self.store.secret()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_updates_at_once_lose_nothing() {
    let store = Arc::new(Busy::default());
    let servers = [(); 3].map(|()| server().store(store.clone()).build().unwrap());
    let mut updates = tokio::task::JoinSet::new();
    for server in servers.iter().cycle().take(100) {
        let server = server.clone();
        updates.spawn(async move {
            let extensions = Extensions::new().with(Principal::new("ann"));
            server.handle_json(stateless("count").to_string(), extensions).await.unwrap()
        });
    }
    let mut counts: Vec<u32> = Vec::new();
    while let Some(answer) = updates.join_next().await {
        let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
        counts.push(answer["result"]["content"][0]["text"].as_str().unwrap().parse().unwrap());
    }
    counts.sort_unstable();
    assert_eq!(counts, (1..=100).collect::<Vec<_>>());
    // Calls on one server wait for each other; so each server can be in the way of at most one call on each of the
    // others.
    let swaps = store.swaps.load(Ordering::Relaxed);
    assert!(swaps <= 300, "{swaps}");
}
