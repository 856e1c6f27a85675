//! What do resources and prompts contain, and how do they change?

use serde_json::json;
use toolway::client::{Change, Watch};
use toolway::{Code, ErrorKind};

use super::{Sdk, holds, not_here, same};
use crate::check::{Checked, Report, says};
use crate::talk::Talk;

pub(super) async fn play(sdk: Sdk, talk: &Talk, report: &mut Report) {
    resources(talk, report).await;
    changes(sdk, talk, report).await;
    prompts(talk, report).await;
}

async fn resources(talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    report
        .check("resources", "a list of several pages", async {
            let mut list = client.list_resources();
            let (mut pages, mut all) = (0, Vec::new());
            while let Some(page) = list.next_page().await {
                all.extend(page?.into_iter().map(|resource| resource.uri));
                pages += 1;
            }
            same(&(pages, all.len()), &(3, 27))?;
            all.sort_unstable();
            all.dedup();
            same(&all.len(), &27)
        })
        .await;
    report
        .check("resources", "the templates", async {
            let templates = client.resource_templates().await?;
            let uris: Vec<_> = templates.iter().map(|template| template.uri_template.as_str()).collect();
            same(&uris, &["interop://item/{id}"])
        })
        .await;
    report
        .check("resources", "text, also one of a template", async {
            says(client.read_resource("interop://note").await?.text().unwrap_or_default(), "note ")?;
            same(&client.read_resource("interop://item/beta").await?.text(), &Some("item beta"))
        })
        .await;
    report
        .check("resources", "bytes", async {
            let read = client.read_resource("interop://picture").await?;
            let contents = read.contents.first().ok_or("nothing came")?;
            same(&contents.mime_type.as_deref(), &Some("image/png"))?;
            holds(contents.blob.as_deref().unwrap_or_default().starts_with("iVBORw0KGgo"), "that is no PNG")
        })
        .await;
    report
        .check("resources", "one that is not there", async {
            let error = client.read_resource("interop://nothing").await.err().ok_or("it was read")?;
            same(&error.kind(), &ErrorKind::PeerRefused)
        })
        .await;
    report
        .check("complete", "a variable of a template", async {
            let completion = client.complete_resource("interop://item/{id}", "id", "be", ()).await?;
            same(&completion.values, &["beta", "better"])
        })
        .await;
}

async fn changes(sdk: Sdk, talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    // Over HTTP one server serves all eras, so the name must differ for each era.
    let name = talk.era.to_string().replace([' ', '-'], "_");
    let is_new = talk.since("2026-07-28", "requests that stand alone").is_ok();
    report
        .check("watch", "a resource that is watched is told to have changed, and read anew", async {
            sdk.remembers_its_client()?;
            let watch = client.watch(["interop://note"]).await;
            if sdk == Sdk::FastMcp {
                return untold(watch);
            }
            let mut watch = watch?;
            let touched = talk.text("touch", json!({})).await?;
            told(&mut watch, &Change::Resource("interop://note".to_owned())).await?;
            same(&client.read_resource("interop://note").await?.text(), &Some(touched.as_str()))
        })
        .await;
    let nothing: [&str; 0] = [];
    report
        .check("watch", "a new tool is told", async {
            let watch = client.watch(nothing).await;
            client.tools().await?;
            talk.text("grow", json!({"name": name})).await?;
            sdk.remembers_its_client()?;
            let mut watch = watch?;
            if sdk == Sdk::FastMcp && is_new {
                return not_here("fastmcp has no subscriptions/listen, and promises no news");
            }
            told(&mut watch, &Change::Tools).await
        })
        .await;
    report
        .check("watch", "a new tool is listed and called", async {
            let name = name.as_str();
            let tools: Vec<_> = match sdk.remembers_its_client() {
                Ok(()) => client.tools().await?.into_iter().collect(),
                // Without a notification the cached list stays in use, so list again.
                Err(_) => client.list_tools().all().await?,
            };
            holds(tools.iter().any(|tool| tool.name == name), "it is not listed")?;
            same(&talk.text(name, json!({})).await?, &format!("I am {name}"))
        })
        .await;
}

/// Checks that a server without change notifications refuses the subscription.
fn untold(watch: toolway::Result<Watch>) -> Checked {
    let refusal = watch.err().ok_or("it told of changes")?;
    same(&refusal.code(), &Some(Code::METHOD_NOT_FOUND))?;
    not_here("fastmcp answers neither resources/subscribe nor subscriptions/listen")
}

/// Waits until the wanted change is reported.
async fn told(watch: &mut Watch, wanted: &Change) -> Checked {
    while watch.next().await.ok_or("the client is gone")? != *wanted {}
    Ok(())
}

async fn prompts(talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    let context = talk.since("2025-06-18", "what is filled in already");
    report
        .check("prompts", "the list, with arguments", async {
            let prompts = client.prompts().await?;
            let greet = prompts.iter().find(|prompt| prompt.name == "greet").ok_or("it is not listed")?;
            let arguments = greet.arguments.iter().flatten();
            let arguments: Vec<_> =
                arguments.map(|argument| (argument.name.as_str(), argument.required == Some(true))).collect();
            same(&arguments, &[("name", true), ("style", false)])
        })
        .await;
    report
        .check("prompts", "filled in", async {
            let greet = client.get_prompt("greet", [("name", "Zoë"), ("style", "fancy")]).await?;
            let text = greet.messages.first().and_then(|message| message.content.as_text());
            same(&text, &Some("Greet Zoë in a fancy way."))?;
            let greet = client.get_prompt("greet", [("name", "Zoë")]).await?;
            let text = greet.messages.first().and_then(|message| message.content.as_text());
            same(&text, &Some("Greet Zoë in a plain way."))
        })
        .await;
    report
        .check("prompts", "a missing argument, and one that is not there", async {
            let missing = client.get_prompt("greet", ()).await.err().ok_or("it was filled in")?;
            same(&missing.kind(), &ErrorKind::PeerRefused)?;
            let unknown = client.get_prompt("no_such_prompt", ()).await.err().ok_or("it is there")?;
            same(&unknown.kind(), &ErrorKind::PeerRefused)
        })
        .await;
    report
        .check("complete", "an argument", async {
            let completion = client.complete_prompt("greet", "style", "f", ()).await?;
            same(&completion.values, &["formal", "friendly", "fancy"])
        })
        .await;
    report
        .check("complete", "an argument that depends on another", async {
            context.clone()?;
            let formal = client.complete_prompt("greet", "name", "", [("style", "formal")]).await?;
            same(&formal.values, &["Dr. Who"])
        })
        .await;
}
