//! Servers that run as child processes, spoken to over their stdin and stdout.
//!
//! | file | question |
//! |---|---|
//! | `command.rs` | Which program is a server, and how is it started? |
//! | `command_line.rs` | How is a command line cut into words, and how is it shown? |
//! | `environment.rs` | What does a server get of our environment? |
//! | `program.rs` | Which file is a program, and why can it not be started? |
//! | `supervisor.rs` | What watches over a running server, and ends it? |
//! | `stderr.rs` | What has it written to its stderr lately? |
//! | `diagnosis.rs` | What is known of a server that does not answer? |
//! | `child_pipes.rs` | Which pipes does a child process have? |
//! | `unix.rs`, `windows.rs` | How are a process and its descendants ended? |

mod child_pipes;
pub(crate) mod command;
mod command_line;
mod diagnosis;
mod environment;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
mod program;
mod stderr;
mod supervisor;
