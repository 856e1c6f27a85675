//! What can be put around a call?

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolway::prelude::*;
use toolway::server::layer::{CallError, CallKind, CallReply, FnLayer, Next, Service, layer_fn, tower};
use toolway::server::{
    Admit, Completer, Extension, PromptEntry, PromptValues, ReadRequest, ResourceEntry, ToolEntry,
};
use toolway::testing::{connect, each_wire};
use toolway::types::{CallToolResult, Content, PromptArgument, Resource, ResourceTemplate};
use toolway::{Code, RawJson, RpcError};
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;

type Steps = Arc<Mutex<Vec<String>>>;

/// A layer that records when a call passes, and when its answer does.
fn says(
    name: &'static str,
    steps: &Steps,
) -> impl tower_layer::Layer<Next, Service: Service> + Clone + use<> {
    let steps = steps.clone();
    layer_fn(move |call, next| {
        let steps = steps.clone();
        async move {
            steps.lock().unwrap().push(format!("{name} {}", call.method()));
            let answer = next.run(call).await;
            steps.lock().unwrap().push(format!("/{name}"));
            answer
        }
    })
}

fn taken(steps: &Steps) -> Vec<String> {
    std::mem::take(&mut *steps.lock().unwrap())
}

fn hello() -> ToolEntry {
    ToolEntry::from_fn("hello", || async { "hello" })
}

fn review() -> PromptEntry {
    let definition =
        toolway::types::Prompt::new("review").with_arguments(vec![PromptArgument::new("language")]);
    PromptEntry::define(definition, async |_: PromptValues| "Review this.")
        .with_completer("language", Completer::list(["Rust", "Ruby"]))
}

fn motd() -> ResourceEntry {
    ResourceEntry::define(Resource::new("motd://today", "motd"), || async { "be kind" })
}

#[tokio::test]
async fn the_first_layer_is_the_outermost_and_those_of_an_element_are_inside() {
    let steps = Steps::default();
    let server = Server::new("app", "1.0.0")
        .layer(says("one", &steps))
        .layer_for(CallKind::Tool, says("tools", &steps))
        .layer_for(CallKind::Prompt, says("prompts", &steps))
        .layer(says("two", &steps))
        .tool(hello().layer(says("outer", &steps)).layer(says("inner", &steps)))
        .tool(hello().with_name("plain"))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        taken(&steps);
        client.call("hello", json!({})).await.unwrap();
        let call = |name: &str| format!("{name} tools/call");
        let inward = ["one", "tools", "two", "outer", "inner"].map(call).to_vec();
        let outward = ["/inner", "/outer", "/two", "/tools", "/one"].map(str::to_owned);
        assert_eq!(taken(&steps), [inward, outward.to_vec()].concat());
        client.call("plain", json!({})).await.unwrap();
        assert_eq!(taken(&steps).len(), 6);
        client.tools().await.unwrap();
        assert_eq!(taken(&steps), ["one tools/list", "two tools/list", "/two", "/one"]);
    })
    .await;
}

#[tokio::test]
async fn every_kind_of_call_passes_its_layers() {
    let steps = Steps::default();
    let kinds = [
        CallKind::Tool,
        CallKind::Resource,
        CallKind::Prompt,
        CallKind::Completion,
        CallKind::List,
        CallKind::Method,
    ];
    let names = ["tool", "resource", "prompt", "completion", "list", "method"];
    let mut builder = Server::new("app", "1.0.0")
        .tool(hello())
        .resource(motd().layer(says("motd", &steps)))
        .prompt(review().layer(says("review", &steps)))
        .method("acme/sum", async || 3);
    for (kind, name) in kinds.into_iter().zip(names) {
        builder = builder.layer_for(kind, says(name, &steps));
    }
    each_wire(&builder.build().unwrap(), async |client| {
        taken(&steps);
        client.call("hello", json!({})).await.unwrap();
        assert_eq!(taken(&steps), ["tool tools/call", "/tool"]);
        client.read_resource("motd://today").await.unwrap();
        assert_eq!(taken(&steps), ["resource resources/read", "motd resources/read", "/motd", "/resource"]);
        client.get_prompt("review", [("language", "Rust")]).await.unwrap();
        assert_eq!(taken(&steps), ["prompt prompts/get", "review prompts/get", "/review", "/prompt"]);
        let nothing: [(&str, &str); 0] = [];
        client.complete_prompt("review", "language", "ru", nothing).await.unwrap();
        assert_eq!(taken(&steps), ["completion completion/complete", "/completion"]);
        client.prompts().await.unwrap();
        assert_eq!(taken(&steps), ["list prompts/list", "/list"]);
        client.request("acme/sum", json!({})).await.unwrap();
        assert_eq!(taken(&steps), ["method acme/sum", "/method"]);
    })
    .await;
}

