//! How is a tool called?

use toolway::types::Tool;
use toolway::{Client, RawJson};

use super::CommandContext;
use crate::args::{Call, TargetKind};
use crate::arguments;
use crate::closest::unknown_name;
use crate::failure::{Failure, Fault, Result};
use crate::location::Find;
use crate::run_on_thread::run_on_thread;
use crate::show::{self, Saver};

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    call: Call<K>,
) -> Result<()> {
    let Call { input_json, save, target } = call;
    here.with_server(target, async |session| {
        let (name, words) = session.words.split_first().ok_or_else(|| here.missing_word("TOOL"))?;
        let tool = find(&session.client, name).await?;
        let (of, words) = (tool.clone(), words.to_vec());
        let arguments =
            run_on_thread(move || arguments::for_tool(&of, &words, input_json.as_deref())).await?;
        let result = session.client.call(&tool.name, arguments).on_progress(session.progress()).await?;
        let text = if session.wants_json {
            session.to_json_line(|version| RawJson::encoded(&*result, version))
        } else {
            show::tool_result(&result, &mut Saver::new(save))?
        };
        if !result.is_error() {
            return session.console.write_result(&text);
        }
        if session.wants_json {
            session.console.write_result(&text)?;
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
        unknown_name(&format!("the server has no tool `{name}`"), name, &known)
    })
}
