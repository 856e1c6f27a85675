//! Which URIs do resources have, and how do handlers find, link and read them?

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Completer, PromptError, ReadRequest, ResourceEntry, ResourceError};
use toolway::testing::each_wire;
use toolway::types::{Content, Resource, ResourceContents, ResourceTemplate};
use toolway::{ProtocolVersion, types};

/// A study.
#[resource(uri = "myapp:///studies/{id}", title = "Study", mime = "application/json")]
pub(super) async fn study(id: u64) -> Result<Value, ResourceError> {
    match id {
        0 => Err(ResourceError::not_found()),
        1 => Err(ResourceError::new("study 1 is locked")),
        2 => Err(std::io::Error::other("a secret"))?,
        id => Ok(json!({"id": id})),
    }
}

/// The cover of a study.
#[resource(uri = "myapp:///studies/:study_id/cover", mime = "image/png")]
fn cover(study_id: u64) -> Vec<u8> {
    vec![0, 1, u8::try_from(study_id).unwrap_or_default()]
}

/// A person.
#[resource(uri = "https://example.com/people/{name}")]
async fn person(name: String) -> String {
    format!("person {name}")
}

/// How to begin.
#[resource(uri = "myapp:///readme", mime = "text/markdown")]
pub(super) fn readme() -> &'static str {
    "# Read me"
}

/// A link to a study.
#[tool]
pub(super) fn link(id: u64, ctx: Ctx) -> Content {
    ctx.link(study::uri(id))
}

/// A link to anything.
#[tool]
fn link_to(uri: String, ctx: Ctx) -> Content {
    ctx.link(uri)
}

/// A link that knows of no server.
#[tool]
fn own_link() -> Resource {
    Resource::new("ftp://example.com/x", "x").with_title("The X").with_size(7)
}

/// The URI of any resource, found by its name.
#[tool]
fn uri_of(name: &str, variable: &str, value: &str, ctx: Ctx) -> Option<String> {
    ctx.server().resource_uri(name, [(variable, value)])
}

/// Where a study is, and what it is, found by its name.
#[tool]
fn study_for(id: u64, ctx: Ctx) -> Option<Content> {
    let uri = ctx.server().resource_uri("study", [("id", id.to_string())])?;
    Some(ctx.link(uri))
}

/// Read another resource.
#[tool]
pub(super) async fn read(uri: &str, ctx: Ctx) -> Result<String, ToolError> {
    let read = ctx.read_resource(uri).await?;
    let [contents] = read.contents.as_slice() else { return Err(ToolError::new("several")) };
    let ResourceContents { uri, mime_type, text, blob, .. } = contents;
    Ok(format!("{uri} {mime_type:?} {text:?} {blob:?}"))
}

/// A resource that is made of another one.
#[resource(uri = "myapp:///summary/{id}")]
async fn summary(id: u64, ctx: Ctx) -> Result<String, ResourceError> {
    let study = ctx.read_resource(study::uri(id)).await?;
    Ok(format!("summary of {}", study.text().unwrap_or_default()))
}

/// A prompt that is made of a resource.
#[prompt]
pub(super) async fn review(id: u64, ctx: Ctx) -> Result<String, PromptError> {
    let study = ctx.read_resource(study::uri(id)).await?;
    Ok(format!("Review {}", study.text().unwrap_or_default()))
}

fn server() -> Server {
    Server::new("studies", "1.0.0")
        .tools(tools![link, link_to, own_link, uri_of, study_for, read])
        .resources(resources![study, cover, person, readme, summary])
        .prompts(prompts![review])
        .build()
        .unwrap()
}

async fn call(client: &Client, tool: &str, arguments: Value) -> types::CallToolResult {
    client.call(tool, arguments).await.unwrap().into_inner()
}

/// Links came with 2025-06-18; before that they are text.
fn has_links(client: &Client) -> bool {
    client.protocol_version() >= ProtocolVersion::V2025_06_18
}

fn study_link(id: u64) -> Content {
    let link = Resource::new(format!("myapp:///studies/{id}"), "study")
        .with_title("Study")
        .with_description("A study.")
        .with_mime_type("application/json");
    Content::Link(Box::new(link))
}

