//! How does a host speak to a proxy: over stdin and stdout, or over HTTP? And how does a server written by hand answer?

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A host that has started a command.
pub(crate) struct Host {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Host {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads a line, without its line break.
    pub(crate) fn read_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the proxy ended");
        line.trim_end_matches('\n').to_owned()
    }

    pub(crate) fn read(&mut self) -> Value {
        serde_json::from_str(&self.read_line()).unwrap()
    }

    pub(crate) fn read_until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Sends a request, and returns its answer.
    pub(crate) fn ask(&mut self, id: &Value, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.read_until(|message| message["id"] == *id && message["method"].is_null())
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let reply = self.ask(&json!("init"), "initialize", &initialize_params(version));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        reply
    }

    /// Closes the input, and returns the exit code.
    pub(crate) fn leave(&mut self) -> Option<i32> {
        self.input.take();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn initialize_params(version: &str) -> Value {
    let capabilities = json!({"elicitation": {}});
    json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "host", "version": "1"}})
}

/// The `_meta` of a request that describes itself.
pub(crate) fn stateless_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A connection with one HTTP request, whose response is read bit by bit.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    reader: BufReader<TcpStream>,
}

/// Sends an HTTP request, and reads the head of the response.
pub(crate) fn request(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let mut head = format!("{method} /{path} HTTP/1.1\r\nConnection: close\r\n");
    let defaults = [
        ("Host", address),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let is_set = |name: &str| headers.iter().any(|(set, _)| set.eq_ignore_ascii_case(name));
    for (name, value) in defaults.iter().filter(|(name, _)| !is_set(name)).chain(headers) {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let length = body.len();
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}")).parse().unwrap();
    Response { status, headers: read_headers(&mut reader), reader }
}

fn read_headers(reader: &mut impl BufRead) -> HashMap<String, String> {
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            return headers;
        }
        let (name, value) = line.split_once(':').unwrap();
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
}

impl Response {
    /// Reads the rest.
    pub(crate) fn text(mut self) -> String {
        let mut text = String::new();
        self.reader.read_to_string(&mut text).unwrap();
        text
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// Reads up to the next event with data; returns its id and its data. `None` at the end of the stream.
    pub(crate) fn event(&mut self) -> Option<(String, String)> {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(found) = line.strip_prefix("id: ") {
                found.clone_into(&mut id);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((id, data.to_owned()));
            }
        }
    }

    /// Reads up to the answer to a request: the whole body, or one of its events.
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        if self.headers["content-type"] == "application/json" {
            let mut text = String::new();
            self.reader.read_to_string(&mut text).unwrap();
            return serde_json::from_str(&text).unwrap();
        }
        loop {
            let (_, data) = self.event().expect("the stream ended");
            let message: Value = serde_json::from_str(&data).unwrap();
            if message["id"] == *id && message["method"].is_null() {
                return message;
            }
        }
    }
}

/// A host that uses a URL, with a session.
pub(crate) struct UrlHost {
    pub(crate) url: String,
    pub(crate) session: String,
    pub(crate) version: String,
}

impl UrlHost {
    pub(crate) fn open(url: &str, version: &str) -> Self {
        let params = initialize_params(version);
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = request(url, "POST", &[], &message.to_string());
        assert_eq!(response.status, 200);
        let session = response.headers["mcp-session-id"].clone();
        assert_eq!(response.json()["result"]["protocolVersion"], version);
        let host = Self { url: url.to_owned(), session, version: version.to_owned() };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(host.send("POST", &[], &initialized.to_string()).status, 202);
        host
    }

    pub(crate) fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let own = [("Mcp-Session-Id", &*self.session), ("MCP-Protocol-Version", &*self.version)];
        request(&self.url, method, &[&own, headers].concat(), body)
    }

    pub(crate) fn start(&self, id: &Value, method: &str, params: &Value) -> Response {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send("POST", &[], &message.to_string())
    }

    /// Sends a request, and returns its answer.
    pub(crate) fn ask(&self, id: &Value, method: &str, params: &Value) -> Value {
        let mut response = self.start(id, method, params);
        assert_eq!(response.status, 200);
        response.answer(id)
    }
}

/// Calls a tool with a request that describes itself, over HTTP.
pub(crate) fn call_stateless(
    url: &str,
    id: &Value,
    tool: &str,
    arguments: &Value,
    token: Option<&str>,
) -> Response {
    let mut meta = stateless_meta();
    if let Some(token) = token {
        meta["progressToken"] = token.into();
    }
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    request(url, "POST", &headers, &message.to_string())
}

/// A request to a server that is written by hand.
pub(crate) struct Arrived {
    pub(crate) method: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Arrived {
    pub(crate) fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let headers = read_headers(&mut reader);
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let method = line.split(' ').next()?.to_owned();
        Some(Self { method, headers, body: String::from_utf8(body).unwrap() })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}
