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
use toolway_protocol::era::handshake::{self, Initialize, InitializeResult};
use toolway_protocol::era::stateless;
use toolway_protocol::json::{Encode, Encoder};
use toolway_protocol::request::{ListParams, Listen, ResourceUri, SetLogLevel};
use toolway_protocol::types::{
    Annotations, AudioContent, CacheHints, Cancelled, Complete, Content, CreateMessage, CreateMessageResult,
    Elicit, ElicitResult, ElicitationComplete, EmbeddedResource, EmptyParams, Field, Icon, ImageContent,
    Implementation, InputRequest, InputRequired, ListRootsResult, Listing, LogLevel, LogMessage, ModelHint,
    ModelPreferences, OrderedMap, Progress, Prompt, PromptArgument, PromptMessage, PromptReference, Resource,
    ResourceContents, ResourceReference, ResourceTemplate, ResourceUpdated, Role, Root, SamplingMessage,
    SubscriptionAcknowledged, SubscriptionFilter, TextContent, Tool, ToolAnnotations, ToolChoice,
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
        "Annotations" => round_trip::<Annotations>(version, value),
        "AudioContent" => round_trip::<AudioContent>(version, value),
        "BlobResourceContents" => round_trip::<ResourceContents>(version, value),
        "BooleanSchema" => round_trip::<Field>(version, value),
        "CallToolRequest" => message::request(version, value),
        "CallToolRequestParams" => message::params(version, &Method::CallTool, value),
        "CallToolResult" => result(version, value, Reply::ToolCalled),
        "CallToolResultResponse" => response(definition, revision, value),
        "CancelledNotification" => message::notification(version, value),
        "CancelledNotificationParams" => round_trip::<Cancelled>(version, value),
        "ClientCapabilities" => round_trip::<ClientCapabilities>(version, value),
        "ClientNotification" => message::notification(version, value),
        "ClientRequest" => message::request(version, value),
        "CompleteRequest" => message::request(version, value),
        "CompleteRequestParams" => round_trip::<Complete>(version, value),
        "CompleteResult" => result(version, value, Reply::Completed),
        "CompleteResultResponse" => response(definition, revision, value),
        "ContentBlock" => round_trip::<Content>(version, value),
        "CreateMessageRequest" if version.era() == Era::Stateless => {
            round_trip::<InputRequest>(version, value)
        }
        "CreateMessageRequest" => message::request(version, value),
        "CreateMessageRequestParams" => round_trip::<CreateMessage>(version, value),
        "CreateMessageResult" => round_trip::<CreateMessageResult>(version, value),
        "DiscoverRequest" => message::request(version, value),
        "DiscoverResult" => discover_result(value),
        "DiscoverResultResponse" => response(definition, revision, value),
        "ElicitRequest" if version.era() == Era::Stateless => round_trip::<InputRequest>(version, value),
        "ElicitRequest" => message::request(version, value),
        "ElicitRequestFormParams" => round_trip::<Elicit>(version, value),
        "ElicitRequestParams" => round_trip::<Elicit>(version, value),
        "ElicitRequestURLParams" => round_trip::<Elicit>(version, value),
        "ElicitResult" => round_trip::<ElicitResult>(version, value),
        "ElicitationCompleteNotification" => message::notification(version, value),
        "ElicitationCompleteNotificationParams" => round_trip::<ElicitationComplete>(version, value),
        "EmbeddedResource" => round_trip::<EmbeddedResource>(version, value),
        "EnumSchema" => round_trip::<Field>(version, value),
        "Error" => round_trip::<RpcError>(version, value),
        "GetPromptRequest" => message::request(version, value),
        "GetPromptRequestParams" => message::params(version, &Method::GetPrompt, value),
        "GetPromptResult" => result(version, value, Reply::PromptFilled),
        "GetPromptResultResponse" => response(definition, revision, value),
        "HeaderMismatchError" => message::any(version, value),
        "Icon" => round_trip::<Icon>(version, value),
        "ImageContent" => round_trip::<ImageContent>(version, value),
        "Implementation" => round_trip::<Implementation>(version, value),
        "InitializeRequest" => message::request(version, value),
        "InitializeRequestParams" => round_trip::<Initialize>(version, value),
        "InitializeResult" => round_trip::<InitializeResult>(version, value),
        "InitializedNotification" => message::notification(version, value),
        "InputRequest" => round_trip::<InputRequest>(version, value),
        "InputRequests" => round_trip::<OrderedMap<InputRequest>>(version, value),
        "InputRequiredResult" => input_required(value),
        "InputResponses" => round_trip::<OrderedMap<RawJson>>(version, value),
        "InternalError" => round_trip::<RpcError>(version, value),
        "InvalidParamsError" => round_trip::<RpcError>(version, value),
        "InvalidRequestError" => round_trip::<RpcError>(version, value),
        "JSONRPCBatchRequest" => message::any(version, value),
        "JSONRPCBatchResponse" => message::any(version, value),
        "JSONRPCError" => message::any(version, value),
        "JSONRPCErrorResponse" => message::any(version, value),
        "JSONRPCMessage" => message::any(version, value),
        "JSONRPCNotification" => message::notification(version, value),
        "JSONRPCRequest" => message::request(version, value),
        "JSONRPCResponse" => message::any(version, value),
        "JSONRPCResultResponse" => message::any(version, value),
        "LegacyTitledEnumSchema" => round_trip::<Field>(version, value),
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
        "ListRootsRequest" if version.era() == Era::Stateless => round_trip::<InputRequest>(version, value),
        "ListRootsRequest" => message::request(version, value),
        "ListRootsResult" => round_trip::<ListRootsResult>(version, value),
        "ListToolsRequest" => message::request(version, value),
        "ListToolsResult" => list::<Tool>(version, value, "tools", Reply::Tools),
        "ListToolsResultResponse" => response(definition, revision, value),
        "LoggingLevel" => round_trip::<LogLevel>(version, value),
        "LoggingMessageNotification" => message::notification(version, value),
        "LoggingMessageNotificationParams" => round_trip::<LogMessage>(version, value),
        "MethodNotFoundError" => round_trip::<RpcError>(version, value),
        "MissingRequiredClientCapabilityError" => message::any(version, value),
        "ModelHint" => round_trip::<ModelHint>(version, value),
        "ModelPreferences" => round_trip::<ModelPreferences>(version, value),
        "MultiSelectEnumSchema" => round_trip::<Field>(version, value),
        "NotificationParams" => round_trip::<EmptyParams>(version, value),
        "NumberSchema" => round_trip::<Field>(version, value),
        "PaginatedRequestParams" => round_trip::<ListParams>(version, value),
        "ParseError" => round_trip::<RpcError>(version, value),
        "PingRequest" => message::request(version, value),
        "PrimitiveSchemaDefinition" => round_trip::<Field>(version, value),
        "ProgressNotification" => message::notification(version, value),
        "ProgressNotificationParams" => round_trip::<Progress>(version, value),
        "ProgressToken" => round_trip::<Id>(version, value),
        "Prompt" => round_trip::<Prompt>(version, value),
        "PromptArgument" => round_trip::<PromptArgument>(version, value),
        "PromptListChangedNotification" => message::notification(version, value),
        "PromptMessage" => round_trip::<PromptMessage>(version, value),
        "PromptReference" => round_trip::<PromptReference>(version, value),
        "ReadResourceRequest" => message::request(version, value),
        "ReadResourceRequestParams" => message::params(version, &Method::ReadResource, value),
        "ReadResourceResult" => result(version, value, Reply::ResourceRead),
        "ReadResourceResultResponse" => response(definition, revision, value),
        "RequestId" => round_trip::<Id>(version, value),
        "Resource" => round_trip::<Resource>(version, value),
        "ResourceContents" => round_trip::<ResourceContents>(version, value),
        "ResourceLink" => round_trip::<Content>(version, value),
        "ResourceListChangedNotification" => message::notification(version, value),
        "ResourceReference" => round_trip::<ResourceReference>(version, value),
        "ResourceTemplate" => round_trip::<ResourceTemplate>(version, value),
        "ResourceTemplateReference" => round_trip::<ResourceReference>(version, value),
        "ResourceUpdatedNotification" => message::notification(version, value),
        "ResourceUpdatedNotificationParams" => round_trip::<ResourceUpdated>(version, value),
        "Role" => round_trip::<Role>(version, value),
        "Root" => round_trip::<Root>(version, value),
        "RootsListChangedNotification" => message::notification(version, value),
        "SamplingMessage" => round_trip::<SamplingMessage>(version, value),
        "SamplingMessageContentBlock" => round_trip::<Content>(version, value),
        "ServerCapabilities" => round_trip::<ServerCapabilities>(version, value),
        "ServerNotification" => message::notification(version, value),
        "ServerRequest" => message::request(version, value),
        "SetLevelRequest" => message::request(version, value),
        "SetLevelRequestParams" => round_trip::<SetLogLevel>(version, value),
        "SingleSelectEnumSchema" => round_trip::<Field>(version, value),
        "StringSchema" => round_trip::<Field>(version, value),
        "SubscribeRequest" => message::request(version, value),
        "SubscribeRequestParams" => round_trip::<ResourceUri>(version, value),
        "SubscriptionFilter" => round_trip::<SubscriptionFilter>(version, value),
        "SubscriptionsAcknowledgedNotification" => message::notification(version, value),
        "SubscriptionsAcknowledgedNotificationParams" => {
            round_trip::<SubscriptionAcknowledged>(version, value)
        }
        "SubscriptionsListenRequest" => message::request(version, value),
        "SubscriptionsListenRequestParams" => round_trip::<Listen>(version, value),
        "SubscriptionsListenResult" => listen_end(value),
        "SubscriptionsListenResultResponse" => response(definition, revision, value),
        "TextContent" => round_trip::<TextContent>(version, value),
        "TextResourceContents" => round_trip::<ResourceContents>(version, value),
        "TitledMultiSelectEnumSchema" => round_trip::<Field>(version, value),
        "TitledSingleSelectEnumSchema" => round_trip::<Field>(version, value),
        "Tool" => round_trip::<Tool>(version, value),
        "ToolAnnotations" => round_trip::<ToolAnnotations>(version, value),
        "ToolChoice" => round_trip::<ToolChoice>(version, value),
        "ToolExecution" => round_trip::<ToolExecution>(version, value),
        "ToolListChangedNotification" => message::notification(version, value),
        "ToolResultContent" => round_trip::<ToolResultContent>(version, value),
        "ToolUseContent" => round_trip::<ToolUseContent>(version, value),
        "URLElicitationRequiredError" => message::any(version, value),
        "UnsubscribeRequest" => message::request(version, value),
        "UnsubscribeRequestParams" => round_trip::<ResourceUri>(version, value),
        "UnsupportedProtocolVersionError" => message::any(version, value),
        "UntitledMultiSelectEnumSchema" => round_trip::<Field>(version, value),
        "UntitledSingleSelectEnumSchema" => round_trip::<Field>(version, value),
        _ => return None,
    })
}

