//! What does a host on stdin and stdout notice of a server at a URL?

use std::io::Write as _;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolway::client::record::Cassette;
use toolway::prelude::*;

use crate::host::{Arrived, Host, stateless_meta};
use crate::stage::{
    Closed, Folder, Http, answer, fixture, fixture_http, listen, rounds, run, say, toolway, web,
};

fn proxy(words: &[&str]) -> Host {
    Host::start(proxy_command(words))
}

fn proxy_command(words: &[&str]) -> Command {
    let mut command = toolway();
    command.arg("proxy").args(words);
    command
}

const JSON: &str = "content-type: application/json\r\n";

/// Starts the fixture on a port that another one has left.
fn fixture_at(url: &str) -> Http {
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut command = fixture();
    command.args(["serve", "--http", address]);
    Http::start(command)
}

#[test]
fn each_revision_works_and_gives_what_the_same_server_says_on_a_pipe() {
    let server = fixture_http();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut pipe = toolway();
        pipe.args(["proxy", "--"]).arg(crate::stage::fixture_path()).arg("serve");
        let (mut over_url, mut over_pipe) = (proxy(&[&server.url]), Host::start(pipe));
        let both = [&mut over_url, &mut over_pipe].map(|host| {
            let initialized = host.initialize(version);
            assert_eq!(initialized["result"]["protocolVersion"], version);
            let mut said = vec![initialized];
            for (id, method, params) in [
                (json!(1), "tools/list", json!({})),
                (json!("a \"b\""), "tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})),
                (json!(2), "tools/call", json!({"name": "fail", "arguments": {"reason": "no"}})),
                (json!(3), "resources/read", json!({"uri": "fixture://logo"})),
                (json!(4), "no/such", json!({})),
            ] {
                said.push(host.ask(&id, method, &params));
            }
            // Progress comes before the answer.
            let params = json!({"name": "work", "arguments": {}, "_meta": {"progressToken": "p"}});
            host.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}));
            loop {
                said.push(host.read());
                if said.last().unwrap()["id"] == 5 {
                    return said;
                }
            }
        });
        assert_eq!(both[0], both[1], "{version}");
        assert_eq!([over_url.leave(), over_pipe.leave()], [Some(0); 2]);
    }
    let mut host = proxy(&[&server.url]);
    let discovered = host.ask(&json!(1), "server/discover", &json!({"_meta": stateless_meta()}));
    assert!(discovered["result"]["supportedVersions"].is_array(), "{discovered}");
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": stateless_meta()});
    assert_eq!(host.ask(&json!(2), "tools/call", &params)["result"]["content"][0]["text"], "3");
}

#[test]
fn messages_are_passed_on_byte_for_byte_both_ways() {
    let arrived = Arc::new(Mutex::new(Vec::new()));
    let kept = arrived.clone();
    let odd = r#"{"jsonrpc":"2.0", "id":7,"result":{"big":123456789012345678901234567890,"f":1.0e2,"u":"\u00e4","z":1,"a":2}}"#;
    let address = listen(move |mut stream| {
        let Some(request) = Arrived::read(&mut stream) else { return };
        let name = request.headers.get("mcp-name").cloned().unwrap_or_default();
        kept.lock().unwrap().push((request.body, name));
        answer(&mut stream, "200 OK", JSON, odd);
    });
    let mut host = proxy(&[&format!("http://{address}/mcp")]);
    let call = format!(
        r#"{{"jsonrpc" : "2.0","id":7,"method":"tools/call","params":{{"name":"ä b","arguments":{{"n":1e400,"x":-0.0}},"_meta":{}}}}}"#,
        stateless_meta()
    );
    host.send_line(&call);
    assert_eq!(host.read_line(), odd);
    // base64 of `ä b`
    assert_eq!(*arrived.lock().unwrap(), [(call, "=?base64?w6QgYg==?=".to_owned())]);
}

