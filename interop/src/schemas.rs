//! Can the tools of a server be given to a model of each provider?
//!
//! Reports the number of schemas, and how many of their constraints the provider does not support.

use serde_json::Value;
use toolway::agent::{Provider, RenderedTools, ToolSet};

use crate::check::{Checked, Report, holds, same};

/// Renders all tools for each provider, and checks each against the provider's rules.
pub(crate) fn play(tools: Checked<ToolSet>, report: &mut Report) {
    for (what, render, provider) in LISTS {
        let outcome = tools.clone().and_then(|tools| passes(&tools, &render(&tools), *provider));
        report.tell_more("schemas", what, outcome);
    }
}

fn passes(tools: &ToolSet, rendered: &RenderedTools, provider: Provider) -> Checked<String> {
    let functions = rendered.tools.iter().flat_map(|tool| match &tool["functionDeclarations"] {
        Value::Array(all) => all.clone(),
        _ => vec![tool.clone()],
    });
    let mut count = 0;
    for tool in functions {
        count += 1;
        let function = if tool["function"].is_object() { &tool["function"] } else { &tool };
        let name = function["name"].as_str().ok_or("a tool has no name")?;
        holds(provider.accepts_name(name), format!("`{name}` is no name for {provider:?}"))?;
        // A tool that cannot be strict is listed without `strict`.
        let rules = match (provider, &function["strict"]) {
            (Provider::OpenAiStrict, Value::Bool(true)) => Provider::OpenAiStrict,
            (Provider::OpenAiStrict, _) => Provider::OpenAi,
            (other, _) => other,
        };
        let schemas = [&function["parameters"], &function["input_schema"]];
        for schema in schemas.into_iter().filter(|schema| !schema.is_null()) {
            let broken: Vec<String> =
                toolway_schema::dialects::check(rules, schema).iter().map(ToString::to_string).collect();
            holds(broken.is_empty(), format!("{name}: {}", broken.join("; ")))?;
        }
    }
    same(&count, &tools.len())?;
    Ok(format!("{count} schemas, {} losses", rendered.losses.len()))
}

type Render = fn(&ToolSet) -> RenderedTools;

const LISTS: &[(&str, Render, Provider)] = &[
    ("OpenAI", ToolSet::for_openai, Provider::OpenAi),
    ("OpenAI, strict", ToolSet::for_openai_strict, Provider::OpenAiStrict),
    ("OpenAI, Responses", ToolSet::for_openai_responses, Provider::OpenAi),
    ("OpenAI, Responses, strict", ToolSet::for_openai_responses_strict, Provider::OpenAiStrict),
    ("Anthropic", ToolSet::for_anthropic, Provider::Anthropic),
    ("Gemini", ToolSet::for_gemini, Provider::Gemini),
];
