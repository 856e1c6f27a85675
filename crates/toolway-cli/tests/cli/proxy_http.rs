//! What do hosts that only take URLs notice of a server that is a command?

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::host::{Host, UrlHost, call_stateless, initialize_params, request, stateless_meta};
use crate::stage::{Folder, Http, fixture_http, fixture_path, rounds, say, toolway};

/// A proxy that serves HTTP, in front of the fixture. Each process of the server adds a line with its number to a file.
struct Front {
    proxy: Http,
    pids: PathBuf,
    _folder: Folder,
}

impl Front {
    fn start(options: &[&str]) -> Self {
        Self::with_server(options, &["sh", "-c", "echo $$ >> \"$0\"; exec \"$1\" serve"], fixture_path())
    }

    /// The words of the server get the file of the numbers and `last` as further words.
    fn with_server(options: &[&str], words: &[&str], last: PathBuf) -> Self {
        let folder = Folder::new();
        let pids = folder.0.join("pids");
        let mut command = toolway();
        command.args(["proxy", "--http", "127.0.0.1:0"]).args(options).arg("--").args(words);
        command.arg(&pids).arg(last);
        Self { proxy: Http::start(command), pids, _folder: folder }
    }

    fn url(&self) -> &str {
        &self.proxy.url
    }

    fn pids(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.pids).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until a process of the server has ended.
    fn wait_for_end(pid: &str) {
        while Path::new("/proc").join(pid).exists() && !is_zombie(pid) {
            std::thread::yield_now();
        }
    }

    fn kill_server(pid: &str) {
        assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
    }

    fn interrupt(&mut self) -> Option<i32> {
        let pid = self.proxy.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.proxy.child.wait().unwrap().code()
    }
}