#[tokio::test]
async fn a_layer_changes_what_goes_in_and_what_comes_out() {
    struct Tenant(&'static str);
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Said {
        text: String,
    }
    let say = ToolEntry::from_fn("say", |said: Said, tenant: Extension<Tenant>| async move {
        format!("{} for {}", said.text, tenant.0)
    });
    let change = layer_fn(|mut call, next| async move {
        assert_eq!((call.tool(), call.prompt(), call.uri()), (Some("say"), None, None));
        assert_eq!(call.kind(), CallKind::Tool);
        assert_eq!(call.server().info().name, "app");
        assert!(call.get::<Tenant>().is_none());
        let mut sent: Value = call.arguments().unwrap().decode().unwrap();
        sent["text"] = json!(sent["text"].as_str().unwrap().to_uppercase());
        call.set_arguments(RawJson::from(sent));
        call.insert(Tenant("acme"));
        let mut answer = next.run(call).await?;
        assert!(!answer.is_error() && !answer.is_question());
        answer.as_tool_mut().unwrap().content.push(Content::text("!"));
        Ok(answer)
    });
    let server = Server::new("app", "1.0.0").tool(say).layer_for(CallKind::Tool, change).build().unwrap();
    each_wire(&server, async |client| {
        let result = client.call("say", json!({"text": "hi"})).await.unwrap();
        let texts: Vec<_> = result.content.iter().map(|block| block.as_text().unwrap()).collect();
        assert_eq!(texts, ["HI for acme", "!"]);
    })
    .await;
}

#[tokio::test]
async fn a_layer_may_answer_itself_and_only_with_what_was_asked_for() {
    let instead = layer_fn(|call, next| async move {
        match call.tool() {
            Some("closed") => Ok(CallReply::from(CallToolResult::error("closed today"))),
            Some("mixed up") => Ok(CallReply::from(RawJson::from(json!({"not": "a tool's result"})))),
            Some("refused") => Err(RpcError::new(Code(-32099), "not you").into()),
            Some("broken") => Err(std::io::Error::other("a secret of the layer"))?,
            Some("panicking") => panic!("a secret of the layer"),
            _ => next.run(call).await,
        }
    });
    let server = Server::new("app", "1.0.0").tool(hello()).layer(instead).build().unwrap();
    each_wire(&server, async |client| {
        let call = async |tool: &str| client.call(tool, json!({})).await;
        assert_eq!(call("closed").await.unwrap().first_text(), Some("closed today"));
        let refused = call("refused").await.unwrap_err();
        assert_eq!((refused.code(), &*refused.rpc().unwrap().message), (Some(Code(-32099)), "not you"));
        for tool in ["mixed up", "broken", "panicking"] {
            let error = call(tool).await.unwrap_err();
            assert_eq!(error.code(), Some(Code::INTERNAL_ERROR), "{tool}");
            let text = &error.rpc().unwrap().message;
            assert!(text.contains("reference") && !text.contains("secret"), "{text}");
        }
        // An unknown tool is reported as such, not as an error of the layer.
        assert_eq!(call("unknown").await.unwrap_err().code(), Some(Code::INVALID_PARAMS));
        assert_eq!(call("hello").await.unwrap().first_text(), Some("hello"), "the server lives");
    })
    .await;
}

#[tokio::test]
async fn a_missing_resource_keeps_its_code_through_layers() {
    let through = layer_fn(|call, next| async move {
        let error = next.run(call).await.unwrap_err();
        assert_eq!((error.code(), error.to_string()), (Code::INVALID_PARAMS, "no such resource".to_owned()));
        Err(error)
    });
    let bare = Server::new("app", "1.0.0").resource(motd()).build().unwrap();
    let layered =
        Server::new("app", "1.0.0").resource(motd()).layer_for(CallKind::Resource, through.clone()).build();
    let towered = Server::new("app", "1.0.0")
        .resource(motd())
        .layer(tower(TimeoutLayer::new(Duration::from_secs(60))))
        .layer_for(CallKind::Resource, through)
        .build();
    let seen = Mutex::new(Vec::new());
    for server in [bare, layered.unwrap(), towered.unwrap()] {
        let codes = Mutex::new(Vec::new());
        each_wire(&server, async |client| {
            let error = client.read_resource("motd://tomorrow").await.unwrap_err();
            codes.lock().unwrap().push(error.rpc().unwrap().clone());
        })
        .await;
        seen.lock().unwrap().push(codes.into_inner().unwrap());
    }
    let seen = seen.into_inner().unwrap();
    assert!(seen[0].iter().any(|error| error.code == Code(-32002)), "{seen:?}");
    assert_eq!((&seen[1], &seen[2]), (&seen[0], &seen[0]));
}

#[tokio::test]
async fn a_limit_of_tower_is_one_for_all_calls() {
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let gate = Arc::new(Semaphore::new(0));
    let work = {
        let (running, most, gate) = (running.clone(), most.clone(), gate.clone());
        ToolEntry::from_fn("work", move || {
            let (running, most, gate) = (running.clone(), most.clone(), gate.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                running.fetch_sub(1, Ordering::SeqCst);
            }
        })
    };
    let server = Server::new("app", "1.0.0")
        .tool(work)
        .layer_for(CallKind::Tool, tower(ConcurrencyLimitLayer::new(2)))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        most.store(0, Ordering::SeqCst);
        let calls = async {
            let call = || client.call("work", json!({}));
            let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
            for outcome in [a, b, c, d] {
                outcome.unwrap();
            }
        };
        let let_go = async {
            while running.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            gate.add_permits(4);
        };
        tokio::join!(calls, let_go);
        assert_eq!(most.load(Ordering::SeqCst), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn errors_of_tower_itself_are_kept_from_the_peer() {
    let forever = ToolEntry::from_fn("forever", || async { std::future::pending::<()>().await });
    let timed = Server::new("app", "1.0.0")
        .tool(forever.clone())
        .tool(hello())
        .layer(tower(TimeoutLayer::new(Duration::from_secs(30))))
        .build()
        .unwrap();
    let client = connect(&timed).await;
    let error = client.call("forever", json!({})).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::INTERNAL_ERROR));
    assert!(error.rpc().unwrap().message.contains("reference"), "{error:?}");
    assert_eq!(client.call("hello", json!({})).await.unwrap().first_text(), Some("hello"));

    let layers = tower::ServiceBuilder::new().load_shed().concurrency_limit(1).into_inner();
    let shed =
        Server::new("app", "1.0.0").tool(forever).layer_for(CallKind::Tool, tower(layers)).build().unwrap();
    let (first, second) = (connect(&shed).await, connect(&shed).await);
    let error = tokio::select! {
        biased;
        _ = first.call("forever", json!({})) => panic!("it never ends"),
        outcome = second.call("forever", json!({})) => outcome.unwrap_err(),
    };
    assert_eq!(error.code(), Some(Code::INTERNAL_ERROR));
}

#[tokio::test]
async fn layers_of_a_merged_server_stay_around_what_is_its_own() {
    let steps = Steps::default();
    let inner = Server::new("inner", "1.0.0")
        .layer(says("inner", &steps))
        .tool(hello().layer(says("tool", &steps)))
        .prompt(review())
        .method("inner/sum", async || 1);
    let server = Server::new("outer", "1.0.0")
        .tool(hello())
        .method("outer/sum", async || 2)
        .layer(says("outer", &steps))
        .nest("in", inner)
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        taken(&steps);
        client.call("in_hello", json!({})).await.unwrap();
        let call = |name: &str| format!("{name} tools/call");
        assert_eq!(taken(&steps)[..3], ["outer", "inner", "tool"].map(call));
        client.call("hello", json!({})).await.unwrap();
        assert_eq!(taken(&steps), ["outer tools/call", "/outer"]);
        let nothing: [(&str, &str); 0] = [];
        client.complete_prompt("in_review", "language", "ru", nothing).await.unwrap();
        assert_eq!(taken(&steps)[1], "inner completion/complete");
        client.request("inner/sum", json!({})).await.unwrap();
        assert_eq!(taken(&steps)[..2], ["outer inner/sum", "inner inner/sum"]);
        client.request("outer/sum", json!({})).await.unwrap();
        assert_eq!(taken(&steps), ["outer outer/sum", "/outer"]);
    })
    .await;
}

