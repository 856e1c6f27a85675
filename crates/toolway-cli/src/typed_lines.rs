//! What does a person type, line by line?

use std::io::BufRead;
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard, mpsc};

/// The lines that a person types. The channel closes at the end of the input.
pub(crate) type Lines = mpsc::Receiver<String>;

/// The lines that are typed during a command. Reading starts with the first question. Clones share the lines, so that a
/// line that one question did not wait for is not lost to the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct TypedLines(Arc<Mutex<Option<Lines>>>);

impl TypedLines {
    /// Waits until no other question uses the lines.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, Option<Lines>> {
        self.0.lock().await
    }

    /// Begins to read, if that has not happened yet.
    pub(crate) fn open(lines: &mut Option<Lines>) -> &mut Lines {
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
