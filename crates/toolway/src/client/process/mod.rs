//! Servers that run as child processes and talk over their stdin and stdout.
//!
//! | file | question |
//! |---|---|
//! | `browser.rs` | How is a web page shown to the user? |
//! | `command.rs` | Which program is a server, and how is it started? |
//! | `command_line.rs` | How is a command line split into words, and how is it shown? |
//! | `environment.rs` | Which environment variables does a server inherit? |
//! | `program.rs` | Which file belongs to the name of a program, and why could the program not be started? |
//! | `program_io.rs` | How does a program get the streams of a server unread? |
//! | `supervisor.rs` | How is a running server monitored and ended? |
//! | `stderr.rs` | Which lines has a server written to its stderr lately? |
//! | `diagnosis.rs` | What is known about a server that does not answer? |
//! | `child_pipes.rs` | Which pipes does a child process have? |
//! | `unix.rs`, `windows.rs` | How are a process and its descendants ended? |
//! | `descendants.rs`, `no_descendants.rs` | Which processes has a server started that have left its process group? |

#[cfg(feature = "auth")]
pub(crate) mod browser;
mod child_pipes;
pub(crate) mod command;
pub(crate) mod command_line;
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), path = "no_descendants.rs")]
mod descendants;
mod diagnosis;
mod environment;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
mod program;
pub(crate) mod program_io;
mod stderr;
mod supervisor;
