//! The codec of the stateless era: how are its requests read and its replies written?

use crate::capability::{JsonObject, ServerCapabilities};
use crate::era::Envelope;
use crate::json::{Members, RawJson};
use crate::jsonrpc::{
    Frame, Id, RpcError, write_notification, write_raw_result, write_request, write_result,
};
use crate::messages::{Notification, Reply, Request};
use crate::meta::{Key, put_own};
use crate::method::Method;
use crate::types::{CacheHints, Implementation, InputRequired};
use crate::version::ProtocolVersion;
use crate::wire::wire;

/// The revision that this codec writes.
pub const VERSION: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// The `serverInfo` of the server as encoded JSON. The same bytes go into every result.
///
/// ```
/// use toolway_protocol::era::stateless::EncodedServerInfo;
/// use toolway_protocol::types::Implementation;
///
/// let stamp = EncodedServerInfo::new(&Implementation::new("me", "1"));
/// ```
#[derive(Debug, Clone)]
pub struct EncodedServerInfo(RawJson);

impl EncodedServerInfo {
    /// Encodes the stamp of a server.
    pub fn new(server: &Implementation) -> Self {
        Self(RawJson::encoded(server, VERSION))
    }
}

/// Returns the error for a resource that does not exist, as the stateless era defines it. The code is the one for wrong
/// parameters; the URI in `data` distinguishes the two.
///
/// ```
/// let error = toolway_protocol::era::stateless::resource_not_found("a://b");
/// assert_eq!(error.data.unwrap().as_str(), r#"{"uri":"a://b"}"#);
/// ```
pub fn resource_not_found(uri: &str) -> RpcError {
    RpcError::invalid_params("no such resource").with_data(serde_json::json!({"uri": uri}))
}

/// Appends the reply to a request. The cache hints are written only into cacheable results.
///
/// ```
/// use toolway_protocol::era::stateless;
/// use toolway_protocol::types::{CacheHints, CallToolResult, Implementation};
/// use toolway_protocol::Reply;
///
/// let stamp = stateless::EncodedServerInfo::new(&Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// let reply = Reply::ToolCalled(CallToolResult::text("5"));
/// stateless::write_reply(&mut frame, &1.into(), &reply, &CacheHints::default(), &stamp);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":"#));
/// ```
pub fn write_reply(out: &mut Vec<u8>, id: &Id, reply: &Reply, cache: &CacheHints, stamp: &EncodedServerInfo) {
    write_reply_with(out, id, reply, cache, stamp, |members| reply.put(members));
}

/// Like [`write_reply`], for a new frame, which shares a long page of a list with other frames.
pub fn write_reply_frame(
    frame: &mut Frame,
    id: &Id,
    reply: &Reply,
    cache: &CacheHints,
    stamp: &EncodedServerInfo,
) {
    let Frame { text, shared } = frame;
    write_reply_with(text, id, reply, cache, stamp, |members| *shared = reply.put_around_page(members));
}

fn write_reply_with(
    out: &mut Vec<u8>,
    id: &Id,
    reply: &Reply,
    cache: &CacheHints,
    stamp: &EncodedServerInfo,
    put_body: impl FnOnce(&mut Members<'_, '_>),
) {
    if let Some(result) = reply.non_object() {
        return write_raw_result(out, id, result);
    }
    write_result(out, VERSION, id, |members| {
        // A custom method may set `resultType` itself.
        if !matches!(reply, Reply::Custom(result) if has_result_type(result)) {
            put_complete_type(members);
        }
        put_body(members);
        if reply.is_cacheable() {
            cache.put_hints(members);
        }
        // A custom result is sent unchanged.
        if !matches!(reply, Reply::Custom(_)) {
            put_meta(members, reply.meta(), stamp);
        }
    });
}

fn has_result_type(result: &RawJson) -> bool {
    result.tag("resultType").is_ok_and(|kind| kind.is_some())
}

