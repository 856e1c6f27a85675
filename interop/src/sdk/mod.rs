//! Does our client work with servers on other SDKs?
//!
//! The servers are scripts beside this crate, one for each library (`server_*`). All offer the same:
//!
//! | kind | what |
//! |---|---|
//! | tools | `add` returns `{"sum": …}`, `echo` and `big` text, `fail` fails, `mixed` has a block of each kind, `region` has an argument that travels in a header |
//! | | `count` reports progress, `wait` waits until it is cancelled and `waits` counts its calls, `hold` takes a while, `log` logs |
//! | | `ask_form`, `ask_url`, `ask_model` and `folders` ask; `touch` changes the note, `grow` adds a tool |
//! | resources | `interop://note`, `interop://picture`, 25 pages and `interop://item/{id}`, listed ten at a time |
//! | prompts | `greet` of a `name` in a `style`, both of which can be completed |
//!
//! | file | question |
//! |---|---|
//! | `calls.rs` | What do tools return? |
//! | `running.rs` | What does a client receive while a call runs, and what happens on cancellation? |
//! | `questions.rs` | What happens when a tool asks a question? |
//! | `content.rs` | What do resources and prompts contain, and how do they change? |

mod calls;
mod content;
mod questions;
pub(crate) mod running;

use crate::check::{Checked, Report, holds, not_here, same};
use crate::talk::Talk;

/// A library that servers are written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sdk {
    /// `@modelcontextprotocol/server`.
    TypeScript,
    /// `@modelcontextprotocol/sdk`, version 1.
    TypeScriptV1,
    /// `mcp` for Python.
    Python,
    /// `mcp` for Python, version 1.
    PythonV1(Replies),
    /// `fastmcp` for Python.
    FastMcp,
    /// `fastmcp` for Python, versions before 4.
    FastMcpV2,
}

/// How a server of `mcp` 1.x is configured to reply over HTTP. On stdio this has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    /// With events, in sessions: the default.
    Events,
    /// With JSON, in sessions.
    Json,
    /// With events, without sessions.
    Stateless,
}

impl Sdk {
    /// Returns `Ok` if the server can send messages during a call.
    fn speaks_during_calls(self) -> Checked {
        match self {
            Self::PythonV1(Replies::Json) => not_here("a reply of JSON has no room for anything else"),
            _ => Ok(()),
        }
    }

    /// Returns `Ok` if a call can ask the client and wait for the answer.
    pub(crate) fn asks_during_calls(self) -> Checked {
        self.speaks_during_calls()?;
        self.remembers_its_client()
    }

    /// Returns `Ok` if all messages of one client reach the same session.
    fn remembers_its_client(self) -> Checked {
        match self {
            Self::PythonV1(Replies::Stateless) => not_here("without sessions each message stands alone"),
            _ => Ok(()),
        }
    }
}

pub(crate) async fn play(sdk: Sdk, talk: &Talk, report: &mut Report) {
    about(talk, report).await;
    calls::play(sdk, talk, report).await;
    running::play(sdk, talk, report).await;
    questions::play(sdk, talk, report).await;
    content::play(sdk, talk, report).await;
}

async fn about(Talk { client, .. }: &Talk, report: &mut Report) {
    report
        .check("info", "name, version, instructions", async {
            let info = client.server_info().ok_or("the server does not say who it is")?;
            same(&info.name, "interop")?;
            same(&info.version, "1.0.0")?;
            same(&client.instructions().as_deref(), &Some("Ask for anything."))
        })
        .await;
    report
        .check("info", "capabilities", async {
            let can = client.server_capabilities();
            let all = [
                can.tools.is_some(),
                can.resources.is_some(),
                can.prompts.is_some(),
                can.completions.is_some(),
            ];
            same(&all, &[true; 4])
        })
        .await;
    report.check("info", "ping", async { Ok(client.ping().await?) }).await;
}
