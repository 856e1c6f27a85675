//! Are messages, headers and templates read as they should be?
//!
//! The properties of frames and headers are defined in `crates/toolway-protocol/tests/any_bytes.rs`, which is included
//! here as a module; its own input generators are unused.

#[cfg_attr(not(test), expect(dead_code, reason = "the sources of inputs serve the tests only"))]
#[path = "../../crates/toolway-protocol/tests/any_bytes.rs"]
mod any_bytes;

use serde_json::Value;
use toolway_protocol::RawJson;
use toolway_protocol::http::header::{MirroredHeader, MirroredHeaders, decode};
use toolway_protocol::http::param::ParamHeaders;
use toolway_protocol::uri_template::{self, UriTemplate};

use crate::{Outcome, split_lines};

/// A frame is read as `serde_json` reads it, and is answered. The three lines before it are the headers
/// `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`. With fewer than three line ends, the whole input is the frame.
pub(crate) fn frame(input: &[u8]) -> Outcome {
    let parts: Vec<_> = input.splitn(4, |byte| *byte == b'\n').collect();
    let (frame, [protocol_version, method, name]) = match parts[..] {
        [version, method, name, frame] => {
            (frame, [version, method, name].map(|line| MirroredHeader::from_lines(std::iter::once(line))))
        }
        _ => (input, [MirroredHeader::Absent; 3]),
    };
    let headers = MirroredHeaders { protocol_version, method, name };
    let mut reached = any_bytes::Reached::default();
    let messages = any_bytes::a_frame_is_read_as_serde_json_reads_it(frame, &mut reached);
    for message in &messages {
        any_bytes::a_message_finds_its_era_and_its_type(message, &headers, &mut reached);
    }
    Outcome::of(!messages.is_empty())
}

/// Any text survives being written to a header and read back.
pub(crate) fn header(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    any_bytes::a_header_brings_back_its_text(text);
    Outcome::Accepted
}

/// A document is accepted or refused as by `serde_json`, in every place where a frame is scanned differently: alone, in
/// a batch, and as a member that is skipped, inspected or kept.
pub(crate) fn json(input: &[u8]) -> Outcome {
    let mut accepted = 0;
    for [before, after] in [
        ["", ""],
        ["[", "]"],
        [r#"{"jsonrpc":"2.0","id":1,"result":"#, "}"],
        [r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"#, "}"],
        [r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":"#, "}}"],
    ] {
        let frame = [before.as_bytes(), input, after.as_bytes()].concat();
        let mut reached = any_bytes::Reached::default();
        accepted += any_bytes::a_frame_is_read_as_serde_json_reads_it(&frame, &mut reached).len();
    }
    Outcome::of(accepted > 0)
}

/// The headers that a client sends for its arguments are accepted, and those that say something else are refused. The
/// lines are a schema, the arguments, and the text of another header.
pub(crate) fn param_headers(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [schema, arguments, other] = split_lines(text);
    let (Ok(schema), Ok(arguments)) = (RawJson::parse(schema), serde_json::from_str::<Value>(arguments))
    else {
        return Outcome::Refused;
    };
    let Ok(headers) = ParamHeaders::from_schema(&schema) else { return Outcome::Refused };
    let sent: Vec<_> = headers.values(&arguments).collect();
    let check = |is_required, changed: &str, value| {
        headers.check(&arguments, is_required, |name| match sent.iter().find(|(known, _)| known == name) {
            Some((name, _)) if name == changed => value,
            Some((_, value)) => MirroredHeader::One(value),
            None => MirroredHeader::Absent,
        })
    };
    assert_eq!(check(true, "", MirroredHeader::Absent), Ok(()), "what a client sends is accepted");
    for (name, value) in &sent {
        assert!(name.starts_with("Mcp-Param-") && http::HeaderName::try_from(name).is_ok(), "{name}");
        assert!(value.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e)), "{value:?}");
        assert_eq!(sent.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count(), 1, "{name}");
        assert!(check(true, name, MirroredHeader::Absent).is_err());
        assert_eq!(check(false, name, MirroredHeader::Absent), Ok(()));
        assert!(check(false, name, MirroredHeader::Unreadable).is_err());
        // Another value is accepted only if it means the same: the same text, or the same number.
        let outcome = check(true, name, MirroredHeader::One(other));
        let (sent, other) = (decode(value), decode(other));
        let is_same = sent == other
            || sent
                .as_deref()
                .and_then(decimal)
                .is_some_and(|number| other.as_deref().and_then(decimal) == Some(number));
        if outcome.is_ok() {
            assert!(is_same, "{name}: {value:?} is sent, and {other:?} is accepted");
        } else {
            assert_ne!(sent, other, "{name}: {value:?} is sent, and {other:?} is refused");
        }
    }
    Outcome::of(!sent.is_empty())
}

/// Returns the sign, the digits without zeros at both ends, and the power of ten of a decimal number.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse().ok()?),
        None => (text, 0_i64),
    };
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, part].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let kept = digits.trim_end_matches('0');
    let power = exponent.checked_sub(i64::try_from(part.len()).ok()?)?;
    let power = power.checked_add(i64::try_from(digits.len() - kept.len()).ok()?)?;
    let kept = kept.trim_start_matches('0');
    // Zero has no sign and no power.
    Some(if kept.is_empty() { (false, String::new(), 0) } else { (is_negative, kept.to_owned(), power) })
}

/// Matching is bounded, and no value leaves its place in the URI. The first line is the template, the rest a URI.
pub(crate) fn uri_template(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let (template, uri) = text.split_once('\n').unwrap_or((text, text));
    let Ok(template) = UriTemplate::parse(template) else { return Outcome::Refused };
    assert_eq!(UriTemplate::parse(template.as_str()).as_ref(), Ok(&template), "what we send can be read");
    assert!(template.has_same_shape(&template));
    template.specificity();
    let variables: Vec<_> = template.variables().collect();
    let (values, steps) = template.match_uri_counted(uri);
    assert!(steps <= (32 + 2 * variables.len()) * (uri.len() + 1), "{template} took {steps} steps");
    let Some(values) = values else { return Outcome::Refused };
    assert_eq!(template.check_matchable(), Ok(()));
    let is_wide = template.as_str().contains("{+") || template.as_str().contains("{#");
    for (name, value) in values.iter() {
        assert!(variables.contains(&name));
        let texts = match value {
            uri_template::Value::Text(text) => std::slice::from_ref(text),
            uri_template::Value::List(texts) => texts,
        };
        for text in texts {
            assert!(!text.contains('\0'), "{text:?}");
            assert!(is_wide || !text.contains(['/', '\\']) && text != ".", "{text:?} leaves its segment");
            assert!(text.split(['/', '\\']).all(|segment| segment != ".."), "{text:?} climbs");
        }
    }
    template.expand(&values);
    Outcome::Accepted
}