#[test]
fn layers_that_a_merge_would_lose_are_a_mistake() {
    let steps = Steps::default();
    let inner = || Server::new("inner", "1.0.0");
    let lost = [
        inner().layer_for(CallKind::List, says("x", &steps)),
        inner().layer(says("x", &steps)).read_resource(|_: ReadRequest| async { None::<String> }),
        inner().layer(says("x", &steps)).list_resources(async || Vec::<Resource>::new()),
    ];
    for inner in lost {
        let error = Server::new("outer", "1.0.0").merge(inner).build().unwrap_err().to_string();
        assert!(error.contains("the merged server \"inner\" has layers"), "{error}");
    }
    // A layer that would not be lost is not a mistake.
    let kept = inner()
        .layer_for(CallKind::Tool, says("x", &steps))
        .read_resource(|_: ReadRequest| async { None::<String> });
    Server::new("outer", "1.0.0").merge(kept).build().unwrap();
}

#[tokio::test]
async fn a_tool_that_comes_later_brings_its_layers() {
    let steps = Steps::default();
    let server = Server::new("app", "1.0.0").tool(hello()).build().unwrap();
    let client = connect(&server).await;
    client.call("hello", json!({})).await.unwrap();
    server.add_tool(hello().with_name("late").layer(says("late", &steps))).unwrap();
    client.call("late", json!({})).await.unwrap();
    assert_eq!(taken(&steps), ["late tools/call", "/late"]);
    client.call("hello", json!({})).await.unwrap();
    assert!(taken(&steps).is_empty());
}

