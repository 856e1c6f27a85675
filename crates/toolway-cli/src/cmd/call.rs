//! How is a tool called?

use toolway::types::Tool;
use toolway::{Client, RawJson};

use super::Here;
use crate::apart::apart;
use crate::args::{Call, Kind};
use crate::arguments;
use crate::closest::unknown;
use crate::failure::{Failure, Fault, Result};
use crate::place::Find;
use crate::show::{self, Saver};

pub(crate) async fn run<K: Kind<Reach: Find>>(here: &Here, call: Call<K>) -> Result<()> {
    let Call { input_json, save, target } = call;
    here.with_server(target, async |session| {
        let (name, words) = session.words.split_first().ok_or_else(|| here.not_given("TOOL"))?;
        let tool = find(&session.client, name).await?;
        let (of, words) = (tool.clone(), words.to_vec());
        let arguments = apart(move || arguments::for_tool(&of, &words, input_json.as_deref())).await?;
        let result = session.client.call(&tool.name, arguments).on_progress(session.progress()).await?;
        let text = if session.wants_json {
            session.json(|version| RawJson::encoded(&*result, version))
        } else {
            show::tool_result(&result, &mut Saver::new(save))?
        };
        if !result.is_error() {
            return session.console.result(&text);
        }
        if session.wants_json {
            session.console.result(&text)?;
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
        unknown(&format!("the server has no tool `{name}`"), name, &known)
    })
}
