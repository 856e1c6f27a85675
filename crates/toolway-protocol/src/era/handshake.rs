//! The codec of the handshake era: how are requests read and replies written in the four older revisions?

use crate::capability::{ClientCapabilities, JsonObject, ServerCapabilities};
use crate::json::Members;
use crate::jsonrpc::{Code, Frame, Id, RpcError, write_raw_result, write_request, write_result};
use crate::messages::{Notification, Reply, Request};
use crate::meta::{Key, put_own};
use crate::method::Method;
use crate::types::Implementation;
use crate::version::ProtocolVersion;
use crate::wire::wire;

wire! {
    /// The parameters of `initialize`, which opens a conversation.
    ///
    /// ```
    /// use toolway_protocol::capability::ClientCapabilities;
    /// use toolway_protocol::era::handshake::Initialize;
    /// use toolway_protocol::types::Implementation;
    ///
    /// let opening = Initialize::new("2025-11-25", ClientCapabilities::new(), Implementation::new("me", "1"));
    /// assert_eq!(opening.protocol_version, "2025-11-25");
    /// ```
    pub struct Initialize {
        /// The newest revision that the client supports. It may be unknown to this crate.
        protocol_version: String = "protocolVersion";
        /// The capabilities of the client.
        capabilities: ClientCapabilities = "capabilities";
        /// The name and version of the client.
        client_info: Implementation = "clientInfo";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }

    /// The result of `initialize`.
    ///
    /// ```
    /// use toolway_protocol::capability::ServerCapabilities;
    /// use toolway_protocol::era::handshake::InitializeResult;
    /// use toolway_protocol::types::Implementation;
    ///
    /// let answer = InitializeResult::new("2025-11-25", ServerCapabilities::new(), Implementation::new("me", "1"));
    /// assert_eq!(answer.with_instructions("Be kind.").instructions.as_deref(), Some("Be kind."));
    /// ```
    pub struct InitializeResult {
        /// The negotiated revision, which all further messages use.
        protocol_version: String = "protocolVersion";
        /// The capabilities of the server.
        capabilities: ServerCapabilities = "capabilities";
        /// The name and version of the server.
        server_info: Implementation = "serverInfo";
        /// Instructions for the model on how to use the server.
        instructions (with_instructions): Option<String> = "instructions";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }
}

/// Returns whether a frame may hold several messages.
///
/// ```
/// use toolway_protocol::{ProtocolVersion, era::handshake::has_batches};
///
/// assert_eq!(ProtocolVersion::ALL.into_iter().filter(|version| has_batches(*version)).count(), 1);
/// ```
pub fn has_batches(version: ProtocolVersion) -> bool {
    version == ProtocolVersion::V2025_03_26
}

/// Returns whether an event stream begins with a priming event, which has an id and no data. After this event the
/// server may close the connection, and the client resumes the stream from the id.
///
/// ```
/// use toolway_protocol::{ProtocolVersion, era::handshake::has_priming_events};
///
/// assert!(has_priming_events(ProtocolVersion::LATEST_HANDSHAKE));
/// assert_eq!(ProtocolVersion::ALL.into_iter().filter(|version| has_priming_events(*version)).count(), 1);
/// ```
pub fn has_priming_events(version: ProtocolVersion) -> bool {
    version == ProtocolVersion::V2025_11_25
}

/// Returns the error for a resource that does not exist, as the handshake era defines it.
///
/// ```
/// use toolway_protocol::era::{handshake, stateless};
///
/// assert_eq!(handshake::resource_not_found("a://b").code.0, -32002);
/// assert_eq!(stateless::resource_not_found("a://b").code.0, -32602);
/// ```
pub fn resource_not_found(uri: &str) -> RpcError {
    RpcError::new(Code::RESOURCE_NOT_FOUND, "no such resource").with_data(serde_json::json!({"uri": uri}))
}

/// Appends the reply to `initialize`, in the shape of the given revision.
///
/// ```
/// use toolway_protocol::capability::ServerCapabilities;
/// use toolway_protocol::era::handshake::{InitializeResult, write_initialize_result};
/// use toolway_protocol::types::Implementation;
/// use toolway_protocol::ProtocolVersion;
///
/// let version = ProtocolVersion::LATEST_HANDSHAKE;
/// let answer = InitializeResult::new(version.as_str(), ServerCapabilities::new(), Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// write_initialize_result(&mut frame, version, &0.into(), &answer);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25""#));
/// ```
pub fn write_initialize_result(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    answer: &InitializeResult,
) {
    write_result(out, version, id, |members| answer.put(members));
}

