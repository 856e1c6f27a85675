//! What happens while a question is open over HTTP?

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::store::MemoryStore;

use super::{Name, accept, greet, text};
use crate::raw_http::{Events, Raw, initialize, whole};

#[tool]
async fn think(ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.sample("Why?").await?;
    Ok(format!("because of {}", answer.model))
}

/// Asks twice, one after the other.
#[tool]
async fn twice(ctx: Ctx) -> Result<String, ToolError> {
    let one: Name = ctx.question("one", "One?").ask().await?;
    let two: Name = ctx.question("two", "Two?").ask().await?;
    Ok(format!("{} {}", one.name, two.name))
}

fn server() -> toolway::server::ServerBuilder {
    Server::new("app", "1.0.0").tools(tools![greet, think, twice])
}

fn service() -> HttpService {
    server().http().unwrap()
}

/// Opens a session whose client can be asked.
async fn open(service: &HttpService, version: &'static str) -> Raw {
    let mut raw = Raw { service: service.clone(), session: String::new(), version, headers: Vec::new() };
    let mut opening = initialize(version);
    opening["params"]["capabilities"] = json!({"elicitation": {}, "sampling": {}});
    let response = raw.post(&opening).await;
    raw.session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(raw.post(&ready).await.status(), StatusCode::ACCEPTED);
    raw
}

fn answer(question: &Value, name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": name}))})
}

async fn question(events: &mut Events) -> Value {
    let question = events.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    question
}

#[tokio::test]
async fn a_question_comes_on_the_stream_of_its_call_and_the_answer_is_accepted() {
    for version in ["2025-06-18", "2025-11-25"] {
        let raw = open(&service(), version).await;
        let mut events = Events::of(raw.call(1, "twice", json!({})).await);
        for name in ["Ada", "Bob"] {
            let question = question(&mut events).await;
            assert_eq!(raw.post(&answer(&question, name)).await.status(), StatusCode::ACCEPTED);
            // A second answer is too late, and is ignored.
            assert_eq!(raw.post(&answer(&question, "Eve")).await.status(), StatusCode::ACCEPTED);
        }
        assert_eq!(text(&events.message().await.unwrap()), "Ada Bob");
        assert_eq!(events.message().await, None);
    }
}

#[tokio::test]
async fn a_client_that_was_cut_off_after_the_question_comes_back_and_answers() {
    for version in ["2025-06-18", "2025-11-25"] {
        let raw = open(&service(), version).await;
        let mut events = Events::of(raw.call(1, "twice", json!({})).await);
        let one = question(&mut events).await;
        let last = events.last.clone().unwrap();
        drop(events);
        let mut events = raw.stream(Some(&last)).await;
        assert_eq!(raw.post(&answer(&one, "Ada")).await.status(), StatusCode::ACCEPTED);
        let two = question(&mut events).await;
        assert_ne!(two["id"], one["id"]);
        // The answer may also arrive while no stream is open.
        drop(events);
        assert_eq!(raw.post(&answer(&two, "Bob")).await.status(), StatusCode::ACCEPTED);
        let rest = raw.stream(Some(&last)).await.rest().await;
        // The messages that the client had not received before, including the second question.
        assert_eq!(rest[0]["id"], two["id"]);
        assert_eq!(text(rest.last().unwrap()), "Ada Bob");
    }
}

