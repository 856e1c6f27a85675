//! What happens when a server asks the user? The question is shown on the terminal, if there is one.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Can a user be asked, and which question comes first? |
//! | `form.rs` | How is a form filled in, line by line? |
//! | `field.rs` | Which value does a line mean, and does it fit the field? |
//! | `line.rs` | What does a person type? |
//! | `page.rs` | How does the user agree to open a web page? |

pub(crate) mod field;
mod form;
mod line;
mod page;

use toolway::client::{Answer, ClientBuilder, Elicitation};

use crate::console::Console;
use crate::terminal::quote_lines;
use crate::typed_lines::TypedLines;

/// Registers handlers that answer the server's questions.
pub(crate) fn register_handlers(builder: ClientBuilder, console: &Console) -> ClientBuilder {
    let (form, page) = (console.clone(), console.clone());
    builder
        .on_elicit(move |question| ask(form.clone(), question))
        .on_elicit_url(move |question| ask(page.clone(), question))
}

/// Asks the user, one question at a time.
async fn ask(console: Console, question: Elicitation) -> Answer {
    if !console.can_ask {
        console.write_lines(&format!(
            "{}The question was declined, because no user can be asked here; run the command in a terminal, without \
             --no-input.",
            quote_lines("The server asks: ", "  | ", question.message())
        ));
        return Answer::decline();
    }
    let mut lines = console.typed.lock().await;
    let lines = TypedLines::open(&mut lines);
    console.clear_progress();
    let mut say = |text: &str| console.write_message(text);
    match (question.form(), question.url()) {
        (Some(schema), _) => form::fill(question.message(), schema, lines, &mut say).await,
        (None, Some(url)) => page::confirm_page(question.message(), url, lines, &mut say).await,
        (None, None) => Answer::decline(),
    }
}

#[cfg(test)]
mod tests;
