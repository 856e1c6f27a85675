//! The commands, as a user or a program runs them: results on stdout, everything else on stderr, and the right exit
//! code.
//!
//! | file | question |
//! |---|---|
//! | `stage.rs` | How are programs and servers started, and how is their output compared? |
//! | `commands.rs` | What do `list`, `call`, `read`, `prompt` and `complete` do? |
//! | `targets.rs` | How is the server found? |
//! | `failures.rs` | What is printed, and with which exit code, when something goes wrong? |
//! | `interrupts.rs` | What does a server receive when a call is interrupted? |
//! | `doctor.rs` | Which step fails? |
//! | `words.rs` | Which texts does a user read? |
//! | `terminal.rs` | What does a user at a terminal see? |
//! | `trust.rs` | Is a user asked about all that a file of a project would run, and only once? |
//! | `host.rs` | How does a host speak to a proxy, and how does a server written by hand answer? |
//! | `proxy.rs` | What does a host behind a proxy notice of its server? |
//! | `proxy_url.rs` | What does a host on stdin and stdout notice of a server at a URL? |
//! | `proxy_http.rs` | What do hosts that only take URLs notice of a server that is a command? |
//! | `protected_server.rs` | How does a test get a server that asks to sign in? |
//! | `sign_in.rs` | How does a user sign in to a server, and what happens without a user? |
//! | `serve.rs` | How are servers run? |
//! | `store.rs` | Are servers with one store one server to their clients? |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod commands;
mod doctor;
mod failures;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod interrupts;
#[cfg(unix)]
mod protected_server;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod proxy_http;
#[cfg(unix)]
mod proxy_url;
mod serve;
#[cfg(unix)]
mod sign_in;
mod stage;
mod store;
mod targets;
#[cfg(unix)]
mod terminal;
mod troubleshooting;
#[cfg(unix)]
mod trust;
mod words;
