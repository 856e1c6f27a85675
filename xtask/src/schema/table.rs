//! Which of our types corresponds to which definition of the official schema?
//!
//! One line for each definition: it reads the value with the type and writes it in the form of the revision. To cover
//! one more, add `"Definition" => round::<Type>(version, value),`; a definition without a line needs an entry in
//! `allow.rs`. A definition that changed its meaning gets a guard on `version` and two lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::message;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolway_protocol::capability::{ClientCapabilities, ServerCapabilities};
use toolway_protocol::era::handshake::{self, Initialize, Initialized};
use toolway_protocol::era::stateless;
use toolway_protocol::json::{Encode, Encoder};
use toolway_protocol::request::{Listen, Page, ResourceUri, SetLogLevel};
use toolway_protocol::types::{
    Annotations, AudioContent, CacheHints, Cancelled, Complete, Content, CreateMessage, CreateMessageResult,
    Elicit, ElicitResult, ElicitationComplete, EmbeddedResource, Field, Icon, ImageContent, Implementation,
    InputRequest, InputRequired, Keyed, ListRootsResult, Listing, LogLevel, LogMessage, ModelHint,
    ModelPreferences, Progress, Prompt, PromptArgument, PromptMessage, PromptReference, Resource,
    ResourceContents, ResourceReference, ResourceTemplate, ResourceUpdated, Role, Root, SamplingMessage,
    SubscriptionAcknowledged, SubscriptionFilter, TextContent, Told, Tool, ToolAnnotations, ToolChoice,
    ToolExecution, ToolResultContent, ToolUseContent,
};
use toolway_protocol::{Era, Id, Method, ProtocolVersion, RawJson, Reply, RpcError};

