//! How is the call of a tool described in words?

use std::fmt::Write;

use toolway::types::{Prompt, Tool};
use toolway_schema::{Schema, Types};

use super::schema::{arguments, describe_type, parse_schema, value_text};
use crate::terminal::escape_to_line;

/// One argument, for a table.
struct Row {
    name: String,
    is_required: bool,
    /// The placeholder of the value: `NUMBER`.
    placeholder: String,
    /// The allowed values: `number, required`.
    type_text: String,
    description: String,
}

/// Returns the call of a tool on one line: `add a=NUMBER b=NUMBER`.
pub(crate) fn tool_line(tool: &Tool) -> String {
    line(&tool.name, &rows_of_tool(tool))
}

/// Returns the call of a prompt on one line.
pub(crate) fn prompt_line(prompt: &Prompt) -> String {
    line(&prompt.name, &rows_of_prompt(prompt))
}

/// Describes the call of a tool and each of its arguments.
pub(crate) fn tool_usage(tool: &Tool) -> String {
    table(&tool.name, tool.description(), &rows_of_tool(tool))
}

/// Describes the call of a prompt and each of its arguments.
pub(crate) fn prompt_usage(prompt: &Prompt) -> String {
    table(&prompt.name, prompt.description.as_deref().unwrap_or_default(), &rows_of_prompt(prompt))
}

fn rows_of_tool(tool: &Tool) -> Vec<Row> {
    let schema = parse_schema(&tool.input_schema);
    let required = schema.required();
    let rows = arguments(&schema, &tool.input_schema).into_iter().map(|(name, property)| {
        let is_required = required.contains(&name);
        let mut about = describe_type(&property);
        match property.default() {
            _ if is_required => about.push_str(", required"),
            Some(default) if !default.is_null() => {
                let _ = write!(about, ", default {}", value_text(default));
            }
            _ => {}
        }
        let description = property.description().unwrap_or_default().to_owned();
        Row { name, is_required, placeholder: placeholder(&property), type_text: about, description }
    });
    rows.collect()
}

fn placeholder(schema: &Schema) -> String {
    const MAX_CHOICES: usize = 4;
    if let Some(choices) = schema.choices() {
        let words: Vec<_> = choices.iter().take(MAX_CHOICES).map(value_text).collect();
        return if choices.len() > MAX_CHOICES {
            format!("{}|…", words.join("|"))
        } else {
            words.join("|")
        };
    }
    let names = schema.types().map(Types::names).unwrap_or_default();
    let mut names = names.into_iter().filter(|name| *name != "null");
    match (names.next(), names.next()) {
        (Some("array"), None) => {
            let items = schema.items();
            let names = items.types().map(Types::names).unwrap_or_default();
            match names.first() {
                Some(&("array" | "object")) | None => "JSON".to_owned(),
                Some(_) => format!("{},…", placeholder(&items)),
            }
        }
        (Some("object"), None) => "JSON".to_owned(),
        (Some(name), None) => name.to_uppercase(),
        _ => "VALUE".to_owned(),
    }
}

fn rows_of_prompt(prompt: &Prompt) -> Vec<Row> {
    let rows = prompt.arguments.iter().flatten().map(|argument| {
        let is_required = argument.required == Some(true);
        Row {
            name: argument.name.clone(),
            is_required,
            placeholder: "TEXT".to_owned(),
            type_text: if is_required { "required".to_owned() } else { "optional".to_owned() },
            description: argument.description.clone().unwrap_or_default(),
        }
    });
    rows.collect()
}

fn line(name: &str, rows: &[Row]) -> String {
    let mut line = escape_to_line(name);
    for Row { name, is_required, placeholder, .. } in rows {
        let (open, close) = if *is_required { ("", "") } else { ("[", "]") };
        let _ = write!(line, " {open}{name}={placeholder}{close}");
    }
    line
}

fn table(name: &str, description: &str, rows: &[Row]) -> String {
    let mut words = line(name, rows);
    if !description.is_empty() {
        for line in description.trim().lines() {
            let _ = write!(words, "\n  {}", line.trim_end());
        }
    }
    let longest = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0);
    let (names, abouts) = (longest(|row| &row.name), longest(|row| &row.type_text).min(MAX_TYPE_WIDTH));
    for (index, Row { name, type_text: about, description, .. }) in rows.iter().enumerate() {
        words.push_str(if index == 0 { "\n\n" } else { "\n" });
        let row = format!("  {name:names$}  {about:abouts$}  {}", escape_to_line(description));
        words.push_str(row.trim_end());
    }
    words
}

/// The maximum width of the second column.
const MAX_TYPE_WIDTH: usize = 32;
