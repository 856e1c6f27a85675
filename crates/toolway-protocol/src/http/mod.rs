//! What HTTP adds to a message: headers that mirror the body, and statuses.

pub mod header;
pub mod param;
pub mod status;
