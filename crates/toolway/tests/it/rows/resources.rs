//! Rows 38–58: a resource has its own URI, describes itself, and returns its contents or an error.

use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, ReadBuf};
use toolway::prelude::*;
use toolway::server::{BoxError, ErrorPolicy, File, Reader, Reading, ResourceEntry, ResourceError, Run};
use toolway::testing::each_wire;
use toolway::types::{Annotations, Icon, ReadResourceResult, Resource, ResourceContents, Role, Theme};
use toolway::{ErrorKind, ProtocolVersion, RpcError};

fn serving(resources: Vec<ResourceEntry>) -> Server {
    Server::new("resources", "1.0.0").resources(resources).build().unwrap()
}

/// A resource that is only listed.
fn plain(uri: &str) -> ResourceEntry {
    ResourceEntry::define(Resource::new(uri, "plain"), |reading: Reading| async move { reading.uri })
}

async fn listed(client: &Client, uri: &str) -> Resource {
    let resources = client.resources().await.unwrap();
    resources.into_iter().find(|resource| resource.uri == uri).unwrap()
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

#[tokio::test]
async fn row_038_a_uri_that_is_none_is_refused_when_the_server_is_built() {
    let builder = || Server::new("resources", "1.0.0");
    for (uri, complaint) in [
        ("", "it must begin with a scheme"),
        ("index", "it must begin with a scheme"),
        ("/srv/index", "it must begin with a scheme"),
        ("://index", "it must begin with a scheme"),
        ("notes:", "it must begin with a scheme"),
        ("1notes://index", "it must begin with a scheme"),
        ("no_tes://index", "it must begin with a scheme"),
        ("notes://my index", "it holds ' '; encode it with `%`"),
        ("notes://<index>", "it holds '<'; encode it with `%`"),
        ("notes://naïve", "it holds 'ï'; encode it with `%`"),
        ("notes://line\nbreak", "it holds '\\n'; encode it with `%`"),
        ("notes://{id}", "it holds '{'; for a template use `ResourceTemplate`"),
        ("notes://100%", "a `%` needs two hexadecimal digits"),
        ("notes://%zz", "a `%` needs two hexadecimal digits"),
        ("notes://a#b#c", "the fragment holds a `#`"),
        ("notes://a/[b]", "`[` and `]` are allowed only around the IP address of a host"),
        ("notes://[::1", "`[` and `]` are allowed only around the IP address of a host"),
    ] {
        let error = builder().resource(plain(uri)).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains(&format!("{uri:?} is not a URI: {complaint}")), "{error}");
    }
    let error = builder().resources([plain("a b:c"), plain("index")]).build().unwrap_err().to_string();
    assert!(error.contains("resource `a b:c`") && error.contains("resource `index`"), "both in {error}");
    let twice = builder().resources([plain("notes://index"), plain("notes://index")]).build().unwrap_err();
    assert!(twice.to_string().contains("two resources have the URI `notes://index`"), "{twice}");

    let right = "notes://me@[::1]:80/a-b/100%25?q=%C3%AF&r=(1)#end";
    let server = serving(vec![plain(right)]);
    // A running server applies the same rules.
    assert!(server.add_resource(plain("notes://my index")).is_err());
    each_wire(&server, async |client| {
        let uris: Vec<String> = client.resources().await.unwrap().into_iter().map(|one| one.uri).collect();
        assert_eq!(uris, [right]);
        assert_eq!(read(&client, right).await.text.as_deref(), Some(right));
        assert_eq!(refused(&client, "notes://my index").await.code.0, not_found(&client));
    })
    .await;
}

/// The settings.
///
/// All of them.
#[resource(uri = "described://by-comment")]
fn settings() -> &'static str {
    "on"
}

#[resource(uri = "described://by-nothing")]
fn r#type() -> &'static str {
    "t"
}

/// Not this.
#[resource(uri = "described://by-option", name = "The Options", description = "What can be chosen.")]
fn options() -> &'static str {
    "o"
}

/// The time.
#[resource("described://by-type")]
#[derive(Deserialize, JsonSchema)]
struct ServerClock {}

impl Run for ServerClock {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        "12:00".to_owned()
    }
}

