//! Which private parts does `fuzz/` call with any input? Not part of the public API.

use std::ffi::OsString;

use crate::args::{AnyServer, CommandLine, OwnServer, Program};
use crate::terminal;

/// The kind of program that a command line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// The command `toolway`.
    AnyServer,
    /// The program of an author.
    OwnServer,
}

/// Parses a command line, with the program first, and returns whether it is a command. The error is the text for the
/// user.
pub fn parse_command_line(kind: ProgramKind, words: Vec<OsString>) -> Result<(), String> {
    let text = |text: &str| text.to_owned();
    let program =
        Program { name: text("toolway"), version: text("1"), about: text("about"), after_help: text("help") };
    let parsed = match kind {
        ProgramKind::AnyServer => CommandLine::<AnyServer>::read(&program, words).map(drop),
        ProgramKind::OwnServer => CommandLine::<OwnServer>::read(&program, words).map(drop),
    };
    parsed.map_err(|error| error.to_string())
}

/// Lays out a text of another party on a terminal.
pub fn quote_lines(first: &str, next: &str, text: &str) -> String {
    terminal::quote_lines(first, next, text)
}
