//! `toolway inspect`, as its page and its user meet it: the real program, over real connections.
//!
//! | file | question |
//! |---|---|
//! | `browser.rs` | How does a test use an inspector? |
//! | `../cli/stage.rs` | How are programs and servers started, and how is their output compared? |
//! | `links.rs` | Who gets in? |
//! | `refusals.rs` | Which requests are refused, and with which status? |
//! | `limits.rs` | What about clients that send too much, too slowly, or too many requests? |
//! | `calls.rs` | What does a user see of a call? |
//! | `questions.rs` | What happens when a server asks its user? |
//! | `cuts.rs` | What happens when the user cuts a connection? |
//! | `eras.rs` | Does a call have the same result in both eras? |
//! | `hostile_servers.rs` | What about a server that dies, hangs, lies, or sends too much? |
//! | `sign_in.rs` | What about a server that asks to sign in? |
//! | `../cli/protected_server.rs` | How does a test get a server that asks to sign in? |
//! | `recordings.rs` | How is a recording shown? |
//! | `starts.rs` | What can an inspector be started with? |
//! | `random_requests.rs` | Can a request make an inspector start a program, open a file, or call another server? |
//! | `secrets.rs` | Do secrets stay out of recordings and of everything that the page is told? |
//! | `exports.rs` | Does an exported call do the same again? |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(all(unix, feature = "inspect"))]

mod browser;
mod calls;
mod cuts;
mod eras;
mod exports;
mod hostile_servers;
mod limits;
mod links;
#[path = "../cli/protected_server.rs"]
#[expect(dead_code, reason = "the tests of `login` use the rest")]
mod protected_server;
mod questions;
#[cfg(target_os = "linux")]
mod random_requests;
mod recordings;
mod refusals;
mod secrets;
mod sign_in;
#[path = "../cli/stage.rs"]
#[expect(dead_code, reason = "the tests of the other commands use the rest")]
mod stage;
mod starts;
