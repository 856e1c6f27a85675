//! A template stands for many resources: how do the variables of a URI become parameters?

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Completer, File, ReadRequest, Reader, ResourceEntry, ResourceError, Run};
use toolway::testing::each_wire;
use toolway::types::{Annotations, Icon, ResourceContents, ResourceTemplate, Role};
use toolway::{ErrorKind, ProtocolVersion, RpcError};

fn serving(resources: Vec<ResourceEntry>) -> Server {
    Server::new("templates", "1.0.0").resources(resources).build().unwrap()
}

/// A template that returns its variables, in order.
fn family(template: &str) -> ResourceEntry {
    ResourceEntry::define(ResourceTemplate::new(template, "family"), |reading: ReadRequest| async move {
        let pairs = reading.variables.iter().map(|(name, value)| match value.as_text() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value:?}"),
        });
        pairs.collect::<Vec<_>>().join(" ")
    })
}

/// Returns the mistakes in resources, as their author reads them.
fn mistakes(resources: Vec<ResourceEntry>) -> String {
    let error = Server::new("templates", "1.0.0").resources(resources).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    error.to_string()
}

async fn read(client: &Client, uri: &str) -> String {
    let result = client.read_resource(uri).await.unwrap();
    let [contents] = result.contents.as_slice() else { panic!("{result:?}") };
    assert_eq!(contents.uri, uri);
    contents.text.clone().unwrap()
}

async fn refused(client: &Client, uri: &str) -> RpcError {
    client.read_resource(uri).await.unwrap_err().rpc().unwrap().clone()
}

/// Checks that no resource has this URI. The code changed between revisions.
async fn is_not_found(client: &Client, uri: &str) {
    let is_new = client.protocol_version() >= ProtocolVersion::V2026_07_28;
    let error = refused(client, uri).await;
    assert_eq!(error.code.0, if is_new { -32602 } else { -32002 }, "{uri}: {error}");
    assert_eq!(error.data.unwrap().decode::<Value>().unwrap(), json!({"uri": uri}));
}

/// A part of a user's profile.
#[resource(uri = "user://{id}/profile/{section}")]
async fn profile(id: String, section: String) -> String {
    format!("{section} of {id}")
}

#[resource(uri = "user://index")]
fn users() -> &'static str {
    "everybody"
}

#[resource(uri = "studies:///studies/:study_id/cover")]
fn cover(study_id: u64) -> String {
    format!("cover {study_id}")
}

#[tokio::test]
async fn templates_have_a_list_of_their_own() {
    let mut resources = resources![profile, users, cover];
    resources.push(family("notes://{id}{?page,size}"));
    resources.push(family("tree:///{+where}"));
    resources.push(family("old:///chapters/:chapter/:verse"));
    each_wire(&serving(resources), async |client| {
        let listed = client.resources().await.unwrap();
        assert_eq!(listed.iter().map(|one| one.uri.as_str()).collect::<Vec<_>>(), ["user://index"]);
        let listed = client.resource_templates().await.unwrap();
        let templates: Vec<_> = listed.iter().map(|one| one.uri_template.as_str()).collect();
        assert_eq!(
            templates,
            [
                "user://{id}/profile/{section}",
                // Clients get RFC 6570, whatever syntax the author used.
                "studies:///studies/{study_id}/cover",
                "notes://{id}{?page,size}",
                "tree:///{+where}",
                "old:///chapters/{chapter}/{verse}",
            ]
        );
        assert_eq!(read(&client, "studies:///studies/7/cover").await, "cover 7");
        assert_eq!(read(&client, "tree:///a/b%20c").await, "where=a/b c");
        assert_eq!(read(&client, "old:///chapters/3/16").await, "chapter=3 verse=16");
        assert_eq!(read(&client, "user://index").await, "everybody");
    })
    .await;
    // A server with only templates has an empty list of resources, which differs from having none.
    each_wire(&serving(resources![profile]), async |client| {
        assert!(client.resources().await.unwrap().is_empty());
        assert_eq!(client.resource_templates().await.unwrap().len(), 1);
    })
    .await;
    for (template, complaint) in [
        ("", "the template has no variables: make it a resource"),
        ("notes://index", "the template has no variables: make it a resource"),
        ("{id}", "is not a URI: it must begin with a scheme"),
        ("notes://{id", "`{` is never closed"),
        ("notes://id}", "`}` closes nothing"),
        ("notes://{}", "is not a variable name"),
        ("notes://{a b}", "is not a variable name"),
        ("notes://{=id}", "is reserved by RFC 6570"),
        ("notes://my {id}", "is not allowed in a URI"),
    ] {
        let text = mistakes(vec![family(template)]);
        assert!(text.contains(&format!("resource `{template}`: ")) && text.contains(complaint), "{text}");
    }
}

