//! One JSON-RPC frame, with the payload still as text.
//!
//! [`parse()`] turns bytes into a [`Message`] (or a batch of them) without interpreting the method. For a frame that
//! is wrong it returns a reply to send: [`Rejection`] carries the [`RpcError`] and the request's id, if one could be
//! read.

mod error;
mod frame;
mod id;
mod message;
mod oversized;
mod params;
mod parse;
mod write;

pub use error::{Code, RpcError};
pub use frame::Frame;
pub(crate) use frame::SharedPart;
pub use id::Id;
pub use message::Message;
pub use oversized::{OversizedMessage, OversizedMessageReader};
pub use params::Params;
pub use parse::{ParsedFrame, Rejection, parse};
pub use write::{write_error, write_notification, write_raw_result, write_request, write_result};
