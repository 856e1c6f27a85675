//! What does a user at a terminal see?

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::stage::fixture;

/// A program in its own terminal.
pub(crate) struct Terminal {
    master: File,
    child: Child,
    seen: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let end: OwnedFd = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
        let child = command.spawn().unwrap();
        Self { master: File::from(master), child, seen: String::new() }
    }

    fn call(words: &[&str]) -> Self {
        let mut command = fixture();
        command.args(words);
        Self::start(command)
    }

    /// Waits until this text appears after the texts that were waited for before.
    pub(crate) fn sees(&mut self, text: &str) -> &mut Self {
        self.until(text);
        self
    }

    /// Waits for this text, and returns what appeared before it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        while !self.seen.contains(text) {
            assert!(self.read(), "{text:?} is not in {:?}", self.seen);
        }
        let end = self.seen.find(text).unwrap();
        let before = self.seen[..end].to_owned();
        self.seen.drain(..end + text.len());
        before
    }

    pub(crate) fn types(&mut self, line: &str) -> &mut Self {
        self.master.write_all(format!("{line}\n").as_bytes()).unwrap();
        self
    }

    /// Returns the remaining output and the exit code.
    pub(crate) fn ends(&mut self) -> (String, Option<i32>) {
        while self.read() {}
        (std::mem::take(&mut self.seen), self.child.wait().unwrap().code())
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        // Reading from a terminal fails after its last program has ended.
        let length = self.master.read(&mut bytes).unwrap_or(0);
        self.seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        length > 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_form_is_filled_in() {
    let mut terminal = Terminal::call(&["call", "book"]);
    terminal
        .sees("The server asks: A table for the evening?")
        .sees("Guests (whole number from 1 to 8)")
        .sees("> ");
    terminal.types("9").sees("Please write a whole number from 1 to 8.").sees("> ");
    terminal.types("2").sees("outside (y/n, optional)").sees("> [n] ");
    terminal.types("y").sees("Send it?");
    let (rest, code) = terminal.types("").ends();
    assert!(rest.ends_with("booked for 2, outside\r\n"), "{rest:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_question_is_declined() {
    let mut terminal = Terminal::call(&["call", "book"]);
    let (rest, code) = terminal.sees("> ").types(":d").ends();
    assert!(rest.contains("the tool `book` failed: "), "{rest:?}");
    assert_eq!(code, Some(5));
}

#[test]
fn a_page_is_shown_and_agreed_to() {
    let mut terminal = Terminal::call(&["call", "pay"]);
    terminal
        .sees("Please pay 3 €.")
        .sees("  https://pay.example/bill/17\r\n")
        .sees("It is at pay.example.")
        .sees("(y/n) ");
    let (rest, code) = terminal.types("y").ends();
    assert!(rest.ends_with("paid\r\n"), "{rest:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn nothing_is_asked_of_who_does_not_want_it() {
    let mut terminal = Terminal::call(&["call", "book", "--no-input"]);
    let (rest, code) = terminal.sees("was declined").ends();
    assert!(!rest.contains("> "), "{rest:?}");
    assert_eq!(code, Some(5));
}

#[test]
fn progress_is_a_bar_that_goes_away() {
    let mut terminal = Terminal::call(&["call", "work", "steps=2"]);
    terminal.sees("\r\u{1b}[K[############------------]  50 % step 1");
    terminal.sees("\r\u{1b}[K[########################] 100 % step 2");
    let (rest, code) = terminal.ends();
    assert_eq!((&*rest, code), ("\r\u{1b}[Kdone\r\n", Some(0)));
}

#[test]
fn a_server_cannot_command_the_terminal() {
    let (seen, code) = Terminal::call(&["call", "wild"]).ends();
    assert_eq!((&*seen, code), ("before\\u001b[2Jafter\r\n", Some(0)));
    let (seen, _) = Terminal::call(&["call", "fail", "reason=\u{1b}[2J"]).ends();
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    // JSON escapes some of them itself, and leaves the others.
    let wild = ['\u{7f}', '\u{9b}', '\u{202e}'];
    let reason = format!("reason={}", String::from_iter(wild));
    let (seen, _) = Terminal::call(&["call", "fail", "--json", &reason]).ends();
    assert!(seen.contains("\\u007f\\u009b\\u202e") && !seen.contains(wild), "{seen:?}");
}

#[test]
fn bytes_are_not_written_to_a_terminal() {
    let (seen, code) = Terminal::call(&["read", "fixture://logo"]).ends();
    assert!(seen.contains("`fixture://logo` is not text (image/png, 5 bytes)"), "{seen:?}");
    assert!(seen.contains("--output FILE"), "{seen:?}");
    assert_eq!(code, Some(1));
}