fn is_zombie(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn add(a: u32) -> Value {
    json!({"name": "add", "arguments": {"a": a, "b": 1}})
}

fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn each_host_with_a_handshake_has_a_server_of_its_own_in_every_revision() {
    let front = Front::start(&[]);
    let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let hosts = versions.map(|version| UrlHost::open(front.url(), version));
    // All use the same ids at the same time.
    let mut open: Vec<_> =
        (0..).zip(&hosts).map(|(a, host)| host.start(&json!(1), "tools/call", &add(a))).collect();
    for (a, response) in (0..).zip(&mut open) {
        assert_eq!(text(&response.answer(&json!(1))), (a + 1).to_string());
    }
    assert_eq!(front.pids().len(), hosts.len());
    let direct = fixture_http();
    for (host, version) in hosts.iter().zip(versions) {
        let other = UrlHost::open(&direct.url, version);
        for (method, params) in [
            ("tools/list", json!({})),
            ("resources/read", json!({"uri": "fixture://about"})),
            ("tools/call", json!({"name": "fail", "arguments": {"reason": "no"}})),
            ("no/such", json!({})),
        ] {
            let replies = [host, &other].map(|host| host.ask(&json!("x"), method, &params));
            assert_eq!(replies[0], replies[1], "{version} {method}");
        }
    }
}

#[test]
fn requests_that_describe_themselves_share_a_server_and_are_never_mixed_up() {
    let front = Front::start(&[]);
    let threads: Vec<_> = (0..8_u32)
        .map(|host| {
            let url = front.url().to_owned();
            std::thread::spawn(move || {
                for round in 0..25 {
                    let a = host * 1000 + round;
                    // Every host uses the same id.
                    let reply = call_stateless(&url, &json!("same"), "add", &json!({"a": a, "b": 1}), None);
                    assert_eq!(reply.status, 200);
                    let reply = reply.json();
                    assert_eq!((&reply["id"], text(&reply)), (&json!("same"), &*(a + 1).to_string()));
                    let mut events = call_stateless(&url, &json!(7), "work", &json!({"steps": 3}), Some("t"));
                    for step in 1..=3 {
                        let (_, data) = events.event().unwrap();
                        let progress: Value = serde_json::from_str(&data).unwrap();
                        assert_eq!(progress["params"]["progressToken"], "t", "{progress}");
                        assert_eq!(progress["params"]["progress"], step);
                    }
                    assert_eq!(text(&events.answer(&json!(7))), "done");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(front.pids().len(), 1);
    // Errors have the status that the revision demands.
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": stateless_meta()}});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "no/such")];
    let refused = request(front.url(), "POST", &headers, &message.to_string());
    assert_eq!(refused.status, 404);
    assert_eq!(refused.json()["error"]["code"], -32601);
    let lies = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let refused = request(front.url(), "POST", &lies, &message.to_string());
    assert_eq!((refused.status, refused.json()["error"]["code"].as_i64()), (400, Some(-32020)));
}

#[test]
fn a_subscription_gets_its_own_notifications() {
    let front = Front::start(&[]);
    let params = json!({"_meta": stateless_meta(), "notifications": {"toolsListChanged": true}});
    let message = json!({"jsonrpc": "2.0", "id": "mine", "method": "subscriptions/listen", "params": params});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut stream = request(front.url(), "POST", &headers, &message.to_string());
    let (_, data) = stream.event().unwrap();
    let begun: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(begun["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(begun["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "mine", "{begun}");
}

#[test]
fn a_host_that_closes_its_connection_cancels_its_request() {
    let folder = Folder::new();
    let methods = folder.0.join("methods");
    let words = ["sh", "-c", "exec \"$2\" record \"$0\"", methods.to_str().unwrap()];
    let front = Front::with_server(&[], &words, fixture_path());
    let mut call = call_stateless(front.url(), &json!(1), "wait", &json!({}), Some("t"));
    let (_, data) = call.event().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["params"]["progressToken"], "t");
    drop(call);
    while !std::fs::read_to_string(&methods).unwrap().contains("notifications/cancelled") {
        std::thread::yield_now();
    }
}

#[test]
fn only_this_machine_and_its_pages_are_served() {
    let front = Front::start(&[]);
    let host = UrlHost::open(front.url(), "2025-11-25");
    let port = front.url().rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let own = format!("http://localhost:{port}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for method in ["POST", "GET", "DELETE", "OPTIONS"] {
        for (header, is_refused) in [
            (("Host", "evil.example"), true),
            (("Host", "127.0.0.1.evil.example"), true),
            (("Origin", "https://evil.example"), true),
            (("Origin", "null"), true),
            (("Origin", "http://localhost.evil.example"), true),
            (("Origin", &*own), false),
        ] {
            // A page that is let in does not end the session of this test.
            if !is_refused && method == "DELETE" {
                continue;
            }
            let body = if method == "POST" { &*list } else { "" };
            let response = host.send(method, &[header], body);
            assert_eq!(response.status == 403, is_refused, "{method} {header:?}: {}", response.status);
        }
    }
    for (headers, status) in [
        (&[("Content-Type", "text/plain")][..], 415),
        (&[("Accept", "text/html")], 406),
        (&[("Mcp-Session-Id", "0123456789abcdef")], 404),
        (&[], 400),
    ] {
        let refused = request(front.url(), "POST", headers, &list);
        assert_eq!(refused.status, status, "{headers:?}");
    }
    assert_eq!(host.send("PUT", &[], "").status, 405);
    assert_eq!(host.send("POST", &[], "{").status, 400);
    let other = UrlHost { session: host.session.clone(), ..UrlHost::open(front.url(), "2025-06-18") };
    assert_eq!(other.send("POST", &[], &list).status, 400, "the revision is not that of the session");
    assert_eq!(text(&host.ask(&json!(1), "tools/call", &add(1))), "2");
}

#[test]
fn bodies_are_bounded() {
    let front = Front::start(&["--max-message", "4K"]);
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"x": "y".repeat(5000)}});
    assert_eq!(request(front.url(), "POST", &[], &long.to_string()).status, 413);
    UrlHost::open(front.url(), "2025-11-25");
}

#[test]
fn an_answer_that_is_too_long_is_an_error_and_not_silence() {
    let script = "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}'; \
                  while read line; do case $line in *ping*) \
                  printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"%05000d\"}}\\n' 0;; esac; done";
    let front = Front::with_server(&["--max-message", "4K"], &["sh", "-c", script], PathBuf::new());
    let host = UrlHost::open(front.url(), "2025-11-25");
    let answer = host.ask(&json!(1), "ping", &json!({}));
    assert_eq!(answer["error"]["data"]["reason"], "messageTooLarge", "{answer}");
}

#[test]
fn a_server_that_dies_is_started_again_and_only_open_requests_fail() {
    let front = Front::start(&[]);
    let host = UrlHost::open(front.url(), "2025-11-25");
    let wait = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}});
    for _ in 0..rounds(3, 100) {
        let mut open = host.start(&json!("open"), "tools/call", &wait);
        assert!(open.event().unwrap().1.contains("progress"));
        Front::kill_server(front.pids().last().unwrap());
        let lost = open.answer(&json!("open"));
        assert_eq!(lost["error"]["data"]["reason"], "serverEnded", "{lost}");
        assert_eq!(text(&host.ask(&json!(1), "tools/call", &add(1))), "2");
    }
    // The shared server too.
    for _ in 0..rounds(1, 100) {
        let mut open = call_stateless(front.url(), &json!(5), "wait", &json!({}), Some("t"));
        assert!(open.event().unwrap().1.contains("progress"));
        Front::kill_server(front.pids().last().unwrap());
        assert_eq!(open.answer(&json!(5))["error"]["data"]["reason"], "serverEnded");
        let sum = call_stateless(front.url(), &json!(6), "add", &add(4)["arguments"], None).json();
        assert_eq!(text(&sum), "5");
    }
}

#[test]
fn a_server_that_cannot_be_started_is_an_answer_and_not_the_end() {
    let mut command = toolway();
    command.args(["proxy", "--http", "127.0.0.1:0", "--", "/no/such/program"]);
    let proxy = Http::start(command);
    for _ in 0..2 {
        let message = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": initialize_params("2025-11-25")});
        let response = request(&proxy.url, "POST", &[], &message.to_string());
        let reply = response.json();
        assert_eq!(
            (&reply["id"], &reply["error"]["data"]["reason"]),
            (&json!(3), &json!("serverEnded")),
            "{reply}"
        );
        let reply = call_stateless(&proxy.url, &json!(4), "add", &json!({}), None).json();
        assert_eq!(reply["error"]["data"]["reason"], "serverEnded", "{reply}");
    }
}

