//! How is a whole message of the official schema read and written: a request, a notification, a reply?
//!
//! The method decides, as on a real transport. The older schemas describe requests and notifications without the
//! JSON-RPC frame; those are framed first and unframed afterwards.

use bytes::Bytes;
use serde_json::{Map, Value};
use toolway_protocol::era::handshake::{self, Initialize};
use toolway_protocol::era::questions::write_question;
use toolway_protocol::era::stateless;
use toolway_protocol::json::{Encode, Encoder, Limits};
use toolway_protocol::jsonrpc::{
    Params, ParsedFrame, parse, write_error, write_notification, write_raw_result, write_request,
};
use toolway_protocol::types::{EmptyParams, InputRequest};
use toolway_protocol::{Era, Id, Message, Method, Notification, ProtocolVersion, RawJson, Request};

use super::table::member;

/// Rewrites a request of either side.
pub(super) fn request(version: ProtocolVersion, value: &[u8]) -> Result<Vec<u8>, String> {
    framed(value, Framing::Request, |message| {
        let Message::Request { id, method, params } = message else { return Err("no request".to_owned()) };
        let mut out = Vec::new();
        write(&mut out, version, &id, &method, &params)?;
        Ok(out)
    })
}

/// Rewrites the parameters of a request of this method.
pub(super) fn params(version: ProtocolVersion, method: &Method, value: &[u8]) -> Result<Vec<u8>, String> {
    let params: Value = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let request = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method.name(), "params": params});
    member(&self::request(version, request.to_string().as_bytes())?, "params")
}

fn write(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    method: &Method,
    params: &Params,
) -> Result<(), String> {
    let text = params.text().unwrap_or_else(|| Value::Object(Map::new()).into());
    let meta = params.meta();
    if *method == Method::Initialize {
        let opening: Initialize = text.decode().map_err(|error| error.to_string())?;
        handshake::write_initialize(out, version, id, &opening);
    } else if matches!(method, Method::CreateMessage | Method::Elicit | Method::ListRoots) {
        let question = format!(r#"{{"method":"{}","params":{}}}"#, method.name(), text.as_str());
        let question: InputRequest = serde_json::from_str(&question).map_err(|error| error.to_string())?;
        write_question(out, version, id, &question);
    } else if matches!(method, Method::Ping | Method::Discover) {
        write_spliced(out, version, id, method, &typed::<EmptyParams>(version, &text)?);
    } else {
        match Request::decode(method, params).map_err(|error| error.to_string())? {
            // The envelope of a request belongs to its era; here it is passed through unchanged.
            Some(Request::Other(method, _)) => write_spliced(out, version, id, &method, &text),
            Some(request) => write_request(out, version, id, method, |members| {
                request.put(members);
                members.maybe("_meta", meta.as_ref());
            }),
            None => return Err(format!("neither side sends {}", method.name())),
        }
    }
    Ok(())
}

fn typed<T: serde::de::DeserializeOwned + Encode>(
    version: ProtocolVersion,
    text: &RawJson,
) -> Result<RawJson, String> {
    let read: T = serde_json::from_slice(text.as_bytes()).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    read.encode(&mut Encoder::new(&mut out, version));
    RawJson::parse(&String::from_utf8_lossy(&out)).map_err(|error| error.to_string())
}

fn write_spliced(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, method: &Method, params: &RawJson) {
    let text = params.as_bytes();
    write_request(out, version, id, method, |members| members.splice(text[1..text.len() - 1].trim_ascii()));
}

/// Rewrites a notification of either side.
pub(super) fn notification(version: ProtocolVersion, value: &[u8]) -> Result<Vec<u8>, String> {
    framed(value, Framing::Notification, |message| {
        let Message::Notification { method, params } = message else {
            return Err("no notification".to_owned());
        };
        let mut out = Vec::new();
        match (Notification::decode(&method, &params).map_err(|error| error.to_string())?, version.era()) {
            (Some(news), Era::Handshake) => handshake::write_notification(&mut out, version, &news),
            (Some(news), Era::Stateless) => stateless::write_told(&mut out, &news),
            (None, _) => write_notification(&mut out, version, &method, |members| {
                let text = params.text().unwrap_or_else(|| Value::Object(Map::new()).into());
                let text = text.as_bytes();
                members.splice(text[1..text.len() - 1].trim_ascii());
            }),
        }
        Ok(out)
    })
}

/// Rewrites a reply with any result.
pub(super) fn reply(
    value: &[u8],
    rewrite: impl FnOnce(&RawJson) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let Message::Response { id, outcome } = parse_one(value)? else { return Err("no reply".to_owned()) };
    let mut out = Vec::new();
    match (id, outcome) {
        (Some(id), Ok(result)) => {
            let result = RawJson::parse(&String::from_utf8_lossy(&rewrite(&result)?))
                .map_err(|error| error.to_string())?;
            write_raw_result(&mut out, &id, &result);
        }
        (id, Err(error)) => write_error(&mut out, id.as_ref(), &error),
        (None, Ok(_)) => return Err("a result without an id".to_owned()),
    }
    Ok(out)
}

/// Rewrites any message, or a batch of them if the revision has batches.
pub(super) fn any(version: ProtocolVersion, value: &[u8]) -> Result<Vec<u8>, String> {
    if let Ok(messages) = serde_json::from_slice::<Vec<RawJson>>(value) {
        let rewritten: Result<Vec<_>, _> =
            messages.iter().map(|message| any(version, message.as_bytes())).collect();
        return Ok([b"[", &*rewritten?.join(&b","[..]), b"]"].concat());
    }
    match parse_one(value)? {
        Message::Request { .. } => request(version, value),
        Message::Notification { .. } => notification(version, value),
        Message::Response { .. } => reply(value, |result| Ok(result.as_bytes().to_vec())),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Framing {
    Request,
    Notification,
}

fn framed(
    value: &[u8],
    framing: Framing,
    rewrite: impl FnOnce(Message) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let mut message: Map<String, Value> = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let has_frame = message.contains_key("jsonrpc");
    if !has_frame {
        message.insert("jsonrpc".to_owned(), "2.0".into());
        if framing == Framing::Request {
            message.insert("id".to_owned(), 1.into());
        }
    }
    let written = rewrite(parse_one(Value::Object(message).to_string().as_bytes())?)?;
    if has_frame {
        return Ok(written);
    }
    let mut message: Map<String, Value> =
        serde_json::from_slice(&written).map_err(|error| error.to_string())?;
    message.remove("jsonrpc");
    message.remove("id");
    Ok(Value::Object(message).to_string().into_bytes())
}

fn parse_one(value: &[u8]) -> Result<Message, String> {
    match parse(&Bytes::copy_from_slice(value), Limits::default()) {
        Ok(ParsedFrame::One(message)) => Ok(message),
        Ok(ParsedFrame::Batch(_)) => Err("a batch".to_owned()),
        Err(rejected) => Err(rejected.error.to_string()),
    }
}
