//! Bytes on their way: how messages are cut out of streams.

pub mod frame;
#[cfg(feature = "http")]
pub mod sse;
