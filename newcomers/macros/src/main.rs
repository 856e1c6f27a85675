//! Notes with every kind of element, and arguments of types of its own.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway::Form;
use toolway::prelude::*;

/// How important a note is.
#[derive(Clone, Copy, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Low,
    High,
}

/// A note.
#[derive(Clone, Deserialize, JsonSchema, Serialize)]
struct Note {
    text: String,
    weight: Weight,
}

#[derive(Default)]
struct Notes(Mutex<Vec<Note>>);

#[service]
impl Notes {
    /// Save a note; returns its URI.
    #[tool]
    fn save(&self, note: Note, #[arg(minimum = 1, default = 1)] copies: u8) -> Result<String, ToolError> {
        if note.text.is_empty() {
            return Err(ToolError::new("the note is empty: send some text"));
        }
        let mut notes = self.0.lock().unwrap();
        notes.extend((0..copies).map(|_| note.clone()));
        Ok(Self::note_uri(notes.len() - 1))
    }

    /// Delete all notes, if the user agrees.
    #[tool]
    async fn clear(&self, ctx: Ctx) -> Result<Json<Vec<Note>>, ToolError> {
        let Sure { yes } = ctx.ask("Are you sure?").await?;
        let mut notes = self.0.lock().unwrap();
        Ok(Json(if yes { std::mem::take(&mut *notes) } else { Vec::new() }))
    }

    /// One note.
    #[resource(uri = "notes://{number}")]
    fn note(&self, number: usize) -> Option<String> {
        self.0.lock().unwrap().get(number).map(|note| note.text.clone())
    }

    /// Review all notes.
    #[prompt]
    fn review(&self, #[arg(complete = ["casual", "formal"])] style: String) -> String {
        format!("Review {} notes in a {style} style.", self.0.lock().unwrap().len())
    }
}

/// What the user is asked before all notes are deleted.
#[derive(Form)]
struct Sure {
    /// Delete all notes?
    yes: bool,
}

/// How long the notes may be.
struct Longest(usize);

/// Tell how long a note may be.
#[tool]
fn longest(limit: State<Longest>) -> usize {
    limit.0
}

fn server() -> toolway::Result<Server> {
    Server::new("notes", "1.0.0").service(Notes::default()).tools(tools![longest]).state(Longest(500)).build()
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    server()?.serve_stdio().await
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolway::testing::connect;

    #[tokio::test]
    async fn a_note_is_saved_and_read() {
        let server = super::server().unwrap();
        let client = connect(&server).await;
        let note = json!({"text": "buy milk", "weight": "low"});
        let saved = client.call("save", json!({"note": note})).await.unwrap();
        assert_eq!(saved.text().unwrap(), "notes://0");
        let read = client.read_resource("notes://0").await.unwrap();
        assert_eq!(read.text(), Some("buy milk"));
    }
}
