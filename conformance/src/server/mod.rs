//! The fixtures that the suite asks a server for, under the names it asks for.
//!
//! | file | what is there |
//! |---|---|
//! | `tools.rs` | one tool for each kind of result and for each kind of message a call may send before its result |
//! | `resources.rs` | text, bytes, one to subscribe to, a template |
//! | `prompts.rs` | one prompt for each kind of content |
//! | `questions.rs` | tools and a prompt that ask the client |

mod prompts;
mod questions;
mod resources;
mod tools;

use toolway::prelude::*;

/// Builds the server with every fixture.
pub fn server() -> toolway::Result<Server> {
    Server::new("toolway-conformance", env!("CARGO_PKG_VERSION"))
        .tools(tools::all())
        .tools(questions::tools())
        .resources(resources::all())
        .prompts(prompts::all())
        .prompts(questions::prompts())
        .build()
}

/// A red PNG image of one pixel.
const DOT: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144,
    119, 83, 222, 0, 0, 0, 12, 73, 68, 65, 84, 8, 215, 99, 248, 207, 192, 0, 0, 3, 1, 1, 0, 24, 221, 141,
    176, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];
