//! What does a person type, line by line?

use std::io::BufRead;

use tokio::sync::mpsc;

/// What a person types, a line each; nothing more comes after the end of the input.
pub(super) type Lines = mpsc::Receiver<String>;

/// Reads stdin on a thread of its own: a read that waits for a person cannot be cancelled, and the program must be able to end
/// while it does.
pub(super) fn typed() -> Lines {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// What a person said to a question.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Line(String),
    Decline,
    Cancel,
}

/// Waits for a line.
pub(super) async fn hear(lines: &mut Lines) -> Said {
    let Some(line) = lines.recv().await else { return Said::Cancel };
    match line.trim() {
        ":d" => Said::Decline,
        ":c" => Said::Cancel,
        // A doubled colon stands for the letters themselves.
        text if text.starts_with("::") => Said::Line(text[1..].to_owned()),
        text => Said::Line(text.to_owned()),
    }
}

/// Yes or no, or nothing of the sort.
pub(super) fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}
