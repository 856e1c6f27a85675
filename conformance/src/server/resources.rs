//! Which resources does the suite read?

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::ResourceEntry;

use super::DOT;

/// Every resource.
pub(super) fn all() -> Vec<ResourceEntry> {
    resources![static_text, static_binary, watched_resource, template_data]
}

/// A text that never changes.
#[resource(uri = "test://static-text", mime = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// A picture that never changes.
#[resource(uri = "test://static-binary", mime = "image/png")]
fn static_binary() -> &'static [u8] {
    DOT
}

/// A resource to subscribe to.
#[resource(uri = "test://watched-resource", mime = "text/plain")]
fn watched_resource() -> &'static str {
    "Watched resource content"
}

/// What belongs to an id.
#[resource(uri = "test://template/{id}/data", mime = "application/json")]
fn template_data(id: &str) -> Json<Value> {
    Json(json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}))
}
