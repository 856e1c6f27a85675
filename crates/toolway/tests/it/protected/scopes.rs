//! What may a caller do with its scopes, on every wire?

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolway::auth::{Auth, Verified};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Admit, Cacheable, ConnectRequest, Extensions, Refuse};
use toolway::testing::connect_as;
use toolway::types::CacheScope;
use toolway::{Era, ProtocolVersion};

use super::world::{METADATA, RESOURCE, Reply, World, bearer, notes, request, send, stateless, with};
use crate::raw_http::{Events, Raw, initialize};

/// The wires on which a request is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire {
    Stateless,
    Session(&'static str),
    Legacy,
}

const WIRES: [Wire; 5] = [
    Wire::Stateless,
    Wire::Session("2025-03-26"),
    Wire::Session("2025-06-18"),
    Wire::Session("2025-11-25"),
    Wire::Legacy,
];

/// An operation: its method and parameters, the scopes that it needs, and what is in its result.
struct Operation {
    method: &'static str,
    params: Value,
    needs: &'static [&'static str],
    shows: &'static str,
}

fn operations() -> Vec<Operation> {
    let call = |tool: &str| json!({"name": tool, "arguments": {}});
    let operation = |method, params, needs, shows| Operation { method, params, needs, shows };
    vec![
        operation("tools/call", call("search"), &[], "found"),
        operation("tools/call", call("put"), &["notes:write"], "saved by"),
        operation("tools/call", call("wipe"), &["notes:write", "notes:admin"], "wiped"),
        operation("resources/read", json!({"uri": "notes://welcome"}), &[], "welcome"),
        operation("resources/read", json!({"uri": "notes://diary"}), &["notes:private"], "dear diary"),
        operation("resources/read", json!({"uri": "notes://note/7"}), &["notes:write"], "7"),
        operation("prompts/get", json!({"name": "greet"}), &[], "hello"),
        operation(
            "prompts/get",
            json!({"name": "summarize", "arguments": {"topic": "work"}}),
            &["notes:private"],
            "work",
        ),
        operation(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "summarize"}, "argument": {"name": "topic", "value": ""}}),
            &["notes:private"],
            "work",
        ),
    ]
}

const GRANTS: [&str; 6] = [
    "",
    "notes:write",
    "notes:admin",
    "notes:private",
    "notes:write notes:admin",
    "notes:write notes:admin notes:private",
];

/// A connection of a caller over one wire.
struct Connection {
    wire: Wire,
    service: HttpService,
    headers: Vec<(&'static str, String)>,
    session: Option<Raw>,
    /// The stream of the transport of 2024-11-05, and the URL for its messages.
    stream: Option<(Events, String)>,
}

impl Connection {
    async fn open(wire: Wire, service: &HttpService, token: &str) -> Self {
        let (service, headers) = (service.clone(), bearer(token));
        let mut connection = Self { wire, service, headers, session: None, stream: None };
        match wire {
            Wire::Stateless => {}
            Wire::Session(version) => {
                let raw = Raw::open_with(&connection.service, version, connection.headers.clone()).await;
                connection.session = Some(raw);
            }
            Wire::Legacy => {
                let get = request(Method::GET, "/mcp", "", &connection.headers);
                let mut events = Events::of(connection.service.handle(get).await);
                let query = String::from_utf8(events.next().await.unwrap().data.to_vec()).unwrap();
                connection.stream = Some((events, format!("/mcp{query}")));
                let reply = connection.post(initialize("2024-11-05")).await;
                assert!(reply.json()["result"].is_object(), "{reply:?}");
                connection.post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            }
        }
        connection
    }

    /// Sends a request. On the oldest transport the answer comes on the stream.
    async fn ask(&mut self, method: &str, params: Value) -> Reply {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        match (self.wire, &self.session) {
            (Wire::Stateless, _) => {
                send(&self.service, stateless(method, body["params"].clone(), &self.headers)).await
            }
            (_, Some(raw)) => send(&self.service, raw.request(Method::POST, &body.to_string())).await,
            (..) => self.post(body).await,
        }
    }

