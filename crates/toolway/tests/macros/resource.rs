//! What `#[resource]` makes of functions and structs, tested through a server.

use crate::support::{ask, refused};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{ResourceError, Run};

/// All notes.
#[resource(
    "notes://index",
    title = "Index",
    mime = "text/markdown",
    size = 12,
    icon = "https://a.example/i.png",
    annotations(audience = [user, assistant], priority = 0.9, last_modified = "2026-01-01T00:00:00Z"),
    meta = {"a": 1}
)]
fn index() -> &'static str {
    "# Notes"
}

/// One note.
#[resource(uri = "notes://{id}/{section}{?limit,lang}")]
async fn note(
    ctx: &Ctx,
    section: &str,
    id: u64,
    limit: Option<usize>,
    #[arg(default = "en")] lang: String,
) -> Result<String, ResourceError> {
    let _ = ctx;
    Ok(format!("{id} {section} {limit:?} {lang}"))
}

#[resource(uri = "files:///{+path}", blocking)]
fn file(path: std::path::PathBuf) -> String {
    path.display().to_string()
}

#[resource(uri = "tags:///{first}/x{/rest*}")]
fn tags(first: String, rest: Vec<String>) -> String {
    format!("{first} {rest:?}")
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Low,
    High,
}

#[resource("levels://a/:level")]
fn level(level: Level) -> String {
    format!("{level:?}")
}

async fn read(server: &Server, uri: &str) -> Value {
    ask(server, "resources/read", json!({"uri": uri})).await["contents"][0].take()
}

#[tokio::test]
async fn a_function_becomes_a_resource() {
    let server = Server::new("notes", "1").resources(resources![index]).build().unwrap();
    let listed = ask(&server, "resources/list", json!({})).await;
    assert_eq!(
        listed["resources"],
        json!([{
            "uri": "notes://index",
            "name": "index",
            "title": "Index",
            "description": "All notes.",
            "mimeType": "text/markdown",
            "size": 12,
            "icons": [{"src": "https://a.example/i.png"}],
            "annotations": {
                "audience": ["user", "assistant"],
                "priority": 0.9,
                "lastModified": "2026-01-01T00:00:00Z",
            },
            "_meta": {"a": 1},
        }])
    );
    let contents = read(&server, "notes://index").await;
    assert_eq!(contents, json!({"uri": "notes://index", "mimeType": "text/markdown", "text": "# Notes"}));
    assert_eq!(index::uri(), "notes://index");
}

#[tokio::test]
async fn variables_are_bound_by_name_whatever_their_order() {
    let server = Server::new("notes", "1").resources(resources![note, file, tags, level]).build().unwrap();
    let listed = ask(&server, "resources/templates/list", json!({})).await;
    assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], "notes://{id}/{section}{?limit,lang}");
    assert_eq!(listed["resourceTemplates"][3]["uriTemplate"], "levels://a/{level}");
    assert_eq!(read(&server, "notes://7/body").await["text"], "7 body None en");
    assert_eq!(read(&server, "notes://7/body?limit=3&lang=de").await["text"], "7 body Some(3) de");
    assert_eq!(read(&server, "files:///a/b%20c").await["text"], "a/b c");
    assert_eq!(read(&server, "levels://a/low").await["text"], "Low");
    let error = refused(&server, "resources/read", json!({"uri": "notes://seven/body"})).await;
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("`id`"), "{error}");
}

#[test]
fn the_type_beside_the_function_makes_uris() {
    assert_eq!(note::uri(7, "a b", Some("3"), None), "notes://7/a%20b?limit=3");
    assert_eq!(file::uri("a/b"), "files:///a/b");
    assert_eq!(tags::uri("a", ["b", "c"]), "tags:///a/x/b/c");
}

#[tokio::test]
async fn variants_of_an_enum_complete_a_variable() {
    let server = Server::new("notes", "1").resources(resources![level]).build().unwrap();
    let result = ask(
        &server,
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "levels://a/{level}"}, "argument": {"name": "level", "value": "h"}}),
    );
    assert_eq!(result.await["completion"]["values"], json!(["high"]));
}

/// A user.
#[resource(uri = "users://{id}")]
#[derive(Deserialize)]
struct User {
    id: u64,
}

impl Run for User {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("user {}", self.id)
    }
}

#[tokio::test]
async fn a_struct_becomes_a_family() {
    let server = Server::new("t", "1").resources(resources![User]).build().unwrap();
    assert_eq!(read(&server, "users://7").await["text"], "user 7");
    let error = refused(&server, "resources/read", json!({"uri": "users://x"})).await;
    assert_eq!(error["code"], -32602);
}
