//! Unusual messages in valid HTTP: does each have only one reading, or is it refused?

use serde_json::json;

use crate::bytes::{After, Body, Case, case, refused, served, taken, try_all};
use crate::turn;
use crate::wire::{HANDSHAKE, LATEST, Served, framed, get, initialize, mirrored, post, stateless};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;

#[tokio::test]
async fn a_message_has_one_meaning_or_is_refused() {
    let _turn = turn().await;
    try_all(&served().await, texts()).await;
}

#[tokio::test]
async fn headers_that_say_something_else_than_the_message_are_refused() {
    let _turn = turn().await;
    let served = served().await;
    try_all(&served, mirrors()).await;
    let session = served.open("").await;
    try_all(&served, optional_mirrors(&session)).await;
}

#[tokio::test]
async fn forged_and_foreign_sessions_and_events_are_as_unknown_as_any() {
    let _turn = turn().await;
    let served = served().await;
    let cases = sessions(&served).await;
    try_all(&served, cases).await;
}

/// A message of the stateless era, as text.
fn sent(text: &[u8]) -> Vec<u8> {
    let length = text.len();
    framed(&format!("{}Content-Length: {length}\r\n", mirrored("server/discover", "")), text)
}

fn texts() -> Vec<Case> {
    let right = stateless("1", "server/discover", "");
    let with_id = |id: &str| sent(stateless(id, "server/discover", "").as_bytes());
    let with_param = |param: &str| sent(stateless("1", "server/discover", &format!("{param},")).as_bytes());
    let edited = |from: &str, to: &str| {
        assert!(right.contains(from));
        sent(right.replacen(from, to, 1).as_bytes())
    };
    let nested = |depth: usize| {
        // The message and its parameters are the first two levels.
        with_param(&format!(r#""x":{}{}"#, "[".repeat(depth - 2), "]".repeat(depth - 2)))
    };
    let utf16: Vec<u8> = right.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let broken = |name, sent| refused(name, sent, 400, PARSE_ERROR);
    let invalid = |name, sent| refused(name, sent, 400, INVALID_REQUEST);
    vec![
        broken("an empty body", sent(b"")),
        broken("blanks", sent(b" \r\n\t")),
        broken("two values", sent(format!("{right}{right}").as_bytes())),
        broken("a value and a word", sent(format!("{right} x").as_bytes())),
        broken("a byte order mark", sent(format!("\u{feff}{right}").as_bytes())),
        broken("UTF-16", sent(&utf16)),
        broken("invalid UTF-8", with_raw(&right, b"\xff")),
        broken("overlong UTF-8", with_raw(&right, b"\xc0\xaf")),
        broken("a surrogate in UTF-8", with_raw(&right, b"\xed\xa0\x80")),
        broken("a raw NUL in a text", with_raw(&right, b"\0")),
        broken("half a message", sent(&right.as_bytes()[..right.len() - 1])),
        broken("a comma too many", edited(r#""id":1,"#, r#""id":1,,"#)),
        broken("a number that is none", with_param(r#""x":01"#)),
        broken("NaN", with_param(r#""x":NaN"#)),
        broken("a comment", edited(r#""id":1,"#, r#""id":1,/**/"#)),
        invalid("129 levels", nested(129)),
        taken("128 levels", nested(128)),
        invalid("too many values", with_param(&format!(r#""x":[{}0]"#, "0,".repeat(500_000)))),
        invalid("method twice", edited(r#""method""#, r#""method":"ping","method""#)),
        invalid("id twice", edited(r#""id":1"#, r#""id":1,"id":2"#)),
        invalid("params twice", edited(r#""params""#, r#""params":{},"params""#)),
        invalid("jsonrpc twice", edited(r#""jsonrpc":"2.0""#, r#""jsonrpc":"2.0","jsonrpc":"2.0""#)),
        refused(
            "a member of _meta twice",
            edited(
                r#""_meta":{"#,
                &format!(r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{HANDSHAKE}","#),
            ),
            400,
            INVALID_PARAMS,
        ),
        refused("_meta twice", edited(r#""_meta""#, r#""_meta":{},"_meta""#), 400, INVALID_PARAMS),
        invalid("Method", edited(r#""method""#, r#""Method""#)),
        taken("Method beside method", edited(r#""method""#, r#""Method":"ping","method""#)),
        invalid(
            "a method that is escaped, and again",
            edited(r#""method""#, r#""m\u0065thod":"ping","method""#),
        ),
        invalid("NUL behind method", edited(r#""method""#, r#""method\u0000""#)),
        taken("NUL in a key", with_param(r#""a\u0000b":1"#)),
        refused("a long s", edited(r#""params""#, r#""param\u017f""#), 400, INVALID_PARAMS),
        taken("half a surrogate pair", with_param(r#""x":"\ud800""#)),
        // Keys are compared, so each of them must be text; values that are not read may contain anything.
        broken("half a surrogate pair as a key", with_param(r#""\udc00":1"#)),
        taken("a number beyond numbers", with_param(r#""x":1e400"#)),
        taken("minus nothing", with_param(r#""x":-0"#)),
        invalid("an id of null", with_id("null")),
        invalid("an id of truth", with_id("true")),
        invalid("an id of a list", with_id("[1]")),
        invalid("an id with a fraction", with_id("1.5")),
        invalid("an id beyond numbers", with_id("1e400")),
        taken("an id beyond a double", with_id("9007199254740993")),
        taken("a negative id", with_id("-1")),
        invalid("half a surrogate pair as an id", with_id(r#""\ud800""#)),
        invalid("a number", sent(b"7")),
        invalid("a batch of nothing", sent(b"[]")),
    ]
}

/// The message with these bytes inside a string.
fn with_raw(right: &str, bytes: &[u8]) -> Vec<u8> {
    let (front, back) = right.split_once(r#""params":{"#).unwrap();
    let front = format!(r#"{front}"params":{{"x":""#);
    sent(&[front.as_bytes(), bytes, b"\",", back.as_bytes()].concat())
}

fn mirrors() -> Vec<Case> {
    let call = stateless("1", "tools/call", r#""name":"add","arguments":{"a":1,"b":2},"#);
    let dressed = |headers: &str| post(headers, &call);
    let mismatch = |name, headers: &str| refused(name, dressed(headers), 400, HEADER_MISMATCH);
    let version = format!("MCP-Protocol-Version: {LATEST}\r\n");
    vec![
        taken("the same", dressed(&mirrored("tools/call", "add"))),
        taken("the same in Base64", dressed(&mirrored("tools/call", "=?base64?YWRk?="))),
        mismatch("another method", &mirrored("tools/list", "add")),
        mismatch("another name", &mirrored("tools/call", "sub")),
        mismatch("a name in other letters", &mirrored("tools/call", "ADD")),
        mismatch("broken Base64", &mirrored("tools/call", "=?base64?YW!k?=")),
        mismatch("Base64 without its end", &mirrored("tools/call", "=?base64?YWRk")),
        mismatch("Base64 of another name", &mirrored("tools/call", "=?base64?c3Vi?=")),
        mismatch("no method", &format!("{version}Mcp-Name: add\r\n")),
        mismatch("no name", &mirrored("tools/call", "")),
        mismatch("two names", &format!("{}Mcp-Name: sub\r\n", mirrored("tools/call", "add"))),
        mismatch("two versions", &format!("{version}{}", mirrored("tools/call", "add"))),
        mismatch("another version", &mirrored("tools/call", "add").replace(LATEST, HANDSHAKE)),
        mismatch("no version", "Mcp-Method: tools/call\r\nMcp-Name: add\r\n"),
    ]
}

/// In the revisions with a handshake the headers are optional, but must be right.
fn optional_mirrors(session: &str) -> Vec<Case> {
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let dressed = |headers: &str| post(&format!("{session}{headers}"), &call);
    let mismatch = |name, headers: &str| refused(name, dressed(headers), 400, INVALID_REQUEST);
    let params = json!({"name": "locate", "arguments": {"region": "eu"}});
    let locate = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let located = |headers: &str| post(&format!("{session}{headers}"), &locate);
    vec![
        taken("no copy of an argument", located("")),
        taken("a copy of an argument", located("Mcp-Param-Region: eu\r\n")),
        refused("another argument", located("Mcp-Param-Region: us\r\n"), 400, INVALID_REQUEST),
        taken("no headers", dressed("")),
        taken("the method", dressed("Mcp-Method: tools/call\r\n")),
        taken("method and name", dressed("Mcp-Method: tools/call\r\nMcp-Name: add\r\n")),
        taken("the name in Base64", dressed("Mcp-Name: =?base64?YWRk?=\r\n")),
        mismatch("another method", "Mcp-Method: tools/list\r\n"),
        mismatch("another name", "Mcp-Name: sub\r\n"),
        mismatch("two names", "Mcp-Name: add\r\nMcp-Name: sub\r\n"),
        mismatch("broken Base64", "Mcp-Name: =?base64?YW!k?=\r\n"),
        refused(
            "a notification with another method",
            post(&format!("{session}Mcp-Method: tools/call\r\n"), &ready),
            400,
            INVALID_REQUEST,
        ),
    ]
}

async fn sessions(served: &Served) -> Vec<Case> {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let (mine, other) = (served.open("").await, served.open("").await);
    let ann = served.open("X-Who: ann\r\n").await;
    let of_ann = ann.strip_prefix("X-Who: ann\r\n").unwrap().to_owned();
    // A stream of the other session, and the id of its first event.
    let mut wire = served.connect().await;
    wire.send(&get(&other)).await;
    assert_eq!(wire.head().await.unwrap().status, 200);
    let events = wire.until("id: ").await;
    let event = events.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let named = |id: &str| format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {HANDSHAKE}\r\n");
    let unknown = |name, headers: &str| refused(name, post(headers, &ping), 404, INVALID_REQUEST);
    let back = |last: &str| get(&format!("{mine}Last-Event-ID: {last}\r\n"));
    let no_event = |name, last: &str| refused(name, back(last), 400, INVALID_REQUEST);
    let bad_bytes = [back("x"), Vec::new()].concat();
    let at = bad_bytes.windows(4).position(|part| part == b": x\r").unwrap() + 2;
    let bad_bytes = [&bad_bytes[..at], b"\xff\x80\t", &bad_bytes[at..]].concat();
    vec![
        taken("one's own", post(&mine, &ping)),
        taken("ann's own", post(&ann, &ping)),
        unknown("ann's, by nobody", &of_ann),
        unknown("ann's, by bob", &format!("X-Who: bob\r\n{of_ann}")),
        unknown("nobody's, by ann", &format!("X-Who: ann\r\n{mine}")),
        refused("ann's stream, by bob", get(&format!("X-Who: bob\r\n{of_ann}")), 404, INVALID_REQUEST),
        unknown("a forged one", &named(&"0".repeat(32))),
        unknown("one of 10 KiB", &named(&"a".repeat(10 << 10))),
        unknown("an empty one", &named("")),
        unknown("one with a path", &named("../../etc/passwd")),
        refused("two", post(&format!("{mine}{other}"), &ping), 400, INVALID_REQUEST),
        refused("one's own, twice", post(&format!("{mine}{mine}"), &ping), 400, INVALID_REQUEST),
        refused("none", post("", &ping), 400, INVALID_REQUEST),
        no_event("an event of another session", &event),
        no_event("a forged event", "0123456789abcdef.1"),
        no_event("an event without a number", "0123456789abcdef"),
        no_event("an event beyond numbers", "0123456789abcdef.99999999999999999999"),
        no_event("a path as an event", "../../x.1"),
        no_event("an event of 10 KiB", &"a".repeat(10 << 10)),
        refused("odd bytes as an event", bad_bytes, 400, INVALID_REQUEST),
        case("a second opening on a session", post(&mine, &initialize()), 200, Body::Result, After::Open),
    ]
}
