//! How are programs and servers started, and how is their output compared?

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// The command `toolway`, without the settings of this machine.
pub(crate) fn toolway() -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_toolway")))
}

/// The fixture: a program that embeds the command line, as an author writes it.
pub(crate) fn fixture() -> Command {
    clean(Command::new(fixture_path()))
}

pub(crate) fn fixture_path() -> PathBuf {
    let name = format!("cli-fixture{}", std::env::consts::EXE_SUFFIX);
    Path::new(env!("CARGO_BIN_EXE_toolway")).parent().unwrap().join("examples").join(name)
}

fn clean(mut command: Command) -> Command {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nobody");
    std::fs::create_dir_all(&home).unwrap();
    for variable in [
        "TOOLWAY_BEARER",
        "TOOLWAY_STORE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ] {
        command.env_remove(variable);
    }
    command.env("HOME", &home).current_dir(&home);
    command
}

/// The exit code and the output of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(mut command: Command, input: &str) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not read stdin may have closed it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `toolway` with these arguments against the fixture on a pipe.
pub(crate) fn on_fixture(words: &[&str]) -> Ran {
    let mut command = toolway();
    command.args(words).arg("--").arg(fixture_path()).arg("serve");
    run(command, "")
}

/// Runs the fixture with these arguments.
pub(crate) fn own(words: &[&str]) -> Ran {
    let mut command = fixture();
    command.args(words);
    run(command, "")
}

/// Runs `toolway` with these arguments.
pub(crate) fn say(words: &[&str]) -> Ran {
    let mut command = toolway();
    command.args(words);
    run(command, "")
}

/// How often a test repeats what it does: a few times, or as often as it can be asked to with `TOOLWAY_ROUNDS=full`.
pub(crate) fn rounds(few: u32, all: u32) -> u32 {
    if std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full") { all } else { few }
}

/// A server over HTTP, killed at the end of the test.
pub(crate) struct Http {
    pub(crate) child: Child,
    pub(crate) stderr: BufReader<ChildStderr>,
    pub(crate) url: String,
}

impl Http {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut http = Self { child, stderr, url: String::new() };
        let words = http.hints_until("at http://");
        let from = words.find("http://").unwrap();
        words[from..].split([';', ' ', '\n']).next().unwrap().clone_into(&mut http.url);
        http
    }

    /// Reads stderr up to the line that contains `last`.
    pub(crate) fn hints_until(&mut self, last: &str) -> String {
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

/// The fixture over HTTP.
pub(crate) fn fixture_http() -> Http {
    let mut command = fixture();
    command.args(["serve", "--http", "127.0.0.1:0"]);
    Http::start(command)
}

/// Listens, and handles each connection with `treat`; returns the address.
pub(crate) fn listen(treat: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let treat = std::sync::Arc::new(treat);
    // The thread ends with the test process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let treat = treat.clone();
            std::thread::spawn(move || treat(stream));
        }
    });
    address
}

/// A web server that gives every client the same answer.
pub(crate) fn web(status: &'static str, kind: &'static str, body: &'static str) -> String {
    listen(move |mut stream| {
        read_request(&mut stream);
        answer(&mut stream, status, &format!("content-type: {kind}\r\n"), body);
    })
}

/// An HTTP request.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The header `mcp-session-id`.
    pub(crate) session: String,
    pub(crate) body: Value,
}

/// Reads a whole request, so that closing the connection does not discard the reply.
pub(crate) fn read_request(stream: &mut TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let (mut asked, mut length) = (Asked::default(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("mcp-session-id") => {
                value.trim().clone_into(&mut asked.session);
            }
            _ if asked.method.is_empty() => {
                line.split(' ').next().unwrap_or_default().clone_into(&mut asked.method);
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    asked
}

/// Answers a request, and closes the connection.
pub(crate) fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

/// An address that accepts no connections. It stays reserved as long as this is kept, because other tests listen at the
/// same time.
pub(crate) struct Closed {
    pub(crate) address: String,
    _held: tokio::net::TcpSocket,
}

impl Closed {
    pub(crate) fn new() -> Self {
        let held = tokio::net::TcpSocket::new_v4().unwrap();
        held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self { address: held.local_addr().unwrap().to_string(), _held: held }
    }
}

/// A load balancer that forwards connections to several servers in turn; returns its address.
pub(crate) fn in_turn(servers: Vec<String>) -> String {
    let next = AtomicUsize::new(0);
    listen(move |near| {
        let server = &servers[next.fetch_add(1, Ordering::Relaxed) % servers.len()];
        let far = TcpStream::connect(server).unwrap();
        let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        let there = std::thread::spawn(move || pass(from, to));
        pass(far, near);
        let _ = there.join();
    })
}

/// Forwards bytes until the end of the stream, and the end itself.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A temporary directory, deleted at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("cli-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compares a text with the file in `tests/golden`; `UPDATE_GOLDEN=1` rewrites it.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    // Some of the texts come from the operating system.
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == text,
        "{} is not what is said now; UPDATE_GOLDEN=1 writes it:\n{text}",
        path.display()
    );
}

/// The command line and its output, without the parts that differ from run to run.
pub(crate) fn transcript(typed: &str, ran: &Ran) -> String {
    let mut text = format!("$ {typed}\n");
    text.push_str(&ran.stdout);
    if !ran.stderr.is_empty() {
        text.push_str("--- on stderr\n");
        text.push_str(&ran.stderr);
    }
    same_everywhere(&format!("{text}--- exit code {}\n\n", ran.code.unwrap()))
}

/// Replaces paths, ports and times.
fn same_everywhere(text: &str) -> String {
    let text = text
        .replace(fixture_path().to_str().unwrap(), "FIXTURE")
        .replace(env!("CARGO_BIN_EXE_toolway"), "TOOLWAY")
        .replace(env!("CARGO_TARGET_TMPDIR"), "TMP");
    let text = without_number_after("127.0.0.1:", &text);
    let text = without_number_after("host 127.0.0.1, port ", &text);
    let lines: Vec<_> = text.lines().map(without_time).collect();
    lines.join("\n") + "\n"
}

fn without_number_after(words: &str, mut text: &str) -> String {
    let mut shown = String::new();
    while let Some(start) = text.find(words) {
        let (before, after) = text.split_at(start + words.len());
        shown.push_str(before);
        shown.push_str("PORT");
        text = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    shown + text
}

/// `(12 ms)` becomes `(TIME)`.
fn without_time(line: &str) -> String {
    let is_time = |text: &str| {
        let number = text.strip_suffix(" ms").or_else(|| text.strip_suffix(" s"));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    match line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) {
        Some((before, time)) if is_time(time) => format!("{before} (TIME)"),
        _ => line.to_owned(),
    }
}
