//! How much memory do decoded values need beyond the length of their text?
//!
//! Texts are kept as they are. Other values become structures: `{"":0}` is six bytes long, and its structure needs
//! hundreds. A limit of bytes that counted only text would let a server fill the memory with short messages.

use serde_json::Value;
use toolway_protocol::Notification;
use toolway_protocol::capability::JsonObject;
use toolway_protocol::types::Extra;

/// The memory of a JSON value, without the text that it contains.
pub(crate) const VALUE_OVERHEAD: usize = 64;

/// The memory of the entries of a JSON object that is not empty: its map allocates room for several entries at once.
const OBJECT_OVERHEAD: usize = 640;

/// The memory of a member that the library does not know, without its text.
const UNKNOWN_MEMBER_OVERHEAD: usize = 128;

/// The members of an object.
pub(crate) fn of_object(object: &JsonObject) -> usize {
    if object.is_empty() { 0 } else { OBJECT_OVERHEAD + object.values().map(of_value).sum::<usize>() }
}

fn of_value(value: &Value) -> usize {
    VALUE_OVERHEAD
        + match value {
            Value::Object(object) => of_object(object),
            Value::Array(values) => values.iter().map(of_value).sum(),
            _ => 0,
        }
}

/// The members that the library does not know.
pub(crate) fn of_unknown(members: &Extra) -> usize {
    members.len() * UNKNOWN_MEMBER_OVERHEAD
}

/// A notification.
pub(crate) fn of_notification(news: &Notification) -> usize {
    let (meta, extra) = match news {
        Notification::Initialized(news)
        | Notification::ToolsChanged(news)
        | Notification::PromptsChanged(news)
        | Notification::ResourcesChanged(news)
        | Notification::RootsChanged(news) => (&news.meta, &news.extra),
        Notification::Cancelled(news) => (&news.meta, &news.extra),
        Notification::Progress(news) => (&news.meta, &news.extra),
        Notification::LogMessage(news) => (&news.meta, &news.extra),
        Notification::ResourceUpdated(news) => (&news.meta, &news.extra),
        Notification::ElicitationComplete(news) => (&news.meta, &news.extra),
        Notification::SubscriptionAcknowledged(news) => (&news.meta, &news.extra),
    };
    meta.as_ref().map_or(0, of_object) + of_unknown(extra)
}
