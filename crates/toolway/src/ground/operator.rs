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

use crate::ground::unprintable::{is_unprintable, push_escape};

/// Writes a line to stderr if the current thread has no subscriber. Call this function next to the `tracing` event with
/// the same content.
///
/// If there is a subscriber that filters the event out, nothing is written either: the filter is the operator's choice.
pub(crate) fn print_without_subscriber(line: fmt::Arguments<'_>) {
    if !get_default(Dispatch::is::<NoSubscriber>) {
        return;
    }
    let line = format!("{}: {}\n", env!("CARGO_PKG_NAME"), one_line(&line.to_string()));
    // Written in one call, so that lines of several threads do not mix. If stderr is closed, the line is lost.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Escapes the characters of a text that a terminal would execute, including line breaks, and those that are invisible.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unprintable(letter) {
            push_escape(&mut line, letter);
        } else {
            line.push(letter);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_and_commands_a_terminal_nothing() {
        let text = "the disk\nis\r\u{1b}[31m on fire\u{9b}2J, größer";
        assert_eq!(one_line(text), r"the disk\u000ais\u000d\u001b[31m on fire\u009b2J, größer");
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
