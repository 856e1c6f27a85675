//! Is an object that has a key twice refused, wherever it is, and does the error name the key?

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Message, ParsedFrame, Rejection, parse};

fn parsed(frame: &str) -> Result<ParsedFrame, Rejection> {
    parse(&frame.to_owned().into(), Limits::default())
}

/// Returns the code and the text of the error.
fn refusal(frame: &str) -> (i32, String) {
    let rejected = parsed(frame).map(|_| frame).unwrap_err();
    (rejected.error.code.0.try_into().unwrap(), rejected.error.message.to_string())
}

#[test]
fn a_key_that_occurs_twice_is_refused_with_its_path() {
    let call =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    for (frame, code, path) in [
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.to_owned(), -32600, "id"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"x":2}"#.to_owned(), -32600, "x"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":[{"y":1,"y":2}]}"#.to_owned(), -32600, "x[0].y"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#.to_owned(), -32600, "params"),
        // The outermost mistake is reported.
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"a","params":{"x":1,"x":1}}"#.to_owned(), -32600, "id"),
        (call(r#"{"name":"a","name":"a"}"#), -32602, "params.name"),
        (call(r#"{"name":"a","other":1,"other":1}"#), -32602, "params.other"),
        (call(r#"{"_meta":{"a/b":1,"a/b":1}}"#), -32602, "params._meta.a/b"),
        (call(r#"{"_meta":{"progressToken":1,"progressToken":2}}"#), -32602, "params._meta.progressToken"),
        (call(r#"{"arguments":{"a":1,"b":2,"a":1}}"#), -32602, "params.arguments.a"),
        (
            call(r#"{"arguments":{"filter":{"name":1,"x":[{},{}],"name":2}}}"#),
            -32602,
            "params.arguments.filter.name",
        ),
        (
            call(r#"{"arguments":{"list":[1,[{"a":{}},{"a":1,"a":1}]]}}"#),
            -32602,
            "params.arguments.list[1][1].a",
        ),
        (
            call(r#"{"inputResponses":{"q":{"content":{"a":1,"a":1}}}}"#),
            -32602,
            "params.inputResponses.q.content.a",
        ),
        // Escapes do not make another key.
        (call(r#"{"arguments":{"a":1,"\u0061":2}}"#), -32602, "params.arguments.a"),
        (call(r#"{"arguments":{"\n":1,"b":2,"\u000a":2}}"#), -32602, "params.arguments.\n"),
        (call(r#"{"n\u0061me":"a","name":"b"}"#), -32602, "params.name"),
        (call(r#"{"arguments":{"":1,"":2}}"#), -32602, "params.arguments."),
    ] {
        assert_eq!(refusal(&frame), (code, format!("`{path}` occurs twice")), "{frame}");
    }
    for fine in [
        r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}],"A":1,"c":{}}"#,
        r#"{"a":1,"\u0062":{"a":1},"\"":1,"\\":2,"ab":1,"a b":2,"":{}}"#,
        r#"{"\ud800":1,"\ud801":2}"#,
        r#"{"aa":1,"ab":2,"ca":3,"bb":4,"c":{"aa":1,"ab":2},"d":[{},{},{}]}"#,
    ] {
        assert!(parsed(&call(&format!(r#"{{"arguments":{fine}}}"#))).is_ok(), "{fine}");
    }
}

#[test]
fn a_notification_is_dropped_and_a_batch_keeps_its_other_messages() {
    let rejected = parsed(r#"{"jsonrpc":"2.0","method":"x","params":{"a":1,"a":1}}"#).unwrap_err();
    assert!(!rejected.needs_reply(), "{rejected:?}");
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"b":1,"b":1}}},7,
        {"jsonrpc":"2.0","id":2,"method":"x","params":{"a":1}},[{"a":1,"a":1}],{"jsonrpc":"2.0","id":3,"method":"x"}]"#;
    let Ok(ParsedFrame::Batch(messages)) = parsed(batch) else { panic!() };
    let texts: Vec<_> = messages
        .iter()
        .map(|message| {
            message.as_ref().map_or_else(|rejected| rejected.error.message.to_string(), |_| String::new())
        })
        .collect();
    let no_message = "a message must be an object";
    assert_eq!(texts, ["`params.a.b` occurs twice", no_message, "", no_message, ""]);
}

/// A malformed reply has no id of its own: without an answer, its request would wait for the timeout.
#[test]
fn a_reply_with_a_key_twice_fails_its_request() {
    for (reply, path) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{"content":{"a":1,"a":2}}}"#, "result.content.a"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"a","data":{"a":1,"a":2}}}"#, "error.data.a"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"a","code":2}}"#, "error.code"),
    ] {
        let Ok(ParsedFrame::One(Message::Response { id, outcome: Err(error) })) = parsed(reply) else {
            panic!("{reply}")
        };
        assert_eq!(id, Some(7.into()));
        assert_eq!(error.message, format!("the reply is ambiguous: `{path}` occurs twice"));
    }
    let rejected = parsed(r#"{"jsonrpc":"2.0","id":7,"id":8,"result":{}}"#).unwrap_err();
    assert_eq!((rejected.id, &*rejected.error.message), (None, "`id` occurs twice"));
}

/// Comparing all pairs would take 10^11 steps.
#[test]
fn very_many_keys_are_compared_in_one_pass() {
    let frame = |keys: &mut dyn Iterator<Item = String>| {
        let members: Vec<_> = keys.map(|key| format!("\"{key}\":0")).collect();
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"arguments":{{{}}}}}}}"#,
            members.join(",")
        )
    };
    let keys = || (0..400_000).map(|number| format!("k{number}"));
    assert!(parsed(&frame(&mut keys())).is_ok());
    let (_, text) = refusal(&frame(&mut keys().chain(["k7".to_owned()])));
    assert_eq!(text, "`params.arguments.k7` occurs twice");
    for count in [15, 16, 17, 31, 32, 33, 64, 65] {
        assert!(parsed(&frame(&mut keys().take(count))).is_ok(), "{count}");
        let (_, text) = refusal(&frame(&mut keys().take(count).chain(["k3".to_owned()])));
        assert_eq!(text, "`params.arguments.k3` occurs twice", "{count}");
    }
    let long = "é".repeat(1 << 20);
    let (_, text) = refusal(&frame(&mut [long.clone(), long].into_iter()));
    assert_eq!(
        text,
        format!("`params.arguments.{}…` occurs twice", "é".repeat(200 - "params.arguments.".len()))
    );
}