    async fn post(&mut self, body: Value) -> Reply {
        let (events, url) = self.stream.as_mut().unwrap();
        let reply = send(&self.service, request(Method::POST, url, &body.to_string(), &self.headers)).await;
        if reply.status == 202 && body.get("id").is_some() {
            let message = events.message().await.unwrap();
            return Reply { body: message.to_string(), status: http::StatusCode::OK, headers: reply.headers };
        }
        reply
    }
}

fn has_all(grant: &str, needs: &[&str]) -> bool {
    let granted: BTreeSet<&str> = grant.split(' ').collect();
    needs.iter().all(|scope| granted.contains(scope))
}

#[tokio::test]
async fn a_call_without_its_scopes_is_refused_with_all_of_them_on_every_wire() {
    let world = World::new().await;
    let mut cells = 0;
    for wire in WIRES {
        for grant in GRANTS {
            let mut connection = Connection::open(wire, &world.service, &world.scoped(grant)).await;
            for Operation { method, params, needs, shows } in operations() {
                cells += 1;
                let reply = connection.ask(method, params.clone()).await;
                if has_all(grant, needs) {
                    let result = reply.json()["result"].to_string();
                    assert!(result.contains(shows), "{wire:?} {grant:?} {method} {params}: {reply:?}");
                    continue;
                }
                assert_eq!(reply.status, 403, "{wire:?} {grant:?} {method} {params}: {reply:?}");
                let expected = format!(
                    "Bearer error=\"insufficient_scope\", resource_metadata=\"{METADATA}\", scope=\"{}\"",
                    needs.join(" ")
                );
                assert_eq!(reply.challenges(), [expected.as_str()]);
                assert_eq!(reply.json()["id"], 1, "{wire:?}");
            }
            // Everything is listed, so that a client can ask for more scopes.
            assert_eq!(listed(&mut connection).await.len(), 9, "{wire:?} {grant:?}");
        }
    }
    assert!(cells >= 200, "{cells}");
}

/// Returns the names or URIs of everything that is listed.
async fn listed(connection: &mut Connection) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (method, list, key) in [
        ("tools/list", "tools", "name"),
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ("prompts/list", "prompts", "name"),
    ] {
        let reply = connection.ask(method, json!({})).await.json();
        let items = reply["result"][list].as_array().unwrap_or_else(|| panic!("{reply}"));
        all.extend(items.iter().map(|item| item[key].as_str().unwrap().to_owned()));
    }
    all
}

