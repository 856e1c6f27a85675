//! Does the protocol crate keep its guarantees for any bytes?
//!
//! First come the properties: each takes one input and panics when the library breaks a guarantee. Then come the input
//! generators, and last the tests that combine them. The fuzz targets in `fuzz/` use the same properties, so each is
//! defined once.
//!
//! `SEED=7 cargo test -p toolway-protocol --test any_bytes` generates other inputs; a failure prints its seed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use toolway_protocol::era::{Claim, Delivery, classify};
use toolway_protocol::http::header::{MirroredHeader, MirroredHeaders, decode, encode};
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{
    Code, Message, Params, ParsedFrame, Rejection, parse, write_error, write_request,
};
use toolway_protocol::meta::Key;
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request, RpcError};

/// Counts the outcomes of a run, to detect an input generator that reaches nothing.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    not_json: usize,
    refused: usize,
    accepted: usize,
    stateless: usize,
    decoded: usize,
}

/// Parses a frame, and parses it again with `serde_json`: both must find the same.
pub(crate) fn a_frame_is_read_as_serde_json_reads_it(frame: &[u8], reached: &mut Reached) -> Vec<Message> {
    let _told = ToldOnPanic(frame);
    let outcome = parse(&Bytes::copy_from_slice(frame), Limits::default());
    let code = outcome.as_ref().err().map(|rejected| rejected.error.code);
    let document = serde_json::from_slice::<&RawValue>(frame).ok();
    let elements = document.map(elements_of).unwrap_or_default();
    let is_readable = document.is_some() && elements.iter().all(|element| keys_are_readable(element));
    if deepest(frame) > Limits::default().depth {
        // Whichever comes first decides, the depth or invalid JSON; a text that is otherwise valid is too deep.
        let is_right =
            code == Some(Code::INVALID_REQUEST) || (code == Some(Code::PARSE_ERROR) && !is_readable);
        assert!(is_right, "nested too deeply, and yet {outcome:?}");
        reached.refused += 1;
        return Vec::new();
    }
    assert_eq!(code == Some(Code::PARSE_ERROR), !is_readable, "{outcome:?}");
    if !is_readable {
        reached.not_json += 1;
        return Vec::new();
    }
    let is_array = document.is_some_and(|document| document.get().starts_with('['));
    let outcomes = match outcome {
        Ok(ParsedFrame::Batch(outcomes)) => {
            assert!(is_array);
            outcomes
        }
        Err(rejected) if is_array => {
            assert_eq!((rejected.error.code, rejected.id), (Code::INVALID_REQUEST, None));
            assert!(
                elements.is_empty() || elements.len() > 100,
                "only a batch of a wrong size is refused whole"
            );
            return Vec::new();
        }
        Ok(ParsedFrame::One(message)) => vec![Ok(message)],
        Err(rejected) => vec![Err(rejected)],
    };
    assert_eq!(outcomes.len(), elements.len());
    let mut messages = Vec::new();
    for (outcome, element) in outcomes.into_iter().zip(elements) {
        match outcome {
            Ok(message) => {
                a_message_says_what_its_text_says(&message, element);
                reached.accepted += 1;
                messages.push(message);
            }
            Err(rejected) => {
                a_refusal_has_a_code_and_the_id(&rejected, element);
                reached.refused += 1;
            }
        }
    }
    messages
}

fn a_refusal_has_a_code_and_the_id(rejected: &Rejection, text: &RawValue) {
    let code = rejected.error.code;
    assert!([Code::INVALID_REQUEST, Code::INVALID_PARAMS].contains(&code), "{rejected:?}");
    let members = members_of(text).unwrap_or_default();
    let has = |name| !all_named(name, &members).is_empty();
    match all_named("id", &members)[..] {
        [] => assert_eq!(rejected.id, None),
        // The id of a broken reply is not an id of the sender.
        _ if !has("method") && (has("result") || has("error")) => assert_eq!(rejected.id, None),
        [id] => assert_eq!(rejected.id, id_by_serde_json(id)),
        // With two ids, either may be reported.
        _ => assert_eq!(code, Code::INVALID_REQUEST),
    }
}

