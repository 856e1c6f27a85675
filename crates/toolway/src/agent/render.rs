//! How is a list of tools written for a provider?

use std::borrow::Cow;

use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use toolway_schema::dialects::Provider;

use super::schema::{Conversion, Loss};
use super::set::ToolSet;

/// A list of tools in the format of a provider, and a report of what was lost in the conversion. It serialises as the
/// list only.
///
/// ```
/// use serde_json::json;
/// use toolway::agent::{self, ToolSet};
///
/// let schema = json!({"type": "object", "properties": {"id": {"type": "string", "minLength": 1}}, "required": ["id"]});
/// let tools = ToolSet::new().with(agent::native_tool("find", "Find a thing.", schema, async |_: serde_json::Value| "here"));
/// let rendered = tools.for_openai_strict();
/// let request = json!({"model": "gpt-5", "messages": [], "tools": rendered});
/// assert_eq!(request["tools"][0]["function"]["strict"], true);
/// for loss in &rendered.losses {
///     eprintln!("{loss}"); // the tool `find`: `minLength` at `#/properties/id` is lost: it is not supported
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RenderedTools {
    /// The list, which is the value of `tools` in a request to the provider.
    pub tools: Vec<Value>,
    /// The parts of the tools' definitions that the list does not contain.
    pub losses: Vec<Loss>,
}

impl Serialize for RenderedTools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.tools.serialize(serializer)
    }
}

/// Methods that convert the list to the format of a provider. The conversion may change names and schemas. When the
/// model calls a tool, the same [`ToolSet`] reverses these changes, for every provider.
impl ToolSet {
    /// Returns the tools for OpenAI's chat completions, without `strict`. The model usually follows the schemas, but
    /// OpenAI does not enforce it.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::agent::{self, ToolSet};
    ///
    /// let add = agent::native_tool("add", "Add.", json!({"type": "object"}), async |_: serde_json::Value| "5");
    /// let tools = ToolSet::new().with(add).for_openai().tools;
    /// let parameters = json!({"type": "object", "properties": {}});
    /// let function = json!({"name": "add", "description": "Add.", "parameters": parameters});
    /// assert_eq!(tools, [json!({"type": "function", "function": function})]);
    /// ```
    pub fn for_openai(&self) -> RenderedTools {
        self.render(Provider::OpenAi, chat)
    }

    /// Returns the tools for OpenAI's chat completions, with `strict`: the model can only write arguments that the
    /// schemas allow.
    ///
    /// The converted schemas forbid additional properties, and an optional argument may be null instead of missing. If
    /// a schema cannot be converted this way, its tool is listed with `strict` off, and the losses contain the reason.
    pub fn for_openai_strict(&self) -> RenderedTools {
        self.render(Provider::OpenAiStrict, chat)
    }

    /// Returns the tools for OpenAI's Responses API. `strict` is the default there, so the list turns it off.
    pub fn for_openai_responses(&self) -> RenderedTools {
        self.render(Provider::OpenAi, responses)
    }

    /// Returns the tools for OpenAI's Responses API, with `strict`; see
    /// [`for_openai_strict`](ToolSet::for_openai_strict).
    pub fn for_openai_responses_strict(&self) -> RenderedTools {
        self.render(Provider::OpenAiStrict, responses)
    }

    /// Returns the tools for Anthropic.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::agent::{self, ToolSet};
    ///
    /// let add = agent::native_tool("add", "Add.", json!({"type": "object"}), async |_: serde_json::Value| "5");
    /// let tools = ToolSet::new().with(add).for_anthropic().tools;
    /// let schema = json!({"type": "object", "properties": {}});
    /// assert_eq!(tools, [json!({"name": "add", "description": "Add.", "input_schema": schema})]);
    /// ```
    pub fn for_anthropic(&self) -> RenderedTools {
        self.render(Provider::Anthropic, |function| {
            let mut tool = base_members(&function);
            tool.insert("input_schema".to_owned(), function.converted.schema.unwrap_or_default());
            tool.into()
        })
    }

