//! Which limits apply to running calls?

use std::time::Duration;

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::Extensions;

use super::{Door, Name, accept, greet, request, text};
use crate::pipe::Talk;
use crate::raw_http::initialize;

/// Never comes back.
#[tool]
async fn stuck() -> &'static str {
    std::future::pending().await
}

/// Never comes back either, and is stopped sooner.
#[tool(deadline = Duration::from_secs(1))]
async fn brief() -> &'static str {
    std::future::pending().await
}

#[resource("stuck://here")]
async fn stuck_resource() -> &'static str {
    std::future::pending().await
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Works for two seconds before and after it asks.
#[tool]
async fn diligent(ctx: Ctx) -> Result<String, ToolError> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let Name { name } = ctx.ask("Who?").await?;
    Ok(name)
}

async fn open(server: &Server) -> Talk {
    let mut talk = Talk::start(server);
    let mut opening = initialize("2025-11-25");
    opening["params"]["capabilities"] = json!({"elicitation": {}});
    talk.send_json(opening).await;
    talk.receive().await;
    talk
}

fn call(id: i64, tool: &str) -> Value {
    let arguments = if tool == "add" { json!({"a": 2, "b": 3}) } else { json!({}) };
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn server() -> toolway::server::ServerBuilder {
    let tools = tools![stuck, brief, add, diligent, greet, patient, very_patient];
    Server::new("app", "1.0.0").tools(tools).resources(resources![stuck_resource])
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_returns_is_stopped() {
    let server = server().deadline(Duration::from_secs(3)).build().unwrap();
    let mut talk = open(&server).await;
    for (tool, limit) in [("stuck", "3s"), ("brief", "1s")] {
        let from = tokio::time::Instant::now();
        talk.send_json(call(1, tool)).await;
        let reply = talk.receive().await;
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        assert_eq!(text(&reply), format!("the call took longer than {limit} and was stopped"));
        assert_eq!(format!("{:?}", from.elapsed()), limit);
    }
    let read = json!({"uri": "stuck://here"});
    talk.send_json(json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": read})).await;
    assert_eq!(talk.receive().await["error"]["code"], -32603);
    for door in Door::both(&server) {
        let reply = door.say(&request("tools/call", json!({"name": "brief"}))).await;
        assert_eq!(text(&reply), "the call took longer than 1s and was stopped");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_gives_a_handler_more_time_up_to_a_limit() {
    let minute = Duration::from_secs(60);
    let server = server().deadline(minute).max_call_time(10 * minute).build().unwrap();
    for (name, arguments, seconds, said) in [
        // Reports every 50 seconds, as often as the number says, and is silent after that.
        ("patient", json!({"reports": 1}), 110, "the call reported no progress for 60s and was stopped"),
        ("patient", json!({"reports": 5}), 310, "the call reported no progress for 60s and was stopped"),
        ("patient", json!({"reports": 1000}), 600, "the call took longer than 600s and was stopped"),
        // The deadline of the tool is longer than the limit of the server.
        ("very_patient", json!({}), 1200, "the call took longer than 1200s and was stopped"),
    ] {
        let from = tokio::time::Instant::now();
        let params = json!({"name": name, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let reply = server.handle_json(call.to_string(), Extensions::new()).await.unwrap();
        assert_eq!(text(&serde_json::from_str(&reply).unwrap()), said);
        assert_eq!(from.elapsed().as_secs(), seconds, "{name} {arguments}");
    }
}

/// Reports progress.
#[tool]
async fn patient(ctx: Ctx, reports: u32) {
    for n in 1..=reports {
        tokio::time::sleep(Duration::from_secs(50)).await;
        ctx.progress_of(n, reports).await;
    }
    std::future::pending::<()>().await;
}

/// Takes its time.
#[tool(deadline = Duration::from_secs(1200))]
async fn very_patient() {
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_be_given_all_the_time_in_the_world() {
    let server = server().deadline(None).build().unwrap();
    let stuck = server.handle_json(call(1, "stuck").to_string(), Extensions::new());
    assert!(tokio::time::timeout(Duration::from_secs(1000 * 3600), stuck).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_answer_does_not_count() {
    let server = server().deadline(Duration::from_secs(3)).build().unwrap();
    let mut talk = open(&server).await;
    talk.send_json(call(1, "diligent")).await;
    let question = talk.receive().await;
    tokio::time::sleep(Duration::from_secs(5 * 60)).await;
    let answer = accept(json!({"name": "Ada"}));
    talk.send_json(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    assert_eq!(text(&talk.receive().await), "Ada");
}

fn is_busy(reply: &Value) -> bool {
    reply["error"]["code"] == -32603 && reply["error"]["data"]["retryAfterMs"].is_number()
}

#[tokio::test]
async fn whoever_runs_as_much_as_it_may_can_still_ping_cancel_and_answer() {
    let server = server().max_in_flight(100, 2).build().unwrap();
    let mut talk = open(&server).await;
    talk.send_json(call(1, "greet")).await;
    let question = talk.receive().await;
    talk.send_json(call(2, "stuck")).await;
    talk.send_json(call(3, "add")).await;
    let reply = talk.receive().await;
    assert!(is_busy(&reply) && reply["id"] == 3, "{reply}");
    talk.send_json(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})).await;
    assert_eq!(talk.receive().await, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    // Other connections are not affected.
    let mut other = open(&server).await;
    other.send_json(call(1, "add")).await;
    assert_eq!(text(&other.receive().await), "5");
    let answer = accept(json!({"name": "Ada"}));
    talk.send_json(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    assert_eq!(text(&talk.receive().await), "Hello, Ada!");
    talk.send_json(call(4, "greet")).await;
    assert_eq!(talk.receive().await["method"], "elicitation/create");
    talk.send_json(call(5, "add")).await;
    assert!(is_busy(&talk.receive().await));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}});
    talk.send_json(cancel).await;
    assert_eq!(talk.receive().await["method"], "notifications/cancelled");
    talk.send_json(call(6, "add")).await;
    assert_eq!(text(&talk.receive().await), "5");
}

#[tokio::test]
async fn a_server_that_runs_as_much_as_it_may_says_when_to_come_again() {
    let server = server().max_in_flight(1, 100).build().unwrap();
    let mut talk = open(&server).await;
    talk.send_json(call(1, "greet")).await;
    let question = talk.receive().await;
    for door in Door::both(&server) {
        let reply =
            door.say(&request("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 1}}))).await;
        assert!(is_busy(&reply), "{reply}");
        let reply = door.say(&request("server/discover", json!({}))).await;
        assert!(reply["result"].is_object(), "{reply}");
    }
    let mut other = open(&server).await;
    other.send_json(call(1, "add")).await;
    assert!(is_busy(&other.receive().await));
    other.send_json(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})).await;
    assert_eq!(other.receive().await["id"], "p");
    let answer = accept(json!({"name": "Ada"}));
    talk.send_json(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    assert_eq!(text(&talk.receive().await), "Hello, Ada!");
    other.send_json(call(2, "add")).await;
    assert_eq!(text(&other.receive().await), "5");
}