struct House {
    door: &'static str,
}

#[service]
impl House {
    /// The door.
    #[resource(uri = "described://by-method")]
    fn door(&self) -> &'static str {
        self.door
    }
}

fn described() -> Server {
    Server::new("resources", "1.0.0")
        .resources(resources![settings, r#type, options, ServerClock])
        .resource(plain("described://by-hand"))
        .service(House { door: "open" })
        .build()
        .unwrap()
}

#[tokio::test]
async fn row_039_the_name_is_that_of_the_function() {
    each_wire(&described(), async |client| {
        for (uri, name) in [
            ("described://by-comment", "settings"),
            ("described://by-nothing", "type"),
            ("described://by-option", "The Options"),
            ("described://by-type", "server_clock"),
            ("described://by-hand", "plain"),
            ("described://by-method", "door"),
        ] {
            assert_eq!(listed(&client, uri).await.name, name);
        }
        // The name is only a name: a resource is found by its URI.
        assert_eq!(read(&client, "described://by-option").await.text.as_deref(), Some("o"));
        assert_eq!(read(&client, "described://by-type").await.text.as_deref(), Some("12:00"));
        assert_eq!(read(&client, "described://by-method").await.text.as_deref(), Some("open"));
        assert_eq!(refused(&client, "settings").await.code.0, not_found(&client));
    })
    .await;
    each_wire(&serving(resources![settings as "preferences"]), async |client| {
        assert_eq!(listed(&client, "described://by-comment").await.name, "preferences");
    })
    .await;
    let nameless = Server::new("resources", "1.0.0").resource(plain("notes://index").named("")).build();
    assert!(nameless.unwrap_err().to_string().contains("it has no name"));
}

#[tokio::test]
async fn row_040_the_description_is_the_doc_comment() {
    each_wire(&described(), async |client| {
        for (uri, description) in [
            ("described://by-comment", Some("The settings.\n\nAll of them.")),
            // Without a description, its name is used.
            ("described://by-nothing", Some("type")),
            ("described://by-option", Some("What can be chosen.")),
            ("described://by-type", Some("The time.")),
            ("described://by-hand", None),
            ("described://by-method", Some("The door.")),
        ] {
            assert_eq!(listed(&client, uri).await.description.as_deref(), description, "{uri}");
        }
    })
    .await;
    let entry = ResourceEntry::of::<settings>().described("Something else.");
    each_wire(&serving(vec![entry]), async |client| {
        let resource = listed(&client, "described://by-comment").await;
        assert_eq!(resource.description.as_deref(), Some("Something else."));
    })
    .await;
}

#[resource(uri = "typed://markdown", mime = "text/markdown")]
fn markdown() -> &'static str {
    "# Title"
}

#[resource(uri = "typed://nothing")]
fn untyped() -> &'static str {
    "plain"
}

#[resource(uri = "typed://picture", mime = "image/png")]
fn picture() -> Vec<u8> {
    vec![1, 2, 3]
}

#[resource(uri = "typed://json", mime = "application/geo+json")]
fn place() -> Json<Value> {
    Json(json!({"type": "Point"}))
}

#[tokio::test]
async fn row_041_the_media_type_is_listed_and_read() {
    each_wire(&serving(resources![markdown, untyped, picture, place]), async |client| {
        for (uri, listed_as, contents) in [
            ("typed://markdown", Some("text/markdown"), text("typed://markdown", "text/markdown", "# Title")),
            ("typed://nothing", None, text("typed://nothing", "text/plain", "plain")),
            ("typed://picture", Some("image/png"), blob("typed://picture", "image/png", "AQID")),
            (
                "typed://json",
                Some("application/geo+json"),
                text("typed://json", "application/geo+json", r#"{"type":"Point"}"#),
            ),
        ] {
            assert_eq!(listed(&client, uri).await.mime_type.as_deref(), listed_as);
            assert_eq!(read(&client, uri).await, contents);
        }
    })
    .await;
}

#[resource(uri = "sized://four", size = 4)]
fn four() -> &'static str {
    "four"
}

#[resource(uri = "sized://large", size = 5_000_000_000)]
fn large() -> &'static str {
    "not really"
}

