//! Which fields does a form have, and which values do they mean? Both as the command line has them: the same descriptions,
//! the same conversions, the same words about mistakes.

use serde_json::{Map, Value};
use toolway::RawJson;
use toolway::types::{FieldKind, FormSchema, OrderedMap, Tool};
use toolway_schema::{Checker, Schema, Types};

use super::object::object;
use crate::arguments::coerce::coerce;
use crate::arguments::schema::describe_type;
use crate::arguments::{
    ArgumentNode, allows_type, arguments, find_property, insert, missing_message, parse_schema,
};
use crate::ask::field;
use crate::json;

/// Returns the fields for the arguments of a tool; `None` if the schema is not an object with named members.
pub(super) fn tool_fields(tool: &Tool) -> Option<Vec<Value>> {
    let schema = parse_schema(&tool.input_schema);
    let members = arguments(&schema, &tool.input_schema);
    let is_object = schema.types().is_none_or(|types| types.intersects(Types::OBJECT));
    if !is_object || (members.is_empty() && takes_other_members(tool)) {
        return None;
    }
    let required = schema.required();
    let fields = members.into_iter().map(|(name, member)| {
        object! {
            "required": required.contains(&name), "kind": kind(&member), "expected": describe_type(&member),
            "description": member.description(), "choices": text_choices(&member),
            "default": member.default().map(Value::to_string), "name": name,
        }
    });
    Some(fields.collect())
}

/// Returns whether the schema says itself that it takes members that it does not name. Without a word about them, a tool
/// with no named members takes no arguments.
fn takes_other_members(tool: &Tool) -> bool {
    let schema: Option<Map<String, Value>> = tool.input_schema.decode().ok();
    let says =
        |name: &str| schema.as_ref()?.get(name).filter(|value| **value != Value::Bool(false)).map(drop);
    ["additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"]
        .into_iter()
        .any(|name| says(name).is_some())
}

fn text_choices(schema: &Schema) -> Option<Vec<String>> {
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(schema.choices()?.into_iter().map(text).collect())
}

fn kind(schema: &Schema) -> &'static str {
    if schema.choices().is_some() {
        return "choice";
    }
    let names = schema.types().map(Types::names).unwrap_or_default();
    let mut names = names.into_iter().filter(|name| *name != "null");
    match (names.next(), names.next()) {
        (Some("string"), None) => "text",
        (Some("integer"), None) => "integer",
        (Some("number"), None) => "number",
        (Some("boolean"), None) => "boolean",
        (Some("array"), None) if !matches!(kind(&schema.items()), "json" | "list") => "list",
        _ => "json",
    }
}