/// Reads a value of the definition and writes it again; `None` if no type covers the definition.
#[expect(clippy::match_same_arms, reason = "a line for each definition, in the order of their names")]
pub(super) fn rewrite(definition: &str, revision: &str, value: &[u8]) -> Option<Result<Vec<u8>, String>> {
    let version = match revision.parse::<ProtocolVersion>() {
        Ok(version) => version,
        Err(error) => return Some(Err(error.to_string())),
    };
    Some(match definition {
        "Annotations" => round::<Annotations>(version, value),
        "AudioContent" => round::<AudioContent>(version, value),
        "BlobResourceContents" => round::<ResourceContents>(version, value),
        "BooleanSchema" => round::<Field>(version, value),
        "CallToolRequest" => message::request(version, value),
        "CallToolRequestParams" => message::params(version, &Method::CallTool, value),
        "CallToolResult" => result(version, value, Reply::ToolCalled),
        "CallToolResultResponse" => response(definition, revision, value),
        "CancelledNotification" => message::notification(version, value),
        "CancelledNotificationParams" => round::<Cancelled>(version, value),
        "ClientCapabilities" => round::<ClientCapabilities>(version, value),
        "ClientNotification" => message::notification(version, value),
        "ClientRequest" => message::request(version, value),
        "CompleteRequest" => message::request(version, value),
        "CompleteRequestParams" => round::<Complete>(version, value),
        "CompleteResult" => result(version, value, Reply::Completed),
        "CompleteResultResponse" => response(definition, revision, value),
        "ContentBlock" => round::<Content>(version, value),
        "CreateMessageRequest" if version.era() == Era::Stateless => round::<InputRequest>(version, value),
        "CreateMessageRequest" => message::request(version, value),
        "CreateMessageRequestParams" => round::<CreateMessage>(version, value),
        "CreateMessageResult" => round::<CreateMessageResult>(version, value),
        "DiscoverRequest" => message::request(version, value),
        "DiscoverResult" => discovered(value),
        "DiscoverResultResponse" => response(definition, revision, value),
        "ElicitRequest" if version.era() == Era::Stateless => round::<InputRequest>(version, value),
        "ElicitRequest" => message::request(version, value),
        "ElicitRequestFormParams" => round::<Elicit>(version, value),
        "ElicitRequestParams" => round::<Elicit>(version, value),
        "ElicitRequestURLParams" => round::<Elicit>(version, value),
        "ElicitResult" => round::<ElicitResult>(version, value),
        "ElicitationCompleteNotification" => message::notification(version, value),
        "ElicitationCompleteNotificationParams" => round::<ElicitationComplete>(version, value),
        "EmbeddedResource" => round::<EmbeddedResource>(version, value),
        "EnumSchema" => round::<Field>(version, value),
        "Error" => round::<RpcError>(version, value),
        "GetPromptRequest" => message::request(version, value),
        "GetPromptRequestParams" => message::params(version, &Method::GetPrompt, value),
        "GetPromptResult" => result(version, value, Reply::PromptFilled),
        "GetPromptResultResponse" => response(definition, revision, value),
        "HeaderMismatchError" => message::any(version, value),
        "Icon" => round::<Icon>(version, value),
        "ImageContent" => round::<ImageContent>(version, value),
        "Implementation" => round::<Implementation>(version, value),
        "InitializeRequest" => message::request(version, value),
        "InitializeRequestParams" => round::<Initialize>(version, value),
        "InitializeResult" => round::<Initialized>(version, value),
        "InitializedNotification" => message::notification(version, value),
        "InputRequest" => round::<InputRequest>(version, value),
        "InputRequests" => round::<Keyed<InputRequest>>(version, value),
        "InputRequiredResult" => input_required(value),
        "InputResponses" => round::<Keyed<RawJson>>(version, value),
        "InternalError" => round::<RpcError>(version, value),
        "InvalidParamsError" => round::<RpcError>(version, value),
        "InvalidRequestError" => round::<RpcError>(version, value),
        "JSONRPCBatchRequest" => message::any(version, value),
        "JSONRPCBatchResponse" => message::any(version, value),
        "JSONRPCError" => message::any(version, value),
        "JSONRPCErrorResponse" => message::any(version, value),
        "JSONRPCMessage" => message::any(version, value),
        "JSONRPCNotification" => message::notification(version, value),
        "JSONRPCRequest" => message::request(version, value),
        "JSONRPCResponse" => message::any(version, value),
        "JSONRPCResultResponse" => message::any(version, value),
        "LegacyTitledEnumSchema" => round::<Field>(version, value),
        "ListPromptsRequest" => message::request(version, value),
        "ListPromptsResult" => list::<Prompt>(version, value, "prompts", Reply::Prompts),
        "ListPromptsResultResponse" => response(definition, revision, value),
        "ListResourceTemplatesRequest" => message::request(version, value),
        "ListResourceTemplatesResult" => {
            list::<ResourceTemplate>(version, value, "resourceTemplates", Reply::ResourceTemplates)
        }
        "ListResourceTemplatesResultResponse" => response(definition, revision, value),
        "ListResourcesRequest" => message::request(version, value),
        "ListResourcesResult" => list::<Resource>(version, value, "resources", Reply::Resources),
        "ListResourcesResultResponse" => response(definition, revision, value),
        "ListRootsRequest" if version.era() == Era::Stateless => round::<InputRequest>(version, value),
        "ListRootsRequest" => message::request(version, value),
        "ListRootsResult" => round::<ListRootsResult>(version, value),
        "ListToolsRequest" => message::request(version, value),
        "ListToolsResult" => list::<Tool>(version, value, "tools", Reply::Tools),
        "ListToolsResultResponse" => response(definition, revision, value),
        "LoggingLevel" => round::<LogLevel>(version, value),
        "LoggingMessageNotification" => message::notification(version, value),
        "LoggingMessageNotificationParams" => round::<LogMessage>(version, value),
        "MethodNotFoundError" => round::<RpcError>(version, value),
        "MissingRequiredClientCapabilityError" => message::any(version, value),
        "ModelHint" => round::<ModelHint>(version, value),
        "ModelPreferences" => round::<ModelPreferences>(version, value),
        "MultiSelectEnumSchema" => round::<Field>(version, value),
        "NotificationParams" => round::<Told>(version, value),
        "NumberSchema" => round::<Field>(version, value),
        "PaginatedRequestParams" => round::<Page>(version, value),
        "ParseError" => round::<RpcError>(version, value),
        "PingRequest" => message::request(version, value),
        "PrimitiveSchemaDefinition" => round::<Field>(version, value),
        "ProgressNotification" => message::notification(version, value),
        "ProgressNotificationParams" => round::<Progress>(version, value),
        "ProgressToken" => round::<Id>(version, value),
        "Prompt" => round::<Prompt>(version, value),
        "PromptArgument" => round::<PromptArgument>(version, value),
        "PromptListChangedNotification" => message::notification(version, value),
        "PromptMessage" => round::<PromptMessage>(version, value),
        "PromptReference" => round::<PromptReference>(version, value),
        "ReadResourceRequest" => message::request(version, value),
        "ReadResourceRequestParams" => message::params(version, &Method::ReadResource, value),
        "ReadResourceResult" => result(version, value, Reply::ResourceRead),
        "ReadResourceResultResponse" => response(definition, revision, value),
        "RequestId" => round::<Id>(version, value),
        "Resource" => round::<Resource>(version, value),
        "ResourceContents" => round::<ResourceContents>(version, value),
        "ResourceLink" => round::<Content>(version, value),
        "ResourceListChangedNotification" => message::notification(version, value),
        "ResourceReference" => round::<ResourceReference>(version, value),
        "ResourceTemplate" => round::<ResourceTemplate>(version, value),
        "ResourceTemplateReference" => round::<ResourceReference>(version, value),
        "ResourceUpdatedNotification" => message::notification(version, value),
        "ResourceUpdatedNotificationParams" => round::<ResourceUpdated>(version, value),
        "Role" => round::<Role>(version, value),
        "Root" => round::<Root>(version, value),
        "RootsListChangedNotification" => message::notification(version, value),
        "SamplingMessage" => round::<SamplingMessage>(version, value),
        "SamplingMessageContentBlock" => round::<Content>(version, value),
        "ServerCapabilities" => round::<ServerCapabilities>(version, value),
        "ServerNotification" => message::notification(version, value),
        "ServerRequest" => message::request(version, value),
        "SetLevelRequest" => message::request(version, value),
        "SetLevelRequestParams" => round::<SetLogLevel>(version, value),
        "SingleSelectEnumSchema" => round::<Field>(version, value),
        "StringSchema" => round::<Field>(version, value),
        "SubscribeRequest" => message::request(version, value),
        "SubscribeRequestParams" => round::<ResourceUri>(version, value),
        "SubscriptionFilter" => round::<SubscriptionFilter>(version, value),
        "SubscriptionsAcknowledgedNotification" => message::notification(version, value),
        "SubscriptionsAcknowledgedNotificationParams" => round::<SubscriptionAcknowledged>(version, value),
        "SubscriptionsListenRequest" => message::request(version, value),
        "SubscriptionsListenRequestParams" => round::<Listen>(version, value),
        "SubscriptionsListenResult" => listen_end(value),
        "SubscriptionsListenResultResponse" => response(definition, revision, value),
        "TextContent" => round::<TextContent>(version, value),
        "TextResourceContents" => round::<ResourceContents>(version, value),
        "TitledMultiSelectEnumSchema" => round::<Field>(version, value),
        "TitledSingleSelectEnumSchema" => round::<Field>(version, value),
        "Tool" => round::<Tool>(version, value),
        "ToolAnnotations" => round::<ToolAnnotations>(version, value),
        "ToolChoice" => round::<ToolChoice>(version, value),
        "ToolExecution" => round::<ToolExecution>(version, value),
        "ToolListChangedNotification" => message::notification(version, value),
        "ToolResultContent" => round::<ToolResultContent>(version, value),
        "ToolUseContent" => round::<ToolUseContent>(version, value),
        "URLElicitationRequiredError" => message::any(version, value),
        "UnsubscribeRequest" => message::request(version, value),
        "UnsubscribeRequestParams" => round::<ResourceUri>(version, value),
        "UnsupportedProtocolVersionError" => message::any(version, value),
        "UntitledMultiSelectEnumSchema" => round::<Field>(version, value),
        "UntitledSingleSelectEnumSchema" => round::<Field>(version, value),
        _ => return None,
    })
}

