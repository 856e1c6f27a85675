//! `Server::discover`: a test binary of its own, because discovery covers every marked function of the package that is
//! linked into the program. The rules for modules are tested with the other behaviour.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::json;
use toolway::__private::inventory;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::server::element::{AnyEntry, MarkedItem};
use toolway::testing::each_wire;

/// Stands at the root, after what it is listed before.
#[tool]
fn walrus() -> &'static str {
    "found walrus"
}

mod zoo {
    use toolway::prelude::*;

    /// In a module that is not mentioned.
    #[tool]
    fn bear() -> &'static str {
        "found bear"
    }

    /// A resource.
    #[resource(uri = "zoo://map")]
    fn map() -> &'static str {
        "found map"
    }

    /// A family.
    #[resource(uri = "zoo://cages/{number}")]
    fn cage(number: u32) -> String {
        format!("found cage {number}")
    }

    /// A prompt.
    #[prompt]
    fn visit() -> &'static str {
        "found visit"
    }
}

/// Stands at the root, too.
#[tool]
fn ape() -> &'static str {
    "found ape"
}

/// Its method needs an instance, so it is not discovered.
struct Keeper(&'static str);

#[service]
impl Keeper {
    /// Feed a person.
    #[tool]
    fn feed(&self) -> &'static str {
        self.0
    }
}

// A tool of another package, as the macro would have written it there.
inventory::submit! {
    MarkedItem {
        module: "elsewhere::tools",
        package: "crates/elsewhere",
        name: "foreign",
        element: || AnyEntry::Tool(ToolEntry::from_fn("foreign", || async { "foreign" })),
    }
}

async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

#[tokio::test]
async fn discovery_finds_the_functions_of_the_callers_package_sorted() {
    let server = Server::new("zoo", "1.0.0").discover().build().unwrap();
    each_wire(&server, async |client| {
        // Sorted by module and name, independent of the order in the source and of the linker.
        assert_eq!(names(&client).await, ["ape", "walrus", "bear"]);
        assert_eq!(client.resources().await.unwrap()[0].uri, "zoo://map");
        assert_eq!(client.resource_templates().await.unwrap()[0].uri_template, "zoo://cages/{number}");
        assert_eq!(client.prompts().await.unwrap()[0].name, "visit");
        assert_eq!(client.call("bear", json!({})).await.unwrap().first_text(), Some("found bear"));
        assert_eq!(client.read_resource("zoo://cages/3").await.unwrap().text(), Some("found cage 3"));
    })
    .await;
}

#[tokio::test]
async fn what_is_registered_beats_what_is_discovered_before_and_after() {
    let bear = || ToolEntry::from_fn("bear", || async { "my bear" });
    for server in [
        Server::new("zoo", "1.0.0").discover().tool(bear()).service(Keeper("fed")),
        Server::new("zoo", "1.0.0").tool(bear()).service(Keeper("fed")).discover().discover(),
    ] {
        each_wire(&server.build().unwrap(), async |client| {
            assert_eq!(names(&client).await, ["bear", "feed", "ape", "walrus"]);
            assert_eq!(client.call("bear", json!({})).await.unwrap().first_text(), Some("my bear"));
            assert_eq!(client.call("feed", json!({})).await.unwrap().first_text(), Some("fed"));
        })
        .await;
    }
}

#[tokio::test]
async fn functions_of_other_packages_are_found_by_their_module_only() {
    for (server, expected) in [
        (Server::new("zoo", "1.0.0").discover_in("elsewhere"), vec!["foreign"]),
        (Server::new("zoo", "1.0.0").discover().discover_in("elsewhere::tools"), {
            vec!["ape", "walrus", "bear", "foreign"]
        }),
        (Server::new("zoo", "1.0.0").discover_in(""), vec!["ape", "walrus", "bear", "foreign"]),
    ] {
        each_wire(&server.build().unwrap(), async |client| assert_eq!(names(&client).await, expected)).await;
    }
}