/// Appends a notification that belongs to a request: progress or a log message.
///
/// ```
/// use toolway_protocol::era::stateless::write_told;
/// use toolway_protocol::types::{LogLevel, LogMessage};
/// use toolway_protocol::Notification;
///
/// let mut frame = Vec::new();
/// let message = LogMessage::new(LogLevel::Info, serde_json::json!("started"));
/// write_told(&mut frame, &Notification::LogMessage(message));
/// assert!(frame.ends_with(br#""params":{"level":"info","data":"started"}}"#));
/// ```
pub fn write_told(out: &mut Vec<u8>, news: &Notification) {
    news.write(out, VERSION);
}

/// Appends a notification for the stream that the `subscriptions/listen` request with the id `subscription` opened.
///
/// ```
/// use toolway_protocol::era::stateless::write_change;
/// use toolway_protocol::types::EmptyParams;
/// use toolway_protocol::Notification;
///
/// let mut frame = Vec::new();
/// write_change(&mut frame, &"L1".into(), &Notification::ToolsChanged(EmptyParams::new()));
/// assert!(frame.ends_with(br#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}}}"#));
/// ```
pub fn write_change(out: &mut Vec<u8>, subscription: &Id, news: &Notification) {
    write_notification(out, VERSION, &news.method(), |params| {
        params.object("_meta", |meta| {
            meta.put(Key::SubscriptionId.name(), subscription);
            put_own_except(meta, news.meta(), &[Key::SubscriptionId]);
        });
        news.put_body(params);
    });
}

/// Appends the reply to the `subscriptions/listen` request with this id. The reply ends the stream.
///
/// ```
/// use toolway_protocol::era::stateless;
/// use toolway_protocol::types::Implementation;
///
/// let stamp = stateless::EncodedServerInfo::new(&Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// stateless::write_listen_end(&mut frame, &"L1".into(), None, &stamp);
/// assert!(frame.ends_with(br#""io.modelcontextprotocol/subscriptionId":"L1"}}}"#));
/// ```
pub fn write_listen_end(out: &mut Vec<u8>, id: &Id, own: Option<&JsonObject>, stamp: &EncodedServerInfo) {
    write_result(out, VERSION, id, |members| {
        put_complete_type(members);
        members.object("_meta", |meta| {
            meta.put(Key::ServerInfo.name(), &stamp.0);
            meta.put(Key::SubscriptionId.name(), id);
            put_own_except(meta, own, &[Key::ServerInfo, Key::SubscriptionId]);
        });
    });
}

/// Appends a result that asks the client questions (`input_required`). Such a result has no cache hints.
///
/// ```
/// use toolway_protocol::era::stateless;
/// use toolway_protocol::types::{Implementation, InputRequired};
///
/// let stamp = stateless::EncodedServerInfo::new(&Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// let required = InputRequired::new().with_request_state("sealed");
/// stateless::write_input_required(&mut frame, &1.into(), &required, &stamp);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required""#));
/// ```
pub fn write_input_required(out: &mut Vec<u8>, id: &Id, required: &InputRequired, stamp: &EncodedServerInfo) {
    write_result(out, VERSION, id, |members| {
        members.put_raw("resultType", b"\"input_required\"");
        required.put_body(members);
        put_meta(members, required.meta.as_ref(), stamp);
    });
}

wire! {
    /// The result of `server/discover`.
    ///
    /// ```
    /// use toolway_protocol::capability::ServerCapabilities;
    /// use toolway_protocol::era::stateless::DiscoverResult;
    ///
    /// let discovered = DiscoverResult::new(vec!["2026-07-28".to_owned()], ServerCapabilities::new());
    /// assert_eq!(discovered.supported_versions, ["2026-07-28"]);
    /// ```
    pub struct DiscoverResult {
        /// The stateless revisions that the server supports.
        supported_versions: Vec<String> = "supportedVersions";
        /// The capabilities of the server.
        capabilities: ServerCapabilities = "capabilities";
        /// Instructions for the model on how to use the server.
        instructions (with_instructions): Option<String> = "instructions";
        /// The name and version of the server, and additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
        frame "resultType", "ttlMs", "cacheScope";
    }
}