#[test]
fn a_host_does_not_notice_that_the_server_is_started_again() {
    let mut server = fixture_http();
    let url = server.url.clone();
    let mut host = proxy(&[&url]);
    host.initialize("2025-11-25");
    host.ask(&json!("level"), "logging/setLevel", &json!({"level": "debug"}));
    for round in 0..rounds(3, 200) {
        let call = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": 7}});
        host.send(&json!({"jsonrpc": "2.0", "id": "open", "method": "tools/call", "params": call}));
        host.read_until(|message| message["method"] == "notifications/progress");
        drop(server);
        server = fixture_at(&url);
        let lost = host.read_until(|message| message["id"] == "open");
        assert_eq!(lost["error"]["code"], -32603, "{lost}");
        assert_eq!(lost["error"]["data"]["reason"], "serverEnded", "{lost}");
        let sum =
            host.ask(&json!(round), "tools/call", &json!({"name": "add", "arguments": {"a": 2, "b": 3}}));
        assert_eq!(sum["result"]["content"][0]["text"], "5", "{sum}");
    }
    // The new session has the log level of the first one.
    let params = json!({"name": "work", "arguments": {"steps": 1}});
    host.send(&json!({"jsonrpc": "2.0", "id": "work", "method": "tools/call", "params": params}));
    host.read_until(|message| message["method"] == "notifications/message");
    assert_eq!(host.leave(), Some(0));
}

#[test]
fn a_subscription_without_a_session_is_requested_again() {
    let server = fixture_http();
    let url = server.url.clone();
    let mut host = proxy(&[&url]);
    let is_begun = |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
    let params = json!({"_meta": stateless_meta(), "notifications": {"toolsListChanged": true}});
    host.send(&json!({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params}));
    host.read_until(is_begun);
    drop(server);
    let _server = fixture_at(&url);
    host.read_until(is_begun);
    // The subscription does not keep the proxy from ending.
    assert_eq!(host.leave(), Some(0));
}

#[test]
fn a_reply_that_breaks_off_is_resumed() {
    let address = listen(|mut stream| {
        let Some(request) = Arrived::read(&mut stream) else { return };
        let session = "mcp-session-id: one\r\n";
        let events = format!("{session}content-type: text/event-stream\r\nconnection: close\r\n\r\n");
        let head = format!("HTTP/1.1 200 OK\r\n{events}");
        let step = |n: u32| {
            format!(
                "id: {n}\nretry: 10\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":1,\"progress\":{n}}}}}\n\n"
            )
        };
        match (&*request.method, request.json()["method"].as_str()) {
            (_, Some("initialize")) => {
                let id = &request.json()["id"];
                let body = json!({"jsonrpc": "2.0", "id": id, "result": {
                    "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"},
                }});
                answer(&mut stream, "200 OK", &format!("{JSON}{session}"), &body.to_string());
            }
            // The connection ends after two events.
            (_, Some("tools/call")) => drop(write!(stream, "{head}{}{}", step(1), step(2))),
            (_, Some(_)) => answer(&mut stream, "202 Accepted", "", ""),
            ("GET", None) => match request.headers.get("last-event-id").map(String::as_str) {
                Some("2") => {
                    let reply = r#"{"jsonrpc":"2.0","id":"call","result":{"content":[]}}"#;
                    drop(write!(stream, "{head}{}id: 4\ndata: {reply}\n\n", step(3)));
                }
                _ => answer(&mut stream, "405 Method Not Allowed", "", ""),
            },
            _ => answer(&mut stream, "200 OK", "", ""),
        }
        let _ = stream.shutdown(Shutdown::Write);
    });
    let mut host = proxy(&[&format!("http://{address}/mcp")]);
    host.initialize("2025-11-25");
    let params = json!({"name": "x", "_meta": {"progressToken": 1}});
    host.send(&json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params}));
    for step in 1..=3 {
        assert_eq!(host.read()["params"]["progress"], step, "each event comes once");
    }
    assert_eq!(host.read()["result"]["content"], json!([]));
}

