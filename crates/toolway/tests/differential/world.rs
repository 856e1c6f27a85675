//! What happens outside of the function, and where is it recorded?

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use toolway::client::Notification;
use toolway::types::CallToolResult;

/// Everything observable of one call of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Seen {
    /// The result, or the error.
    pub(crate) outcome: Value,
    /// The questions to the user, the model and the client, in order.
    pub(crate) questions: Vec<String>,
    /// The effects and failed attempts, in order.
    pub(crate) effects: Vec<String>,
    /// Progress and log messages, in order.
    pub(crate) news: Vec<String>,
}

/// The world is shared by all servers and clients of a test; it runs one program at a time.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Books>>);

#[derive(Default)]
pub(crate) struct Books {
    questions: Vec<String>,
    effects: Vec<String>,
    tries: BTreeMap<String, u32>,
    tickets: u64,
}

impl World {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn asked(&self, text: &str) {
        self.books().questions.push(text.to_owned());
    }

    /// Does an effect, or fails.
    pub(crate) fn attempt(&self, key: &str, note: u64, fails_first: bool) -> Result<u64, String> {
        let mut books = self.books();
        let tries = books.tries.entry(key.to_owned()).or_default();
        *tries += 1;
        if fails_first && *tries == 1 {
            books.effects.push(format!("{key}({note}) failed"));
            return Err(format!("{key} is out of order"));
        }
        books.effects.push(format!("{key}({note})"));
        Ok(note * 3 + key.len() as u64)
    }

    /// Returns a unique number.
    pub(crate) fn ticket(&self, key: &str) -> u64 {
        let mut books = self.books();
        books.tickets += 1;
        let ticket = books.tickets;
        books.effects.push(format!("{key}: ticket {ticket}"));
        ticket
    }

    /// Ends a program: returns the observations and resets the world.
    pub(crate) fn close(&self, outcome: Value, news: Vec<String>) -> Seen {
        let Books { questions, effects, .. } = std::mem::take(&mut *self.books());
        Seen { outcome, questions, effects, news }
    }
}

/// A result or an error, without the parts that depend on the era.
pub(crate) fn outcome(result: toolway::Result<CallToolResult>) -> Value {
    match result {
        Ok(result) => json!({
            "is_error": result.is_error(),
            "text": result.first_text(),
            "structured": result.structured_content.as_ref().map(|content| content.decode::<Value>().ok()),
        }),
        Err(error) => match error.rpc() {
            Some(rpc) => {
                // The exact reason why an answer does not fit is tested with the forms.
                let (message, fit) = rpc
                    .message
                    .split_once(" does not fit")
                    .map_or((&*rpc.message, ""), |cut| (cut.0, " does not fit"));
                json!({"code": rpc.code.0, "message": format!("{message}{fit}")})
            }
            None => json!({"error": error.to_string()}),
        },
    }
}

/// Describes a notification that a client received.
pub(crate) fn told(news: &Notification) -> Option<String> {
    match news {
        Notification::Progress(progress) => {
            let total = progress.total.as_ref().map(ToString::to_string);
            Some(said_progress(progress.progress.as_f64()?, total, progress.message.as_deref()))
        }
        Notification::LogMessage(message) => {
            Some(said_log(message.level.as_str(), &message.data.decode().ok()?))
        }
        // Any other notification is unexpected, and shows up as a difference.
        other => Some(format!("{other:?}")),
    }
}

pub(crate) fn said_progress(done: f64, total: Option<String>, message: Option<&str>) -> String {
    format!("progress {done} of {total:?}: {message:?}")
}

pub(crate) fn said_log(level: &str, data: &Value) -> String {
    format!("{level}: {data}")
}