/// Rewrites a type that reads and writes itself.
fn round<T: DeserializeOwned + Encode>(version: ProtocolVersion, value: &[u8]) -> Result<Vec<u8>, String> {
    let read: T = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    read.encode(&mut Encoder::new(&mut out, version));
    Ok(out)
}

/// Rewrites a result. The codec of the era writes it, with the members that the era adds.
fn result<T: DeserializeOwned>(
    version: ProtocolVersion,
    value: &[u8],
    reply: fn(T) -> Reply,
) -> Result<Vec<u8>, String> {
    encoded(version, value, &reply(serde_json::from_slice(value).map_err(|error| error.to_string())?))
}

fn encoded(version: ProtocolVersion, value: &[u8], reply: &Reply) -> Result<Vec<u8>, String> {
    let stamp = stamp(value)?;
    let mut frame = Vec::new();
    match version.era() {
        Era::Handshake => handshake::write_reply(&mut frame, version, &Id::from(1), reply),
        Era::Stateless => stateless::write_reply(&mut frame, &Id::from(1), reply, &cache(value), &stamp),
    }
    member(&frame, "result")
}

/// Rewrites a page of a list.
fn list<T: DeserializeOwned + Encode>(
    version: ProtocolVersion,
    value: &[u8],
    key: &str,
    reply: fn(Arc<Listing<T>>) -> Reply,
) -> Result<Vec<u8>, String> {
    let page: Value = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let items = RawJson::from(page[key].clone());
    let items: Vec<T> = serde_json::from_slice(items.as_bytes()).map_err(|error| error.to_string())?;
    let next = page.get("nextCursor").and_then(Value::as_str).map(String::from);
    let mut listing = Listing::new(items, next);
    if let Some(meta) = page.get("_meta").and_then(Value::as_object) {
        listing = listing.with_meta(meta.clone());
    }
    encoded(version, value, &reply(Arc::new(listing)))
}

