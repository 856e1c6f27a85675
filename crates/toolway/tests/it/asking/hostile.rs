//! What happens if the client returns a state or an answer that it was never given?
//!
//! A table of attacks on `requestState` and `inputResponses`, each through `handle_json` and over HTTP.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Admit, ConnectRequest, Extensions, Principal, PromptError, ResourceError};
use toolway::store::MemoryStore;

use super::{Door, Name, accept, again, call, greet, request, text};

const KEY: &str = "bWFrZSBtZSB3aXRoIG9wZW5zc2wsIG5vdCBzbyAhISE=";
const OTHER_KEY: &str = "6f6c64206b65797320617265206b65707420666f722061207768696c652e2e2e";

/// Asks before it says what it was given.
#[tool]
async fn show(
    #[arg(default = 0)] number: f64,
    #[arg(default = "")] word: String,
    ctx: Ctx,
) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("{name} {number} {word}"))
}

/// Has the name of a tool.
#[prompt(name = "greet")]
async fn greet_prompt(ctx: Ctx) -> Result<String, PromptError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(name)
}

#[prompt(name = "other")]
async fn other_prompt(ctx: Ctx) -> Result<String, PromptError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(name)
}

#[resource("greet://all")]
async fn greet_resource(ctx: Ctx) -> Result<String, ResourceError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(name)
}

fn named(name: &str, keys: &[&str]) -> toolway::server::ServerBuilder {
    Server::new(name, "1.0.0")
        .seal_keys(keys)
        .tools(tools![greet, show])
        .prompts(prompts![greet_prompt, other_prompt])
        .resources(resources![greet_resource])
}

fn server() -> Server {
    named("app", &[KEY]).build().unwrap()
}

fn ada() -> Value {
    json!({"Name": accept(json!({"name": "Ada"}))})
}

