//! What does a host behind a proxy notice of its server?

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use toolway::client::record::{Cassette, Direction};

use crate::stage::{Folder, fixture_path, rounds, run, toolway};

/// A proxy in front of the fixture, as a host sees it. The number of the server's process is in a file.
struct Proxied {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pid_file: PathBuf,
    next_id: u64,
    _folder: Folder,
}

impl Proxied {
    fn start(options: &[&str]) -> Self {
        let folder = Folder::new();
        let pid_file = folder.0.join("pid");
        let mut command = toolway();
        command.arg("proxy").args(options).args(["--", "sh", "-c", "echo $$ > \"$0\"; exec \"$1\" serve"]);
        command.arg(&pid_file).arg(fixture_path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, pid_file, next_id: 100, _folder: folder }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the proxy ended");
        serde_json::from_str(&line).unwrap()
    }

    fn read_until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Opens a conversation of the handshake era.
    fn initialize(&mut self) {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"},
        }}));
        assert_eq!(self.read()["result"]["protocolVersion"], "2025-11-25");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Calls until a server answers. Returns the number of calls that ended because the server did.
    fn call_until_answered(&mut self, meta: Option<&Value>) -> u32 {
        let mut lost = 0;
        loop {
            self.next_id += 1;
            let id = self.next_id;
            let mut params = json!({"name": "add", "arguments": {"a": 2, "b": id}});
            if let Some(meta) = meta {
                params["_meta"] = meta.clone();
            }
            self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
            let reply = self.read_until(|message| message["id"] == id);
            if reply["error"]["data"]["reason"] == "serverEnded" {
                lost += 1;
                continue;
            }
            assert_eq!(reply["result"]["content"][0]["text"], (id + 2).to_string(), "{reply}");
            return lost;
        }
    }

    fn kill_server(&self) {
        let pid = std::fs::read_to_string(&self.pid_file).unwrap();
        assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    }

    fn pid(&self) -> String {
        std::fs::read_to_string(&self.pid_file).unwrap()
    }
}

impl Drop for Proxied {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ten_thousand_random_lines_pass_byte_for_byte() {
    // A fixed seed; xorshift is random enough for bytes.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut text = Vec::new();
    for number in 0..10_000_u32 {
        let length = random() % 100;
        match random() % 4 {
            0 => text.extend((0..length).map(|_| random().to_le_bytes()[0]).filter(|byte| *byte != b'\n')),
            1 => text
                .extend(format!("{{\"jsonrpc\" : \"2.0\",\"id\":{number},  \"method\":\"x\"}} \r").bytes()),
            2 => text.extend(format!("[{{\"id\":\"{number}\",\"result\":1.0e2}},7]").bytes()),
            _ => text.extend(
                (0..length).map(|_| b"{}[]\":,\\ \r\t1a"[usize::from(random().to_le_bytes()[0]) % 13]),
            ),
        }
        text.push(b'\n');
    }
    text.extend(b"no line break at the end");
    let mut child =
        toolway().args(["proxy", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let sent = text.clone();
    let writing = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let mut passed = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut passed).unwrap();
    writing.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(passed.len(), text.len());
    assert!(passed == text, "the bytes differ");
}

#[test]
fn a_host_does_not_notice_that_its_server_is_killed_with_a_handshake() {
    let mut host = Proxied::start(&[]);
    host.initialize();
    host.call_until_answered(None);
    for _ in 0..rounds(4, 100) {
        let before = host.pid();
        host.kill_server();
        host.call_until_answered(None);
        assert_ne!(host.pid(), before, "another process answers");
    }
}

#[test]
fn a_host_does_not_notice_that_its_server_is_killed_without_a_handshake() {
    let mut host = Proxied::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    host.call_until_answered(Some(&meta));
    for _ in 0..rounds(4, 100) {
        host.kill_server();
        host.call_until_answered(Some(&meta));
    }
}

#[test]
fn an_open_call_ends_in_an_error_that_says_so() {
    let mut host = Proxied::start(&[]);
    host.initialize();
    let call = json!({"jsonrpc": "2.0", "id": "open", "method": "tools/call", "params": {
        "name": "wait", "arguments": {}, "_meta": {"progressToken": 7},
    }});
    host.send(&call);
    host.read_until(|message| message["method"] == "notifications/progress");
    host.kill_server();
    let reply = host.read_until(|message| message["id"] == "open");
    assert_eq!(reply["error"]["code"], -32603);
    assert_eq!(reply["error"]["data"]["reason"], "serverEnded");
    assert!(reply["error"]["message"].as_str().unwrap().contains("the server ended before it answered"));
    host.call_until_answered(None);
}

#[test]
fn a_question_of_a_server_that_was_killed_is_taken_back_and_a_late_answer_goes_nowhere() {
    let mut host = Proxied::start(&[]);
    host.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "h", "version": "1"},
    }}));
    host.read();
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let ask = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "book", "arguments": {}}});
    let is_question = |message: &Value| message["method"] == "elicitation/create";
    host.send(&ask(2));
    let first = host.read_until(is_question)["id"].clone();
    host.kill_server();
    let cancelled = host.read_until(|message| message["method"] == "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], first);
    host.send(&ask(3));
    let second = host.read_until(is_question)["id"].clone();
    assert_ne!(second, first, "the next server uses the same id, and the host sees another one");
    // Declining the old question does not decline the new one.
    host.send(&json!({"jsonrpc": "2.0", "id": first, "result": {"action": "decline"}}));
    host.send(&json!({"jsonrpc": "2.0", "id": second, "result": {"action": "cancel"}}));
    let reply = host.read_until(|message| message["id"] == 3);
    assert!(reply["result"].is_object(), "{reply}");
}

#[test]
fn what_the_host_says_is_recorded_without_the_environment() {
    let folder = Folder::new();
    let file = folder.0.join("session.jsonl");
    let path = file.to_str().unwrap();
    let mut command = toolway();
    command.env("SOME_SETTING", "s3cret-of-the-host").args(["proxy", "--record", path, "--"]);
    command.args(["sh", "-c", "echo started with $SOME_SETTING >&2; exec \"$0\" serve"]).arg(fixture_path());
    let input =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"s3cret-of-the-host\"}}\n";
    let ran = run(command, input);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("started with s3cret-of-the-host"), "stderr is passed on: {ran:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("s3cret-of-the-host"), "{text}");
    let directions: Vec<_> =
        Cassette::read(&text).unwrap().frames.iter().map(|frame| frame.direction).collect();
    for direction in [Direction::Out, Direction::In, Direction::Err] {
        assert!(directions.contains(&direction), "{text}");
    }
}

#[test]
fn a_server_that_cannot_be_started_or_never_speaks_ends_the_proxy() {
    for (words, expected) in [
        (&["proxy", "--", "/no/such/program"][..], "there is no file"),
        (&["proxy", "--", "sh", "-c", "exit 3"], "the server ended 5 times without having sent anything"),
    ] {
        let mut child = toolway()
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The host keeps stdin open.
        let input = child.stdin.take();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(4), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
        drop(input);
    }
}
