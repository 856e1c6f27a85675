//! How does the command `proxy` pass messages on between a host and a server?
//!
//! | file | question |
//! |---|---|
//! | `upstream.rs` | Where do the messages of a host go: to a command or to a URL? |
//! | `http/` | How do hosts reach the server at a URL? |
//! | `pipe.rs` | How are lines passed on to a command, and what happens when it ends? |
//! | `url.rs` | How are lines passed on to a URL, and what happens when its session ends? |
//! | `ledger.rs` | What must a server know that takes the place of another, and who waits for an answer? |
//! | `line.rs` | What does a line say that matters for this? |
//! | `line_reader.rs` | How is a stream cut into lines without changing a byte? |

pub(crate) mod http;
mod ledger;
mod line;
mod line_reader;
mod pipe;
mod upstream;
mod url;

pub(crate) use upstream::Upstream;
pub(crate) use url::UrlServer;
