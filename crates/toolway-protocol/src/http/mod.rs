//! The HTTP parts of the protocol: headers that mirror the body, and status codes.

pub mod header;
pub mod param;
pub mod status;
