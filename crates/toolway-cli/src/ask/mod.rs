//! What happens when a server asks the user? The question is put on the terminal, if somebody sits there.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Is there somebody to ask, and who is asked first? |
//! | `form.rs` | How is a form filled in, line by line? |
//! | `field.rs` | Which value does a line stand for, and does it fit the field? |
//! | `page.rs` | How does somebody agree to open a web page? |

mod field;
mod form;
mod page;

use std::io::BufRead;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use toolway::client::{Answer, ClientBuilder, Elicitation};

use crate::console::Console;

/// Answers the questions of the server.
pub(crate) fn answer(builder: ClientBuilder, console: &Console) -> ClientBuilder {
    let asker = Arc::new(Asker { console: console.clone(), lines: Mutex::new(None) });
    let other = asker.clone();
    builder
        .on_elicit(move |question| ask(asker.clone(), question))
        .on_elicit_url(move |question| ask(other.clone(), question))
}

/// Who asks a person, one question after the other.
struct Asker {
    console: Console,
    /// What is typed, from the first question on.
    lines: Mutex<Option<Lines>>,
}

/// What a person types, a line each; nothing more comes after the end of the input.
type Lines = mpsc::Receiver<String>;

async fn ask(asker: Arc<Asker>, question: Elicitation) -> Answer {
    let Asker { console, lines } = &*asker;
    if !console.may_ask() {
        console.note(&format!(
            "The server asks: {}\nNobody is there to answer, so it was declined; run it in a terminal, without --no-input.",
            question.message()
        ));
        return Answer::decline();
    }
    let mut lines = lines.lock().await;
    let lines = lines.get_or_insert_with(typed);
    console.clear();
    let mut say = |text: &str| console.say(text);
    match (question.form(), question.url()) {
        (Some(schema), _) => form::fill(question.message(), schema, lines, &mut say).await,
        (None, Some(url)) => page::agree(question.message(), url, lines, &mut say).await,
        (None, None) => Answer::decline(),
    }
}

/// Reads stdin on a thread of its own: nobody can take back a read that waits for a person, and the program must be able to end
/// while it does.
fn typed() -> Lines {
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
enum Said {
    Line(String),
    Decline,
    Cancel,
}

/// Waits for a line.
async fn hear(lines: &mut Lines) -> Said {
    let Some(line) = lines.recv().await else { return Said::Cancel };
    match line.trim() {
        ":d" => Said::Decline,
        ":c" => Said::Cancel,
        // Whoever means the letters themselves writes the colon twice.
        text if text.starts_with("::") => Said::Line(text[1..].to_owned()),
        text => Said::Line(text.to_owned()),
    }
}

/// Yes or no, or nothing of the sort.
fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
