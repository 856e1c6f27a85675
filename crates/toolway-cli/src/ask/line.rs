//! What does a person type, line by line?

use std::io::BufRead;
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard, mpsc};
use toolway::client::Answer;

/// The lines that a person types. The channel closes at the end of the input.
pub(super) type Lines = mpsc::Receiver<String>;

/// The lines that are typed during a command. Reading starts with the first question. Clones share the lines, so that a
/// line that one question did not wait for is not lost to the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct TypedLines(Arc<Mutex<Option<Lines>>>);

impl TypedLines {
    /// Waits until no other question uses the lines.
    pub(super) async fn lock(&self) -> MutexGuard<'_, Option<Lines>> {
        self.0.lock().await
    }

    /// Begins to read, if that has not happened yet.
    pub(super) fn open(lines: &mut Option<Lines>) -> &mut Lines {
        lines.get_or_insert_with(spawn_stdin_reader)
    }

    /// Waits for the next line; `None` at the end of the input.
    pub(crate) async fn next(&self) -> Option<String> {
        Self::open(&mut *self.lock().await).recv().await
    }
}

/// Reads stdin on a thread of its own: a read that waits for a person cannot be cancelled, and the program must be
/// able to exit during such a read.
fn spawn_stdin_reader() -> Lines {
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