#[tokio::test]
async fn servers_that_share_a_store_ask_and_hear_for_each_other() {
    let store = Arc::new(MemoryStore::new());
    let (here, there) =
        (server().store(store.clone()).http().unwrap(), server().store(store.clone()).http().unwrap());
    let raw = open(&here, "2025-11-25").await;
    let other = Raw { service: there, ..raw.clone() };
    let mut events = Events::of(raw.call(1, "twice", json!({})).await);
    let one = question(&mut events).await;
    // An answer to a question that was never asked is dropped, whichever call it names.
    let forged = json!({"id": "ask-forged-0"});
    assert_eq!(other.post(&answer(&forged, "Eve")).await.status(), StatusCode::ACCEPTED);
    assert_eq!(other.post(&answer(&one, "Ada")).await.status(), StatusCode::ACCEPTED);
    let two = question(&mut events).await;
    assert_eq!(raw.post(&answer(&two, "Bob")).await.status(), StatusCode::ACCEPTED);
    assert_eq!(text(&events.message().await.unwrap()), "Ada Bob");
    assert_eq!(events.message().await, None);

    // A client that changes its connection: it receives the question and the rest of the reply on another server.
    let mut events = Events::of(raw.call(3, "twice", json!({})).await);
    let one = question(&mut events).await;
    let last = events.last.clone().unwrap();
    drop(events);
    let mut events = other.stream(Some(&last)).await;
    assert_eq!(other.post(&answer(&one, "Ada")).await.status(), StatusCode::ACCEPTED);
    let two = question(&mut events).await;
    assert_eq!(other.post(&answer(&two, "Bob")).await.status(), StatusCode::ACCEPTED);
    assert_eq!(text(&events.message().await.unwrap()), "Ada Bob");

    // An error is accepted as an answer as well.
    let mut events = Events::of(raw.call(2, "greet", json!({})).await);
    let asked = question(&mut events).await;
    let error = json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no time"}});
    assert_eq!(other.post(&error).await.status(), StatusCode::ACCEPTED);
    assert_eq!(text(&events.message().await.unwrap()), "the client answered with an error: no time");
}

#[tokio::test]
async fn nobody_answers_the_question_of_another_session() {
    for store in [None, Some(Arc::new(MemoryStore::new()))] {
        let service = match store {
            None => service(),
            Some(store) => server().store(store).http().unwrap(),
        };
        let (mine, yours) = (open(&service, "2025-11-25").await, open(&service, "2025-11-25").await);
        let mut events = Events::of(mine.call(1, "greet", json!({})).await);
        let asked = question(&mut events).await;
        assert_eq!(yours.post(&answer(&asked, "Eve")).await.status(), StatusCode::ACCEPTED);
        assert_eq!(mine.post(&answer(&asked, "Ada")).await.status(), StatusCode::ACCEPTED);
        assert_eq!(text(&events.message().await.unwrap()), "Hello, Ada!");
    }
}

#[tokio::test]
async fn the_question_of_a_cancelled_call_is_taken_back() {
    let raw = open(&service(), "2025-11-25").await;
    // More often than questions may be open at once: none of them is left.
    for id in 1..=70 {
        let mut events = Events::of(raw.call(id, "greet", json!({})).await);
        let asked = question(&mut events).await;
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        assert_eq!(raw.post(&cancel).await.status(), StatusCode::ACCEPTED);
        let taken_back = events.message().await.unwrap();
        assert_eq!(taken_back["method"], "notifications/cancelled", "{taken_back}");
        assert_eq!(taken_back["params"]["requestId"], asked["id"]);
        assert_eq!(events.message().await, None);
        assert_eq!(raw.post(&answer(&asked, "Ada")).await.status(), StatusCode::ACCEPTED);
    }
}

#[tokio::test]
async fn more_questions_than_there_is_room_for_are_told_to_come_later() {
    let raw = open(&service(), "2025-11-25").await;
    let mut streams = Vec::new();
    for id in 1..=64 {
        let mut events = Events::of(raw.call(id, "greet", json!({})).await);
        question(&mut events).await;
        streams.push(events);
    }
    let (_, reply) = whole(raw.call(100, "greet", json!({})).await).await;
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    assert!(reply["error"]["data"]["retryAfterMs"].is_number());
    // Other sessions have their own limit.
    let other = open(&raw.service, "2025-11-25").await;
    question(&mut Events::of(other.call(1, "greet", json!({})).await)).await;
}

