//! Are definitions, arguments, results and errors forwarded unchanged?

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toolway::prelude::*;
use toolway::server::element::ToolHandler;
use toolway::server::parameter::{Arguments, Scope};
use toolway::server::{
    Completer, CompletionRequest, PromptEntry, PromptValues, ReadRequest, ResourceEntry, ResourceError,
    ToolEntry,
};
use toolway::types::{
    CallToolResult, Content, Icon, PromptArgument, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Tool, ToolAnnotations,
};
use toolway::{BoxFuture, Code, ProtocolVersion, RawJson, RpcError};

use super::{in_front_of, through};

/// A tool that returns its arguments, with unusual members.
struct Odd;

fn definition() -> Tool {
    let schema = RawJson::parse(
        r#"{"type":"object","x-odd":{"z":1,"a":2},"properties":{"n":{"type":"integer","minimum":10}},"required":["n"]}"#,
    );
    let mut tool = Tool::new("odd", schema.unwrap())
        .with_title("Odd")
        .with_description("An odd tool.")
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true))
        .with_icons(vec![Icon::new("https://icons.example/odd.png")])
        .with_output_schema(RawJson::parse(r#"{"type":"object","properties":{"sent":{}}}"#).unwrap());
    tool.meta = json!({"acme.example/team": ["a", 1]}).as_object().cloned();
    tool.extra.insert("acme", RawJson::parse(r#"{"b":1,"a":[2]}"#).unwrap());
    tool
}

impl ToolHandler for Odd {
    fn definition(&self) -> Tool {
        definition()
    }

    fn call(&self, arguments: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        let (sent, checked) = (arguments.json().cloned(), arguments.decode::<Value>());
        Box::pin(async move {
            checked?;
            let hologram = RawJson::parse(r#"{"type":"hologram","depth":7}"#).unwrap().decode::<Content>();
            let mut result = CallToolResult::new(vec![Content::text("done"), hologram.unwrap()]);
            let sent = sent.map_or(Value::Null, |sent| sent.decode().unwrap());
            result.structured_content = Some(json!({"sent": sent}).into());
            result.meta = json!({"acme.example/cost": 3}).as_object().cloned();
            result.extra.insert("acme", RawJson::parse("[1,2]").unwrap());
            Ok(result)
        })
    }
}

fn odd() -> Server {
    Server::new("odd", "1.0.0").tool(ToolEntry::new(Odd)).build().unwrap()
}

/// In the same revision, a client sees the same through a gateway as directly.
#[tokio::test]
async fn definitions_are_listed_as_they_came() {
    let server = odd();
    toolway::testing::each_wire(&server, async |straight| {
        let version = straight.protocol_version();
        let seen = straight.tools().await.unwrap();
        in_front_of(&server, async |gateway, upstream| {
            // An older revision in between leaves out members that it does not know.
            if upstream.protocol_version() < version {
                return;
            }
            let caller = Client::builder().protocol(version).connect(&gateway).await.unwrap();
            assert_eq!(caller.tools().await.unwrap(), seen.to_vec(), "{}", upstream.protocol_version());
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn arguments_and_results_are_not_looked_at() {
    through(&odd(), async |caller| {
        // The schema of the tool forbids that, but only the tool's own server may refuse it.
        let result = caller.call("odd", json!({"n": "3", "more": [null]})).await.unwrap();
        assert!(result.is_error(), "{result:?}");
        let result = caller.call("odd", json!({"n": 12, "more": [null]})).await.unwrap();
        assert!(!result.is_error());
        assert_eq!(result.first_text(), Some("done"));
        assert!(matches!(&result.content[1], Content::Other(text) if text.as_str().contains("hologram")));
        assert_eq!(result.meta.as_ref().unwrap()["acme.example/cost"], 3);
        assert_eq!(result.extra.get("acme").unwrap().as_str(), "[1,2]");
        if caller.protocol_version() >= ProtocolVersion::V2025_06_18
            && let Some(structured) = result.structured()
        {
            assert_eq!(structured.decode::<Value>().unwrap()["sent"], json!({"n": 12, "more": [null]}));
        }
    })
    .await;
}

/// A library: resources, a resource template, prompts, and completions for both.
fn library() -> Server {
    let mut index = Resource::new("books://index", "index").with_mime_type("text/markdown").with_size(7);
    index.extra.insert("acme", RawJson::parse("1").unwrap());
    let index = ResourceEntry::define(index, || async {
        let mut contents = ResourceContents::new("books://index").with_text("# Books");
        contents.extra.insert("shelf", RawJson::parse("[3]").unwrap());
        let mut result = ReadResourceResult::new(vec![contents]);
        result.meta = json!({"acme.example/seen": true}).as_object().cloned();
        result
    });
    let book = ResourceEntry::define(
        ResourceTemplate::new("books://{title}/{chapter}", "book").with_description("A chapter."),
        |reading: ReadRequest| async move {
            let chapter = reading.variables.text("chapter").unwrap_or_default();
            match chapter {
                "0" => Err(ResourceError::not_found()),
                "13" => Err(RpcError::new(Code(-32050), "bad luck").with_data(json!({"chapter": 13})).into()),
                _ => Ok(format!("{} of {}", chapter, reading.variables.text("title").unwrap_or_default())),
            }
        },
    )
    .with_completer("title", Completer::list(["Emma", "Emil", "Dune"]));
    let review = toolway::types::Prompt::new("review")
        .with_description("Review a book.")
        .with_arguments(vec![PromptArgument::new("title").with_required(true), PromptArgument::new("style")]);
    let review = PromptEntry::define(review, |filled: PromptValues| async move {
        [("user", format!("Review {}.", filled.text("title").unwrap_or("nothing")))]
    })
    .with_completer(
        "style",
        Completer::function(async |typed: CompletionRequest| {
            // The suggestion depends on the earlier arguments, to see that they are forwarded.
            typed.filter([format!("short {}", typed.arguments.get("title").map_or("", String::as_str))])
        }),
    );
    Server::new("library", "1.0.0").resources([index, book]).prompt(review).build().unwrap()
}

#[tokio::test]
async fn resources_and_their_families_are_read_where_they_are() {
    through(&library(), async |caller| {
        let listed = caller.resources().await.unwrap();
        assert_eq!((&*listed[0].uri, listed[0].size), ("books://index", Some(7)));
        assert_eq!(listed[0].extra.get("acme").unwrap().as_str(), "1");
        let families = caller.resource_templates().await.unwrap();
        assert_eq!(families[0].uri_template, "books://{title}/{chapter}");
        assert_eq!(families[0].description.as_deref(), Some("A chapter."));

        let index = caller.read_resource("books://index").await.unwrap();
        assert_eq!(index.text(), Some("# Books"));
        assert_eq!(index.contents[0].extra.get("shelf").unwrap().as_str(), "[3]");
        let meta = index.meta.unwrap();
        assert_eq!(meta["acme.example/seen"], true);
        let infos: Vec<_> = meta.values().filter_map(|value| value["name"].as_str()).collect();
        assert!(infos.iter().all(|name| *name == "gateway"), "who answers is the gateway: {infos:?}");
        assert_eq!(caller.read_resource("books://Emma/3").await.unwrap().text(), Some("3 of Emma"));
    })
    .await;
}

#[tokio::test]
async fn errors_pass_with_code_message_and_data() {
    through(&library(), async |caller| {
        let error = caller.read_resource("books://Emma/13").await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!((rpc.code, &*rpc.message), (Code(-32050), "bad luck"));
        assert_eq!(rpc.data.as_ref().unwrap().as_str(), r#"{"chapter":13}"#);
        // Each revision has its own code for a missing resource.
        let is_new = caller.protocol_version() == ProtocolVersion::LATEST;
        let expected = if is_new { Code::INVALID_PARAMS } else { Code::RESOURCE_NOT_FOUND };
        for uri in ["books://Emma/0", "nowhere://at/all"] {
            let error = caller.read_resource(uri).await.unwrap_err();
            assert_eq!(error.code(), Some(expected), "{uri}: {error}");
            assert!(error.rpc().unwrap().data.as_ref().unwrap().as_str().contains(uri));
        }
        // Errors of the other server are forwarded.
        let error = caller.get_prompt("review", ()).await.unwrap_err();
        assert_eq!(error.code(), Some(Code::INVALID_PARAMS));
        assert!(error.to_string().contains("`title` is missing"), "{error}");
        let error = caller.get_prompt("review", [("title", "Emma"), ("colour", "red")]).await.unwrap_err();
        assert!(error.to_string().contains("`colour`"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn prompts_are_filled_in_and_arguments_completed_where_they_are() {
    through(&library(), async |caller| {
        let prompts = caller.prompts().await.unwrap();
        assert_eq!(prompts[0].arguments.as_ref().unwrap()[0].required, Some(true));
        let filled = caller.get_prompt("review", [("title", "Emma")]).await.unwrap();
        assert_eq!(filled.messages[0].content.as_text(), Some("Review Emma."));
        if caller.protocol_version() < ProtocolVersion::V2025_03_26 {
            return;
        }
        let known = [("title", "Emma")];
        let Ok(completion) = caller.complete_prompt("review", "style", "sho", known).await else {
            // The revision between the gateway and the server may not have completions.
            return;
        };
        // Nor does each revision send the earlier arguments.
        assert!(completion.values[0].starts_with("short"), "{completion:?}");
        let completion =
            caller.complete_resource("books://{title}/{chapter}", "title", "em", ()).await.unwrap();
        assert_eq!(completion.values, ["Emma", "Emil"]);
    })
    .await;
}

#[tokio::test]
async fn what_the_caller_says_in_meta_passes_but_for_what_is_of_the_protocol() {
    /// Do nothing.
    #[tool]
    fn nothing() {}
    // The `_meta` of a request is only visible on the wire.
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, mut writer) = tokio::io::split(far);
    let server = Server::new("upstream", "1.0.0").tools(tools![nothing]).build().unwrap();
    let (client_end, serving) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(serving);
        server.serve_io(reader, writer).await
    });
    let (answers, mut requests) = tokio::io::split(client_end);
    let (seen, mut lines) = tokio::sync::mpsc::unbounded_channel::<Value>();
    tokio::spawn(async move {
        let mut reader = BufReader::new(reader).lines();
        while let Some(line) = reader.next_line().await.unwrap() {
            seen.send(serde_json::from_str(&line).unwrap()).unwrap();
            requests.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
    });
    tokio::spawn(async move {
        let mut answers = answers;
        tokio::io::copy(&mut answers, &mut writer).await.unwrap();
    });
    let (reader, writer) = tokio::io::split(near);
    let upstream = Client::connect_io(reader, writer).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let caller = Client::builder().info("caller", "7").connect(&gateway).await.unwrap();
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call =
        caller.call("nothing", json!({})).meta("traceparent", traceparent).meta("acme.example/a", json!([1]));
    call.on_progress(|_| {}).await.unwrap();
    let sent = loop {
        let message = lines.recv().await.unwrap();
        if message["method"] == "tools/call" {
            break message;
        }
    };
    let meta = &sent["params"]["_meta"];
    assert_eq!((&meta["traceparent"], &meta["acme.example/a"]), (&json!(traceparent), &json!([1])));
    assert_eq!(meta["progressToken"], sent["id"], "the token is the gateway's own");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "toolway", "and so is its name");
}

/// The server behind may take the first of two members, where a check in the gateway took the last.
#[tokio::test]
async fn a_key_that_occurs_twice_is_not_passed_on_in_either_direction() {
    let twice = ToolEntry::define(Tool::new("twice", json!({"type": "object"})), async |_: Value| {
        CallToolResult::default().with_structured_content(RawJson::parse(r#"{"a":{"b":1,"b":2}}"#).unwrap())
    });
    let server = Server::new("behind", "1.0.0").tool(twice).build().unwrap();
    in_front_of(&server, async |gateway, upstream| {
        let call = |arguments: &str| {
            let params = format!(r#"{{"name":"twice","arguments":{arguments}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
        };
        let reply = crate::pipe::one_line(&gateway, call(r#"{"x":[{"y":1,"\u0079":2}]}"#).as_bytes()).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert_eq!(reply["error"]["message"], "`params.arguments.x[0].y` occurs twice");
        // Earlier revisions have no structured content.
        if upstream.protocol_version() >= ProtocolVersion::V2025_06_18 {
            let reply = crate::pipe::one_line(&gateway, call("{}").as_bytes()).await;
            assert!(reply.to_string().contains("`result.structuredContent.a.b` occurs twice"), "{reply}");
        }
    })
    .await;
}
