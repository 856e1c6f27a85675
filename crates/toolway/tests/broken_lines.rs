//! Ten thousand broken lines: does each of them get the one right answer, and does none leave memory behind?
//!
//! The generator knows what is wrong with a line, because it broke it, and states what the protocol requires: no
//! answer, or one error with its code and its id. It never uses our parser. First comes the conversation, then the ways
//! to break a line, then their parts.
//!
//! A test binary of its own, because it counts the memory of the whole process.
//!
//! `SEED=7 cargo test -p toolway --test broken_lines` generates other lines; a failure prints its seed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use peak_alloc::PeakAlloc;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use toolway::prelude::*;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Conversations: the revision that `initialize` requests, and the number of broken lines that follow.
const CONVERSATIONS: [(Option<&str>, usize); 4] =
    [(Some("2025-11-25"), 2_500), (None, 2_500), (Some("2024-11-05"), 2_500), (Some("2025-03-26"), 2_500)];
/// Broken lines before memory is measured, so that buffers have grown to their size.
const WARM_UP: usize = 1_000;
/// The most memory that the server may use beyond its idle size.
const MOST_MEMORY: usize = 64 << 20;
/// Longer than `MOST_MEMORY`, to detect a server that buffers a line which is too long to be read.
const ENDLESS: usize = MOST_MEMORY + (16 << 20);
const MAX_LINE: usize = 16 << 10;
/// The capacity of the pipe in one direction.
const PIPE: usize = 64 << 10;
/// The maximum nesting that the library documents.
const MAX_DEPTH: usize = 128;
const DEFAULT_SEED: u64 = 20_260_728;

#[tokio::test]
async fn ten_thousand_broken_lines_get_their_right_answers_and_leave_nothing_behind() {
    let seed = std::env::var("SEED").map_or(DEFAULT_SEED, |seed| seed.parse().unwrap());
    let server = Server::new("lines", "1.0.0").strict().max_message(MAX_LINE).state(Gate(Semaphore::new(0)));
    let server = server.tools(tools![hold, echo, double]).build().unwrap();
    let random = Random(seed.max(1));
    let mut source = Source { random, opened: false, has_batches: false, drawn: 0, seed };
    let mut floor = None;
    for (opening, count) in CONVERSATIONS {
        source.opened = opening.is_some();
        source.has_batches = opening == Some("2025-03-26");
        let mut talk = Talk::start(&server).await;
        if let Some(version) = opening {
            talk.open(version).await;
        }
        talk.hold().await;
        talk.round(WARM_UP, &mut source).await;
        talk.full_pipes().await;

        let idle = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        talk.round(count, &mut source).await;
        // Not earlier: a buffer that keeps its size would then count as idle memory.
        talk.endless_line().await;
        talk.full_pipes().await;
        let (peak, after) = (MEMORY.peak_usage(), MEMORY.current_usage());
        assert!(peak - idle < MOST_MEMORY, "{opening:?}: {peak} bytes at the peak, {idle} when idle");
        assert!(is_within(1, after, idle), "{opening:?}: {after} bytes after {count} lines, {idle} before");

        talk.end(&server).await;
        let left = MEMORY.current_usage();
        // The server caches the tool list for each revision after the first request for it.
        let floor = *floor.get_or_insert(left);
        assert!(is_within(5, left, floor), "{opening:?}: {left} bytes left, {floor} after the first one");
    }
}

fn is_within(percent: usize, bytes: usize, expected: usize) -> bool {
    bytes.abs_diff(expected) * 100 <= expected * percent
}

struct Gate(Semaphore);

/// Waits until the gate opens: its id is in use as long.
#[tool]
async fn hold(gate: State<Gate>) -> &'static str {
    gate.0.acquire().await.unwrap().forget();
    "held to the end"
}

/// Says it again.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Twice as much.
#[tool]
fn double(number: f64) -> f64 {
    number * 2.0
}

/// The ids of the two calls that run all the time.
const HELD: [&str; 2] = ["77", "\"held\""];

/// A server behind a pipe, driven with raw lines.
struct Talk {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    task: JoinHandle<toolway::Result<()>>,
    pings: u64,
}