#[tokio::test]
async fn a_tool_returns_a_link_to_a_resource() {
    each_wire(&server(), async |client| {
        let cases = [
            ("link", json!({"id": 7}), study_link(7), "[Study](myapp:///studies/7)"),
            // A plain resource, and one that the server does not know.
            (
                "link_to",
                json!({"uri": "myapp:///readme"}),
                Content::Link(Box::new(
                    Resource::new("myapp:///readme", "readme")
                        .with_description("How to begin.")
                        .with_mime_type("text/markdown"),
                )),
                "[readme](myapp:///readme)",
            ),
            (
                "link_to",
                json!({"uri": "other://a/b"}),
                Content::Link(Box::new(Resource::new("other://a/b", "b"))),
                "[b](other://a/b)",
            ),
            (
                "own_link",
                json!({}),
                Content::Link(Box::new(
                    Resource::new("ftp://example.com/x", "x").with_title("The X").with_size(7),
                )),
                "[The X](ftp://example.com/x)",
            ),
        ];
        for (tool, arguments, linked, words) in cases {
            let expected = if has_links(&client) { linked } else { Content::text(words) };
            assert_eq!(call(&client, tool, arguments).await.content, [expected]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_handler_finds_a_uri_by_the_name_of_its_family() {
    each_wire(&server(), async |client| {
        let expected =
            if has_links(&client) { study_link(7) } else { Content::text("[Study](myapp:///studies/7)") };
        assert_eq!(call(&client, "study_for", json!({"id": 7})).await.content, [expected]);
        for (name, variable, value, expected) in [
            ("study", "id", "7", "myapp:///studies/7"),
            ("cover", "study_id", "7", "myapp:///studies/7/cover"),
            // Reserved characters are encoded.
            ("person", "name", "Ada L./ü?", "https://example.com/people/Ada%20L.%2F%C3%BC%3F"),
            // A plain resource has no variables.
            ("readme", "id", "7", "myapp:///readme"),
            ("nowhere", "id", "7", "(null)"),
        ] {
            let arguments = json!({"name": name, "variable": variable, "value": value});
            assert_eq!(call(&client, "uri_of", arguments).await.first_text(), Some(expected), "{name}");
        }
        // There and back.
        let uri =
            call(&client, "uri_of", json!({"name": "person", "variable": "name", "value": "Ada L. ü?"}))
                .await;
        let read = client.read_resource(uri.first_text().unwrap()).await.unwrap();
        assert_eq!(read.text(), Some("person Ada L. ü?"));
    })
    .await;
}

#[tokio::test]
async fn a_handler_reads_a_resource_of_its_own_server() {
    each_wire(&server(), async |client| {
        let read = async |uri: &str| {
            let result = call(&client, "read", json!({"uri": uri})).await;
            (result.is_error(), result.first_text().unwrap().to_owned())
        };
        for (uri, expected) in [
            ("myapp:///studies/7", r#"myapp:///studies/7 Some("application/json") Some("{\"id\":7}") None"#),
            ("myapp:///studies/7/cover", r#"myapp:///studies/7/cover Some("image/png") None Some("AAEH")"#),
            ("myapp:///readme", r##"myapp:///readme Some("text/markdown") Some("# Read me") None"##),
            (
                "myapp:///summary/7",
                r#"myapp:///summary/7 Some("text/plain") Some("summary of {\"id\":7}") None"#,
            ),
        ] {
            assert_eq!(read(uri).await, (false, expected.to_owned()));
        }
        // The error of the resource becomes the error of the tool that reads it.
        for uri in ["myapp:///studies/0", "nowhere://x"] {
            assert_eq!(read(uri).await, (true, "no such resource".to_owned()), "{uri}");
        }
        for uri in ["myapp:///studies/1", "myapp:///summary/1"] {
            assert_eq!(read(uri).await, (true, "study 1 is locked".to_owned()), "{uri}");
        }
        let (is_error, text) = read("myapp:///studies/2").await;
        assert!(is_error && text.starts_with("the tool `read` failed") && !text.contains("secret"), "{text}");

        let prompt = client.get_prompt("review", [("id", "7")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some(r#"Review {"id":7}"#));
        let error = client.get_prompt("review", [("id", "1")]).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, "study 1 is locked");
        // A resource that reads a missing one is missing for the client too.
        let error = client.read_resource("myapp:///summary/0").await.unwrap_err();
        let code = if client.protocol_version() < ProtocolVersion::V2026_07_28 { -32002 } else { -32602 };
        assert_eq!(error.rpc().unwrap().code.0, code);
    })
    .await;
}

#[tokio::test]
async fn uris_are_made_without_any_call() {
    /// Notes, with a default language.
    struct Notes(&'static str);

    #[service]
    impl Notes {
        /// A part of a note.
        #[resource(uri = "notes://{id}/{section}{?lang}")]
        fn note(&self, id: u64, section: String, lang: Option<String>) -> String {
            format!("{id} {section} {}", lang.as_deref().unwrap_or(self.0))
        }
    }

    let server = server();
    assert_eq!(server.resource_uri("study", [("id", "7")]).as_deref(), Some("myapp:///studies/7"));
    assert_eq!(
        server.resource_uri("cover", [("study_id", "7")]).as_deref(),
        Some("myapp:///studies/7/cover")
    );
    let nothing: [(&str, &str); 0] = [];
    assert_eq!(server.resource_uri("readme", nothing).as_deref(), Some("myapp:///readme"));
    assert_eq!(server.resource_uri("nowhere", nothing), None);
    // Without a server, too; here the compiler checks the variables.
    assert_eq!(study::uri(7), "myapp:///studies/7");
    assert_eq!(cover::uri(7), "myapp:///studies/7/cover");
    assert_eq!(person::uri("a b"), "https://example.com/people/a%20b");
    assert_eq!(readme::uri(), "myapp:///readme");
    assert_eq!(Notes::note_uri(7, "body", None), "notes://7/body");
    assert_eq!(Notes::note_uri(7, "a/b", Some("de")), "notes://7/a%2Fb?lang=de");

    // Generated URIs can be read.
    let notes = Server::new("notes", "1.0.0").service(Notes("en")).build().unwrap();
    let by_name = notes.resource_uri("note", [("id", "7"), ("section", "body"), ("lang", "de")]).unwrap();
    assert_eq!(by_name, Notes::note_uri(7, "body", Some("de")));
    each_wire(&notes, async |client| {
        assert_eq!(client.read_resource(&by_name).await.unwrap().text(), Some("7 body de"));
        let plain = Notes::note_uri(8, "title", None);
        assert_eq!(client.read_resource(plain).await.unwrap().text(), Some("8 title en"));
    })
    .await;
}

#[tokio::test]
async fn variables_may_be_written_with_a_colon() {
    let by_hand = ResourceTemplate::new("myapp:///users/:user/name", "user").with_mime_type("text/plain");
    let by_hand = ResourceEntry::define(by_hand, |reading: ReadRequest| async move {
        reading.variables.text("user").unwrap_or_default().to_uppercase()
    })
    .with_completer("user", Completer::list(["ada", "alan"]));
    let server =
        Server::new("colons", "1.0.0").resources(resources![cover]).resource(by_hand).build().unwrap();
    assert_eq!(server.resource_uri("user", [("user", "ada")]).as_deref(), Some("myapp:///users/ada/name"));
    each_wire(&server, async |client| {
        let templates = client.resource_templates().await.unwrap();
        let listed: Vec<_> = templates
            .iter()
            .map(|template| (template.uri_template.as_str(), template.mime_type.as_deref().unwrap()))
            .collect();
        // Peers see a template of RFC 6570.
        let expected = [
            ("myapp:///studies/{study_id}/cover", "image/png"),
            ("myapp:///users/{user}/name", "text/plain"),
        ];
        assert_eq!(listed, expected);
        assert_eq!(client.resources().await.unwrap(), []);

        let read = client.read_resource("myapp:///studies/7/cover").await.unwrap();
        let expected =
            ResourceContents::new("myapp:///studies/7/cover").with_mime_type("image/png").with_blob("AAEH");
        assert_eq!(read.contents, [expected]);
        let read = client.read_resource("myapp:///users/ada/name").await.unwrap();
        assert_eq!((read.text(), read.contents[0].mime_type.as_deref()), (Some("ADA"), Some("text/plain")));
        let nothing: [(&str, &str); 0] = [];
        let found =
            client.complete_resource("myapp:///users/{user}/name", "user", "al", nothing).await.unwrap();
        assert_eq!(found.values, ["alan"]);

        let error = client.read_resource("myapp:///studies/x/cover").await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code.0, -32602);
        assert!(rpc.message.contains("study_id"), "{rpc:?}");
        for uri in ["myapp:///studies/7", "myapp:///studies/7/cover/x", "myapp:///studies/:study_id/covers"] {
            let code = if client.protocol_version() < ProtocolVersion::V2026_07_28 { -32002 } else { -32602 };
            assert_eq!(client.read_resource(uri).await.unwrap_err().rpc().unwrap().code.0, code, "{uri}");
        }
    })
    .await;
    // A port is not a variable.
    let port = ResourceEntry::define(Resource::new("http://localhost:8080/x", "port"), || async { "port" });
    let server = Server::new("port", "1.0.0").resource(port).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.read_resource("http://localhost:8080/x").await.unwrap().text(), Some("port"));
    })
    .await;
}

#[tokio::test]
async fn one_server_has_families_of_many_schemes() {
    #[resource(uri = "urn:isbn:{isbn}")]
    fn book(isbn: String) -> String {
        format!("book {isbn}")
    }
    #[resource(uri = "file:///{+path}")]
    fn file(path: String) -> String {
        format!("file {path}")
    }
    #[resource(uri = "file:///etc/{name}")]
    fn etc(name: String) -> String {
        format!("etc {name}")
    }
    #[resource(uri = "https://example.com/people/{name}/friends{?page}")]
    fn friends(name: String, page: Option<u32>) -> String {
        format!("friends {name} {page:?}")
    }
    let server = Server::new("schemes", "1.0.0")
        .resources(resources![study, person, book, file, etc, friends, readme])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let templates = client.resource_templates().await.unwrap();
        let listed: Vec<_> = templates.iter().map(|template| template.uri_template.as_str()).collect();
        assert_eq!(
            listed,
            [
                "myapp:///studies/{id}",
                "https://example.com/people/{name}",
                "urn:isbn:{isbn}",
                "file:///{+path}",
                "file:///etc/{name}",
                "https://example.com/people/{name}/friends{?page}",
            ]
        );
        for (uri, expected) in [
            ("myapp:///studies/7", r#"{"id":7}"#),
            ("myapp:///readme", "# Read me"),
            ("https://example.com/people/Ada", "person Ada"),
            ("https://example.com/people/Ada/friends", "friends Ada None"),
            ("https://example.com/people/Ada/friends?page=2", "friends Ada Some(2)"),
            ("urn:isbn:0-486-27557-4", "book 0-486-27557-4"),
            ("file:///a/b.txt", "file a/b.txt"),
            // The more literal text a template has, the earlier it is tried.
            ("file:///etc/hosts", "etc hosts"),
            ("file:///etc/ssh/config", "file etc/ssh/config"),
        ] {
            let read = client.read_resource(uri).await.unwrap();
            assert_eq!((read.contents[0].uri.as_str(), read.text()), (uri, Some(expected)));
        }
        let code = if client.protocol_version() < ProtocolVersion::V2026_07_28 { -32002 } else { -32602 };
        for uri in ["other:///studies/7", "http://example.com/people/Ada", "urn:issn:1", "myapp:///studies"] {
            let error = client.read_resource(uri).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!((rpc.code.0, &*rpc.message), (code, "no such resource"), "{uri}");
            assert_eq!(rpc.data, Some(json!({"uri": uri}).into()));
        }
    })
    .await;
    // Two templates that match the same URIs are ambiguous.
    let twin =
        ResourceEntry::define(ResourceTemplate::new("myapp:///studies/{other}", "twin"), || async { "" });
    let error =
        Server::new("twins", "1.0.0").resources(resources![study]).resource(twin).build().unwrap_err();
    let expected = "the templates `myapp:///studies/{id}` and `myapp:///studies/{other}` match the same URIs";
    assert!(error.to_string().contains(expected), "{error}");
}
