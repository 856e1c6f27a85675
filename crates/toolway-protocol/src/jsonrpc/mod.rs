//! One JSON-RPC frame: what arrived, with the payload still text.
//!
//! [`parse()`] turns bytes into a [`Message`] (or a batch of them) without looking at what the method means.
//! A frame that is wrong is not an error of the parser but an answer to be sent: [`Rejected`] carries the
//! [`RpcError`] and the request's id, if one could be read.

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