#[resource(uri = "sized://unknown")]
fn unknown_size() -> &'static str {
    "some"
}

#[tokio::test]
async fn row_042_the_size_is_listed() {
    let mut resources = resources![four, large, unknown_size];
    let big = Resource::new("sized://big", "big").with_size(6_000_000_000_i64);
    resources.push(ResourceEntry::define(big, || async { "also not" }));
    each_wire(&serving(resources), async |client| {
        assert_eq!(listed(&client, "sized://four").await.size, Some(4));
        assert_eq!(listed(&client, "sized://unknown").await.size, None);
        assert_eq!(listed(&client, "sized://large").await.size, Some(5_000_000_000));
        assert_eq!(listed(&client, "sized://big").await.size, Some(6_000_000_000));
        // The size is what the author declares, not a guarantee about the contents.
        assert_eq!(read(&client, "sized://large").await.text.as_deref(), Some("not really"));
    })
    .await;
}

#[resource(
    uri = "annotated://all",
    annotations(audience = [user, assistant], priority = 0.9, last_modified = "2026-07-28T00:00:00Z")
)]
fn annotated() -> &'static str {
    "a"
}

#[resource(uri = "annotated://one", annotations(audience = user))]
fn for_the_user() -> &'static str {
    "u"
}

#[tokio::test]
async fn row_043_annotations_say_for_whom_it_is() {
    let mut resources = resources![annotated, for_the_user];
    resources.push(plain("annotated://not"));
    let by_hand = Resource::new("annotated://by-hand", "by-hand")
        .with_annotations(Box::new(Annotations::new().with_priority(0.0)));
    resources.push(ResourceEntry::define(by_hand, || async { "h" }));
    each_wire(&serving(resources), async |client| {
        let mut all = Annotations::new().with_audience(vec![Role::User, Role::Assistant]).with_priority(0.9);
        // Only revisions that know the date get it.
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            all = all.with_last_modified("2026-07-28T00:00:00Z");
        }
        let annotations = async |uri: &str| listed(&client, uri).await.annotations.map(|boxed| *boxed);
        assert_eq!(annotations("annotated://all").await, Some(all));
        let user = Annotations::new().with_audience(vec![Role::User]);
        assert_eq!(annotations("annotated://one").await, Some(user));
        assert_eq!(annotations("annotated://not").await, None);
        assert_eq!(annotations("annotated://by-hand").await, Some(Annotations::new().with_priority(0.0)));
    })
    .await;
}

#[resource(uri = "shown://one", icon = "https://app.example/icon.png")]
fn one_icon() -> &'static str {
    "1"
}

#[resource(
    uri = "shown://two",
    icons = ["https://app.example/a.svg", icon("https://app.example/b.png", mime = "image/png", sizes = ["48x48"], theme = "dark")]
)]
fn two_icons() -> &'static str {
    "2"
}

#[tokio::test]
async fn row_044_icons_are_listed_where_the_revision_knows_them() {
    let mut resources = resources![one_icon, two_icons];
    resources.push(plain("shown://none"));
    resources.push(plain("shown://added").with_icon(Icon::new("data:image/png;base64,AQID")));
    each_wire(&serving(resources), async |client| {
        let knows = client.protocol_version() >= ProtocolVersion::V2025_11_25;
        let second = Icon::new("https://app.example/b.png")
            .with_mime_type("image/png")
            .with_sizes(vec!["48x48".to_owned()])
            .with_theme(Theme::Dark);
        for (uri, icons) in [
            ("shown://one", vec![Icon::new("https://app.example/icon.png")]),
            ("shown://two", vec![Icon::new("https://app.example/a.svg"), second]),
            ("shown://added", vec![Icon::new("data:image/png;base64,AQID")]),
        ] {
            assert_eq!(listed(&client, uri).await.icons, knows.then_some(icons), "{uri}");
        }
        assert_eq!(listed(&client, "shown://none").await.icons, None);
    })
    .await;
}

#[resource(uri = "meta://some", meta = {"team": "docs", "app.example/rank": [1, {"deep": null}]})]
fn with_meta() -> &'static str {
    "m"
}