fn a_message_says_what_its_text_says(message: &Message, text: &RawValue) {
    let members = members_of(text).unwrap();
    let names: HashSet<_> = members.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), members.len(), "a key that occurs twice is refused: {text}");
    if is_ambiguous(message) {
        return;
    }
    assert!(!has_key_twice(text), "a key that occurs twice is refused, at any depth: {text}");
    let one = |name| all_named(name, &members).first().copied();
    assert_eq!(one("jsonrpc").map(RawValue::get), Some("\"2.0\""));
    assert_eq!(message.id(), one("id").and_then(id_by_serde_json).as_ref());
    match message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            assert_eq!(matches!(message, Message::Request { .. }), one("id").is_some());
            let name: String = serde_json::from_str(one("method").unwrap().get()).unwrap();
            assert_eq!(*method, Method::from_name(&name));
            assert_eq!(text_of(params.text().as_ref()), one("params").map(RawValue::get));
            params_say_what_their_text_says(params);
        }
        Message::Response { outcome: Ok(result), .. } => {
            assert_eq!(result.as_str(), one("result").unwrap().get());
        }
        Message::Response { outcome: Err(error), .. } => {
            let members = members_of(one("error").unwrap()).expect("an error is an object");
            let [code, message] = ["code", "message"]
                .map(|name| serde_json::from_str::<Value>(all_named(name, &members)[0].get()).unwrap());
            assert_eq!((code, message), (error.code.0.into(), (*error.message).into()));
        }
    }
}

/// Returns whether a reply was replaced by an error, because it has a key twice.
fn is_ambiguous(message: &Message) -> bool {
    let Message::Response { outcome: Err(error), .. } = message else { return false };
    error.message.starts_with("the reply is ambiguous: ")
}

/// Returns whether an object has a key twice, at any depth. Objects with unreadable keys are not compared.
fn has_key_twice(text: &RawValue) -> bool {
    if let Some(members) = members_of(text) {
        let names: HashSet<_> = members.iter().map(|(name, _)| name).collect();
        return names.len() < members.len() || members.iter().any(|(_, value)| has_key_twice(value));
    }
    let items = serde_json::from_str::<Vec<&RawValue>>(text.get()).unwrap_or_default();
    items.into_iter().any(has_key_twice)
}

