//! Which properties of a server cause problems for models? These properties work with this client, but some models
//! refuse or misunderstand them.

use std::collections::HashSet;

use serde_json::Value;
use toolway::types::Tool;
use toolway::{ProtocolVersion, RawJson};
use toolway_schema::Types;

use crate::arguments::{allows_anything, allows_type, arguments, parse_schema};
use crate::location::listing::Lists;
use crate::show::format_size;
use crate::terminal::escape_to_line;

/// The maximum length of a tool's name that the models of every vendor accept, in bytes.
const MAX_NAME: usize = 64;
/// The maximum length of a tool's description that the models of every vendor accept, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// The number of tools above which models choose badly.
const MANY_TOOLS: usize = 40;
/// The size of all tool definitions together, as JSON in bytes, above which the report has a warning. Every
/// conversation of a model carries the definitions.
const LARGE_DEFINITIONS: usize = 40_000;

/// Returns the findings. Each has the name of an item and a sentence that says what should be improved.
pub(super) fn collect(lists: &Lists) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let tools = lists.tools.as_deref().unwrap_or_default();
    check_all_tools(tools, &mut found);
    for tool in tools {
        let about = format!("tool `{}`", escape_to_line(&tool.name));
        found.extend(check_tool(tool).into_iter().map(|message| (about.clone(), message)));
    }
    for prompt in lists.prompts.iter().flatten() {
        let about = format!("prompt `{}`", escape_to_line(&prompt.name));
        if is_undescribed(prompt.description.as_deref(), &prompt.name) {
            found.push((about.clone(), "it has no description".to_owned()));
        }
        let arguments = prompt.arguments.iter().flatten();
        let silent = arguments.filter(|argument| is_undescribed(argument.description.as_deref(), ""));
        let silent: Vec<_> = silent.map(|argument| &*argument.name).collect();
        found.extend(undescribed_message(&silent).map(|message| (about, message)));
    }
    for template in lists.templates.iter().flatten() {
        if is_undescribed(template.description.as_deref(), &template.name) {
            let about = format!("resource template `{}`", escape_to_line(&template.uri_template));
            found.push((about, "it has no description".to_owned()));
        }
    }
    found
}

fn check_all_tools(tools: &[Tool], found: &mut Vec<(String, String)>) {
    let about = || "the tools".to_owned();
    if tools.len() > MANY_TOOLS {
        found.push((about(), format!("there are {}; models choose badly among so many tools", tools.len())));
    }
    let text: usize =
        tools.iter().map(|tool| RawJson::encoded(tool, ProtocolVersion::LATEST).as_bytes().len()).sum();
    if text > LARGE_DEFINITIONS {
        let size = format_size(text as u64);
        found.push((
            about(),
            format!("their descriptions take {size}, which every conversation with a model sends"),
        ));
    }
    let mut names = HashSet::new();
    for tool in tools.iter().filter(|tool| !names.insert(&tool.name)) {
        found.push((about(), format!("two have the name `{}`", escape_to_line(&tool.name))));
    }
}

pub(crate) fn check_tool(tool: &Tool) -> Vec<String> {
    let mut found = Vec::new();
    let is_plain =
        tool.name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
    if !is_plain || tool.name.is_empty() || tool.name.len() > MAX_NAME {
        found.push(format!("some models accept only names of 1 to {MAX_NAME} letters, digits, `_` and `-`"));
    }
    if is_undescribed(tool.description.as_deref(), "") {
        found.push("it has no description: a model cannot know when to use it".to_owned());
    } else if is_undescribed(tool.description.as_deref(), &tool.name) {
        found.push("its description is only its name: a model cannot know when to use it".to_owned());
    } else if tool.description().chars().count() > MAX_DESCRIPTION {
        found.push(format!(
            "its description is longer than the {MAX_DESCRIPTION} characters that some models accept"
        ));
    }
    check_schema(&tool.input_schema, &mut found);
    found
}

fn check_schema(text: &RawJson, found: &mut Vec<String>) {
    let tree: Value = text.decode().unwrap_or_default();
    if tree["type"] != "object" {
        found.push("the schema of its arguments must have `\"type\": \"object\"`".to_owned());
    }
    let unions = ["anyOf", "oneOf", "allOf"].into_iter().filter(|name| tree.get(name).is_some());
    let unions: Vec<_> = unions.map(|name| format!("`{name}`")).collect();
    if !unions.is_empty() {
        found.push(format!("some models refuse {} at the root of a schema", unions.join(" and ")));
    }
    if refers_outside(&tree) {
        found.push("its schema refers to another document, which models cannot read".to_owned());
    }
    let schema = parse_schema(text);
    let properties = arguments(&schema, text);
    for name in schema.required() {
        if properties.iter().all(|(known, _)| *known != name) {
            found.push(format!(
                "its schema requires the argument `{}`, but does not describe it",
                escape_to_line(&name)
            ));
        }
    }
    let silent = properties.iter().filter(|(_, schema)| is_undescribed(schema.description(), ""));
    let silent: Vec<_> = silent.map(|(name, _)| &**name).collect();
    found.extend(undescribed_message(&silent));
    for (name, schema) in &properties {
        if allows_anything(schema) {
            found.push(format!("its argument `{}` has no type: add one", escape_to_line(name)));
        }
        if allows_type(schema, Types::ARRAY) && allows_anything(&schema.items()) {
            found.push(format!(
                "its argument `{}` is a list whose items have no type; some models require `items`",
                escape_to_line(name)
            ));
        }
    }
}

/// Returns whether a description is missing, or only repeats the name.
fn is_undescribed(description: Option<&str>, name: &str) -> bool {
    description.map(str::trim).is_none_or(|text| text.is_empty() || text == name)
}

fn undescribed_message(names: &[&str]) -> Option<String> {
    let shown: Vec<_> = names.iter().map(|name| format!("`{}`", escape_to_line(name))).collect();
    match &*shown {
        [] => None,
        [one] => Some(format!("its argument {one} has no description")),
        several => Some(format!("its arguments {} have no description", several.join(", "))),
    }
}

fn refers_outside(tree: &Value) -> bool {
    let here = tree.get("$ref").and_then(Value::as_str);
    here.is_some_and(|reference| !reference.starts_with('#'))
        || tree.as_object().is_some_and(|members| members.values().any(refers_outside))
        || tree.as_array().is_some_and(|items| items.iter().any(refers_outside))
}
