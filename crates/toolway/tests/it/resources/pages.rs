//! How is a list of resources that a handler computes divided into pages?

use std::sync::Mutex;

use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::{Cursor, ReadRequest, ResourcePage};
use toolway::testing::each_wire;
use toolway::types::Resource;

use super::uris::{link, read, readme, review, study};

/// The books that a handler lists; they may change.
pub(super) struct Shelf(pub(super) Mutex<Vec<&'static str>>);

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

pub(super) fn library() -> toolway::server::ServerBuilder {
    Server::new("library", "1.0.0")
        .state(Shelf(Mutex::new(vec!["a", "b", "c", "d", "e"])))
        .list_resources(shelf)
        .read_resource(|reading: ReadRequest, shelf: State<Shelf>| async move {
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
async fn a_handler_lists_resources_page_by_page() {
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
async fn without_a_handler_the_list_is_what_is_registered() {
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
async fn a_cursor_is_good_only_where_it_was_given() {
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
