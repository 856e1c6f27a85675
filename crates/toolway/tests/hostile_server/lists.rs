//! How much of an endless list is read?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::time::{Duration, timeout};
use toolway::client::Pages;
use toolway::hub::ServerState;
use toolway::prelude::*;

use crate::wire::{opening, over_http, over_pipe, reply};
use crate::{peak_of, turn};

const MIB: usize = 1 << 20;

/// A server whose lists never end: each page has the items that `item` returns for the number of the page.
pub(crate) struct Endless {
    pages: AtomicUsize,
    item: fn(&str, usize) -> Vec<String>,
}

impl Endless {
    pub(crate) fn new(item: fn(&str, usize) -> Vec<String>) -> Arc<Self> {
        Arc::new(Self { pages: AtomicUsize::new(0), item })
    }

    fn answer(&self, request: &Value) -> Option<String> {
        let member = match request["method"].as_str()? {
            "tools/list" => "tools",
            "resources/list" => "resources",
            "resources/templates/list" => "resourceTemplates",
            "prompts/list" => "prompts",
            _ => return opening(request),
        };
        let page = self.pages.fetch_add(1, Ordering::Relaxed);
        let items = (self.item)(member, page).join(",");
        Some(reply(request, &format!(r#"{{"{member}":[{items}],"nextCursor":"{page}"}}"#)))
    }

    async fn over_pipe(self: &Arc<Self>) -> Client {
        let server = self.clone();
        over_pipe(Client::builder(), move |request| server.answer(request).into_iter().collect()).await
    }

    pub(crate) async fn over_http(self: &Arc<Self>) -> String {
        let server = self.clone();
        over_http(move |request| server.answer(request)).await
    }
}

/// Returns an item of a list with a name, and with other members.
fn item(list: &str, name: &str, members: &str) -> String {
    let required = match list {
        "tools" => r#""inputSchema":{"type":"object"}"#.to_owned(),
        "resources" => format!(r#""uri":"file:///{name}""#),
        "resourceTemplates" => format!(r#""uriTemplate":"file:///{name}/{{id}}""#),
        _ => r#""arguments":[]"#.to_owned(),
    };
    format!(r#"{{"name":"{name}",{required}{members}}}"#)
}

/// One item of 4 MiB.
pub(crate) fn long(list: &str, page: usize) -> Vec<String> {
    vec![item(list, &format!("n{page}"), &format!(r#","description":"{}""#, "x".repeat(4 * MIB)))]
}

/// A thousand short items.
fn many(list: &str, page: usize) -> Vec<String> {
    (0..1000).map(|number| item(list, &format!("n{page}-{number}"), "")).collect()
}

/// An item whose text is short, but whose objects would need a hundred times as much memory.
fn explosive(list: &str, page: usize) -> Vec<String> {
    let objects = vec![r#"{"":0}"#; 150_000].join(",");
    vec![item(list, &format!("n{page}"), &format!(r#","_meta":{{"a":[{objects}]}}"#))]
}

/// Reads a list as a stream, until it ends or fails.
async fn drain<T: Unpin>(mut pages: Pages<T>) -> (usize, String) {
    let mut read = 0;
    loop {
        match std::future::poll_fn(|cx| futures_core::Stream::poll_next(std::pin::Pin::new(&mut pages), cx))
            .await
        {
            Some(Ok(_)) => read += 1,
            Some(Err(error)) => {
                assert!(error.is_too_large(), "{error}");
                assert!(pages.next_page().await.is_none(), "nothing follows an error");
                return (read, error.to_string());
            }
            None => panic!("the list ended after {read} items"),
        }
    }
}

#[tokio::test]
async fn pages_of_4_mib_are_read_up_to_32_mib() {
    let _turn = turn().await;
    let server = Endless::new(long);
    let client = server.over_pipe().await;
    let ends: [(&str, (usize, String), usize); 4] = {
        let (tools, tools_peak) = peak_of(drain(client.list_tools())).await;
        let (resources, resources_peak) = peak_of(drain(client.list_resources())).await;
        let (templates, templates_peak) = peak_of(drain(client.list_resource_templates())).await;
        let (prompts, prompts_peak) = peak_of(drain(client.list_prompts())).await;
        [
            ("tools", tools, tools_peak),
            ("resources", resources, resources_peak),
            ("resourceTemplates", templates, templates_peak),
            ("prompts", prompts, prompts_peak),
        ]
    };
    for (list, (read, error), peak) in ends {
        assert_eq!(read, 7, "{list}: seven pages fit");
        let text = format!(
            "the server's list of {list} is longer than 33554432 bytes: raise `max_list` on the client"
        );
        assert_eq!(error, text);
        assert!(peak < 64 * MIB, "{list}: {peak} bytes");
    }
    assert_eq!(server.pages.load(Ordering::Relaxed), 4 * 8, "no page is requested after the limit");
}

#[tokio::test]
async fn a_list_of_short_items_is_read_up_to_10000() {
    let _turn = turn().await;
    let server = Endless::new(many);
    let client = server.over_pipe().await;
    let (read, error) = drain(client.list_tools()).await;
    assert_eq!(read, 10_000);
    assert_eq!(error, "the server's list of tools has more than 10000 items: raise `max_list` on the client");

    let pages = server.pages.load(Ordering::Relaxed);
    for _ in 0..3 {
        let error = client.tools().await.unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains("max_list"), "{error}");
    }
    assert_eq!(server.pages.load(Ordering::Relaxed), pages + 11, "a list that is too long is cached too");
    assert!(client.resources().await.unwrap_err().is_too_large());
    assert!(client.resource_templates().await.unwrap_err().is_too_large());
    assert!(client.prompts().await.unwrap_err().is_too_large());
}

#[tokio::test]
async fn the_limit_applies_within_a_page_and_can_be_set() {
    let _turn = turn().await;
    let server = Endless::new(many);
    let builder = Client::builder().max_list(1500, None);
    let client = over_pipe(builder, move |request| server.answer(request).into_iter().collect()).await;
    let mut pages = client.list_prompts();
    assert_eq!(pages.next_page().await.unwrap().unwrap().len(), 1000);
    assert_eq!(pages.next_page().await.unwrap().unwrap().len(), 500);
    assert!(pages.next_page().await.unwrap().unwrap_err().is_too_large());
    assert!(pages.next_page().await.is_none());
}

#[tokio::test]
async fn values_that_need_more_memory_than_text_count_as_what_they_need() {
    let _turn = turn().await;
    let server = Endless::new(explosive);
    let client = server.over_pipe().await;
    // Without this rule, 32 MiB of such text would need about 3 GiB. A single page of at most 500,000 values is decoded
    // before it is refused.
    for peak in [
        peak_of(async { drop(client.tools().await.unwrap_err()) }).await.1,
        peak_of(async { drop(client.resources().await.unwrap_err()) }).await.1,
        peak_of(async { drop(client.resource_templates().await.unwrap_err()) }).await.1,
        peak_of(async { drop(client.prompts().await.unwrap_err()) }).await.1,
    ] {
        assert!(peak < 250 * MIB, "{} MiB", peak / MIB);
    }
}

#[tokio::test]
async fn all_continues_where_the_stream_stopped() {
    let _turn = turn().await;
    let server = Server::new("app", "1.0.0").page_size(2).tools(tools![add, sub, mul]).build().unwrap();
    let client = Client::connect(&server).await.unwrap();
    let mut pages = client.list_tools();
    let first =
        std::future::poll_fn(|cx| futures_core::Stream::poll_next(std::pin::Pin::new(&mut pages), cx)).await;
    assert_eq!(first.unwrap().unwrap().name, "add");
    let rest: Vec<_> = pages.all().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(rest, ["sub", "mul"]);
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tool]
fn mul(a: i64, b: i64) -> i64 {
    a * b
}

#[tool]
fn sub(a: i64, b: i64) -> i64 {
    a - b
}

/// Returns the number of elements and the problems of a server that is ready.
fn ready(hub: &Hub, name: &str) -> ([usize; 4], Vec<String>) {
    let status = hub.status().into_iter().find(|status| status.name == name).unwrap();
    let ServerState::Ready { tools, resources, templates, prompts, problems, .. } = status.state else {
        panic!("{status}")
    };
    ([tools, resources, templates, prompts], problems)
}

#[tokio::test]
async fn a_hub_keeps_what_it_read_and_its_other_servers() {
    let _turn = turn().await;
    let honest = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap();
    let hub = Hub::new();
    hub.connect("many", &*Endless::new(many).over_http().await).await.unwrap();
    let (_, peak) = peak_of(hub.connect("long", &*Endless::new(long).over_http().await)).await;
    hub.connect("calc", &honest).await.unwrap();

    let (counts, problems) = ready(&hub, "many");
    assert_eq!(counts, [10_000; 4]);
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert_eq!(problems[0], "it has more than 10000 tools: the rest is left out (raise `max_list`)");
    let (counts, problems) = ready(&hub, "long");
    assert_eq!(counts, [7; 4]);
    let text = "the list of its tools is longer than 33554432 bytes: the rest is left out (raise `max_list`)";
    assert_eq!(problems[0], text);
    assert!(peak < 4 * 5 * 32 * MIB, "{} MiB", peak / MIB);
    assert_eq!(ready(&hub, "calc"), ([1, 0, 0, 0], Vec::new()));
    assert_eq!(hub.call("calc__add", json!({"a": 1, "b": 2})).await.unwrap().decode::<i64>().unwrap(), 3);
}

#[tokio::test]
async fn a_gateway_survives_an_endless_list() {
    let _turn = turn().await;
    let honest = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap();
    let hub = Hub::builder().max_list(10, 8 * MIB).build().unwrap();
    hub.connect("long", &*Endless::new(long).over_http().await).await.unwrap();
    hub.connect("calc", &honest).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(hub).build().unwrap();
    let client = Client::connect(&gateway).await.unwrap();
    let tools = timeout(Duration::from_secs(60), client.tools()).await.unwrap().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["long__n0", "calc__add"]);

    // A client that is mounted alone has the limit of the client.
    let server = Endless::new(many);
    let alone = server.over_pipe().await;
    let gateway = Server::new("gateway", "1.0.0").mount(alone).build().unwrap();
    let client = Client::builder().max_list(20_000, usize::MAX).connect(&gateway).await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), 10_000);
}

#[tokio::test]
async fn a_thousand_tools_of_one_name_are_renamed_quickly() {
    let _turn = turn().await;
    let tool = item("tools", "same", "");
    let page = format!(r#"{{"tools":[{}]}}"#, vec![tool; 10_000].join(","));
    let client = over_pipe(Client::builder(), move |request| match request["method"].as_str() {
        Some("tools/list") => vec![reply(request, &page)],
        _ => opening(request).into_iter().collect(),
    })
    .await;
    // A search that begins with `same_2` each time would try 50 million names.
    let tools = client.as_tools().await.unwrap();
    assert_eq!(tools.iter().last().unwrap().name(), "same_10000");
}

#[test]
fn a_file_sets_the_limit_of_one_server() {
    let config = toolway::hub::Config::parse(
        r#"{"mcpServers": {"a": {"command": "a", "maxListItems": 5, "maxListBytes": 1048576}}}"#,
    );
    let config = config.unwrap();
    assert_eq!((config.servers[0].max_list_items, config.servers[0].max_list_bytes), (Some(5), Some(MIB)));
    let wrong =
        toolway::hub::Config::parse(r#"{"mcpServers": {"a": {"command": "a", "maxListItems": "x"}}}"#);
    let wrong = wrong.unwrap_err().to_string();
    assert!(wrong.contains("mcpServers.a.maxListItems must be a number of items, such as 10000"), "{wrong}");
}
