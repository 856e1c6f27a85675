//! Where is the server that a command is about, and how does one get there?
//!
//! | file | question |
//! |---|---|
//! | `server.rs` | Where can a server be, and what is done with one? |
//! | `find.rs` | Which server is meant by what stands on the command line? |
//! | `stranger.rs` | May a server be used that a file of the project names? |
//! | `listing.rs` | What can a server list, and how is a list read to its end? |
//! | `interrupted.rs` | Does the user want it to stop? |

mod find;
mod interrupted;
pub(crate) mod listing;
mod server;
mod stranger;

pub(crate) use find::{BEARER, Find};
pub(crate) use interrupted::interrupted;
pub(crate) use server::{Address, FAREWELL, Place, Start, Way, builder, with_client};
