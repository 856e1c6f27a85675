//! How is a tool called?

use toolway::types::Tool;
use toolway::{Client, RawJson};

use super::Here;
use crate::apart::apart;
use crate::args::{Call, Kind};
use crate::arguments;
use crate::closest::did_you_mean;
use crate::failure::{Failure, Fault, Result};
use crate::place::Find;
use crate::show::{self, Saver};

pub(crate) async fn run<K: Kind<Reach: Find>>(here: &Here, call: Call<K>) -> Result<()> {
    let Call { words, input_json, save, talk, reach } = call;
    here.with_server((&talk, &reach), words, async |client, console, words| {
        let (name, words) = words.split_first().ok_or_else(|| {
            Failure::usage("no TOOL is given").hint(format!("see which there are: {} list", here.program))
        })?;
        let tool = find(&client, name).await?;
        let (of, words) = (tool.clone(), words.to_vec());
        let arguments = apart(move || arguments::for_tool(&of, &words, input_json.as_deref())).await?;
        let showing = console.clone();
        let call = client.call(&tool.name, arguments).on_progress(move |progress| showing.progress(progress));
        let result = call.await?;
        let version = client.protocol_version();
        let text = if talk.json {
            format!("{}\n", RawJson::encoded(&*result, version).as_str())
        } else {
            show::tool_result(&result, &mut Saver::new(save))?
        };
        if !result.is_error() {
            return console.result(&text);
        }
        if talk.json {
            console.result(&text)?;
        }
        let said = show::tool_result(&result, &mut Saver::new(None))?;
        Err(Failure::new(Fault::ToolError, format!("the tool `{name}` failed: {}", said.trim_end())))
    })
    .await
}

async fn find(client: &Client, name: &str) -> Result<Tool> {
    if client.server_capabilities().tools.is_none() {
        return Err(Failure::not_found("the server has no tools"));
    }
    let tools = client.tools().await?;
    tools.get(name).cloned().ok_or_else(|| {
        let known: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let meant = did_you_mean(name, known.iter().copied());
        let failure = Failure::not_found(format!("the server has no tool `{name}`{meant}"));
        if known.is_empty() { failure } else { failure.hint(format!("it has {}", known.join(", "))) }
    })
}