#[tokio::test]
async fn a_uri_gives_its_variables_to_the_function() {
    each_wire(&serving(resources![profile, users]), async |client| {
        assert_eq!(read(&client, "user://123/profile/settings").await, "settings of 123");
        // Values are decoded after they were extracted.
        assert_eq!(read(&client, "user://J%C3%BCrgen/profile/a%3Fb").await, "a?b of Jürgen");
        assert_eq!(read(&client, "user://..a/profile/a+b&c=d").await, "a+b&c=d of ..a");
        for uri in [
            "user://123/profile",
            "user://123/settings/profile",
            "user://123/profile/settings/more",
            "user://123/profile/settings?more=1",
            // An encoded delimiter does not leave its segment.
            "user://1%2F2/profile/settings",
            "user://123/profile/%2E%2E",
            "user://123/profile/..",
            "user://123/profile/%00",
            "user://123/profile/%zz",
            "user://123/profile/%FF",
        ] {
            is_not_found(&client, uri).await;
        }
    })
    .await;
}

/// Its parameters stand in another order than its variables, with one between them that is none.
#[resource(uri = "swapped://{first}/{second}/{third}")]
fn swapped(third: u8, ctx: Ctx, first: String, second: &str) -> String {
    assert!(!ctx.is_cancelled());
    format!("first={first} second={second} third={third}")
}

/// The compiler refuses what the macro can see: `toolway/tests/macros/ui`.
#[tokio::test]
async fn a_name_that_fits_nothing_is_refused_when_the_server_is_built() {
    let completer = || Completer::list(["a", "b"]);
    for (resources, complaint) in [
        (
            vec![family("notes://{id}").with_completer("name", completer())],
            "resource `notes://{id}`: `name` has a completion, but the URI has no such variable",
        ),
        (
            resources![users].into_iter().map(|entry| entry.with_completer("id", completer())).collect(),
            "resource `user://index`: `id` has a completion, but the URI has no such variable",
        ),
        (vec![family("notes://{id}/{id}")], "the variable \"id\" comes twice"),
        (vec![family("notes://{id}{name}")], "the start of \"name\" is ambiguous"),
        (
            vec![family("notes://{id}"), family("notes://{name}")],
            "the templates `notes://{id}` and `notes://{name}` match the same URIs",
        ),
        (vec![family("notes://{id}").with_name("")], "resource `notes://{id}`: it has no name"),
    ] {
        let text = mistakes(resources);
        assert!(text.contains(complaint), "{complaint:?} in {text}");
    }
    let text = mistakes(vec![family("notes://{id"), family("{id}")]);
    assert!(text.contains("`notes://{id`") && text.contains("`{id}`"), "both in {text}");

    let mut resources = resources![swapped];
    resources.push(family("notes://{id}/{part}").with_completer("part", completer()));
    // Not the same shape: the more literal one is tried first, in any order.
    resources.push(family("notes://{id}/summary"));
    let server = serving(resources);
    assert!(server.add_resource(family("notes://{number}/{section}")).is_err());
    each_wire(&server, async |client| {
        assert_eq!(read(&client, "swapped://a/b/3").await, "first=a second=b third=3");
        assert_eq!(read(&client, "notes://7/body").await, "id=7 part=body");
        assert_eq!(read(&client, "notes://7/summary").await, "id=7");
        let completion = client.complete_resource("notes://{id}/{part}", "part", "", [("id", "7")]).await;
        assert_eq!(completion.unwrap().values, ["a", "b"]);
        let error = client.complete_resource("notes://{id}/{part}", "name", "", [("id", "7")]).await;
        assert_eq!(error.unwrap_err().rpc().unwrap().code.0, -32602);
    })
    .await;
}