fn params_say_what_their_text_says(params: &Params) {
    let text = params.text();
    let members = text.as_ref().map(|text| text.decode::<Members<'_>>().unwrap().0).unwrap_or_default();
    let one = |name| all_named(name, &members).first().copied();
    for (name, read) in [
        ("name", params.name()),
        ("uri", params.uri()),
        ("cursor", params.cursor()),
        ("requestState", params.request_state()),
    ] {
        let expected = one(name).map(|value| serde_json::from_str::<String>(value.get()).ok());
        match (expected, read) {
            (None, Ok(None)) => {}
            (Some(Some(expected)), Ok(Some(read))) => assert_eq!(read, expected),
            (Some(None), Err(error)) => assert_eq!(error.code, Code::INVALID_PARAMS),
            (expected, read) => panic!("`{name}` is {expected:?} in the text and {read:?} in the params"),
        }
    }
    for (name, read) in [("arguments", params.arguments()), ("inputResponses", params.input_responses())] {
        let expected = one(name).map(RawValue::get);
        assert_eq!(read.is_ok(), expected.is_none_or(|text| text.starts_with('{')), "`{name}`: {read:?}");
        match read {
            Ok(read) => assert_eq!(text_of(read.as_ref()), expected),
            Err(error) => assert_eq!(error.code, Code::INVALID_PARAMS),
        }
    }
    assert_eq!(text_of(params.meta().as_ref()), one("_meta").map(RawValue::get));
}

/// Classifies a message at each door and decodes it: never panics, and refuses only with the documented codes.
pub(crate) fn a_message_finds_its_era_and_its_type(
    message: &Message,
    headers: &MirroredHeaders<'_>,
    reached: &mut Reached,
) {
    let piped = classify(message, Delivery::Pipe);
    if let Err(error) = &piped {
        assert!([Code::INVALID_PARAMS, Code::UNSUPPORTED_VERSION].contains(&error.code), "{error:?}");
    }
    reached.stateless += usize::from(matches!(piped, Ok(Claim::Stateless(Some(_)))));
    match classify(message, Delivery::Http(headers)) {
        Ok(Claim::Stateless(Some(_))) => {
            assert!(
                matches!(piped, Ok(Claim::Stateless(Some(_)))),
                "headers add nothing to a body: {piped:?}"
            );
        }
        Ok(_) => {}
        Err(error) => {
            let codes = [
                Code::INVALID_REQUEST,
                Code::INVALID_PARAMS,
                Code::HEADER_MISMATCH,
                Code::UNSUPPORTED_VERSION,
            ];
            assert!(codes.contains(&error.code), "{error:?}");
        }
    }
    headers_that_agree_change_nothing(message, &piped);
    let Message::Request { id, method, params } = message else { return };
    match Request::decode(method, params) {
        Ok(Some(request)) => {
            assert_eq!(request.method(), *method);
            a_request_is_written_as_it_was_read(id, &request);
            reached.decoded += 1;
        }
        Ok(None) => {}
        Err(error) => assert_eq!(error.code, Code::INVALID_PARAMS, "{error:?}"),
    }
}

fn headers_that_agree_change_nothing(message: &Message, piped: &Result<Claim, RpcError>) {
    let (Message::Request { method, params, .. }, Ok(Claim::Stateless(Some(envelope)))) = (message, piped)
    else {
        return;
    };
    let member = method.facts().and_then(|facts| facts.name_member);
    let name = match member {
        Some("uri") => params.uri(),
        Some(_) => params.name(),
        None => Ok(None),
    };
    // A name that is not a string is refused at the door over HTTP, and by the method in process.
    let Ok(name) = name else { return };
    let name = name.as_deref().map(encode);
    let headers = MirroredHeaders {
        protocol_version: MirroredHeader::One(envelope.requested.as_str()),
        method: MirroredHeader::One(method.name()),
        name: name.as_deref().map_or(MirroredHeader::Absent, MirroredHeader::One),
    };
    let posted = classify(message, Delivery::Http(&headers));
    assert!(matches!(posted, Ok(Claim::Stateless(Some(_)))), "{posted:?}");
}

fn a_request_is_written_as_it_was_read(id: &Id, request: &Request) {
    let mut frame = Vec::new();
    write_request(&mut frame, ProtocolVersion::LATEST, id, &request.method(), |params| request.put(params));
    let _told = ToldOnPanic(&frame);
    let read = parse(&Bytes::copy_from_slice(&frame), Limits::default());
    let Ok(ParsedFrame::One(Message::Request { method, params, .. })) = read else { panic!("{read:?}") };
    let again = Request::decode(&method, &params).unwrap().unwrap();
    match (request, again) {
        // White space at the ends is not preserved, and missing parameters are written as an empty object.
        (Request::Other(_, before), Request::Other(_, after)) => {
            let members =
                |text: Option<&RawJson>| text.map(|text| format!("{:?}", text.decode::<Members<'_>>()));
            assert_eq!(
                members(after.as_ref()),
                members(before.as_ref().or(Some(&RawJson::parse("{}").unwrap())))
            );
        }
        (before, after) => assert_eq!(after, *before),
    }
}

/// Any text can be sent in a header, and any header can be read.
pub(crate) fn a_header_brings_back_its_text(text: &str) {
    let _told = ToldOnPanic(text.as_bytes());
    let header = encode(text);
    assert!(header.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)), "{header:?}");
    assert_eq!(header.trim(), header, "white space at the ends is lost on the way");
    assert_eq!(decode(&header).as_deref(), Some(text));
    let line = format!(" \t{header} ");
    let received = MirroredHeader::from_lines(std::iter::once(line.as_bytes()));
    assert_eq!(received.must_decode_to("Mcp-Name", Some(text)), Ok(()));
    // Treats the text as a header of a request.
    if let Some(read) = decode(text) {
        assert_eq!(decode(&encode(&read)), Some(read.clone()));
    }
}

/// A frame that we write can be read back.
fn a_written_frame_reads_back(id: &Id, method: &str, error: &RpcError) {
    let method = Method::from_name(method);
    let mut frame = Vec::new();
    write_request(&mut frame, ProtocolVersion::LATEST, id, &method, |_| {});
    match parse(&frame.into(), Limits::default()) {
        Ok(ParsedFrame::One(Message::Request { id: read_id, method: read_method, .. })) => {
            assert_eq!((&read_id, &read_method), (id, &method));
        }
        other => panic!("{id} {method:?}: {other:?}"),
    }
    for id in [Some(id), None] {
        let mut frame = Vec::new();
        write_error(&mut frame, id, error);
        match parse(&frame.into(), Limits::default()) {
            Ok(ParsedFrame::One(Message::Response { id: read_id, outcome: Err(read) })) => {
                assert_eq!(read_id.as_ref(), id);
                if !read.message.starts_with("the reply is ambiguous: ") {
                    assert_eq!(&read, error);
                }
            }
            other => panic!("{id:?} {error:?}: {other:?}"),
        }
    }
}

/// Prints the input of a failed property, also when the library panicked.
struct ToldOnPanic<'a>(&'a [u8]);