/// Region and floor.
#[tool]
fn place(#[arg(header = "Region")] region: String, #[arg(header = "Floor")] floor: i64) -> String {
    format!("{region} {floor}")
}

/// Serves in this process, also the transport of 2024-11-05.
fn serve_here() -> (String, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (stop, stopped) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let server = Server::new("here", "1").tools(tools![place]).http().unwrap().legacy_sse();
            server.serve(listener).await.unwrap();
        });
        let _ = stopped.recv();
    });
    (url, stop)
}

#[test]
fn arguments_that_a_tool_wants_in_headers_get_there_though_nobody_has_listed_the_tools() {
    let (url, _stop) = serve_here();
    let mut host = proxy(&[&url]);
    let arguments = json!({"region": "Zürich West", "floor": 3});
    let params = json!({"name": "place", "arguments": arguments, "_meta": stateless_meta()});
    let reply = host.ask(&json!(1), "tools/call", &params);
    assert_eq!(reply["result"]["content"][0]["text"], "Zürich West 3", "{reply}");
    // A wrong name is the server's to refuse.
    let params = json!({"name": "nothing", "arguments": {}, "_meta": stateless_meta()});
    assert!(host.ask(&json!(2), "tools/call", &params)["error"].is_object());
}

#[test]
fn the_transport_of_2024_11_05_works_and_a_lost_stream_opens_another() {
    let (inner, _stop) = serve_here();
    let behind = inner["http://".len()..].split('/').next().unwrap().to_owned();
    // Refuses a POST to the URL, as servers do that have only the old transport, and can cut its streams.
    let streams = Arc::new(Mutex::new(Vec::<TcpStream>::new()));
    let kept = streams.clone();
    let address = listen(move |mut near| {
        let mut first = [0; 4];
        near.peek(&mut first).unwrap();
        let mut head = vec![0; 64];
        let length = near.peek(&mut head).unwrap();
        if String::from_utf8_lossy(&head[..length]).starts_with("POST /mcp HTTP") {
            let _ = Arrived::read(&mut near);
            return answer(&mut near, "405 Method Not Allowed", "", "");
        }
        let far = TcpStream::connect(&behind).unwrap();
        if first == *b"GET " {
            kept.lock().unwrap().push(near.try_clone().unwrap());
        }
        let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        let up = std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
        let (mut far, mut near) = (far, near);
        let _ = std::io::copy(&mut far, &mut near);
        let _ = (near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both));
        let _ = up.join();
    });
    let mut host = proxy(&[&format!("http://{address}/mcp")]);
    let call = json!({"name": "place", "arguments": {"region": "Bern", "floor": 1}});
    host.initialize("2024-11-05");
    assert_eq!(host.ask(&json!(1), "tools/call", &call)["result"]["content"][0]["text"], "Bern 1");
    for stream in streams.lock().unwrap().drain(..) {
        stream.shutdown(Shutdown::Both).unwrap();
    }
    // The call may meet the stream that is lost; then it fails, and the next one succeeds.
    let mut id = 2;
    while host.ask(&json!(id), "tools/call", &call)["result"].is_null() {
        id += 1;
        assert!(id < 100, "no session was opened");
    }
}

#[test]
fn a_request_that_is_cancelled_ends_at_the_server() {
    let (said, heard) = mpsc::channel();
    let said = Mutex::new(said);
    let address = listen(move |mut stream| {
        let Some(request) = Arrived::read(&mut stream) else { return };
        assert_eq!(request.json()["method"], "tools/call", "no notification is sent");
        let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: begun\n\n");
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        let _ = write!(stream, "data: {progress}\n\n");
        // The proxy closes the connection.
        let _ = std::io::Read::read(&mut stream, &mut [0]);
        let _ = said.lock().unwrap().send(());
    });
    let mut host = proxy(&[&format!("http://{address}/mcp")]);
    let params = json!({"name": "x", "_meta": stateless_meta()});
    host.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    host.read_until(|message| message["method"] == "notifications/progress");
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    heard.recv().unwrap();
}