#[tokio::test]
async fn row_045_meta_is_listed_where_the_revision_knows_it() {
    let mut resources = resources![with_meta];
    resources.push(plain("meta://none"));
    each_wire(&serving(resources), async |client| {
        let knows = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let meta = listed(&client, "meta://some").await.meta.map(Value::Object);
        let said = json!({"team": "docs", "app.example/rank": [1, {"deep": null}]});
        assert_eq!(meta, knows.then_some(said));
        assert_eq!(listed(&client, "meta://none").await.meta, None);
    })
    .await;
}

#[tokio::test]
async fn row_046_any_scheme_will_do() {
    let uris = [
        "https://app.example/notes?page=1",
        "file:///srv/notes/my%20note.txt",
        "git://app.example/repo.git",
        "config://app/settings",
        "data:text/plain,hello",
        "db://users/schema",
        "api://v1/users",
        "urn:isbn:0451450523",
        "mailto:ada@app.example",
        "x-acme+notes.2://index",
        "UPPER://index",
    ];
    each_wire(&serving(uris.into_iter().map(plain).collect()), async |client| {
        let listed: Vec<String> = client.resources().await.unwrap().into_iter().map(|one| one.uri).collect();
        assert_eq!(listed, uris);
        for uri in uris {
            assert_eq!(read(&client, uri).await, text(uri, "text/plain", uri));
        }
        assert_eq!(refused(&client, "config://app/other").await.code.0, not_found(&client));
    })
    .await;
}

#[resource(uri = "text://owned", mime = "text/html")]
async fn owned_text() -> String {
    tokio::task::yield_now().await;
    "<p>".to_owned()
}

#[resource(uri = "text://lent")]
fn lent_text() -> &'static str {
    "\u{1F600}\n\"quoted\"\u{0}"
}

#[resource(uri = "text://empty")]
fn empty_text() -> Result<String, ResourceError> {
    std::fs::read_to_string("/dev/null").map_err(ResourceError::from)
}

#[resource(uri = "text://blocking", blocking)]
fn blocking_text() -> String {
    "waited".to_owned()
}

#[tokio::test]
async fn row_047_text_becomes_text_contents() {
    let server = serving(resources![owned_text, lent_text, empty_text, blocking_text]);
    each_wire(&server, async |client| {
        for contents in [
            text("text://owned", "text/html", "<p>"),
            text("text://lent", "text/plain", "\u{1F600}\n\"quoted\"\u{0}"),
            text("text://empty", "text/plain", ""),
            text("text://blocking", "text/plain", "waited"),
        ] {
            assert_eq!(read(&client, &contents.uri).await, contents);
        }
    })
    .await;
}

#[derive(Serialize)]
struct Entry {
    id: u64,
    tags: Vec<&'static str>,
}

#[resource(uri = "json://list")]
fn json_list() -> Json<Vec<Entry>> {
    Json(vec![Entry { id: 7, tags: vec!["a", "b"] }])
}

#[resource(uri = "json://object", mime = "application/vnd.acme+json")]
async fn json_object() -> Result<Json<Entry>, ResourceError> {
    Ok(serde_json::from_str::<Value>("{}").map(|_| Json(Entry { id: 8, tags: Vec::new() }))?)
}

#[resource(uri = "json://value")]
fn json_value() -> Value {
    json!([1, "two", null, {"text": "not contents: it is inside a list"}])
}

#[resource(uri = "json://number")]
fn json_number() -> Json<u8> {
    Json(5)
}