#[tokio::test]
async fn what_is_hidden_can_neither_be_seen_nor_called_on_any_wire() {
    let world = World::with(Auth::hide_unscoped).await;
    for wire in WIRES {
        for grant in GRANTS {
            let mut connection = Connection::open(wire, &world.service, &world.scoped(grant)).await;
            let seen = listed(&mut connection).await;
            for Operation { method, params, needs, shows } in operations() {
                let reply = connection.ask(method, params.clone()).await;
                let name = params["name"]
                    .as_str()
                    .or(params["uri"].as_str())
                    .or(params["ref"]["name"].as_str())
                    .unwrap();
                let name = if name == "notes://note/7" { "notes://note/{id}" } else { name };
                assert_eq!(seen.contains(name), has_all(grant, needs), "{wire:?} {grant:?} {name}: {seen:?}");
                let json = reply.json();
                if has_all(grant, needs) {
                    assert!(
                        json["result"].to_string().contains(shows),
                        "{wire:?} {grant:?} {method}: {json}"
                    );
                } else {
                    // The same as for an element that does not exist.
                    assert_ne!(reply.status, 403, "{wire:?} {grant:?} {method} {params}");
                    assert!(
                        json["error"]["message"].is_string(),
                        "{wire:?} {grant:?} {method} {params}: {json}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn scopes_of_every_request_and_of_the_operation_are_in_one_challenge() {
    let world = World::with(|auth| auth.scopes(["notes:read"])).await;
    let needs = |reply: &Reply| reply.challenges()[0].rsplit_once("scope=").unwrap().1.to_owned();
    let reply = world.call("wipe", &world.scoped("")).await;
    assert_eq!(
        (reply.status.as_u16(), needs(&reply)),
        (403, "\"notes:read notes:write notes:admin\"".to_owned())
    );
    // Also for requests that are about no element, and for other methods of HTTP.
    let token = bearer(&world.scoped("notes:write"));
    for request in [
        stateless("tools/list", json!({}), &token),
        stateless("server/discover", json!({}), &token),
        request(Method::POST, "/mcp", &initialize("2025-11-25").to_string(), &token),
        request(Method::POST, "/mcp", "not even JSON", &token),
        request(Method::GET, "/mcp", "", &token),
        request(Method::DELETE, "/mcp", "", &token),
    ] {
        let method = request.method().clone();
        let reply = send(&world.service, request).await;
        assert_eq!((reply.status.as_u16(), needs(&reply)), (403, "\"notes:read\"".to_owned()), "{method}");
    }
    assert_eq!(world.call("search", &world.scoped("notes:read")).await.status, 200);
}

#[tokio::test]
async fn a_broader_scope_counts_for_narrower_ones() {
    let world = World::with(|auth| {
        auth.scopes(["notes:read"])
            .implies("notes:admin", ["notes:write"])
            .implies("notes:write", ["notes:read"])
            // A circle does no harm.
            .implies("notes:read", ["notes:read"])
    })
    .await;
    assert_eq!(world.call("wipe", &world.scoped("notes:admin")).await.status, 200);
    assert_eq!(world.call("put", &world.scoped("notes:write")).await.status, 200);
    assert_eq!(world.call("wipe", &world.scoped("notes:write")).await.status, 403);
    assert_eq!(world.call("search", &world.scoped("other")).await.status, 403);
}

#[tokio::test]
async fn a_batch_runs_whole_or_not_at_all() {
    let world = World::new().await;
    let call = |id: u32, tool: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
    let batch = json!([call(1, "search"), call(2, "put"), call(3, "wipe")]).to_string();
    let post = async |grant: &str| {
        let raw = Raw::open_with(&world.service, "2025-03-26", bearer(&world.scoped(grant))).await;
        send(&world.service, raw.request(Method::POST, &batch)).await
    };
    let reply = post("notes:write").await;
    assert_eq!(reply.status, 403, "{reply:?}");
    assert!(reply.challenges()[0].ends_with("scope=\"notes:write notes:admin\""), "{reply:?}");
    let reply = post("notes:write notes:admin").await;
    assert_eq!((reply.status.as_u16(), reply.json().as_array().unwrap().len()), (200, 3));
}

#[tokio::test]
async fn subscriptions_need_the_scopes_of_their_resources() {
    let world = World::new().await;
    for (grant, expected) in [("", 403), ("notes:private", 200)] {
        let listen =
            json!({"notifications": {"resourceSubscriptions": ["notes://diary", "notes://welcome"]}});
        let request = stateless("subscriptions/listen", listen, &bearer(&world.scoped(grant)));
        let response = world.service.handle(request).await;
        assert_eq!(response.status(), expected, "listen");
        drop(response);
        let raw = Raw::open_with(&world.service, "2025-11-25", bearer(&world.scoped(grant))).await;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "notes://diary"}});
        assert_eq!(raw.post(&body).await.status(), expected, "subscribe");
    }
}

#[tokio::test]
async fn subscriptions_on_a_pipe_need_the_scopes_of_their_resources_if_the_caller_is_known() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        for (scope, is_allowed) in [("notes:write", false), ("notes:private", true)] {
            let hook = move || async move { Admit::anyone().with(Verified::new("bob").with_scopes([scope])) };
            let server = notes().on_connect(hook).build().unwrap();
            let (near, far) = tokio::io::duplex(1 << 16);
            let (reader, writer) = tokio::io::split(far);
            let serving = server.clone();
            tokio::spawn(async move { serving.serve_io(reader, writer).await });
            let (reader, writer) = tokio::io::split(near);
            let client = Client::builder().protocol(version).connect_io(reader, writer).await.unwrap();
            let mut news = client.notifications();
            let listening = client.clone();
            let asked = tokio::spawn(async move {
                if listening.protocol_version().era() == Era::Handshake {
                    return listening.subscribe("notes://diary").await;
                }
                let wanted = json!({"notifications": {"resourceSubscriptions": ["notes://diary"]}});
                listening.request("subscriptions/listen", wanted).await.map(drop)
            });
            let refused = tokio::select! {
                outcome = asked => outcome.unwrap().err(),
                _ = news.next() => None,
            };
            let refused = refused.map(|error| error.rpc().unwrap().message.to_string());
            let expected = (!is_allowed).then(|| "this needs the scopes `notes:private`".to_owned());
            assert_eq!(refused, expected, "{version}");
        }
    }
}

