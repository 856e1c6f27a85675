//! Which call does the page want?

use std::time::Duration;

use serde_json::Value;
use toolway::RawJson;
use toolway_protocol::uri_template::UriTemplate;

use super::elements::Elements;
use super::object::ToJson;
use super::request_members::RequestMembers;
use super::web::Refusal;

/// The longest time limit of a call, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// A call that the page wants.
pub(super) struct CallRequest {
    pub(super) server: usize,
    kind: String,
    name: String,
    uri: String,
    /// The template of a resource, instead of its URI.
    template: String,
    arguments: Option<String>,
    argument: String,
    typed: String,
    pub(super) timeout: Option<Duration>,
    meta: Option<String>,
    pub(super) answers: Vec<KeptAnswer>,
}

impl CallRequest {
    pub(super) fn read(mut members: RequestMembers) -> Result<Self, Refusal> {
        // The requests about tools name one as `tool`.
        let tool = members.optional_text("tool")?;
        let mut answers = Vec::new();
        for answer in members.objects("answers")? {
            answers.push(KeptAnswer::read(answer)?);
        }
        let limit = members.optional_number("timeout_ms")?;
        Ok(Self {
            server: members.server()?,
            kind: if tool.is_some() { "tool".to_owned() } else { members.text("kind")? },
            name: match tool {
                Some(name) => name,
                None => members.text_or_empty("name")?,
            },
            uri: members.text_or_empty("uri")?,
            template: members.text_or_empty("template")?,
            arguments: members.optional_text("arguments")?,
            argument: members.text_or_empty("argument")?,
            typed: members.text_or_empty("typed")?,
            timeout: limit.map(|limit| Duration::from_millis(limit.clamp(1, MAX_TIMEOUT_MS))),
            meta: members.optional_text("meta")?,
            answers,
        })
    }
}

/// An answer that the user has kept for the next call.
#[derive(Clone)]
pub(super) struct KeptAnswer {
    pub(super) message: String,
    pub(super) action: String,
    pub(super) fields: Option<Vec<(String, String)>>,
    pub(super) content: Option<String>,
}

impl KeptAnswer {
    fn read(mut members: RequestMembers) -> Result<Self, Refusal> {
        Ok(Self {
            message: members.text("message")?,
            action: members.text("action")?,
            fields: members.pairs("fields")?,
            content: members.optional_text("content")?,
        })
    }
}

/// The request of a call, checked.
#[derive(Debug, Clone)]
pub(super) enum CallKind {
    Tool {
        name: String,
        arguments: RawJson,
        meta: Option<serde_json::Map<String, Value>>,
        /// The schema that the result must fit.
        output_schema: Option<RawJson>,
    },
    Resource {
        uri: String,
    },
    Prompt {
        name: String,
        arguments: Vec<(String, String)>,
    },
    Complete {
        name: String,
        is_template: bool,
        argument: String,
        typed: String,
        known: Vec<(String, String)>,
    },
}

impl CallRequest {
    /// Reads what is to be called.
    pub(super) fn kind(&self, elements: &Elements) -> Result<CallKind, Refusal> {
        let texts = || -> Result<Vec<(String, String)>, Refusal> {
            let Some(text) = &self.arguments else { return Ok(Vec::new()) };
            let arguments: serde_json::Map<String, Value> = serde_json::from_str(text)
                .map_err(|error| Refusal::usage(format!("the arguments are not a JSON object: {error}")))?;
            let text = |value: Value| match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Ok(arguments.into_iter().map(|(name, value)| (name, text(value))).collect())
        };
        Ok(match self.kind.as_str() {
            "tool" => {
                CallKind::Tool {
                    name: self.name.clone(),
                    arguments: RawJson::parse(self.arguments.as_deref().unwrap_or("{}"))
                        .ok()
                        .filter(RawJson::is_object)
                        .ok_or_else(|| Refusal::usage("the arguments are not a JSON object"))?,
                    meta: match &self.meta {
                        None => None,
                        Some(text) => Some(serde_json::from_str(text).map_err(|error| {
                            Refusal::usage(format!("`_meta` is not a JSON object: {error}"))
                        })?),
                    },
                    output_schema: elements.tool(&self.name).and_then(|tool| tool.output_schema.clone()),
                }
            }
            "resource" if !self.template.is_empty() => {
                CallKind::Resource { uri: expand(&self.template, texts()?)? }
            }
            "resource" => CallKind::Resource { uri: self.uri.clone() },
            "prompt" => CallKind::Prompt { name: self.name.clone(), arguments: texts()? },
            "complete" => CallKind::Complete {
                is_template: !self.template.is_empty() || !self.uri.is_empty(),
                name: [&self.template, &self.uri, &self.name]
                    .into_iter()
                    .find(|name| !name.is_empty())
                    .cloned()
                    .unwrap_or_default(),
                argument: self.argument.clone(),
                typed: self.typed.clone(),
                known: texts()?,
            },
            other => {
                return Err(Refusal::usage(format!(
                    "`kind` is one of tool, resource, prompt, complete, not {other:?}"
                )));
            }
        })
    }
}

/// Returns the URI that a template and its values give.
fn expand(template: &str, texts: Vec<(String, String)>) -> Result<String, Refusal> {
    let template = UriTemplate::parse(template)
        .map_err(|error| Refusal::usage(format!("this is not a URI template: {error}")))?;
    let missing: Vec<_> =
        template.variables().filter(|name| texts.iter().all(|(known, _)| known != name)).collect();
    if !missing.is_empty() {
        return Err(Refusal::usage(format!("the template needs values for {}", missing.join(", "))));
    }
    Ok(template.expand(&texts.into_iter().collect()))
}

impl CallKind {
    pub(super) fn label(&self) -> (&'static str, &str) {
        match self {
            Self::Tool { name, .. } => ("tool", name),
            Self::Resource { uri } => ("resource", uri),
            Self::Prompt { name, .. } => ("prompt", name),
            Self::Complete { name, .. } => ("complete", name),
        }
    }

    /// Returns the method of the request, and the element that it names.
    pub(super) fn request(&self) -> (&'static str, &str) {
        match self {
            Self::Tool { name, .. } => ("tools/call", name),
            Self::Resource { uri } => ("resources/read", uri),
            Self::Prompt { name, .. } => ("prompts/get", name),
            Self::Complete { .. } => ("completion/complete", ""),
        }
    }

    /// Returns the arguments as the text of a JSON object.
    pub(super) fn arguments(&self) -> String {
        let object = |pairs: &[(String, String)]| {
            // Inserted one by one, as in all maps here: `collect` would sort, with code for each type of iterator.
            let mut members = serde_json::Map::new();
            members.extend(pairs.iter().map(|(name, text)| (name.clone(), text.to_json())));
            Value::Object(members).to_string()
        };
        match self {
            Self::Tool { arguments, .. } => arguments.as_str().to_owned(),
            Self::Resource { .. } => "{}".to_owned(),
            Self::Prompt { arguments, .. } => object(arguments),
            Self::Complete { known, .. } => object(known),
        }
    }
}