#[tokio::test]
async fn row_048_lists_and_maps_become_json_text() {
    let server = serving(resources![json_list, json_object, json_value, json_number]);
    each_wire(&server, async |client| {
        for contents in [
            text("json://list", "application/json", r#"[{"id":7,"tags":["a","b"]}]"#),
            text("json://object", "application/vnd.acme+json", r#"{"id":8,"tags":[]}"#),
            text(
                "json://value",
                "application/json",
                r#"[1,"two",null,{"text":"not contents: it is inside a list"}]"#,
            ),
            text("json://number", "application/json", "5"),
        ] {
            assert_eq!(read(&client, &contents.uri).await, contents);
        }
    })
    .await;
}

#[resource(uri = "bytes://slice")]
fn read_slice() -> Reader<&'static [u8]> {
    Reader(b"\x00\xff\x10")
}

/// Comes in pieces, and ends later than it begins.
#[resource(uri = "bytes://pieces", mime = "application/gzip")]
fn read_pieces() -> Reader<DuplexStream> {
    let (mut writer, reader) = tokio::io::duplex(2);
    tokio::spawn(async move {
        for piece in [b"ab".as_slice(), b"", b"cdef"] {
            writer.write_all(piece).await.unwrap();
        }
    });
    Reader(reader)
}

struct Broken;

impl AsyncRead for Broken {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Poll::Ready(Err(std::io::Error::other("the secret disk is broken")))
    }
}

#[resource(uri = "bytes://broken")]
fn read_broken() -> Reader<Broken> {
    Reader(Broken)
}

#[resource(uri = "bytes://vec")]
fn bytes_vec() -> Vec<u8> {
    b"text is bytes too".to_vec()
}

#[resource(uri = "bytes://bytes")]
fn bytes_shared() -> Bytes {
    Bytes::from_static(&[0xfb, 0xff])
}

#[resource(uri = "bytes://none")]
fn bytes_empty() -> Vec<u8> {
    Vec::new()
}

#[tokio::test]
async fn row_049_a_stream_is_read_to_its_end() {
    let resources = resources![read_slice, read_pieces, read_broken, bytes_vec, bytes_shared, bytes_empty];
    each_wire(&serving(resources), async |client| {
        for contents in [
            blob("bytes://slice", "application/octet-stream", "AP8Q"),
            blob("bytes://pieces", "application/gzip", "YWJjZGVm"),
            blob("bytes://vec", "application/octet-stream", "dGV4dCBpcyBieXRlcyB0b28="),
            // The alphabet of RFC 4648, section 4.
            blob("bytes://bytes", "application/octet-stream", "+/8="),
            blob("bytes://none", "application/octet-stream", ""),
        ] {
            assert_eq!(read(&client, &contents.uri).await, contents);
        }
        let error = refused(&client, "bytes://broken").await;
        assert_eq!(error.code.0, -32603);
        assert!(!error.message.contains("secret"), "{error}");
    })
    .await;
}

/// Files that are deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("toolway-row-050-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[resource(uri = "files://readme")]
fn readme(path: State<PathBuf>) -> File {
    File::new(path.as_path())
}

#[tokio::test]
async fn row_050_a_file_has_the_media_type_that_it_seems_to_have() {
    let folder = Folder::new();
    let shown = |uri: &str, path: PathBuf| {
        ResourceEntry::define(Resource::new(uri, "file"), move || {
            let file = File::new(path.clone());
            async move { file }
        })
    };
    let listed_as = |uri: &str, mime_type: &str, path: PathBuf| {
        let definition = Resource::new(uri, "file").with_mime_type(mime_type);
        ResourceEntry::define(definition, move || {
            let file = File::new(path.clone());
            async move { file }
        })
    };
    let server = Server::new("files", "1.0.0")
        .state(folder.file("README.md", b"# Read me"))
        .resources(resources![readme])
        .resources([
            shown("files://picture", folder.file("a.PNG", b"\x89PNG")),
            shown("files://svg", folder.file("a.svg", b"<svg/>")),
            // Its bytes are text, but it is not meant to be read as text.
            shown("files://pdf", folder.file("a.pdf", b"%PDF")),
            shown("files://words", folder.file("unknown", "für".as_bytes())),
            shown("files://noise", folder.file("unknown.bin7", b"\xff\xfe")),
            // Declared as text, but it is not.
            shown("files://lie", folder.file("lie.txt", b"\xff\xfe")),
            listed_as("files://told", "text/x-log", folder.file("told.bin", b"told")),
            shown("files://missing", folder.0.join("missing")),
            shown("files://folder", folder.0.clone()),
        ])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for contents in [
            text("files://readme", "text/markdown", "# Read me"),
            blob("files://picture", "image/png", "iVBORw=="),
            text("files://svg", "image/svg+xml", "<svg/>"),
            blob("files://pdf", "application/pdf", "JVBERg=="),
            text("files://words", "text/plain", "für"),
            blob("files://noise", "application/octet-stream", "//4="),
            blob("files://lie", "text/plain", "//4="),
            text("files://told", "text/x-log", "told"),
        ] {
            assert_eq!(read(&client, &contents.uri).await, contents);
        }
        assert_eq!(refused(&client, "files://missing").await.code.0, not_found(&client));
        let error = refused(&client, "files://folder").await;
        assert_eq!(error.code.0, -32603);
        assert!(!error.message.contains("toolway-row-050"), "{error}");
    })
    .await;
}

