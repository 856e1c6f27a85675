//! What happens when a server asks its user? The page answers, in both eras, and the clock of the call stands still.

use serde_json::{Value, json};

use crate::browser::{Inspected, is_over};
use crate::stage::{Http, fixture, fixture_path};

fn start(revision: &str) -> Inspected {
    let fixture = fixture_path();
    let inspected =
        Inspected::start(&["--protocol", revision, "--", fixture.to_str().unwrap(), "more", "serve"]);
    inspected.ready();
    inspected
}

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn begin(inspected: &Inspected, tool: &str) -> u64 {
    inspected.begin(&json!({"kind": "tool", "name": tool, "arguments": "{}"}))
}

fn answer(inspected: &Inspected, question: &Value, action: &str, more: &Value) -> Value {
    let mut request = json!({"question": question["id"], "action": action});
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    inspected.post("/api/answer", &request)
}

#[test]
fn a_form_takes_only_answers_that_fit() {
    for revision in REVISIONS {
        let inspected = start(revision);
        let mut events = inspected.events();
        let call = begin(&inspected, "book");
        let question = events.question();
        assert_eq!((&question["kind"], &question["call"]), (&json!("form"), &json!(call)), "{question}");
        assert_eq!(question["message"], "A table for the evening?");
        assert_eq!(question["revision"], revision);
        assert_eq!(inspected.state()["questions"][0]["id"], question["id"]);
        let guests = &question["fields"][0];
        assert_eq!(
            (&guests["name"], &guests["kind"], &guests["required"]),
            (&json!("guests"), &json!("integer"), &json!(true))
        );
        assert_eq!(guests["expected"], "whole number from 1 to 8");
        let wrong = json!({"question": question["id"], "action": "accept", "fields": [["guests", "9"], ["outside", "perhaps"]]});
        let (status, error) = inspected.refused("/api/answer", &wrong);
        let message = error["message"].as_str().unwrap();
        assert_eq!(status, 400);
        // The words of the command at a terminal.
        assert!(
            message.contains("Please write a whole number from 1 to 8.") && message.contains("outside"),
            "{message}"
        );
        for (fields, words) in
            [(json!([]), "A value is required"), (json!([["guests", "2"], ["x", "1"]]), "no field `x`")]
        {
            let request = json!({"question": question["id"], "action": "accept", "fields": fields});
            let (_, error) = inspected.refused("/api/answer", &request);
            assert!(error["message"].as_str().unwrap().contains(words), "{error}");
        }
        assert_eq!(
            inspected.refused("/api/answer", &json!({"question": question["id"], "action": "maybe"})).0,
            400
        );
        let sent = answer(
            &inspected,
            &question,
            "accept",
            &json!({"fields": [["guests", "2"], ["outside", "true"]]}),
        );
        let content: Value = serde_json::from_str(sent["content"].as_str().unwrap()).unwrap();
        assert_eq!(content, json!({"guests": 2, "outside": true}));
        let over = inspected.over(call);
        assert_eq!(over["blocks"][0]["text"], "booked for 2, outside", "{over}");
        assert_eq!(
            inspected.refused("/api/answer", &json!({"question": question["id"], "action": "cancel"})).0,
            404
        );
        assert_eq!(inspected.state()["questions"], json!([]));
    }
}

#[test]
fn a_user_can_decline_cancel_and_agree_to_a_page() {
    for revision in REVISIONS {
        let inspected = start(revision);
        let mut events = inspected.events();
        for (tool, action, expected) in [
            ("book", "decline", "tool_error"),
            ("book", "cancel", "tool_error"),
            ("pay", "accept", "ok"),
            ("pay", "decline", "tool_error"),
        ] {
            let call = begin(&inspected, tool);
            let question = events.question();
            if tool == "pay" {
                assert_eq!(
                    (&question["kind"], &question["url"]),
                    (&json!("url"), &json!("https://pay.example/bill/17"))
                );
            }
            answer(&inspected, &question, action, &Value::Null);
            let told = events.until(|event| event["type"] == "answered");
            assert_eq!((&told["question"], &told["how"]), (&question["id"], &json!(action)));
            let over = inspected.over(call);
            assert_eq!(over["state"], expected, "{revision} {tool} {action}: {over}");
        }
    }
}