impl Talk {
    async fn start(server: &Server) -> Self {
        let (mut near, mut far) = tokio::io::duplex(PIPE);
        stretch(&mut near, &mut far).await;
        stretch(&mut far, &mut near).await;
        let server = server.clone();
        let task = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            server.serve_io(reader, writer).await
        });
        let (reader, writer) = tokio::io::split(near);
        Self { writer, lines: BufReader::new(reader).lines(), task, pings: 0 }
    }

    async fn send(&mut self, line: &[u8]) {
        self.writer.write_all(line).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(5), self.lines.next_line()).await;
        let line = line.expect("an answer within five seconds").unwrap().expect("an answer before the end");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns all answers so far: those that arrive before the answer to a ping.
    async fn answers(&mut self) -> Vec<Value> {
        self.pings += 1;
        let id = format!("ping {}", self.pings);
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string().as_bytes()).await;
        let pong = json!({"jsonrpc": "2.0", "id": id, "result": {}});
        let mut answers = Vec::new();
        loop {
            let answer = self.receive().await;
            if answer == pong {
                return answers;
            }
            answers.push(answer);
        }
    }

    async fn open(&mut self, version: &str) {
        self.send(format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#).as_bytes()).await;
        assert_eq!(self.receive().await["result"]["protocolVersion"], version);
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    async fn hold(&mut self) {
        for id in HELD {
            let call = Frame::request(id, "tools/call").params(r#"{"name":"hold"}"#);
            self.send(call.text().as_bytes()).await;
        }
        assert_eq!(self.answers().await, Vec::<Value>::new(), "both calls are running");
    }

    /// Sends `count` broken lines, a few at a time, sometimes with a valid one among them.
    async fn round(&mut self, count: usize, source: &mut Source) {
        let mut left = count;
        let mut reached = BTreeMap::<&str, usize>::new();
        while left > 0 {
            let mut lines = Vec::new();
            for _ in 0..(1 + source.random.below(12)).min(left) {
                let line = source.broken_line();
                *reached.entry(line.kind).or_default() += 1;
                lines.push(line);
                left -= 1;
            }
            if source.random.one_in(4) {
                lines.insert(source.random.below(lines.len() + 1), source.right_line());
            }
            self.exchange(&lines, source.seed).await;
        }
        self.exchange(&[source.right_line()], source.seed).await;
        assert_eq!(reached.len(), KINDS.len(), "every way to break a line was taken: {reached:?}");
    }

    async fn exchange(&mut self, lines: &[Line], seed: u64) {
        for line in lines {
            self.send(&line.bytes).await;
        }
        let answers = self.answers().await;
        let mut rest = answers.iter();
        let fits = lines.iter().all(|line| match &line.due {
            Due::Silence => true,
            due => rest.next().is_some_and(|answer| due.is(answer)),
        });
        if fits && rest.as_slice().is_empty() {
            return;
        }
        let mut told = format!("SEED={seed}: what came back is not what the protocol wants\n");
        for Line { kind, bytes, due } in lines {
            let shown = bytes[..bytes.len().min(400)].escape_ascii();
            writeln!(told, "  sent, {kind}: {shown}\n    due: {due:?}").unwrap();
        }
        for answer in &answers {
            writeln!(told, "  came: {answer}").unwrap();
        }
        panic!("{told}");
    }

    /// Sends a line that is far too long and otherwise looks valid.
    async fn endless_line(&mut self) {
        let piece = [b' '; 8 << 10];
        self.writer.write_all(br#"{"jsonrpc":"2.0","id":1,"#).await.unwrap();
        for _ in 0..ENDLESS / piece.len() {
            self.writer.write_all(&piece).await.unwrap();
        }
        self.send(br#""method":"ping"}"#).await;
        let answers = self.answers().await;
        assert!(
            matches!(&answers[..], [answer] if error(INVALID_REQUEST, Some("1")).is(answer)),
            "{answers:?}"
        );
    }

    /// Sends more than the pipe holds, in both directions, before anything is read, so that every buffer reaches its
    /// maximum size.
    async fn full_pipes(&mut self) {
        let text = "x".repeat(MAX_LINE - 200);
        let params = json!({"name": "echo", "arguments": {"text": text}}).to_string();
        let call = Frame::request("1", "tools/call").params(&params).text();
        for _ in 0..10 {
            self.send(call.as_bytes()).await;
        }
        let due = Due::Text(json!(1), text);
        let answers = self.answers().await;
        assert!(answers.len() == 10 && answers.iter().all(|answer| due.is(answer)));
    }

    /// Completes the two held calls, which must still run, and closes the pipe.
    async fn end(mut self, server: &Server) {
        server.state::<Gate>().unwrap().0.add_permits(HELD.len());
        let mut held = [self.receive().await, self.receive().await];
        held.sort_by_key(|answer| answer["id"].is_string());
        for (answer, id) in held.iter().zip(HELD) {
            assert!(Due::Text(id_value(id), "held to the end".into()).is(answer), "{answer}");
        }
        self.writer.shutdown().await.unwrap();
        assert_eq!(self.lines.next_line().await.unwrap(), None, "nothing was left to say");
        self.task.await.unwrap().unwrap();
    }
}

/// Grows a pipe's buffer to its maximum. The pipe is not part of the server, and would grow at an unpredictable time
/// otherwise.
async fn stretch(from: &mut DuplexStream, to: &mut DuplexStream) {
    let mut bytes = vec![0; PIPE];
    from.write_all(&bytes).await.unwrap();
    // A third is free at the front, which is too little to be used by moving the rest there.
    to.read_exact(&mut bytes[..PIPE / 3]).await.unwrap();
    from.write_all(&bytes[..PIPE / 3]).await.unwrap();
    to.read_exact(&mut bytes).await.unwrap();
}

/// A line to send, and the expected answer.
struct Line {
    kind: &'static str,
    bytes: Vec<u8>,
    due: Due,
}

#[derive(Debug)]
enum Due {
    Silence,
    /// An error with this code; without an id if the id cannot be read.
    Error {
        code: i64,
        id: Option<Value>,
    },
    /// A failed tool: a result, because the model should see it.
    Failure(Value),
    /// A tool result with this text.
    Text(Value, String),
    /// A valid request; its result has this member, or none.
    Result(Value, Option<&'static str>),
    /// All of these in one array.
    Array(Vec<Due>),
}

impl Due {
    fn is(&self, answer: &Value) -> bool {
        if let Self::Array(dues) = self {
            let fits = |answers: &Vec<Value>| {
                answers.len() == dues.len() && dues.iter().zip(answers).all(|(due, answer)| due.is(answer))
            };
            return answer.as_array().is_some_and(fits);
        }
        let Some(members) = answer.as_object() else { return false };
        let is_answer_to = |id: Option<&Value>, outcome: &str| {
            members.get("jsonrpc") == Some(&json!("2.0"))
                && members.get("id") == id
                && members.contains_key(outcome)
                && members.len() == 2 + usize::from(id.is_some())
        };
        match self {
            Self::Silence | Self::Array(_) => false,
            Self::Error { code, id } => {
                let error = &answer["error"];
                let names_versions = error["data"]["requested"].is_string()
                    && error["data"]["supported"] == json!(["2026-07-28"]);
                is_answer_to(id.as_ref(), "error")
                    && error["code"] == *code
                    && error["message"].as_str().is_some_and(|message| !message.is_empty())
                    && (names_versions || *code != UNSUPPORTED_VERSION)
            }
            Self::Failure(id) => is_answer_to(Some(id), "result") && answer["result"]["isError"] == true,
            Self::Text(id, text) => {
                is_answer_to(Some(id), "result")
                    && answer["result"]["content"][0]["text"] == *text
                    && answer["result"].get("isError").is_none_or(|failed| failed == false)
            }
            Self::Result(id, member) => {
                is_answer_to(Some(id), "result")
                    && member.is_none_or(|member| answer["result"].get(member).is_some())
            }
        }
    }
}

// protocol.md 1.7.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// An error for the request with this `id`, a JSON text.
fn error(code: i64, id: Option<&str>) -> Due {
    Due::Error { code, id: id.map(id_value) }
}

fn id_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Generates lines.
struct Source {
    random: Random,
    /// `true` if the conversation was opened with `initialize`.
    opened: bool,
    /// `true` if its revision has batches.
    has_batches: bool,
    drawn: usize,
    seed: u64,
}

type Break = fn(&mut Source) -> (Vec<u8>, Due);

/// The ways to break a line, used in turn.
const KINDS: [(&str, Break); 34] = [
    ("cut off", cut_off),
    ("a byte that makes it no JSON", flipped),
    ("almost JSON", almost_json),
    ("not UTF-8", not_utf8),
    ("a NUL byte", nul),
    ("a byte order mark", byte_order_mark),
    ("blank", blank),
    ("no object", no_object),
    ("a batch", batch),
    ("too long", too_long),
    ("as long as may be", as_long_as_may_be),
    ("too deep", too_deep),
    ("as deep as may be", as_deep_as_may_be),
    ("a wrong version of JSON-RPC", wrong_jsonrpc),
    ("an odd id", odd_id),
    ("an id in use", id_in_use),
    ("a wrong method", wrong_method),
    ("a member missing", member_missing),
    ("request and reply in one", request_and_reply),
    ("a key twice", key_twice),
    ("a lone surrogate", lone_surrogate),
    ("an unknown method", unknown_method),
    ("a method that is not offered", method_not_offered),
    ("wrong params", wrong_params),
    ("a wrong initialize", wrong_initialize),
    ("a wrong tools/list", wrong_tools_list),
    ("a wrong tools/call", wrong_tools_call),
    ("wrong arguments", wrong_arguments),
    ("a notification with rubbish", rubbish_notification),
    ("a cancel with rubbish", rubbish_cancel),
    ("a reply that nobody wants", stray_reply),
    ("a broken reply", broken_reply),
    ("a wrong envelope", wrong_envelope),
    ("a stateless request for what is not there", stateless_absent),
];

impl Source {
    fn broken_line(&mut self) -> Line {
        let (kind, break_it) = KINDS[self.drawn % KINDS.len()];
        self.drawn += 1;
        let (mut bytes, due) = break_it(self);
        // White space at the ends has no meaning; lines whose length matters are left unchanged.
        if bytes.len() < MAX_LINE / 2 && self.random.one_in(4) {
            let (before, after) =
                self.random.pick(&[("", "\r"), (" ", ""), ("\t", " \r"), ("", "\t "), ("  ", "  ")]);
            bytes = [before.as_bytes(), &bytes, after.as_bytes()].concat();
        }
        Line { kind, bytes, due }
    }

    fn right_line(&mut self) -> Line {
        let id = self.id();
        let text = format!("{} \u{e9}\n", self.random.next());
        let call = Frame::request(&id, "tools/call");
        let arguments = json!({"text": text});
        let (frame, due) = match self.random.below(3) {
            0 => {
                let params = format!(r#"{{"name":"echo","arguments":{arguments}}}"#);
                (call.params(&params), Due::Text(id_value(&id), text))
            }
            1 => {
                let params = format!(r#"{{"_meta":{{{ENVELOPE}}},"arguments":{arguments},"name":"echo"}}"#);
                (call.params(&params), Due::Text(id_value(&id), text))
            }
            _ => (Frame::request(&id, "tools/list"), Due::Result(id_value(&id), Some("tools"))),
        };
        Line { kind: "right", bytes: self.shuffled(frame), due }
    }

    /// A valid id that is not in use, as JSON text.
    fn id(&mut self) -> String {
        match self.random.below(4) {
            0 => self.random.word(IDS).to_owned(),
            // Even, and so never 77.
            1 => (self.random.next().cast_signed() >> self.random.below(50) & !1).to_string(),
            2 => format!("\"{}\"", self.random.next()),
            _ => format!("\"{}\"", "long ".repeat(self.random.below(200))),
        }
    }

    /// A valid request.
    fn request(&mut self) -> (Frame, String) {
        let id = self.id();
        let frame = match self.random.below(5) {
            0 => Frame::request(&id, "ping"),
            1 => Frame::request(&id, "tools/list").params("{}"),
            2 => Frame::request(&id, "tools/call").params(r#"{"name":"echo","arguments":{"text":"t"}}"#),
            3 => Frame::request(&id, "server/discover").params(&format!(r#"{{"_meta":{{{ENVELOPE}}}}}"#)),
            _ => Frame::request(&id, "tools/call")
                .params(&format!(r#"{{"name":"double","arguments":{{"number":2}},"_meta":{{{ENVELOPE}}}}}"#)),
        };
        (frame, id)
    }

    /// Puts the members in random order: the mistake may come before the id or after it.
    fn shuffled(&mut self, mut frame: Frame) -> Vec<u8> {
        for last in (1..frame.0.len()).rev() {
            frame.0.swap(last, self.random.below(last + 1));
        }
        frame.text().into_bytes()
    }

    /// A valid request as bytes.
    fn request_line(&mut self) -> Vec<u8> {
        let (frame, _) = self.request();
        self.shuffled(frame)
    }

    /// A frame, and the error that its sender gets.
    fn refused(&mut self, frame: Frame, code: i64, id: &str) -> (Vec<u8>, Due) {
        (self.shuffled(frame), error(code, Some(id)))
    }

    /// A frame, and the error without an id that it gets.
    fn refused_unread(&mut self, frame: Frame, code: i64) -> (Vec<u8>, Due) {
        (self.shuffled(frame), error(code, None))
    }

    /// A text that differs every time.
    fn text(&mut self) -> String {
        format!(
            "{}{}",
            self.random.word("a/b x notifications/ \u{e9} $ tools tools/ / rpc."),
            self.random.next()
        )
    }
}

// An unreadable line has no id: JSON-RPC 5.1, and protocol.md BASE-4.

fn cut_off(source: &mut Source) -> (Vec<u8>, Due) {
    let mut line = source.request_line();
    line.truncate(1 + source.random.below(line.len() - 1));
    (line, error(PARSE_ERROR, None))
}

fn flipped(source: &mut Source) -> (Vec<u8>, Due) {
    loop {
        let mut line = source.request_line();
        for _ in 0..=source.random.below(3) {
            let at = source.random.below(line.len());
            line[at] ^= 1 << source.random.below(8);
        }
        // `serde_json` decides what is JSON; our scanner does not use it.
        let is_json =
            str::from_utf8(&line).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        if !is_json && !line.contains(&b'\n') {
            return (line, error(PARSE_ERROR, None));
        }
    }
}

fn almost_json(source: &mut Source) -> (Vec<u8>, Due) {
    let value = source.random.word(ALMOST_VALUES).to_owned();
    let (frame, _) = source.request();
    let line = match source.random.below(6) {
        0 => source.shuffled(frame.with("x", &value)),
        1 => source.shuffled(frame.with("x", &format!("[1,{value}]"))),
        2 => source.shuffled(frame.with("x", "\"a\tb\u{1f}\"")),
        3 => [frame.text(), source.random.word("} ] , {} 0 // \u{a0}").to_owned()].concat().into_bytes(),
        4 => frame.text().replace('"', "'").into_bytes(),
        _ => frame.text().replacen(':', source.random.word("= :: , ;"), 1).into_bytes(),
    };
    (line, error(PARSE_ERROR, None))
}

fn not_utf8(source: &mut Source) -> (Vec<u8>, Due) {
    let bytes: &[u8] = source.random.pick(&[
        &b"\xff"[..],
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xe2\x82",
        b"\xf5\x80\x80\x80",
        b"\x80",
    ]);
    let (frame, _) = source.request();
    let mut line = source.shuffled(frame.with("x", "\"here\""));
    // Mostly inside a string, where only the encoding is wrong.
    let inside = line.windows(4).position(|part| part == b"here").unwrap();
    let at = if source.random.one_in(4) { source.random.below(line.len() + 1) } else { inside };
    line.splice(at..at, bytes.iter().copied());
    (line, error(PARSE_ERROR, None))
}

fn nul(source: &mut Source) -> (Vec<u8>, Due) {
    let mut line = source.request_line();
    match source.random.below(3) {
        0 => line.insert(source.random.below(line.len() + 1), 0),
        1 => line.extend([0; 3]),
        _ => line = vec![0; 1 + source.random.below(9)],
    }
    (line, error(PARSE_ERROR, None))
}

/// RFC 8259, 8.1: a sender must not add one; a reader may ignore it. We refuse it; this test pins that.
fn byte_order_mark(source: &mut Source) -> (Vec<u8>, Due) {
    ([b"\xef\xbb\xbf", &*source.request_line()].concat(), error(PARSE_ERROR, None))
}

fn blank(source: &mut Source) -> (Vec<u8>, Due) {
    let length = source.random.below(40) * source.random.below(2);
    ((0..length).map(|_| source.random.pick(b" \t\r")).collect(), Due::Silence)
}

fn no_object(source: &mut Source) -> (Vec<u8>, Due) {
    let value = source.random.word(r#"null true false 0 -1.5e3 1e999 "" "ping" "\ud800" 00"#);
    let code = if value == "00" { PARSE_ERROR } else { INVALID_REQUEST };
    (value.into(), error(code, None))
}

/// Only 2025-03-26 has batches (BASE-7); there each message gets its own answer.
fn batch(source: &mut Source) -> (Vec<u8>, Due) {
    let (mut elements, mut dues, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..source.random.below(4) {
        let (element, due) = match source.random.below(5) {
            0 => {
                let id = source.id();
                (Frame::request(&id, "ping").text(), Due::Result(id_value(&id), None))
            }
            1 => {
                let id = source.id();
                let opening = r#"{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
                (Frame::request(&id, "initialize").params(opening).text(), error(INVALID_REQUEST, Some(&id)))
            }
            2 => (Frame::notification("notifications/initialized").text(), Due::Silence),
            3 => (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), Due::Silence),
            _ => (source.random.word("7 null [] {} [[]]").to_owned(), error(INVALID_REQUEST, None)),
        };
        let due = match due {
            Due::Result(id, _) | Due::Error { id: Some(id), .. } if ids.contains(&id) => {
                Due::Error { code: INVALID_REQUEST, id: Some(id) }
            }
            due => due,
        };
        if let Due::Result(id, _) | Due::Error { id: Some(id), .. } = &due {
            ids.push(id.clone());
        }
        elements.push(element);
        if !matches!(due, Due::Silence) {
            dues.push(due);
        }
    }
    let mut line = format!("[{}]", elements.join(","));
    let is_too_long = source.random.one_in(20);
    if is_too_long {
        line = format!("[{}0]", "0,".repeat(300));
    }
    let due = if is_too_long || elements.is_empty() || !source.has_batches {
        error(INVALID_REQUEST, None)
    } else if dues.is_empty() {
        Due::Silence
    } else {
        Due::Array(dues)
    };
    (line.into_bytes(), due)
}

/// A valid request of this length.
fn padded(source: &mut Source, length: usize) -> (Vec<u8>, String) {
    let (frame, id) = source.request();
    let missing = length - frame.clone().with("pad", "\"\"").text().len();
    let line = source.shuffled(frame.with("pad", &format!("\"{}\"", "p".repeat(missing))));
    assert_eq!(line.len(), length);
    (line, id)
}

fn too_long(source: &mut Source) -> (Vec<u8>, Due) {
    let more = source.random.pick(&[1, 2, 7, 4_000, 70_000]);
    let (mut line, id) = padded(source, MAX_LINE + more);
    let id = match source.random.below(4) {
        0 => {
            line.fill(b'{');
            None
        }
        1 => {
            line[MAX_LINE / 2..].fill(0xff);
            None
        }
        _ => Some(&*id),
    };
    (line, error(INVALID_REQUEST, id))
}

fn as_long_as_may_be(source: &mut Source) -> (Vec<u8>, Due) {
    let less = source.random.below(3);
    let (line, id) = padded(source, MAX_LINE - less);
    (line, Due::Result(id_value(&id), None))
}

/// Nested brackets.
fn nested(source: &mut Source, levels: usize) -> String {
    let (open, close) = source.random.pick(&[("[", "]"), ("{\"a\":", "}"), ("[0, {\"b\" : ", "}]")]);
    let each = open.matches(['[', '{']).count();
    let mut text = open.repeat(levels / each) + "0";
    text.push_str(&close.repeat(levels / each));
    if levels.is_multiple_of(each) { text } else { format!("[{text}]") }
}

fn too_deep(source: &mut Source) -> (Vec<u8>, Due) {
    let more = source.random.pick(&[1, 1, 2, 50, 1_000]);
    let (id, frame) = (source.id(), Frame::request("0", "ping"));
    let frame = match source.random.below(3) {
        0 => frame.with("x", &nested(source, MAX_DEPTH - 1 + more)),
        1 => frame.params(&format!(r#"{{"a":{}}}"#, nested(source, MAX_DEPTH - 2 + more))),
        _ => frame.params(&format!(r#"{{"_meta":{{"a":{}}}}}"#, nested(source, MAX_DEPTH - 3 + more))),
    };
    source.refused_unread(frame.set("id", &id), INVALID_REQUEST)
}

fn as_deep_as_may_be(source: &mut Source) -> (Vec<u8>, Due) {
    let less = source.random.below(5);
    let id = source.id();
    let ping = Frame::request(&id, "ping");
    let (frame, due) = match source.random.below(3) {
        0 => (ping.with("x", &nested(source, MAX_DEPTH - 1 - less)), Due::Result(id_value(&id), None)),
        1 => {
            let params = format!(r#"{{"_meta":{{"a":{}}}}}"#, nested(source, MAX_DEPTH - 3 - less));
            (ping.params(&params), Due::Result(id_value(&id), None))
        }
        _ => {
            let params = format!(
                r#"{{"name":"echo","arguments":{{"text":{}}}}}"#,
                nested(source, MAX_DEPTH - 3 - less)
            );
            (Frame::request(&id, "tools/call").params(&params), Due::Failure(id_value(&id)))
        }
    };
    (source.shuffled(frame), due)
}

// The message itself: JSON-RPC 4 and 5, protocol.md BASE-1 to BASE-6.

fn wrong_jsonrpc(source: &mut Source) -> (Vec<u8>, Due) {
    let value =
        source.random.word(r#"null true 2 2.0 "2" "1.0" "2.00" "" "2.0\u0000" [] {} ["2.0"] "\ud800""#);
    let (frame, id) = source.request();
    source.refused(frame.set("jsonrpc", value), INVALID_REQUEST, &id)
}

fn odd_id(source: &mut Source) -> (Vec<u8>, Due) {
    let (frame, _) = source.request();
    let huge = "9".repeat(20 + source.random.below(400));
    let value = match source.random.below(3) {
        0 => &*huge,
        _ => source.random.word(
            r#"null true false 1.5 -0.1 1e999 -1e-999 {} [] [1] {"id":1} "\ud800" "\udc00\ud800" 9223372036854775808 -9223372036854775809 18446744073709551616"#,
        ),
    };
    source.refused_unread(frame.set("id", value), INVALID_REQUEST)
}

fn id_in_use(source: &mut Source) -> (Vec<u8>, Due) {
    let (frame, _) = source.request();
    let id = source.random.pick(&HELD);
    // The same id, spelled with escapes.
    let spelt =
        if id == "77" { id } else { source.random.word(r#""held" "h\u0065ld" "\u0068\u0065\u006C\u0064""#) };
    source.refused(frame.set("id", spelt), INVALID_REQUEST, id)
}

fn wrong_method(source: &mut Source) -> (Vec<u8>, Due) {
    let value =
        source.random.word(r#"null true 1 1.5 1e999 [] {} ["ping"] {"ping":1} "\ud800" "ping\udfff""#);
    let (frame, id) = source.request();
    let frame = frame.set("method", value);
    // Not a notification either: JSON-RPC 7 answers `{"jsonrpc": "2.0", "method": 1}` with an error without an id.
    if source.random.one_in(4) {
        return source.refused_unread(frame.without("id"), INVALID_REQUEST);
    }
    source.refused(frame, INVALID_REQUEST, &id)
}

fn member_missing(source: &mut Source) -> (Vec<u8>, Due) {
    let (frame, id) = source.request();
    match source.random.below(6) {
        0 => source.refused(frame.without("jsonrpc"), INVALID_REQUEST, &id),
        1 => source.refused(frame.without("method"), INVALID_REQUEST, &id),
        2 => source.refused(frame.without("method").without("jsonrpc"), INVALID_REQUEST, &id),
        3 => source.refused_unread(frame.without("method").without("id"), INVALID_REQUEST),
        4 => source.refused_unread(Frame(Vec::new()), INVALID_REQUEST),
        _ => (source.shuffled(frame.without("id")), Due::Silence),
    }
}

fn request_and_reply(source: &mut Source) -> (Vec<u8>, Due) {
    let (frame, id) = source.request();
    let value = source.random.word(r#"{} null 0 {"code":1,"message":"m"}"#);
    let frame = match source.random.below(3) {
        0 => frame.with("result", value),
        1 => frame.with("error", value),
        _ => frame.with("error", value).with("result", "{}"),
    };
    if source.random.one_in(4) {
        return source.refused_unread(frame.without("id"), INVALID_REQUEST);
    }
    source.refused(frame, INVALID_REQUEST, &id)
}

/// Two parsers may read such a message differently (RFC 8259, 4), so we refuse it; this test pins that.
fn key_twice(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let call = Frame::request(&id, "tools/call");
    let right = call.clone().params(r#"{"name":"echo","arguments":{"text":"t"}}"#);
    let (frame, code) = match source.random.below(14) {
        0 => (right.with("id", &id), INVALID_REQUEST),
        1 => (right.with("\\u0069d", &id), INVALID_REQUEST),
        2 => (right.with("jsonrpc", "\"2.0\""), INVALID_REQUEST),
        3 => (right.with("method", "\"ping\""), INVALID_REQUEST),
        4 => (right.with("params", "{}"), INVALID_REQUEST),
        5 => (right.with("x", "1").with("y", "2").with("x", "3"), INVALID_REQUEST),
        6 => (call.params(r#"{"name":"echo","name":"double"}"#), INVALID_PARAMS),
        7 => (call.params(r#"{"name":"echo","arguments":{"text":"t"},"arguments":{}}"#), INVALID_PARAMS),
        8 => (call.params(r#"{"name":"echo","_meta":{},"_meta":{}}"#), INVALID_PARAMS),
        9 => (call.params(r#"{"name":"echo","_meta":{"a":1,"b":2,"\u0061":3}}"#), INVALID_PARAMS),
        10 => (call.params(r#"{"name":"echo","arguments":{"text":"t","text":"t"}}"#), INVALID_PARAMS),
        11 => (call.params(r#"{"name":"echo","arguments":{"x":[{"a":1,"\u0061":1}]}}"#), INVALID_PARAMS),
        12 => (call.params(r#"{"name":"echo","_meta":{"a":{"b":1,"b":1}}}"#), INVALID_PARAMS),
        _ => {
            (call.params(&format!(r#"{{"name":"echo","_meta":{{{ENVELOPE},{ENVELOPE}}}}}"#)), INVALID_PARAMS)
        }
    };
    source.refused(frame, code, &id)
}

/// JSON's grammar allows lone surrogates, but they are not characters (RFC 8259, 8.2), so they cannot be read as text.
/// A key with one, in a place where keys are read, makes the line unreadable; this test pins that.
fn lone_surrogate(source: &mut Source) -> (Vec<u8>, Due) {
    let lone = source.random.word(r"\ud800 \uDFFF a\udc00\ud800b \ud83d\u0041 \ud83dx");
    let (frame, id) = source.request();
    let call = Frame::request(&id, "tools/call");
    match source.random.below(8) {
        0 => source.refused_unread(Frame(vec![(lone.to_owned(), "1".into())]), PARSE_ERROR),
        1 => source.refused_unread(call.params(&format!(r#"{{"{lone}":1}}"#)), PARSE_ERROR),
        2 => source.refused_unread(call.params(&format!(r#"{{"_meta":{{"{lone}":1}}}}"#)), PARSE_ERROR),
        3 => source.refused_unread(frame.set("id", &format!("\"{lone}\"")), INVALID_REQUEST),
        4 => source.refused(frame.set("method", &format!("\"{lone}\"")), INVALID_REQUEST, &id),
        5 => source.refused(call.params(&format!(r#"{{"name":"{lone}"}}"#)), INVALID_PARAMS, &id),
        6 => {
            let frame = call.params(&format!(r#"{{"name":"echo","arguments":{{"text":"{lone}"}}}}"#));
            (source.shuffled(frame), Due::Failure(id_value(&id)))
        }
        _ => (source.shuffled(frame.with("x", &format!("\"{lone}\""))), Due::Result(id_value(&id), None)),
    }
}

// Methods: protocol.md 1.2, 1.3 and 1.7, T-1, PNG-2, VER-8.

fn unknown_method(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let method = match source.random.below(3) {
        0 => source.text(),
        1 => source.random.word(NOTIFICATIONS).to_owned(),
        _ => source.random.word(UNKNOWN).to_owned(),
    };
    let mut frame = Frame::request(&id, &method);
    if source.random.one_in(2) {
        frame = frame.params(&rubbish_object(source));
    }
    source.refused(frame, METHOD_NOT_FOUND, &id)
}

/// This server only has tools, and has declared so.
fn method_not_offered(source: &mut Source) -> (Vec<u8>, Due) {
    let (id, method) = (source.id(), source.random.word(NOT_OFFERED));
    let params = match source.random.below(2) {
        0 => rubbish_object(source),
        _ => source
            .random
            .word(r#"{"uri":"a://b"} {"uri":7} {"name":7} {"cursor":{}} {"level":"loud"} {"notifications":[]} {"ref":null} {"argument":1}"#)
            .to_owned(),
    };
    source.refused(Frame::request(&id, method).params(&params), METHOD_NOT_FOUND, &id)
}

/// MCP only allows objects, JSON-RPC also arrays. A scalar could also be reported as an invalid request; this test pins
/// our choice.
fn wrong_params(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let method = source.random.word("ping tools/list tools/call initialize");
    let wrong = source.random.word(NO_OBJECT);
    let params = match source.random.below(3) {
        0 => wrong.to_owned(),
        1 => format!(r#"{{"name":"echo","_meta":{wrong}}}"#),
        _ => format!(r#"{{"_meta":{wrong}}}"#),
    };
    source.refused(Frame::request(&id, method).params(&params), INVALID_PARAMS, &id)
}

fn wrong_initialize(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let frame = Frame::request(&id, "initialize");
    let (no_text, no_object) = (source.random.word(NO_TEXT), source.random.word(NO_OBJECT));
    let (version, capabilities, info) = (r#""2025-06-18""#, "{}", r#"{"name":"c","version":"1"}"#);
    let params = |version: &str, capabilities: &str, info: &str| {
        format!(r#"{{"protocolVersion":{version},"capabilities":{capabilities},"clientInfo":{info}}}"#)
    };
    // A conversation is opened only once.
    if source.opened && source.random.one_in(8) {
        return source.refused(frame.params(&params(version, capabilities, info)), INVALID_REQUEST, &id);
    }
    let params = match source.random.below(12) {
        0 => return source.refused(frame, INVALID_PARAMS, &id),
        1 => "{}".to_owned(),
        2 => params(no_text, capabilities, info),
        3 => params(version, no_object, info),
        4 => params(version, capabilities, no_object),
        5 => params(version, capabilities, "{}"),
        6 => params(version, capabilities, &format!(r#"{{"name":{no_text},"version":"1"}}"#)),
        7 => params(version, capabilities, &format!(r#"{{"name":"c","version":{no_text}}}"#)),
        8 => params(version, capabilities, r#"{"version":"1"}"#),
        9 => format!(r#"{{"capabilities":{{}},"clientInfo":{info}}}"#),
        10 => format!(r#"{{"protocolVersion":{version},"clientInfo":{info}}}"#),
        _ => format!(r#"{{"protocolVersion":{version},"capabilities":{{}}}}"#),
    };
    source.refused(frame.params(&params), INVALID_PARAMS, &id)
}

/// Params of either era: some have the envelope.
fn era_params(source: &mut Source, members: &str) -> String {
    if source.random.one_in(2) {
        format!("{{{members}}}")
    } else {
        format!(r#"{{{members},"_meta":{{{ENVELOPE}}}}}"#)
    }
}

/// A list of one page has issued no cursor (PAG-2).
fn wrong_tools_list(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let cursor = if source.random.one_in(3) {
        source.random.word(r#""" "x" "\u0000" "0""#)
    } else {
        source.random.word(NO_TEXT)
    };
    let params = era_params(source, &format!(r#""cursor":{cursor}"#));
    source.refused(Frame::request(&id, "tools/list").params(&params), INVALID_PARAMS, &id)
}

fn wrong_tools_call(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let frame = Frame::request(&id, "tools/call");
    let (no_text, no_object) = (source.random.word(NO_TEXT), source.random.word(NO_OBJECT));
    let members = match source.random.below(8) {
        0 => return source.refused(frame, INVALID_PARAMS, &id),
        1 => format!(r#""name":{no_text}"#),
        2 => r#""arguments":{"text":"t"}"#.to_owned(),
        3 => format!(r#""name":"echo","arguments":{no_object}"#),
        4 => format!(r#""name":{},"arguments":{{}}"#, json!(source.text())),
        5 => r#""name":"echo\u0000""#.to_owned(),
        // Only the stateless era has these two.
        6 => format!(r#""name":"echo","requestState":{no_text},"_meta":{{{ENVELOPE}}}"#),
        _ => format!(r#""name":"echo","inputResponses":{no_object},"_meta":{{{ENVELOPE}}}"#),
    };
    let params =
        if members.contains("_meta") { format!("{{{members}}}") } else { era_params(source, &members) };
    source.refused(frame.params(&params), INVALID_PARAMS, &id)
}

/// Arguments that the schema refuses are reported to the model (TOL-6, T-10).
fn wrong_arguments(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let (name, argument) = source.random.pick(&[("echo", "text"), ("double", "number")]);
    let wrong = match name {
        "echo" => source.random.word(NO_TEXT).to_owned(),
        _ => match source.random.below(3) {
            0 => format!("1{}", "0".repeat(400)),
            _ => source.random.word(r#"null true "2" [] {} [2] 1e999 -1e999"#).to_owned(),
        },
    };
    let arguments = match source.random.below(4) {
        0 => "{}".to_owned(),
        1 => format!(r#"{{"{argument}s":{wrong}}}"#),
        _ => format!(r#"{{"{argument}":{wrong}}}"#),
    };
    let params = era_params(source, &format!(r#""name":"{name}","arguments":{arguments}"#));
    let frame = Frame::request(&id, "tools/call").params(&params);
    (source.shuffled(frame), Due::Failure(id_value(&id)))
}

// Notifications and replies: JSON-RPC 4.1 and 5, protocol.md BASE-6, CAN-2, CAN-7, T-52.

fn rubbish_notification(source: &mut Source) -> (Vec<u8>, Due) {
    let method = match source.random.below(6) {
        0 => source.text(),
        1 => source.random.word(UNKNOWN).to_owned(),
        2 => source.random.word(NOT_OFFERED).to_owned(),
        3 => source.random.word("ping tools/list tools/call initialize server/discover").to_owned(),
        _ => source.random.word(NOTIFICATIONS).to_owned(),
    };
    let frame = Frame::notification(&method);
    let frame = match source.random.below(6) {
        0 => frame,
        1 => frame.params(source.random.word(NO_OBJECT)),
        2 => frame.params(&format!(r#"{{"_meta":{}}}"#, source.random.word(NO_OBJECT))),
        3 => frame.params(&format!(r#"{{"_meta":{{{}}}}}"#, broken_envelope(source).0)),
        4 => frame.params(r#"{"name":"echo","name":1,"_meta":{"a":1,"a":2},"_meta":{}}"#),
        _ => frame.params(&rubbish_object(source)),
    };
    (source.shuffled(frame), Due::Silence)
}

/// None of them validly names a running call, so those keep running.
fn rubbish_cancel(source: &mut Source) -> (Vec<u8>, Due) {
    let params = match source.random.below(4) {
        0 => source.random.word(NO_OBJECT).to_owned(),
        1 => format!(r#"{{"requestId":{}}}"#, source.random.word(NO_CANCEL)),
        2 => format!(r#"{{"requestId":77,"reason":{}}}"#, source.random.word("7 true [] {} 1e999")),
        _ => source
            .random
            .word(r#"{} {"requestid":77} {"id":77} {"requestId":77,"requestId":77} {"_meta":{"requestId":77}} {"requestId":77,"_meta":7}"#)
            .to_owned(),
    };
    (source.shuffled(Frame::notification("notifications/cancelled").params(&params)), Due::Silence)
}

fn stray_reply(source: &mut Source) -> (Vec<u8>, Due) {
    let id = if source.random.one_in(4) { source.random.pick(&HELD).to_owned() } else { source.id() };
    let frame = Frame(vec![("jsonrpc".into(), "\"2.0\"".into())]);
    let frame = match source.random.below(4) {
        0 => frame.with("id", &id).with("result", &rubbish_object(source)),
        1 => frame.with("id", &id).with("error", r#"{"code":-32601,"message":"no","data":[1e999]}"#),
        2 => frame.with("id", "null").with("error", r#"{"code":-32700,"message":""}"#),
        _ => frame.with("error", r#"{"message":"m","code":0}"#),
    };
    (source.shuffled(frame), Due::Silence)
}

/// The id of a reply, if it has one, belongs to a request of ours. An error with that id would look like the answer to
/// a request of the peer that happens to have the same id.
fn broken_reply(source: &mut Source) -> (Vec<u8>, Due) {
    let id = if source.random.one_in(4) { source.random.pick(&HELD).to_owned() } else { source.id() };
    let frame = Frame(vec![("jsonrpc".into(), "\"2.0\"".into())]);
    let right = r#"{"code":1,"message":"m"}"#;
    let frame = match source.random.below(6) {
        0 => frame.with("result", "{}"),
        1 => frame.with("id", source.random.word("null 1.5 [] {} true")).with("result", "{}"),
        2 => frame.with("id", &id).with("result", "{}").with("error", right),
        3 => frame.with("id", &id).set("jsonrpc", "\"1.0\"").with("result", "{}"),
        4 => frame.with("id", &id).with("result", "{}").with("result", "{}"),
        _ => frame.with("id", &id).with(
            "error",
            source.random.word(
                r#"null 7 "text" [] {} [1,"m"] {"code":1} {"message":"m"} {"code":"1","message":"m"} {"code":1.5,"message":"m"} {"code":1e999,"message":"m"} {"code":1,"message":7} {"code":1,"message":null}"#,
            ),
        ),
    };
    source.refused_unread(frame, INVALID_REQUEST)
}

// The stateless era: protocol.md 2.3 (6b and "stdio"), META-2, VER-2, T-1, T-13.

/// The members of `_meta` in every stateless request.
const ENVELOPE: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// The members of an invalid envelope in `_meta`, and the code of the error.
fn broken_envelope(source: &mut Source) -> (String, i64) {
    let (no_text, no_object) = (source.random.word(NO_TEXT), source.random.word(NO_OBJECT));
    let put = |version: &str, capabilities: &str, more: &str| {
        format!(
            r#""io.modelcontextprotocol/clientCapabilities":{capabilities},"io.modelcontextprotocol/protocolVersion":{version}{more}"#
        )
    };
    let right = r#""2026-07-28""#;
    let unknown = source.random.word(
        r#""2024-11-05" "2025-03-26" "2025-06-18" "2025-11-25" "2026-07-29" "2026-07-28\u0000" "" "DRAFT" "1" "2099-01-01""#,
    );
    let info = |info: &str| format!(r#","io.modelcontextprotocol/clientInfo":{info}"#);
    match source.random.below(11) {
        0 => (r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#.to_owned(), INVALID_PARAMS),
        1 => (put(no_text, "{}", ""), INVALID_PARAMS),
        2 => (put(right, no_object, ""), INVALID_PARAMS),
        3 => {
            let kind = source.random.word("sampling elicitation roots experimental extensions");
            let value = source.random.word(r#"true 7 "text" []"#);
            (put(right, &format!(r#"{{"{kind}":{value}}}"#), ""), INVALID_PARAMS)
        }
        4 => (put(right, "{}", &info(no_object)), INVALID_PARAMS),
        5 => (put(right, "{}", &info(r#"{"name":"c"}"#)), INVALID_PARAMS),
        6 => (put(right, "{}", &info(&format!(r#"{{"name":{no_text},"version":"1"}}"#))), INVALID_PARAMS),
        7 => {
            let level = source.random.word(r#"null 7 [] {} "loud" "" "Info" "warn""#);
            (put(right, "{}", &format!(r#","io.modelcontextprotocol/logLevel":{level}"#)), INVALID_PARAMS)
        }
        // Malformed members are reported before unknown values.
        8 => (put(unknown, no_object, ""), INVALID_PARAMS),
        _ => (put(unknown, "{}", ""), UNSUPPORTED_VERSION),
    }
}

fn wrong_envelope(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    let (meta, code) = broken_envelope(source);
    // The envelope is checked before the method.
    let method = match source.random.below(5) {
        0 => source.random.word(UNKNOWN),
        1 => source.random.word(NOT_OFFERED),
        _ => source.random.word("tools/list tools/call server/discover initialize ping"),
    };
    let params = format!(r#"{{"name":"echo","arguments":{{"text":"t"}},"_meta":{{{meta}}}}}"#);
    source.refused(Frame::request(&id, method).params(&params), code, &id)
}

fn stateless_absent(source: &mut Source) -> (Vec<u8>, Due) {
    let id = source.id();
    if source.random.one_in(4) {
        // Without an envelope these are requests of the handshake era, which does not know them.
        let method = source.random.word("server/discover subscriptions/listen");
        let params = source.random.word(
            r#"{} {"_meta":{}} {"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}} {"_meta":{"protocolVersion":"2026-07-28"}}"#,
        );
        return source.refused(Frame::request(&id, method).params(params), METHOD_NOT_FOUND, &id);
    }
    let method = match source.random.below(4) {
        0 => source.text(),
        1 => source.random.word(UNKNOWN).to_owned(),
        2 => source.random.word(NOT_OFFERED).to_owned(),
        // The stateless era has neither.
        _ => source.random.word("initialize ping").to_owned(),
    };
    let params = format!(
        r#"{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}},"_meta":{{{ENVELOPE}}}}}"#
    );
    source.refused(Frame::request(&id, &method).params(&params), METHOD_NOT_FOUND, &id)
}

/// An object with random values and meaningless keys.
fn rubbish_object(source: &mut Source) -> String {
    let mut text = String::from("{");
    for number in 0..source.random.below(4) {
        let value =
            if source.random.one_in(6) { nested(source, 20) } else { source.random.word(NO_TEXT).to_owned() };
        write!(text, "{}\"key {number}\":{value}", if number == 0 { "" } else { "," }).unwrap();
    }
    text + "}"
}

// Words, separated by single spaces.
const IDS: &str = r#"0 1 -1 77000 9223372036854775807 -9223372036854775808 "" "7" "77" "null" "\u00e9" "😀" "\ud83d\ude00" "a\u0000b" "\"\\\/\b" "HELD""#;
const NO_TEXT: &str = r#"null true false 7 -1.5 1e999 [] {} ["text"] "\ud800""#;
const NO_OBJECT: &str = r#"null true false 7 -0.5 1e999 "text" "{}" [] [{}] [[]]"#;
const NO_CANCEL: &str = r#"null true 77.5 1e999 "77" "HELD" "" [] {} ["held"] [77] {"requestId":77} 9223372036854775808 -77 "held\ud800""#;
const ALMOST_VALUES: &str = r#"tru nul NaN Infinity -Infinity undefined 01 -01 +1 .5 1. 1.e5 1e 1e+ 0x10 1_000 - 'a' "\x41" "\u12g4" "\u12" "a {"a"} {"a":} {a:1} {"a":1,} [1,] [,1] [1 {"a":1 [} {] /**/ "\" True"#;
const NOTIFICATIONS: &str = "notifications/initialized notifications/cancelled notifications/progress notifications/message notifications/tools/list_changed notifications/prompts/list_changed notifications/resources/list_changed notifications/resources/updated notifications/roots/list_changed notifications/elicitation/complete notifications/tasks/status notifications/subscriptions/acknowledged notifications/tasks notifications/unheard/of";
const NOT_OFFERED: &str = "resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe prompts/list prompts/get completion/complete";
const UNKNOWN: &str = "tasks/get tasks/cancel tasks/result tasks/list tasks/update skills/list skills/get resources/directory/read sampling/createMessage roots/list elicitation/create no/such Ping PING ping/ /ping tools tools/ tools/Call rpc.discover shutdown exit $/cancelRequest";

/// A message as a list of members, with keys and values as they are written, so that one of them can be broken.
#[derive(Clone)]
struct Frame(Vec<(String, String)>);

impl Frame {
    fn request(id: &str, method: &str) -> Self {
        Self::notification(method).with("id", id)
    }

    fn notification(method: &str) -> Self {
        Self(Vec::new()).with("jsonrpc", "\"2.0\"").with("method", &json!(method).to_string())
    }

    fn params(self, text: &str) -> Self {
        self.with("params", text)
    }

    fn with(mut self, key: &str, value: &str) -> Self {
        self.0.push((key.to_owned(), value.to_owned()));
        self
    }

    fn without(mut self, key: &str) -> Self {
        self.0.retain(|(name, _)| name != key);
        self
    }

    fn set(self, key: &str, value: &str) -> Self {
        self.without(key).with(key, value)
    }

    fn text(&self) -> String {
        let members: Vec<_> = self.0.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// A repeatable source of random numbers (xorshift64*); 0 is the only state that it never leaves.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from((self.next() >> 32) % limit as u64).unwrap()
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn word<'a>(&mut self, from: &'a str) -> &'a str {
        let words: Vec<_> = from.split(' ').collect();
        self.pick(&words)
    }
}
