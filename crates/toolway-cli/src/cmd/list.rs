//! What does a server offer, on one screen?

use std::fmt::Write;

use toolway::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway::{ProtocolVersion, RawJson};

use super::Here;
use crate::args::{Kind, List};
use crate::arguments::{one_line, prompt_line};
use crate::failure::{Failure, Result};
use crate::json;
use crate::place::Find;
use crate::place::listing::all;
use crate::show::size;
use crate::terminal::neutral_line;

/// What was asked for, as far as the server has it.
#[derive(Debug, Default)]
struct Listed {
    tools: Option<Vec<Tool>>,
    resources: Option<Vec<Resource>>,
    templates: Option<Vec<ResourceTemplate>>,
    prompts: Option<Vec<Prompt>>,
}

pub(crate) async fn run<K: Kind<Reach: Find>>(here: &Here, list: List<K>) -> Result<()> {
    let List { words, tools, resources, templates, prompts, talk, reach } = list;
    let everything = !(tools || resources || templates || prompts);
    here.with_server((&talk, &reach), words, async |client, console, words| {
        if let Some(word) = words.first() {
            return Err(Failure::usage(format!("`{word}` is one word too many")));
        }
        let has = client.server_capabilities();
        let mut listed = Listed::default();
        if tools || everything && has.tools.is_some() {
            // Also those that cannot be called over this transport.
            listed.tools =
                Some(if has.tools.is_some() { all(client.list_tools()).await? } else { Vec::new() });
        }
        let has_resources = has.resources.is_some();
        if resources || everything && has_resources {
            listed.resources =
                Some(if has_resources { all(client.list_resources()).await? } else { Vec::new() });
        }
        if templates || everything && has_resources {
            listed.templates =
                Some(if has_resources { all(client.list_resource_templates()).await? } else { Vec::new() });
        }
        if prompts || everything && has.prompts.is_some() {
            listed.prompts =
                Some(if has.prompts.is_some() { all(client.list_prompts()).await? } else { Vec::new() });
        }
        console.result(&if talk.json {
            listed.json(client.protocol_version())
        } else {
            listed.words(everything)
        })
    })
    .await
}

impl Listed {
    fn json(&self, version: ProtocolVersion) -> String {
        macro_rules! array {
            ($items:expr) => {
                $items.as_ref().map(|items| {
                    let items: Vec<_> = items
                        .iter()
                        .map(|item| RawJson::encoded(item, version).as_str().to_owned())
                        .collect();
                    format!("[{}]", items.join(","))
                })
            };
        }
        let lists = [
            ("tools", array!(self.tools)),
            ("resources", array!(self.resources)),
            ("resourceTemplates", array!(self.templates)),
            ("prompts", array!(self.prompts)),
        ];
        let members = lists.iter().filter_map(|(name, items)| Some((*name, items.as_deref()?)));
        format!("{}\n", json::object(members))
    }

    /// Lists that are empty are left out, unless somebody asked for them.
    fn words(&self, everything: bool) -> String {
        let mut words = String::new();
        let mut section = |name: &str, entries: Option<Vec<String>>| {
            let Some(entries) = entries.filter(|entries| !everything || !entries.is_empty()) else { return };
            let gap = if words.is_empty() { "" } else { "\n" };
            let _ = writeln!(words, "{gap}{name} ({})", entries.len());
            for entry in entries {
                let _ = writeln!(words, "\n  {}", entry.replace('\n', "\n    "));
            }
        };
        section("Tools", self.tools.as_ref().map(|tools| tools.iter().map(of_tool).collect()));
        section("Resources", self.resources.as_ref().map(|all| all.iter().map(of_resource).collect()));
        section(
            "Resource templates",
            self.templates.as_ref().map(|all| all.iter().map(of_template).collect()),
        );
        section("Prompts", self.prompts.as_ref().map(|all| all.iter().map(of_prompt).collect()));
        if words.is_empty() { "The server offers nothing.\n".to_owned() } else { words }
    }
}

fn of_tool(tool: &Tool) -> String {
    entry(one_line(tool), tool.description.as_deref())
}

fn of_prompt(prompt: &Prompt) -> String {
    entry(prompt_line(prompt), prompt.description.as_deref())
}

fn of_resource(resource: &Resource) -> String {
    let mut facts = Vec::new();
    facts.extend((resource.name != resource.uri).then(|| neutral_line(resource.display_name())));
    facts.extend(resource.mime_type.as_deref().map(neutral_line));
    facts.extend(resource.size.and_then(|bytes| u64::try_from(bytes).ok()).map(size));
    entry(with_facts(&resource.uri, &facts), resource.description.as_deref())
}

fn of_template(template: &ResourceTemplate) -> String {
    let mut facts = vec![neutral_line(template.title.as_deref().unwrap_or(&template.name))];
    facts.extend(template.mime_type.as_deref().map(neutral_line));
    entry(with_facts(&template.uri_template, &facts), template.description.as_deref())
}

fn with_facts(uri: &str, facts: &[String]) -> String {
    match facts {
        [] => neutral_line(uri),
        facts => format!("{} ({})", neutral_line(uri), facts.join(", ")),
    }
}

/// One thing: how it is used, and what it does in one paragraph.
fn entry(line: String, description: Option<&str>) -> String {
    let paragraph = description.and_then(|text| text.trim().split("\n\n").next()).unwrap_or_default();
    let lines = paragraph.lines().map(neutral_line).filter(|line| !line.is_empty());
    std::iter::once(line).chain(lines).collect::<Vec<_>>().join("\n")
}
