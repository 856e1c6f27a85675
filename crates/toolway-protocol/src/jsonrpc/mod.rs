//! One JSON-RPC frame, with the payload still as text.
//!
//! [`parse()`] turns bytes into a [`Message`] (or a batch of them) without interpreting the method. For a frame that
//! is wrong it returns a reply to send: [`Rejected`] carries the [`RpcError`] and the request's id, if one could be
//! read.

mod error;
mod id;
mod message;
mod params;
mod parse;
mod skim;
mod write;

pub use error::{Code, RpcError};
pub use id::Id;
pub use message::Message;
pub use params::Params;
pub use parse::{Incoming, Rejected, parse};
pub use skim::{Skimmed, Skimmer};
pub use write::{write_bare_result, write_error, write_notification, write_request, write_result};
