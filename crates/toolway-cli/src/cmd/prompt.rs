//! How is a prompt filled in?

use toolway::{Client, RawJson, types};

use super::CommandContext;
use crate::args::{Prompt, TargetKind};
use crate::arguments;
use crate::closest::unknown_name;
use crate::failure::{Failure, Result};
use crate::location::Find;
use crate::run_on_thread::run_on_thread;
use crate::show::{self, Saver};

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    prompt: Prompt<K>,
) -> Result<()> {
    let Prompt { save, target } = prompt;
    here.with_server(target, async |session| {
        let (name, words) = session.words.split_first().ok_or_else(|| here.missing_word("NAME"))?;
        let prompt = find(&session.client, name).await?;
        let words = words.to_vec();
        let arguments = run_on_thread(move || arguments::for_prompt(&prompt, &words)).await?;
        let result = session.client.get_prompt(name, arguments).on_progress(session.progress()).await?;
        session.console.write_result(&if session.wants_json {
            session.to_json_line(|version| RawJson::encoded(&result, version))
        } else {
            show::prompt(&result, &mut Saver::new(save))?
        })
    })
    .await
}

pub(super) async fn find(client: &Client, name: &str) -> Result<types::Prompt> {
    if client.server_capabilities().prompts.is_none() {
        return Err(Failure::not_found("the server has no prompts"));
    }
    let prompts = client.prompts().await?;
    prompts.iter().find(|prompt| prompt.name == name).cloned().ok_or_else(|| {
        let known: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
        unknown_name(&format!("the server has no prompt `{name}`"), name, &known)
    })
}
