//! Runs one case many times, for callgrind to count: `count CASE N`, or `count --list`.
//!
//! Counting two values of N and dividing the difference gives the cost of one operation, without start-up.

use std::hint::black_box;
use std::process::ExitCode;

use bytes::Bytes;
use http::Request as HttpRequest;
use http::header::{AUTHORIZATION, HeaderValue};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use toolway::auth::Auth;
use toolway::client::{
    AccessToken, Http, HttpBody, HttpClient, OAuth, OutgoingMessage, TokenRequest, TokenSource, Transport,
};
use toolway::server::Extensions;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, Client, ProtocolVersion};
use toolway_protocol::era::{Delivery, classify};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{ParsedFrame, parse};
use toolway_protocol::{Message, Request};

/// A call as a client of the stateless era sends it: 299 bytes.
const CALL: &str = r#"{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"add","arguments":{"a":17,"b":25},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench-client","version":"10.20.30"}}}}"#;

/// Runs a case the given number of times.
type Run = fn(&Runtime, usize);

const CASES: [(&str, Run); 23] = [
    ("parse-and-classify", parse_and_classify),
    ("parse-to-arguments", parse_to_arguments),
    ("nesting-32k", |_, times| hostile(times, &nesting(32 << 10))),
    ("nesting-64k", |_, times| hostile(times, &nesting(64 << 10))),
    ("keys-32k", |_, times| hostile(times, &keys(32 << 10))),
    ("keys-64k", |_, times| hostile(times, &keys(64 << 10))),
    ("escapes-32k", |_, times| hostile(times, &escapes(32 << 10))),
    ("escapes-64k", |_, times| hostile(times, &escapes(64 << 10))),
    ("stateless-http-call", |runtime, times| stateless_http_call(runtime, times, 3, None)),
    ("stateless-http-call-many-tools", |runtime, times| stateless_http_call(runtime, times, 1000, None)),
    ("stateless-http-call-verified", |runtime, times| stateless_http_call(runtime, times, 3, Some(token()))),
    ("session-http-call", |runtime, times| session_http_call(runtime, times, 1, None)),
    ("session-http-call-many-sessions", |runtime, times| session_http_call(runtime, times, 500, None)),
    ("session-http-call-verified", |runtime, times| session_http_call(runtime, times, 1, Some(token()))),
    ("stdio-call", stdio_call),
    ("tools-list-100", tools_list),
    ("call-three-typed", |runtime, times| in_process(runtime, times, "typed")),
    ("call-three-ruled", |runtime, times| in_process(runtime, times, "ruled")),
    ("client-call-stateless", |runtime, times| client_call(runtime, times, ProtocolVersion::LATEST)),
    ("client-call-handshake", |runtime, times| {
        client_call(runtime, times, ProtocolVersion::LATEST_HANDSHAKE);
    }),
    ("client-pipe-call", client_pipe_call),
    ("client-http-call", |runtime, times| client_http_call(runtime, times, Http::new(NOWHERE))),
    ("client-http-call-signed-in", |runtime, times| {
        client_http_call(runtime, times, Http::new(NOWHERE).oauth(OAuth::tokens(OneToken)));
    }),
];

#[expect(clippy::print_stdout, reason = "the list is what was asked for")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match arguments.as_slice() {
        [flag] if flag == "--list" => {
            for (name, _) in CASES {
                println!("{name}");
            }
            return ExitCode::SUCCESS;
        }
        [case, times] => {
            let found = CASES.iter().find(|(name, _)| name == case);
            if let (Some((_, run)), Ok(times)) = (found, times.parse()) {
                run(&runtime, times);
                return ExitCode::SUCCESS;
            }
        }
        _ => {}
    }
    eprintln!("usage: count CASE N | count --list");
    ExitCode::FAILURE
}

/// Measures the path from bytes to a claim, without a server.
fn parse_and_classify(_: &Runtime, times: usize) {
    let frame = Bytes::from_static(CALL.as_bytes());
    for _ in 0..times {
        let Ok(ParsedFrame::One(message)) = parse(&frame, Limits::default()) else { panic!("a good frame") };
        black_box(classify(&message, Delivery::Pipe)).expect("a good claim");
    }
}

/// Measures the path from bytes to typed arguments.
fn parse_to_arguments(_: &Runtime, times: usize) {
    #[derive(serde::Deserialize)]
    struct Arguments {
        a: i64,
        b: i64,
    }
    let frame = Bytes::from_static(CALL.as_bytes());
    for _ in 0..times {
        let Ok(ParsedFrame::One(message)) = parse(&frame, Limits::default()) else { panic!("a good frame") };
        black_box(classify(&message, Delivery::Pipe)).expect("a good claim");
        let Message::Request { method, params, .. } = message else { panic!("a request") };
        let Ok(Some(Request::CallTool(call))) = Request::decode(&method, &params) else { panic!("a call") };
        let arguments: Arguments = call.arguments.expect("arguments").decode().expect("two integers");
        black_box(arguments.a + arguments.b);
    }
}

