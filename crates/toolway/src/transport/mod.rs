//! Framing: how is a stream of bytes split into messages?

pub mod frame;
#[cfg(feature = "http")]
pub mod sse;