#[tokio::test]
async fn the_hook_runs_after_the_verifier_and_can_only_narrow() {
    let issuer = toolway::testing::Issuer::start().await.unwrap();
    let hook = async |connecting: ConnectRequest, ctx: Ctx| -> Result<Admit, Refuse> {
        match ctx.verified().map(|caller| (caller.subject().to_owned(), connecting.is_pipe())) {
            Some((name, false)) if name == "mallory" => Err(Refuse::forbidden("please upgrade your plan")),
            Some((_, false)) => Ok(Admit::anyone().only_tools(["search", "put"])),
            _ => Ok(Admit::as_principal("the owner of this process")),
        }
    };
    let auth = Auth::resource(RESOURCE).issuer(issuer.url()).hide_unscoped();
    let server = notes().auth(auth).on_connect(hook).build().unwrap();
    let service = server.http();
    let token = |name: &str, scope: &str| issuer.sign(json!({"sub": name, "aud": RESOURCE, "scope": scope}));
    let tools = async |token: &str| {
        let reply = send(&service, stateless("tools/list", json!({}), &bearer(token))).await.json();
        reply["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(tools(&token("ann", "")).await, ["search"]);
    assert_eq!(tools(&token("ann", "notes:write notes:admin")).await, ["search", "put"]);
    // The hook also runs for a token that was verified a moment ago.
    let mallory = bearer(&token("mallory", ""));
    for _ in 0..2 {
        let reply = send(&service, stateless("tools/list", json!({}), &mallory)).await;
        assert_eq!((reply.status.as_u16(), reply.challenges().len()), (403, 0), "{reply:?}");
    }
    // The principal is that of the token, because the hook names no other.
    let put = stateless(
        "tools/call",
        json!({"name": "put", "arguments": {}}),
        &bearer(&token("ann", "notes:write")),
    );
    assert_eq!(send(&service, put).await.text(), format!("saved by {}#ann", issuer.url()));
    // Without a valid token the hook does not run.
    assert_eq!(send(&service, stateless("tools/list", json!({}), &bearer("x"))).await.status, 401);
    // A pipe is not affected.
    let client = toolway::testing::connect(&server).await;
    assert_eq!(client.tools().await.unwrap().len(), 4);
}

#[tokio::test]
async fn the_hook_cannot_give_scopes() {
    let issuer = toolway::testing::Issuer::start().await.unwrap();
    let hook = async || Admit::anyone().with(Verified::new("root").with_scopes(["notes:write"]));
    for is_hiding in [false, true] {
        let auth = Auth::resource(RESOURCE).issuer(issuer.url());
        let auth = if is_hiding { auth.hide_unscoped() } else { auth };
        let service = notes().auth(auth).on_connect(hook).build().unwrap().http();
        let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE})));
        let call = |tool: &str| stateless("tools/call", json!({"name": tool, "arguments": {}}), &token);
        let refused = send(&service, call("put")).await;
        assert!(refused.json()["error"].is_object() && (is_hiding || refused.status == 403), "{refused:?}");
        assert_eq!(send(&service, call("whoami")).await.text(), "ann ?");
    }
}