#[resource(uri = "whole://text", mime = "text/plain")]
fn whole_text() -> ResourceContents {
    text("elsewhere://text", "text/x-own", "mine")
}

#[resource(uri = "whole://bare", mime = "text/plain")]
fn whole_bare() -> Result<ResourceContents, ResourceError> {
    let meta = json!({"etag": "7"}).as_object().cloned().ok_or_else(ResourceError::not_found)?;
    Ok(ResourceContents::new("whole://bare").with_text("bare").with_meta(meta))
}

#[tokio::test]
async fn row_051_text_contents_pass_as_they_are() {
    each_wire(&serving(resources![whole_text, whole_bare]), async |client| {
        let own = text("elsewhere://text", "text/x-own", "mine");
        assert_eq!(read(&client, "whole://text").await, own);
        // Missing members are not filled in.
        let bare = read(&client, "whole://bare").await;
        assert_eq!((bare.uri.as_str(), bare.text.as_deref()), ("whole://bare", Some("bare")));
        assert_eq!((bare.mime_type, bare.blob), (None, None));
        let knows = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(bare.meta.map(Value::Object), knows.then(|| json!({"etag": "7"})));
    })
    .await;
}

#[resource(uri = "whole://blob", mime = "image/png")]
async fn whole_blob() -> ResourceContents {
    blob("elsewhere://blob", "image/gif", "R0lG")
}

#[resource(uri = "whole://result")]
async fn whole_result() -> ReadResourceResult {
    ReadResourceResult::new(vec![blob("whole://result", "image/bmp", "Qk0=")])
}

#[tokio::test]
async fn row_052_blob_contents_pass_as_they_are() {
    each_wire(&serving(resources![whole_blob, whole_result]), async |client| {
        let own = blob("elsewhere://blob", "image/gif", "R0lG");
        assert_eq!(read(&client, "whole://blob").await, own);
        let result = blob("whole://result", "image/bmp", "Qk0=");
        assert_eq!(read(&client, "whole://result").await, result);
    })
    .await;
}

/// Resources that return JSON: the URI, the declared media type, and the JSON.
fn dynamic(cases: impl IntoIterator<Item = (&'static str, Option<&'static str>, Value)>) -> Server {
    let entry = |(uri, mime_type, value): (&str, Option<&str>, Value)| {
        let mut definition = Resource::new(uri, "dynamic");
        definition.mime_type = mime_type.map(str::to_owned);
        ResourceEntry::define(definition, move || {
            let value = value.clone();
            async move { value }
        })
    };
    serving(cases.into_iter().map(entry).collect())
}