/// Rewrites the result of `server/discover`.
fn discovered(value: &[u8]) -> Result<Vec<u8>, String> {
    let read: stateless::Discovered = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let mut frame = Vec::new();
    stateless::write_discovered(&mut frame, &Id::from(1), &read, &cache(value), &stamp(value)?);
    member(&frame, "result")
}

/// Rewrites the result of a round that ended in questions.
fn input_required(value: &[u8]) -> Result<Vec<u8>, String> {
    let read: InputRequired = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let mut frame = Vec::new();
    stateless::write_input_required(&mut frame, &Id::from(1), &read, &stamp(value)?);
    member(&frame, "result")
}

/// Rewrites the reply that ends a subscription stream: it only contains the id of the subscription.
fn listen_end(value: &[u8]) -> Result<Vec<u8>, String> {
    let read: Value = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let id = read.pointer("/_meta/io.modelcontextprotocol~1subscriptionId").cloned().unwrap_or_default();
    let id: Id = serde_json::from_value(id).map_err(|error| error.to_string())?;
    let mut frame = Vec::new();
    stateless::write_listen_end(&mut frame, &id, read["_meta"].as_object(), &stamp(value)?);
    member(&frame, "result")
}

/// Rewrites a reply whose definition is named after its result.
fn response(definition: &str, revision: &str, value: &[u8]) -> Result<Vec<u8>, String> {
    message::reply(value, |result| {
        // Some methods may answer with questions instead; `resultType` tells.
        let kind: Value = serde_json::from_slice(result.as_bytes()).map_err(|error| error.to_string())?;
        let inner = match kind.get("resultType").and_then(Value::as_str) {
            Some("input_required") => "InputRequiredResult",
            _ => definition.strip_suffix("Response").unwrap_or(definition),
        };
        rewrite(inner, revision, result.as_bytes()).unwrap_or_else(|| Err(format!("{inner} is not covered")))
    })
}

/// Returns the cache hints of a result.
fn cache(value: &[u8]) -> CacheHints {
    serde_json::from_slice::<CacheHints>(value)
        .map(|hints| CacheHints::new(hints.ttl_ms, hints.cache_scope))
        .unwrap_or_default()
}

/// Returns the stamp of the value. A server stamps its own results, so it is given the name in the value.
fn stamp(value: &[u8]) -> Result<stateless::Stamp, String> {
    let value: Value = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let server = match value.pointer("/_meta/io.modelcontextprotocol~1serverInfo") {
        Some(server) => RawJson::from(server.clone()).decode().map_err(|error| error.to_string())?,
        None => Implementation::new("xtask", "0"),
    };
    Ok(stateless::Stamp::new(&server))
}

/// Returns one member of a written frame, unchanged.
pub(super) fn member(frame: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let members: BTreeMap<String, RawJson> =
        serde_json::from_slice(frame).map_err(|error| format!("the frame is not JSON: {error}"))?;
    let member = members.get(name).ok_or_else(|| format!("the frame has no `{name}`"))?;
    Ok(member.as_bytes().to_vec())
}