#[tokio::test]
async fn answers_that_depend_on_scopes_are_not_for_shared_caches() {
    for (is_hiding, readers) in [(false, "public"), (true, "private")] {
        let hide = |auth: Auth| if is_hiding { auth.hide_unscoped() } else { auth };
        let issuer = toolway::testing::Issuer::start().await.unwrap();
        let auth = hide(Auth::resource(RESOURCE).issuer(issuer.url()));
        let server = notes().cache(Cacheable::Tools, Duration::from_secs(60), CacheScope::Public);
        let service = server.auth(auth).build().unwrap().http();
        let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE})));
        let listed = send(&service, stateless("tools/list", json!({}), &token)).await.json();
        assert_eq!(listed["result"]["cacheScope"], readers, "{listed}");
    }
}

#[tokio::test]
async fn scopes_do_not_apply_on_a_pipe_but_to_callers_that_are_attached() {
    let auth = Auth::resource(RESOURCE).issuer("https://id.example").scopes(["notes:read"]);
    let server = notes().auth(auth.implies("notes:write", ["notes:read"])).build().unwrap();
    let client = toolway::testing::connect(&server).await;
    assert_eq!(client.call("wipe", json!({})).await.unwrap().first_text(), Some("wiped"));
    let ann = connect_as(&server, json!({"sub": "ann", "scope": "notes:write"})).await;
    assert_eq!(
        ann.call("put", json!({})).await.unwrap().first_text(),
        Some("saved by https://issuer.example#ann")
    );
    let error = ann.call("wipe", json!({})).await.unwrap_err();
    assert_eq!(
        error.rpc().unwrap().message,
        "the token lacks one of the scopes `notes:read notes:write notes:admin`"
    );
    let whole = async |caller: Verified| {
        let call = with(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}),
            json!({"params": {"name": "put", "arguments": {}}}),
        );
        let answer = server.handle_json(call.to_string(), Extensions::new().with(caller)).await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let saved = whole(Verified::new("bob").with_scopes(["notes:write"])).await;
    assert_eq!(saved["result"]["content"][0]["text"], "saved by bob");
    let refused = whole(Verified::new("bob")).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("notes:read"), "{refused}");
    // A caller that lacks the scopes of every request is refused before it sends one.
    let bob = tokio::spawn(async move { connect_as(&server, "bob").await });
    assert!(bob.await.is_err());
}

#[tokio::test]
async fn tools_that_are_added_later_need_their_scopes_too() {
    let server = Server::new("notes", "1.0.0").tools(tools![super::world::search]);
    let issuer = toolway::testing::Issuer::start().await.unwrap();
    let server = server.auth(Auth::resource(RESOURCE).issuer(issuer.url())).build().unwrap();
    let service = server.http();
    let token = issuer.sign(json!({"sub": "ann", "aud": RESOURCE}));
    let call = || stateless("tools/call", json!({"name": "wipe", "arguments": {}}), &bearer(&token));
    assert!(send(&service, call()).await.body.contains("no such tool"));
    server.add_tool(super::world::wipe::entry()).unwrap();
    assert_eq!(send(&service, call()).await.status, 403);
}

#[tokio::test]
async fn without_a_verifier_no_caller_over_http_has_scopes() {
    let server = notes().build().unwrap();
    let service = server.http();
    let call = |tool: &str| stateless("tools/call", json!({"name": tool, "arguments": {}}), &[]);
    assert_eq!(send(&service, call("search")).await.status, 200);
    let reply = send(&service, call("put")).await;
    assert_eq!(reply.status, 403, "{reply:?}");
    assert_eq!(reply.challenges(), ["Bearer error=\"insufficient_scope\", scope=\"notes:write\""]);
    // A web application that has verified its caller attaches it to the request.
    let mut put = call("put");
    let caller = Verified::new("ann").with_scopes(["notes:write"]);
    put.extensions_mut().insert(Extensions::new().with(caller.clone()));
    assert_eq!(send(&service, put).await.text(), "saved by ann");
    let hook =
        async |_: ConnectRequest| Admit::anyone().with(Verified::new("bob").with_scopes(["notes:write"]));
    let service = notes().on_connect(hook).build().unwrap().http();
    assert_eq!(send(&service, call("put")).await.status, 200);
    assert_eq!(send(&service, call("wipe")).await.status, 403);
    let error = server.serve_http("127.0.0.1:0").await.unwrap_err().to_string();
    assert!(error.contains("elements need scopes, but no caller has any"), "{error}");
}
