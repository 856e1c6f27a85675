//! Can a request make an inspector start a program, open a file, or call another server? Valid requests are changed at
//! random; their texts name programs, files and URLs that notice when they are used.

use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::stage::{Folder, fixture_path, listen};

/// The number of requests.
const REQUESTS: usize = 10_000;

/// Xorshift is random enough for this.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit
    }

    fn one<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A valid request of each path. Those that connect to the server again are changed each time, so that it is not started
/// thousands of times.
fn valid() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("/api/enter", json!({"code": "x"}), false),
        ("/api/check", json!({"server": 0, "tool": "add", "text": "{\"a\": 1, \"b\": 2}"}), false),
        ("/api/check", json!({"server": 0, "tool": "add", "fields": [["a", "1"], ["b", "2"]]}), false),
        (
            "/api/call",
            json!({"server": 0, "kind": "tool", "name": "add", "arguments": "{}", "timeout_ms": 5}),
            false,
        ),
        (
            "/api/call",
            json!({"server": 0, "kind": "resource", "uri": "x", "template": "f://{a}", "arguments": "{\"a\":\"b\"}", "timeout_ms": 5}),
            false,
        ),
        (
            "/api/call",
            json!({"server": 0, "kind": "prompt", "name": "sights", "arguments": "{\"city\":\"x\"}", "timeout_ms": 5}),
            false,
        ),
        (
            "/api/call",
            json!({"server": 0, "kind": "complete", "name": "sights", "argument": "city", "typed": "x"}),
            false,
        ),
        ("/api/cancel", json!({"call": 1}), false),
        (
            "/api/answer",
            json!({"question": 1, "action": "accept", "fields": [["a", "b"]], "content": "{}"}),
            false,
        ),
        ("/api/both", json!({"server": 7, "tool": "add", "arguments": "{}"}), true),
        ("/api/cut", json!({"server": 7, "after_events": 1}), true),
        ("/api/restart", json!({"server": 7}), true),
        ("/api/revision", json!({"server": 7, "revision": "2025-11-25"}), true),
        ("/api/doctor", json!({"server": 7}), true),
        ("/api/log_level", json!({"server": 0, "level": "debug"}), false),
        ("/api/watch", json!({"server": 0, "uri": "x", "on": true}), false),
        ("/api/render", json!({"server": 0, "tool": "add"}), false),
        ("/api/export", json!({"call": 1, "as": "rust"}), false),
        ("/api/cassette", json!({"cassette": 1}), false),
    ]
}

/// Changes a value somewhere.
fn change(value: &mut Value, texts: &[String], random: &mut Random, keeps_server: bool) {
    match value {
        Value::Object(members) if random.below(8) > 0 => {
            let names: Vec<_> =
                members.keys().filter(|name| !keeps_server || *name != "server").cloned().collect();
            if names.is_empty() || random.below(10) == 0 {
                let name = random.one(&[
                    "command", "path", "file", "url", "env", "args", "cwd", "config", "record", "target",
                ]);
                members.insert((*name).to_owned(), random.one(texts).clone().into());
                return;
            }
            let name = random.one(&names).clone();
            if random.below(12) == 0 {
                members.remove(&name);
            } else {
                change(&mut members[&name], texts, random, false);
            }
        }
        Value::Array(items) if !items.is_empty() && random.below(8) > 0 => {
            let at = random.below(items.len());
            change(&mut items[at], texts, random, false);
        }
        other => {
            *other = match random.below(8) {
                0 => Value::Null,
                1 => json!(random.below(3)),
                2 => json!(-1.5e300),
                3 => json!([[random.one(texts)], {"a": random.one(texts)}]),
                // JSON in a text, as arguments are.
                4 => json!({"a": random.one(texts), "city": random.one(texts)}).to_string().into(),
                _ => random.one(texts).clone().into(),
            };
        }
    }
}

#[test]
fn ten_thousand_random_requests_start_nothing_open_nothing_and_call_nobody() {
    let folder = Folder::new();
    let planted = Folder::new();
    let started = folder.0.join("started");
    let script = planted.write("program", "#!/bin/sh\necho CANARY\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let secret = planted.write("secret.json", "{\"CANARY\": \"CANARY\"}\n");
    let cassette = planted.write("CANARY.jsonl", "{\"cassette\":1}\n");
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let address = listen(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let texts = [
        script.clone(),
        secret.clone(),
        cassette.clone(),
        format!("@{secret}"),
        format!("file://{secret}"),
        format!("../{secret}"),
        format!("-- {script}"),
        format!("$({script})"),
        format!("http://{address}/mcp"),
        format!("{{\"$ref\": \"http://{address}/schema\"}}"),
        "-".to_owned(),
        "@-".to_owned(),
        String::new(),
        "\u{0}\u{202e}\u{1b}[2J".to_owned(),
        "{".repeat(200),
    ];
    let fixture = fixture_path();
    let words = [
        "--",
        "sh",
        "-c",
        "echo x >> \"$0\"; exec \"$1\" serve",
        started.to_str().unwrap(),
        fixture.to_str().unwrap(),
    ];
    let inspected = Inspected::start(&words);
    inspected.ready();
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, &planted.0, WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();

    let seed = 0x9e37_79b9_7f4a_7c15;
    println!("seed {seed:#x}");
    let mut random = Random(seed);
    let valid = valid();
    let token = format!("Bearer {}", inspected.token);
    let headers = [("host", &*inspected.address), ("authorization", &*token)];
    let mut connection = inspected.connect();
    for _ in 0..REQUESTS {
        let (path, body, reconnects) = random.one(&valid);
        let mut body = body.clone();
        for _ in 0..=random.below(3) {
            change(&mut body, &texts, &mut random, *reconnects);
        }
        let mut text = body.to_string();
        if random.below(20) == 0 {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.truncate(at);
        }
        let reply = connection.send("POST", path, &headers, text.as_bytes());
        let said = String::from_utf8_lossy(&reply.body);
        assert!(reply.status < 500 || reply.status == 502, "{path} {text}: {} {said}", reply.status);
        assert!(serde_json::from_str::<Value>(&said).is_ok(), "{path} {text}: {said}");
        if reply.head.to_ascii_lowercase().contains("connection: close") {
            connection = inspected.connect();
        }
    }
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    let opened = events.next().map(|event| event.file_name().map(ToOwned::to_owned));
    assert!(matches!(opened, Err(rustix::io::Errno::AGAIN)), "opened: {opened:?}");
    assert_eq!(called.load(Ordering::SeqCst), 0, "another server was called");
    assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["state"], "ok", "it still works");
    assert!(!inspected.state().to_string().contains("\"CANARY\""));
    // Only the command of the target, and only as often as a connection was made.
    assert_eq!(std::fs::read_to_string(&started).unwrap(), "x\n");
}