#[test]
fn the_user_plays_the_model() {
    for revision in REVISIONS {
        let inspected = start(revision);
        let mut events = inspected.events();
        let request =
            json!({"kind": "tool", "name": "summarize", "arguments": "{\"text\":\"a long story\"}"});
        let call = inspected.begin(&request);
        let question = events.question();
        assert_eq!(
            (&question["kind"], &question["message"]),
            (&json!("sampling"), &json!("Summarize: a long story"))
        );
        assert_eq!(
            inspected.refused("/api/answer", &json!({"question": question["id"], "action": "accept"})).0,
            400
        );
        let content = json!({"model": "me", "text": "it ends well"}).to_string();
        answer(&inspected, &question, "accept", &json!({ "content": content }));
        assert_eq!(inspected.over(call)["blocks"][0]["text"], "me says it ends well");
        let call = inspected.begin(&request);
        answer(&inspected, &events.question(), "decline", &Value::Null);
        let over = inspected.over(call);
        assert!(over.to_string().contains("refused"), "{revision}: {over}");
        if revision == "2025-11-25" {
            assert_eq!(over["state"], "tool_error", "{over}");
        } else {
            // A client cannot send a refusal to be a model: it ends the call itself. The server is not at fault.
            let code = &over["error"]["code"];
            assert_eq!((&over["state"], code), (&json!("failed"), &json!("declined")), "{over}");
        }
    }
}

/// The questions of two calls, the older call first.
fn questions_of_two_calls(inspected: &Inspected) -> ([u64; 2], [Value; 2]) {
    let mut events = inspected.events();
    let book = begin(inspected, "book");
    let of_book = events.question();
    let pay = begin(inspected, "pay");
    ([book, pay], [of_book, events.question()])
}

#[test]
fn a_question_is_shown_at_its_own_call_where_the_wire_tells() {
    let mut command = fixture();
    command.args(["more", "serve", "--http", "127.0.0.1:0"]);
    let http = Http::start(command);
    let program = fixture_path();
    for words in [
        &["--protocol", "2025-11-25", &http.url][..],
        &["--protocol", "2026-07-28", &http.url],
        &["--protocol", "2026-07-28", "--", program.to_str().unwrap(), "more", "serve"],
    ] {
        let inspected = Inspected::start(words);
        inspected.ready();
        // The second question of the older call comes when a newer one runs.
        let mut events = inspected.events();
        let older = begin(&inspected, "twice");
        let first = events.question();
        let newer = begin(&inspected, "pay");
        let of_newer = events.question();
        answer(&inspected, &first, "accept", &json!({"fields": [["name", "Ann"]]}));
        let second = events.question();
        for (question, call, round) in [(&first, older, 1), (&of_newer, newer, 1), (&second, older, 2)] {
            assert_eq!(
                (&question["call"], &question["calls"], &question["round"]),
                (&json!(call), &json!([call]), &json!(round)),
                "{words:?}: {question}"
            );
        }
        answer(&inspected, &of_newer, "accept", &Value::Null);
        answer(&inspected, &second, "accept", &json!({"fields": [["place", "Bern"]]}));
        assert_eq!(inspected.over(newer)["blocks"][0]["text"], "paid");
        assert_eq!(inspected.over(older)["blocks"][0]["text"], "Ann of Bern");
    }
}

#[test]
fn a_question_that_may_be_of_several_calls_is_shown_at_none_of_them() {
    let inspected = start("2025-11-25");
    let (calls, [of_book, of_pay]) = questions_of_two_calls(&inspected);
    let [book, pay] = calls;
    // Only one call ran when the first question came.
    assert_eq!((&of_book["call"], &of_book["calls"]), (&json!(book), &json!([book])), "{of_book}");
    assert_eq!((&of_pay["call"], &of_pay["calls"]), (&Value::Null, &json!([book, pay])), "{of_pay}");
    assert_eq!(of_pay["revision"], "2025-11-25");
    // The clocks of both stand still, and neither says that it is the one that asks.
    answer(&inspected, &of_book, "accept", &json!({"fields": [["guests", "2"]]}));
    let over = inspected.over(book);
    assert_eq!(over["blocks"][0]["text"], "booked for 2, inside", "{over}");
    let paying = inspected.get(&format!("/api/call?id={pay}"));
    assert_eq!((&paying["state"], &paying["rounds"]), (&json!("running"), &json!(0)), "{paying}");
    let mut events = inspected.events();
    answer(&inspected, &of_pay, "accept", &Value::Null);
    let answered =
        events.until(|event| event["type"] == "answered" && event["question"] == of_pay["id"])["t_ms"]
            .clone();
    let over = inspected.over(pay);
    assert_eq!(over["blocks"][0]["text"], "paid", "{over}");
    let number = |value: &Value| value.as_f64().unwrap();
    let asked = number(&answered) - number(&of_pay["since_ms"]);
    assert!(number(&over["asked_ms"]) > 0.0 && number(&over["asked_ms"]) <= asked + 0.5, "{asked}: {over}");
}

