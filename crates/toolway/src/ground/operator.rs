//! How does an operator hear of something where no log is installed? On stderr, and this is the only place that writes there.
//!
//! The log is [`tracing`]: a program that has a subscriber decides itself what becomes of events, and nothing is printed. A program
//! without one would lose them. For nearly all events that is right. For a few it is not, because something else relies on them: a
//! caller who was given a reference sends the operator to look for it, and an operator who starts a server wants to know where it is.
//! Those are written as one line each, with what the event says and no more.

use std::fmt;
use std::io::Write;

use tracing::Dispatch;
use tracing::dispatcher::get_default;
use tracing::subscriber::NoSubscriber;

/// Writes a line to stderr if no subscriber gets the events of this thread. Stands beside the event that says the same.
///
/// A subscriber that ignores the event was told to, so nothing is written then.
pub(crate) fn tell_without_log(line: fmt::Arguments<'_>) {
    if !get_default(Dispatch::is::<NoSubscriber>) {
        return;
    }
    let line = format!("{}: {}\n", env!("CARGO_PKG_NAME"), OneLine(&line.to_string()));
    // In one piece, so that lines of several threads do not mix. Where stderr is closed, nothing can be done.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// A text without line breaks and other control characters: a terminal obeys some of them.
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
