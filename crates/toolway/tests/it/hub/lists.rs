//! What do the servers of a hub offer together, and when does that change?

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolway::agent::{FailureKind, ToolCall};
use toolway::hub::{HubChange, NameRules, ServerState};
use toolway::prelude::*;
use toolway::server::{Completer, PromptEntry, PromptValues, ReadRequest, RequestStats, ResourceEntry};
use toolway::types::{Prompt, PromptArgument, Resource, ResourceTemplate};
use toolway::{ErrorKind, ProtocolVersion};

use super::foreign::{Foreign, target, tools};
use super::stage::{Web, echo, named, names, status, until};

fn notes(name: &'static str) -> Server {
    let all = Resource::new("notes://all", "all");
    let all = ResourceEntry::define(all, move || async move { format!("all of {name}") });
    let one = ResourceTemplate::new("notes://{id}", "one");
    let one = ResourceEntry::define(one, move |reading: ReadRequest| async move {
        format!("{} of {name}", reading.uri)
    });
    let greet = Prompt::new("greet").with_arguments(vec![PromptArgument::new("who")]);
    let greet = PromptEntry::define(greet, move |filled: PromptValues| async move {
        format!("{name} greets {}", filled.text("who").unwrap_or("nobody"))
    })
    .with_completer("who", Completer::list(["Ada", "Grace"]));
    Server::new(name, "1.0.0").resource(all).resource(one).prompt(greet).build().unwrap()
}

#[tokio::test]
async fn resources_and_prompts_are_merged_and_lead_back() {
    let hub = Hub::new();
    hub.connect("a", &notes("a")).await.unwrap();
    let uris = |hub: &Hub| hub.resources().iter().map(|resource| resource.uri.clone()).collect::<Vec<_>>();
    assert_eq!(uris(&hub), ["notes://all"], "one server alone keeps its URIs");
    assert_eq!(hub.resource_templates()[0].uri_template, "notes://{id}");
    let read = hub.read_resource("notes://17").await.unwrap();
    assert_eq!(read.text(), Some("notes://17 of a"));

    hub.connect("b", &notes("b")).await.unwrap();
    assert_eq!(uris(&hub), ["hub://a/notes://all", "hub://b/notes://all"]);
    for name in ["a", "b"] {
        let uri = format!("hub://{name}/notes://all");
        let read = hub.read_resource(&uri).await.unwrap();
        assert_eq!(read.text(), Some(&*format!("all of {name}")));
        assert_eq!(read.contents[0].uri, uri, "the result speaks the language of the hub");
        let prompt = hub.get_prompt(&format!("{name}__greet"), [("who", "Ada")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some(&*format!("{name} greets Ada")));
        let (client, original) = hub.route_prompt(&format!("{name}__greet")).unwrap();
        assert_eq!((client.server_info().unwrap().name.as_str(), &*original), (name, "greet"));
        let (_, original) = hub.route_resource(&uri).unwrap();
        assert_eq!(original, "notes://all");
    }
    let completion = hub.complete_prompt("b__greet", "who", "G", ()).await.unwrap();
    assert_eq!(completion.values, ["Grace"]);
    let families: Vec<_> =
        hub.resource_templates().iter().map(|family| family.uri_template.clone()).collect();
    assert_eq!(families, ["hub://a/notes://{id}", "hub://b/notes://{id}"]);
    assert_eq!(hub.route_template(&families[1]).unwrap().1, "notes://{id}");
    hub.complete_resource(&families[1], "id", "", ()).await.unwrap();

    for error in [
        hub.read_resource("notes://all").await.unwrap_err(),
        hub.get_prompt("a__great", ()).await.unwrap_err(),
        hub.complete_prompt("greet", "who", "", ()).await.unwrap_err(),
        hub.complete_resource("notes://{id}", "id", "", ()).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        assert!(error.to_string().starts_with("no such "), "{error}");
    }
    hub.disconnect("a").await;
    assert_eq!(uris(&hub), ["notes://all"], "the other one has it for itself");
    assert_eq!(hub.prompts().len(), 1);
}

#[tokio::test]
async fn names_of_two_servers_never_meet() {
    let tool = |name: &'static str| Server::new("x", "1").tool(named(name)).build().unwrap();
    for rules in [
        NameRules::default(),
        NameRules::default().with_separator("-"),
        NameRules::default().with_separator("___").with_limit(32),
    ] {
        let hub = Hub::builder().names(rules.clone()).build().unwrap();
        for (server, name) in
            [("a", "b__c"), ("a__b", "c"), ("a-b", "c"), ("a", "b-c"), ("a_", "_c"), ("a b", "c")]
        {
            let server = if hub.client(server).is_ok() { format!("{server}2") } else { server.to_owned() };
            hub.connect(&server, &tool(name)).await.unwrap();
        }
        let all = names(&hub);
        let mut different = all.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 6, "{all:?}");
        for name in all {
            assert!(name.len() <= rules.limit, "{name}");
            let (client, original) = hub.route(&name).unwrap();
            let said = client.call(&*original, json!({})).await.unwrap().text().unwrap();
            assert_eq!(said, original);
            assert_eq!(hub.call(&name, json!({})).await.unwrap().text().unwrap(), original);
        }
    }
    assert!(Hub::builder().names(NameRules::default().with_separator("")).build().is_err());
}

