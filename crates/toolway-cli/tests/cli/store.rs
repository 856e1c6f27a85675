//! Are servers with one store one server to their clients?

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::json;

use crate::stage::{Closed, Folder, Http, in_turn, run, say, toolway};

#[test]
fn a_session_of_one_demo_is_used_and_ended_at_another() {
    let Some(redis) = Redis::start(&[]) else { return };
    let (one, two) = (demo(&redis), demo(&redis));
    let opened = post(&one, "", &initialize());
    let session = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let listed = post(&two, &session, &list);
    assert!(listed.starts_with("HTTP/1.1 200 ") && listed.contains("count_words"), "{listed}");
    let ended = exchange(&two, "DELETE", &session, "");
    assert!(ended.starts_with("HTTP/1.1 2"), "{ended}");
    let unknown = post(&one, &session, &list);
    assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
}

#[test]
fn the_doctor_says_that_sessions_survive_a_change_of_the_server() {
    let Some(redis) = Redis::start(&[]) else { return };
    let servers = [demo(&redis), demo(&redis)];
    let url =
        format!("http://{}/mcp", in_turn(servers.iter().map(|server| address(server).to_owned()).collect()));
    let ran = say(&["doctor", &url]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let words = "\n✓ session  10 requests over 10 connections belong to one session";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

#[test]
fn the_doctor_does_not_take_a_store_that_is_away_for_lost_sessions() {
    let Some(redis) = Redis::start(&[]) else { return };
    let server = demo(&redis);
    drop(redis);
    let ran = say(&["doctor", &server.url]);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n✗ session  "), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("→ the server cannot use its sessions at the moment: check the store"),
        "{}",
        ran.stdout
    );
    // Calls without a session need no store.
    assert_eq!(say(&["call", &server.url, "add", "a=1", "b=2"]).stdout, "3\n");
}

#[test]
fn the_store_may_come_from_the_environment() {
    let Some(redis) = Redis::start(&["--requirepass", "s3cret"]) else { return };
    let url = format!("redis://:s3cret@127.0.0.1:{}", redis.port);
    let start = || {
        let mut command = toolway();
        command.args(["serve", "--demo", "--http", "127.0.0.1:0"]).env("TOOLWAY_STORE", &url);
        Http::start(command)
    };
    let (mut one, two) = (start(), start());
    assert!(!one.hints_until("mcpServers").contains("s3cret"));
    let opened = post(&one, "", &initialize());
    let session = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let pong = post(&two, session, &json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert!(pong.starts_with("HTTP/1.1 200 "), "{pong}");
    // Without `--http` there is nothing to share.
    let mut command = toolway();
    command.args(["serve", "--demo"]).env("TOOLWAY_STORE", "redis://127.0.0.1:1");
    let ran = run(command, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn a_redis_that_cannot_be_used_is_one_line_that_names_the_option() {
    let closed = Closed::new();
    let mut rows = vec![(
        format!("redis://user:s3cret@{}", closed.address),
        4,
        "--store: no store could be opened within 5s: ",
    )];
    let evicting = Redis::start(&["--maxmemory-policy", "allkeys-lru"]);
    let locked = Redis::start(&["--requirepass", "other"]);
    if let (Some(evicting), Some(locked)) = (&evicting, &locked) {
        let url = format!("redis://127.0.0.1:{}", evicting.port);
        rows.push((
            url,
            4,
            "--store: maxmemory-policy: it is `allkeys-lru`, and Redis would delete sessions",
        ));
        let url = format!("redis://:s3cret@127.0.0.1:{}", locked.port);
        rows.push((url, 1, "--store: user: 127.0.0.1:"));
        let url = format!("redis+cluster://127.0.0.1:{}", evicting.port);
        rows.push((url, 1, "is not part of a Redis Cluster: write redis://"));
    }
    for (url, code, words) in rows {
        let ran = say(&["serve", "--demo", "--http", "127.0.0.1:0", "--store", &url]);
        assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("toolway: --store: "), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
}

fn demo(redis: &Redis) -> Http {
    let mut command = toolway();
    command.args(["serve", "--demo", "--http", "127.0.0.1:0", "--store"]);
    command.arg(format!("redis://127.0.0.1:{}", redis.port));
    Http::start(command)
}

fn initialize() -> serde_json::Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn address(server: &Http) -> &str {
    server.url["http://".len()..].split('/').next().unwrap()
}

fn post(server: &Http, session: &str, message: &serde_json::Value) -> String {
    exchange(server, "POST", session, &message.to_string())
}

/// Sends a request and returns the whole reply, with the names of its headers in small letters.
fn exchange(server: &Http, method: &str, session: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address(server)).unwrap();
    let session = if session.is_empty() { String::new() } else { format!("mcp-session-id: {session}\r\n") };
    let length = body.len();
    write!(
        stream,
        "{method} /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{session}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// A Redis that ends with its test.
struct Redis {
    child: Child,
    port: u16,
    _folder: Folder,
}

impl Redis {
    /// Starts a server; nothing if `redis-server` is not installed.
    fn start(arguments: &[&str]) -> Option<Self> {
        if *IS_MISSING {
            return None;
        }
        for _ in 0..20 {
            // Another program may take the port first; then Redis ends, and the next attempt has another port.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let folder = Folder::new();
            let mut child = Command::new("redis-server")
                .args([
                    "--port",
                    &port.to_string(),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "no",
                ])
                .args(arguments)
                .arg("--dir")
                .arg(&folder.0)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut redis = Self { child, port, _folder: folder };
            let mut line = String::new();
            while output.read_line(&mut line).unwrap() > 0 {
                if line.contains("eady to accept connections") {
                    // Redis must not wait for a reader of its log.
                    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
                    return Some(redis);
                }
                line.clear();
            }
            redis.child.wait().unwrap();
        }
        panic!("no Redis could be started");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

static IS_MISSING: LazyLock<bool> = LazyLock::new(|| {
    let found = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return false;
    }
    let text = "redis-server was not found, so the tests of `toolway serve --store` did not run: apt-get install \
                redis-server";
    assert!(std::env::var_os("TOOLWAY_REQUIRE_REDIS").is_none(), "{text}");
    // Not `eprintln`, which is only shown for tests that fail.
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
    true
});
