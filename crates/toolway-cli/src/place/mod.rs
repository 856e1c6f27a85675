//! Where is the server of a command, and how is it reached?
//!
//! | file | question |
//! |---|---|
//! | `server.rs` | Where can a server be, and how does a command use it? |
//! | `find.rs` | Which server does the command line name? |
//! | `stranger.rs` | May a command use a server from a file of the project? |
//! | `listing.rs` | What can a server list, and how is a whole list read? |
//! | `interrupted.rs` | Does the user want to stop the program? |

mod find;
mod interrupted;
pub(crate) mod listing;
mod server;
mod stranger;

pub(crate) use find::{BEARER, Find};
pub(crate) use interrupted::interrupted;
pub(crate) use server::{Address, FAREWELL, Place, Start, Way, builder, with_client};
