//! Do secrets stay out of recordings and of everything that the page is told? Each place where one may be gets its own.

use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::stage::{Folder, Http, answer, fixture, fixture_path, listen, read_request};

/// Asks for everything that an inspector tells without being asked for a secret. Returns it as one text.
fn everything(inspected: &Inspected, calls: &[Value]) -> String {
    let mut told = vec![inspected.state().to_string(), inspected.cassette(0)];
    let last = inspected.state()["event"].clone();
    let events = inspected.events().all_until(|event| event["n"].as_u64() >= last.as_u64());
    told.push(Value::from(events).to_string());
    let frames = inspected.cassette(0).lines().count() as u64 - 1;
    let lines = match frames {
        0 => Vec::new(),
        _ => inspected
            .stream("/api/frames?server=0&after=0")
            .all_until(|frame| frame["n"].as_u64() >= Some(frames)),
    };
    for line in &lines {
        told.push(inspected.get(&format!("/api/frame?server=0&n={}", line["n"])).to_string());
    }
    told.push(Value::from(lines).to_string());
    told.push(inspected.get("/api/calls?server=0").to_string());
    for call in calls {
        told.push(inspected.get(&format!("/api/call?id={call}")).to_string());
        for form in ["curl", "toolway", "rust", "cassette"] {
            let (_, exported) = inspected.ask("POST", "/api/export", &json!({"call": call, "as": form}));
            told.push(exported.to_string());
        }
    }
    told.push(inspected.ask("POST", "/api/doctor", &json!({"server": 0})).1.to_string());
    told.push(inspected.ask("GET", "/api/hub", &Value::Null).1.to_string());
    told.join("\n")
}

fn check(told: &str, secrets: &[&str]) {
    for secret in secrets {
        let found = told.find(secret).map(|at| {
            let around = &told.as_bytes()[at.saturating_sub(300)..(at + 60).min(told.len())];
            String::from_utf8_lossy(around).into_owned()
        });
        assert_eq!(found, None, "{secret} is told");
    }
}

#[test]
fn secrets_of_a_program_are_nowhere() {
    let folder = Folder::new();
    let env = json!({"PLANTED_FILE": "planted-of-the-file-1"});
    let fixture = fixture_path();
    let servers =
        json!({"mcpServers": {"near": {"command": fixture, "args": ["more", "serve"], "env": env}}});
    let file = folder.write("mcp.json", &servers.to_string());
    let words = [
        "near",
        "--config",
        &file,
        "--env",
        "PLANTED_ENV=planted-of-env-2",
        "--env",
        "PLANTED_QUOTED=planted \"quoted\" 3",
        "--env",
        "PLANTED_UMLAUT=plänted-4-größer",
    ];
    let inspected = Inspected::start(&words);
    inspected.ready();
    inspected.post("/api/log_level", &json!({"server": 0, "level": "debug"}));
    let call = inspected.call("secrets", &json!({"password": "planted-password-5"}));
    assert_eq!(call["state"], "ok", "{call}");
    assert!(call["blocks"][0]["text"].as_str().unwrap().contains('«'), "{call}");
    let both = inspected.both(&json!({
        "server": 0, "tool": "secrets", "arguments": "{\"password\": \"planted-password-6\"}", "timeout_ms": 30_000,
    }));
    let mut calls = vec![call["id"].clone()];
    calls.extend(both["sides"].as_array().unwrap().iter().map(|side| side["call"].clone()));
    let told = everything(&inspected, &calls) + &both.to_string();
    check(
        &told,
        &[
            "planted-of-the-file-1",
            "planted-of-env-2",
            "quoted\\\" 3",
            "quoted\\\\\\\" 3",
            "plänted-4-größer",
            "pl\\u00e4nted-4",
            "planted-password-5",
            "planted-password-6",
        ],
    );
}

#[test]
fn secrets_of_a_connection_are_nowhere() {
    let mut command = fixture();
    command.args(["more", "serve", "--http", "127.0.0.1:0"]);
    let http = Http::start(command);
    let url = format!("{}?api_key=planted-in-query-7&mode=planted-also-8", http.url);
    let inspected = Inspected::start(&[
        &url,
        "--bearer",
        "planted-bearer-9",
        "--header",
        "X-Api-Key: planted-header-10",
        "--header",
        "Cookie: session=planted-cookie-11",
        "--header",
        "X-Client-Secret: planted-header-12",
    ]);
    inspected.ready();
    // The server repeats what it was given.
    let text = "planted-bearer-9 planted-in-query-7 planted-header-10 planted-cookie-11";
    let call = inspected.call("echo", &json!({"text": text, "password": "planted-password-13"}));
    assert_eq!(call["state"], "ok", "{call}");
    let failed = inspected
        .call("fail", &json!({"reason": "Authorization: Bearer planted-bearer-9 at planted-also-8"}));
    let both = inspected.both(&json!({
        "server": 0, "tool": "echo", "arguments": "{\"password\": \"planted-password-14\"}", "timeout_ms": 30_000,
    }));
    let mut calls = vec![call["id"].clone(), failed["id"].clone()];
    calls.extend(both["sides"].as_array().unwrap().iter().map(|side| side["call"].clone()));
    let told = everything(&inspected, &calls) + &both.to_string();
    check(
        &told,
        &[
            "planted-in-query-7",
            "planted-also-8",
            "planted-bearer-9",
            "planted-header-10",
            "planted-cookie-11",
            "planted-header-12",
            "planted-password-13",
            "planted-password-14",
        ],
    );
}

#[test]
fn secrets_of_a_connection_that_fails_are_nowhere() {
    // A server that repeats in its error what it was asked with.
    let address = listen(|mut stream| {
        read_request(&mut stream);
        let body = "planted-bearer-15 and planted-header-16 and planted-in-query-17 are not welcome";
        answer(&mut stream, "500 Internal Server Error", "content-type: text/plain\r\n", body);
    });
    let url = format!("http://user:planted-user-18@{address}/mcp?token=planted-in-query-17");
    let inspected =
        Inspected::start(&[&url, "--bearer", "planted-bearer-15", "--header", "X-Secret: planted-header-16"]);
    inspected.failure();
    let closed =
        Inspected::start(&["http://127.0.0.1:1/mcp?key=planted-query-19", "--bearer", "planted-bearer-20"]);
    closed.failure();
    let told = everything(&inspected, &[]) + &everything(&closed, &[]);
    check(
        &told,
        &[
            "planted-bearer-15",
            "planted-header-16",
            "planted-in-query-17",
            "planted-user-18",
            "planted-query-19",
            "planted-bearer-20",
        ],
    );
}