#[tokio::test]
async fn a_family_of_resources_and_its_completions_have_layers_too() {
    let steps = Steps::default();
    let family = ResourceEntry::define(
        ResourceTemplate::new("notes://{id}", "note"),
        |reading: ReadRequest| async move { reading.variables.text("id").unwrap_or_default().to_owned() },
    );
    let server = Server::new("app", "1.0.0").resource(family.layer(says("note", &steps))).build().unwrap();
    each_wire(&server, async |client| {
        taken(&steps);
        assert_eq!(client.read_resource("notes://7").await.unwrap().text(), Some("7"));
        assert_eq!(taken(&steps), ["note resources/read", "/note"]);
    })
    .await;
}

#[test]
fn an_error_says_what_it_is_and_comes_out_of_a_box_as_it_was() {
    let told = CallError::from(RpcError::invalid_params("which one?"));
    let boxed: toolway::server::BoxError = told.into();
    let told = CallError::hidden(boxed);
    assert_eq!((told.code(), told.to_string()), (Code::INVALID_PARAMS, "which one?".to_owned()));
    let visible = CallError::hidden(ToolError::new("too heavy"));
    assert_eq!((visible.code(), visible.to_string()), (Code::INTERNAL_ERROR, "too heavy".to_owned()));
    let kept = CallError::from(std::fmt::Error);
    assert_eq!(kept.code(), Code::INTERNAL_ERROR);
    let _: FnLayer<_> = layer_fn(|_, _| async { Err(std::fmt::Error.into()) });
}

#[tokio::test]
async fn what_a_caller_may_not_see_has_no_layers_that_could_answer() {
    let steps = Steps::default();
    let answers = layer_fn(|call, _| async move {
        Ok(match call.kind() {
            CallKind::Tool => CallToolResult::new(vec![Content::text("secret")]).into(),
            _ => return Err(CallError::from(RpcError::invalid_request("secret"))),
        })
    });
    let family = ResourceTemplate::new("rows://{id}", "rows");
    let server = Server::new("app", "1.0.0")
        .layer(says("server", &steps))
        .tool(hello().layer(answers.clone()))
        .prompt(review().layer(answers.clone()))
        .resource(motd().layer(answers.clone()))
        .resource(ResourceEntry::define(family, |_: ReadRequest| async { "row" }).layer(answers))
        .on_connect(async || {
            let nothing: [&str; 0] = [];
            Admit::anyone()
                .only_tools(nothing)
                .only_prompts(nothing)
                .only_resources(nothing)
                .only_templates(nothing)
        })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        taken(&steps);
        let tool = client.call("hello", json!({})).await.unwrap_err();
        assert_eq!(tool.rpc().unwrap().message, "no such tool: `hello`");
        let prompt = client.get_prompt("review", [("language", "Rust")]).await.unwrap_err();
        assert_eq!(prompt.rpc().unwrap().message, "no such prompt: `review`");
        for uri in ["motd://today", "rows://7"] {
            let resource = client.read_resource(uri).await.unwrap_err();
            assert!(!resource.to_string().contains("secret"), "{resource}");
        }
        assert_eq!(taken(&steps).len(), 8, "those of the server stand around everything");
    })
    .await;
}