/// Reads a message that was built to be slow. It is read once per hundred `times`, so the reported numbers are
/// hundredths.
fn hostile(times: usize, message: &str) {
    let frame = Bytes::copy_from_slice(message.as_bytes());
    for _ in 0..times / 100 {
        let Ok(ParsedFrame::One(message)) = parse(&frame, Limits::default()) else { panic!("a good frame") };
        black_box(classify(&message, Delivery::Pipe)).expect("a good claim");
        let Message::Request { method, params, .. } = message else { panic!("a request") };
        black_box(Request::decode(&method, &params)).expect("a good request");
    }
}

/// Brackets nested as deep as the limit allows, repeated up to `length` bytes.
fn nesting(length: usize) -> String {
    let tower = format!("{}{}", "[".repeat(120), "]".repeat(120));
    let towers = vec![tower.as_str(); length / (tower.len() + 1)].join(",");
    framed(&format!(r#""name":"a","arguments":{{"a":[{towers}]}}"#))
}

/// As many short keys as fit, all in `_meta`, the object that must not contain duplicate keys.
fn keys(length: usize) -> String {
    let keys: Vec<_> = (0..length / 11).map(|number| format!(r#""{number:06x}":0"#)).collect();
    framed(&format!(r#""name":"a","_meta":{{{}}}"#, keys.join(",")))
}

/// A name that consists only of escapes.
fn escapes(length: usize) -> String {
    framed(&format!(r#""name":"{}""#, r"\u0061".repeat(length / 6)))
}

fn framed(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{params}}}}}"#)
}

/// A transport that gives every call the same answer immediately.
struct Canned;

const OPENED: &str = r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"canned","version":"1"}}"#;
const ADDED: &str = r#""result":{"resultType":"complete","content":[{"type":"text","text":"42"}],"structuredContent":{"sum":42}}"#;

fn canned(outgoing: &OutgoingMessage) -> Option<Message> {
    let id = outgoing.id.as_ref()?;
    let result = if outgoing.method.name() == "tools/call" { ADDED } else { OPENED };
    let frame = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#));
    match parse(&frame, Limits::default()) {
        Ok(ParsedFrame::One(message)) => Some(message),
        _ => panic!("a good frame"),
    }
}

impl Transport for Canned {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        Box::pin(std::future::ready(Ok(canned(&outgoing))))
    }
}

#[derive(serde::Deserialize)]
struct Sum {
    sum: i64,
}

async fn add(client: &Client) {
    let result = client.call("add", serde_json::json!({"a": 17, "b": 25})).await.expect("a result");
    assert_eq!(result.decode::<Sum>().expect("a sum").sum, 42);
}

/// Measures a client call from its arguments to its typed result, without a real transport.
fn client_call(runtime: &Runtime, times: usize, version: ProtocolVersion) {
    runtime.block_on(async {
        let client = Client::builder().protocol(version).connect(Canned).await.expect("a client");
        for _ in 0..times {
            add(&client).await;
        }
    });
}

/// Answers every HTTP request itself.
struct CannedHttp;

impl HttpClient for CannedHttp {
    fn send(&self, request: HttpRequest<Bytes>) -> BoxFuture<'_, toolway::Result<http::Response<HttpBody>>> {
        Box::pin(async move {
            let body = std::str::from_utf8(request.body()).expect("a message");
            let id = body.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).and_then(|rest| rest.split(',').next());
            let result = if body.contains("tools/call") { ADDED } else { OPENED };
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{result}}}", id.expect("an id"));
            let response = http::Response::builder().header("content-type", "application/json");
            Ok(response.body(HttpBody::new(Full::new(Bytes::from(answer)))).expect("a response"))
        })
    }
}

/// A token that never expires.
struct OneToken;

impl TokenSource for OneToken {
    fn token(&self, _: TokenRequest) -> BoxFuture<'_, toolway::Result<AccessToken>> {
        Box::pin(async { Ok(AccessToken::new("a".repeat(800))) })
    }
}

const NOWHERE: &str = "http://localhost:8000/mcp";

/// Measures a client call over HTTP without a network.
fn client_http_call(runtime: &Runtime, times: usize, server: Http) {
    runtime.block_on(async {
        let server = server.with_client(CannedHttp);
        let client =
            Client::builder().protocol(ProtocolVersion::LATEST).connect(server).await.expect("a client");
        for _ in 0..times {
            add(&client).await;
        }
    });
}

