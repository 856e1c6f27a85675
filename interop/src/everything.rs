//! Does our client work with `@modelcontextprotocol/server-everything`?
//!
//! The server uses the TypeScript SDK 1 and speaks the revisions of the handshake era. Features that it does not gate
//! by revision are expected in all of them.

use serde::Deserialize;
use serde_json::{Value, json};
use toolway::ErrorKind;
use toolway::client::{Answer, Change};
use toolway::types::{Content, LogLevel, ToolAnnotations};

use crate::check::{Checked, Report, holds, not_here, same, says};
use crate::talk::{MODEL_SAYS, ROOTS, Talk};

pub(crate) async fn play(talk: &Talk, report: &mut Report) {
    about(talk, report).await;
    tools(talk, report).await;
    calls(talk, report).await;
    long_calls(talk, report).await;
    log(talk, report).await;
    resources(talk, report).await;
    prompts(talk, report).await;
    questions(talk, report).await;
}

async fn about(Talk { client, .. }: &Talk, report: &mut Report) {
    report
        .check("info", "name, version, title", async {
            let info = client.server_info().ok_or("the server does not say who it is")?;
            same(&info.name, "mcp-servers/everything")?;
            same(&info.version, "2.0.0")?;
            same(&info.title.as_deref(), &Some("Everything Reference Server"))
        })
        .await;
    report
        .check("info", "instructions", async {
            says(&client.instructions().unwrap_or_default(), "Everything Server")
        })
        .await;
    report
        .check("info", "capabilities", async {
            let can = client.server_capabilities();
            let all =
                [can.tools.is_some(), can.prompts.is_some(), can.resources.is_some(), can.logging.is_some()];
            same(&all, &[true; 4])
        })
        .await;
    report.check("info", "ping", async { Ok(client.ping().await?) }).await;
}

async fn tools(Talk { client, era, .. }: &Talk, report: &mut Report) {
    let revision = era.revision();
    report
        .check("tools", "those of every client and those of one that can be asked", async {
            let tools = client.tools().await?;
            let (form, page) = (revision >= FORMS, revision >= PAGES);
            let wanted = [("echo", true), ("get-roots-list", true), (FORM, form), (PAGE, page)];
            same(&wanted.map(|(name, _)| tools.get(name).is_some()), &wanted.map(|(_, listed)| listed))
        })
        .await;
    report
        .check("tools", "title, hints, schemas", async {
            let tools = client.tools().await?;
            let tool = tools.get("get-structured-content").ok_or("it is not listed")?;
            same(tool.display_name(), "Get Structured Content Tool")?;
            holds(
                tool.annotations.as_ref().is_some_and(ToolAnnotations::is_read_only),
                "it is not read-only",
            )?;
            let input: Value = tool.input_schema.decode()?;
            same(&input["properties"]["location"]["enum"], &json!(["New York", "Chicago", "Los Angeles"]))?;
            let output: Value = tool.output_schema.as_ref().ok_or("no output schema")?.decode()?;
            same(&output["properties"]["humidity"]["type"], "number")
        })
        .await;
    report
        .check("tools", "a tool that only runs as a task says so", async {
            let tools = client.tools().await?;
            let tool = tools.get("simulate-research-query").ok_or("it is not listed")?;
            holds(tool.execution.is_some(), "nothing is said about how it runs")
        })
        .await;
}

#[derive(Debug, Deserialize, PartialEq)]
struct Weather {
    temperature: f64,
    conditions: String,
    humidity: f64,
}