#[tokio::test]
async fn lists_change_with_their_servers_on_every_wire() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        // A server cannot notify about a list that it did not have when the client connected.
        let (direct, far) = (echo("direct"), notes("far"));
        far.add_tool(named("echo")).unwrap();
        let web = Web::start(&far).await;
        let hub = Hub::builder().client(Client::builder().protocol(version)).build().unwrap();
        hub.connect("direct", &direct).await.unwrap().connect("far", web.url()).await.unwrap();
        assert_eq!(names(&hub), ["direct__echo", "far__echo"]);
        let mut changes = hub.watch();
        direct.add_tool(named("one")).unwrap();
        until(&hub, |hub| hub.tools().get("direct__one").is_some()).await;
        assert_eq!(changes.next().await, Some(HubChange::Tools));
        far.add_tool(named("two")).unwrap();
        until(&hub, |hub| hub.tools().get("far__two").is_some()).await;
        far.add_resource(ResourceEntry::define(Resource::new("far://a", "a"), || async { "a" })).unwrap();
        until(&hub, |hub| hub.resources().len() == 2).await;
        far.remove_tool("echo");
        until(&hub, |hub| hub.tools().get("far__echo").is_none()).await;
        // A list that was taken earlier does not change.
        assert_eq!(names(&hub), ["direct__echo", "direct__one", "far__two"]);
    }
}

/// A list that fails affects only that list, not the server.
#[tokio::test]
async fn a_list_that_cannot_be_read_stays_what_it_was() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let server = Foreign::new(json!({"tools": {}, "resources": {}}), move |method| {
        Some(match method {
            "tools/list" if is_broken.load(Ordering::SeqCst) => {
                json!({"error": {"code": -32603, "message": "oops"}})
            }
            "tools/list" => tools(&["a", "a", "b"], 0),
            "resources/list" => json!({"resources": 5}),
            _ => json!({"error": {"code": -32601, "message": "no such method"}}),
        })
    });
    let hub = Hub::new();
    hub.connect("odd", target(&server)).await.unwrap();
    let problems = |hub: &Hub| match status(hub, "odd").state {
        ServerState::Ready { problems, .. } => problems,
        other => panic!("{other}"),
    };
    let found = problems(&hub);
    assert_eq!(found[0], "its tools cannot be listed: oops (-32603)");
    assert!(
        found[1]
            .starts_with("its resources cannot be listed: the server's reply to resources/list is malformed"),
        "{found:?}"
    );
    assert_eq!(found.len(), 2, "no families are no problem");
    broken.store(false, Ordering::SeqCst);
    hub.refresh().await;
    assert_eq!(names(&hub), ["odd__a", "odd__b"], "of two with one name, the first counts");
    assert_eq!(problems(&hub).len(), 1);
    broken.store(true, Ordering::SeqCst);
    hub.refresh().await;
    assert_eq!(names(&hub), ["odd__a", "odd__b"], "it is what it was");
    assert_eq!(problems(&hub).len(), 2);
}

