//! What does a server offer, on one screen?

use std::fmt::Write;

use toolway::client::Pages;
use toolway::types::{OrderedMap, Prompt, Resource, ResourceTemplate, Tool};
use toolway::{ProtocolVersion, RawJson};

use super::{CommandContext, expect_no_more_words};
use crate::args::{List, TargetKind};
use crate::arguments::{prompt_line, tool_line};
use crate::failure::Result;
use crate::location::Find;
use crate::location::listing::{Lists, read_all};
use crate::show::format_size;
use crate::terminal::escape_to_line;

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    list: List<K>,
) -> Result<()> {
    let List { tools, resources, templates, prompts, target } = list;
    let everything = !(tools || resources || templates || prompts);
    here.with_server(target, async |session| {
        expect_no_more_words(&session.words)?;
        let (client, has) = (&session.client, session.client.server_capabilities());
        let has_resources = has.resources.is_some();
        let lists = Lists {
            // Includes the tools that cannot be called over this transport.
            tools: read(tools, everything, has.tools.is_some().then(|| client.list_tools())).await?,
            resources: read(resources, everything, has_resources.then(|| client.list_resources())).await?,
            templates: read(templates, everything, has_resources.then(|| client.list_resource_templates()))
                .await?,
            prompts: read(prompts, everything, has.prompts.is_some().then(|| client.list_prompts())).await?,
        };
        session.console.write_result(&if session.wants_json {
            lists_json(&lists, client.protocol_version())
        } else {
            format_lists(&lists, everything)
        })
    })
    .await
}

/// Reads a list if it was requested explicitly, or if everything was requested. An explicitly requested list that the
/// server does not have is empty.
async fn read<T>(is_asked: bool, everything: bool, pages: Option<Pages<T>>) -> Result<Option<Vec<T>>> {
    match pages {
        Some(pages) if is_asked || everything => Ok(Some(read_all(pages).await?)),
        _ => Ok(is_asked.then(Vec::new)),
    }
}

fn lists_json(lists: &Lists, version: ProtocolVersion) -> String {
    let lists = [
        ("tools", lists.tools.as_ref().map(|all| RawJson::encoded(all, version))),
        ("resources", lists.resources.as_ref().map(|all| RawJson::encoded(all, version))),
        ("resourceTemplates", lists.templates.as_ref().map(|all| RawJson::encoded(all, version))),
        ("prompts", lists.prompts.as_ref().map(|all| RawJson::encoded(all, version))),
    ];
    let lists = lists.into_iter().filter_map(|(name, items)| Some((name.to_owned(), items?)));
    format!("{}\n", RawJson::encoded(&OrderedMap(lists.collect()), version).as_str())
}

/// Formats the lists. Empty lists are left out, unless they were requested explicitly.
fn format_lists(lists: &Lists, everything: bool) -> String {
    let mut words = String::new();
    let mut section = |name: &str, entries: Option<Vec<String>>| {
        let Some(entries) = entries.filter(|entries| !everything || !entries.is_empty()) else { return };
        let gap = if words.is_empty() { "" } else { "\n" };
        let _ = writeln!(words, "{gap}{name} ({})", entries.len());
        for entry in entries {
            let _ = writeln!(words, "\n  {}", entry.replace('\n', "\n    "));
        }
    };
    section("Tools", lists.tools.as_ref().map(|all| all.iter().map(tool_entry).collect()));
    section("Resources", lists.resources.as_ref().map(|all| all.iter().map(resource_entry).collect()));
    section(
        "Resource templates",
        lists.templates.as_ref().map(|all| all.iter().map(template_entry).collect()),
    );
    section("Prompts", lists.prompts.as_ref().map(|all| all.iter().map(prompt_entry).collect()));
    if words.is_empty() { "The server offers nothing.\n".to_owned() } else { words }
}

fn tool_entry(tool: &Tool) -> String {
    entry(tool_line(tool), tool.description.as_deref())
}

fn prompt_entry(prompt: &Prompt) -> String {
    entry(prompt_line(prompt), prompt.description.as_deref())
}

fn resource_entry(resource: &Resource) -> String {
    let mut facts = Vec::new();
    facts.extend((resource.name != resource.uri).then(|| escape_to_line(resource.display_name())));
    facts.extend(resource.mime_type.as_deref().map(escape_to_line));
    facts.extend(resource.size.and_then(|bytes| u64::try_from(bytes).ok()).map(format_size));
    entry(with_facts(&resource.uri, &facts), resource.description.as_deref())
}

fn template_entry(template: &ResourceTemplate) -> String {
    let mut facts = vec![escape_to_line(template.title.as_deref().unwrap_or(&template.name))];
    facts.extend(template.mime_type.as_deref().map(escape_to_line));
    entry(with_facts(&template.uri_template, &facts), template.description.as_deref())
}

fn with_facts(uri: &str, facts: &[String]) -> String {
    match facts {
        [] => escape_to_line(uri),
        facts => format!("{} ({})", escape_to_line(uri), facts.join(", ")),
    }
}

/// Formats one entry: its usage, and the first paragraph of its description.
fn entry(line: String, description: Option<&str>) -> String {
    let paragraph = description.and_then(|text| text.trim().split("\n\n").next()).unwrap_or_default();
    let lines = paragraph.lines().map(escape_to_line).filter(|line| !line.is_empty());
    std::iter::once(line).chain(lines).collect::<Vec<_>>().join("\n")
}
