//! How is a request of the stateless era passed on? As a POST whose headers repeat what the message says of itself.

use ::http::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolway_protocol::http::header::encode;
use toolway_protocol::jsonrpc::{Code, Params};
use toolway_protocol::meta::Key;
use toolway_protocol::{Id, Message, Method};

use super::arguments::{ArgumentHeaders, next_page};
use crate::client::http::request::endpoint::{HttpEndpoint, ReplyBody};
use crate::client::http::request::events::ReceivedMessage;
use crate::client::http::request::headers::{CallHeaders, insert_header, merge_headers};
use crate::ground::error::Result;

/// The maximum number of pages that are read to learn which arguments a tool wants in headers.
const MAX_PAGES: usize = 100;

/// A request that describes itself.
pub(super) struct StatelessRequest<'r> {
    pub(super) frame: Bytes,
    pub(super) id: &'r Id,
    pub(super) method: &'r Method,
    pub(super) params: &'r Params,
}

/// Sends a request and returns its reply. What comes before the reply goes to `messages`.
pub(super) async fn send(
    endpoint: &HttpEndpoint,
    known: &ArgumentHeaders,
    messages: &mpsc::Sender<Bytes>,
    request: StatelessRequest<'_>,
) -> Result<ReceivedMessage> {
    let StatelessRequest { frame, id, method, params } = request;
    let mirrored = argument_headers(known, method, params);
    let reply = post(endpoint, frame.clone(), id, headers(method, params, &mirrored)?, messages).await?;
    match &reply.message {
        Message::Response { outcome: Ok(result), .. } if *method == Method::ListTools => {
            known.note_tools(result);
        }
        // The tool wants arguments in headers, and its definition did not come by. The server has not run it.
        Message::Response { outcome: Err(error), .. }
            if *method == Method::CallTool && error.code == Code::HEADER_MISMATCH =>
        {
            learn_tools(endpoint, known, params, messages).await?;
            let now = argument_headers(known, method, params);
            if now != mirrored {
                return post(endpoint, frame, id, headers(method, params, &now)?, messages).await;
            }
        }
        _ => {}
    }
    Ok(reply)
}

fn argument_headers(known: &ArgumentHeaders, method: &Method, params: &Params) -> Vec<(String, String)> {
    if *method == Method::CallTool
        && let (Ok(Some(name)), Ok(Some(arguments))) = (params.name(), params.arguments())
    {
        return known.of_call(&name, &arguments);
    }
    Vec::new()
}

fn headers(method: &Method, params: &Params, mirrored: &[(String, String)]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    merge_headers(&mut headers, &CallHeaders::parse(mirrored)?.argument_headers);
    // The revision as the message writes it, even if it is unknown here: the server decides about it.
    let version: Option<String> =
        params.meta_member(Key::ProtocolVersion).and_then(|text| text.decode().ok());
    if let Some(version) = version {
        insert_header(&mut headers, "mcp-protocol-version", &version);
    }
    insert_header(&mut headers, "mcp-method", method.name());
    let named = match method.facts().and_then(|facts| facts.name_member) {
        Some("uri") => params.uri(),
        Some(_) => params.name(),
        None => Ok(None),
    };
    if let Ok(Some(name)) = named {
        insert_header(&mut headers, "mcp-name", &encode(&name));
    }
    Ok(headers)
}

async fn post(
    endpoint: &HttpEndpoint,
    frame: Bytes,
    id: &Id,
    headers: HeaderMap,
    messages: &mpsc::Sender<Bytes>,
) -> Result<ReceivedMessage> {
    let response = endpoint.post(headers, frame).await?;
    let mut events = match endpoint.read_reply(response, Some(id)).await? {
        ReplyBody::Whole(reply) => return Ok(reply),
        ReplyBody::Stream(events) => events,
    };
    loop {
        let next = events.next_messages(|_| true).await;
        for received in next.map_err(|reason| endpoint.stream_error(reason))? {
            match &received.message {
                reply @ Message::Response { .. } if reply.id() == Some(id) => return Ok(received),
                _ => drop(messages.send(received.text).await),
            }
        }
    }
}

/// Lists the tools, as the caller that `params` describes.
async fn learn_tools(
    endpoint: &HttpEndpoint,
    known: &ArgumentHeaders,
    params: &Params,
    messages: &mpsc::Sender<Bytes>,
) -> Result<()> {
    let mut meta: Value = params.meta().and_then(|meta| meta.decode().ok()).unwrap_or_default();
    if let Value::Object(members) = &mut meta {
        // It belongs to the request of the caller.
        members.remove("progressToken");
    }
    let id = Id::from("toolway-relay");
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut own = json!({"_meta": meta});
        if let Some(cursor) = &cursor {
            own["cursor"] = cursor.as_str().into();
        }
        let frame = json!({"jsonrpc": "2.0", "id": "toolway-relay", "method": "tools/list", "params": own});
        // This method has no name member, so the name of the tool is not repeated.
        let headers = headers(&Method::ListTools, params, &[])?;
        let reply = post(endpoint, frame.to_string().into(), &id, headers, messages).await?;
        let Message::Response { outcome: Ok(result), .. } = &reply.message else { return Ok(()) };
        known.note_tools(result);
        match next_page(result) {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
    Ok(())
}
