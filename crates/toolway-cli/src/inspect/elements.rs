//! How are the elements of a server described for the page?

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolway::client::escape_for_terminal;
use toolway::client::record::{Direction, FrameBody, RecordedFrame};
use toolway::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway::{Client, Code, ProtocolVersion, RawJson};

use super::changes::{NamedElement, changes};
use super::fields::tool_fields;
use super::object::object;
use super::provider_tools::tool_tokens;
use super::token_count::add_tokens;
use crate::arguments::tool_line;
use crate::doctor::findings::check_tool;
use crate::failure::chain;
use crate::location::listing::read_all;

/// The lists of a server, and how they are described.
#[derive(Default)]
pub(super) struct Elements {
    pub(super) tools: Vec<Tool>,
    resources: Vec<NamedElement>,
    templates: Vec<NamedElement>,
    prompts: Vec<NamedElement>,
    /// The descriptions of all lists, the errors of lists, and the sum of the tokens.
    pub(super) description: Value,
}

impl Elements {
    /// Reads all lists that the server has.
    pub(super) async fn read(client: &Client) -> Self {
        let can = client.server_capabilities();
        let mut errors = Map::new();
        let mut elements = Self::default();
        if can.tools.is_some() {
            elements.tools = kept("tools", client.list_tools().all().await, &mut errors);
        }
        let (mut resources, mut templates, mut prompts) = (Vec::new(), Vec::new(), Vec::new());
        if can.resources.is_some() {
            resources = kept("resources", client.resources().await, &mut errors);
            templates = kept("templates", read_all(client.list_resource_templates()).await, &mut errors);
        }
        if can.prompts.is_some() {
            prompts = kept("prompts", client.prompts().await, &mut errors);
        }
        elements.resources = named(&resources, |resource: &Resource| resource.uri.clone());
        elements.templates = named(&templates, |template: &ResourceTemplate| template.uri_template.clone());
        elements.prompts = named(&prompts, |prompt: &Prompt| prompt.name.clone());
        // Counting the tokens of thousands of tools takes a while.
        let described = tokio::task::spawn_blocking(move || {
            elements.description = describe(&elements.tools, &resources, &templates, &prompts, errors);
            elements
        });
        described.await.expect("the lists can be described")
    }

    /// The elements of a recording: as far as the lists are among its frames.
    pub(super) fn of_recording(frames: &[Arc<RecordedFrame>]) -> Self {
        let (mut tools, mut resources, mut templates, mut prompts) = (
            Vec::<Tool>::new(),
            Vec::<Resource>::new(),
            Vec::<ResourceTemplate>::new(),
            Vec::<Prompt>::new(),
        );
        for frame in frames {
            let (Direction::In, FrameBody::Json(text)) = (frame.direction, &frame.body) else { continue };
            let Ok(reply) = text.decode::<ListReply>() else { continue };
            let ListResult { tools: t, resources: r, resource_templates: u, prompts: p } = reply.result;
            extend(&mut tools, t, |tool| &tool.name);
            extend(&mut resources, r, |resource| &resource.uri);
            extend(&mut templates, u, |template| &template.uri_template);
            extend(&mut prompts, p, |prompt| &prompt.name);
        }
        let description = describe(&tools, &resources, &templates, &prompts, Map::new());
        Self { tools, description, ..Self::default() }
    }

