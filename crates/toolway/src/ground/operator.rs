//! How does an operator see an important event if no log is installed? On stderr. This is the only file that writes
//! there.
//!
//! The log is [`tracing`]. In a program with a subscriber, the subscriber decides what happens with events, and nothing
//! is printed here. In a program without a subscriber, events are lost, which is acceptable for nearly all of them. A
//! few events must not be lost, because a person relies on them: a caller who received an error reference asks the
//! operator to look it up, and an operator who starts a server wants to know its address. These events are written to
//! stderr, one line each, with the same content as the event.

use std::fmt;
use std::io::Write;

use tracing::Dispatch;
use tracing::dispatcher::get_default;
use tracing::subscriber::NoSubscriber;

/// Writes a line to stderr if the current thread has no subscriber. Call this function next to the `tracing` event with
/// the same content.
///
/// If there is a subscriber that filters the event out, nothing is written either: the filter is the operator's choice.
pub(crate) fn print_without_subscriber(line: fmt::Arguments<'_>) {
    if !get_default(Dispatch::is::<NoSubscriber>) {
        return;
    }
    let line = format!("{}: {}\n", env!("CARGO_PKG_NAME"), OneLine(&line.to_string()));
    // Written in one call, so that lines of several threads do not mix. If stderr is closed, the line is lost.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// A text that is printed with its control characters escaped, including line breaks. A terminal would execute some of
/// them.
struct OneLine<'t>(&'t str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            if letter.is_control() {
                write!(f, "{}", letter.escape_default())?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_and_commands_a_terminal_nothing() {
        let text = "the disk\nis\r\u{1b}[31m on fire\u{9b}2J, größer";
        assert_eq!(OneLine(text).to_string(), r"the disk\nis\r\u{1b}[31m on fire\u{9b}2J, größer");
    }

    #[test]
    fn a_subscriber_is_seen_where_there_is_one() {
        let is_alone = || get_default(Dispatch::is::<NoSubscriber>);
        assert!(is_alone());
        let with_subscriber = tracing::subscriber::with_default(tracing_subscriber::registry(), is_alone);
        assert!(!with_subscriber);
        assert!(is_alone());
    }
}