impl Drop for ToldOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input was b\"{}\"", self.0.escape_ascii());
        }
    }
}

/// The members of an object as `serde_json` reads them: in order, with duplicates.
#[derive(Debug)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn members_of(text: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str::<Members<'_>>(text.get()).ok().map(|members| members.0)
}

fn all_named<'a>(name: &str, members: &[(String, &'a RawValue)]) -> Vec<&'a RawValue> {
    members.iter().filter(|(key, _)| key == name).map(|(_, value)| *value).collect()
}

/// Returns the messages of a batch, or the single message.
fn elements_of(document: &RawValue) -> Vec<&RawValue> {
    if document.get().starts_with('[') {
        serde_json::from_str(document.get()).unwrap()
    } else {
        vec![document]
    }
}

/// Returns whether all relevant keys can be decoded. A key may be a lone surrogate, which JSON's grammar allows. We
/// refuse such a frame where keys are read: in the message, its `params` and their `_meta`.
fn keys_are_readable(message: &RawValue) -> bool {
    let inside = |value: &RawValue, name: Option<&str>, next: &dyn Fn(&RawValue) -> bool| {
        if !value.get().starts_with('{') {
            return true;
        }
        let Some(members) = members_of(value) else { return false };
        name.is_none_or(|name| all_named(name, &members).into_iter().all(next))
    };
    inside(message, Some("params"), &|params| {
        inside(params, Some("_meta"), &|meta| inside(meta, None, &|_| true))
    })
}

/// Returns the id if it is a string or a 64-bit integer.
fn id_by_serde_json(text: &RawValue) -> Option<Id> {
    match serde_json::from_str(text.get()).ok()? {
        Value::String(string) => Some(Id::from(&*string)),
        // `serde_json` reads `-0` as a float, to keep the sign.
        Value::Number(_) if text.get() == "-0" => Some(Id::Number(0)),
        Value::Number(number) => number.as_i64().map(Id::Number),
        _ => None,
    }
}

fn text_of(json: Option<&RawJson>) -> Option<&str> {
    json.map(RawJson::as_str)
}

/// Returns the maximum nesting of brackets.
fn deepest(frame: &[u8]) -> u32 {
    let (mut depth, mut deepest) = (0_u32, 0);
    let mut bytes = frame.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A repeatable source of random numbers (xorshift64*).
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

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn word<'a>(&mut self, from: &'a str) -> &'a str {
        let words: Vec<_> = from.split(' ').collect();
        self.pick(&words)
    }

    /// A short random range within `length`.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(24)).min(length)
    }
}

/// Calls `case` `count` times, each time with other random numbers; a failure prints how to repeat it.
fn for_cases(count: u64, mut case: impl FnMut(&mut Random)) {
    struct Case {
        seed: u64,
        number: u64,
    }
    impl Drop for Case {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("that was case {} with SEED={}", self.number, self.seed);
            }
        }
    }
    let seed = std::env::var("SEED").map_or(DEFAULT_SEED, |seed| seed.parse().unwrap());
    let mut told = Case { seed, number: 0 };
    for number in 0..count {
        told.number = number;
        // Spreads neighbouring numbers over distant states; 0 is the only state that xorshift never leaves.
        let state = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        case(&mut Random(state.max(1)));
    }
}

const DEFAULT_SEED: u64 = 20_260_728;
const CASES: u64 = 20_000;