#[tokio::test]
async fn variables_come_by_name_and_in_the_order_of_the_template() {
    let mut resources = resources![swapped];
    resources.push(family("z://{z}/{a}/{m}{?q,b}"));
    let server = serving(resources);
    each_wire(&server, async |client| {
        assert_eq!(read(&client, "swapped://a/b/3").await, "first=a second=b third=3");
        assert_eq!(read(&client, "z://1/2/3?q=4&b=5").await, "z=1 a=2 m=3 q=4 b=5");
        // The URI may have another order; the variables are in the order of the template.
        assert_eq!(read(&client, "z://1/2/3?b=5&q=4").await, "z=1 a=2 m=3 q=4 b=5");
    })
    .await;
    // Building a URI also uses the template's order.
    assert_eq!(swapped::uri("a", "b/c", 3), "swapped://a/b%2Fc/3");
    let values = [("third", "3"), ("first", "a"), ("second", "b")];
    assert_eq!(server.resource_uri("swapped", values).as_deref(), Some("swapped://a/b/3"));
}

/// The query is the one place where something may be missing.
#[resource(uri = "search://{index}{?words,limit}")]
fn search(index: String, words: Option<String>, #[arg(default = 10)] limit: u32) -> String {
    format!("{index} {words:?} {limit}")
}

