//! Where is what written? Results to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::{Failure, Result};
use crate::progress::Bar;
use crate::terminal::neutral;

/// Writes something for a person where no console is. Nothing can be said about a stderr that is closed, and a terminal is not let do
/// what a server says: the same spelling is right in JSON.
pub(crate) fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(neutral(text).as_bytes());
}

/// The two streams of the program. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    pub(crate) is_verbose: bool,
    /// Whether a user can be asked.
    pub(crate) may_ask: bool,
    /// What stands on the last line of stderr, and goes before anything else is written there.
    bar: Arc<Mutex<Bar>>,
}

impl Console {
    pub(crate) fn new(is_verbose: bool, no_input: bool) -> Self {
        // A question is read on stderr and answered on stdin; both must have a person at their end.
        let may_ask = !no_input && io::stdin().is_terminal() && io::stderr().is_terminal();
        let bar = Arc::new(Mutex::new(Bar::new(io::stderr().is_terminal())));
        Self { is_verbose, may_ask, bar }
    }

    fn bar(&self) -> MutexGuard<'_, Bar> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a result. A terminal is not let do what a server says; programs get every byte.
    pub(crate) fn result(&self, text: &str) -> Result<()> {
        if io::stdout().is_terminal() {
            self.bytes(neutral(text).as_bytes())
        } else {
            self.bytes(text.as_bytes())
        }
    }

    /// Writes a result that is no text.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<()> {
        self.bar().clear(&mut io::stderr().lock());
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            // The reader has read enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::usage(format!("stdout cannot be written to: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Writes something for a person, one line or several.
    pub(crate) fn note(&self, text: &str) {
        let mut bar = self.bar();
        let mut stderr = io::stderr().lock();
        bar.clear(&mut stderr);
        // Nothing can be said about a stderr that is closed.
        let _ = writeln!(stderr, "{}", neutral(text.trim_end_matches('\n')));
        bar.draw_again(&mut stderr);
    }

    /// Writes a part of a line for a person.
    pub(crate) fn say(&self, text: &str) {
        let mut bar = self.bar();
        let mut stderr = io::stderr().lock();
        bar.clear(&mut stderr);
        let _ = write!(stderr, "{}", neutral(text)).and_then(|()| stderr.flush());
    }

    /// Shows how far a request is: a bar on a terminal, lines with `--verbose`.
    pub(crate) fn progress(&self, progress: &toolway::types::Progress) {
        let mut bar = self.bar();
        let mut stderr = io::stderr().lock();
        if bar.is_on {
            bar.set(progress);
            bar.draw_again(&mut stderr);
        } else if self.is_verbose {
            let _ = writeln!(stderr, "{}", neutral(&crate::progress::line(progress)));
        }
    }

    /// Takes the bar away: there is nothing to wait for any more, or a question is asked.
    pub(crate) fn clear(&self) {
        let mut bar = self.bar();
        bar.clear(&mut io::stderr().lock());
        bar.forget();
    }
}