    /// Returns the tools for Gemini. The list has one entry, which contains all functions.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::agent::{self, ToolSet};
    ///
    /// let schema = json!({"type": "object", "properties": {"a": {"type": ["integer", "null"]}}});
    /// let add = agent::native_tool("add", "Add.", schema, async |_: serde_json::Value| "5");
    /// let tools = ToolSet::new().with(add).for_gemini().tools;
    /// let parameters = json!({"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "nullable": true}}});
    /// let function = json!({"name": "add", "description": "Add.", "parameters": parameters});
    /// assert_eq!(tools, [json!({"functionDeclarations": [function]})]);
    /// ```
    pub fn for_gemini(&self) -> RenderedTools {
        let mut rendered = self.render(Provider::Gemini, |function| {
            let mut tool = base_members(&function);
            tool.extend(function.converted.schema.map(|schema| ("parameters".to_owned(), schema)));
            tool.into()
        });
        if !rendered.tools.is_empty() {
            let functions = std::mem::take(&mut rendered.tools);
            rendered.tools.push(json!({"functionDeclarations": functions}));
        }
        rendered
    }

    fn render(&self, provider: Provider, shape: impl Fn(Function<'_>) -> Value) -> RenderedTools {
        let mut rendered = RenderedTools { tools: Vec::with_capacity(self.len()), losses: Vec::new() };
        let renamed = self.renamed().iter().map(|renamed| {
            let why = format!(
                "another tool is called `{}`, so this one is called `{}`",
                renamed.name, renamed.new_name
            );
            Loss::of_tool(&renamed.new_name, "name", why)
        });
        rendered.losses.extend(renamed);
        for (index, tool) in self.iter().enumerate() {
            let name = self.name_of(provider, index);
            let mut converted = self.schema_of(index).convert(provider);
            for mut loss in std::mem::take(&mut converted.losses) {
                tool.name().clone_into(&mut loss.tool);
                rendered.losses.push(loss);
            }
            if name != tool.name() {
                let why = format!("it is not allowed, so the tool is called `{name}`");
                rendered.losses.push(Loss::of_tool(tool.name(), "name", why));
            }
            let description = truncate_description(provider, tool.description());
            if description != tool.description() {
                let why = format!(
                    "it is longer than the maximum of {MAX_DESCRIPTION} characters; the rest is cut off"
                );
                rendered.losses.push(Loss::of_tool(tool.name(), "description", why));
            }
            rendered.tools.push(shape(Function { provider, name, description: &description, converted }));
        }
        rendered
    }
}

/// A tool while it is converted.
struct Function<'t> {
    provider: Provider,
    name: &'t str,
    description: &'t str,
    converted: Conversion,
}

/// Truncates a description to the limit of the provider. With a longer description, the provider would refuse the whole
/// request.
fn truncate_description(provider: Provider, description: &str) -> Cow<'_, str> {
    let is_limited = matches!(provider, Provider::OpenAi | Provider::OpenAiStrict);
    match description.char_indices().nth(MAX_DESCRIPTION - 1) {
        Some((at, last)) if is_limited && description.len() > at + last.len_utf8() => {
            Cow::Owned(format!("{}…", &description[..at]))
        }
        _ => Cow::Borrowed(description),
    }
}

fn base_members(function: &Function<'_>) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("name".to_owned(), function.name.into());
    // Some providers refuse an empty description.
    if !function.description.is_empty() {
        members.insert("description".to_owned(), function.description.into());
    }
    members
}

fn chat(function: Function<'_>) -> Value {
    let mut members = base_members(&function);
    // In chat completions `strict` is off by default.
    if function.provider == Provider::OpenAiStrict {
        members.insert("strict".to_owned(), function.converted.is_strict.into());
    }
    members.insert("parameters".to_owned(), function.converted.schema.unwrap_or_default());
    json!({"type": "function", "function": members})
}

fn responses(function: Function<'_>) -> Value {
    let mut members = base_members(&function);
    members.insert("type".to_owned(), "function".into());
    members.insert("strict".to_owned(), function.converted.is_strict.into());
    members.insert("parameters".to_owned(), function.converted.schema.unwrap_or_default());
    members.into()
}

