//! Where is the server of a command, and how is it reached?
//!
//! | file | question |
//! |---|---|
//! | `server.rs` | Where can a server be, and how does a command use it? |
//! | `endpoint.rs` | How is a server reached: at a URL, as a program, or inside this one? |
//! | `find.rs` | Which server does the command line name? |
//! | `untrusted.rs` | May a command use a server from a file of the project? |
//! | `trust.rs` | Which servers of projects has the user agreed to use? |
//! | `code_variables.rs` | Which environment variables can make a program run other code than its own? |
//! | `listing.rs` | What can a server list, and how is a whole list read? |
//! | `interrupted.rs` | Does the user want to stop the program? |

mod code_variables;
mod endpoint;
pub(crate) mod find;
mod interrupted;
pub(crate) mod listing;
mod server;
mod trust;
mod untrusted;

pub(crate) use endpoint::{Address, BEARER_VARIABLE, CommandSpec, Endpoint};
pub(crate) use find::Find;
pub(crate) use interrupted::interrupted;
pub(crate) use server::{CLOSE_TIMEOUT, ServerLocation, builder, login_hint, with_client};
pub(crate) use trust::{TrustFile, TrustedServer};