#[test]
fn the_clock_of_a_call_with_two_open_questions_counts_their_time_once() {
    let inspected = start("2025-11-25");
    let mut events = inspected.events();
    let ([book, pay], [of_book, of_pay]) = questions_of_two_calls(&inspected);
    answer(&inspected, &of_pay, "accept", &Value::Null);
    inspected.over(pay);
    answer(&inspected, &of_book, "accept", &json!({"fields": [["guests", "2"]]}));
    let last = events.until(|event| is_over(event, book));
    let number = |value: &Value| value.as_f64().unwrap();
    let whole = number(&last["t_ms"]) - number(&last["call"]["began_ms"]);
    let counted = number(&last["call"]["took_ms"]) + number(&last["call"]["asked_ms"]);
    assert!(counted <= whole + 0.5, "{counted} of {whole}: {last}");
}

#[test]
fn a_question_is_withdrawn_when_its_call_ends() {
    for revision in REVISIONS {
        let inspected = start(revision);
        let mut events = inspected.events();
        let call = begin(&inspected, "book");
        let question = events.question();
        inspected.post("/api/cancel", &json!({ "call": call }));
        let told = events.until(|event| event["type"] == "answered");
        assert_eq!((&told["question"], &told["how"]), (&question["id"], &json!("withdrawn")), "{revision}");
        assert_eq!(inspected.over(call)["state"], "cancelled");
        assert_eq!(
            inspected.refused("/api/answer", &json!({"question": question["id"], "action": "cancel"})).0,
            404
        );
    }
}

#[test]
fn kept_answers_are_given_without_asking_again() {
    for revision in REVISIONS {
        let inspected = start(revision);
        let mut events = inspected.events();
        let call = begin(&inspected, "twice");
        let mut kept = Vec::new();
        for (name, value) in [("name", "Ann"), ("place", "Bern")] {
            let question = events.question();
            let sent = answer(&inspected, &question, "accept", &json!({"fields": [[name, value]]}));
            kept.push(
                json!({"message": question["message"], "action": "accept", "content": sent["content"]}),
            );
        }
        let first = inspected.over(call);
        assert_eq!(
            (&first["blocks"][0]["text"], &first["rounds"]),
            (&json!("Ann of Bern"), &json!(2)),
            "{first}"
        );
        let mut events = inspected.stream(&format!("/api/events?after={}", inspected.state()["event"]));
        let again =
            inspected.begin(&json!({"kind": "tool", "name": "twice", "arguments": "{}", "answers": kept}));
        let seen = events.all_until(|event| is_over(event, again));
        assert!(seen.iter().all(|event| event["type"] != "question"), "{seen:?}");
        let again = inspected.get(&format!("/api/call?id={again}"));
        assert_eq!((&again["result"], &again["rounds"]), (&first["result"], &json!(2)));
        // An answer that does not fit is not given.
        let wrong = json!([{"message": "Who are you?", "action": "accept", "content": "7"}]);
        let call =
            inspected.begin(&json!({"kind": "tool", "name": "twice", "arguments": "{}", "answers": wrong}));
        let mut events = inspected.events();
        let question = events.until(|event| event["type"] == "question" && event["question"]["call"] == call);
        answer(&inspected, &question["question"], "cancel", &Value::Null);
        inspected.over(call);
    }
}

#[test]
fn the_clock_of_a_call_stands_still_while_its_user_is_asked() {
    for revision in REVISIONS {
        let inspected = start(revision);
        let mut events = inspected.events();
        let call = begin(&inspected, "book");
        let question = events.question();
        // Other calls go on meanwhile; the time that they take is time of the user.
        for _ in 0..3 {
            inspected.call("add", &json!({"a": 1, "b": 2}));
        }
        answer(&inspected, &question, "accept", &json!({"fields": [["guests", "2"]]}));
        let answered = events.until(|event| event["type"] == "answered");
        let last = events.until(|event| is_over(event, call));
        let summary = &last["call"];
        let number = |value: &Value| value.as_f64().unwrap();
        // Each time is rounded to a tenth of a millisecond.
        let rounding = 0.5;
        let whole = number(&last["t_ms"]) - number(&summary["began_ms"]);
        let asked = number(&answered["t_ms"]) - number(&question["since_ms"]);
        assert!(number(&summary["asked_ms"]) > 0.0, "{revision}: {summary}");
        // The clock stops after the question was numbered, and goes on before its end is told.
        assert!(number(&summary["asked_ms"]) <= asked + rounding, "{revision}: {summary}");
        assert!(
            number(&summary["took_ms"]) + number(&summary["asked_ms"]) <= whole + rounding,
            "{revision}: {summary}"
        );
    }
}