/// Measures a client call over a pipe whose other end answers by hand.
fn client_pipe_call(runtime: &Runtime, times: usize) {
    let (near, far) = tokio::io::duplex(64 << 10);
    runtime.spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = tokio::io::BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // Every frame that a client sends begins with its id.
            let id = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).and_then(|rest| rest.split(',').next());
            let result = if line.contains("tools/call") { ADDED } else { OPENED };
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{result}}}\n", id.expect("an id"));
            writer.write_all(answer.as_bytes()).await.expect("somebody reads");
        }
    });
    runtime.block_on(async {
        let (reader, writer) = tokio::io::split(near);
        let client = Client::connect_io(reader, writer).await.expect("a client");
        for _ in 0..times {
            add(&client).await;
        }
    });
}

/// Measures the path from an HTTP request to an HTTP response: everything but the socket.
fn stateless_http_call(runtime: &Runtime, times: usize, tools: usize, token: Option<HeaderValue>) {
    let service = protected(tools, token.as_ref());
    runtime.block_on(async {
        for _ in 0..times {
            let mut call = request("tools/call", Some("add"), CALL);
            if let Some(token) = &token {
                call.headers_mut().insert(AUTHORIZATION, token.clone());
            }
            let response = service.handle(call).await;
            assert_eq!(response.status(), 200);
            black_box(response.into_body().collect().await).expect("a body");
        }
    });
}

/// Measures an HTTP call in a session of the handshake era; the calls take turns among the open sessions.
fn session_http_call(runtime: &Runtime, times: usize, sessions: usize, token: Option<HeaderValue>) {
    const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench-client","version":"10.20.30"}}}"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"add","arguments":{"a":17,"b":25}}}"#;
    let service = protected(3, token.as_ref());
    runtime.block_on(async {
        let mut open = Vec::new();
        for _ in 0..sessions {
            let opened = service.handle(of_session(None, token.as_ref(), OPEN)).await;
            open.push(opened.headers()["mcp-session-id"].clone());
        }
        for session in open.iter().cycle().take(times) {
            let response = service.handle(of_session(Some(session), token.as_ref(), CALL)).await;
            assert_eq!(response.status(), 200);
            black_box(response.into_body().collect().await).expect("a body");
        }
    });
}

/// Returns a token that is as long as those of identity providers.
fn token() -> HeaderValue {
    HeaderValue::from_str(&format!("Bearer {}", "t".repeat(900))).expect("a header")
}

/// Returns a server that accepts only this token, or all callers.
fn protected(tools: usize, token: Option<&HeaderValue>) -> HttpService {
    let server = bench::server(tools);
    let server = match token.and_then(|token| token.to_str().ok()?.strip_prefix("Bearer ")) {
        Some(token) => server.auth(Auth::resource("https://bench.example/mcp").tokens([(token, "bench")])),
        None => server,
    };
    server.build().expect("a server").http()
}

fn of_session(
    session: Option<&HeaderValue>,
    token: Option<&HeaderValue>,
    body: &'static str,
) -> HttpRequest<Full<Bytes>> {
    let mut request = HttpRequest::post("/mcp")
        .header("host", "127.0.0.1:8000")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
    }
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, token);
    }
    request.body(Full::new(Bytes::from_static(body.as_bytes()))).expect("a request")
}

/// Measures text to text in one process: dispatch, decode, check and encode, without a transport.
fn in_process(runtime: &Runtime, times: usize, tool: &str) {
    let server = bench::profiles().expect("a server");
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"name":"Ada","age":36,"score":9.5}}}}}}"#
    );
    runtime.block_on(async {
        for _ in 0..times {
            let reply = server.handle_json(call.as_str(), Extensions::new()).await.expect("a reply");
            assert!(reply.contains("Ada 36 9.5"), "{reply}");
            black_box(reply);
        }
    });
}

/// Measures listing a hundred tools.
fn tools_list(runtime: &Runtime, times: usize) {
    let list = CALL.replace(
        r#""tools/call","params":{"name":"add","arguments":{"a":17,"b":25},"#,
        r#""tools/list","params":{"#,
    );
    let service = bench::server(100).build().expect("a server").http();
    runtime.block_on(async {
        for _ in 0..times {
            let response = service.handle(request("tools/list", None, &list)).await;
            assert_eq!(response.status(), 200);
            black_box(response.into_body().collect().await).expect("a body");
        }
    });
}

fn request(method: &str, name: Option<&str>, body: &str) -> HttpRequest<Full<Bytes>> {
    let mut request = HttpRequest::post("/mcp")
        .header("host", "127.0.0.1:8000")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).expect("a request")
}

/// Measures a call of the handshake era over an in-memory pipe, with all lines already waiting.
fn stdio_call(runtime: &Runtime, times: usize) {
    let server = bench::server(3).build().expect("a server");
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":12345,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":17,\"b\":25}}}\n";
    let input = line.repeat(times);
    runtime.block_on(async {
        let mut output = Vec::new();
        server.serve_io(&input[..], &mut output).await.expect("served");
        output.flush().await.expect("flushed");
        assert_eq!(output.split_inclusive(|byte| *byte == b'\n').count(), times);
        black_box(output);
    });
}