async fn calls(talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    for (what, message) in [
        ("echo", "hello".to_owned()),
        ("echo: quotes, lines, other alphabets", UNICODE.to_owned()),
        ("echo: two megabytes", "0123456789abcdé\n".repeat(1 << 17)),
    ] {
        report
            .check("calls", what, async {
                let said = talk.text("echo", json!({"message": message})).await?;
                same(&said, &format!("Echo: {message}"))
            })
            .await;
    }
    report
        .check("calls", "numbers", async {
            same(&talk.text("get-sum", json!({"a": 2, "b": 3.5})).await?, "The sum of 2 and 3.5 is 5.5.")
        })
        .await;
    report
        .check("calls", "a structured result becomes a type", async {
            let result = client.call("get-structured-content", json!({"location": "Chicago"})).await?;
            holds(result.structured().is_some(), "nothing structured came")?;
            let wanted =
                Weather { temperature: 36.0, conditions: "Light rain / drizzle".to_owned(), humidity: 82.0 };
            same(&result.decode::<Weather>()?, &wanted)
        })
        .await;
    report
        .check("calls", "text, a picture, text", async {
            let result = client.call("get-tiny-image", json!({})).await?;
            let [Content::Text(_), Content::Image(image), Content::Text(_)] = result.content.as_slice()
            else {
                return Err(format!("other blocks came: {:?}", result.content.len()).into());
            };
            same(&image.mime_type, "image/png")?;
            holds(image.data.starts_with("iVBORw0KGgo"), "that is no PNG")
        })
        .await;
    report
        .check("calls", "for whom a block is", async {
            let ask = json!({"messageType": "debug", "includeImage": true});
            let result = client.call("get-annotated-message", ask).await?;
            let [Content::Text(text), Content::Image(_)] = result.content.as_slice() else {
                return Err("other blocks came".into());
            };
            let annotations = text.annotations.as_ref().ok_or("no annotations")?;
            same(&annotations.priority, &Some(0.3))
        })
        .await;
    report
        .check("calls", "links and a resource inside", async {
            let links = client.call("get-resource-links", json!({"count": 4})).await?;
            let is_link = |block: &&Content| matches!(block, Content::Link(_));
            same(&links.content.iter().filter(is_link).count(), &4)?;
            let ask = json!({"resourceType": "Blob", "resourceId": 7});
            let inside = client.call("get-resource-reference", ask).await?;
            let Some(Content::Resource(resource)) = inside.content.get(1) else {
                return Err("no resource".into());
            };
            same(&resource.resource.uri, "demo://resource/dynamic/blob/7")?;
            holds(resource.resource.blob.is_some(), "no bytes")
        })
        .await;
    report
        .check("calls", "wrong arguments are a failure that a model can read", async {
            let result = client.call("get-sum", json!({"a": "two"})).await?;
            holds(result.is_error(), "it did not fail")?;
            same(&result.text().err().map(|error| error.kind()), &Some(ErrorKind::ToolFailed))
        })
        .await;
    report
        .check("calls", "a tool that is not there", async {
            // This SDK answers with a result; others answer with an error.
            let result = client.call("no-such-tool", json!({})).await?;
            says(&result.text().err().ok_or("it worked")?.to_string(), "no-such-tool")
        })
        .await;
    report
        .check("calls", "the server sees none of our environment but what it needs", async {
            let seen: std::collections::BTreeMap<String, String> =
                serde_json::from_str(&talk.text("get-env", json!({})).await?)?;
            if seen.contains_key("PORT") {
                return not_here("over HTTP the server is not started by the client");
            }
            let cargo = seen.keys().find(|name| name.starts_with("CARGO"));
            holds(cargo.is_none() && seen.contains_key("PATH"), format!("{cargo:?}"))
        })
        .await;
}

async fn long_calls(talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    report
        .check("progress", "each step is told", async {
            let ask = json!({"duration": 0.2, "steps": 4});
            let mut running = client.call("trigger-long-running-operation", ask).start();
            let mut steps = Vec::new();
            while let Some(progress) = running.progress().await {
                steps.push((progress.progress.as_f64(), progress.total.and_then(|total| total.as_f64())));
            }
            let wanted = [1.0, 2.0, 3.0, 4.0].map(|step| (Some(step), Some(4.0)));
            same(&steps, &wanted)?;
            says(&running.await?.text()?, "Long running operation completed")
        })
        .await;
    report
        .check("cancel", "the next call is answered after one that was given up", async {
            let ask = json!({"duration": 600, "steps": 6000});
            let mut running = client.call("trigger-long-running-operation", ask).start();
            running.progress().await.ok_or("the call is over")?;
            drop(running);
            same(&talk.text("echo", json!({"message": "next"})).await?, "Echo: next")
        })
        .await;
    report
        .check("cancel", "the server stops", async {
            not_here("its operation does not look whether it is wanted")
        })
        .await;
}

async fn log(talk: &Talk, report: &mut Report) {
    report
        .check("log", "messages of a level come", async {
            talk.client.set_log_level(LogLevel::Debug).await?;
            talk.text("toggle-simulated-logging", json!({})).await?;
            let simulated = |data: &str| data.contains("-level message") || data.contains("level-message");
            talk.logged(|message| simulated(message.data.as_str())).await?;
            talk.text("toggle-simulated-logging", json!({})).await.map(drop)
        })
        .await;
}

