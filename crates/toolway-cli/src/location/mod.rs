//! Where is the server of a command, and how is it reached?
//!
//! | file | question |
//! |---|---|
//! | `server.rs` | Where can a server be, and how does a command use it? |
//! | `find.rs` | Which server does the command line name? |
//! | `untrusted.rs` | May a command use a server from a file of the project? |
//! | `listing.rs` | What can a server list, and how is a whole list read? |
//! | `interrupted.rs` | Does the user want to stop the program? |

mod find;
mod interrupted;
pub(crate) mod listing;
mod server;
mod untrusted;

pub(crate) use find::{BEARER_VARIABLE, Find};
pub(crate) use interrupted::interrupted;
pub(crate) use server::{
    Address, CLOSE_TIMEOUT, CommandSpec, Endpoint, ServerLocation, builder, with_client,
};