/// Without notifications, lists are read again when they expire, but not too often.
#[tokio::test(start_paused = true)]
async fn lists_are_read_again_when_their_time_is_over() {
    for (ttl, readings_in_ten_minutes) in [(0, 0..=0), (1, 19..=20), (120_000, 4..=5)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let server = Foreign::new(json!({"tools": {}}), move |method| {
            assert_eq!(method, "tools/list", "there is nothing else");
            let number = count.fetch_add(1, Ordering::SeqCst);
            let names: Vec<_> = (0..=number).map(|number| format!("t{number}")).collect();
            Some(tools(&names.iter().map(String::as_str).collect::<Vec<_>>(), ttl))
        });
        let hub = Hub::new();
        hub.connect("timely", target(&server)).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        tokio::time::sleep(Duration::from_secs(10 * 60)).await;
        let readings = asked.load(Ordering::SeqCst) - 1;
        assert!(readings_in_ten_minutes.contains(&readings), "{readings} readings with {ttl} ms");
        assert_eq!(hub.tools().len(), readings + 1);
    }
}

/// A server that declares change notifications, and never confirms the subscription.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_whether_it_tells_is_used_all_the_same() {
    let server = Foreign::new(json!({"tools": {"listChanged": true}}), |method| match method {
        "tools/list" => Some(tools(&["a"], 0)),
        _ => None,
    });
    let hub = Hub::new();
    hub.connect("shy", target(&server)).await.unwrap();
    assert_eq!(names(&hub), ["shy__a"]);
}

/// A server that sends change notifications all the time is not listed each time, and less and less often.
#[tokio::test(start_paused = true)]
async fn a_server_that_cries_wolf_is_not_heard_each_time() {
    let listed = Arc::new(AtomicUsize::new(0));
    let count = listed.clone();
    let counted = Server::new("wolf", "1.0.0")
        .on_request_end(move |stats: RequestStats| {
            if stats.method == "tools/list" {
                count.fetch_add(1, Ordering::SeqCst);
            }
            async {}
        })
        .tool(named("a"))
        .build()
        .unwrap();
    let hub = Hub::new();
    hub.connect("wolf", &counted).await.unwrap();
    let before = listed.load(Ordering::SeqCst);
    let crying = tokio::spawn(async move {
        for _ in 0..1000 {
            counted.add_tool(named("b")).unwrap();
            counted.remove_tool("b");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        counted.add_tool(named("last")).unwrap();
        counted
    });
    let _counted = crying.await.unwrap();
    until(&hub, |hub| hub.tools().get("wolf__last").is_some()).await;
    let readings = listed.load(Ordering::SeqCst) - before;
    assert!((2..=6).contains(&readings), "{readings} readings in a second");
}

#[tokio::test]
async fn what_nobody_has_is_told_with_what_was_meant() {
    let hub = Hub::new();
    hub.connect("calc", &echo("calc")).await.unwrap();
    let error = hub.call("calc__ecko", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "no such tool: `calc__ecko`, did you mean `calc__echo`?");
    let answers = hub.call_all([ToolCall::new("1", "calc__ecko", json!({}))]).await;
    let failure = answers[0].result.as_ref().unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Unknown);
    assert_eq!(failure.for_model(), "no such tool: `calc__ecko`, did you mean `calc__echo`?");
    assert!(hub.route("calc__ecko").is_none());
    assert!(hub.call_all([]).await.is_empty());
}

/// `client_for` can set up each client differently, here with the name of the server in its info.
#[tokio::test]
async fn each_client_can_be_another_one() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = seen.clone();
    let hub = Hub::builder()
        .client_for(move |server, client| {
            names.lock().unwrap().push(server.to_owned());
            client.info(server, "1.0.0")
        })
        .build()
        .unwrap();
    hub.connect("a", &echo("a")).await.unwrap().connect("b", &echo("b")).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["a", "b"]);
}
