//! Can a resource be described in one place and read in another?

use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::{ReadRequest, ResourceEntry, ResourceError, ServerBuilder};
use toolway::testing::each_wire;
use toolway::types::{Resource, ResourceTemplate};

use super::not_found;

fn new() -> ServerBuilder {
    Server::new("resources", "1.0.0")
}

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The readme.
#[resource(uri = "app://readme")]
fn readme() -> &'static str {
    "# App"
}

fn metadata() -> Resource {
    Resource::new("meta://motd", "motd")
        .with_title("Message of the day")
        .with_description("Be kind.")
        .with_mime_type("text/x-motd")
}

fn template_metadata() -> ResourceTemplate {
    ResourceTemplate::new("meta://users/{id}", "user")
        .with_title("User")
        .with_description("One user.")
        .with_mime_type("text/x-user")
}

#[tokio::test]
async fn a_resource_may_be_metadata_that_one_handler_reads() {
    let server = new()
        .resource(ResourceEntry::without_handler(metadata()))
        .resources(resources![readme])
        .read_resource(async |reading: ReadRequest| -> Result<Option<String>, ResourceError> {
            match reading.uri.as_str() {
                "meta://motd" => Ok(Some("be kind".to_owned())),
                "meta://locked" => Err(ResourceError::new("locked until noon")),
                _ => Ok(None),
            }
        })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let listed = &client.resources().await.unwrap()[0];
        assert_eq!((&*listed.uri, &*listed.name), ("meta://motd", "motd"));
        let is_titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(listed.title.as_deref(), is_titled.then_some("Message of the day"));
        assert_eq!(listed.description.as_deref(), Some("Be kind."));
        assert_eq!(listed.mime_type.as_deref(), Some("text/x-motd"));
        let contents = client.read_resource("meta://motd").await.unwrap().contents;
        assert_eq!(contents.len(), 1);
        assert_eq!((&*contents[0].uri, contents[0].text.as_deref()), ("meta://motd", Some("be kind")));
        assert_eq!(contents[0].mime_type.as_deref(), Some("text/x-motd"));
        // The common reader is not called for a resource with its own handler.
        assert_eq!(client.read_resource("app://readme").await.unwrap().text(), Some("# App"));
        assert_eq!(code(client.read_resource("meta://unknown").await), not_found(&client));
        let error = client.read_resource("meta://locked").await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, "locked until noon");
    })
    .await;
}

#[tokio::test]
async fn a_resource_that_nobody_reads_is_not_found() {
    // Registered without a handler, it is a mistake of the author.
    for entry in
        [ResourceEntry::without_handler(metadata()), ResourceEntry::without_handler(template_metadata())]
    {
        let uri = entry.definition().uri().to_owned();
        let error = new().resource(entry).build().unwrap_err().to_string();
        assert!(error.contains(&format!("resource `{uri}`: it has no handler")), "{error}");
    }
    // Listed by a handler, reading it is an error, never an empty answer.
    let server = new().list_resources(|| async { vec![metadata()] }).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.resources().await.unwrap()[0].uri, "meta://motd");
        let error = client.read_resource("meta://motd").await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code.0, not_found(&client));
        let data: Value = rpc.data.as_ref().unwrap().decode().unwrap();
        assert_eq!(data, json!({"uri": "meta://motd"}));
    })
    .await;
    // Without any resources the method does not exist.
    each_wire(&new().tools(tools![add]).build().unwrap(), async |client| {
        assert_eq!(code(client.read_resource("meta://motd").await), -32601);
    })
    .await;
}

#[tokio::test]
async fn a_template_may_be_metadata_too() {
    let server = new()
        .resource(ResourceEntry::without_handler(template_metadata()))
        .read_resource(|reading: ReadRequest| async move {
            let id = reading.variables.text("id")?.to_owned();
            (id != "0").then(|| format!("user {id}"))
        })
        .build()
        .unwrap();
    assert_eq!(server.resource_uri("user", [("id", "a b")]).as_deref(), Some("meta://users/a%20b"));
    each_wire(&server, async |client| {
        assert!(client.resources().await.unwrap().is_empty(), "a family is no resource");
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates.len(), 1);
        let listed = &templates[0];
        assert_eq!((&*listed.uri_template, &*listed.name), ("meta://users/{id}", "user"));
        let is_titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(listed.title.as_deref(), is_titled.then_some("User"));
        assert_eq!(listed.description.as_deref(), Some("One user."));
        assert_eq!(listed.mime_type.as_deref(), Some("text/x-user"));
        let contents = client.read_resource("meta://users/a%20b").await.unwrap().contents;
        assert_eq!(contents[0].text.as_deref(), Some("user a b"));
        assert_eq!(contents[0].uri, "meta://users/a%20b");
        assert_eq!(contents[0].mime_type.as_deref(), Some("text/x-user"));
        for missing in ["meta://users/0", "meta://users/1/2", "meta://others/1"] {
            assert_eq!(code(client.read_resource(missing).await), not_found(&client), "{missing}");
        }
    })
    .await;
    // An invalid template is reported early.
    for (template, complaint) in [
        ("meta://users/{id", "meta://users/{id"),
        ("meta://users", "the template has no variables: make it a resource"),
        ("users/{id}", "is not a URI"),
    ] {
        let entry = ResourceEntry::without_handler(ResourceTemplate::new(template, "user"));
        let server = new().resource(entry).read_resource(|| async { None::<String> });
        let error = server.build().unwrap_err().to_string();
        assert!(error.contains(complaint), "{template}: {error}");
    }
}
