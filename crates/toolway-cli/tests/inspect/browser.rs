//! How does a test use an inspector? As its page does: it takes the link that the command prints, and sends requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::{fixture_path, toolway};

/// After so long a read fails, so that a test that waits for what never comes ends.
const PATIENCE: Duration = Duration::from_secs(100);

/// An inspector that runs, and the token of its page.
pub(crate) struct Inspected {
    child: Child,
    /// An inspector goes on at the end of its input, but then it shows no new links.
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// `127.0.0.1` and the port.
    pub(crate) address: String,
    /// The code of the first link.
    pub(crate) code: String,
    pub(crate) token: String,
}

impl Inspected {
    /// Starts `toolway inspect` with these arguments.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut command = toolway();
        command.args(["inspect", "--json", "--port", "0"]).args(words);
        Self::of(command)
    }

    /// Looks at the fixture on a pipe.
    pub(crate) fn fixture(words: &[&str]) -> Self {
        let fixture = fixture_path();
        let words = [&["--", fixture.to_str().unwrap()], words].concat();
        Self::start(&words)
    }

    /// Starts a command that prints a link as JSON, and uses the link.
    pub(crate) fn of(command: Command) -> Self {
        let mut inspected = Self::unused(command);
        let (status, reply) = inspected.enter(&inspected.code);
        assert_eq!(status, 200, "{reply}");
        reply["token"].as_str().unwrap().clone_into(&mut inspected.token);
        inspected
    }

    /// Starts a command that prints a link as JSON.
    pub(crate) fn unused(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (address, code, token) = Default::default();
        let mut inspected = Self { child, stdin, stdout, address, code, token };
        (inspected.address, inspected.code) = inspected.next_link();
        inspected
    }

    /// Reads the next link that the command prints. Returns its address and its code.
    pub(crate) fn next_link(&mut self) -> (String, String) {
        let mut output = String::new();
        self.stdout.read_line(&mut output).unwrap();
        let printed: Value = serde_json::from_str(&output).unwrap_or_else(|_| panic!("no link: {output:?}"));
        let link = printed["url"].as_str().unwrap();
        let (address, code) = link.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        (address.to_owned(), code.to_owned())
    }

    pub(crate) fn enter(&self, code: &str) -> (u16, Value) {
        self.send("POST", "/api/enter", &[], json!({ "code": code }).to_string().as_bytes())
    }

    /// Interrupts the inspector, and waits for its end. Returns its exit code.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }

    /// Types a line in the terminal.
    pub(crate) fn types(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::new(&self.address)
    }

    /// Sends a request without a token.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, Value) {
        let mut headers = headers.to_vec();
        if !headers.iter().any(|(name, _)| *name == "host") {
            headers.push(("host", &self.address));
        }
        let reply = self.connect().send(method, path, &headers, body);
        (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    /// Sends a request with the token.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let token = format!("Bearer {}", self.token);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &[("authorization", &token)], body.as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, reply) = self.ask("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {reply}");
        reply
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, reply) = self.ask("POST", path, body);
        assert_eq!(status, 200, "{path} {body}: {reply}");
        reply
    }

    /// Sends a request that is refused. Returns the status and the error.
    pub(crate) fn refused(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, reply) = self.ask("POST", path, body);
        assert_ne!(status, 200, "{path} {body}: {reply}");
        (status, reply["error"].clone())
    }

    pub(crate) fn state(&self) -> Value {
        self.get("/api/state")
    }

    /// Returns what is known of a server.
    pub(crate) fn server(&self, number: usize) -> Value {
        self.state()["servers"][number].clone()
    }

    /// Reads lines from now on, the kept ones first.
    pub(crate) fn stream(&self, path: &str) -> Lines {
        let token = format!("Bearer {}", self.token);
        let mut connection = self.connect();
        connection.write_head("GET", path, &[("host", &self.address), ("authorization", &token)], 0);
        let head = connection.read_head();
        assert_eq!(head.status, 200, "{path}");
        assert!(head.is_chunked);
        Lines { connection, rest: Vec::new(), began: Instant::now() }
    }

    pub(crate) fn events(&self) -> Lines {
        self.stream("/api/events?after=0")
    }

    /// Waits until a server is connected and its lists are known. Returns what is known of it.
    pub(crate) fn ready(&self) -> Value {
        self.events().until(|event| event["type"] == "catalog");
        self.server(0)
    }

    /// Waits until a server cannot be connected. Returns the error.
    pub(crate) fn failure(&self) -> Value {
        let event = self
            .events()
            .until(|event| event["type"] == "connection" && event["connection"]["state"] == "failed");
        event["connection"]["error"].clone()
    }

    /// Begins a call. Returns its number.
    pub(crate) fn begin(&self, request: &Value) -> u64 {
        let mut request = request.clone();
        if request["server"].is_null() {
            request["server"] = json!(0);
        }
        self.post("/api/call", &request)["call"].as_u64().unwrap()
    }

    /// Calls a tool, and returns everything about the call when it is over.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let call = self.begin(&json!({"kind": "tool", "name": tool, "arguments": arguments.to_string()}));
        self.over(call)
    }

    /// Waits until a call is over, and returns everything about it.
    pub(crate) fn over(&self, call: u64) -> Value {
        self.events().until(|event| is_over(event, call));
        self.get(&format!("/api/call?id={call}"))
    }

    /// Compares a call in both eras, and returns the comparison when it is done.
    pub(crate) fn both(&self, request: &Value) -> Value {
        let both = self.post("/api/both", request)["both"].as_u64().unwrap();
        self.events()
            .until(|event| event["type"] == "both" && event["id"] == both && event["state"] == "done");
        self.get(&format!("/api/both?id={both}"))
    }

    /// Returns the cassette of a server.
    pub(crate) fn cassette(&self, server: usize) -> String {
        let token = format!("Bearer {}", self.token);
        let headers = [("host", &*self.address), ("authorization", &*token)];
        let reply = self.connect().send("GET", &format!("/api/cassette?server={server}"), &headers, b"");
        assert_eq!(reply.status, 200);
        String::from_utf8(reply.body).unwrap()
    }

    /// Exports a call. Returns the text.
    pub(crate) fn export(&self, call: &Value, form: &str) -> String {
        let exported = self.post("/api/export", &json!({"call": call, "as": form}));
        exported["text"].as_str().unwrap().to_owned()
    }
}

