//! Several messages in one line: which revisions allow that, and what is the answer?

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::Extensions;

use crate::pipe::{Gate, Talk, quick, wait};

/// The only revision that has batches.
const WITH_BATCHES: &str = "2025-03-26";

/// Tells how far it is, waits, and tells again.
#[tool]
async fn speak(ctx: Ctx, gate: State<Gate>) -> &'static str {
    ctx.progress(1, 2, "").await;
    gate.open.acquire().await.unwrap().forget();
    ctx.progress(2, 2, "").await;
    "spoken"
}

/// Says a lot.
#[tool]
fn long() -> String {
    "x".repeat(600 << 10)
}

fn server() -> (Server, State<Gate>) {
    let server = Server::new("batches", "1.0.0")
        .state(Gate::closed())
        .tools(tools![wait, quick, speak, long])
        .build()
        .unwrap();
    let gate = server.state::<Gate>().unwrap();
    (server, gate)
}

/// Opens a conversation with a handshake.
async fn open(server: &Server, version: &str) -> Talk {
    let mut talk = Talk::start(server);
    talk.send_json(initialize(0, version)).await;
    assert_eq!(talk.receive().await["result"]["protocolVersion"], version);
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    talk
}

fn initialize(id: u8, version: &str) -> Value {
    let info = json!({"name": "c", "version": "1"});
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": info}})
}

fn ping(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "ping"})
}

fn pong(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": {}})
}

fn call(id: impl Into<Value>, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool}})
}

fn cancel(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into()}})
}

/// Returns the id of each answer in an array, with the text of a tool, the code of an error, or null.
fn said(answers: &Value) -> Vec<(Value, Value)> {
    let tell = |answer: &Value| {
        let text = &answer["result"]["content"][0]["text"];
        let said = if text.is_null() { &answer["error"]["code"] } else { text };
        (answer["id"].clone(), said.clone())
    };
    answers.as_array().unwrap_or_else(|| panic!("no array: {answers}")).iter().map(tell).collect()
}

fn pairs<const N: usize>(expected: [(Value, Value); N]) -> Vec<(Value, Value)> {
    expected.into()
}

