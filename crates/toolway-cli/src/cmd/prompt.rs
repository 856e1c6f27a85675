//! How is a prompt filled in?

use toolway::{Client, RawJson, types};

use super::Here;
use crate::apart::apart;
use crate::args::{Kind, Prompt};
use crate::arguments;
use crate::closest::did_you_mean;
use crate::failure::{Failure, Result};
use crate::place::Find;
use crate::show::{self, Saver};

pub(crate) async fn run<K: Kind<Reach: Find>>(here: &Here, prompt: Prompt<K>) -> Result<()> {
    let Prompt { words, save, talk, reach } = prompt;
    here.with_server((&talk, &reach), words, async |client, console, words| {
        let (name, words) = words.split_first().ok_or_else(|| {
            Failure::usage("no NAME is given").hint(format!("see which there are: {} list", here.program))
        })?;
        let prompt = find(&client, name).await?;
        let words = words.to_vec();
        let arguments = apart(move || arguments::for_prompt(&prompt, &words)).await?;
        let showing = console.clone();
        let getting =
            client.get_prompt(name, arguments).on_progress(move |progress| showing.progress(progress));
        let result = getting.await?;
        console.result(&if talk.json {
            format!("{}\n", RawJson::encoded(&result, client.protocol_version()).as_str())
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
    let known: Vec<_> = prompts.iter().map(|prompt| prompt.name.clone()).collect();
    prompts.into_iter().find(|prompt| prompt.name == name).ok_or_else(|| {
        let meant = did_you_mean(name, known.iter().map(String::as_str));
        let failure = Failure::not_found(format!("the server has no prompt `{name}`{meant}"));
        if known.is_empty() { failure } else { failure.hint(format!("it has {}", known.join(", "))) }
    })
}
