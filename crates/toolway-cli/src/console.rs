//! Where is output written? Results go to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::{Failure, Result};
use crate::progress::Bar;
use crate::terminal::escape_for_terminal;
use crate::typed_lines::TypedLines;

/// Writes a text for a person to stderr, without a console. Errors are ignored: there is nowhere to report a closed
/// stderr. Control characters are escaped, because a server must not control the terminal; the escapes are also valid
/// in JSON.
pub(crate) fn write_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(escape_for_terminal(text).as_bytes());
}

/// The output streams of the program. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    pub(crate) is_verbose: bool,
    /// `true` if the user can be asked.
    pub(crate) can_ask: bool,
    /// The lines that the user types.
    pub(crate) typed: TypedLines,
    /// The progress bar on the last line of stderr. The bar is cleared before anything else is written to stderr.
    bar: Arc<Mutex<Bar>>,
}

impl Console {
    pub(crate) fn new(is_verbose: bool, no_input: bool) -> Self {
        // A question is shown on stderr and answered on stdin, so both must be a terminal.
        let may_ask = !no_input && io::stdin().is_terminal() && io::stderr().is_terminal();
        let bar = Arc::new(Mutex::new(Bar::new(io::stderr().is_terminal())));
        Self { is_verbose, can_ask: may_ask, typed: TypedLines::default(), bar }
    }

    fn bar(&self) -> MutexGuard<'_, Bar> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a result. On a terminal, control characters are escaped, because a server must not control the terminal.
    /// Other programs get every byte unchanged.
    pub(crate) fn write_result(&self, text: &str) -> Result<()> {
        if io::stdout().is_terminal() {
            self.write_bytes(escape_for_terminal(text).as_bytes())
        } else {
            self.write_bytes(text.as_bytes())
        }
    }

    /// Writes a result that is not text.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.bar().clear(&mut io::stderr().lock());
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            // The reader has closed the pipe because it needs no more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::usage(format!("stdout cannot be written to: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Writes a text of one or more lines for a person.
    pub(crate) fn write_lines(&self, text: &str) {
        let mut bar = self.bar();
        let mut stderr = io::stderr().lock();
        bar.clear(&mut stderr);
        // There is nowhere to report a closed stderr.
        let _ = writeln!(stderr, "{}", escape_for_terminal(text.trim_end_matches('\n')));
        bar.redraw(&mut stderr);
    }

    /// Writes a part of a line for a person.
    pub(crate) fn write_message(&self, text: &str) {
        let mut bar = self.bar();
        let mut stderr = io::stderr().lock();
        bar.clear(&mut stderr);
        let _ = write!(stderr, "{}", escape_for_terminal(text)).and_then(|()| stderr.flush());
    }

    /// Shows the progress of a request: as a bar on a terminal, as lines with `--verbose`.
    pub(crate) fn show_progress(&self, progress: &toolway::types::Progress) {
        let mut bar = self.bar();
        let mut stderr = io::stderr().lock();
        if bar.is_enabled {
            bar.set(progress);
            bar.redraw(&mut stderr);
        } else if self.is_verbose {
            let _ = writeln!(stderr, "{}", escape_for_terminal(&crate::progress::format_line(progress)));
        }
    }

    /// Removes the bar: the request has ended, or a question is asked.
    pub(crate) fn clear_progress(&self) {
        let mut bar = self.bar();
        bar.clear(&mut io::stderr().lock());
        bar.reset();
    }
}