#[tokio::test]
async fn row_053_a_map_with_the_key_text_is_text() {
    let server = dynamic([
        ("map://typed", Some("text/plain"), json!({"text": "# Hi", "mimeType": "text/markdown"})),
        ("map://untyped", None, json!({"text": "hi"})),
        ("map://listed", Some("text/csv"), json!({"text": "a,b"})),
        ("map://elsewhere", None, json!({"text": "hi", "uri": "other://place"})),
        ("map://number", None, json!({"text": 5})),
        ("map://other", None, json!({"texts": "hi", "mimeType": "text/markdown"})),
    ]);
    each_wire(&server, async |client| {
        for (uri, contents) in [
            ("map://typed", text("map://typed", "text/markdown", "# Hi")),
            ("map://untyped", text("map://untyped", "text/plain", "hi")),
            ("map://listed", text("map://listed", "text/csv", "a,b")),
            ("map://elsewhere", text("other://place", "text/plain", "hi")),
            // Only a string counts as text: anything else is JSON.
            ("map://number", text("map://number", "application/json", r#"{"text":5}"#)),
            (
                "map://other",
                text("map://other", "application/json", r#"{"mimeType":"text/markdown","texts":"hi"}"#),
            ),
        ] {
            assert_eq!(read(&client, uri).await, contents);
        }
    })
    .await;
}

#[tokio::test]
async fn row_054_a_map_with_the_key_blob_is_a_blob() {
    let server = dynamic([
        ("map://typed", Some("text/plain"), json!({"blob": "iVBORw==", "mimeType": "image/png"})),
        ("map://untyped", None, json!({"blob": "AQID"})),
        ("map://listed", Some("image/gif"), json!({"blob": "R0lG"})),
        ("map://broken", None, json!({"blob": "secret, not Base64"})),
        ("map://null", None, json!({"blob": null})),
    ]);
    each_wire(&server, async |client| {
        for contents in [
            blob("map://typed", "image/png", "iVBORw=="),
            blob("map://untyped", "application/octet-stream", "AQID"),
            blob("map://listed", "image/gif", "R0lG"),
            text("map://null", "application/json", r#"{"blob":null}"#),
        ] {
            assert_eq!(read(&client, &contents.uri).await, contents);
        }
        // Invalid Base64 would break the client that decodes it.
        let error = refused(&client, "map://broken").await;
        assert_eq!(error.code.0, -32603);
        assert!(!error.message.contains("secret"), "{error}");
    })
    .await;
}

#[resource(uri = "several://list")]
fn several() -> Vec<ResourceContents> {
    vec![
        text("several://list/1", "text/plain", "one"),
        blob("several://list/2", "image/png", "iVBORw=="),
        text("several://list/1", "text/plain", "one again"),
    ]
}

#[resource(uri = "several://none")]
fn none_of_several() -> Vec<ResourceContents> {
    Vec::new()
}

#[tokio::test]
async fn row_055_a_list_of_contents_is_several_entries() {
    each_wire(&serving(resources![several, none_of_several]), async |client| {
        let result = client.read_resource("several://list").await.unwrap();
        assert_eq!(result.contents, several());
        // An empty folder is not an error.
        let result = client.read_resource("several://none").await.unwrap();
        assert!(result.contents.is_empty(), "{result:?}");
    })
    .await;
}

#[resource(uri = "fails://visibly")]
async fn fails_visibly() -> Result<String, ResourceError> {
    Err(ResourceError::new("note 1 is locked: try again in a minute"))
}

fn helper() -> Result<String, ResourceError> {
    Err(ResourceError::new("the helper says no"))
}

#[resource(uri = "fails://deeply")]
fn fails_deeply() -> Result<String, BoxError> {
    Ok(helper()?)
}

#[resource(uri = "fails://not-there")]
fn fails_not_there() -> Result<Vec<u8>, ResourceError> {
    Err(ResourceError::not_found())
}

#[resource(uri = "fails://none")]
fn fails_none() -> Option<String> {
    None
}

#[resource(uri = "fails://own-code")]
fn fails_with_own_code() -> Result<String, RpcError> {
    Err(RpcError::invalid_params("which one?").with_data(json!({"choices": 2})))
}

#[tokio::test]
async fn row_056_a_resource_error_is_read_by_the_client() {
    let resources = resources![fails_visibly, fails_deeply, fails_not_there, fails_none, fails_with_own_code];
    each_wire(&serving(resources), async |client| {
        let error = refused(&client, "fails://visibly").await;
        assert_eq!(error, RpcError::internal("note 1 is locked: try again in a minute"));
        assert_eq!(refused(&client, "fails://deeply").await, RpcError::internal("the helper says no"));
        let own = RpcError::invalid_params("which one?").with_data(json!({"choices": 2}));
        assert_eq!(refused(&client, "fails://own-code").await, own);
        for uri in ["fails://not-there", "fails://none", "fails://unknown"] {
            let error = refused(&client, uri).await;
            assert_eq!((error.code.0, &*error.message), (not_found(&client), "no such resource"));
            assert_eq!(error.data.unwrap().decode::<Value>().unwrap(), json!({"uri": uri}));
        }
    })
    .await;
}

#[resource(uri = "fails://io")]
async fn fails_with_io() -> Result<String, ResourceError> {
    Ok(std::fs::read_to_string("/no/such/secret-file")?)
}

#[resource(uri = "fails://hidden")]
fn fails_hidden() -> Result<String, ResourceError> {
    Err(ResourceError::hidden("the secret is 42"))
}

#[resource(uri = "fails://other-type")]
fn fails_with_other_type() -> Result<Json<u8>, std::num::ParseIntError> {
    "secret".parse().map(Json)
}

#[resource(uri = "fails://panic")]
async fn fails_with_panic() -> String {
    tokio::task::yield_now().await;
    panic!("the secret is 42")
}

#[resource(uri = "fails://blocking-panic", blocking)]
fn fails_with_blocking_panic() -> String {
    panic!("the secret is 42")
}

fn failing() -> Vec<ResourceEntry> {
    resources![
        fails_with_io,
        fails_hidden,
        fails_with_other_type,
        fails_with_panic,
        fails_with_blocking_panic
    ]
}

#[tokio::test]
async fn row_057_any_other_error_is_hidden() {
    let mut resources = failing();
    resources.push(plain("works://still"));
    each_wire(&serving(resources), async |client| {
        let mut references = Vec::new();
        for uri in
            ["fails://io", "fails://hidden", "fails://other-type", "fails://panic", "fails://blocking-panic"]
        {
            let error = refused(&client, uri).await;
            assert_eq!((error.code.0, &error.data), (-32603, &None));
            let start = format!(
                "the resource `{uri}` failed; the server's operator can find the cause under reference "
            );
            let reference = error.message.strip_prefix(&start).unwrap();
            assert!(
                reference.len() == 16 && reference.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{error}"
            );
            references.push(reference.to_owned());
        }
        references.sort();
        references.dedup();
        assert_eq!(references.len(), 5, "each failure has its own reference");
        assert_eq!(read(&client, "works://still").await.text.as_deref(), Some("works://still"));
    })
    .await;
    let verbose = Server::new("resources", "1.0.0").errors(ErrorPolicy::Verbose).resources(failing());
    each_wire(&verbose.build().unwrap(), async |client| {
        let error = refused(&client, "fails://hidden").await;
        let text = "the resource `fails://hidden` failed: the secret is 42";
        assert_eq!(error, RpcError::internal(text));
    })
    .await;
}

/// The original page knew one kind of error; its guarantees hold for every kind.
#[tokio::test]
async fn row_058_an_error_of_any_class_is_an_error() {
    let mut resources = failing();
    resources.extend(resources![
        fails_visibly,
        fails_deeply,
        fails_not_there,
        fails_none,
        fails_with_own_code
    ]);
    resources.push(ResourceEntry::define(Resource::new("fails://closure", "closure"), || async {
        Err::<&str, _>(std::fmt::Error)
    }));
    let uris: Vec<String> = resources.iter().map(|entry| entry.definition().uri().to_owned()).collect();
    assert_eq!(uris.len(), 11);
    let unread = Server::new("resources", "1.0.0")
        .resources(resources)
        .resource(ResourceEntry::described_only(Resource::new("fails://unread", "unread")))
        .read_resource(|reading: Reading| async move {
            match reading.uri.as_str() {
                "fails://reader" => Err(ResourceError::new("the reader says no")),
                _ => Ok(None::<String>),
            }
        })
        .build()
        .unwrap();
    each_wire(&unread, async |client| {
        for uri in &uris {
            let error = refused(&client, uri).await;
            let expected = match uri.as_str() {
                "fails://own-code" => -32602,
                "fails://not-there" | "fails://none" => not_found(&client),
                _ => -32603,
            };
            assert_eq!(error.code.0, expected, "{uri}");
            assert!(!error.message.is_empty());
        }
        // Errors of the common reader are handled in the same way.
        assert_eq!(refused(&client, "fails://unread").await.code.0, not_found(&client));
        assert_eq!(refused(&client, "fails://reader").await, RpcError::internal("the reader says no"));
    })
    .await;
}
