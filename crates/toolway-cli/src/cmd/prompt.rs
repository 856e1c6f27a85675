//! How is a prompt filled in?

use toolway::{Client, RawJson, types};

use super::Here;
use crate::apart::apart;
use crate::args::{Kind, Prompt};
use crate::arguments;
use crate::closest::unknown;
use crate::failure::{Failure, Result};
use crate::place::Find;
use crate::show::{self, Saver};

pub(crate) async fn run<K: Kind<Reach: Find>>(here: &Here, prompt: Prompt<K>) -> Result<()> {
    let Prompt { save, target } = prompt;
    here.with_server(target, async |session| {
        let (name, words) = session.words.split_first().ok_or_else(|| here.not_given("NAME"))?;
        let prompt = find(&session.client, name).await?;
        let words = words.to_vec();
        let arguments = apart(move || arguments::for_prompt(&prompt, &words)).await?;
        let result = session.client.get_prompt(name, arguments).on_progress(session.progress()).await?;
        session.console.result(&if session.wants_json {
            session.json(|version| RawJson::encoded(&result, version))
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
        unknown(&format!("the server has no prompt `{name}`"), name, &known)
    })
}