/// Valid frames, of both eras and of every kind.
const FRAMES: [&str; 22] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"page 2"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":1.5e3,"b":[-2,null,true]},"_meta":{"progressToken":7}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"notes://7"}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"notes://\u00e9","more":{"x":[]}}}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"greet","arguments":{"who":"Zo\u00eb \ud83d\ude00"}}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"Z"},"context":{"arguments":{"a":"b"}}}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"warning"}}"#,
    r#"{"jsonrpc":"2.0","id":"9","method":"tools/call","params":{"name":"add","arguments":{},"requestState":"s","inputResponses":{"q":{"action":"accept"}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"info","own":{"deep":[1]}}}}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":"notes://7","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":12,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["notes://7"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":13,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":-14,"method":"acme/own","params":{"a":1, "b" : "\t\\\"\/" }}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"late"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}],"isError":false}}"#,
    r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such tool","data":{"name":"ad"}}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"result":{}}, 7]"#,
];

/// Pieces of text, values and members that often decide how a frame is read, separated by single spaces.
const PIECES: &str = "{ } [ ] , : \" \\ \n \u{0} \\u \\ud800 \\udc00 é 😀 \u{feff} 01 -";
const VALUES: &str = r#"null true 0 -0 1.0 1e999 -7 9223372036854775807 9223372036854775808 "" "\ud800" "\udc00\ud800" "a\u0000" {} [] [[]]"#;
const MEMBERS: &str = r#""id":1 "id":"\ud800" "\u0069d":2 "params":{} "params":[] "_meta":{} "name":7 "\ud800":0 "x":1 "result":0 "error":{"code":1,"message":"m"} "error":[1,"m"]"#;

fn any_bytes(random: &mut Random) -> Vec<u8> {
    // Short inputs are more frequent: few long ones are JSON.
    let most = 1 + random.below(80);
    let length = random.below(most);
    // Random bytes are rarely JSON; characters that JSON uses get further.
    let alphabet: &[u8] = if random.one_in(3) { &[] } else { b"{}[]:,\"\\u0123eE+-. \n\ttruefalsn\xc3\xa9" };
    let byte = |random: &mut Random| if alphabet.is_empty() { random.byte() } else { random.pick(alphabet) };
    (0..length).map(|_| byte(random)).collect()
}

/// A valid frame with one or two random changes.
fn mutated_frame(random: &mut Random) -> Vec<u8> {
    let mut frame = random.pick(&FRAMES).as_bytes().to_vec();
    for _ in 0..=random.below(2) {
        let part = random.range(frame.len());
        match random.below(9) {
            0 => flip_a_bit(&mut frame, random),
            1 => drop(frame.drain(part)),
            2 => drop(frame.splice(part.start..part.start, [random.byte()])),
            3 => {
                let chunk = frame[part.clone()].to_vec();
                frame.splice(part.end..part.end, chunk);
            }
            4 => {
                let other = random.pick(&FRAMES).as_bytes();
                let chunk = &other[random.range(other.len())];
                frame.splice(part, chunk.iter().copied());
            }
            5 => drop(frame.splice(part, random.word(PIECES).bytes())),
            // The remaining changes mostly keep the grammar intact.
            6 => {
                let Some(start) = after_any(&frame, b":", random) else { continue };
                let length = frame[start..].iter().take_while(|byte| !b",}]".contains(byte)).count();
                frame.splice(start..start + length, random.word(VALUES).bytes());
            }
            _ => {
                let Some(at) = after_any(&frame, b"{,", random) else { continue };
                frame.splice(at..at, format!("{},", random.word(MEMBERS)).into_bytes());
            }
        }
    }
    frame
}

fn flip_a_bit(frame: &mut [u8], random: &mut Random) {
    if !frame.is_empty() {
        let at = random.below(frame.len());
        frame[at] ^= 1 << random.below(8);
    }
}

/// Returns a random position after one of these bytes.
fn after_any(frame: &[u8], bytes: &[u8], random: &mut Random) -> Option<usize> {
    let places: Vec<_> = (0..frame.len()).filter(|at| bytes.contains(&frame[*at])).collect();
    (!places.is_empty()).then(|| random.pick(&places) + 1)
}

