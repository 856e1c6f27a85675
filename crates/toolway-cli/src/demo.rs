//! What does the demo server offer? A few tools to see that everything is connected.

use schemars::JsonSchema;
use serde::Serialize;
use toolway::prelude::*;
use toolway::server::ServerBuilder;

pub(crate) fn server() -> ServerBuilder {
    Server::new("toolway-demo", env!("CARGO_PKG_VERSION"))
        .title("Toolway demo")
        .instructions("A demonstration server. Try `add`, `greet` and `count_words`.")
        .tools(tools![add, greet, count_words])
}

/// Add two numbers.
#[tool(title = "Addition", read_only, idempotent)]
async fn add(
    /// First addend.
    a: f64,
    /// Second addend.
    b: f64,
) -> f64 {
    a + b
}

/// Greet a person by name.
#[tool(title = "Greeting", read_only, idempotent)]
fn greet(
    /// The name of the person.
    name: &str,
    /// The greeting; "Hello" by default.
    greeting: Option<String>,
) -> String {
    format!("{}, {name}!", greeting.as_deref().unwrap_or("Hello"))
}

#[derive(Serialize, JsonSchema)]
struct Counts {
    /// Words, as separated by white space.
    words: usize,
    /// Characters, as Unicode counts them.
    characters: usize,
    /// Lines.
    lines: usize,
}

/// Count the words, characters and lines of a text.
#[tool(title = "Word count", read_only, idempotent)]
fn count_words(
    /// The text to count in.
    text: &str,
) -> Json<Counts> {
    Json(Counts {
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
        lines: text.lines().count(),
    })
}
