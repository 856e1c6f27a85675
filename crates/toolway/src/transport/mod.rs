//! Framing: how messages are cut out of streams of bytes.

pub mod frame;
#[cfg(feature = "http")]
pub mod sse;