/// Appends the reply to `server/discover`.
///
/// ```
/// use toolway_protocol::capability::ServerCapabilities;
/// use toolway_protocol::era::stateless;
/// use toolway_protocol::types::{CacheHints, Implementation};
///
/// let stamp = stateless::EncodedServerInfo::new(&Implementation::new("me", "1"));
/// let discovered = stateless::DiscoverResult::new(vec!["2026-07-28".to_owned()], ServerCapabilities::new());
/// let mut frame = Vec::new();
/// stateless::write_discover_result(&mut frame, &1.into(), &discovered, &CacheHints::default(), &stamp);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions""#));
/// ```
pub fn write_discover_result(
    out: &mut Vec<u8>,
    id: &Id,
    discovered: &DiscoverResult,
    cache: &CacheHints,
    stamp: &EncodedServerInfo,
) {
    write_result(out, VERSION, id, |members| {
        put_complete_type(members);
        discovered.put_body(members);
        cache.put_hints(members);
        put_meta(members, discovered.meta.as_ref(), stamp);
    });
}

/// Appends a request that carries `envelope`.
///
/// ```
/// use toolway_protocol::capability::ClientCapabilities;
/// use toolway_protocol::era::{Envelope, stateless::write_call};
/// use toolway_protocol::request::CallTool;
/// use toolway_protocol::types::Implementation;
/// use toolway_protocol::{ProtocolVersion, Request};
///
/// let envelope = Envelope::new(ProtocolVersion::LATEST, ClientCapabilities::new(), Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// write_call(&mut frame, &1.into(), &Request::CallTool(CallTool::new("add", None)), &envelope, None);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":"#));
/// ```
pub fn write_call(
    out: &mut Vec<u8>,
    id: &Id,
    request: &Request,
    envelope: &Envelope,
    own: Option<&JsonObject>,
) {
    write_request(out, VERSION, id, &request.method(), |params| {
        request.put(params);
        params.object("_meta", |meta| {
            envelope.put(meta);
            put_own(meta, own);
        });
    });
}

/// Appends a request that has no parameters except the envelope.
///
/// ```
/// use toolway_protocol::capability::ClientCapabilities;
/// use toolway_protocol::era::{Envelope, stateless::write_call_without_params};
/// use toolway_protocol::types::Implementation;
/// use toolway_protocol::{Method, ProtocolVersion};
///
/// let envelope = Envelope::new(ProtocolVersion::LATEST, ClientCapabilities::new(), Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// write_call_without_params(&mut frame, &1.into(), &Method::Discover, &envelope);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":"#));
/// ```
pub fn write_call_without_params(out: &mut Vec<u8>, id: &Id, method: &Method, envelope: &Envelope) {
    write_request(out, VERSION, id, method, |params| params.object("_meta", |meta| envelope.put(meta)));
}

fn put_complete_type(members: &mut Members<'_, '_>) {
    members.put_raw("resultType", b"\"complete\"");
}

/// Writes `_meta`: the stamp of the server and the members of the result's own `_meta`.
fn put_meta(members: &mut Members<'_, '_>, own: Option<&JsonObject>, stamp: &EncodedServerInfo) {
    members.object("_meta", |meta| {
        meta.put(Key::ServerInfo.name(), &stamp.0);
        put_own_except(meta, own, &[Key::ServerInfo]);
    });
}

/// Writes the members of `own`, except the keys that the codec writes itself.
fn put_own_except(meta: &mut Members<'_, '_>, own: Option<&JsonObject>, ours: &[Key]) {
    for (key, value) in own.into_iter().flatten() {
        if !ours.iter().any(|ours| ours.name() == key) {
            meta.put_escaped(key, value);
        }
    }
}