/// Appends the reply to a request.
///
/// ```
/// use toolway_protocol::era::handshake::write_reply;
/// use toolway_protocol::types::CallToolResult;
/// use toolway_protocol::{ProtocolVersion, Reply};
///
/// let mut frame = Vec::new();
/// let reply = Reply::ToolCalled(CallToolResult::text("5"));
/// write_reply(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &1.into(), &reply);
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"5"}]}}"#);
/// ```
pub fn write_reply(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, reply: &Reply) {
    write_reply_with(out, version, id, reply, |members| reply.put(members));
}

/// Like [`write_reply`], for a new frame, which shares a long page of a list with other frames.
pub fn write_reply_frame(frame: &mut Frame, version: ProtocolVersion, id: &Id, reply: &Reply) {
    let Frame { text, shared } = frame;
    write_reply_with(text, version, id, reply, |members| *shared = reply.put_around_page(members));
}

fn write_reply_with(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    reply: &Reply,
    put_body: impl FnOnce(&mut Members<'_, '_>),
) {
    if let Some(result) = reply.non_object() {
        return write_raw_result(out, id, result);
    }
    write_result(out, version, id, |members| {
        put_body(members);
        members.maybe("_meta", reply.meta());
    });
}

/// Appends an empty reply, as for `ping`.
///
/// ```
/// use toolway_protocol::era::handshake::write_empty;
/// use toolway_protocol::ProtocolVersion;
///
/// let mut frame = Vec::new();
/// write_empty(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &"a".into());
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
/// ```
pub fn write_empty(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id) {
    write_result(out, version, id, |_| {});
}

/// Appends a notification.
///
/// ```
/// use toolway_protocol::era::handshake::write_notification;
/// use toolway_protocol::types::ResourceUpdated;
/// use toolway_protocol::{Notification, ProtocolVersion};
///
/// let mut frame = Vec::new();
/// let news = Notification::ResourceUpdated(ResourceUpdated::new("a://b"));
/// write_notification(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &news);
/// assert!(frame.ends_with(br#""params":{"uri":"a://b"}}"#));
/// ```
pub fn write_notification(out: &mut Vec<u8>, version: ProtocolVersion, news: &Notification) {
    news.write(out, version);
}

/// Appends a request, with a progress token if the caller wants progress notifications.
///
/// ```
/// use toolway_protocol::era::handshake::write_call;
/// use toolway_protocol::request::ListParams;
/// use toolway_protocol::{ProtocolVersion, Request};
///
/// let mut frame = Vec::new();
/// write_call(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &1.into(), &Request::ListTools(ListParams::new()), None, None);
/// assert_eq!(frame, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#);
/// ```
pub fn write_call(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    id: &Id,
    request: &Request,
    progress_token: Option<&Id>,
    own: Option<&JsonObject>,
) {
    write_request(out, version, id, &request.method(), |params| {
        request.put(params);
        if progress_token.is_some() || own.is_some() {
            params.object("_meta", |meta| {
                meta.maybe(Key::ProgressToken.name(), progress_token);
                put_own(meta, own);
            });
        }
    });
}

/// Appends the `initialize` request.
///
/// ```
/// use toolway_protocol::capability::ClientCapabilities;
/// use toolway_protocol::era::handshake::{Initialize, write_initialize};
/// use toolway_protocol::types::Implementation;
/// use toolway_protocol::ProtocolVersion;
///
/// let version = ProtocolVersion::LATEST_HANDSHAKE;
/// let opening = Initialize::new(version.as_str(), ClientCapabilities::new(), Implementation::new("me", "1"));
/// let mut frame = Vec::new();
/// write_initialize(&mut frame, version, &0.into(), &opening);
/// assert!(frame.starts_with(br#"{"jsonrpc":"2.0","id":0,"method":"initialize""#));
/// ```
pub fn write_initialize(out: &mut Vec<u8>, version: ProtocolVersion, id: &Id, opening: &Initialize) {
    write_request(out, version, id, &Method::Initialize, |params| opening.put(params));
}
