//! Resources: links, URIs, templates, dynamic lists, and change notifications (rows 165 to 195).

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Completer, Cursor, PromptError, Reading, ResourceEntry, ResourceError, ResourcePage};
use toolway::testing::{each_session, each_wire};
use toolway::types::{Content, Resource, ResourceContents, ResourceTemplate};
use toolway::{Notification, ProtocolVersion, types};

use super::listening::{TOLD, listen};

/// A study.
#[resource(uri = "myapp:///studies/{id}", title = "Study", mime = "application/json")]
async fn study(id: u64) -> Result<Value, ResourceError> {
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
fn readme() -> &'static str {
    "# Read me"
}

/// A link to a study.
#[tool]
fn link(id: u64, ctx: Ctx) -> Content {
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
async fn read(uri: &str, ctx: Ctx) -> Result<String, ToolError> {
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
async fn review(id: u64, ctx: Ctx) -> Result<String, PromptError> {
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
async fn row_165_a_tool_returns_a_link_to_a_resource() {
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
async fn row_166_a_handler_finds_a_uri_by_the_name_of_its_family() {
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
async fn row_167_a_handler_reads_a_resource_of_its_own_server() {
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
async fn row_168_uris_are_made_without_any_call() {
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
async fn row_172_variables_may_be_written_with_a_colon() {
    let by_hand = ResourceTemplate::new("myapp:///users/:user/name", "user").with_mime_type("text/plain");
    let by_hand = ResourceEntry::define(by_hand, |reading: Reading| async move {
        reading.variables.text("user").unwrap_or_default().to_uppercase()
    })
    .completer("user", Completer::list(["ada", "alan"]));
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
async fn row_173_one_server_has_families_of_many_schemes() {
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

#[tokio::test]
async fn row_174_a_resource_is_text_or_bytes_at_once_or_later() {
    #[resource(uri = "now://text")]
    fn text() -> String {
        "text".to_owned()
    }
    #[resource(uri = "now://blob")]
    fn blob() -> &'static [u8] {
        &[0xff, 0xfe]
    }
    #[resource(uri = "later://text", mime = "text/html")]
    async fn later_text() -> Result<&'static str, ResourceError> {
        tokio::task::yield_now().await;
        Ok("<p>")
    }
    #[resource(uri = "later://blob", mime = "image/gif")]
    async fn later_blob() -> Option<Vec<u8>> {
        tokio::task::spawn(async { Some(b"GIF".to_vec()) }).await.ok()?
    }
    #[resource(uri = "blocking://text", blocking)]
    fn blocking() -> String {
        format!("{}", std::thread::current().name().is_some())
    }
    let closure =
        ResourceEntry::define(Resource::new("closure://blob", "closure"), || async { vec![1_u8, 2] });
    let server = Server::new("contents", "1.0.0")
        .resources(resources![text, blob, later_text, later_blob, blocking])
        .resource(closure)
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let one = |uri: &str, mime: &str| ResourceContents::new(uri).with_mime_type(mime);
        for expected in [
            one("now://text", "text/plain").with_text("text"),
            one("now://blob", "application/octet-stream").with_blob("//4="),
            one("later://text", "text/html").with_text("<p>"),
            one("later://blob", "image/gif").with_blob("R0lG"),
            one("blocking://text", "text/plain").with_text("true"),
            one("closure://blob", "application/octet-stream").with_blob("AQI="),
        ] {
            assert_eq!(client.read_resource(&expected.uri).await.unwrap().contents, [expected]);
        }
    })
    .await;
}

/// The books that a handler lists; they may change.
struct Shelf(Mutex<Vec<&'static str>>);

/// Lists two books per page. The cursor contains the last one listed.
async fn shelf(Cursor(after): Cursor, shelf: State<Shelf>, ctx: Ctx) -> Result<ResourcePage, std::io::Error> {
    assert!(ctx.peer().version >= ProtocolVersion::ALL[0], "the call is at hand");
    let books = shelf.0.lock().unwrap().clone();
    if books.contains(&"broken") {
        return Err(std::io::Error::other("a secret"));
    }
    let start = match after {
        None => 0,
        // The cursor is returned exactly as it was given, with any characters.
        Some(after) => {
            let (title, rest) = after.split_once(":ü/").unwrap();
            assert_eq!(rest, "\"");
            books.iter().position(|book| *book == title).unwrap() + 1
        }
    };
    let page: Vec<_> = books[start..].iter().take(2).collect();
    let next = (start + 2 < books.len()).then(|| format!("{}:ü/\"", page[1]));
    let resources = page.into_iter().map(|book| Resource::new(format!("shelf://{book}"), *book)).collect();
    Ok(ResourcePage { resources, next })
}

fn library() -> toolway::server::ServerBuilder {
    Server::new("library", "1.0.0")
        .state(Shelf(Mutex::new(vec!["a", "b", "c", "d", "e"])))
        .list_resources(shelf)
        .read_resource(|reading: Reading, shelf: State<Shelf>| async move {
            let title = reading.uri.strip_prefix("shelf://").unwrap_or_default().to_owned();
            shelf.0.lock().unwrap().contains(&&*title).then(|| format!("book {title}"))
        })
}

/// Returns one page of a list: the names, and the cursor of the next page.
async fn page(
    client: &Client,
    list: &str,
    cursor: Option<&str>,
) -> toolway::Result<(Vec<String>, Option<String>)> {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    let result: Value = client.request(&format!("{list}/list"), params).await?.decode().unwrap();
    let items = result[list].as_array().unwrap();
    let names = items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
    Ok((names, result["nextCursor"].as_str().map(str::to_owned)))
}

async fn more() -> Vec<Resource> {
    vec![Resource::new("more://x", "x")]
}

#[tokio::test]
async fn row_178_a_handler_lists_resources_page_by_page() {
    let server = library().build().unwrap();
    each_wire(&server, async |client| {
        assert!(client.server_capabilities().resources.is_some());
        let mut cursor = None;
        for expected in [&["a", "b"][..], &["c", "d"], &["e"]] {
            let (names, next) = page(&client, "resources", cursor.as_deref()).await.unwrap();
            assert_eq!(names, expected);
            cursor = next;
        }
        assert_eq!(cursor, None, "the end");
        let all = client.resources().await.unwrap();
        assert_eq!(
            all.iter().map(|one| one.uri.as_str()).collect::<Vec<_>>().join(" "),
            "shelf://a shelf://b shelf://c shelf://d shelf://e"
        );
        assert_eq!(client.read_resource("shelf://c").await.unwrap().text(), Some("book c"));
        assert!(client.read_resource("shelf://z").await.is_err());
    })
    .await;

    // Registered resources come first; a second handler continues where the first one ends.
    let server =
        library().resources(resources![readme, study]).list_resources(more).page_size(1).build().unwrap();
    server.state::<Shelf>().unwrap().0.lock().unwrap().truncate(3);
    each_wire(&server, async |client| {
        let all = client.resources().await.unwrap();
        assert_eq!(
            all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["readme", "a", "b", "c", "x"]
        );
        // If a page no longer exists when it is requested, the list ends.
        let (_, next) = page(&client, "resources", None).await.unwrap();
        assert!(next.is_some());
    })
    .await;

    // Internal errors of the handler are not shown to the caller.
    server.state::<Shelf>().unwrap().0.lock().unwrap().push("broken");
    each_wire(&server, async |client| {
        let error = client.resources().await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code.0, -32603);
        assert!(!rpc.message.contains("secret"), "{rpc:?}");
    })
    .await;
}

#[tokio::test]
async fn row_179_without_a_handler_the_list_is_what_is_registered() {
    // Templates are not resources, and the list is empty.
    let families = Server::new("families", "1.0.0").resources(resources![study]).build().unwrap();
    let reader = Server::new("reader", "1.0.0").read_resource(|| async { "any" }).build().unwrap();
    for server in [&families, &reader] {
        each_wire(server, async |client| {
            assert_eq!(page(&client, "resources", None).await.unwrap(), (Vec::new(), None));
            assert_eq!(client.resources().await.unwrap(), []);
        })
        .await;
    }
    each_wire(&reader, async |client| {
        assert_eq!(client.read_resource("any://thing").await.unwrap().text(), Some("any"));
        assert_eq!(client.resource_templates().await.unwrap(), []);
    })
    .await;
    // A server without any resources does not have this list at all.
    let none = Server::new("none", "1.0.0").build().unwrap();
    each_wire(&none, async |client| {
        assert_eq!(client.resources().await.unwrap_err().rpc().unwrap().code.0, -32601);
    })
    .await;
}

#[tokio::test]
async fn row_180_a_cursor_is_good_only_where_it_was_given() {
    let build = |server: toolway::server::ServerBuilder| {
        server.tools(tools![link, read]).prompts(prompts![review]).page_size(1).build().unwrap()
    };
    let (server, twin) = (build(library()), build(library()));
    let foreign = page(&toolway::testing::connect(&twin).await, "resources", None).await.unwrap().1.unwrap();
    each_wire(&server, async |client| {
        let (_, next) = page(&client, "resources", None).await.unwrap();
        let next = next.unwrap();
        assert!(!next.contains("b:"), "it does not show what the handler said: {next}");
        assert_eq!(page(&client, "resources", Some(&next)).await.unwrap().0, ["c", "d"]);
        assert_eq!(
            page(&client, "resources", Some(&next)).await.unwrap().0,
            ["c", "d"],
            "as often as one likes"
        );

        let refused = async |list: &str, cursor: &str| {
            let error = page(&client, list, Some(cursor)).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            let expected = (-32602, "`params.cursor` was not issued by this server");
            assert_eq!((rpc.code.0, &*rpc.message), expected, "{list} {cursor:?}");
        };
        // Invented cursors.
        for forged in ["", "0", "1", "h0", "h0:b:ü/\"", "aDA6Yg", "AAAAAAAAAAAAAAAAAAAAAGgw", "not base64!"]
        {
            refused("resources", forged).await;
        }
        // Changed in any place, cut, or extended.
        for place in 0..next.len() {
            let mut forged = next.clone().into_bytes();
            forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
            refused("resources", std::str::from_utf8(&forged).unwrap()).await;
        }
        refused("resources", &next[..next.len() - 2]).await;
        refused("resources", &format!("{next}AAAA")).await;
        // Of another list of this server.
        let (_, tools) = page(&client, "tools", None).await.unwrap();
        let tools = tools.unwrap();
        assert_eq!(page(&client, "tools", Some(&tools)).await.unwrap().0, ["read"]);
        refused("resources", &tools).await;
        refused("prompts", &tools).await;
        refused("tools", &next).await;
        // Of the same list of another server.
        refused("resources", &foreign).await;
    })
    .await;

    // Servers that share a secret accept each other's cursors.
    let build = |secret: &str| build(library().cursor_secret(secret));
    let (one, two, other) = (build("secret"), build("secret"), build("Secret"));
    let given = page(&toolway::testing::connect(&one).await, "resources", None).await.unwrap().1.unwrap();
    each_wire(&two, async |client| {
        assert_eq!(page(&client, "resources", Some(&given)).await.unwrap().0, ["c", "d"]);
    })
    .await;
    each_wire(&other, async |client| {
        let error = page(&client, "resources", Some(&given)).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32602);
    })
    .await;
}

/// Another client of the same server, in the same revision.
async fn another(server: &Server, version: ProtocolVersion) -> Client {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = server.clone();
    // It ends when the client disconnects.
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    Client::builder().protocol(version).connect_io(reader, writer).await.unwrap()
}

#[tokio::test]
async fn row_181_only_subscribers_hear_that_a_resource_was_updated() {
    let server = library().resources(resources![study]).build().unwrap();
    each_wire(&server, async |client| {
        let Some(mut mine) = listen(&client, &["shelf://a", "myapp:///studies/7", "shelf://fence"]).await
        else {
            // A server that cannot notify does not accept subscriptions.
            let error = client.subscribe("shelf://a").await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code.0, -32601);
            return;
        };
        let other = another(&server, client.protocol_version()).await;
        let mut others = listen(&other, &["shelf://b", "shelf://fence"]).await.unwrap();
        // Each gets its own updates, and those that both subscribed to; the fence comes last.
        for uri in ["shelf://a", "shelf://b", "shelf://nobody", "shelf://fence"] {
            server.resource_updated(uri);
        }
        assert_eq!([mine.updated().await, mine.updated().await], ["shelf://a", "shelf://fence"]);
        assert_eq!([others.updated().await, others.updated().await], ["shelf://b", "shelf://fence"]);
        // A URI is compared exactly, also one of a template.
        for uri in ["shelf://a/", "shelf://A", "myapp:///studies/8", "myapp:///studies/7", "shelf://fence"] {
            server.resource_updated(uri);
        }
        assert_eq!([mine.updated().await, mine.updated().await], ["myapp:///studies/7", "shelf://fence"]);
        assert_eq!(others.updated().await, "shelf://fence");
    })
    .await;

    // In a session clients can subscribe and unsubscribe.
    each_session(&server, async |client| {
        let other = another(&server, client.protocol_version()).await;
        let mut mine = listen(&client, &["shelf://a", "shelf://fence"]).await.unwrap();
        let mut others = listen(&other, &["shelf://fence"]).await.unwrap();
        // A double subscription gets one notification.
        client.subscribe("shelf://a").await.unwrap();
        server.resource_updated("shelf://a");
        server.resource_updated("shelf://fence");
        assert_eq!([mine.updated().await, mine.updated().await], ["shelf://a", "shelf://fence"]);
        assert_eq!(others.updated().await, "shelf://fence");
        // After unsubscribing a client gets no more notifications, and the others still do.
        client.unsubscribe("shelf://a").await.unwrap();
        client.unsubscribe("shelf://never").await.unwrap();
        other.subscribe("shelf://a").await.unwrap();
        server.resource_updated("shelf://a");
        server.resource_updated("shelf://fence");
        assert_eq!(mine.updated().await, "shelf://fence");
        assert_eq!([others.updated().await, others.updated().await], ["shelf://a", "shelf://fence"]);
    })
    .await;
}

#[tokio::test]
async fn row_195_that_listed_resources_changed_is_told_by_hand() {
    let server = library().build().unwrap();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &["shelf://fence"]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        let books = |books: &[&'static str]| {
            books.clone_into(&mut server.state::<Shelf>().unwrap().0.lock().unwrap());
        };
        // The server cannot know the changes of a list that a handler computes.
        books(&["x"]);
        server.resource_updated("shelf://fence");
        assert_eq!(listening.updated().await, "shelf://fence");
        server.resources_changed();
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        assert_eq!(client.resources().await.unwrap()[0].name, "x");
        server.resource_updated("shelf://fence");
        assert_eq!(listening.updated().await, "shelf://fence", "once");

        // It knows the changes of registered resources.
        server.add_resource(ResourceEntry::of::<readme>()).unwrap();
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        let names: Vec<_> = client.resources().await.unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["readme", "x"]);
        assert!(server.add_resource(ResourceEntry::of::<readme>()).is_err());
        assert!(!server.remove_resource("myapp:///nowhere"));
        server.resource_updated("shelf://fence");
        assert_eq!(listening.updated().await, "shelf://fence", "nothing has changed");
        assert!(server.remove_resource("myapp:///readme"));
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        books(&["a", "b", "c", "d", "e"]);
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}