#[test]
fn a_request_can_be_cancelled_while_as_many_as_possible_are_under_way() {
    const MOST: u32 = 1_000;
    let (said, heard) = mpsc::channel();
    let said = Mutex::new(said);
    let address = listen(move |mut stream| {
        let Some(request) = Arrived::read(&mut stream) else { return };
        let message = request.json();
        match message["method"].as_str() {
            Some("initialize") => {
                let result = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"},
                });
                let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                answer(&mut stream, "200 OK", &format!("{JSON}mcp-session-id: one\r\n"), &reply.to_string());
            }
            Some("tools/call") => {
                said.lock().unwrap().send(Value::Null).unwrap();
                // Until the proxy closes the connection.
                let _ = std::io::Read::read(&mut stream, &mut [0]);
            }
            Some("notifications/cancelled") => {
                said.lock().unwrap().send(message["params"]["requestId"].clone()).unwrap();
                answer(&mut stream, "202 Accepted", "", "");
            }
            Some(_) => answer(&mut stream, "202 Accepted", "", ""),
            None => answer(&mut stream, "405 Method Not Allowed", "", ""),
        }
    });
    let mut host = proxy(&[&format!("http://{address}/mcp")]);
    host.initialize("2025-11-25");
    for id in 1..=MOST {
        host.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "x"}}));
    }
    for _ in 1..=MOST {
        assert_eq!(heard.recv().unwrap(), Value::Null);
    }
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    assert_eq!(heard.recv().unwrap(), 7);
    // A further request is passed on in its place, and the cancelled one gets no answer.
    host.send(&json!({"jsonrpc": "2.0", "id": "next", "method": "tools/call", "params": {"name": "x"}}));
    assert_eq!(heard.recv().unwrap(), Value::Null);
    host.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {"name": "x"}}));
    let first_answer = host.read();
    assert_eq!(first_answer["id"], "last", "{first_answer}");
    assert_eq!(first_answer["error"]["data"]["reason"], "tooManyRequests", "{first_answer}");
}

#[test]
fn errors_of_the_transport_say_what_is_wrong_and_what_to_do() {
    let closed = Closed::new();
    let address = |at: &str| format!("http://{at}/mcp");
    let down = address(&closed.address);
    let asks = address(&web("401 Unauthorized", "text/plain", "who are you?"));
    let page = address(&web("200 OK", "text/html", "<html>hello"));
    let refused = address(&web(
        "400 Bad Request",
        "application/json",
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"old","data":{"supported":["x"]}}}"#,
    ));
    for (url, reason, part) in [
        (&down, "serverUnreachable", "failed to connect"),
        (&asks, "signInRequired", "sign in with `toolway login http://"),
        (&page, "serverFailed", "text/html instead of a message"),
    ] {
        let mut host = proxy(&[url]);
        for params in [json!({}), json!({"_meta": stateless_meta()})] {
            let reply = host.ask(&json!("x"), "tools/list", &params);
            assert_eq!(reply["error"]["data"]["reason"], reason, "{reply}");
            assert!(reply["error"]["message"].as_str().unwrap().contains(part), "{reply}");
        }
    }
    let mut host = proxy(&[&refused]);
    let reply = host.ask(&json!("x"), "tools/list", &json!({"_meta": stateless_meta()}));
    assert_eq!(reply["error"], json!({"code": -32022, "message": "old", "data": {"supported": ["x"]}}));
}