#[tokio::test]
async fn all_variables_are_required() {
    let mut resources = resources![profile, search];
    resources.push(family("files://{+dir}/{name}.{ext}"));
    resources.push(family("params://x{;a,b}"));
    each_wire(&serving(resources), async |client| {
        for uri in [
            "user:///profile/settings",
            "user://123/profile/",
            "user:///profile/",
            "search://",
            "files://a/b.",
            "files:///b.c",
            "params://x;a=1",
        ] {
            is_not_found(&client, uri).await;
        }
        assert_eq!(read(&client, "files://a/b/c.d").await, "dir=a/b name=c ext=d");
        assert_eq!(read(&client, "params://x;b=2;a=1").await, "a=1 b=2");
        for (uri, found) in [
            ("search://notes", "notes None 10"),
            ("search://notes?words=a%20b", "notes Some(\"a b\") 10"),
            ("search://notes?words=", "notes Some(\"\") 10"),
            ("search://notes?limit=5", "notes None 5"),
            ("search://notes?limit=5&words=x", "notes Some(\"x\") 5"),
        ] {
            assert_eq!(read(&client, uri).await, found);
        }
        // An unknown parameter makes it another URI.
        is_not_found(&client, "search://notes?page=2").await;
    })
    .await;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Shelf {
    TopLeft,
    Bottom,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Isbn(String);

#[resource(uri = "typed://{id}/{signed}/{ratio}/{flag}/{letter}/{shelf}/{isbn}")]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
fn typed(
    id: u64,
    signed: i8,
    ratio: f64,
    flag: bool,
    letter: char,
    shelf: Shelf,
    isbn: Isbn,
    _ctx: &Ctx,
) -> String {
    format!("{id} {signed} {ratio} {flag} {letter} {shelf:?} {}", isbn.0)
}

#[resource(uri = "lists://{/parts*}")]
fn list(parts: Vec<u16>) -> String {
    format!("{parts:?}")
}

#[derive(Deserialize, JsonSchema)]
#[resource(uri = "page://{book}/{number}")]
struct BookPage {
    book: String,
    number: u32,
}

impl Run for BookPage {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("{} {}", self.book, self.number + 1)
    }
}

#[tokio::test]
async fn variables_are_parsed() {
    each_wire(&serving(resources![typed, list, BookPage]), async |client| {
        let right = "typed://18446744073709551615/-128/0.5/true/%C3%A4/top-left/007";
        assert_eq!(read(&client, right).await, "18446744073709551615 -128 0.5 true ä TopLeft 007");
        assert_eq!(read(&client, "lists:///1/2/3").await, "[1, 2, 3]");
        assert_eq!(read(&client, "page://7/8").await, "7 9");
        for (uri, complaint) in [
            (
                "typed://x/1/1/true/a/bottom/1",
                "argument `id`: expected an integer that is not negative, got \"x\"",
            ),
            (
                "typed://-1/1/1/true/a/bottom/1",
                "argument `id`: expected an integer that is not negative, got \"-1\"",
            ),
            (
                "typed://1/128/1/true/a/bottom/1",
                "argument `signed`: expected an integer from -128 to 127, got \"128\"",
            ),
            ("typed://1/1/much/true/a/bottom/1", "argument `ratio`: expected a number, got \"much\""),
            ("typed://1/1/1/yes/a/bottom/1", "argument `flag`: expected `true` or `false`, got \"yes\""),
            ("typed://1/1/1/true/ab/bottom/1", "argument `letter`: expected one character, got \"ab\""),
            (
                "typed://1/1/1/true/a/middle/1",
                "argument `shelf`: expected one of \"top-left\", \"bottom\", got \"middle\"",
            ),
            ("lists:///1/70000", "argument `parts`: expected an integer from 0 to 65535, got \"70000\""),
            ("page://7/x", "argument `number`: expected an integer that is not negative, got \"x\""),
        ] {
            assert_eq!(refused(&client, uri).await, RpcError::invalid_params(complaint), "{uri}");
        }
    })
    .await;
}

/// A note.
///
/// One of many.
#[resource(uri = "plain://{id}")]
fn note(id: u64) -> String {
    id.to_string()
}

/// Not this.
#[resource(
    uri = "dressed://{id}",
    name = "The Note",
    title = "A note",
    description = "Anybody's note.",
    mime = "text/markdown",
    annotations(audience = [assistant], priority = 1, last_modified = "2026-07-28T00:00:00Z"),
    icon = "https://app.example/note.png",
    meta = {"team": "docs"}
)]
fn dressed(id: u64) -> String {
    format!("# {id}")
}

#[resource(uri = "bare://{id}")]
fn bare(id: u64) -> String {
    id.to_string()
}

#[tokio::test]
async fn a_template_says_what_a_resource_says() {
    let mut resources = resources![note, dressed, bare];
    resources.push(family("by-hand://{id}"));
    resources.extend(resources![BookPage as "leaf"]);
    each_wire(&serving(resources), async |client| {
        let listed = client.resource_templates().await.unwrap();
        let [note, dressed, bare, by_hand, leaf] = listed.as_slice() else { panic!("{listed:?}") };
        let said = |uri: &str, name: &str, text: &str| {
            ResourceTemplate::new(uri, name).with_description(text.to_owned())
        };
        assert_eq!(*note, said("plain://{id}", "note", "A note.\n\nOne of many."));
        assert_eq!(*bare, said("bare://{id}", "bare", "bare"));
        assert_eq!(*by_hand, ResourceTemplate::new("by-hand://{id}", "family"));
        assert_eq!(*leaf, said("page://{book}/{number}", "leaf", "book_page"));

        let version = client.protocol_version();
        let mut annotations = Annotations::new().with_audience(vec![Role::Assistant]).with_priority(1.0);
        let mut all = said("dressed://{id}", "The Note", "Anybody's note.").with_mime_type("text/markdown");
        if version >= ProtocolVersion::V2025_06_18 {
            annotations = annotations.with_last_modified("2026-07-28T00:00:00Z");
            let meta = json!({"team": "docs"}).as_object().unwrap().clone();
            all = all.with_title("A note").with_meta(meta);
        }
        if version >= ProtocolVersion::V2025_11_25 {
            all = all.with_icons(vec![Icon::new("https://app.example/note.png")]);
        }
        assert_eq!(*dressed, all.with_annotations(Box::new(annotations)));
        // The media type of the template applies to its resources.
        let result = client.read_resource("dressed://7").await.unwrap();
        let contents = ResourceContents::new("dressed://7").with_mime_type("text/markdown").with_text("# 7");
        assert_eq!(result.contents, [contents]);
    })
    .await;
}

