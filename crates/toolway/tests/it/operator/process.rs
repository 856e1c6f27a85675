//! What is on stderr if no log is installed? Only what an operator could not find out otherwise.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Kills the process if the test does not.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(words: &[&str]) -> Running {
    // Examples are built beside the tests: target/PROFILE/deps/it-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/stdio-fixture");
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = command.spawn();
    Running(
        spawned.unwrap_or_else(|error| panic!("{}: {error}; build it with --examples", program.display())),
    )
}

/// Returns the answer of the tool that fails, and the output on stderr.
fn call(words: &[&str]) -> (String, String) {
    let mut process = start(words);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"breaks"}}"#;
    writeln!(process.0.stdin.take().unwrap(), "{call}").unwrap();
    let (mut output, mut errors) = (String::new(), String::new());
    process.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    process.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(process.0.wait().unwrap().success());
    let answer: Value = serde_json::from_str(&output).unwrap();
    (answer["result"]["content"][0]["text"].as_str().unwrap().to_owned(), errors)
}

#[test]
fn a_hidden_error_is_on_stderr_where_no_log_is_installed() {
    for (words, begin) in [(&[][..], "toolway: "), (&["--log"], "log: ")] {
        let (told, errors) = call(words);
        let (told, reference) = told.rsplit_once(' ').unwrap();
        assert_eq!(
            told,
            "the tool `breaks` failed; the server's operator can find the cause under reference"
        );
        // In one place, and once.
        let lines: Vec<_> = errors.lines().filter(|line| line.contains(reference)).collect();
        let [line] = lines[..] else { panic!("{errors}") };
        assert!(line.starts_with(begin), "{line}");
        // One line, whatever the error says, with advice in case it was meant for the caller.
        for part in ["breaks", "the disk", "is on fire", "ToolError::new"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}

/// Returns the line that says where the server is, and its address.
fn first_line(errors: &mut impl BufRead) -> (String, String) {
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let url =
        line.split_whitespace().find_map(|word| word.trim_matches('"').strip_prefix("http://")).unwrap();
    let address = url.split_once("/mcp").unwrap().0.to_owned();
    (line, address)
}

fn status_of(address: &str, path: &str) -> String {
    let mut wire = TcpStream::connect(address).unwrap();
    write!(wire, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    wire.read_to_string(&mut reply).unwrap();
    reply.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn after_sigterm_a_server_that_can_be_replaced_serves_on() {
    let words = ["--log", "--lame-duck", "--http", "127.0.0.1:0"];
    let mut process = start(&words);
    let mut errors = BufReader::new(process.0.stderr.take().unwrap());
    let (_, address) = first_line(&mut errors);
    assert_eq!(status_of(&address, "/ready"), "200");
    let signal = |process: &Running, signal| {
        kill_process(Pid::from_child(&process.0), signal).unwrap();
    };
    signal(&process, Signal::TERM);
    let mut line = String::new();
    while !line.contains("about to stop") {
        line.clear();
        assert_ne!(errors.read_line(&mut line).unwrap(), 0, "the server is still there");
    }
    assert_eq!((status_of(&address, "/ready"), status_of(&address, "/health")), ("503".into(), "200".into()));
    // The second signal means that it should stop now.
    signal(&process, Signal::TERM);
    assert!(process.0.wait().unwrap().success());
    // So does Ctrl-C, because a person waits.
    let mut process = start(&words);
    let mut errors = BufReader::new(process.0.stderr.take().unwrap());
    let (_, address) = first_line(&mut errors);
    assert_eq!(status_of(&address, "/health"), "200");
    signal(&process, Signal::INT);
    assert!(process.0.wait().unwrap().success());
}

#[test]
fn serve_http_says_once_where_it_is_and_what_it_has() {
    for (words, begin) in
        [(&["--http", "127.0.0.1:0"][..], "toolway: "), (&["--log", "--http", "127.0.0.1:0"], "log: ")]
    {
        let mut process = start(words);
        let mut errors = BufReader::new(process.0.stderr.take().unwrap());
        let (line, address) = first_line(&mut errors);
        assert!(line.starts_with(begin) && line.contains("fixture") && line.contains("3 tools"), "{line}");
        assert_eq!(status_of(&address, "/health"), "200");
        process.0.kill().unwrap();
        let mut rest = String::new();
        errors.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("/mcp"), "{rest}");
    }
}

#[test]
fn a_server_is_not_served_on_stdin_whose_tools_take_what_nothing_gives() {
    let mut process = start(&["--principal"]);
    drop(process.0.stdin.take());
    let mut errors = String::new();
    process.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(!process.0.wait().unwrap().success());
    assert!(errors.contains("tool `whoami`: ") && errors.contains("`Principal`"), "{errors}");
    assert!(errors.contains("on_connect"), "{errors}");
}