/// Builds the arguments of a tool from texts of a form, as the command line does from words; a text is never the name of a
/// file. Returns everything that is wrong with them.
fn from_texts(tool: &Tool, texts: &[(String, String)]) -> Result<RawJson, Vec<String>> {
    let schema = parse_schema(&tool.input_schema);
    let (mut members, mut problems) = (OrderedMap::<ArgumentNode>::default(), Vec::new());
    for (name, text) in texts {
        // A name of a form is a whole name, also if it has a dot.
        let path = [name.as_str()];
        let added = find_property(&schema, &path, &tool.name).and_then(|at| {
            let wrong = |reason: String| format!("the argument `{name}`: {reason}");
            let is_list = allows_type(&at, Types::ARRAY);
            insert(&mut members, &path, coerce(text, &at).map_err(wrong)?, is_list).map_err(wrong)
        });
        problems.extend(added.err());
    }
    let is_given = |name: &String| texts.iter().any(|(known, _)| known == name);
    let missing: Vec<_> = schema.required().into_iter().filter(|name| !is_given(name)).collect();
    if !missing.is_empty() {
        problems.push(missing_message(&format!("the tool `{}`", tool.name), &missing));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    RawJson::from_value(&members).map_err(|error| vec![format!("the arguments are not valid JSON: {error}")])
}

/// The outcome of a check of arguments.
pub(super) struct CheckedArguments {
    pub(super) arguments: Option<RawJson>,
    pub(super) problems: Vec<String>,
    /// The line and the column of a mistake in JSON.
    pub(super) at: Option<(usize, usize)>,
}

impl CheckedArguments {
    /// Checks the values of a form.
    pub(super) fn of_fields(tool: &Tool, fields: &[(String, String)]) -> Self {
        match from_texts(tool, fields) {
            Ok(arguments) => Self::of_value(tool, arguments),
            Err(problems) => Self { arguments: None, problems, at: None },
        }
    }

    /// Checks a JSON text.
    pub(super) fn of_text(tool: &Tool, text: &str) -> Self {
        let text = if text.trim().is_empty() { "{}" } else { text };
        match RawJson::parse(text) {
            Ok(value) if value.is_object() => Self::of_value(tool, value),
            Ok(_) => Self {
                arguments: None,
                problems: vec!["the arguments must be a JSON object, such as {\"a\": 1}".to_owned()],
                at: None,
            },
            Err(error) => Self {
                arguments: None,
                problems: vec![format!("this is not valid JSON: {error}")],
                at: Some((error.line(), error.column())),
            },
        }
    }

    fn of_value(tool: &Tool, arguments: RawJson) -> Self {
        let problems = problems(&tool.input_schema, &arguments);
        Self { arguments: Some(arguments), problems, at: None }
    }

    pub(super) fn to_json(&self) -> Value {
        object! {
            "ok": self.arguments.is_some() && self.problems.is_empty(),
            "arguments": self.arguments.as_ref().map(json::pretty),
            "problems": self.problems,
            "at": self.at.map(|(line, column)| object! {"line": line, "column": column}),
        }
    }
}

/// Returns where a value does not fit a schema. A schema that cannot be used fits every value.
pub(super) fn problems(schema: &RawJson, value: &RawJson) -> Vec<String> {
    let (Ok(schema), Ok(value)) = (schema.decode::<Value>(), value.decode::<Value>()) else {
        return Vec::new();
    };
    match Checker::compile(&schema) {
        Ok(checker) => checker.check(&value).iter().map(ToString::to_string).collect(),
        Err(_) => Vec::new(),
    }
}

/// Returns the fields of a question.
pub(super) fn form_fields(form: &FormSchema) -> Vec<Value> {
    let fields = form.properties.0.iter().map(|(name, of)| {
        let choices = field::choices(of);
        let kind = match of.kind {
            FieldKind::Boolean => "boolean",
            FieldKind::Integer => "integer",
            FieldKind::Number => "number",
            FieldKind::Array => "list",
            _ if choices.is_empty() => "text",
            _ => "choice",
        };
        let values: Vec<_> = choices.iter().map(|choice| &choice.value).collect();
        let titles: Vec<_> = choices.iter().map(|choice| &choice.title).collect();
        object! {
            "name": name, "title": of.title, "description": of.description, "kind": kind,
            "required": form.required.iter().flatten().any(|required| required == name),
            "expected": field::expected(of), "choices": (!values.is_empty()).then_some(values),
            "choice_titles": (!titles.is_empty()).then_some(titles),
            "default": of.default.as_ref().map(Value::to_string),
            "default_text": of.default.as_ref().map(|value| field::display_value(of, value)),
        }
    });
    fields.collect()
}

/// Reads the values of a form of a question, or returns what is wrong with them.
pub(super) fn read_form(
    form: &FormSchema,
    texts: &[(String, String)],
) -> Result<Map<String, Value>, Vec<String>> {
    let (mut values, mut problems) = (Map::new(), Vec::new());
    for (name, of) in &form.properties.0 {
        let text = texts.iter().find(|(given, _)| given == name).map_or("", |(_, text)| text);
        let is_required = form.required.iter().flatten().any(|required| required == name);
        match field::read(of, text).map(|value| value.or_else(|| of.default.clone())) {
            Ok(Some(value)) => {
                values.insert(name.clone(), value);
            }
            Ok(None) if is_required => problems.push(format!("`{name}`: A value is required.")),
            Ok(None) => {}
            Err(reason) => problems.push(format!("`{name}`: {reason}")),
        }
    }
    for (name, _) in texts {
        if form.properties.0.iter().all(|(known, _)| known != name) {
            problems.push(format!("the form has no field `{name}`"));
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> Tool {
        // As text, because the order of the members is the order of the fields.
        let schema = r#"{
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 2}, "count": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}}, "mode": {"enum": ["a", "b"]}, "any": {}
            },
            "required": ["title"]
        }"#;
        Tool::new("save", RawJson::parse(schema).unwrap())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn fields_have_the_kinds_of_the_schema() {
        let fields = tool_fields(&tool()).unwrap();
        let kinds: Vec<_> = fields.iter().map(|field| field["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["text", "integer", "list", "choice", "json"]);
    }

    #[test]
    fn a_tool_without_arguments_has_an_empty_form() {
        let fields =
            |schema: Value| tool_fields(&Tool::new("t", RawJson::from(schema))).map(|fields| fields.len());
        assert_eq!(fields(json!({"type": "object"})), Some(0));
        assert_eq!(
            fields(json!({"type": "object", "properties": {}, "additionalProperties": false})),
            Some(0)
        );
        assert_eq!(fields(json!({"type": "object", "additionalProperties": {"type": "string"}})), None);
        assert_eq!(fields(json!({"type": "array"})), None);
    }

    #[test]
    fn texts_of_a_form_become_arguments_as_on_the_command_line() {
        let checked =
            CheckedArguments::of_fields(&tool(), &pairs(&[("title", "@x"), ("count", "3"), ("tags", "a,b")]));
        assert_eq!(checked.problems, [""; 0]);
        // A text is never the name of a file.
        assert_eq!(checked.arguments.unwrap().as_str(), r#"{"title":"@x","count":3,"tags":["a","b"]}"#);
    }

    #[test]
    fn all_mistakes_of_a_form_are_named() {
        let checked =
            CheckedArguments::of_fields(&tool(), &pairs(&[("count", "x"), ("mode", "c"), ("nope", "1")]));
        assert_eq!(checked.problems.len(), 4, "{:?}", checked.problems);
    }

    #[test]
    fn a_mistake_in_json_has_its_place() {
        let checked = CheckedArguments::of_text(&tool(), "{\n  \"a\": }");
        assert_eq!(checked.at, Some((2, 8)));
    }

    #[test]
    fn values_are_checked_against_the_schema() {
        let checked = CheckedArguments::of_text(&tool(), r#"{"title": "x"}"#);
        assert!(checked.arguments.is_some());
        assert_eq!(checked.problems.len(), 1, "{:?}", checked.problems);
    }
}