/// One of each kind that a resource may return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Failure {
    Visible,
    Missing,
    Hidden,
    Panic,
}

#[resource(uri = "json://{id}")]
fn as_json(id: u64) -> Json<Vec<u64>> {
    Json(vec![id])
}

#[resource(uri = "bytes://{text}")]
fn as_bytes(text: String) -> Vec<u8> {
    text.into_bytes()
}

#[resource(uri = "stream://{text}", mime = "image/png")]
async fn as_stream(text: String) -> Reader<std::io::Cursor<String>> {
    Reader(std::io::Cursor::new(text))
}

#[resource(uri = "file://{name}")]
fn as_file(name: String) -> File {
    File::new(format!("{}/{name}", env!("CARGO_MANIFEST_DIR")))
}

#[resource(uri = "map://{text}")]
fn as_map(text: String) -> Value {
    json!({"text": text, "mimeType": "text/css"})
}

#[resource(uri = "several://{count}")]
fn as_several(count: u8) -> Vec<ResourceContents> {
    (0..count)
        .map(|index| ResourceContents::new(format!("several://{count}/{index}")).with_text(""))
        .collect()
}

#[resource(uri = "maybe://{id}")]
fn as_option(id: u64) -> Option<&'static str> {
    (id == 1).then_some("one")
}

#[resource(uri = "failing://{how}")]
async fn failing(how: Failure) -> Result<String, ResourceError> {
    match how {
        Failure::Visible => Err(ResourceError::new("it is locked")),
        Failure::Missing => Err(ResourceError::not_found()),
        Failure::Hidden => Ok(std::fs::read_to_string("/no/such/secret-file")?),
        Failure::Panic => panic!("the secret is 42"),
    }
}

#[tokio::test]
async fn a_template_returns_and_fails_as_a_resource_does() {
    let resources = resources![as_json, as_bytes, as_stream, as_file, as_map, as_several, as_option, failing];
    each_wire(&serving(resources), async |client| {
        let contents = |uri: &str, mime_type: &str| ResourceContents::new(uri).with_mime_type(mime_type);
        for expected in [
            contents("json://7", "application/json").with_text("[7]"),
            contents("bytes://abc", "application/octet-stream").with_blob("YWJj"),
            contents("stream://abc", "image/png").with_blob("YWJj"),
            contents("file://Cargo.toml", "application/toml").with_text(include_str!("../../../Cargo.toml")),
            contents("map://a%7B%7D", "text/css").with_text("a{}"),
            contents("maybe://1", "text/plain").with_text("one"),
        ] {
            let result = client.read_resource(&expected.uri).await.unwrap();
            assert_eq!(result.contents, [expected]);
        }
        let several = client.read_resource("several://2").await.unwrap();
        let uris: Vec<_> = several.contents.iter().map(|one| one.uri.as_str()).collect();
        assert_eq!(uris, ["several://2/0", "several://2/1"]);

        is_not_found(&client, "maybe://2").await;
        is_not_found(&client, "file://missing.toml").await;
        is_not_found(&client, "failing://missing").await;
        assert_eq!(refused(&client, "failing://visible").await, RpcError::internal("it is locked"));
        for uri in ["failing://hidden", "failing://panic"] {
            let error = refused(&client, uri).await;
            assert_eq!(error.code.0, -32603);
            let start = format!(
                "the resource `{uri}` failed; the server's operator can find the cause under reference "
            );
            assert!(error.message.starts_with(&start) && !error.message.contains("secret"), "{error}");
        }
    })
    .await;
}