#[track_caller]
fn refused(reply: &Value, what: &str) {
    assert_eq!(reply["error"]["code"], -32602, "{what}: {reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("requestState"), "{what}: {reply}");
}

#[tokio::test]
async fn a_state_that_was_changed_is_refused() {
    for door in Door::both(&server()) {
        let state = door.ask(&call("greet")).await;
        let other = door.ask(&call("greet")).await;
        let (state, other) = (state.as_str().unwrap(), other.as_str().unwrap());
        let mut forged = Vec::new();
        for end in [0, 1, 11, 44, state.len() / 2, state.len() - 4, state.len() - 1] {
            forged.push(state[..end].to_owned());
        }
        forged.push(state[1..].to_owned());
        forged.push(format!("{state}A"));
        forged.push(format!("{state}="));
        forged.push(format!(" {state}"));
        forged.push(format!("{state}{state}"));
        // The first twelve letters name the key, and are the same in both. The rest is random: the thirteenth letters
        // are equal once in 64 times, and then the two halves form one of the issued states.
        for cut in [13, 20, 44, 56, state.len() / 2, state.len() - 20] {
            let spliced = format!("{}{}", &state[..cut], &other[cut..]);
            if spliced != state && spliced != other {
                forged.push(spliced);
            }
        }
        for place in (0..state.len()).step_by(7) {
            let mut bytes = state.as_bytes().to_vec();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            forged.push(String::from_utf8(bytes).unwrap());
        }
        for forged in forged {
            let reply = door.say(&again(&call("greet"), &json!(forged), ada())).await;
            refused(&reply, &forged);
        }
        let reply = door.say(&again(&call("greet"), &json!(state), ada())).await;
        assert_eq!(text(&reply), "Hello, Ada!", "what was not changed still counts");
    }
}

#[tokio::test]
async fn garbage_is_refused_whatever_its_size() {
    for door in Door::both(&server()) {
        for garbage in [
            String::new(),
            "\0".to_owned(),
            "null".to_owned(),
            "é".repeat(100),
            "A".repeat(57),
            "A".repeat(64 << 10),
            "A".repeat((64 << 10) + 1),
            "A".repeat(1 << 20),
            "%".repeat(1 << 20),
        ] {
            let length = garbage.len();
            let reply = door.say(&again(&call("greet"), &json!(garbage), ada())).await;
            refused(&reply, &format!("{length} bytes"));
            assert!(reply.to_string().len() < 300, "{length} bytes are not repeated");
        }
        for state in [json!(5), json!(true), json!([]), json!({}), json!(["x"])] {
            let reply = door.say(&again(&call("greet"), &state, ada())).await;
            assert_eq!(reply["error"]["code"], -32602, "{state}: {reply}");
        }
    }
}

#[tokio::test]
async fn a_state_counts_for_the_call_it_was_given_to_and_no_other() {
    for door in Door::both(&server()) {
        let greet = call("greet");
        let show = |arguments: Value| request("tools/call", json!({"name": "show", "arguments": arguments}));
        let prompt = request("prompts/get", json!({"name": "greet"}));
        let other_prompt = request("prompts/get", json!({"name": "other"}));
        let resource = request("resources/read", json!({"uri": "greet://all"}));
        let calls = [
            greet,
            show(json!({})),
            show(json!({"number": 1})),
            show(json!({"number": 2})),
            show(json!({"number": 1, "word": "1"})),
            prompt,
            other_prompt,
            resource,
        ];
        let mut states = Vec::new();
        for call in &calls {
            states.push(door.ask(call).await);
        }
        for (given, state) in states.iter().enumerate() {
            for (place, call) in calls.iter().enumerate() {
                let reply = door.say(&again(call, state, ada())).await;
                if given == place {
                    assert!(reply["result"].is_object(), "{call}: {reply}");
                } else {
                    refused(&reply, &format!("the state of {} at {call}", calls[given]));
                }
            }
        }
    }
}

/// Arguments are compared by value, not by spelling; `_meta` and the id differ in each request.
#[tokio::test]
async fn the_same_call_in_other_words_is_the_same_call() {
    let server = server();
    let [door, _] = Door::both(&server);
    let first = request("tools/call", json!({"name": "show", "arguments": {"number": 100, "word": "é/"}}));
    let state = door.ask(&first).await;
    let next = again(&first, &state, ada()).to_string();
    for spelling in [
        r#"{"word":"é/","number":100}"#,
        r#"{ "number" : 1e2 , "word" : "\u00e9\/" }"#,
        r#"{"number":100.0,"w\u006frd":"é/"}"#,
    ] {
        let spelled = next.replace(r#"{"number":100,"word":"é/"}"#, spelling);
        assert_ne!(spelled, next);
        let reply = server.handle_json(spelled, Extensions::new()).await.unwrap();
        assert!(reply.contains("Ada 100 é/"), "{spelling}: {reply}");
    }
    for door in Door::both(&server) {
        let mut next = again(&first, &state, ada());
        next["id"] = json!("another");
        next["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["version"] = json!("2");
        next["params"]["_meta"]["acme/trace"] = json!([1, 2]);
        assert_eq!(text(&door.say(&next).await), "Ada 100 é/");
        // Missing arguments equal empty ones.
        let state = door.ask(&request("tools/call", json!({"name": "greet"}))).await;
        assert_eq!(text(&door.say(&again(&call("greet"), &state, ada())).await), "Hello, Ada!");
    }
}

#[tokio::test]
async fn a_state_counts_for_whom_it_was_given_to() {
    let admit = |connecting: ConnectRequest| async move {
        match connecting.bearer() {
            Some(name) => Admit::as_principal(name),
            None => Admit::anyone(),
        }
    };
    let server = named("app", &[KEY]).on_connect(admit).build().unwrap();
    let service = server.http();
    let by_json = |name: Option<&str>| {
        let nobody = Extensions::new();
        Door::Json(
            server.clone(),
            match name {
                Some(name) => nobody.with(Principal::new(name)),
                None => nobody,
            },
        )
    };
    let by_http = |name: Option<&str>| {
        let headers = name.map(|name| ("authorization", format!("Bearer {name}")));
        Door::Http(service.clone(), headers.into_iter().collect())
    };
    let people = [None, Some("ann"), Some("Ann"), Some("bob"), Some("nobody"), Some("somebody")];
    for from in people {
        let states = [by_json(from).ask(&call("greet")).await, by_http(from).ask(&call("greet")).await];
        for to in people {
            for state in &states {
                // The transport does not matter: the same principal is the same caller.
                for door in [by_json(to), by_http(to)] {
                    let reply = door.say(&again(&call("greet"), state, ada())).await;
                    if from == to {
                        assert_eq!(text(&reply), "Hello, Ada!");
                    } else {
                        refused(&reply, &format!("from {from:?} to {to:?}"));
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_state_counts_where_its_key_and_the_servers_name_are() {
    let state = Door::both(&server())[0].ask(&call("greet")).await;
    let next = again(&call("greet"), &state, ada());
    for (what, server, is_taken) in [
        ("the same again", named("app", &[KEY]), true),
        ("a new key before it", named("app", &[OTHER_KEY, KEY]), true),
        ("the key is gone", named("app", &[OTHER_KEY]), false),
        ("another name", named("shop", &[KEY]), false),
        ("a key of its own", Server::new("app", "1.0.0").tools(tools![greet]), false),
    ] {
        for door in Door::both(&server.build().unwrap()) {
            let reply = door.say(&next).await;
            if is_taken {
                assert_eq!(text(&reply), "Hello, Ada!", "{what}");
            } else {
                refused(&reply, what);
            }
        }
    }
}

#[tokio::test]
async fn a_state_expires() {
    let server = named("app", &[KEY]).question_timeout(Duration::ZERO).build().unwrap();
    for door in Door::both(&server) {
        let state = door.ask(&call("greet")).await;
        // The state is valid for one second of real time; until then it is accepted.
        loop {
            let reply = door.say(&again(&call("greet"), &state, ada())).await;
            if reply.get("error").is_some() {
                refused(&reply, "late");
                assert!(reply["error"]["message"].as_str().unwrap().contains("expired"), "{reply}");
                break;
            }
            assert_eq!(text(&reply), "Hello, Ada!");
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_answer_counts_without_a_state_and_is_checked_like_any_other() {
    for door in Door::both(&server()) {
        let with = |answers: Value| {
            let mut call = call("greet");
            call["params"]["inputResponses"] = answers;
            call
        };
        assert_eq!(text(&door.say(&with(ada())).await), "Hello, Ada!");
        let reply = door.say(&with(json!({"Name": accept(json!({"name": 5}))}))).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("`name`"), "{reply}");
        // Answers to questions that were never asked are ignored.
        for unknown in [json!({}), json!({"name": accept(json!({"name": "Eve"}))}), json!({"": null})] {
            let reply = door.say(&with(unknown)).await;
            assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
        }
    }
}

#[tokio::test]
async fn answers_must_be_an_object() {
    for door in Door::both(&server()) {
        let state = door.ask(&call("greet")).await;
        for wrong in [json!([]), json!([ada()]), json!(5), json!("Ada"), json!(true)] {
            let reply = door.say(&again(&call("greet"), &state, wrong.clone())).await;
            assert_eq!(reply["error"]["code"], -32602, "{wrong}: {reply}");
            assert!(reply["error"]["message"].as_str().unwrap().contains("inputResponses"), "{reply}");
        }
        // `null` means no answers.
        let reply = door.say(&again(&call("greet"), &state, Value::Null)).await;
        let is_refused = reply["error"]["code"] == -32602;
        assert!(is_refused || reply["result"]["resultType"] == "input_required", "{reply}");
    }
}

#[tokio::test]
async fn many_answers_and_deep_ones_do_no_harm() {
    for door in Door::both(&server()) {
        let state = door.ask(&call("greet")).await;
        let mut many = ada();
        for number in 0..20_000 {
            many[format!("unknown-{number}")] = json!({"action": "accept"});
        }
        let reply = door.say(&again(&call("greet"), &state, many)).await;
        assert_eq!(text(&reply), "Hello, Ada!");
        let nested = |depth: usize| (0..depth).fold(json!("Ada"), |inner, _| json!([inner]));
        let reply = door.say(&again(&call("greet"), &state, json!({"Name": nested(100)}))).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        let reply = door
            .say(&again(&call("greet"), &state, json!({"Name": accept(json!({"name": nested(100)}))})))
            .await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert!(reply.to_string().len() < 1000, "{reply}");
        let reply = door.say(&again(&call("greet"), &state, json!({"Name": nested(1000)}))).await;
        assert_eq!(reply["error"]["code"], -32600, "{reply}");
        // A large answer is accepted if it does not have to be remembered.
        let large = json!({"Name": accept(json!({"name": "x".repeat(40 << 10)}))});
        let reply = door.say(&again(&call("greet"), &state, large)).await;
        assert!(text(&reply).len() > 40 << 10);
    }
}

#[tokio::test]
async fn a_client_that_never_comes_back_leaves_nothing() {
    let store = Arc::new(MemoryStore::new());
    let server = named("app", &[KEY]).store(store.clone()).build().unwrap();
    let before = format!("{store:?}");
    assert!(before.contains("values: 0"), "{before}");
    for door in Door::both(&server) {
        for _ in 0..1000 {
            door.ask(&call("greet")).await;
        }
    }
    assert_eq!(format!("{store:?}"), before);
}
