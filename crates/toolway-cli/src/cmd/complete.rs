//! How is an argument completed?

use toolway::types::{CompleteResult, ResourceTemplate};
use toolway::{Client, RawJson};

use super::{CommandContext, prompt};
use crate::args::{Target, TargetKind};
use crate::arguments::{self, known_texts};
use crate::closest::did_you_mean;
use crate::failure::{Failure, Result};
use crate::location::Find;
use crate::location::listing;
use crate::run_on_thread::run_on_thread;

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    target: Target<K>,
) -> Result<()> {
    here.with_server(target, async |session| {
        let (client, console) = (&session.client, &session.console);
        let [what, of, argument, rest @ ..] = &*session.words else {
            return Err(Failure::usage("the command line is incomplete").hint(USAGE));
        };
        let (typed, known) = match rest {
            [] => ("", rest),
            [typed, known @ ..] => (typed.as_str(), known),
        };
        let known = known.to_vec();
        let known = run_on_thread(move || known_texts(&known)).await?;
        let completing = match what.as_str() {
            "prompt" => {
                let prompt = prompt::find(client, of).await?;
                let names: Vec<_> =
                    prompt.arguments.iter().flatten().map(|argument| &*argument.name).collect();
                if !names.contains(&&**argument) {
                    let meant = did_you_mean(argument, names);
                    return Err(Failure::not_found(format!(
                        "the prompt `{of}` has no argument `{argument}`{meant}"
                    ))
                    .hint(arguments::prompt_usage(&prompt)));
                }
                check(client)?;
                client.complete_prompt(of, argument, typed, known)
            }
            "template" => {
                let template = find(client, of).await?;
                check(client)?;
                client.complete_resource(template.uri_template, argument, typed, known)
            }
            other => {
                return Err(
                    Failure::usage(format!("`{other}` is neither `prompt` nor `template`")).hint(USAGE)
                );
            }
        };
        let completion = completing.await?;
        if session.wants_json {
            let result = CompleteResult::new(completion);
            return console.write_result(&session.to_json_line(|version| RawJson::encoded(&result, version)));
        }
        let lines: Vec<_> = completion.values.iter().map(|value| format!("{value}\n")).collect();
        console.write_result(&lines.concat())?;
        if completion.has_more == Some(true) {
            let of = completion.total.map(|total| format!(" of {total}")).unwrap_or_default();
            console.write_lines(&format!("Showing {}{of}; type more to see others.", lines.len()));
        }
        Ok(())
    })
    .await
}

const USAGE: &str = "write `prompt NAME ARGUMENT TYPED` or `template URI_TEMPLATE VARIABLE TYPED`, then key=value for \
                     arguments that are already known";

fn check(client: &Client) -> Result<()> {
    match client.server_capabilities().completions {
        Some(_) => Ok(()),
        None => Err(Failure::not_found("the server does not support completion")),
    }
}

/// Finds a resource template, by its URI template or by its name.
async fn find(client: &Client, of: &str) -> Result<ResourceTemplate> {
    if client.server_capabilities().resources.is_none() {
        return Err(Failure::not_found("the server has no resources"));
    }
    let templates = listing::read_all(client.list_resource_templates()).await?;
    let is_meant = |template: &&ResourceTemplate| template.uri_template == of || template.name == of;
    templates.iter().find(is_meant).cloned().ok_or_else(|| {
        let known = templates.iter().flat_map(|template| [&*template.uri_template, &*template.name]);
        let meant = did_you_mean(of, known);
        Failure::not_found(format!("the server has no resource template `{of}`{meant}"))
    })
}
