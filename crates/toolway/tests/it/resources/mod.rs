//! Resources: what do they say about themselves, what is read, and who is notified?
//!
//! | file | question |
//! |---|---|
//! | `description.rs` | What does a resource say about itself? |
//! | `metadata.rs` | Can a resource be described in one place and read in another? |
//! | `contents.rs` | Which contents does a return value become? |
//! | `errors.rs` | What does the caller learn if a resource cannot be read? |
//! | `templates.rs` | How do the variables of a URI become parameters? |
//! | `uris.rs` | How do handlers find, link and read resources? |
//! | `pages.rs` | How is a list that a handler computes divided into pages? |
//! | `updates.rs` | Which clients are notified of changes? |

mod contents;
mod description;
mod errors;
mod metadata;
mod pages;
mod templates;
mod updates;
mod uris;

use toolway::prelude::*;
use toolway::server::{ReadRequest, ResourceEntry};
use toolway::types::{Resource, ResourceContents};
use toolway::{ProtocolVersion, RpcError};

fn serving(resources: Vec<ResourceEntry>) -> Server {
    Server::new("resources", "1.0.0").resources(resources).build().unwrap()
}

/// A resource that is only listed.
fn plain(uri: &str) -> ResourceEntry {
    ResourceEntry::define(Resource::new(uri, "plain"), |reading: ReadRequest| async move { reading.uri })
}

/// Reads a resource and returns its single entry.
async fn read(client: &Client, uri: &str) -> ResourceContents {
    let result = client.read_resource(uri).await.unwrap();
    let [contents] = result.contents.as_slice() else { panic!("{result:?}") };
    contents.clone()
}

async fn refused(client: &Client, uri: &str) -> RpcError {
    client.read_resource(uri).await.unwrap_err().rpc().unwrap().clone()
}

fn text(uri: &str, mime_type: &str, text: &str) -> ResourceContents {
    ResourceContents::new(uri).with_mime_type(mime_type).with_text(text)
}

fn blob(uri: &str, mime_type: &str, base64: &str) -> ResourceContents {
    ResourceContents::new(uri).with_mime_type(mime_type).with_blob(base64)
}

/// Returns the code for a missing resource, which changed between revisions.
fn not_found(client: &Client) -> i64 {
    if client.protocol_version() >= ProtocolVersion::V2026_07_28 { -32602 } else { -32002 }
}
