//! Which properties must hold for every input? These are the properties of the seeded tests, run by libFuzzer.
//!
//! The properties of frames and headers are defined once, in `crates/toolway-protocol/tests/any_bytes.rs`. That file is
//! included here as a module; its own input generators are unused. A broken property is a panic, and libFuzzer keeps
//! the input as a file under `artifacts/`.

#[allow(dead_code, reason = "the sources of inputs serve the tests only")]
#[path = "../../crates/toolway-protocol/tests/any_bytes.rs"]
mod any_bytes;

use any_bytes::Reached;
use toolway_protocol::http::header::{Mirrored, MirroredHeaders};
use toolway_protocol::uri_template::{UriTemplate, Value};

/// Checks a frame. The three lines before it are the headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`. With
/// fewer than three line ends, the whole input is the frame, without headers.
pub fn frame(input: &[u8]) {
    let parts: Vec<_> = input.splitn(4, |byte| *byte == b'\n').collect();
    let (frame, [protocol_version, method, name]) = match parts[..] {
        [version, method, name, frame] => {
            (frame, [version, method, name].map(|line| Mirrored::from_lines(std::iter::once(line))))
        }
        _ => (input, [Mirrored::Absent; 3]),
    };
    let headers = MirroredHeaders { protocol_version, method, name };
    let mut reached = Reached::default();
    for message in any_bytes::a_frame_is_read_as_serde_json_reads_it(frame, &mut reached) {
        any_bytes::a_message_finds_its_era_and_its_type(&message, &headers, &mut reached);
    }
}

/// Writes any text as a header, and reads any text as a header.
pub fn header(input: &str) {
    any_bytes::a_header_brings_back_its_text(input);
}

/// Checks a document in every place where a frame is scanned differently: alone, in a batch, and as a member that is
/// skipped, inspected or kept.
pub fn json(input: &[u8]) {
    for [before, after] in [
        ["", ""],
        ["[", "]"],
        [r#"{"jsonrpc":"2.0","id":1,"result":"#, "}"],
        [r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"#, "}"],
        [r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":"#, "}}"],
    ] {
        let frame = [before.as_bytes(), input, after.as_bytes()].concat();
        any_bytes::a_frame_is_read_as_serde_json_reads_it(&frame, &mut Reached::default());
    }
}

/// Parses the first line as a template and matches the rest as a URI.
pub fn uri_template(input: &str) {
    let (template, uri) = input.split_once('\n').unwrap_or((input, input));
    let Ok(template) = UriTemplate::parse(template) else { return };
    assert_eq!(UriTemplate::parse(template.as_str()).as_ref(), Ok(&template), "what we send can be read");
    assert!(template.same_shape(&template));
    template.specificity();
    let variables: Vec<_> = template.variables().collect();
    let (values, steps) = template.matches_counted(uri);
    assert!(steps <= (32 + 2 * variables.len()) * (uri.len() + 1), "{template} took {steps} steps");
    let Some(values) = values else { return };
    assert_eq!(template.check_matchable(), Ok(()));
    let is_wide = template.as_str().contains("{+") || template.as_str().contains("{#");
    for (name, value) in values.iter() {
        assert!(variables.contains(&name));
        let texts = match value {
            Value::Text(text) => std::slice::from_ref(text),
            Value::List(texts) => texts,
        };
        for text in texts {
            assert!(!text.contains('\0'), "{text:?}");
            assert!(is_wide || !text.contains(['/', '\\']) && text != ".", "{text:?} leaves its segment");
            assert!(text.split(['/', '\\']).all(|segment| segment != ".."), "{text:?} climbs");
        }
    }
    template.expand(&values);
}