async fn resources(talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    report
        .check("resources", "the list", async {
            let resources = client.resources().await?;
            let found = resources.iter().find(|resource| resource.uri.ends_with("architecture.md"));
            same(&found.ok_or("not all of it")?.mime_type.as_deref(), &Some("text/markdown"))
        })
        .await;
    report
        .check("resources", "the templates", async {
            let templates = client.resource_templates().await?;
            let mut uris: Vec<_> = templates.iter().map(|template| template.uri_template.as_str()).collect();
            uris.sort_unstable();
            same(&uris, &["demo://resource/dynamic/blob/{resourceId}", TEXT_TEMPLATE])
        })
        .await;
    report
        .check("resources", "text", async {
            let read = client.read_resource("demo://resource/dynamic/text/12").await?;
            says(read.text().unwrap_or_default(), "Resource 12: This is a plaintext resource")
        })
        .await;
    report
        .check("resources", "bytes", async {
            let read = client.read_resource("demo://resource/dynamic/blob/3").await?;
            let blob = read.contents.first().and_then(|contents| contents.blob.as_deref());
            // Base64 of "Resource 3: This is a base64 blob".
            says(blob.unwrap_or_default(), "UmVzb3VyY2UgMzogVGhpcyBpcyBhIGJhc2U2NCBibG9i")
        })
        .await;
    report
        .check("resources", "one that is not there", async {
            let error = client.read_resource("demo://nothing").await.err().ok_or("it was read")?;
            same(&error.kind(), &ErrorKind::PeerRefused)
        })
        .await;
    report
        .check("watch", "a resource that is watched is told to have changed", async {
            let mut watch = client.watch(["demo://resource/dynamic/text/1"]).await?;
            talk.text("toggle-subscriber-updates", json!({})).await?;
            let wanted = Change::Resource("demo://resource/dynamic/text/1".to_owned());
            while watch.next().await.ok_or("the client is gone")? != wanted {}
            talk.text("toggle-subscriber-updates", json!({})).await.map(drop)
        })
        .await;
    report
        .check("watch", "a new resource is told, listed and read", async {
            let nothing: [&str; 0] = [];
            let mut watch = client.watch(nothing).await?;
            let ask =
                json!({"name": "hello.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"});
            let made = client.call("gzip-file-as-resource", ask).await?;
            let Some(Content::Link(link)) = made.content.first() else { return Err("no link came".into()) };
            while watch.next().await.ok_or("the client is gone")? != Change::Resources {}
            let listed = client.resources().await?.iter().any(|resource| resource.uri == link.uri);
            holds(listed, "it is not listed")?;
            let read = client.read_resource(&link.uri).await?;
            let blob = read.contents.first().and_then(|contents| contents.blob.as_deref());
            // Every gzip file begins with these bytes.
            holds(blob.unwrap_or_default().starts_with("H4sI"), "that is no gzip file")
        })
        .await;
}

async fn prompts(talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    report
        .check("prompts", "the list, with arguments", async {
            let prompts = client.prompts().await?;
            let prompt = prompts.iter().find(|prompt| prompt.name == "args-prompt").ok_or("not all of it")?;
            let arguments: Vec<_> = prompt.arguments.iter().flatten().collect();
            let wanted = arguments.iter().map(|argument| (argument.name.as_str(), argument.required));
            same(&wanted.collect::<Vec<_>>(), &[("city", Some(true)), ("state", Some(false))])
        })
        .await;
    report
        .check("prompts", "without and with arguments", async {
            let simple = client.get_prompt("simple-prompt", ()).await?;
            let text = |content: &Content| content.as_text().unwrap_or_default().to_owned();
            same(&text(&simple.messages[0].content), "This is a simple prompt without arguments.")?;
            let filled = client.get_prompt("args-prompt", [("city", "Zürich"), ("state", "ZH")]).await?;
            same(&text(&filled.messages[0].content), "What's weather in Zürich, ZH?")
        })
        .await;
    report
        .check("prompts", "a resource inside", async {
            let arguments = [("resourceType", "Text"), ("resourceId", "9")];
            let prompt = client.get_prompt("resource-prompt", arguments).await?;
            let Some(Content::Resource(resource)) = prompt.messages.get(1).map(|message| &message.content)
            else {
                return Err("no resource came".into());
            };
            same(&resource.resource.uri, "demo://resource/dynamic/text/9")
        })
        .await;
    report
        .check("prompts", "a missing argument", async {
            let error = client.get_prompt("args-prompt", ()).await.err().ok_or("it was filled in")?;
            same(&error.kind(), &ErrorKind::PeerRefused)
        })
        .await;
    report
        .check("complete", "an argument", async {
            let first = client.complete_prompt("completable-prompt", "department", "S", ()).await?;
            same(&first.values, &["Sales", "Support"])
        })
        .await;
    report
        .check("complete", "an argument that depends on another", async {
            talk.since(CONTEXT, "what is filled in already")?;
            let known = [("department", "Sales")];
            let second = client.complete_prompt("completable-prompt", "name", "", known).await?;
            same(&second.values, &["David", "Eve", "Frank"])
        })
        .await;
    report
        .check("complete", "a variable of a template", async {
            let completion = client.complete_resource(TEXT_TEMPLATE, "resourceId", "12", ()).await?;
            same(&completion.values, &["12"])
        })
        .await;
}