    /// Returns what is different from former lists; `None` if nothing is.
    pub(super) fn changes_since(&self, former: &Self) -> Option<Value> {
        let tools = |list: &[Tool]| named(list, |tool: &Tool| tool.name.clone());
        let mut all = Map::new();
        for (name, was, is) in [
            ("tools", &tools(&former.tools), &tools(&self.tools)),
            ("resources", &former.resources, &self.resources),
            ("templates", &former.templates, &self.templates),
            ("prompts", &former.prompts, &self.prompts),
        ] {
            if let Some(found) = changes(was, is) {
                all.insert(name.to_owned(), found);
            }
        }
        (!all.is_empty()).then_some(Value::Object(all))
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// A reply that may be a page of a list.
#[derive(Deserialize)]
struct ListReply {
    result: ListResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ListResult {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    resource_templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
}

/// Adds a page of a list. An element that is there already is replaced: the list was read again.
fn extend<T>(list: &mut Vec<T>, page: Vec<T>, name: impl Fn(&T) -> &String) {
    for element in page {
        match list.iter_mut().find(|known| name(known) == name(&element)) {
            Some(known) => *known = element,
            None => list.push(element),
        }
    }
}

/// Returns a list that could be read. An error is kept, unless the server does not know the method.
fn kept<T>(name: &str, list: toolway::Result<Vec<T>>, errors: &mut Map<String, Value>) -> Vec<T> {
    match list {
        Ok(list) => list,
        Err(error) => {
            let words = match error.code() {
                Some(Code::METHOD_NOT_FOUND) => {
                    "the server declares this list, but does not know it".to_owned()
                }
                _ => chain(&error),
            };
            errors.insert(name.to_owned(), words.into());
            Vec::new()
        }
    }
}

fn named<T: toolway_protocol::json::Encode>(list: &[T], name: impl Fn(&T) -> String) -> Vec<NamedElement> {
    list.iter().map(|element| (name(element), RawJson::encoded(element, ProtocolVersion::LATEST))).collect()
}

fn describe(
    tools: &[Tool],
    resources: &[Resource],
    templates: &[ResourceTemplate],
    prompts: &[Prompt],
    errors: Map<String, Value>,
) -> Value {
    let tools: Vec<Value> = tools.iter().map(describe_tool).collect();
    let mut tokens = Map::new();
    for tool in &tools {
        add_tokens(&mut tokens, &tool["tokens"]);
    }
    let resources: Vec<Value> = resources
        .iter()
        .map(|resource| {
            object! {
                "uri": resource.uri, "name": resource.name, "title": resource.title,
                "description": resource.description, "mime_type": resource.mime_type, "size": resource.size,
                "hidden": hidden(&[("name", &resource.name), ("URI", &resource.uri), ("title", text(resource.title.as_ref())), ("description", text(resource.description.as_ref()))]),
            }
        })
        .collect();
    let templates: Vec<Value> = templates
        .iter()
        .map(|template| {
            object! {
                "uri": template.uri_template, "name": template.name, "title": template.title,
                "description": template.description, "mime_type": template.mime_type,
                "variables": variables(&template.uri_template),
                "hidden": hidden(&[("name", &template.name), ("URI", &template.uri_template), ("title", text(template.title.as_ref())), ("description", text(template.description.as_ref()))]),
            }
        })
        .collect();
    let prompts: Vec<Value> = prompts
        .iter()
        .map(|prompt| {
            let arguments: Vec<Value> = prompt
                .arguments
                .iter()
                .flatten()
                .map(|argument| {
                    object! {
                        "name": argument.name, "description": argument.description,
                        "required": argument.required == Some(true),
                    }
                })
                .collect();
            object! {
                "name": prompt.name, "title": prompt.title, "description": prompt.description,
                "arguments": arguments,
                "hidden": hidden(&[("name", &prompt.name), ("title", text(prompt.title.as_ref())), ("description", text(prompt.description.as_ref()))]),
            }
        })
        .collect();
    object! {
        "tools": tools, "resources": resources, "templates": templates, "prompts": prompts, "lists": errors,
        "tokens": tokens,
    }
}

pub(super) fn describe_tool(tool: &Tool) -> Value {
    let annotations = tool.annotations.as_ref().map(|hints| {
        object! {
            "title": hints.title, "readOnlyHint": hints.read_only_hint, "destructiveHint": hints.destructive_hint,
            "idempotentHint": hints.idempotent_hint, "openWorldHint": hints.open_world_hint,
        }
    });
    let fields = tool_fields(tool);
    object! {
        "name": tool.name, "title": tool.title, "description": tool.description(), "annotations": annotations,
        "input_schema": tool.input_schema.as_str(),
        "output_schema": tool.output_schema.as_ref().map(RawJson::as_str),
        "signature": tool_line(tool), "tokens": tool_tokens(tool), "form": fields.is_some(),
        "fields": fields.unwrap_or_default(), "fits": check_tool(tool),
        "hidden": hidden(&[
            ("name", &tool.name),
            ("title", text(tool.title.as_ref())),
            ("description", tool.description()),
            ("input schema", tool.input_schema.as_str()),
        ]),
    }
}

fn text(text: Option<&String>) -> &str {
    text.map(String::as_str).unwrap_or_default()
}

/// Returns where texts have characters that a reader does not see, or that change the direction of the text.
pub(super) fn hidden(texts: &[(&str, &str)]) -> Vec<String> {
    const MAX_LISTED: usize = 20;
    let mut found = Vec::new();
    for (place, text) in texts {
        let odd = text.chars().enumerate().filter(|(_, letter)| {
            let mut one = [0; 4];
            !matches!(letter, '\n' | '\t' | '\r')
                && escape_for_terminal(letter.encode_utf8(&mut one)).len() > 4
        });
        for (at, letter) in odd.take(MAX_LISTED) {
            found.push(format!("{place}: U+{:04X} at character {}", u32::from(letter), at + 1));
        }
    }
    found.truncate(MAX_LISTED);
    found
}

/// Returns the names of the variables of a template.
fn variables(template: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in template.split('{').skip(1) {
        let Some((expression, _)) = part.split_once('}') else { continue };
        let list = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        for name in list.split(',') {
            let name = name.split(':').next().unwrap_or_default().trim_end_matches('*');
            if !name.is_empty() && names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_named_with_their_place() {
        assert_eq!(hidden(&[("name", "plain größer 日本\n")]), [""; 0]);
        assert_eq!(hidden(&[("description", "a\u{202e}b")]), ["description: U+202E at character 2"]);
    }

    #[test]
    fn the_variables_of_a_template_are_found() {
        assert_eq!(variables("notes://{a}/{+b,c*}{?d:3,a}"), ["a", "b", "c", "d"]);
    }
}