#[tokio::test]
async fn each_message_of_a_batch_is_answered_in_one_array() {
    let (server, gate) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    let batch = json!([
        call(1, "wait"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        7,
        {"jsonrpc": "1.0", "id": "old", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": 7},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        call("q", "quick"),
        {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
        ping(3),
    ]);
    talk.send_json(batch).await;
    gate.entered(1).await;
    talk.send_json(ping("alone")).await;
    assert_eq!(talk.receive().await, pong("alone"), "others do not wait for a batch");
    gate.open.add_permits(1);
    let answers = talk.receive().await;
    let expected = pairs([
        (json!(1), json!("through")),
        (Value::Null, json!(-32600)),
        (json!("old"), json!(-32600)),
        (json!("q"), json!("quick")),
        (json!(2), json!(-32601)),
        (json!(3), Value::Null),
    ]);
    assert_eq!(said(&answers), expected);
    assert_eq!(answers[5], pong(3));
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn other_revisions_refuse_a_batch_and_do_nothing_of_it() {
    let (server, gate) = server();
    for version in [None, Some("2024-11-05"), Some("2025-06-18"), Some("2025-11-25")] {
        let mut talk = match version {
            Some(version) => open(&server, version).await,
            None => Talk::start(&server),
        };
        // An `initialize` does not open the session for its own batch.
        talk.send_json(json!([initialize(1, WITH_BATCHES), ping(2), call(3, "wait")])).await;
        let refusal = talk.receive().await;
        assert_eq!((refusal.get("id"), &refusal["error"]["code"]), (None, &json!(-32600)), "{version:?}");
        assert!(refusal["error"]["message"].as_str().unwrap().contains(WITH_BATCHES), "{refusal}");
        assert_eq!(talk.end().await, Vec::<Value>::new(), "{version:?}");
    }
    assert_eq!(gate.entered.available_permits(), 0);
    let answer = server.handle_json(json!([ping(1)]).to_string(), Extensions::new()).await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((answer.get("id"), &answer["error"]["code"]), (None, &json!(-32600)));
}

#[tokio::test]
async fn a_batch_holds_1_to_100_messages() {
    let (server, _) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    let batch = |count: u64| (1..=count).map(ping).collect::<Value>();
    talk.send_json(batch(100)).await;
    assert_eq!(talk.receive().await, (1..=100_u64).map(pong).collect::<Value>());
    for count in [0, 101, 5_000] {
        talk.send_json(batch(count)).await;
        let refusal = talk.receive().await;
        assert_eq!((refusal.get("id"), &refusal["error"]["code"]), (None, &json!(-32600)), "{count}");
    }
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn neither_a_handshake_nor_another_era_fits_into_a_batch() {
    let (server, _) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    let envelope = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}});
    let with_meta = |mut message: Value, meta: Value| {
        message["params"]["_meta"] = meta;
        message
    };
    talk.send_json(json!([
        initialize(1, WITH_BATCHES),
        with_meta(call(2, "quick"), envelope("2026-07-28")),
        with_meta(call(3, "quick"), envelope("2099-01-01")),
        with_meta(call(4, "quick"), json!({"io.modelcontextprotocol/protocolVersion": 7})),
        with_meta(cancel(5), envelope("2026-07-28")),
        call(5, "quick"),
    ]))
    .await;
    let refused = json!(-32600);
    let expected = pairs([
        (json!(1), refused.clone()),
        (json!(2), refused.clone()),
        (json!(3), refused.clone()),
        (json!(4), refused),
        (json!(5), json!("quick")),
    ]);
    assert_eq!(said(&talk.receive().await), expected);
    // Beside a batch, the other era is served as always.
    talk.send_json(with_meta(call(2, "quick"), envelope("2026-07-28"))).await;
    assert_eq!(talk.receive().await["result"]["content"][0]["text"], "quick");
}

#[tokio::test]
async fn a_batch_without_answers_is_met_with_silence() {
    let (server, _) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    talk.send_json(json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}])).await;
    talk.send_json(json!([{"jsonrpc": "2.0", "id": 1, "result": {}}, cancel(7)])).await;
    talk.send_json(json!([{"jsonrpc": "2.0", "method": "notifications/progress", "params": []}])).await;
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_request_of_a_batch_is_cancelled_by_its_own_id() {
    let (server, gate) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    talk.send_json(call("single", "wait")).await;
    // One call is cancelled by the same batch, one from outside, and the batch cancels one that came before it.
    talk.send_json(json!([call(1, "wait"), call(2, "wait"), call(3, "wait"), cancel(1), cancel("single")]))
        .await;
    gate.dropped.notified().await;
    talk.send_json(cancel(2)).await;
    talk.send_json(ping("heard")).await;
    assert_eq!(talk.receive().await, pong("heard"));
    gate.open.add_permits(1);
    assert_eq!(said(&talk.receive().await), pairs([(json!(3), json!("through"))]));
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_batch_that_was_cancelled_altogether_has_no_answer() {
    let (server, _) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    talk.send_json(json!([call(1, "wait"), call(2, "wait"), cancel(1)])).await;
    talk.send_json(json!([cancel(2)])).await;
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_id_is_used_once_in_a_batch_and_by_what_runs() {
    let (server, gate) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    talk.send_json(call("taken", "wait")).await;
    // The first of two is done before the second is processed; an invalid message has used its id, too.
    talk.send_json(json!([
        call(1, "quick"),
        call(1, "quick"),
        call("taken", "quick"),
        {"jsonrpc": "1.0", "id": 2, "method": "ping"},
        ping(2),
        ping("1"),
    ]))
    .await;
    let refused = json!(-32600);
    let expected = pairs([
        (json!(1), json!("quick")),
        (json!(1), refused.clone()),
        (json!("taken"), refused.clone()),
        (json!(2), refused.clone()),
        (json!(2), refused),
        (json!("1"), Value::Null),
    ]);
    assert_eq!(said(&talk.receive().await), expected);
    // A waiting request of a batch keeps its id in use for all lines.
    talk.send_json(json!([call(1, "wait")])).await;
    talk.send_json(call(1, "quick")).await;
    assert_eq!(talk.receive().await["error"]["code"], -32600);
    gate.open.add_permits(2);
    let mut rest = [talk.receive().await, talk.receive().await];
    rest.sort_by_key(Value::is_array);
    assert_eq!(rest[0]["id"], "taken");
    assert_eq!(said(&rest[1]), pairs([(json!(1), json!("through"))]));
}

#[tokio::test]
async fn what_handlers_say_goes_out_at_once_and_before_the_array() {
    let (server, gate) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    let mut speaking = call(1, "speak");
    speaking["params"]["_meta"] = json!({"progressToken": "t"});
    talk.send_json(json!([speaking, ping(2)])).await;
    let progress = talk.receive().await;
    assert_eq!(
        (&progress["method"], &progress["params"]["progress"]),
        (&json!("notifications/progress"), &json!(1))
    );
    gate.open.add_permits(1);
    assert_eq!(talk.receive().await["params"]["progress"], 2);
    let expected = pairs([(json!(1), json!("spoken")), (json!(2), Value::Null)]);
    assert_eq!(said(&talk.receive().await), expected);
}

#[tokio::test]
async fn the_requests_of_batches_count_like_others() {
    let (server, gate) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    for batch in 0..2_u64 {
        talk.send_json((0..100).map(|index| call(batch * 100 + index, "wait")).collect()).await;
    }
    talk.send_json((200..299_u64).map(|id| call(id, "wait")).chain([ping("p")]).collect()).await;
    gate.entered(256).await;
    talk.send_json(json!([call(300, "quick")])).await;
    assert_eq!(said(&talk.receive().await), pairs([(json!(300), json!(-32603))]));
    assert_eq!(gate.entered.available_permits(), 0, "no more than 256 run");
    gate.open.add_permits(256);
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let answers = said(&talk.receive().await);
        let through = answers.iter().filter(|(_, text)| text == "through").count();
        let refused = answers.iter().filter(|(_, code)| *code == -32603).count();
        sizes.push((through, refused));
    }
    sizes.sort_unstable();
    assert_eq!(sizes, [(56, 43), (100, 0), (100, 0)]);
}

/// This test pins the number: a client that never lets a batch end must not fill our memory with the rest of its
/// answers.
#[tokio::test]
async fn answers_that_wait_for_their_batch_are_limited() {
    let (server, gate) = server();
    let mut talk = open(&server, WITH_BATCHES).await;
    talk.send_json(json!([call(1, "wait"), call(2, "long"), call(3, "long")])).await;
    talk.send_json(json!([call(4, "quick"), ping(5)])).await;
    let expected = pairs([(json!(4), json!(-32603)), (json!(5), Value::Null)]);
    assert_eq!(said(&talk.receive().await), expected);
    talk.send_json(call(6, "quick")).await;
    assert_eq!(talk.receive().await["result"]["content"][0]["text"], "quick");
    gate.open.add_permits(1);
    assert_eq!(said(&talk.receive().await).len(), 3);
    talk.send_json(json!([call(4, "quick")])).await;
    assert_eq!(said(&talk.receive().await), pairs([(json!(4), json!("quick"))]), "there is room again");
}

#[tokio::test]
async fn an_array_of_answers_is_one_line() {
    let (server, _) = server();
    let broken_up = toolway::RawJson::parse("{\n  \"type\": \"object\"\r\n}").unwrap();
    let definition = toolway::types::Tool::new("pretty", broken_up);
    server.add_tool(toolway::server::ToolEntry::new(Pretty(definition))).unwrap();
    let mut talk = open(&server, WITH_BATCHES).await;
    talk.send_json(json!([{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, ping(2)])).await;
    assert_eq!(talk.receive().await[1], pong(2));
}

/// A schema over several lines.
struct Pretty(toolway::types::Tool);

impl toolway::server::element::ToolHandler for Pretty {
    fn definition(&self) -> toolway::types::Tool {
        self.0.clone()
    }

    fn call(
        &self,
        _: toolway::server::parameter::Arguments,
        _: toolway::server::parameter::Scope,
    ) -> toolway::BoxFuture<'static, Result<toolway::types::CallToolResult, ToolError>> {
        Box::pin(async { Ok(toolway::types::CallToolResult::default()) })
    }
}