/// The maximum length of a function's description at OpenAI, in characters.
const MAX_DESCRIPTION: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Effect, native_tool};

    fn tools() -> ToolSet {
        let text =
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let map = json!({"type": "object", "properties": {"map": {"type": "object"}}});
        ToolSet::new().with(native_tool("say.it", "Say it.", text, async |_: Value| ())).with(native_tool(
            "free",
            "",
            map,
            async |_: Value| (),
        ))
    }

    #[test]
    fn every_provider_has_its_shape() {
        let tools = tools();
        let name = tools.name_for(Provider::OpenAi, "say.it").unwrap().to_owned();
        let text = json!({"type": "string"});
        let open = json!({"type": "object", "properties": {"text": text}, "required": ["text"]});
        let closed = json!({"type": "object", "properties": {"text": text}, "required": ["text"], "additionalProperties": false});

        let chat = tools.for_openai().tools;
        let function = json!({"name": name, "description": "Say it.", "parameters": open});
        assert_eq!(chat[0], json!({"type": "function", "function": function}));
        assert_eq!(chat[1]["function"].get("description"), None, "an empty one is none");

        let strict = tools.for_openai_strict();
        let function = json!({"name": name, "description": "Say it.", "strict": true, "parameters": closed});
        assert_eq!(strict.tools[0], json!({"type": "function", "function": function}));
        assert_eq!(strict.tools[1]["function"]["strict"], false);
        let told = strict.losses.iter().find(|loss| loss.what == "strict").unwrap();
        assert_eq!((&*told.tool, &*told.pointer), ("free", "/properties/map"));

        let flat = json!({"type": "function", "name": name, "description": "Say it.", "strict": false, "parameters": open});
        assert_eq!(tools.for_openai_responses().tools[0], flat);
        assert_eq!(tools.for_openai_responses_strict().tools[0]["strict"], true);
        assert_eq!(tools.for_openai_responses_strict().tools[1]["strict"], false);

        let anthropic = json!({"name": name, "description": "Say it.", "input_schema": open});
        assert_eq!(tools.for_anthropic().tools[0], anthropic);

        let gemini = tools.for_gemini().tools;
        let functions = gemini[0]["functionDeclarations"].as_array().unwrap();
        assert_eq!((gemini.len(), functions.len()), (1, 2));
        assert_eq!(functions[0]["name"], "say.it", "dots are allowed there");
        assert_eq!(functions[0]["parameters"]["type"], "OBJECT");
        assert!(ToolSet::new().for_gemini().tools.is_empty());
    }

    #[test]
    fn a_name_that_is_changed_is_told() {
        let losses = tools().for_openai().losses;
        let told: Vec<_> = losses.iter().filter(|loss| loss.what == "name").map(|loss| &*loss.tool).collect();
        assert_eq!(told, ["say.it"]);
        assert_eq!(losses[0].effect, Effect::AnnotationOnly);
    }

    #[test]
    fn a_description_that_is_too_long_is_cut_where_it_would_be_refused() {
        for (length, is_cut) in [(1023, false), (1024, false), (1025, true), (5000, true)] {
            let words = "é".repeat(length);
            let schema = json!({"type": "object"});
            let tools = ToolSet::new().with(native_tool("long", &words, schema, async |_: Value| ()));
            let chat = |rendered: &RenderedTools| rendered.tools[0]["function"]["description"].clone();
            let flat = |rendered: &RenderedTools| rendered.tools[0]["description"].clone();
            for (rendered, description) in [
                (tools.for_openai(), chat as fn(&RenderedTools) -> Value),
                (tools.for_openai_strict(), chat),
                (tools.for_openai_responses(), flat),
                (tools.for_openai_responses_strict(), flat),
            ] {
                let told = rendered.losses.iter().find(|loss| loss.what == "description");
                let description = description(&rendered);
                let description = description.as_str().unwrap();
                if is_cut {
                    assert_eq!(description, format!("{}…", "é".repeat(1023)));
                    assert_eq!(told.unwrap().tool, "long");
                } else {
                    assert_eq!((description, told), (&*words, None));
                }
            }
            assert_eq!(flat(&tools.for_anthropic()), *words, "others take it");
        }
    }

    #[test]
    fn it_serialises_as_the_list() {
        let rendered = tools().for_anthropic();
        assert_eq!(json!({"tools": rendered}), json!({"tools": rendered.tools}));
    }
}