/// Rewrites a type that reads and writes itself.
fn round_trip<T: DeserializeOwned + Encode>(
    version: ProtocolVersion,
    value: &[u8],
) -> Result<Vec<u8>, String> {
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
fn discover_result(value: &[u8]) -> Result<Vec<u8>, String> {
    let read: stateless::DiscoverResult = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let mut frame = Vec::new();
    stateless::write_discover_result(&mut frame, &Id::from(1), &read, &cache(value), &stamp(value)?);
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
fn stamp(value: &[u8]) -> Result<stateless::EncodedServerInfo, String> {
    let value: Value = serde_json::from_slice(value).map_err(|error| error.to_string())?;
    let server = match value.pointer("/_meta/io.modelcontextprotocol~1serverInfo") {
        Some(server) => RawJson::from(server.clone()).decode().map_err(|error| error.to_string())?,
        None => Implementation::new("xtask", "0"),
    };
    Ok(stateless::EncodedServerInfo::new(&server))
}

/// Returns one member of a written frame, unchanged.
pub(super) fn member(frame: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let members: BTreeMap<String, RawJson> =
        serde_json::from_slice(frame).map_err(|error| format!("the frame is not JSON: {error}"))?;
    let member = members.get(name).ok_or_else(|| format!("the frame has no `{name}`"))?;
    Ok(member.as_bytes().to_vec())
}