#[tokio::test]
async fn a_session_that_runs_as_much_as_it_may_can_still_ping_cancel_and_answer() {
    let raw = open(&server().max_in_flight(100, 1).http().unwrap(), "2025-11-25").await;
    let mut events = Events::of(raw.call(1, "greet", json!({})).await);
    let asked = question(&mut events).await;
    let (status, reply) = whole(raw.call(2, "greet", json!({})).await).await;
    assert_eq!(
        (status, &reply["error"]["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!(-32603)),
        "{reply}"
    );
    assert!(reply["error"]["data"]["retryAfterMs"].is_number());
    assert_eq!(raw.post(&answer(&asked, "Ada")).await.status(), StatusCode::ACCEPTED);
    assert_eq!(text(&events.message().await.unwrap()), "Hello, Ada!");
    let mut events = Events::of(raw.call(3, "greet", json!({})).await);
    question(&mut events).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    assert_eq!(raw.post(&cancel).await.status(), StatusCode::ACCEPTED);
    assert_eq!(events.rest().await[0]["method"], "notifications/cancelled");
    question(&mut Events::of(raw.call(4, "greet", json!({})).await)).await;
}

#[tokio::test]
async fn a_client_that_takes_no_stream_hears_why_it_cannot_be_asked() {
    let raw = open(&service(), "2025-11-25").await;
    let params = json!({"name": "greet", "arguments": {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut request = raw.request(Method::POST, &body.to_string());
    request.headers_mut().insert("accept", "application/json".parse().unwrap());
    let (status, reply) = whole(raw.service.handle(request).await).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["result"]["isError"], true);
    assert!(text(&reply).contains("it does not accept a stream"), "{reply}");
}

#[tokio::test]
async fn whoever_has_no_session_hears_why_it_cannot_be_asked() {
    let service = service().sessionless();
    let raw = Raw { service, session: String::new(), version: "2025-11-25", headers: Vec::new() };
    let (_, reply) = whole(raw.call(1, "greet", json!({})).await).await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert!(text(&reply).contains("the client cannot be asked"), "{reply}");
}

#[tokio::test]
async fn an_answer_may_be_a_part_of_a_batch() {
    let raw = open(&service(), "2025-03-26").await;
    let mut events = Events::of(raw.call(1, "think", json!({})).await);
    let asked = events.message().await.unwrap();
    assert_eq!(asked["method"], "sampling/createMessage");
    let content = json!({"type": "text", "text": "so"});
    let result = json!({"role": "assistant", "content": content, "model": "gravity"});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    let (status, reply) =
        whole(raw.post(&json!([answer, {"jsonrpc": "2.0", "id": 7, "method": "ping"}])).await).await;
    assert_eq!((status, &reply[0]["id"]), (StatusCode::OK, &json!(7)), "{reply}");
    assert_eq!(text(&events.message().await.unwrap()), "because of gravity");
    // A batch of only an answer does not get an answer.
    let mut events = Events::of(raw.call(2, "think", json!({})).await);
    let asked = events.message().await.unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer["result"]});
    assert_eq!(raw.post(&json!([answer])).await.status(), StatusCode::ACCEPTED);
    assert_eq!(text(&events.message().await.unwrap()), "because of gravity");
    // The questions of calls in one batch come on its one stream.
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "think"}});
    let mut events = Events::of(raw.post(&json!([call(3), call(4)])).await);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let asked = events.message().await.unwrap();
        answers.push(json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer["result"]}));
    }
    assert_eq!(raw.post(&json!(answers)).await.status(), StatusCode::ACCEPTED);
    assert_eq!(events.message().await.unwrap().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_session_that_ends_takes_its_questions_with_it() {
    let raw = open(&service(), "2025-11-25").await;
    let mut events = Events::of(raw.call(1, "greet", json!({})).await);
    let asked = question(&mut events).await;
    assert!(raw.delete().await.status().is_success());
    while let Some(message) = events.message().await {
        assert!(message.get("result").is_none(), "{message}");
    }
    assert_eq!(raw.post(&answer(&asked, "Ada")).await.status(), StatusCode::NOT_FOUND);
}