/// Returns whether an event says that a call is over.
pub(crate) fn is_over(event: &Value, call: u64) -> bool {
    event["type"] == "call"
        && event["call"]["id"] == call
        && !matches!(event["call"]["state"].as_str(), Some("running" | "asking"))
}

impl Drop for Inspected {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection to an inspector.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

struct Head {
    status: u16,
    text: String,
    is_chunked: bool,
    length: usize,
}

impl Connection {
    pub(crate) fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    pub(crate) fn write_head(&mut self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) {
        use std::fmt::Write as _;
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "content-length: {length}\r\n\r\n").unwrap();
        self.write(head.as_bytes()).unwrap();
    }

    /// Sends a request, and reads the whole reply.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.write_head(method, path, headers, body.len());
        // A request that is refused before its body is read may close the connection.
        let _ = self.write(body);
        self.read(method)
    }

    /// Reads a whole reply.
    pub(crate) fn read(&mut self, method: &str) -> Reply {
        let head = self.read_head();
        let mut body = Vec::new();
        if method != "HEAD" {
            if head.is_chunked {
                while let Some(chunk) = self.read_chunk() {
                    body.extend(chunk);
                }
            } else {
                body.resize(head.length, 0);
                self.reader.read_exact(&mut body).unwrap();
            }
        }
        Reply { status: head.status, head: head.text, body }
    }

    fn read_head(&mut self) -> Head {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            let read = self.reader.read_line(&mut text).unwrap();
            assert!(read > 0, "the connection ended in a head: {text:?}");
        }
        let lower = text.to_ascii_lowercase();
        let value = |name: &str| lower.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        Head {
            status: text.split(' ').nth(1).unwrap().parse().unwrap(),
            is_chunked: value("transfer-encoding:") == Some("chunked"),
            length: value("content-length:").map_or(0, |length| length.parse().unwrap()),
            text,
        }
    }

    /// Reads the next piece of a body; `None` at its end.
    fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        self.reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("it ended: {size:?}"));
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// Waits until the other side closes the connection. Returns what it has sent before.
    pub(crate) fn until_closed(&mut self) -> String {
        let mut sent = Vec::new();
        // A connection may also end with a reset.
        if let Err(error) = self.reader.read_to_end(&mut sent) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the connection is still open");
        }
        String::from_utf8_lossy(&sent).into_owned()
    }
}

/// A stream of lines of JSON.
pub(crate) struct Lines {
    connection: Connection,
    rest: Vec<u8>,
    began: Instant,
}

impl Lines {
    pub(crate) fn next(&mut self) -> Value {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                // An empty line says that the stream is alive.
                if line.len() > 1 {
                    return serde_json::from_slice(&line).unwrap();
                }
            }
            // A stream that is alive but silent has empty lines.
            assert!(self.began.elapsed() < PATIENCE, "nothing that is wanted comes");
            let chunk = self.connection.read_chunk().expect("the stream goes on");
            self.rest.extend(chunk);
        }
    }

    /// Reads up to the first line that is wanted, and returns it.
    pub(crate) fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.next();
            if is_wanted(&line) {
                return line;
            }
        }
    }

    /// Reads up to the first line that is wanted, and returns all lines.
    pub(crate) fn all_until(&mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.next());
            if lines.last().is_some_and(&is_last) {
                return lines;
            }
        }
    }

    /// Waits for the next question of a server.
    pub(crate) fn question(&mut self) -> Value {
        self.until(|event| event["type"] == "question")["question"].clone()
    }
}
