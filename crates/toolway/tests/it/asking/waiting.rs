//! What happens while a question is open on a pipe?

use std::time::Duration;

use serde_json::{Value, json};
use toolway::prelude::*;

use super::{Name, accept, greet, text};
use crate::pipe::Talk;
use crate::raw_http::initialize;

/// The number of questions of one session that may be open.
const MOST: i64 = 64;

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Says why there is no name.
#[tool]
async fn outcome(ctx: Ctx) -> String {
    match ctx.ask::<Name>("Who?").await {
        Ok(name) => name.name,
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

fn server() -> Server {
    Server::new("app", "1.0.0")
        .tools(tools![greet, add, outcome])
        .question_timeout(Duration::from_secs(3))
        .build()
        .unwrap()
}

async fn open(server: &Server) -> Talk {
    let mut talk = Talk::start(server);
    let mut opening = initialize("2025-11-25");
    opening["params"]["capabilities"] = json!({"elicitation": {}});
    talk.send_json(opening).await;
    talk.receive().await;
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    talk
}

fn call(id: i64, tool: &str) -> Value {
    let arguments = if tool == "add" { json!({"a": 2, "b": 3}) } else { json!({}) };
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn cancel(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

fn answer(question: &Value, name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"name": name}))})
}

/// Pings the server; the answer must be its next message.
async fn pings(talk: &mut Talk) {
    talk.send_json(json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"})).await;
    assert_eq!(talk.receive().await, json!({"jsonrpc": "2.0", "id": "ping", "result": {}}));
}

#[tokio::test]
async fn a_question_is_a_request_of_the_server_and_its_answer_goes_on_with_the_call() {
    let mut talk = open(&server()).await;
    talk.send_json(call(1, "greet")).await;
    let question = talk.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "form");
    assert_eq!(question["params"]["message"], "Who are you?");
    talk.send_json(answer(&question, "Ada")).await;
    assert_eq!(text(&talk.receive().await), "Hello, Ada!");
    // A second answer is too late.
    talk.send_json(answer(&question, "Eve")).await;
    pings(&mut talk).await;
}

#[tokio::test]
async fn a_question_belongs_to_its_call_and_answers_may_come_in_any_order() {
    let mut talk = open(&server()).await;
    let mut questions = Vec::new();
    for id in 1..=3 {
        talk.send_json(call(id, "greet")).await;
        questions.push(talk.receive().await);
    }
    for (id, question) in questions.iter().enumerate().rev() {
        talk.send_json(answer(question, &format!("number {}", id + 1))).await;
        let reply = talk.receive().await;
        assert_eq!(reply["id"], json!(id + 1));
        assert_eq!(text(&reply), format!("Hello, number {}!", id + 1));
    }
}

#[tokio::test]
async fn a_client_that_never_answers_holds_up_nobody() {
    let server = server();
    let (mut silent, mut other) = (open(&server).await, open(&server).await);
    silent.send_json(call(1, "greet")).await;
    assert_eq!(silent.receive().await["method"], "elicitation/create");
    for talk in [&mut silent, &mut other] {
        talk.send_json(call(2, "add")).await;
        assert_eq!(text(&talk.receive().await), "5");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_in_time_is_taken_back() {
    let mut talk = open(&server()).await;
    talk.send_json(call(1, "outcome")).await;
    let question = talk.receive().await;
    let taken_back = talk.receive().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert_eq!(text(&talk.receive().await), "TimedOut: no answer came within 3s");
    talk.send_json(answer(&question, "Ada")).await;
    pings(&mut talk).await;
    // Passed on, it is a failure that a model can read.
    talk.send_json(call(2, "greet")).await;
    assert_eq!(talk.receive().await["method"], "elicitation/create");
    assert_eq!(talk.receive().await["method"], "notifications/cancelled");
    let reply = talk.receive().await;
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(text(&reply), "no answer came within 3s");
}

#[tokio::test]
async fn the_question_of_a_cancelled_call_is_taken_back_and_leaves_nothing() {
    let mut talk = open(&server()).await;
    // As many as the limit allows, twice.
    for _ in 0..2 {
        let mut questions = Vec::new();
        for id in 1..=MOST {
            talk.send_json(call(id, "greet")).await;
            let question = talk.receive().await;
            assert_eq!(question["method"], "elicitation/create", "{question}");
            questions.push(question["id"].clone());
        }
        for id in 1..=MOST {
            talk.send_json(cancel(id)).await;
            let taken_back = talk.receive().await;
            assert_eq!(taken_back["method"], "notifications/cancelled");
            let place = questions.iter().position(|known| *known == taken_back["params"]["requestId"]);
            let id = questions.swap_remove(place.expect("it was asked"));
            talk.send_json(answer(&json!({"id": id}), "Ada")).await;
        }
        pings(&mut talk).await;
    }
}

#[tokio::test]
async fn more_questions_than_there_is_room_for_are_told_to_come_later() {
    let mut talk = open(&server()).await;
    let mut first = Value::Null;
    for id in 1..=MOST {
        talk.send_json(call(id, "greet")).await;
        let question = talk.receive().await;
        if id == 1 {
            first = question;
        }
    }
    talk.send_json(call(100, "greet")).await;
    let reply = talk.receive().await;
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(100), &json!(-32603)), "{reply}");
    assert!(reply["error"]["data"]["retryAfterMs"].is_number(), "{reply}");
    talk.send_json(answer(&first, "Ada")).await;
    assert_eq!(text(&talk.receive().await), "Hello, Ada!");
    talk.send_json(call(101, "greet")).await;
    assert_eq!(talk.receive().await["method"], "elicitation/create");
}

#[tokio::test]
async fn answers_to_nothing_are_ignored() {
    let mut talk = open(&server()).await;
    for id in [json!(1), json!("ask-0-0"), json!("")] {
        talk.send_json(json!({"jsonrpc": "2.0", "id": id, "result": {}})).await;
        talk.send_json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}})).await;
    }
    pings(&mut talk).await;
}

#[tokio::test]
async fn the_clients_own_words_are_repeated_in_part() {
    let mut talk = open(&server()).await;
    talk.send_json(call(1, "outcome")).await;
    let question = talk.receive().await;
    let error = json!({"code": -1, "message": "é".repeat(10_000)});
    talk.send_json(json!({"jsonrpc": "2.0", "id": question["id"], "error": error})).await;
    let reply = talk.receive().await;
    assert_eq!(text(&reply), format!("Refused: the client answered with an error: {}", "é".repeat(200)));
}