#[test]
fn a_stream_that_breaks_off_is_resumed_where_it_was() {
    let front = Front::start(&[]);
    let host = UrlHost::open(front.url(), "2025-11-25");
    let work = json!({"name": "work", "arguments": {"steps": 50}, "_meta": {"progressToken": 1}});
    let mut first = host.start(&json!(9), "tools/call", &work);
    let mut seen = Vec::new();
    let mut last = String::new();
    for _ in 0..7 {
        let (id, data) = first.event().unwrap();
        last = id;
        seen.push(data);
    }
    drop(first);
    let mut rest = host.send("GET", &[("Last-Event-ID", &last)], "");
    assert_eq!(rest.status, 200);
    while let Some((_, data)) = rest.event() {
        seen.push(data);
    }
    assert_eq!(seen.len(), 51);
    for (step, data) in (1..=50).zip(&seen) {
        let progress: Value = serde_json::from_str(data).unwrap();
        assert_eq!(progress["params"]["progress"], step);
    }
    assert!(seen[50].contains("done"));
    for unknown in ["9999-1", "1-9999", "x", "-"] {
        assert_eq!(host.send("GET", &[("Last-Event-ID", unknown)], "").status, 400, "{unknown}");
    }
}

#[test]
fn questions_reach_the_host_on_the_stream_of_its_request() {
    let front = Front::start(&[]);
    let host = UrlHost::open(front.url(), "2025-11-25");
    let mut call = host.start(&json!(1), "tools/call", &json!({"name": "book", "arguments": {}}));
    let (_, data) = call.event().unwrap();
    let question: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let content = json!({"guests": 3, "outside": false});
    let reply =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": content}});
    assert_eq!(host.send("POST", &[], &reply.to_string()).status, 202);
    assert_eq!(text(&call.answer(&json!(1))), "booked for 3, inside");
}

#[test]
fn servers_end_with_their_sessions_and_with_the_proxy() {
    let mut front = Front::start(&[]);
    let first = UrlHost::open(front.url(), "2025-11-25");
    let second = UrlHost::open(front.url(), "2025-11-25");
    assert!(call_stateless(front.url(), &json!(1), "add", &json!({"a": 1, "b": 2}), None).status == 200);
    let pids = front.pids();
    assert_eq!(pids.len(), 3);
    let stream = first.send("GET", &[], "");
    assert_eq!(first.send("DELETE", &[], "").status, 204);
    Front::wait_for_end(&pids[0]);
    assert!(!stream.text().contains("jsonrpc"), "the stream ends, and had nothing to say");
    assert_eq!(
        first.send("POST", &[], &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string()).status,
        404
    );
    let open = second.send("GET", &[], "");
    assert_eq!(open.status, 200);
    assert_eq!(front.interrupt(), Some(0));
    for pid in &pids[1..] {
        Front::wait_for_end(pid);
    }
}

#[test]
fn the_number_of_sessions_is_bounded_and_the_oldest_idle_one_makes_room() {
    let script = "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}'; while read line; do :; done";
    let front = Front::with_server(&[], &["sh", "-c", script], PathBuf::new());
    let hosts: Vec<_> = (0..65).map(|_| UrlHost::open(front.url(), "2025-11-25")).collect();
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string();
    let statuses: Vec<_> = hosts.iter().map(|host| host.send("POST", &[], &notification).status).collect();
    assert_eq!(statuses[0], 404);
    assert!(statuses[1..].iter().all(|status| *status == 202), "{statuses:?}");
    // Sessions whose host listens stay.
    let streams: Vec<_> = hosts[1..].iter().map(|host| host.send("GET", &[], "")).collect();
    let message =
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params("2025-11-25")});
    let refused = request(front.url(), "POST", &[], &message.to_string());
    assert_eq!(refused.status, 503);
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("64 sessions are open"));
    drop(streams);
}

#[test]
fn a_url_behind_a_url_works_too() {
    let server = fixture_http();
    let mut command = toolway();
    command.args(["proxy", "--http", "127.0.0.1:0"]).arg(&server.url);
    let proxy = Http::start(command);
    let host = UrlHost::open(&proxy.url, "2025-11-25");
    assert_eq!(text(&host.ask(&json!(1), "tools/call", &add(1))), "2");
    assert_eq!(text(&call_stateless(&proxy.url, &json!(1), "add", &add(2)["arguments"], None).json()), "3");
    // And once more, for a host that starts commands.
    let mut command = toolway();
    command.arg("proxy").arg(&proxy.url);
    let mut last = Host::start(command);
    last.initialize("2025-06-18");
    assert_eq!(text(&last.ask(&json!(1), "tools/call", &add(3))), "4");
}

#[test]
fn a_port_that_is_taken_is_a_clear_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = say(&["proxy", "--http", &address, "--", "cat"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("choose another address with --http ADDRESS"), "{ran:?}");
}
