//! What does a model provider get, and how many tokens is it?

use serde_json::{Map, Value};
use toolway::RawJson;
use toolway::agent::{self, RenderedTools, ToolSet};
use toolway::types::Tool;
use toolway_schema::dialects::Effect;

use super::object::object;
use super::token_count::estimate_tokens;
use super::web::Refusal;

/// Returns the tool in the formats of the providers.
fn rendered(tool: &Tool) -> Result<[(&'static str, RenderedTools); 4], Refusal> {
    let schema: Value = tool
        .input_schema
        .decode()
        .map_err(|error| Refusal::usage(format!("the schema of the tool cannot be read: {error}")))?;
    let description = tool.description().to_owned();
    let tool = agent::native_tool(tool.name.clone(), description, schema, async |_: RawJson| "");
    let tools = ToolSet::new().with(tool);
    Ok([
        ("openai", tools.for_openai()),
        ("openai_strict", tools.for_openai_strict()),
        ("anthropic", tools.for_anthropic()),
        ("gemini", tools.for_gemini()),
    ])
}

fn definition(rendered: &RenderedTools) -> Value {
    let first = rendered.tools.first().cloned().unwrap_or_default();
    // The list for Gemini has one entry with all functions.
    first.get("functionDeclarations").and_then(|functions| functions.get(0)).cloned().unwrap_or(first)
}

/// Returns about how many tokens each provider counts for a tool.
pub(super) fn tool_tokens(tool: &Tool) -> Map<String, Value> {
    let mut counts = Map::new();
    for (provider, tools) in
        rendered(tool).iter().flatten().filter(|(provider, _)| *provider != "openai_strict")
    {
        let count = estimate_tokens(&definition(tools).to_string());
        counts.insert((*provider).to_owned(), count.into());
    }
    counts
}

/// Returns what each provider gets for a tool, and what is lost.
pub(super) fn provider_report(tool: &Tool) -> Result<Value, Refusal> {
    let providers: Vec<Value> = rendered(tool)?
        .iter()
        .map(|(provider, tools)| {
            let definition = definition(tools);
            let name = definition.pointer("/function/name").or_else(|| definition.get("name")).cloned();
            let losses: Vec<Value> = tools
                .losses
                .iter()
                .map(|loss| {
                    let effect = match loss.effect {
                        Effect::Wider => "wider",
                        Effect::Narrower => "narrower",
                        _ => "annotation_only",
                    };
                    object! {"pointer": loss.pointer, "what": loss.what, "why": loss.why, "effect": effect}
                })
                .collect();
            object! {
                "provider": provider, "name": name, "tokens": estimate_tokens(&definition.to_string()),
                "definition": serde_json::to_string_pretty(&definition).unwrap_or_default(), "losses": losses,
            }
        })
        .collect();
    Ok(object! {"providers": providers})
}
