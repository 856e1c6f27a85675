//! Which contents does the return value of a resource become?

use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream, ReadBuf};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::{File, Reader, ResourceEntry, ResourceError};
use toolway::testing::each_wire;
use toolway::types::{ReadResourceResult, Resource, ResourceContents};

use super::{blob, not_found, read, refused, serving, text};

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
async fn text_becomes_text_contents() {
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
async fn lists_and_maps_become_json_text() {
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
async fn a_stream_is_read_to_its_end() {
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
async fn a_file_has_the_media_type_that_it_seems_to_have() {
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
async fn text_contents_pass_as_they_are() {
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
async fn blob_contents_pass_as_they_are() {
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
async fn a_map_with_the_key_text_is_text() {
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
async fn a_map_with_the_key_blob_is_a_blob() {
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
async fn a_list_of_contents_is_several_entries() {
    each_wire(&serving(resources![several, none_of_several]), async |client| {
        let result = client.read_resource("several://list").await.unwrap();
        assert_eq!(result.contents, several());
        // An empty folder is not an error.
        let result = client.read_resource("several://none").await.unwrap();
        assert!(result.contents.is_empty(), "{result:?}");
    })
    .await;
}

#[tokio::test]
async fn a_resource_is_text_or_bytes_at_once_or_later() {
    #[resource(uri = "now://text")]
    fn now_text() -> String {
        "text".to_owned()
    }
    #[resource(uri = "now://blob")]
    fn now_blob() -> &'static [u8] {
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
        .resources(resources![now_text, now_blob, later_text, later_blob, blocking])
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
