//! How is a form filled in, line by line?

use serde_json::{Map, Value};
use toolway::client::Answer;
use toolway::types::{Field, FormSchema};

use super::field::{choices, display_value, expected, read};
use super::line::{confirm, next_line};
use crate::terminal::{escape_to_line, quote_lines};
use crate::typed_lines::Lines;

/// Asks for each field, shows all values for confirmation, and returns the answer.
pub(super) async fn fill(
    message: &str,
    form: &FormSchema,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Answer {
    say(&format!("\n{}", quote_lines("The server asks: ", "  | ", message)));
    let answer = if form.properties.0.is_empty() {
        // A form without fields asks for consent.
        let agreed = confirm("Do you agree? (y/n) ", None, lines, say).await;
        agreed.map(|yes| if yes { Answer::accept(Map::new()) } else { Answer::decline() })
    } else {
        ask_fields(form, lines, say).await.map(Answer::accept)
    };
    answer.unwrap_or_else(|answer| answer)
}

/// Asks for all fields until the user confirms them. If the user declines or cancels, returns that as the answer to the
/// whole form.
async fn ask_fields(
    form: &FormSchema,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<Map<String, Value>, Answer> {
    let fields = &form.properties.0;
    say("(Enter accepts the value in brackets; :d declines, :c cancels.)\n");
    loop {
        let mut answers = Map::new();
        for (name, field) in fields {
            let is_required = form.required.iter().flatten().any(|required| required == name);
            if let Some(value) = ask(name, field, is_required, lines, say).await? {
                answers.insert(name.clone(), value);
            }
        }
        if fields.len() == 1 || review(fields, &answers, lines, say).await? {
            return Ok(answers);
        }
    }
}

/// Asks for one field until its value is valid. If the user declines or cancels, returns that as the answer to the
/// whole form.
async fn ask(
    name: &str,
    field: &Field,
    is_required: bool,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<Option<Value>, Answer> {
    let title = escape_to_line(field.title.as_deref().unwrap_or(name));
    let needed = if is_required { "" } else { ", optional" };
    let title = format!("{title} ({}{needed})", expected(field));
    say(&format!("\n{}", quote_lines("", "  ", &title)));
    if let Some(description) = &field.description {
        say(&quote_lines("  ", "  ", &escape_to_line(description)));
    }
    for (number, choice) in choices(field).iter().enumerate() {
        say(&quote_lines(&format!("  {}. ", number + 1), "     ", &escape_to_line(&choice.title)));
    }
    let default =
        field.default.as_ref().map(|value| format!("[{}] ", escape_to_line(&display_value(field, value))));
    loop {
        say(&format!("> {}", default.as_deref().unwrap_or_default()));
        let line = next_line(lines).await?;
        match read(field, &line).map(|value| value.or_else(|| field.default.clone())) {
            Ok(None) if is_required => say("A value is required.\n"),
            Ok(value) => return Ok(value),
            Err(reason) => say(&format!("{reason}\n")),
        }
    }
}

/// Shows the values that will be sent. Returns `false` if the user wants to begin again.
async fn review(
    fields: &[(String, Field)],
    answers: &Map<String, Value>,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<bool, Answer> {
    say("\n");
    for (name, field) in fields {
        if let Some(value) = answers.get(name) {
            let title = escape_to_line(field.title.as_deref().unwrap_or(name));
            let value = escape_to_line(&display_value(field, value));
            say(&quote_lines("  ", "    ", &format!("{title}: {value}")));
        }
    }
    confirm("Send it? (y, or n to begin again) [y] ", Some(true), lines, say).await
}
