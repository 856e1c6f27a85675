//! The command, as a person or a host starts it: words on stderr, frames on stdout, nothing else anywhere.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::{Value, json};

fn toolway() -> Command {
    Command::new(env!("CARGO_BIN_EXE_toolway"))
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = toolway()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_demo_speaks_on_stdin_and_stdout_and_says_nothing_else() {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count_words", "arguments": {"text": "a bc\nd"}}});
    let output = run(&["serve", "--demo"], &format!("{call}\n"));
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["result"]["structuredContent"], json!({"words": 3, "characters": 6, "lines": 2}));
}

/// The demo over HTTP, ended with the test.
struct Http {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Http {
    fn start(address: &str) -> Self {
        let mut child =
            toolway().args(["serve", "--demo", "--http", address]).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }

    /// Everything up to the line that holds `last`.
    fn hints_until(&mut self, last: &str) -> String {
        let mut hints = String::new();
        while !hints.contains(last) {
            assert!(self.stderr.read_line(&mut hints).unwrap() > 0, "it ended: {hints}");
        }
        hints
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_hints_of_the_demo_work_as_they_are_printed() {
    let mut demo = Http::start("127.0.0.1:0");
    let hints = demo.hints_until("mcpServers");
    // The curl line answers.
    let from = hints.find("curl ").unwrap();
    let to = hints[from..].find("\n\n").unwrap() + from;
    let output = Command::new("sh").args(["-c", &hints[from..to]]).output().unwrap();
    let reply: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(reply["result"]["content"][0]["text"], "5");
    // The host's entry starts the demo over stdio.
    let entry = hints.lines().find(|line| line.contains("mcpServers")).unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    let server = &entry["mcpServers"]["toolway-demo"];
    let arguments: Vec<_> =
        server["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    assert_eq!(server["command"], env!("CARGO_BIN_EXE_toolway"));
    let output = run(&arguments, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(output.stdout, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

#[test]
fn an_address_in_use_is_named_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["serve", "--demo", "--http", &address], "");
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.starts_with(&format!("toolway: {address} cannot be listened on: ")), "{words}");
    assert!(words.contains("choose another with --http ADDRESS"), "{words}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    for arguments in [&["serve"][..], &["sevre"], &[], &["serve", "--demo", "--http", "nowhere"]] {
        let output = run(arguments, "");
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stderr.is_empty());
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    let help = run(&["--help"], "");
    assert!(help.status.success());
    assert!(String::from_utf8(help.stdout).unwrap().contains("serve"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_demo_well() {
    let mut demo = Http::start("127.0.0.1:0");
    demo.hints_until("mcpServers");
    let status = Command::new("kill").args(["-INT", &demo.child.id().to_string()]).status().unwrap();
    assert!(status.success());
    assert!(demo.child.wait().unwrap().success());
    let mut rest = String::new();
    demo.stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}