/// A syntactically valid document: something like a message, several of them, or anything.
fn any_document(random: &mut Random) -> Vec<u8> {
    let mut out = String::new();
    match random.below(8) {
        0 => put_value(&mut out, random, 5),
        1 => put_batch(&mut out, random),
        2 => {
            // Around the maximum depth, inside and outside of the parts that are inspected.
            let levels = 120 + random.below(16);
            let (open, close) = random.pick(&[("[", "]"), ("{\"a\":", "}")]);
            let (before, after) = random.pick(&[
                ("", ""),
                ("{\"params\":", "}"),
                ("{\"params\":{\"_meta\":", "}}"),
                ("[{\"id\":1,\"x\":", "}]"),
            ]);
            let inner = random.pick(&["0", "{}", "[]", "\"[[\"", "}"]);
            out = [before, &open.repeat(levels), inner, &close.repeat(levels), after].concat();
        }
        _ => put_message(&mut out, random),
    }
    out.into_bytes()
}

fn put_batch(out: &mut String, random: &mut Random) {
    let count = if random.one_in(100) { 98 + random.below(5) } else { random.below(4) };
    put_list(out, random, ["[", "]"], count, |out, random| {
        if random.one_in(6) { put_value(out, random, 1) } else { put_message(out, random) }
    });
}

