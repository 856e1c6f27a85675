//! What does a resource say about itself: its URI, name, description, media type, size, annotations, icons and metadata?

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{ResourceEntry, Run};
use toolway::testing::each_wire;
use toolway::types::{Annotations, Icon, Resource, Role, Theme};
use toolway::{ErrorKind, ProtocolVersion};

use super::{blob, not_found, plain, read, refused, serving, text};

async fn listed(client: &Client, uri: &str) -> Resource {
    let resources = client.resources().await.unwrap();
    resources.into_iter().find(|resource| resource.uri == uri).unwrap()
}

#[tokio::test]
async fn a_uri_that_is_none_is_refused_when_the_server_is_built() {
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
async fn the_name_is_that_of_the_function() {
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
    let nameless = Server::new("resources", "1.0.0").resource(plain("notes://index").with_name("")).build();
    assert!(nameless.unwrap_err().to_string().contains("it has no name"));
}

#[tokio::test]
async fn the_description_is_the_doc_comment() {
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
    let entry = ResourceEntry::of::<settings>().with_description("Something else.");
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
async fn the_media_type_is_listed_and_read() {
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
async fn the_size_is_listed() {
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
async fn annotations_say_for_whom_it_is() {
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
async fn icons_are_listed_where_the_revision_knows_them() {
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
async fn meta_is_listed_where_the_revision_knows_it() {
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
async fn any_scheme_will_do() {
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
