//! Is a hidden element really invisible? A server that hides something must answer byte for byte like a server that
//! does not have it.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{
    Admit, Cacheable, ConnectRequest, Cursor, ReadRequest, Refuse, ResourceEntry, ResourcePage,
    ServerBuilder, ToolEntry,
};
use toolway::testing::{connect, each_wire};
use toolway::types::{CacheScope, Resource};

use super::http::{ping, post};
use super::raw_http::{Raw, initialize, whole};

#[tool]
fn count() -> u32 {
    3
}

#[tool]
fn wipe(#[arg(header = "Table")] table: String) -> String {
    table
}

#[resource("notes://index")]
fn index() -> &'static str {
    "all"
}

#[resource("notes://secret")]
fn secret() -> &'static str {
    "hidden"
}

#[resource("notes://{id}")]
fn note(#[arg(complete = ["7"])] id: String) -> Option<String> {
    (id == "7").then_some(id)
}

#[resource("files://{+path}")]
fn file(#[arg(complete = ["a"])] path: String) -> String {
    path
}

#[prompt]
fn greet(#[arg(complete = ["ann"])] name: String) -> String {
    name
}

#[prompt]
fn scold(#[arg(complete = ["bob"])] name: String) -> String {
    name
}

type Hook = fn() -> Admit;

fn guest() -> Admit {
    Admit::anyone()
        .only_tools(["count"])
        .only_prompts(["greet"])
        .only_resources(["notes://index", "days://1"])
        .only_templates(["note"])
}

/// A server that only has elements that a guest may see.
fn less() -> ServerBuilder {
    Server::new("app", "1.0.0")
        .tools(tools![count])
        .prompts(prompts![greet])
        .resources(resources![index, note])
        .list_resources(async || vec![Resource::new("days://1", "1")])
        .read_resource(async |reading: ReadRequest| (reading.uri == "days://1").then_some("1"))
        .on_connect(async || guest())
}

/// A server with more elements, which it hides.
fn more() -> ServerBuilder {
    Server::new("app", "1.0.0")
        .tools(tools![wipe, count])
        .prompts(prompts![scold, greet])
        .resources(resources![secret, file, index, note])
        .list_resources(async || {
            [1, 2].map(|day| Resource::new(format!("days://{day}"), day.to_string())).to_vec()
        })
        .read_resource(async |reading: ReadRequest| reading.uri.strip_prefix("days://").map(str::to_owned))
        .on_connect(async || guest())
}

/// All kinds of requests about hidden elements.
fn questions() -> Vec<(&'static str, Value)> {
    let complete =
        |reference: Value, name: &str| json!({"ref": reference, "argument": {"name": name, "value": ""}});
    vec![
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/call", json!({"name": "wipe"})),
        ("tools/call", json!({"name": "wipe", "arguments": {"table": "a"}})),
        ("tools/call", json!({"name": "wipes"})),
        ("prompts/get", json!({"name": "scold", "arguments": {"name": "a"}})),
        ("prompts/get", json!({"name": "scolds"})),
        ("resources/read", json!({"uri": "files://a"})),
        ("resources/read", json!({"uri": "days://2"})),
        // Hidden as a resource, and not read through the template that matches it either.
        ("resources/read", json!({"uri": "notes://secret"})),
        ("completion/complete", complete(json!({"type": "ref/prompt", "name": "scold"}), "name")),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "files://{+path}"}), "path")),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "notes://secret"}), "id")),
        ("resources/subscribe", json!({"uri": "notes://secret"})),
        ("resources/unsubscribe", json!({"uri": "files://a"})),
    ]
}

fn asked(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A request of the newest revision.
fn enveloped(method: &str, mut params: Value) -> Request<Full<bytes::Bytes>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let mut request = post(&asked(1, method, &params));
    let headers = request.headers_mut();
    headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
    headers.insert("mcp-method", method.parse().unwrap());
    if let Some(name) = name {
        headers.insert("mcp-name", name.parse().unwrap());
    }
    request
}

