//! How is one line of a person understood?

use toolway::client::Answer;

use crate::typed_lines::Lines;

/// Waits for a line. If the user declines or cancels, returns that as the answer to the whole question.
pub(super) async fn next_line(lines: &mut Lines) -> Result<String, Answer> {
    let Some(line) = lines.recv().await else { return Err(Answer::cancel()) };
    match line.trim() {
        ":d" => Err(Answer::decline()),
        ":c" => Err(Answer::cancel()),
        // Two colons at the beginning stand for one literal colon.
        text if text.starts_with("::") => Ok(text[1..].to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// Asks until the user answers yes or no. An empty line means the default, if there is one.
pub(super) async fn confirm(
    question: &str,
    default: Option<bool>,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<bool, Answer> {
    loop {
        say(question);
        let word = next_line(lines).await?;
        match (yes_or_no(&word), default) {
            (Some(answer), _) => return Ok(answer),
            (None, Some(default)) if word.is_empty() => return Ok(default),
            (None, _) => say("Please answer y or n.\n"),
        }
    }
}

/// Parses yes or no. Returns `None` for any other word.
pub(super) fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}
