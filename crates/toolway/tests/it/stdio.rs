//! Real processes: stdin and stdout may be pipes, sockets, files or a terminal, and `println!` does no harm.

#![cfg(unix)]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Kills the process if the test does not.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Running {
    start_with(&[], stdin, stdout, stderr)
}

fn start_with(
    arguments: &[&str],
    stdin: impl Into<Stdio>,
    stdout: impl Into<Stdio>,
    stderr: impl Into<Stdio>,
) -> Running {
    // Examples are built beside the tests: target/PROFILE/deps/it-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/stdio-fixture");
    let spawned = Command::new(&program).args(arguments).stdin(stdin).stdout(stdout).stderr(stderr).spawn();
    Running(
        spawned.unwrap_or_else(|error| panic!("{}: {error}; build it with --examples", program.display())),
    )
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
const CALL: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"noisy\"}}\n";
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

/// Checks that the output is both answers, in any order, and nothing else.
fn assert_answers(output: &str) {
    let mut answers: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!(answers.len(), 2, "{output}");
    assert_eq!(answers[0]["result"], serde_json::json!({}));
    assert_eq!(answers[1]["result"]["content"][0]["text"], "child read 0 bytes");
}

#[test]
fn pipes() {
    let mut process = start(Stdio::piped(), Stdio::piped(), Stdio::piped());
    let mut stdin = process.0.stdin.take().unwrap();
    write!(stdin, "{PING}{CALL}").unwrap();
    drop(stdin);
    let (mut output, mut errors) = (String::new(), String::new());
    process.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    process.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(process.0.wait().unwrap().success());
    assert_answers(&output);
    // Output of the tool and its child went to stderr, including what was printed before serving.
    for noise in ["printed by the tool", "printed by the child"] {
        assert!(errors.contains(noise), "{errors}");
    }
}

#[test]
fn a_call_ends_when_the_program_stops_serving() {
    let mut process = start_with(&["--abandon"], Stdio::piped(), Stdio::piped(), Stdio::piped());
    // Stays open: the server does not end because its input does.
    let mut stdin = process.0.stdin.take().unwrap();
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"waits"}}}}"#)
        .unwrap();
    let mut errors = String::new();
    process.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(process.0.wait().unwrap().success(), "{errors}");
    assert!(errors.contains("the call was dropped"), "{errors}");
    drop(stdin);
}

#[test]
fn sockets() {
    let (mut near_in, far_in) = UnixStream::pair().unwrap();
    let (mut near_out, far_out) = UnixStream::pair().unwrap();
    let mut process = start(OwnedFd::from(far_in), OwnedFd::from(far_out), Stdio::null());
    write!(near_in, "{PING}{CALL}").unwrap();
    near_in.shutdown(std::net::Shutdown::Write).unwrap();
    let mut output = String::new();
    near_out.read_to_string(&mut output).unwrap();
    assert!(process.0.wait().unwrap().success());
    assert_answers(&output);
}

#[test]
fn one_socket_for_both() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    let mut process = start(OwnedFd::from(far.try_clone().unwrap()), OwnedFd::from(far), Stdio::null());
    write!(near, "{PING}{CALL}").unwrap();
    near.shutdown(std::net::Shutdown::Write).unwrap();
    let mut output = String::new();
    near.read_to_string(&mut output).unwrap();
    assert!(process.0.wait().unwrap().success());
    assert_answers(&output);
}

#[test]
fn files() {
    let directory = std::env::temp_dir().join(format!("toolway-stdio-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (input, output) = (directory.join("in"), directory.join("out"));
    std::fs::write(&input, format!("{PING}{CALL}")).unwrap();
    let mut process = start(File::open(&input).unwrap(), File::create(&output).unwrap(), Stdio::null());
    assert!(process.0.wait().unwrap().success());
    assert_answers(&std::fs::read_to_string(&output).unwrap());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_terminal() {
    let (master, terminal) = terminal();
    let mut process = start(terminal.try_clone().unwrap(), terminal, Stdio::null());
    let mut master = File::from(master);
    write!(master, "{PING}").unwrap();
    // A terminal echoes the input; the answer comes after it.
    let answer = PONG.trim_end();
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    while !seen.contains(answer) {
        let count = master.read(&mut buffer).unwrap();
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    // Ctrl-D.
    master.write_all(b"\x04").unwrap();
    assert!(process.0.wait().unwrap().success());
}

/// Returns the two ends of a new pseudo-terminal: ours, and the one for the program.
fn terminal() -> (OwnedFd, OwnedFd) {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (master, terminal)
}

#[test]
fn stdout_that_is_also_stderr_stays_usable_for_both() {
    // `2>&1`: if the pipe were made non-blocking, printing to stderr could fail.
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut process =
        start(Stdio::piped(), OwnedFd::from(writer.try_clone().unwrap()), OwnedFd::from(writer));
    let mut stdin = process.0.stdin.take().unwrap();
    stdin
        .write_all(
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"flood\"}}\n",
        )
        .unwrap();
    drop(stdin);
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    assert!(process.0.wait().unwrap().success());
    assert_eq!(output.matches("flooding").count(), 10_000);
    assert!(output.contains("\"id\":3"), "the answer is there too");
}

#[test]
fn a_host_that_closes_everything_ends_the_server() {
    let mut process = start(Stdio::piped(), Stdio::piped(), Stdio::null());
    drop(process.0.stdout.take());
    let mut stdin = process.0.stdin.take().unwrap();
    stdin.write_all(PING.as_bytes()).unwrap();
    assert!(process.0.wait().unwrap().success(), "the input is still open, but nobody reads the answers");
}