/// An object with the members of a message, in any order, with mostly valid values.
fn put_message(out: &mut String, random: &mut Random) {
    let mut names =
        some_of("id method params", "id method params result error other i\\u0064 \\ud800", random);
    names.push("jsonrpc");
    put_object(out, random, names, |out, random, name| match name {
        _ if random.one_in(30) => put_value(out, random, 2),
        "jsonrpc" => out.push_str("\"2.0\""),
        "id" => {
            out.push_str(random.word(r#"1 -7 -0 9223372036854775807 18446744073709551615 "a" "\u00e9" """#));
        }
        "method" => put_string(out, Method::ALL[random.below(Method::ALL.len())].name()),
        "params" => put_params(out, random),
        "error" => out.push_str(random.word(r#"{"code":-1,"message":"m"} {"code":1} [1,"m"]"#)),
        _ => put_value(out, random, 2),
    });
}

fn put_params(out: &mut String, random: &mut Random) {
    let seldom = "cursor inputResponses requestState other uri n\\u0061me \\ud800";
    let names = some_of("name uri arguments _meta ref argument level notifications", seldom, random);
    put_object(out, random, names, |out, random, name| match name {
        _ if random.one_in(30) => put_value(out, random, 3),
        "name" | "uri" | "cursor" | "requestState" => put_string(out, &any_text(random)),
        "arguments" | "inputResponses" => {
            let count = random.below(4);
            put_list(out, random, ["{", "}"], count, |out, random| {
                put_string(out, &any_text(random));
                out.push(':');
                if random.one_in(4) { put_value(out, random, 2) } else { put_string(out, "text") }
            });
        }
        "_meta" => put_meta(out, random),
        "ref" => {
            out.push_str(
                random
                    .word(r#"{"type":"ref/resource","uri":"notes://{id}"} {"type":"ref/prompt","name":"p"}"#),
            );
        }
        "argument" => out.push_str(r#"{"name":"id","value":"7"}"#),
        "level" => out.push_str("\"debug\""),
        "notifications" => out.push_str(r#"{"promptsListChanged":true,"resourceSubscriptions":["a"]}"#),
        _ => put_value(out, random, 3),
    });
}

fn put_meta(out: &mut String, random: &mut Random) {
    let reserved =
        [Key::ProtocolVersion, Key::ClientCapabilities, Key::ClientInfo, Key::LogLevel, Key::ProgressToken];
    let [version, capabilities, info, ..] = reserved.map(Key::name);
    let mostly = reserved.map(Key::name).join(" ");
    let names = some_of(&mostly, "own own progressToken \\udfff", random);
    put_object(out, random, names, |out, random, name| match name {
        _ if random.one_in(30) => put_value(out, random, 2),
        _ if name == version => {
            out.push_str(
                random.word(r#""2026-07-28" "2026-07-28" "2026-07-2\u0038" "2025-11-25" "2031-02-03" "x""#),
            );
        }
        _ if name == capabilities => {
            out.push_str(random.word(r#"{} {} {"sampling":{},"roots":{"listChanged":true}} {"own":[]}"#));
        }
        _ if name == info => out.push_str(r#"{"name":"c","version":"1"}"#),
        _ => put_string(out, "info"),
    });
}

/// Picks most of the first names and few of the others.
fn some_of<'a>(mostly: &'a str, seldom: &'a str, random: &mut Random) -> Vec<&'a str> {
    let mut names: Vec<_> = mostly.split(' ').filter(|_| !random.one_in(5)).collect();
    names.extend(seldom.split(' ').filter(|_| random.one_in(40)));
    names
}

/// Writes any value, nested at most `depth` levels.
fn put_value(out: &mut String, random: &mut Random, depth: usize) {
    let count = random.below(4);
    match random.below(if depth == 0 { 3 } else { 5 }) {
        0 => out.push_str(random.word("null true false 0 -0 7 -12.50 1e999 1E-7 18446744073709551616")),
        1 => put_string(out, &any_text(random)),
        2 => out.push_str(random.word(r#""\ud83d\ude00" "\ud800" "\/\b\f\n\r\t" "\u0000" """#)),
        3 => put_list(out, random, ["[", "]"], count, |out, random| put_value(out, random, depth - 1)),
        _ => put_list(out, random, ["{", "}"], count, |out, random| {
            out.push_str(random.word(r#""a" "b" "" "\u0061" "\ud800" "id""#));
            out.push(':');
            put_value(out, random, depth - 1);
        }),
    }
}

/// Writes an object with these members in any order; their names may contain escapes already.
fn put_object(
    out: &mut String,
    random: &mut Random,
    mut names: Vec<&str>,
    mut put: impl FnMut(&mut String, &mut Random, &str),
) {
    put_list(out, random, ["{", "}"], names.len(), |out, random| {
        let name = names.swap_remove(random.below(names.len()));
        out.push('"');
        out.push_str(name);
        out.push_str("\":");
        put(out, random, name);
    });
}

/// Writes `count` items with commas in between and sometimes white space.
fn put_list(
    out: &mut String,
    random: &mut Random,
    [open, close]: [&str; 2],
    count: usize,
    mut put: impl FnMut(&mut String, &mut Random),
) {
    out.push_str(open);
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        if random.one_in(16) {
            out.push_str(random.pick(&[" ", "\n", "\t", "\r\n"]));
        }
        put(out, random);
    }
    out.push_str(close);
}

fn put_string(out: &mut String, text: &str) {
    out.push_str(&Value::from(text).to_string());
}

/// Text with characters that are special in JSON, in headers and in encoded headers.
fn any_text(random: &mut Random) -> String {
    const PARTS: &str = "a Z add notes://7 \t \n \r \u{0} \u{7f} \u{85} \u{a0} \u{2028} \" \\ é 世 😀 =?base64? ?= = ? SGVsbG8= /w==";
    let mut text = String::new();
    for _ in 0..random.below(6) {
        match random.below(8) {
            0 => text.push(' '),
            1 | 2 => text.extend(char::from_u32(u32::from(random.byte()) << random.below(13))),
            _ => text.push_str(random.word(PARTS)),
        }
    }
    if random.one_in(6) { format!("=?base64?{text}?=") } else { text }
}

/// One header of a request, valid more often than at random.
fn any_header(random: &mut Random, text: &'static [&'static str]) -> MirroredHeader<'static> {
    match random.below(8) {
        0 => MirroredHeader::Absent,
        1 => MirroredHeader::Unreadable,
        _ => MirroredHeader::One(random.pick(text)),
    }
}

fn any_headers(random: &mut Random) -> MirroredHeaders<'static> {
    let versions =
        &["2026-07-28", "2026-07-28", "2025-11-25", "2024-11-05", "2030-01-01", "2026-07-28 ", "", "x"];
    let methods =
        &["tools/call", "tools/list", "resources/read", "server/discover", "initialize", "Tools/call", ""];
    let names = &["add", "notes://7", "a", "=?base64?YWRk?=", "=?base64??=", "=?base64?!?=", ""];
    MirroredHeaders {
        protocol_version: any_header(random, versions),
        method: any_header(random, methods),
        name: any_header(random, names),
    }
}

/// A call whose arguments nest to the maximum depth, as often as fits `length` bytes.
fn worst_nesting(length: usize) -> Vec<u8> {
    // The frame, its `params`, their `arguments` and the array around the towers take four levels.
    let below = 128 - 4 - 1;
    let tower = "{\"\":".repeat(below) + "{}" + &"}".repeat(below);
    filled(length, [r#""arguments":{"a":["#, "]}"], |_| tower.clone())
}

/// A call whose `_meta` has as many keys as fit `length` bytes: each is kept, and all are sorted to find duplicates.
/// They are in random order, because sorting is faster on sorted input.
fn worst_keys(length: usize) -> Vec<u8> {
    filled(length, [r#""_meta":{"#, "}"], |index| format!("\"{:x}\":0", shuffled(index)))
}

/// The same with keys that consist only of escapes: each is scanned, then decoded, then sorted.
fn worst_escapes(length: usize) -> Vec<u8> {
    filled(length, [r#""_meta":{"#, "}"], |index| {
        let digit = |place: usize| &r#"\"\\\/\b\f\n\r\t"#[(shuffled(index) >> (3 * place) & 7) * 2..][..2];
        format!("\"{}\":0", [5, 4, 3, 2, 1, 0].map(digit).concat())
    })
}

/// A permutation of the first 65,536 numbers: multiplying by an odd factor keeps them distinct.
fn shuffled(index: usize) -> usize {
    index * 40_503 % 65_536
}

/// A call whose `params` end with as many items as fit, padded with spaces.
fn filled(length: usize, [head, tail]: [&str; 2], item: impl Fn(usize) -> String) -> Vec<u8> {
    let mut out = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a",{head}"#);
    let tail = format!("{tail}}}}}");
    for index in 0.. {
        let item = item(index);
        if out.len() + 1 + item.len() + tail.len() > length {
            break;
        }
        if index > 0 {
            out.push(',');
        }
        out.push_str(&item);
    }
    out.push_str(&tail);
    out.push_str(&" ".repeat(length.saturating_sub(out.len())));
    out.into_bytes()
}

fn read_and_serve(source: fn(&mut Random) -> Vec<u8>) -> Reached {
    let mut reached = Reached::default();
    for_cases(CASES, |random| {
        let frame = source(random);
        let _told = ToldOnPanic(&frame);
        for message in a_frame_is_read_as_serde_json_reads_it(&frame, &mut reached) {
            a_message_finds_its_era_and_its_type(&message, &any_headers(random), &mut reached);
        }
    });
    reached
}

#[test]
fn any_bytes_are_read_or_refused() {
    let reached = read_and_serve(any_bytes);
    assert!(reached.not_json > 10_000 && reached.refused > 20, "{reached:?}");
}

#[test]
fn broken_frames_are_read_or_refused() {
    let reached = read_and_serve(mutated_frame);
    assert!(reached.not_json > 2_000 && reached.refused > 1_000 && reached.accepted > 2_000, "{reached:?}");
    assert!(reached.stateless > 200 && reached.decoded > 1_000, "{reached:?}");
}

#[test]
fn any_documents_are_read_or_refused() {
    let reached = read_and_serve(any_document);
    assert!(reached.not_json > 500 && reached.refused > 2_000 && reached.accepted > 2_000, "{reached:?}");
    assert!(reached.stateless > 200 && reached.decoded > 1_000, "{reached:?}");
}

#[test]
fn any_text_travels_in_a_header() {
    for_cases(CASES, |random| a_header_brings_back_its_text(&any_text(random)));
}

#[test]
fn written_frames_are_read_back() {
    for_cases(CASES, |random| {
        let id = match random.below(3) {
            0 => Id::from(random.next().cast_signed()),
            1 => Id::from(random.pick(&[0, -1, i64::MIN, i64::MAX])),
            _ => Id::from(&*any_text(random)),
        };
        let method = if random.one_in(2) {
            any_text(random)
        } else {
            Method::ALL[random.below(Method::ALL.len())].name().to_owned()
        };
        let mut error = RpcError::new(Code(random.next().cast_signed()), any_text(random));
        if random.one_in(2) {
            let mut data = String::new();
            put_value(&mut data, random, 3);
            error.data = Some(RawJson::parse(&data).unwrap());
        }
        a_written_frame_reads_back(&id, &method, &error);
    });
}

#[test]
fn the_worst_frames_are_accepted() {
    for worst in [worst_nesting, worst_keys, worst_escapes] {
        for length in [32 * 1024, 64 * 1024] {
            let frame = worst(length);
            assert_eq!(frame.len(), length);
            let mut reached = Reached::default();
            a_frame_is_read_as_serde_json_reads_it(&frame, &mut reached);
            assert_eq!(reached.accepted, 1, "{}", String::from_utf8_lossy(&frame[..200]));
        }
    }
}
