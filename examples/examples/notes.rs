//! A service with state and all four kinds of element: tools, resources, a resource template, a prompt. `cargo run -p
//! toolway-examples --example notes`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use toolway::prelude::*;
use toolway::server::{CompletionRequest, Message, PromptError, ResourceError, assistant, user};

/// Notes in memory. All calls share one value, so it needs a lock.
#[derive(Default)]
struct Notes {
    notes: Mutex<BTreeMap<u64, Note>>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Note {
    title: String,
    folder: String,
    body: String,
}

#[derive(Serialize, JsonSchema)]
struct Saved {
    id: u64,
    uri: String,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    id: u64,
    title: String,
}

#[service]
impl Notes {
    /// Save a note.
    #[tool(title = "Save note", meta = {"team": "docs"})]
    async fn save(
        &self,
        #[arg(title = "Title", min_length = 1, max_length = 80)] title: String,
        #[arg(default = "general")] folder: String,
        /// What the note says.
        body: String,
        ctx: Ctx,
    ) -> Result<Json<Saved>, ToolError> {
        let mut notes = self.lock();
        if notes.values().any(|note| note.title == title) {
            return Err(ToolError::new(format!("there is a note {title:?} already: choose another title")));
        }
        let id = notes.keys().last().map_or(1, |last| last + 1);
        notes.insert(id, Note { title, folder, body });
        drop(notes);
        // Notifies the clients that subscribed to the index.
        ctx.server().resource_updated("notes://index");
        // `#[resource]` generates `note_uri` for the method `note` below.
        Ok(Json(Saved { id, uri: Self::note_uri(id, "body") }))
    }

    /// Find a note by its title, as a link.
    #[tool(read_only)]
    fn find(&self, title: &str, ctx: &Ctx) -> Option<toolway::types::Content> {
        let notes = self.lock();
        let (id, _) = notes.iter().find(|(_, note)| note.title == title)?;
        Some(ctx.link(Self::note_uri(id, "body")))
    }

    /// All notes.
    #[resource(uri = "notes://index", mime = "application/json")]
    async fn index(&self) -> Json<Vec<Entry>> {
        Json(self.lock().iter().map(|(id, note)| Entry { id: *id, title: note.title.clone() }).collect())
    }

    /// A part of one note: its `title`, `folder` or `body`.
    #[resource(uri = "notes://{id}/{section}", mime = "text/plain")]
    async fn note(
        &self,
        id: u64,
        #[arg(complete = ["title", "folder", "body"])] section: String,
    ) -> Result<String, ResourceError> {
        let note = self.lock().get(&id).cloned().ok_or_else(ResourceError::not_found)?;
        match section.as_str() {
            "title" => Ok(note.title),
            "folder" => Ok(note.folder),
            "body" => Ok(note.body),
            other => {
                Err(ResourceError::new(format!("a note has a title, a folder and a body, but no {other}")))
            }
        }
    }

    /// Review a note.
    #[prompt]
    fn review(
        &self,
        #[arg(complete = ["casual", "formal"])] style: String,
        #[arg(complete = Self::titles)] title: String,
    ) -> Result<[Message; 2], PromptError> {
        let notes = self.lock();
        let note = notes.values().find(|note| note.title == title);
        let body = &note.ok_or_else(|| PromptError::new(format!("there is no note {title:?}")))?.body;
        Ok([assistant("You are an editor."), user(format!("Review this in a {style} style:\n\n{body}"))])
    }

    /// An ordinary method, because it is not marked. `complete = Self::titles` above calls it.
    async fn titles(&self, typed: CompletionRequest) -> Vec<String> {
        typed.filter(self.lock().values().map(|note| &note.title))
    }
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    Server::new("notes", "1.0.0")
        .instructions("Save notes with `save`; read them at notes://index and notes://{id}/{section}.")
        .service(Notes::default())
        .serve_stdio()
        .await
}
