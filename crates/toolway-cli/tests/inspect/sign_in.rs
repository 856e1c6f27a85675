//! What does a user see of a server that asks to sign in?

use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::protected_server::{World, check_secrets};

fn start(world: &World) -> Inspected {
    Inspected::of(world.command(&["inspect", "--json", "--port", "0", &world.url]))
}

#[test]
fn without_a_login_the_page_shows_the_command_to_type() {
    let world = World::new();
    let inspected = start(&world);
    let error = inspected.failure();
    assert_eq!(error["code"], "auth_required", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains(&format!("toolway login {}", world.url)), "{hint}");
    assert!(!world.was_opened(), "no browser opens by itself");
    assert!(world.sent_to("/register").is_empty(), "nothing is tried");
    let doctor = inspected.post("/api/doctor", &json!({"server": 0}));
    let last = doctor["steps"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["name"], &last["status"]), (&json!("token"), &json!("failed")), "{doctor}");

    // In another terminal; then the page tries again.
    world.sign_in(&[]);
    let after = inspected.state()["event"].clone();
    inspected.post("/api/restart", &json!({"server": 0}));
    let mut events = inspected.stream(&format!("/api/events?after={after}"));
    events.until(|event| event["type"] == "catalog");
    let call = inspected.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!((&call["state"], &call["blocks"][0]["text"]), (&json!("ok"), &json!("3")), "{call}");
}

#[test]
fn tokens_of_a_login_are_used_and_never_shown() {
    let world = World::new();
    world.sign_in(&[]);
    let inspected = start(&world);
    inspected.ready();
    let call = inspected.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!(call["state"], "ok", "{call}");
    world.expire();
    assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["state"], "ok", "the token is renewed");
    assert_eq!(world.state.lock().unwrap().tokens, 2);
    let doctor = inspected.post("/api/doctor", &json!({"server": 0}));
    assert_eq!(doctor["ok"], true, "{doctor}");
    check_secrets(&inspected.cassette(0));
    check_secrets(&inspected.state().to_string());
    check_secrets(&doctor.to_string());
    check_secrets(&inspected.export(&call["id"], "curl"));
    let frames = inspected.stream("/api/frames?server=0&after=0").all_until(|frame| {
        frame["http"]["headers"]["authorization"].is_string() && frame["method"] == "tools/call"
    });
    let sent = frames.last().unwrap()["http"]["headers"]["authorization"].as_str().unwrap();
    assert!(sent.starts_with("Bearer «"), "{sent}");
    check_secrets(&Value::from(frames).to_string());
}

#[test]
fn a_token_that_the_server_refuses_is_not_replaced_by_a_login() {
    let world = World::new();
    let inspected = Inspected::of(world.command(&[
        "inspect",
        "--json",
        "--port",
        "0",
        &world.url,
        "--bearer",
        "hidden-secret-of-mine",
    ]));
    let error = inspected.failure();
    assert_eq!(error["code"], "auth_required", "{error}");
    assert!(!error.to_string().contains("toolway login"), "{error}");
    check_secrets(&inspected.state().to_string());
}
