//! How is the call of a tool described in words?

use std::fmt::Write;

use toolway::types::{Prompt, Tool};
use toolway_schema::{Schema, Types};

use super::schema::{arguments, read, shown, words};
use crate::terminal::neutral_line;

/// One argument, for a table.
struct Row {
    name: String,
    is_required: bool,
    /// The placeholder of the value: `NUMBER`.
    placeholder: String,
    /// The allowed values: `number, required`.
    about: String,
    description: String,
}

/// Returns the call of a tool on one line: `add a=NUMBER b=NUMBER`.
pub(crate) fn one_line(tool: &Tool) -> String {
    line(&tool.name, &rows_of_tool(tool))
}

/// Returns the call of a prompt on one line.
pub(crate) fn prompt_line(prompt: &Prompt) -> String {
    line(&prompt.name, &rows_of_prompt(prompt))
}

/// Describes the call of a tool and each of its arguments.
pub(crate) fn of_tool(tool: &Tool) -> String {
    table(&tool.name, tool.description(), &rows_of_tool(tool))
}

/// Describes the call of a prompt and each of its arguments.
pub(crate) fn of_prompt(prompt: &Prompt) -> String {
    table(&prompt.name, prompt.description.as_deref().unwrap_or_default(), &rows_of_prompt(prompt))
}

fn rows_of_tool(tool: &Tool) -> Vec<Row> {
    let schema = read(&tool.input_schema);
    let required = schema.required();
    let rows = arguments(&schema, &tool.input_schema).into_iter().map(|(name, property)| {
        let is_required = required.contains(&name);
        let mut about = words(&property);
        match property.default() {
            _ if is_required => about.push_str(", required"),
            Some(default) if !default.is_null() => {
                let _ = write!(about, ", default {}", shown(default));
            }
            _ => {}
        }
        let description = property.description().unwrap_or_default().to_owned();
        Row { name, is_required, placeholder: placeholder(&property), about, description }
    });
    rows.collect()
}

fn placeholder(schema: &Schema) -> String {
    const MOST: usize = 4;
    if let Some(choices) = schema.choices() {
        let words: Vec<_> = choices.iter().take(MOST).map(shown).collect();
        return if choices.len() > MOST { format!("{}|…", words.join("|")) } else { words.join("|") };
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
            about: if is_required { "required".to_owned() } else { "optional".to_owned() },
            description: argument.description.clone().unwrap_or_default(),
        }
    });
    rows.collect()
}

fn line(name: &str, rows: &[Row]) -> String {
    let mut line = neutral_line(name);
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
    let (names, abouts) = (longest(|row| &row.name), longest(|row| &row.about).min(MOST_ABOUT));
    for (index, Row { name, about, description, .. }) in rows.iter().enumerate() {
        words.push_str(if index == 0 { "\n\n" } else { "\n" });
        let row = format!("  {name:names$}  {about:abouts$}  {}", neutral_line(description));
        words.push_str(row.trim_end());
    }
    words
}

/// The maximum width of the second column.
const MOST_ABOUT: usize = 32;