async fn questions(talk: &Talk, report: &mut Report) {
    let forms = || talk.since(FORMS, "forms");
    let pages = || talk.since(PAGES, "web pages");
    report
        .check("ask", "a form: what was filled in, and the defaults", async {
            forms()?;
            talk.will_answer(Answer::accept(json!({"name": "Ada", "check": true, "integer": 7})));
            let said = talk.text(FORM, json!({})).await?;
            let result = raw_result(&said)?;
            same(&result["action"], "accept")?;
            let content = &result["content"];
            same(&content["name"], "Ada")?;
            same(&content["integer"], &json!(7))?;
            same(&content["firstLine"], "It was a dark and stormy night.")?;
            same(&content["titledMultipleSelectEnum"], &json!(["fish-1"]))?;
            let asked = talk.asked();
            let form = asked.first().and_then(|question| question.form()).ok_or("no form came")?;
            same(&form.properties.0.len(), &13)
        })
        .await;
    for (what, answer, action) in
        [("a form: no", Answer::decline(), "decline"), ("a form: closed", Answer::cancel(), "cancel")]
    {
        report
            .check("ask", what, async {
                forms()?;
                talk.will_answer(answer);
                let result = raw_result(&talk.text(FORM, json!({})).await?)?;
                same(&result, &json!({"action": action}))
            })
            .await;
    }
    let page = json!({"url": "https://example.com/pay?a=1&b=2", "elicitationId": "pay-1"});
    report
        .check("ask", "a web page", async {
            pages()?;
            talk.asked();
            talk.will_answer(Answer::consent());
            let said = talk.text(PAGE, page.clone()).await?;
            says(&said, "User completed the URL elicitation flow")?;
            let asked = talk.asked();
            let url = asked.first().and_then(|question| question.url());
            same(&url, &Some("https://example.com/pay?a=1&b=2"))
        })
        .await;
    report
        .check("ask", "a web page that must be visited first is an error with its code", async {
            pages()?;
            let mut page = page.clone();
            page["errorPath"] = json!(true);
            let error = talk.client.call(PAGE, page).await.err().ok_or("it worked")?;
            let rpc = error.rpc().ok_or("no error of the protocol")?;
            same(&rpc.code.0, &-32042)
        })
        .await;
    report
        .check("ask", "the model", async {
            let said = talk
                .text("trigger-sampling-request", json!({"prompt": "six times nine", "maxTokens": 33}))
                .await?;
            says(&said, MODEL_SAYS)?;
            let asked = talk.asked_model();
            let ask = asked.first().ok_or("the model was not asked")?;
            same(&ask.max_tokens, &33)?;
            same(&ask.system_prompt.as_deref(), &Some("You are a helpful test server."))
        })
        .await;
    report
        .check("ask", "the roots", async {
            let said = talk.text("get-roots-list", json!({})).await?;
            for (uri, name) in ROOTS {
                says(&said, uri)?;
                says(&said, name)?;
            }
            Ok(())
        })
        .await;
}

/// Parses the answer as the server received it, from the last text of the tools that ask.
fn raw_result(said: &str) -> Checked<Value> {
    let (_, result) = said.split_once("Raw result: ").ok_or("the answer is not told")?;
    Ok(serde_json::from_str(result)?)
}

const FORM: &str = "trigger-elicitation-request";
const PAGE: &str = "trigger-url-elicitation";
/// The revisions that added forms, URL elicitation, and completions that know other arguments.
const FORMS: &str = "2025-06-18";
const PAGES: &str = "2025-11-25";
const CONTEXT: &str = "2025-06-18";
const UNICODE: &str = "\"a\" \\ b\n\tc \u{2028} Ünï ｆ 🦀 \u{0}";
const TEXT_TEMPLATE: &str = "demo://resource/dynamic/text/{resourceId}";