/// Returns the status, the headers and the bytes of a reply.
async fn bytes(service: &HttpService, request: Request<Full<bytes::Bytes>>) -> String {
    let (head, body) = service.handle(request).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    format!("{} {:?} {}", head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn on_a_pipe_hidden_and_unknown_are_the_same_bytes() {
    let mut lines = initialize("2025-11-25").to_string() + "\n";
    for (id, (method, params)) in questions().into_iter().enumerate() {
        writeln!(lines, "{}", asked(id + 1, method, &params)).unwrap();
    }
    let mut written = [const { Vec::new() }; 2];
    for (server, written) in [more(), less()].into_iter().zip(&mut written) {
        server.build().unwrap().serve_io(lines.as_bytes(), written).await.unwrap();
    }
    let [more, less] = written.map(|written| String::from_utf8(written).unwrap());
    assert_eq!(more.lines().count(), questions().len() + 1);
    for (more, less) in more.lines().zip(less.lines()) {
        assert_eq!(more, less);
    }
    // The answers are equal although they contain something.
    for said in ["no such tool: `wipe`\"", "days://1", "\"greet\"", "notes://{id}"] {
        assert!(more.contains(said), "{said}: {more}");
    }
}

#[tokio::test]
async fn over_http_hidden_and_unknown_are_the_same_bytes() {
    let [more, less] = [more(), less()].map(|server| server.build().unwrap().http());
    let sessions = [Raw::open(&more, "2025-11-25").await, Raw::open(&less, "2025-11-25").await];
    let batches = [Raw::open(&more, "2025-03-26").await, Raw::open(&less, "2025-03-26").await];
    for (method, params) in questions() {
        let newest = [&more, &less].map(|service| bytes(service, enveloped(method, params.clone())));
        let [newest_more, newest_less] = newest;
        assert_eq!(newest_more.await, newest_less.await, "{method} {params}");
        let one = asked(1, method, &params);
        for (pair, body) in [(&sessions, one.clone()), (&batches, json!([one]))] {
            let [more, less] = pair
                .each_ref()
                .map(|raw| bytes(&raw.service, raw.request(http::Method::POST, &body.to_string())));
            assert_eq!(more.await, less.await, "{method} {params}");
        }
    }
}

/// The headers of arguments must not reveal anything about a hidden tool.
#[tokio::test]
async fn the_headers_of_a_hidden_tool_are_not_checked() {
    let call = || enveloped("tools/call", json!({"name": "wipe", "arguments": {"table": "a"}}));
    let open = more().build().unwrap();
    let answer = bytes(&open.http(), call()).await;
    assert!(answer.contains("no such tool") && answer.contains("-32602"), "{answer}");
}

#[tokio::test]
async fn who_answers_a_uri_decides_whether_it_is_read() {
    #[resource("notes://{id}")]
    fn wide(id: String) -> String {
        format!("wide {id}")
    }
    #[resource("notes://a{id}")]
    fn narrow(id: String) -> String {
        format!("narrow {id}")
    }
    #[resource("notes://fixed")]
    fn fixed() -> &'static str {
        "fixed"
    }
    let server = |admit: Hook| {
        Server::new("app", "1.0.0")
            .resources(resources![wide, narrow, fixed])
            .read_resource(async |reading: ReadRequest| {
                reading.uri.strip_prefix("days://").map(str::to_owned)
            })
            .on_connect(move || async move { admit() })
            .build()
            .unwrap()
    };
    const NONE: [&str; 0] = [];
    let uris = ["notes://b", "notes://a1", "notes://fixed", "days://1"];
    let rows: [(Hook, [Option<&str>; 4]); 8] = [
        (Admit::anyone, [Some("wide b"), Some("narrow 1"), Some("fixed"), Some("1")]),
        // Templates are restricted, resources are not.
        (|| Admit::anyone().only_templates(NONE), [None, None, Some("fixed"), Some("1")]),
        // A resource of a hidden template is not read through a wider one.
        (|| Admit::anyone().only_templates(["wide"]), [Some("wide b"), None, Some("fixed"), Some("1")]),
        (|| Admit::anyone().only_templates(["narrow"]), [None, Some("narrow 1"), Some("fixed"), Some("1")]),
        // Resources are restricted, templates are not; a hidden resource is not read through a template.
        (|| Admit::anyone().only_resources(NONE), [Some("wide b"), Some("narrow 1"), None, None]),
        (
            || Admit::anyone().only_resources(["days://1"]),
            [Some("wide b"), Some("narrow 1"), None, Some("1")],
        ),
        // One resource of a hidden template.
        (
            || Admit::anyone().only_resources(["notes://a1"]).only_templates(NONE),
            [None, Some("narrow 1"), None, None],
        ),
        (
            || Admit::anyone().only_resources(NONE).only_templates(["wide"]),
            [Some("wide b"), None, None, None],
        ),
    ];
    for (number, (admit, expected)) in rows.into_iter().enumerate() {
        each_wire(&server(admit), async |client| {
            for (uri, expected) in uris.into_iter().zip(expected) {
                let read = client.read_resource(uri).await.ok();
                assert_eq!(read.as_ref().and_then(|read| read.text()), expected, "{number}: {uri}");
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_handler_that_lists_and_a_hidden_template_do_not_contradict_each_other() {
    let list =
        async || ["files://a", "days://1", "notes://7"].map(|uri| Resource::new(uri, "index")).to_vec();
    let server = |admit: Hook| {
        let server =
            Server::new("app", "1.0.0").resources(resources![note, file, index]).list_resources(list);
        server.on_connect(move || async move { admit() }).build().unwrap()
    };
    const NONE: [&str; 0] = [];
    let rows: [(Hook, &[&str]); 4] = [
        (Admit::anyone, &["notes://index", "files://a", "days://1", "notes://7"]),
        // A resource that cannot be read is not listed.
        (|| Admit::anyone().only_templates(["note"]), &["notes://index", "days://1", "notes://7"]),
        // A handler can list anything under any name.
        (|| Admit::anyone().only_resources(["index"]), &["notes://index"]),
        (|| Admit::anyone().only_resources(["files://a"]).only_templates(NONE), &["files://a"]),
    ];
    for (admit, expected) in rows {
        each_wire(&server(admit), async |client| {
            let uris: Vec<_> = client.resources().await.unwrap().into_iter().map(|one| one.uri).collect();
            assert_eq!(uris, expected);
        })
        .await;
    }
}

#[tokio::test]
async fn a_handler_may_read_what_its_caller_may_not() {
    #[tool]
    async fn digest(ctx: Ctx) -> Result<String, ToolError> {
        Ok(ctx.read_resource("notes://secret").await?.text().unwrap_or_default().len().to_string())
    }
    let server = Server::new("app", "1.0.0")
        .tools(tools![digest])
        .resources(resources![secret])
        .on_connect(async || Admit::anyone().only_resources([""; 0]))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.call("digest", json!({})).await.unwrap().first_text(), Some("6"));
        assert!(client.read_resource("notes://secret").await.is_err());
    })
    .await;
}

/// A server with 25 tools and resources in pages of four; a guest sees those with an even number.
fn paged() -> Server {
    async fn check(connecting: ConnectRequest) -> Admit {
        let even = || (0..25).step_by(2);
        if connecting.headers().contains_key("x-admin") {
            return Admit::anyone();
        }
        Admit::anyone()
            .only_tools(even().map(|number| format!("tool-{number}")))
            .only_resources(even().map(|number| format!("days://{number}")))
    }
    let one =
        |number| ResourceEntry::define(Resource::new(format!("days://{number}"), "day"), || async { "day" });
    let listed = async |Cursor(at): Cursor| {
        let first = at.and_then(|at| at.parse().ok()).unwrap_or(15_u32);
        let resources =
            (first..25).take(4).map(|number| Resource::new(format!("days://{number}"), "day")).collect();
        ResourcePage { resources, next: (first < 21).then(|| (first + 4).to_string()) }
    };
    Server::new("app", "1.0.0")
        .tools((0..25).map(|number| ToolEntry::from_fn(format!("tool-{number}"), || async { "done" })))
        .resources((0..15).map(one))
        .list_resources(listed)
        .page_size(4)
        .cache(Cacheable::Tools, Duration::from_secs(60), CacheScope::Public)
        .on_connect(check)
        .build()
        .unwrap()
}

#[tokio::test]
async fn pages_of_a_shorter_list_are_whole() {
    let server = paged();
    let even: Vec<_> = (0..25).step_by(2).collect();
    each_wire(&server, async |client| {
        let tools: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(tools, even.iter().map(|number| format!("tool-{number}")).collect::<Vec<_>>());
        let uris: Vec<_> = client.resources().await.unwrap().into_iter().map(|one| one.uri).collect();
        assert_eq!(uris, even.iter().map(|number| format!("days://{number}")).collect::<Vec<_>>());
    })
    .await;
    let guest = Raw::open(&server.http(), "2025-11-25").await;
    let mut sizes = Vec::new();
    let mut params = json!({});
    loop {
        let page = guest.ask("tools/list", params).await["result"].clone();
        sizes.push(page["tools"].as_array().unwrap().len());
        let Some(next) = page["nextCursor"].as_str() else { break };
        params = json!({"cursor": next});
    }
    assert_eq!(sizes, [4, 4, 4, 1]);
}

#[tokio::test]
async fn a_cursor_of_somebody_else_shows_nothing_more() {
    let service = paged().http();
    let guest = Raw::open(&service, "2025-11-25").await;
    let admin = Raw::open_with(&service, "2025-11-25", vec![("x-admin", "yes".to_owned())]).await;
    let numbers = |page: &Value, list: &str, key: &str| -> Vec<u32> {
        let items = page["result"][list].as_array().unwrap_or_else(|| panic!("{page}")).iter();
        let number = |item: &Value| item[key].as_str().unwrap().rsplit(['-', '/']).next().unwrap().parse();
        items.map(|item| number(item).unwrap()).collect()
    };
    for (method, list, key) in [("tools/list", "tools", "name"), ("resources/list", "resources", "uri")] {
        let mut params = json!({});
        let (mut pages, mut seen) = (0, Vec::new());
        loop {
            let page = admin.ask(method, params).await;
            seen.extend(numbers(&page, list, key));
            let Some(next) = page["result"]["nextCursor"].as_str() else { break };
            params = json!({"cursor": next});
            let of_guest = guest.ask(method, params.clone()).await;
            assert!(numbers(&of_guest, list, key).iter().all(|number| number % 2 == 0), "{of_guest}");
            pages += 1;
        }
        assert_eq!(seen, (0..25).collect::<Vec<_>>(), "the admin sees all");
        assert!(pages > 4);
        let forged = guest.ask(method, json!({"cursor": "MQ"})).await;
        assert_eq!(forged["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn a_shorter_list_is_not_for_the_cache_of_everybody() {
    let service = paged().http();
    let hints = |answer: &str| {
        let body: Value = serde_json::from_str(&answer[answer.find(" {\"json").unwrap()..]).unwrap();
        (body["result"]["ttlMs"].clone(), body["result"]["cacheScope"].clone())
    };
    let of_guest = bytes(&service, enveloped("tools/list", json!({}))).await;
    assert_eq!(hints(&of_guest), (json!(60_000), json!("private")));
    let mut request = enveloped("tools/list", json!({}));
    request.headers_mut().insert("x-admin", "yes".parse().unwrap());
    assert_eq!(hints(&bytes(&service, request).await), (json!(60_000), json!("public")));
}

/// A service that counts how often its hook is called.
fn counting(admit: fn(&ConnectRequest) -> Result<Admit, Refuse>) -> (HttpService, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = asked.clone();
    let check = move |connecting: ConnectRequest| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(admit(&connecting))
    };
    (
        Server::new("app", "1.0.0")
            .tools(tools![count])
            .on_connect(check)
            .build()
            .unwrap()
            .http()
            .sessionless(),
        asked,
    )
}

fn of(token: &str) -> Request<Full<bytes::Bytes>> {
    let mut request = post(&asked(1, "tools/list", &json!({})));
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

#[tokio::test]
async fn the_hook_is_asked_for_every_request() {
    let (service, asked) = counting(|connecting| {
        let token = connecting.bearer().ok_or_else(|| Refuse::challenge("Bearer"))?;
        Ok(Admit::as_principal(token))
    });
    for times in 1..=2 {
        assert_eq!(service.handle(post(&ping())).await.status().as_u16(), 401);
        assert_eq!(asked.load(Ordering::Relaxed), times);
    }
    for times in 3..=4 {
        assert_eq!(service.handle(of("count")).await.status().as_u16(), 200);
        assert_eq!(asked.load(Ordering::Relaxed), times);
    }
}

#[tokio::test]
async fn handlers_know_where_a_call_comes_from() {
    #[tool]
    fn whence(ctx: &Ctx) -> String {
        ctx.remote().map_or_else(|| "here".to_owned(), |remote| remote.ip().to_string())
    }
    let server = Server::new("app", "1.0.0").tools(tools![whence]).build().unwrap();
    assert_eq!(connect(&server).await.call("whence", json!({})).await.unwrap().first_text(), Some("here"));
    each_wire(&server, async |client| {
        let result = client.call("whence", json!({})).await.unwrap();
        assert!(["here", "127.0.0.1"].contains(&result.first_text().unwrap()), "{result:?}");
    })
    .await;
    let mut request = post(&asked(1, "tools/call", &json!({"name": "whence"})));
    let remote = std::net::SocketAddr::from(([10, 0, 0, 7], 80));
    request.extensions_mut().insert(toolway::server::http::RemoteAddr(remote));
    let (_, answer) = whole(server.http().sessionless().handle(request).await).await;
    assert_eq!(answer["result"]["content"][0]["text"], "10.0.0.7");
}