#[test]
fn a_server_that_asks_for_a_long_pause_is_answered_to_the_host_at_once() {
    let address = listen(|mut stream| {
        let Some(request) = Arrived::read(&mut stream) else { return };
        let id = &request.json()["id"];
        if id == 1 {
            let body = json!({"jsonrpc": "2.0", "id": id, "result": {}});
            return answer(&mut stream, "200 OK", JSON, &body.to_string());
        }
        answer(&mut stream, "503 Service Unavailable", "retry-after: 3600\r\n", "");
    });
    let mut host = proxy(&[&format!("http://{address}/mcp")]);
    // A server that has answered once is waited for, but not for an hour.
    assert_eq!(host.ask(&json!(1), "tools/list", &json!({"_meta": stateless_meta()}))["result"], json!({}));
    let reply = host.ask(&json!(2), "tools/list", &json!({"_meta": stateless_meta()}));
    assert_eq!(reply["error"]["data"]["reason"], "serverUnreachable", "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("asks to wait 3600 s"), "{reply}");
}

#[test]
fn lines_that_are_no_messages_or_too_long_are_answered() {
    let server = fixture_http();
    let mut host = proxy(&["--max-message", "2K", &server.url]);
    host.send_line("hello");
    assert_eq!(host.read()["error"]["data"]["reason"], "invalidMessage");
    let long = "x".repeat(3000);
    let reply = host.ask(&json!("long"), "ping", &json!({"x": long}));
    assert_eq!(reply["error"]["data"]["reason"], "messageTooLarge", "{reply}");
    // The messages of a batch are passed on one by one.
    host.initialize("2025-03-26");
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    host.send(&json!([ping(1), ping(2)]));
    let mut ids = [host.read(), host.read()].map(|reply| reply["id"].as_u64().unwrap());
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn a_recording_of_a_url_has_heads_and_no_secrets() {
    let server = fixture_http();
    let folder = Folder::new();
    let file = folder.0.join("session.jsonl");
    let url = format!("{}?key=query-secret-1", server.url);
    let mut command =
        proxy_command(&["--record", file.to_str().unwrap(), "--header", "X-Api-Key: header-secret-2"]);
    command.arg(&url).env("TOOLWAY_BEARER", "bearer-secret-3");
    let mut host = Host::start(command);
    host.initialize("2025-11-25");
    let arguments = json!({"reason": "query-secret-1 header-secret-2 bearer-secret-3"});
    let reply = host.ask(&json!(1), "tools/call", &json!({"name": "fail", "arguments": arguments}));
    assert!(reply.to_string().contains("bearer-secret-3"), "the host gets all: {reply}");
    assert_eq!(host.leave(), Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    for secret in ["query-secret-1", "header-secret-2", "bearer-secret-3"] {
        assert!(!text.contains(secret), "{text}");
    }
    let frames = Cassette::read(&text).unwrap().frames;
    assert!(
        frames.iter().any(|frame| frame.http.as_ref().is_some_and(|http| http.status == Some(200))),
        "{text}"
    );
}

#[test]
fn a_host_that_leaves_gets_its_last_answers() {
    let server = fixture_http();
    let call = |id: u32| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "add", "arguments": {"a": id, "b": 1}, "_meta": stateless_meta(),
        }})
    };
    let lines: Vec<_> = (0..20).map(|id| call(id).to_string()).collect();
    let input = lines.join("\n") + "\n";
    let ran = run(proxy_command(&[&server.url]), &input);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 20), "{ran:?}");
}

#[test]
fn a_command_line_that_names_no_server_or_another_machine_is_refused() {
    for (words, expected) in [
        (&["proxy"][..], "toolway"),
        (&["proxy", "--http"], "toolway"),
        (&["proxy", "http://127.0.0.1:1/mcp", "more"], "unexpected argument `more`"),
        (&["proxy", "--http", "0.0.0.0:8000", "--", "x"], "`proxy` listens on this machine only"),
        (&["proxy", "--http", "localhost:80", "--", "x"], "invalid value 'localhost:80'"),
        (&["proxy", "--header", "no colon", "http://127.0.0.1:1/mcp"], "--header"),
    ] {
        let ran = say(words);
        assert_eq!(ran.code, Some(1), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{words:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
    }
}
