//! Which lines and errors from the server may explain a missing reply?

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use toolway_protocol::RpcError;

use crate::client::pipe::printable::printable;
use crate::ground::mutex::Mutex;
use crate::ground::panic::catch_panic;

/// A record of what has arrived from the server: whether a message arrived, and the lines and errors that could not be
/// used. `Display` describes these lines and errors; its text is empty if there were none.
#[derive(Default)]
pub(crate) struct OutputRecord {
    /// `true` once the server has sent a message.
    has_message: AtomicBool,
    stray_output: Mutex<StrayOutput>,
    on_stray_line: OnceLock<LineHook>,
}

/// A function that is called with each line that is not a message.
pub(crate) type LineHook = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Debug, Default)]
struct StrayOutput {
    /// The number of lines that are not messages.
    lines: u64,
    /// The first line that is not a message, in printable form.
    first: String,
    /// The first error without a request id.
    error: Option<String>,
}

impl OutputRecord {
    pub(super) fn note_message(&self) {
        self.has_message.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server has sent at least one message.
    pub(crate) fn has_message(&self) -> bool {
        self.has_message.load(Ordering::Relaxed)
    }

    /// Records a line that is not a message. Logs the first such line, and calls the hook with each.
    pub(super) fn note_stray_line(&self, line: &[u8]) {
        {
            let mut useless = self.stray_output.lock();
            useless.lines += 1;
            if useless.lines == 1 {
                useless.first = printable(line, MAX_SHOWN);
                tracing::warn!(
                    line = useless.first,
                    "the server printed a line that is not a message; further such lines are not logged"
                );
            }
        }
        if let Some(hook) = self.on_stray_line.get()
            && let Err(panic) = catch_panic(|| hook(&printable(line, MAX_SHOWN)))
        {
            tracing::warn!(%panic, "the hook for lines that are not messages panicked");
        }
    }

    /// Sets a function that is called with each line that is not a message.
    pub(crate) fn set_stray_line_hook(&self, hook: LineHook) {
        let _ = self.on_stray_line.set(hook);
    }

    /// Records an error without an id. A server sends such an error for a request whose id it could not read.
    pub(super) fn note_stray_error(&self, error: &RpcError) {
        self.stray_output
            .lock()
            .error
            .get_or_insert_with(|| printable(error.to_string().as_bytes(), MAX_SHOWN));
    }
}

impl fmt::Display for OutputRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let useless = self.stray_output.lock();
        let StrayOutput { lines, first, error: stray } = &*useless;
        match lines {
            0 => {}
            1 => write!(f, "its output has a line that is not a message: `{first}`")?,
            _ => write!(f, "its output has {lines} lines that are not messages, the first: `{first}`")?,
        }
        if let Some(error) = stray {
            let and = if *lines > 0 { "; " } else { "" };
            write!(f, "{and}it sent an error without the id of a request: {error}")?;
        }
        Ok(())
    }
}

/// The maximum number of characters that are shown of a line that is not a message.
const MAX_SHOWN: usize = 200;
