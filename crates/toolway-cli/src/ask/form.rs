//! How is a form filled in, line by line?

use serde_json::{Map, Value};
use toolway::client::Answer;
use toolway::types::{Field, FormSchema};

use super::field::{Entry, choices, expected, read, shown};
use super::line::{Lines, Said, hear, yes_or_no};
use crate::terminal::neutral_line;

/// Asks for each field, shows everything once more, and gives the answer.
pub(super) async fn fill(
    message: &str,
    form: &FormSchema,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Answer {
    say(&format!("\nThe server asks: {}\n", message.trim()));
    let fields = &form.properties.0;
    if fields.is_empty() {
        return confirm(lines, say).await;
    }
    say("(Enter takes what stands in brackets; :d declines, :c cancels.)\n");
    loop {
        let mut answers = Map::new();
        for (name, field) in fields {
            let is_required = form.required.iter().flatten().any(|required| required == name);
            match ask(name, field, is_required, lines, say).await {
                Ok(Some(value)) => {
                    answers.insert(name.clone(), value);
                }
                Ok(None) => {}
                Err(answer) => return answer,
            }
        }
        if fields.len() == 1 {
            return Answer::accept(answers);
        }
        match review(fields, &answers, lines, say).await {
            Ok(true) => return Answer::accept(answers),
            Ok(false) => {}
            Err(answer) => return answer,
        }
    }
}

/// A question without fields wants a yes.
async fn confirm(lines: &mut Lines, say: &mut (impl FnMut(&str) + Send)) -> Answer {
    loop {
        say("Do you agree? (y/n) ");
        match hear(lines).await {
            Said::Line(word) => match yes_or_no(&word) {
                Some(true) => return Answer::accept(Map::new()),
                Some(false) => return Answer::decline(),
                None => say("Please answer y or n.\n"),
            },
            Said::Decline => return Answer::decline(),
            Said::Cancel => return Answer::cancel(),
        }
    }
}

/// One field, as often as it takes; an error is an answer to the whole question.
async fn ask(
    name: &str,
    field: &Field,
    is_required: bool,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<Option<Value>, Answer> {
    let title = neutral_line(field.title.as_deref().unwrap_or(name));
    let needed = if is_required { "" } else { ", optional" };
    say(&format!("\n{title} ({}{needed})\n", expected(field)));
    if let Some(description) = &field.description {
        say(&format!("  {}\n", neutral_line(description)));
    }
    for (number, choice) in choices(field).iter().enumerate() {
        say(&format!("  {}. {}\n", number + 1, neutral_line(&choice.title)));
    }
    let default = field.default.as_ref().map(|value| format!("[{}] ", neutral_line(&shown(field, value))));
    loop {
        say(&format!("> {}", default.as_deref().unwrap_or_default()));
        let line = match hear(lines).await {
            Said::Line(line) => line,
            Said::Decline => return Err(Answer::decline()),
            Said::Cancel => return Err(Answer::cancel()),
        };
        match (read(field, &line), &field.default) {
            (Entry::Value(value), _) => return Ok(Some(value)),
            (Entry::Nothing, Some(default)) => return Ok(Some(default.clone())),
            (Entry::Nothing, None) if !is_required => return Ok(None),
            (Entry::Nothing, None) => say("It must be filled in.\n"),
            (Entry::Wrong(reason), _) => say(&format!("{reason}\n")),
        }
    }
}

/// Shows what will be sent; false, if it is to be written anew.
async fn review(
    fields: &[(String, Field)],
    answers: &Map<String, Value>,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<bool, Answer> {
    say("\n");
    for (name, field) in fields {
        if let Some(value) = answers.get(name) {
            let title = neutral_line(field.title.as_deref().unwrap_or(name));
            say(&format!("  {title}: {}\n", neutral_line(&shown(field, value))));
        }
    }
    loop {
        say("Send it? (y, or n to begin again) [y] ");
        match hear(lines).await {
            Said::Line(word) if word.is_empty() => return Ok(true),
            Said::Line(word) => match yes_or_no(&word) {
                Some(answer) => return Ok(answer),
                None => say("Please answer y or n.\n"),
            },
            Said::Decline => return Err(Answer::decline()),
            Said::Cancel => return Err(Answer::cancel()),
        }
    }
}
